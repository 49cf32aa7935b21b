"""A table of routes with parameters: paths are split and matched piece by piece."""

FIXED, NUMBER, TEXT = range(3)


def parts(path):
    return [part for part in path.split("/") if part]


def route(name, method, pattern):
    pieces = []
    for part in parts(pattern):
        if part.startswith("#"):
            pieces.append((NUMBER, part[1:]))
        elif part.startswith(":"):
            pieces.append((TEXT, part[1:]))
        else:
            pieces.append((FIXED, part))
    return name, method, pieces


def is_int(text):
    try:
        int(text)
    except ValueError:
        return False
    return True


def parameters(pieces, given):
    if len(pieces) != len(given):
        return None
    out = {}
    for (kind, name), text in zip(pieces, given, strict=True):
        if kind == FIXED:
            if name != text:
                return None
        elif kind == NUMBER:
            if not is_int(text):
                return None
            out[name] = text
        else:
            out[name] = text
    return out


def find(routes, method, path):
    given = parts(path)
    for name, wanted, pieces in routes:
        if wanted == method:
            found = parameters(pieces, given)
            if found is not None:
                return name, found
    return None


def main(n, emit):
    routes = [
        route("home", "GET", "/"),
        route("users", "GET", "/users"),
        route("user", "GET", "/users/#id"),
        route("posts", "GET", "/users/#id/posts"),
        route("post", "GET", "/users/#id/posts/:slug"),
        route("create", "POST", "/users"),
        route("search", "GET", "/search/:text"),
    ]
    paths = ["/", "/users/", "/users/17", "/users/x", "/users/4/posts", "/users/4/posts/hello", "/search/tea"]
    hits = {}
    letters = 0
    for i in range(n):
        found = find(routes, "POST" if i % 9 == 0 else "GET", paths[i % 7])
        if found is None:
            hits["none"] = hits.get("none", 0) + 1
            continue
        name, given = found
        hits[name] = hits.get(name, 0) + 1
        for key, value in given.items():
            letters += len(key) + len(value)
    emit("hits", hits)
    emit("letters", letters)
