"""Methods of str on many short texts."""


def slug(title):
    return title.strip().lower().replace(" ", "-").replace(",", "")


def main(n, emit):
    letters = 0
    hits = 0
    last = ""
    for i in range(n):
        title = f"  Chapter {i}, on the Use of Tools "
        name = slug(title)
        if name.startswith("chapter-1") and name.endswith("tools"):
            hits += 1
        if "9" in name:
            letters += name.find("9")
        for part in name.split("-"):
            letters += len(part)
        last = name[0:9].upper()
    emit("letters", letters)
    emit("hits", hits)
    emit("last", last)
