"""Static types as far as evaluation depends on them: assignability, join, coercions and casts (L-3.3 to L-3.5).

Hands on to the files that evaluate `convert`, `join` with `joined` and `joined_values`, `has_kind` and `checked`,
`cast`, `built`, and the words for types. A type is a tuple: its head, then its arguments. The head is a word, or the
declaration (`Item`, `Param`) of a named type, or the set of a union of literals; a function type is `("Function",
result, *parameters)`. `Var` stands for a type that is still open (L-3.2.2, L-3.2.6). A new coercion is a case of
`convert`.
"""

import base64
import functools

from .values import (NONE, PARENTS, SEQUENCES, Any, Arr, Case, Err, Failure, Map, Panic, Rec, Tup, ancestors, display,
    err, head_of, is_error, is_good, key_of, kind_of, mismatch, ok, parse_float, parse_int, quoted, saturated, some,
    stop, unique)  # fmt: skip

Type = Any  # a tuple or a Var


class Var:
    """A type that is still open; `bound` once it is known."""

    bound: Any = None


class Param:
    """A type parameter, rigid inside the body that declares it."""

    def __init__(self, name: str, node: Any = None) -> None:
        self.name, self.bounds = name, getattr(node, "bounds", [])


INT, FLOAT, STRING, BOOL, NIL = ("Int",), ("Float",), ("String",), ("Bool",), ("Nil",)
ANY, NEVER, RANGE, ERROR = ("Any",), ("Never",), ("Range",), ("Error",)
STRUCTURAL = {"Tuple": -1, "Array": 1, "Map": 2, "Option": 1, "Result": 2, "Set": 1, "Queue": 1, "Stack": 1}
PLAIN = {"Int", "Float", "String", "Bool", "Nil", "Any", "Never", "Range", "Bytes", "Number", *PARENTS}


def prune(t: Type) -> Type:
    """Return a type without the Vars around it that are known."""
    while isinstance(t, Var) and t.bound is not None:
        t = t.bound
    return t


def substitute(t: Type, names: dict[Any, Type], instead: Type | None = None) -> Type:
    """Return a type with types for its type parameters, and perhaps one instead of what is open, which then becomes
    known."""
    t = prune(t)
    if isinstance(t, Var):
        t.bound = instead
        return instead or t
    return names[t[0]] if t[0] in names else (t[0], *[substitute(p, names, instead) for p in t[1:]])


def closed(t: Type) -> Type:
    """Return a type with every open part turned into Any, for good: what a `let` keeps (L-3.2.2)."""
    return substitute(t, {}, ANY)


def reopened(t: Type, make: Any) -> Type:
    """Return a copy with `make()` for each part that is open; the parts themselves stay open (L-3.2.8)."""
    t = prune(t)
    return make() if isinstance(t, Var) else (t[0], *[reopened(p, make) for p in t[1:]])


def known(t: Type | None) -> Type | None:
    """Return an expected type; None where it is still open."""
    t = prune(t)
    return None if isinstance(t, Var) else t


def inside(t: Type | None, head: Any) -> Type | None:
    """Return the expected type as a literal of kind `head` sees it, without `?` and Option around it (L-3.2.4), or
    None."""
    t = known(t)
    while t and t[0] != head and t[0] in ("Nilable", "Option", "Result"):
        t = known(t[1])
    return t if t and t[0] in (head, "Any") else None


def to_float(value: Any) -> Any:
    """Return an Int as Float, other values as they are."""
    return float(value) if type(value) is int else value


def message(error: Any) -> str:
    """Return the message of what is read as an error (L-3.11.1, L-3.11.14)."""
    own = error.fields.get("message") if isinstance(error, Rec) else None
    return error.message if isinstance(error, Err) else own if isinstance(own, str) else display(error)


def present(t: Type) -> bool:
    """Return whether no value of the type is an absence: `T?` and `Option<T>` then convert into each other
    (L-3.3.14)."""
    head = (known(t) or ANY)[0]
    is_open = isinstance(head, Param) or type(getattr(head, "node", None)).__name__ == "Trait"
    return not is_open and head not in ("Any", "Nil", "Option", "Nilable")


def lifted(a: Type, b: Type) -> tuple[Any, Any]:
    """Return what each side of `==` and `!=` undergoes (L-3.6.14), None for nothing: where one is an Option, the
    other becomes one."""
    a, b = prune(a), prune(b)
    one_of_two = not isinstance(a, Var) and not isinstance(b, Var) and (a[0] == "Option") != (b[0] == "Option")
    if not one_of_two or {a[0], b[0]} & {"Any", "Never"}:
        return None, None
    lift = lambda value: NONE if value is None else some(value)  # noqa: E731
    return (None, lift) if a[0] == "Option" else (lift, None)


def convert(a: Type, b: Type) -> Any:
    """Return what a value of type `a` undergoes where `b` is expected (L-3.3); None if nothing. Open parts become
    known."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        first, second = (a, b) if isinstance(a, Var) else (b, a)
        first.bound = None if first is second else second
        return None
    if a in (b, NEVER) or b == ANY:
        return None
    if a == ANY:
        return lambda value: checked(value, b)
    if (a, b) == (INT, FLOAT):
        return to_float
    if a == STRING and getattr(b[0], "name", None) == "Prompt":
        return lambda text: Rec(b[0], {**dict.fromkeys(b[0].parts(b)), "text": text})
    if a[0] in PARENTS and b == STRING:  # L-3.3.16
        return message
    if b[0] == "Result" != a[0]:  # where a function ends (L-3.3.19)
        plain = convert(a, b[1])
        return lambda value: ok(plain(value) if plain else value)
    if b[0] == "Nilable" and a[0] == "Option" and present(b[1]):
        convert(a[1], b[1])
        return lambda value: value.payload[0] if value.payload else None
    if b[0] == "Nilable" and a[0] != "Nilable":
        return None if a == NIL else convert(a, b[1])
    if b[0] == "Option" and a[0] == "Nilable" and present(b[1]):
        return lambda value: NONE if value is None else some(value)
    if b[0] == "Option" and not (a[0] == "Option" and (prune(a[1]) == ANY or convert(a[1], b[1]) is None)):
        inner = convert(a, b[1]) if a != NIL else None
        return lambda value: NONE if a == NIL else some(inner(value) if inner else value)
    if a[0] == b[0] and b != ("Function", NIL):
        inners = [convert(x, y) for x, y in zip(a[1:], b[1:], strict=False)]
        if a[0] == "Result" and prune(a[2])[0] in PARENTS and prune(b[2]) == STRING:  # L-3.3.17
            return lambda result: err(message(result.payload[0])) if is_error(result) else result
        if a[0] == "Nilable" and (inner := inners[0]):
            return lambda value: None if value is None else inner(value)
    return None


def covered_by(clauses: list[Type], head: Any) -> bool:
    """Return whether an error of a type of this head is caught by a clause of one of the types (L-3.11.15)."""
    heads = {*ancestors(head), "Any", *(["String"] if isinstance(head, frozenset) else [])}
    return any(clause[0] in heads for clause in clauses)


def has_kind(value: Any, t: Type) -> bool:
    """Return whether a value is of a type as far as its outermost kind tells: L-3.3.3, patterns, catch clauses."""
    head = (t := prune(t))[0]
    if isinstance(head, Param) or head == "Any":
        return True
    if head == "Nilable":
        return value is None or has_kind(value, t[1])
    if isinstance(head, frozenset):
        return type(value) is str and value in head
    if hasattr(head, "item"):  # a variant
        return isinstance(value, (Case, Err)) and value[:2] == (head.item, head.name)
    by_impl = not isinstance(head, str) and served(head, value) is not None
    return by_impl or head in ancestors(head_of(value))


def served(trait: Any, value: Any) -> Any:
    """Return the head under which a trait has an impl for a value, None for none; that of an error family serves
    those below (L-3.10.2)."""
    return next((head for head in ancestors(head_of(value)) if head in trait.impls), None)


def checked(value: Any, t: Type) -> Any:
    """Return a dynamic value where `t` is expected (L-3.3.3), an Int as Float; panic P007 for another kind."""
    value = to_float(value) if prune(t) in (FLOAT, ("Nilable", FLOAT)) else value
    return value if has_kind(value, t) else stop(mismatch(show(t), value))


def whole(t: Type) -> Type:
    """Return the type of a value that is there: of `T?` it is that T (L-3.3.18)."""
    return prune(t[1]) if (t := prune(t))[0] == "Nilable" else t


def join(a: Type, b: Type) -> Type:
    """Return the join of two types (L-3.4.1); open parts become known."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        convert(a, b)
        return prune(a)
    if a == b or NEVER in (a, b) or reopened(a, object) == reopened(b, object):
        return b if a == NEVER else a
    if ANY in (a, b) or {a, b} == {INT, FLOAT}:
        return ANY if ANY in (a, b) else FLOAT
    if NIL in (a, b) or "Nilable" in (a[0], b[0]):
        plain = [t[1] if t[0] == "Nilable" else t for t in (a, b) if t != NIL]
        return ("Nilable", join(plain[0], plain[-1]))
    if a[0] in PARENTS and b[0] in PARENTS:
        return a if a[0] in ancestors(b[0]) else join((PARENTS[a[0]],), b)
    words = all(t == STRING or isinstance(t[0], frozenset) for t in (a, b))
    if a[0] == b[0] in STRUCTURAL and len(a) == len(b):
        return (a[0], *map(join, a[1:], b[1:]))
    return STRING if words else ERROR if a[0] in PARENTS or b[0] in PARENTS else ANY  # of raised errors (L-3.12.6)


def joined(types: Any) -> Type:
    """Return the join of all types, Never for none."""
    return functools.reduce(join, types, NEVER)


def joined_values(types: Any) -> Type:
    """Return the type of values that are converted to it: beside an Option others become Options too (L-3.4.3)."""
    types = [t for t in types if t != NEVER and not isinstance(t, Var)]
    options, others = [t for t in types if t[0] == "Option"], [whole(t) for t in types if t[0] != "Option"]
    if options and others and all(map(present, others)):
        return ("Option", joined([*(t[1] for t in options), *others]))
    return joined(types)


def show(t: Type) -> str:
    """Return a type as messages have it."""
    t = known(t) or ("_",)
    head, inner = getattr(t[0], "name", t[0]), ", ".join(map(show, t[1:]))
    return f"({inner})" if head == "Tuple" else f"{head}<{inner}>" if inner else head


# ---------------------------------------------------------------- values rebuilt by a type

MAYBE_FALSE = (bool, type(None), int, float, str, bytes, Arr, Map, Tup)


def cast(value: Any, t: Type) -> Any:
    """Return what `as` makes of a value (L-3.5.1 to L-3.5.6); panic P008 for a value that cannot be cast."""
    t = prune(t)
    if t == STRING:
        return display(value)
    if t == BOOL:
        return value != NONE and not is_error(value) and (type(value) not in MAYBE_FALSE or bool(value))
    if t == INT and type(value) in (float, bool):
        return saturated(value)
    return deep(scalar(value, t) if t in (INT, FLOAT) and type(value) is str else value, t)


def scalar(text: str, t: Type) -> Any:
    """Return what a text is as an Int, Float, Bool or Bytes; the text itself where it is none. Raise ValueError for
    wrong base64."""
    if t == ("Bytes",):
        return base64.b64decode(text, validate=True)
    parsed = (parse_int if t == INT else parse_float)(text) if t in (INT, FLOAT) else NONE
    return parsed.payload[0] if is_good(parsed) else text == "true" if t == BOOL and text in ("true", "false") else text


def deep(value: Any, t: Type) -> Any:
    """Return a value checked through all elements and fields, Int to Float where asked (L-3.5.6); panic P008 for one
    that does not fit."""
    head, value = (t := prune(t))[0], to_float(value) if t == FLOAT else value
    if not has_kind(value, t) or head == "Tuple" and len(value) != len(t) - 1:
        raise Panic("P008", f"cannot cast {display(value)} to {show(t)}")
    if head == "Nilable":
        return None if value is None else deep(value, t[1])
    if head == "Map":
        return Map({(k, deep(key, t[1])): deep(v, t[2]) for (k, key), v in value.items()})
    if head in SEQUENCES:
        return type(value)(map(deep, value, t[1:] if head == "Tuple" else t[1:] * len(value)))
    if head in ("Option", "Result"):
        part = t[2 if value.variant == "Err" else 1]
        return value._replace(payload=value.payload and (deep(value.payload[0], part),))
    if isinstance(value, Rec) and value.item is head:
        return Rec(value.item, {name: deep(value.fields[name], part) for name, part in head.parts(t).items()})
    return value


def built(value: Any, t: Type, default: Any, path: str = "$") -> Any:
    """Return a JSON value as a `t` (L-7.1.2); `default` gives that of a field, when all else of its struct is there.
    Raise Failure for a value that does not fit; `path` says where."""
    head, value = (t := prune(t))[0], to_float(value) if t == FLOAT else value
    if head in ("Option", "Nilable"):
        result = None if value is None else built(value, t[1], default, path)
        return result if head == "Nilable" else NONE if value is None else some(result)
    if type(value) is Arr and head in SEQUENCES and (head != "Tuple" or len(value) == len(t) - 1):
        types = t[1:] if head == "Tuple" else t[1:] * len(value)
        result = SEQUENCES[head](built(v, types[i], default, f"{path}[{i}]") for i, v in enumerate(value))
        return unique(result) if head == "Set" else result
    if isinstance(value, Map) and head == "Map":
        rows = {name: built(v, t[2], default, f"{path}.{name}") for (_, name), v in value.items()}
        return Map({key_of(built(scalar(name, prune(t[1])), t[1], default, path)): v for name, v in rows.items()})
    if isinstance(value, Map) and hasattr(head, "parts"):
        return _case(value, t, default, path) if head.variants else Rec(head, _fields(value, t, default, path))
    if type(value) is str and getattr(head, "variants", None):
        return _named(value, t, path)
    if type(value) is str and head == "Bytes":
        return scalar(value, t)
    if not has_kind(value, t):
        assert not isinstance(head, frozenset), "the text of a mismatch"
        description = "null" if value is None else quoted(value[:40]) if type(value) is str else kind_of(value)
        raise Failure(None, f"expected {show(t)}, found {description} at {path}")
    return value


def _fields(value: Map, t: Type, default: Any, path: str, variant: str | None = None) -> dict[str, Any]:
    types, defaults, fields = t[0].parts(t, variant), t[0].defaults(variant), {}
    for name, part in types.items():
        if (str, name) in value or defaults[name] is None and prune(part)[0] in ("Option", "Nilable"):
            fields[name] = built(value.get((str, name)), part, default, f"{path}.{name}")
        elif defaults[name] is None:
            raise Failure(None, f"missing field `{name}` of {show(t)} at {path}")
    return {name: fields[name] if name in fields else default(t[0], name, part) for name, part in types.items()}


def _named(name: str, t: Type, path: str) -> Case:
    """Return the variant that a name means; it holds nothing (L-5.1.21). Raise Failure for any other name."""
    units = [variant for variant in t[0].variants if not t[0].parts(t, variant)]
    if name not in units:
        among = " as one of " + ", ".join(map(quoted, units)) if units else ""
        raise Failure(None, f"expected {show(t)}{among}, found {quoted(name[:40])} at {path}")
    return Case(t[0], name, None)


def _case(value: Map, t: Type, default: Any, path: str) -> Case:
    """Return the variant that an object of the shape of L-5.1.9 means."""
    variant, data, path = value.get((str, "variant")), value.get((str, "data")), path + ".data"
    types = t[0].parts(t, variant)
    if 0 not in types:
        assert isinstance(data, Map) if types else data is None, "the text of a mismatch"
        return Case(t[0], variant, _fields(data, t, default, path, variant) if types else None)
    one = len(types) == 1
    payload = built(data, types[0] if one else ("Tuple", *types.values()), default, path)
    return Case(t[0], variant, (payload,) if one else tuple(payload))
