"""Types as other languages write them, with what they are here: `list[int]`, `Box<dyn Shape>`, `map[string]int` (L-2.6.8).

Hands on `type_at`, the type that begins at a token, and `of_a_type`, the rule. Must not know: messages, other rules.
"""

from __future__ import annotations

from .error_place import ErrorPlace

LITERAL_LIMIT = 20  # tokens of `Literal["a", …]` that are looked at
DEEPEST = 4  # types in types that are looked at
# Names without arguments.
NAMES = {
    **dict.fromkeys(("str", "string", "char"), "String"),
    **dict.fromkeys(("int", "int32", "int64", "uint", "i32", "i64", "u8", "u32", "u64", "usize", "isize", "long"), "Int"),
    **dict.fromkeys(("float", "double", "f32", "f64", "float32", "float64", "number"), "Float"),
    **dict.fromkeys(("bool", "boolean"), "Bool"),
    **dict.fromkeys(("any", "unknown", "object", "interface"), "Any"),
    **dict.fromkeys(("void", "None", "null", "undefined"), "Nil"),
    "error": "Error",
}
ARRAYS = ("list", "List", "Vec", "Sequence", "Iterable", "array", "Array", "tuple", "Slice")
MAPS = ("dict", "Dict", "Map", "Record", "map", "HashMap", "BTreeMap", "Mapping", "object")
TRANSPARENT = ("Box", "Rc", "Arc", "Promise", "Awaitable", "Readonly", "Future", "Final", "Cow", "RefCell", "Mutex")
PREFIXES = ("dyn", "impl", "mut", "readonly")
OPTIONS = ("Optional", "Maybe")


def type_at(place: ErrorPlace, ahead: int, deep: int = 0) -> tuple[str, int] | None:
    """The type that begins at a token, as it is written here, and the token behind it; None for what is no type."""
    while place.kind(ahead) in ("STAR", "MUT", "IMPL") or place.text(ahead) in PREFIXES:
        ahead += 1
    if deep > DEEPEST:
        return None
    if place.kind(ahead) == "LBRACKET" and place.kind(ahead + 1) == "RBRACKET":
        inner = type_at(place, ahead + 2, deep + 1)
        return (f"Array<{inner[0]}>", inner[1]) if inner else None
    if place.kind(ahead) == "LPAREN" and place.kind(ahead + 1) == "RPAREN":
        return "Nil", ahead + 2
    if place.kind(ahead) not in ("IDENT", "NIL"):
        return None
    name, at = place.text(ahead), ahead + 1
    if place.kind(at) == "LBRACKET" and place.kind(at + 1) == "RBRACKET":
        return f"Array<{NAMES.get(name, name)}>", at + 2
    if name == "interface" and place.kind(at) in ("LBRACE", "SLBRACE", "MLBRACE"):
        return "Any", at + 2
    if place.kind(at) not in ("LBRACKET", "LT", "TLT"):
        return _alone(name), at
    found = _arguments(place, at, deep)
    if found is None:
        return None
    arguments, at = found
    if name == "map" and len(arguments) == 1:
        value = type_at(place, at, deep + 1)
        return (f"Map<{arguments[0]}, {value[0]}>", value[1]) if value else None
    return _applied(name, arguments), at


def _alone(name: str) -> str:
    if name in ARRAYS:
        return "Array<T>"
    return "Map<String, Any>" if name in MAPS else NAMES.get(name, name)


def _arguments(place: ErrorPlace, at: int, deep: int) -> tuple[list[str], int] | None:
    """Those in the brackets that begin at a token, and the token behind them."""
    arguments: list[str] = []
    while place.kind(at) in ("LBRACKET", "LT", "TLT", "COMMA"):
        found = type_at(place, at + 1, deep + 1)
        if found is None:
            return None
        arguments.append(found[0])
        at = found[1]
    return (arguments, at + 1) if place.kind(at) in ("RBRACKET", "GT", "TGT") else None


def _applied(name: str, arguments: list[str]) -> str:
    if name in ("tuple", "Tuple"):
        return f"({', '.join(arguments)})"
    if name in OPTIONS:
        return f"{arguments[0]}?"
    if name in TRANSPARENT:
        return arguments[0]
    if name in ("set", "Set", "HashSet"):
        return f"Set<{arguments[0]}>"
    if name in ARRAYS:
        return f"Array<{arguments[0]}>"
    return f"Map<{', '.join(arguments)}>" if name in MAPS else f"{NAMES.get(name, name)}<{', '.join(arguments)}>"


def of_a_type(place: ErrorPlace, expected: set[str]) -> str | None:
    """`T[]`, `[T]`, `Literal["a", "b"]`, `list[int]`, `Box<dyn T>`, `*T`, `Fn(A) -> B`, in the place of a type."""
    kind = place.kind()
    begins = "FNTYPE" in expected
    if begins and kind in ("INT", "FLOAT"):
        number = "Int" if kind == "INT" else "Float"
        bound = "@validate(fn(x: T) -> Result<Bool, String> { … })"
        return f"a type stands here: write `{number}`; `{bound}` above a schema bounds it"
    if kind == "LBRACKET" and begins and place.kind(1) == "STRING":
        return f"write the strings with `|` between them: `{_alternatives(place)}`, or `Array<String>` for any"
    if begins and kind in ("LBRACKET", "STAR", "IMPL", "LPAREN", "IDENT"):
        found = type_at(place, 0)
        if found is None and kind == "LBRACKET" and place.kind(1) == "IDENT" and place.kind(2) == "RBRACKET":
            return f"write `Array<{place.text(1)}>`"
        return f"write `{found[0]}`" if found else None
    if not place.word_before() or "INT" in expected or "PLUS" in expected or not _behind_a_type(place):
        return None
    if place.word_before() == "Literal" and kind == "LBRACKET":
        return f"write the strings with `|` between them: `{_alternatives(place)}`"
    if place.word_before() in ("Fn", "FnMut", "FnOnce") and kind == "LPAREN":
        close = place.end(1, frozenset(("SEMI",)))
        result = f" -> {place.text(close + 3)}" if place.kind(close + 2) == "ARROW" else ""
        return f"write `fn({place.written(1, close)}){result}`"
    if kind in ("LBRACKET", "LT", "LBRACE", "SLBRACE", "MLBRACE"):
        found = type_at(place, -1)
        return f"write `{found[0]}`" if found and (kind in ("LBRACKET", "LT") or place.word_before() == "interface") else None
    return None


def _behind_a_type(place: ErrorPlace) -> bool:
    return place.before(2) in ("COLON", "ARROW", "LT", "TLT", "COMMA", "AS", "LBRACKET") or place.text(-2) in PREFIXES


def _alternatives(place: ErrorPlace) -> str:
    strings = []
    for ahead in range(1, LITERAL_LIMIT):
        if place.kind(ahead) == "STRING":
            strings.append(place.text(ahead))
        elif place.kind(ahead) != "COMMA":
            break
    return " | ".join(strings) or '"a" | "b"'
