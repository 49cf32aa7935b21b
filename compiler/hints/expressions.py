"""Expressions and types written as in other languages, told by the tokens around a syntax error (L-2.6.8).

Hands on the rules `of_an_operand` and `of_a_type` to `compiler/syntax/errors.py`, and `type_at` to the other syntax hints. A rule
returns the text of a help, or None when it does not recognise the form. `place` is an `ErrorPlace`, the tokens around a syntax
error: rows are tokens, counted from the wrong one, which is row 0, and those before it are negative. `expected`: the types of the
tokens that could stand in place of the wrong one; with PLUS among them an operand has ended, with INT one may begin. A new form
of an expression is a function in the list of `of_an_operand`. Nothing is reported here.
"""

from __future__ import annotations

import re

from .. import operators
from ..syntax.error_place import ELIDED, LONGEST, ErrorPlace

# Operators that other languages write with `=`, and this one does not.
OPERATORS_WITH_EQUALS = {
    row.token: row.text
    for row in operators.OPERATORS
    if not row.assigning and row.level not in (operators.EQUALITY, operators.ORDER)
}
_HOLE = re.compile(r"(?<!\{)\{([^{}:!]*)[^{}]*\}")
_PRINTING = ("println", "print", "eprintln", "eprint", "dbg")


def of_an_operand(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for an expression of another language, or None. The rules are tried in order; each looks for the forms that
    its docstring shows."""
    rules = (
        _conditional, _comprehension, _spread, _starred, _update, _macro, _formatted, _closure, _bracketed, _pointed, _marked,
        _comma_ok,
    )  # fmt: skip
    for rule in rules:
        help = rule(place, expected)
        if help is not None:
            return help
    return None


def _conditional(place: ErrorPlace, expected: set[str]) -> str | None:
    """`a if c else b`."""
    if place.kind() != "IF" or "PLUS" not in expected:
        return None
    # The condition is the one thing between `if` and `else`.
    otherwise = place.end(1, frozenset(("ELSE", "SEMI", "COMMA"))) + 1
    if place.kind(otherwise) != "ELSE":
        return "write `if a { b } else { c }`"
    condition, value = place.written(1, otherwise - 1), place.written(place.begin(), -1)
    return f"write `if {condition} {{ {value} }} else {{ {place.rest(otherwise + 1)} }}`"


def _comprehension(place: ErrorPlace, expected: set[str]) -> str | None:
    """`[e for x in xs if c]`, the same in a call, `{k: v for …}`."""
    if place.kind() != "FOR" or "PLUS" not in expected or not {"COMMA", "RBRACKET"} & expected:
        return None
    before_in = place.end(1, frozenset(("IN",)))
    if place.kind(before_in + 1) != "IN":
        return "write `xs.map(|x| …)`"
    name, first = place.written(1, before_in), before_in + 2
    if "," in name and not name.startswith("("):
        name = f"({name})"
    last = place.end(first, frozenset(("IF", "COMMA")))
    items, condition = place.written(first, last), place.rest(last + 2) if place.kind(last + 1) == "IF" else ""
    value = place.written(place.begin(frozenset(("COMMA", "COLON"))), -1)
    if place.before(place_of_colon(place)) == "COLON":
        return f"fill it in a loop: `let mut d: Map<K, V> = {{}}; for {name} in {items} {{ d[…] = {value}; }}`"
    filtered = f".filter(|{name}| {condition})" if condition else ""
    mapped = "" if value == name and condition else f".map(|{name}| {value})"
    return f"write `{items}{filtered}{mapped}`"


def place_of_colon(place: ErrorPlace) -> int:
    """Return how many rows before the error the token before the value stands."""
    return 1 - place.begin(frozenset(("COMMA", "COLON")))


def _comma_ok(place: ErrorPlace, expected: set[str]) -> str | None:
    """Go's `if v, ok := d[k]; ok {`."""
    if place.kind() != "COMMA" or place.before(2) not in ("IF", "LET") or place.kind(2) != "COLON" or place.kind(3) != "EQ":
        return None
    return f"write `match {place.text(4)}.get({place.text(6)}) {{ Some({place.text(-1)}) => …, None => … }}`"


def _spread(place: ErrorPlace, expected: set[str]) -> str | None:
    """`...xs`: two dots that read as a range, and the third."""
    if place.kind() != "DOT" or not place.before(1).startswith("RANGE"):
        return None
    # `...` alone is the body of a Python function that is not written yet.
    if place.kind(1) in ("RBRACE", "BLKEND", "SEMI"):
        return "for what is not written yet: `panic(\"not written yet\")`"
    return _joined(place, -2, 1)


def _starred(place: ErrorPlace, expected: set[str]) -> str | None:
    """`*xs` and `**xs`, and the same as parameters; `*p`."""
    if place.kind() not in ("STAR", "POW"):
        return None
    # Where a parameter may begin and no expression.
    if "MUT" in expected and "INT" not in expected:
        if place.kind() == "POW":
            return f"take a map: `{place.text(1)}: Map<String, Any>`; parameters may have defaults: `name: T = …`"
        return f"take an array: `{place.text(1)}: Array<{place.text(3) if place.kind(2) == 'COLON' else 'T'}>`"
    if place.before(1) in ("LBRACKET", "MLBRACE", "LBRACE", "SLBRACE", "COMMA", "LPAREN"):
        return _joined(place, -1, 1)
    return f"there are no pointers: write `{place.rest(1)}`"


def _joined(place: ErrorPlace, before: int, ahead: int) -> str:
    """Return the help that joins arrays or maps, for a spread behind the token at row `before` whose operand begins at row
    `ahead`."""
    opening, spread, last = place.kind(before), place.rest(ahead), place.end(ahead)
    if opening == "COMMA":
        at = before
        while at > before - 20 and place.kind(at) not in ("LBRACKET", "MLBRACE", "LBRACE", "SLBRACE", "LPAREN", "CPIPE", ""):
            at -= 1
        # Elements before the spread become the array that it is joined to.
        opening, earlier = place.kind(at), place.written(at + 1, before - 1)
    else:
        earlier = ""
    later = place.written(last + 2, place.end(last + 2, frozenset(("SEMI",)))) if place.kind(last + 1) == "COMMA" else ""
    if opening not in ("LBRACKET", "MLBRACE", "LBRACE", "SLBRACE", "LPAREN"):
        return "there are no rest parameters: name each parameter, or take an array"
    if opening == "LPAREN":
        return "a call takes no spread: write each argument, as in `f(xs[0], xs[1])`"
    if opening == "SLBRACE":
        fields = ", ".join(part for part in (earlier, later) if part)
        return f"the base stands last: `{{ {fields or ELIDED}, ..{spread} }}`"
    left, right, method = ("[", "]", "concat") if opening == "LBRACKET" else ("{", "}", "merge")
    joined = spread if later == "" else f"{spread}.{method}({left}{later}{right})"
    return f"write `{left}{earlier}{right}.{method}({joined})`" if earlier else f"write `{joined}`"


def _update(place: ErrorPlace, expected: set[str]) -> str | None:
    """`x ??= 1`, `x **= 2`."""
    sign = OPERATORS_WITH_EQUALS.get(place.before(1))
    if place.kind() != "EQ" or sign is None or not place.adjacent(-1, 0):
        return None
    target = place.written(place.begin(frozenset(("SEMI", "BLKEND"))), -2)
    return f"write `{target} = {target} {sign} {place.rest(1)};`"


def _macro(place: ErrorPlace, expected: set[str]) -> str | None:
    """`name!(…)` and `x!`."""
    if place.kind() != "NOT" or not place.adjacent(-1, 0):
        return None
    if place.kind(1) not in ("LPAREN", "LBRACKET", "LBRACE", "SLBRACE", "MLBRACE"):
        return "write `… ?? default`, or `.unwrap()` of an Option or a Result"
    name, last = place.word_before(), place.end(2, frozenset(("SEMI",)))
    inside = place.written(2, last) if last >= 2 else ""
    if name == "vec":
        return f"there are no macros; write `[{inside}]`"
    if name in ("todo", "unimplemented", "unreachable"):
        return f"there are no macros; write `panic({inside or chr(34) + name + chr(34)})`"
    if name == "join":
        return f"there are no macros; write `await ({inside})`"
    text = _filled(place, last) if name in (*_PRINTING, "format", "panic", "bail", "anyhow") else None
    call = {"eprintln": "println", "eprint": "print", "dbg": "println"}.get(name, name)
    if name == "format":
        return f"there are no macros; write `{text or ELIDED}`"
    return f"there are no macros; write `{call}({text or inside})`"


def _filled(place: ErrorPlace, last: int) -> str | None:
    """Return the string with holes that a format with its arguments means, or None if the format is no literal. `last` is
    the row of the last argument."""
    if place.kind(2) != "STRING":
        return None
    arguments, at = [], 4
    while at <= last:
        end = place.end(at)
        arguments.append(place.written(at, end))
        at = end + 2
    # Empty holes take the arguments in turn; a hole with a name keeps it.
    waiting = iter(arguments)
    return _HOLE.sub(lambda hole: f"${{{hole[1] or next(waiting, ELIDED)}}}", place.text(2))


def _formatted(place: ErrorPlace, expected: set[str]) -> str | None:
    """`f"…{x}"`, `$"…"`."""
    if place.kind() != "STRING" or not place.adjacent(-1, 0) or place.word_before() not in ("f", "F", "fr", "rf", "t", "$"):
        return None
    text = place.text()
    literal = _HOLE.sub(r"${\1}", text) if len(text) <= LONGEST and "\n" not in text else '"…${x}"'
    return f"write `{literal}`: every string may hold `${{ }}`"


def _closure(place: ErrorPlace, expected: set[str]) -> str | None:
    """`(a, b) => …`, `async () => …`, `lambda x: …`, `function (a) { … }`, `move |x| …`."""
    kind, name = place.kind(), place.word_before()
    if kind == "FATARROW" and place.before(1) in ("RPAREN", "IDENT") and "PLUS" in expected:
        return f"write `|{_parameters(place, -1)}| {place.rest(1, 'RPAREN')}`"
    if kind == "ASYNC":
        return "an `async` block is written `async { … }`, a closure with one `|x| async { … }`"
    if name == "lambda":
        colon = place.end(0, frozenset(("COLON",))) + 1
        return f"write `|{place.written(0, colon - 1)}| {place.rest(colon + 1)}`" if place.kind(colon) == "COLON" else None
    if kind in ("PIPE", "CPIPE", "OROR", "CPIPE2") and name == "move":
        return f"closures copy what they see: write `{place.rest(0)}`"
    if kind in ("LBRACE", "MLBRACE", "SLBRACE") and place.before(1) == "RPAREN":
        first = place.begin()
        if place.text(first) in ("function", "func", "fun"):
            return f"write `|{_parameters(place, -1)}| {{ … }}`"
    return None


def _parameters(place: ErrorPlace, last: int) -> str:
    """Return the names between the brackets that end at row `last`, or the one name that stands there."""
    if place.kind(last) != "RPAREN":
        return place.text(last)
    first = last
    while first > last - 20 and place.kind(first) != "LPAREN":
        first -= 1
    names = place.written(first + 1, last - 1)
    return "" if first + 1 == last else names


def _bracketed(place: ErrorPlace, expected: set[str]) -> str | None:
    """Slices with `:`, sets, literals with their type before them."""
    kind = place.kind()
    if kind == "COLON" and "RBRACKET" in expected and "PLUS" in expected:
        first, last = place.begin(), place.end(1, frozenset(("COLON",)))
        if place.kind(first - 1) == "COMMA":  # an element of an array
            return f"write `{{ {place.written(first, -1)}: {place.rest(1)} }}`"
        receiver = place.text(first - 2) if place.kind(first - 2) == "IDENT" else "xs"
        return f"write `{receiver}[{place.written(first, -1)}..{place.written(1, last) if last >= 1 else ''}]`"
    if kind == "COLONCOLON" and place.before(1) == "LBRACKET":
        return f"there is no step; turn a copy round: `let mut ys = {place.text(-2)}; ys.reverse();`"
    if kind == "COLON" and place.before(1) == "LBRACKET":
        return f"write `{place.text(-2)}[..{place.rest(1)}]`"
    # `{1, 2}` has been read as a block with the value 1.
    if kind == "COMMA" and place.before(2) in ("LBRACE", "MLBRACE", "BLKEND") and place.before(1) in ("INT", "STRING", "FLOAT"):
        items = place.written(-1, place.end(-1, frozenset(("SEMI",))))
        return f"write `Set::from([{items}])`"
    if kind == "IDENT" and place.before(1) == "RBRACKET" and "PLUS" in expected and place.adjacent(-1, 0):
        return _typed_literal(place)
    if kind == "COLONCOLON" and place.kind(1) in ("LT", "TLT"):
        return _turbofish(place.word_before(), place.text(2))
    if kind in ("LT", "TLT") and place.before(1) == "COLONCOLON":
        return _turbofish(place.text(-2), place.text(1))
    return None


def _typed_literal(place: ErrorPlace) -> str | None:
    """Go's `[]int{1, 2}` and `map[string]int{…}`."""
    if place.kind(1) not in ("LBRACE", "SLBRACE", "MLBRACE"):
        return None
    inside = place.written(2, place.end(2, frozenset(("SEMI",)))) if place.kind(2) != "RBRACE" else ""
    return f"write `[{inside}]`" if place.before(2) == "LBRACKET" else f"write `{{{inside}}}`"


def _turbofish(name: str, type_: str) -> str:
    if name == "parse":
        return f"write `.parse_{'float' if type_.lower().startswith('f') else 'int'}()`"
    if name in ("collect", "sum", "into"):
        return f"write `{name}()` without a type" if name == "sum" else f"leave out `.{name}::<…>()`"
    return f"write type arguments without `::`: `{name}<{type_}>(…)`"


def _pointed(place: ErrorPlace, expected: set[str]) -> str | None:
    """`<T>x`, `/regex/`."""
    kind = place.kind()
    if "INT" not in expected or "NOT" not in expected:
        return None
    if kind in ("LT", "TLT") and place.kind(1) == "IDENT" and place.kind(2) in ("GT", "TGT"):
        return f"write `{place.rest(3)} as {place.text(1)}`"
    if kind == "SLASH":
        return 'a pattern is a String: `std::regex::is_match(r#"…"#, text)`'
    return None


def _marked(place: ErrorPlace, expected: set[str]) -> str | None:
    """`print "x"`, and the string of three single quotes."""
    kind, name = place.kind(), place.word_before()
    if kind in ("STRING", "ISTR_START") and name in ("print", "println", "echo", "puts"):
        call = name if name.startswith("print") else "println"
        return f"write `{call}({place.rest(0)})`"
    if kind == "STRING" and place.before(1) == "STRING" and place.adjacent(-1, 0):
        return "a comment is written `// …`, and before a declaration `/// …`"
    return None


# Types as other languages write them, with what they are here: `list[int]`, `Box<dyn Shape>`, `map[string]int`.

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


def type_at(place: ErrorPlace, ahead: int, depth: int = 0) -> tuple[str, int] | None:
    """Return the type that begins at row `ahead` as it is written here, and the row behind it; None for what is no type, and for
    one inside of more than DEEPEST others. `depth` counts the types around it."""
    # Pointers and markers in front of a type mean nothing here.
    while place.kind(ahead) in ("STAR", "MUT", "IMPL") or place.text(ahead) in PREFIXES:
        ahead += 1
    # Types of hostile input may nest without end.
    if depth > DEEPEST:
        return None
    if place.kind(ahead) == "LBRACKET" and place.kind(ahead + 1) == "RBRACKET":
        inner = type_at(place, ahead + 2, depth + 1)
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
    inside = _arguments(place, at, depth)
    if inside is None:
        return None
    arguments, at = inside
    if name == "map" and len(arguments) == 1:
        value = type_at(place, at, depth + 1)
        return (f"Map<{arguments[0]}, {value[0]}>", value[1]) if value else None
    return _applied(name, arguments), at


def _alone(name: str) -> str:
    if name in ARRAYS:
        return "Array<T>"
    return "Map<String, Any>" if name in MAPS else NAMES.get(name, name)


def _arguments(place: ErrorPlace, at: int, depth: int) -> tuple[list[str], int] | None:
    """Return the type arguments in the brackets that begin at row `at`, and the row behind them; None if one is no type."""
    arguments: list[str] = []
    while place.kind(at) in ("LBRACKET", "LT", "TLT", "COMMA"):
        argument = type_at(place, at + 1, depth + 1)
        if argument is None:
            return None
        arguments.append(argument[0])
        at = argument[1]
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
    """Return the help for a type as another language writes it, such as `T[]`, `[T]`, `Literal["a", "b"]`, `list[int]`, `Box<dyn
    T>`, `*T`, `Fn(A) -> B`, `()` and `0..100`, or None for a form that is not known."""
    kind = place.kind()
    begins = "FNTYPE" in expected
    # Some languages have ranges as types: `0..100`.
    if begins and kind in ("INT", "FLOAT"):
        number = "Int" if kind == "INT" else "Float"
        bound = "@validate(fn(x: T) -> Result<Bool, String> { … })"
        return f"a type stands here: write `{number}`; `{bound}` above a schema bounds it"
    if kind == "LBRACKET" and begins and place.kind(1) == "STRING":
        return f"write the strings with `|` between them: `{_alternatives(place)}`, or `Array<String>` for any"
    if begins and kind in ("LBRACKET", "STAR", "IMPL", "LPAREN", "IDENT"):
        type_ = type_at(place, 0)
        if type_ is None and kind == "LBRACKET" and place.kind(1) == "IDENT" and place.kind(2) == "RBRACKET":
            return f"write `Array<{place.text(1)}>`"
        return f"write `{type_[0]}`" if type_ else None
    if not place.word_before() or "INT" in expected or "PLUS" in expected or not _behind_a_type(place):
        return None
    if place.word_before() == "Literal" and kind == "LBRACKET":
        return f"write the strings with `|` between them: `{_alternatives(place)}`"
    if place.word_before() in ("Fn", "FnMut", "FnOnce") and kind == "LPAREN":
        close = place.end(1, frozenset(("SEMI",)))
        result = f" -> {place.text(close + 3)}" if place.kind(close + 2) == "ARROW" else ""
        return f"write `fn({place.written(1, close)}){result}`"
    if kind in ("LBRACKET", "LT", "LBRACE", "SLBRACE", "MLBRACE"):
        type_ = type_at(place, -1)
        return f"write `{type_[0]}`" if type_ and (kind in ("LBRACKET", "LT") or place.word_before() == "interface") else None
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
