"""Statements and items that begin with a word of another language, with what stands for them here (L-2.6.8).

Hands on to `compiler/syntax/errors.py` `of_a_statement`, the rule for an error directly behind such a word, or at the `as` of a
`catch`, and `ITEMS`, the words that begin an item elsewhere. A new word is a row of `_WORDS` with the function that words its
help. What was written is read from the `ErrorPlace`, whose rows are tokens: row 0 is the wrong one, and the foreign word mostly
row -1. Only texts are made here: that there is an error, its code and its place are for `errors`. Nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable

from ..syntax.error_place import ELIDED, ErrorPlace
from ..syntax.lexer import words
from .expressions import type_at
from .syntax import BRACES, LITERAL_TYPES, import_help


def of_a_statement(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for a statement that begins with a word of another language, or None. `place` is where the parser stopped;
    `expected` is here as in all rules of `errors`, and is not asked."""
    if place.before(1) == "ASYNC" and place.text() in ("def", "function", "func", "fun"):
        return f"write `async fn {place.text(1)}(…)`"
    if place.kind() == "AS" and place.before(2) == "CATCH":
        return f"write `catch {place.word_before()}({place.text(1)}) {{ … }}`"
    # The word has been read as a name; the error is at what follows it.
    rule = _WORDS.get(place.word_before())
    return rule(place) if rule is not None else None


def _import(place: ErrorPlace) -> str:
    return import_help(place.line_text())


def _export(place: ErrorPlace) -> str:
    # `export default fn f` has one word more.
    at = 1 if place.text() == "default" else 0
    name = place.text(at + 1) if place.kind(at) in ("FN", "CONST", "STRUCT") else ""
    return f"write `pub {place.text(at)} {name}`" if name else "write `pub` before the declaration"


def _class(place: ErrorPlace) -> str:
    name = place.text() if place.kind() == "IDENT" else "Name"
    return f"write its data as `struct {name} {{ … }}`, its methods as `impl {name} {{ fn m(self) {{ … }} }}`"


def _declared(keyword: str) -> Callable[[ErrorPlace], str]:
    def rule(place: ErrorPlace) -> str:
        return f"use `{keyword}`: `{keyword} {place.text()} …`" if place.kind() == "IDENT" else f"use `{keyword}`"

    return rule


def _interface(place: ErrorPlace) -> str:
    """Return the help for `interface`, which is a struct when it holds fields and a trait when it holds methods."""
    if place.kind() in BRACES:
        return "any value is of type `Any`"
    holds_fields = place.kind(1) in BRACES and place.kind(3) in ("COLON", "QUESTION") and place.kind(2) == "IDENT"
    keyword = "struct" if holds_fields else "trait"
    return f"use `{keyword}`: `{keyword} {place.text()} {{ … }}`"


def _variable(place: ErrorPlace) -> str:
    """`var x = 3`, `var n int = 3`."""
    name = place.text()
    if place.kind(1) == "EQ":
        return f"use `let`: `let {name} = {place.rest(2)};`, with `let mut` where it changes"
    type_ = type_at(place, 2 if place.kind(1) == "COLON" else 1)
    if type_ is None:
        return "use `let` or `let mut`"
    value = f" = {place.rest(type_[1] + 1)}" if place.kind(type_[1]) == "EQ" else f" = {ELIDED}"
    return f"use `let`: `let {name}: {type_[0]}{value};`, with `let mut` where it changes"


def _constant(place: ErrorPlace) -> str:
    colon = place.kind(1) == "COLON"
    type_ = place.text(2) if colon else LITERAL_TYPES.get(place.kind(2), "T")
    return f"use `const`: `const {place.text()}: {type_} = {place.rest(4 if colon else 2)};`"


def _yield(place: ErrorPlace) -> str:
    return f"there are no generators; collect in an array: `items.push({place.rest()});`"


def _with(place: ErrorPlace) -> str:
    if place.text() == "open" and place.kind(2) == "STRING":
        return f"a file is read as a whole: `let text = std::fs::read_file({place.text(2)})?;`"
    return "there is no `with`: what is opened for a block is closed by itself; write `let x = …;`"


def _delete(place: ErrorPlace) -> str:
    if place.kind(1) == "LBRACKET":
        return f"write `{place.text()}.delete({place.written(2, place.end(2))})`"
    return "of a map write `d.delete(key)`; a variable ends with its block"


def _go(place: ErrorPlace) -> str:
    return f"write `spawn {place.rest()}`"


def _defer(place: ErrorPlace) -> str:
    return f"there is no `defer`: what may fail stands in `try {{ … }} catch Error(e) {{ … }}`, and behind it `{place.rest()};`"


def _global(place: ErrorPlace) -> str:
    hashmap = "hashmap shared: HashMap<String, Int> = HashMap::new();"
    return f"what functions share is a hashmap: `{hashmap}`, and `shared.set(\"{place.text()}\", 1)`"


def _package(place: ErrorPlace) -> str:
    return "leave it out: a file is a module, named after the file"


def _raise(place: ErrorPlace) -> str:
    """Return the help for `raise E("m")`; it also serves `throw new`."""
    text = place.text(2) if place.kind(2) == "STRING" else ELIDED
    return f"write `throw RuntimeError::new({text});`" if place.kind() == "IDENT" else "use `throw`"


_EMPTY = {"Map": "{}", "Object": "{}", "Array": "[]", "Set": "Set::new()", "Date": "std::time::now()"}


def _new(place: ErrorPlace) -> str:
    name = place.text()
    if place.before(2) == "THROW" or name.endswith(("Error", "Exception")):
        error = f"RuntimeError::new({place.text(2) if place.kind(2) == 'STRING' else ELIDED})"
        return f"write `{'throw ' if place.before(2) == 'THROW' else ''}{error}`"
    if name in _EMPTY:
        return f"write `{_EMPTY[name]}`"
    return f"there is no `new`: write a literal, `{name} {{ field: value }}`, or call a function of the type, `{name}::new(…)`"


def _case(place: ErrorPlace) -> str:
    pattern = place.written(0, place.end(0, frozenset(("COLON", "FATARROW", "ARROW"))))
    return f"an arm is `pattern => value,` without `case`: `{pattern} => {{ … }}`"


def _channel(place: ErrorPlace) -> str:
    return "there are no channels: `let task = spawn f();`, and `task.await` gives what it returned"


def _try(place: ErrorPlace) -> str:
    return "a block stands in braces: `try { … } catch Error(e) { … }`"


_WORDS: dict[str, Callable[[ErrorPlace], str]] = {
    **dict.fromkeys(("import", "from", "include", "require"), _import),
    "export": _export,
    "class": _class,
    "interface": _interface,
    "protocol": _declared("trait"),
    **dict.fromkeys(("def", "func", "fun", "function"), _declared("fn")),
    "var": _variable,
    "static": _constant,
    "yield": _yield,
    "with": _with,
    **dict.fromkeys(("del", "delete"), _delete),
    "go": _go,
    "defer": _defer,
    **dict.fromkeys(("global", "nonlocal"), _global),
    "package": _package,
    "raise": _raise,
    "new": _new,
    "case": _case,
    "chan": _channel,
    "try": _try,
}
# Words that begin an item elsewhere; there they are told as missing from the language.
ITEMS = words(
    "class interface protocol import from include require def func fun function var export static package"
)
