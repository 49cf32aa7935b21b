"""Constructs written as in other languages, told by a few tokens around a syntax error: loops, declarations, tests of
types, imports, words, stores (L-2.6.8).

Hands on to `compiler/syntax/errors.py` one rule for each kind of construct (`of_a_loop`, `of_a_declaration`, `of_a_test`,
`of_a_store`) and the tables WORDS, BLOCKS, BRACES and LITERAL_TYPES; to the hints of statements `import_help` and the last two. A
rule gets the place of the error and the terminals (types of tokens) that could stand there, and returns the text of a help, or
None when it does not recognise the construct; `errors` tries the rules in order. Rows are tokens, counted from the wrong one,
which is row 0 (`ErrorPlace`). Nothing is reported or raised here. A new form is a case of the rule of its kind, a new word a row
of WORDS or BLOCKS.
"""

from __future__ import annotations

import re

from ...vm.builtins.modules import STD_MODULES, std_module
from ..syntax.error_place import ELIDED, ErrorPlace
from .expressions import type_at
from .names import MODULES

# What the token filter makes of `{`: it opens a block, a struct literal or a map.
BRACES = frozenset(("LBRACE", "SLBRACE", "MLBRACE"))
# The type of a literal, by the type of its token.
LITERAL_TYPES = {"INT": "Int", "FLOAT": "Float", "STRING": "String", "TRUE": "Bool", "FALSE": "Bool"}


# ---------------------------------------------------------------- loops


def of_a_loop(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for a `for` as JavaScript, Go and Python write it, or None."""
    kind = place.kind()
    if kind in ("LET", "CONST") and place.before(1) == "LPAREN" and place.before(2) == "FOR":
        return _of_javascript(place)
    if kind == "EQ" and place.before(2) == "LPAREN" and place.before(3) == "FOR":
        return f"write `for {place.word_before()} in {_bounds(place, 1)} {{ … }}`"
    if kind == "IN" and place.before(2) == "LPAREN" and place.before(3) == "FOR":
        return f"a `for` has no brackets: `for {place.word_before()} in {place.rest(1)} {{ … }}`"
    if kind == "AWAIT" and place.before(1) == "FOR":
        return "a `for` waits for the items of a stream by itself: `for x in xs { … }`"
    if kind == "IDENT" and place.text() == "of" and "IN" in expected:
        return f"write `for {place.word_before() or 'x'} in {place.rest(1, *BRACES)} {{ … }}`"
    if place.before(1) == "FOR" and kind in BRACES and place.kind(place.end(1, frozenset()) + 2) != "IN":
        return "write `loop { … }`"
    return _of_go(place) if "IN" in expected and place.before(2) == "FOR" else None


def _of_javascript(place: ErrorPlace) -> str:
    if place.text(2) == "of":
        return f"write `for {place.text(1)} in {place.rest(3)} {{ … }}`"
    if place.text(2) == "in":
        return f"write `for {place.text(1)} in {place.rest(3)}.keys() {{ … }}` for the keys of a map, `0..xs.len()` for positions"
    return f"write `for {place.text(1)} in {_bounds(place, 3)} {{ … }}`"


def _bounds(place: ErrorPlace, ahead: int) -> str:
    """Return the range that `i = a; i < b; i++` means; `a` stands `ahead` rows from the error."""
    semi = place.end(ahead, frozenset(("SEMI",))) + 1
    first, limit = place.written(ahead, semi - 1), place.kind(semi + 2)
    # A loop that counts down, or by another rule, is left to the reader.
    if limit not in ("LT", "LE"):
        return "a..b"
    last = place.written(semi + 3, place.end(semi + 3, frozenset(("SEMI",))))
    return f"{first}..{'=' if limit == 'LE' else ''}{last}"


def _of_go(place: ErrorPlace) -> str | None:
    """Return the help for what follows the first name behind `for` in Go and Python."""
    name = place.word_before()
    kind = place.kind()
    if kind == "COLON" and place.kind(1) == "EQ":
        if place.text(2) == "range":
            return f"write `for {name} in {place.rest(3, *BRACES)} {{ … }}`"
        return f"write `for {name} in {_bounds(place, 2)} {{ … }}`"
    if kind == "COMMA" and place.kind(1) == "IDENT":
        second = place.text(1)
        if place.text(4) == "range":
            items = place.rest(5, *BRACES)
            return f"write `for {second} in {items}`" if name == "_" else f"write `for ({name}, {second}) in {items}.enumerate()`"
        items = f" in {place.rest(3, *BRACES, 'COLON')}" if place.kind(2) == "IN" else ""
        return f"several names stand in brackets: `for ({name}, {second}){items} {{ … }}`"
    if kind in ("LT", "GT", "LE", "GE", "EQEQ", "NE", "DOT"):
        return f"write `while {place.written(-1, place.end(0, BRACES))} {{ … }}`"
    return None


# ---------------------------------------------------------------- declarations


def of_a_declaration(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for `model M = …`, a type without its `:`, a list of names, or a kind of declaration that the
    language does not have; None for anything else."""
    for rule in (_with_equals, _walrus, _names_with_types, _several_names, _results, _of_types, _shapes):
        help = rule(place, expected)
        if help is not None:
            return help
    return None


def _with_equals(place: ErrorPlace, expected: set[str]) -> str | None:
    if place.kind() == "EQ" and place.before(1) == "COLON" and place.before(2) == "IDENT":
        return f"write `let {place.text(-2)} = {place.rest(1)}`" if place.before(3) in ("LET", "MUT") else None
    if place.kind() != "EQ" or place.before(1) != "IDENT":
        return None
    if "LBRACE" in expected and place.before(2).startswith("K_"):
        return f"leave out the `=`: `{place.text(-2)} {place.word_before()} {{ … }}`"
    if place.before(2) == "CONST":
        return _constant(place, expected)
    if expected == {"COLON"}:
        return f"write `{place.word_before()}: T = …`, with its type for T"
    return None


def _constant(place: ErrorPlace, expected: set[str]) -> str:
    value = place.rest(1)
    constant = f"const {place.word_before()}: {LITERAL_TYPES.get(place.kind(1), 'T')} = {value};"
    # At module level there is no `let`.
    if not place.in_brackets():
        return f"a constant has a type: `{constant}`"
    return f"write `let {place.word_before()} = {value};`, or a constant with its type: `{constant}`"


def _walrus(place: ErrorPlace, expected: set[str]) -> str | None:
    if place.kind() != "COLON" or place.kind(1) != "EQ" or not place.word_before() or not place.adjacent(0, 1):
        return None
    first = place.begin(frozenset(("SEMI", "BLKEND", "LET")))
    value = place.rest(2, *BRACES)
    if place.kind(first) in ("IF", "WHILE") or place.before(2) in ("LPAREN", "IF", "WHILE"):
        return f"give it a name before: `let {place.word_before()} = {value};`"
    return f"write `let {place.word_before()} = {value};`" if place.before(2) not in ("FOR", "COMMA") else None


def _names_with_types(place: ErrorPlace, expected: set[str]) -> str | None:
    """`let n Int`, `a Int` as a parameter, `x Int` as a field, and modifiers of fields."""
    if place.kind() not in ("IDENT", "LBRACKET", "STAR") or not place.word_before() or "COLON" not in expected:
        return None
    name, before = place.word_before(), place.before(2)
    if name in ("private", "public", "protected", "readonly") and place.kind() == "IDENT":
        type_ = type_at(place, 2) if place.kind(1) == "COLON" else None
        field = f"{place.text()}: {type_[0] if type_ else 'T'}"
        return f"write `pub {field}`" if name == "public" else f"fields are private without `pub`: write `{field}`"
    type_ = type_at(place, 0)
    if type_ is None or ("PLUS" in expected and before not in ("LET", "MUT")):
        return None
    if before in ("LET", "MUT"):
        value = place.rest(type_[1] + 1) if place.kind(type_[1]) == "EQ" else ELIDED
        return f"write `let {name}: {type_[0]} = {value};`"
    return f"write `{name}: {type_[0]}`"


def _several_names(place: ErrorPlace, expected: set[str]) -> str | None:
    """`let a, b = 1, 2`, `let a = 1, b = 2`, `a, b = b, a`, `return 1, 2`."""
    if place.kind() != "COMMA" or "SEMI" not in expected:
        return None
    first = place.begin(frozenset(("SEMI", "BLKEND")))
    begins = place.kind(first)
    if begins == "LET" and all(place.kind(at) != "EQ" for at in range(first, 0)):
        equals = place.end(1, frozenset(("EQ", "SEMI"))) + 1
        names = place.written(first + 1, equals - 1)
        return f"write `let ({names}) = ({place.written(equals + 1, place.end(equals + 1, frozenset(('SEMI',))))});`"
    if begins == "LET":
        return f"write one `let` for each: `let {place.written(first + 1, -1)}; let {place.rest(1)};`"
    if begins in ("RETURN", "RETURN_V"):
        return f"write `return ({place.written(first + 1, place.end(0, frozenset(('SEMI',))))});`"
    if begins == "IDENT" and first == -1:
        a, b = place.text(-1), place.text(1)
        if place.kind(2) == "EQ" and place.text(3) == b and place.text(5) == a:
            return f"write `let kept = {a}; {a} = {b}; {b} = kept;`"
        return f"assign one after another: `{a} = …; {b} = …;`"
    return None


def _results(place: ErrorPlace, expected: set[str]) -> str | None:
    """`fn f(): Int` and `fn f() Int`."""
    if "ARROW" not in expected or place.before(1) != "RPAREN":
        return None
    if place.text() == "where" or (place.kind() == "COLON" and place.line(1) > place.line()):
        return None
    type_ = type_at(place, 1 if place.kind() == "COLON" else 0)
    return f"write `-> {type_[0]}`" if type_ else None


def _of_types(place: ErrorPlace, expected: set[str]) -> str | None:
    """`type T = { … }`, `type T struct`, `type T interface`."""
    kind = place.kind()
    if kind in BRACES and place.before(1) == "EQ" and place.before(3) == "K_TYPE":
        return f"write `struct {place.text(-2)} {{ … }}`"
    if place.before(2) == "K_TYPE" and (kind == "STRUCT" or place.text() in ("struct", "interface")):
        return f"write `{'trait' if place.text() == 'interface' else 'struct'} {place.word_before()} {{ … }}`"
    return None


def _shapes(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for structs without names of fields or with parents, variants with numbers, and methods outside of an
    `impl`."""
    kind, name = place.kind(), place.word_before()
    if name and place.before(2) == "STRUCT":
        if kind == "LPAREN":
            type_ = type_at(place, 1)
            return f"fields have names: `struct {name} {{ value: {type_[0] if type_ else 'T'} }}`"
        if kind == "SEMI":
            return f"write `struct {name} {{}}`"
        if place.text() == "extends":
            return f"there is no inheritance; hold one as a field: `struct {name} {{ base: {place.text(1)} }}`"
        if place.text() == "implements":
            return f"write `impl {place.text(1)} for {name} {{ … }}` behind the struct"
    if kind == "EQ" and name and "COMMA" in expected and {"RBRACE", "LBRACE"} <= expected:
        return f"variants have no values: write `{name}`, and give them by a method with `match`"
    if kind == "LPAREN" and place.before(1) == "CONST":
        return "write each by itself: `const A: Int = 1;`"
    if kind in ("FN", "FNEXPR", "FNTYPE") and place.kind(1) == "LPAREN" and place.kind(2) == "IDENT" and "STRUCT" in expected:
        return f"methods stand in `impl {place.text(3)} {{ fn {place.text(5)}(self) {{ … }} }}`"
    # `<T extends Shape>` of TypeScript and Java.
    generic = kind in ("LT", "TLT") and place.before(2) in ("FN", "STRUCT", "IMPL", "TRAIT")
    if generic and place.text(2) in ("extends", "implements"):
        return f"write the bound with `:`: `<{place.text(1)}: {place.text(3)}>`"
    if kind == "QUESTION" and place.kind(1) == "COLON" and "COLON" in expected and place.before(2) in ("LPAREN", "COMMA"):
        type_ = type_at(place, 2)
        return f"write `{name}: {type_[0] if type_ else 'T'}? = nil`"
    if kind == "DOT" and place.before(2) == "AT":
        return "decorators are `@test`, `@describe(…)` and those of the language: drop the line"
    if place.text() in ("static", "public", "private", "override", "final", "abstract") and "FN" in expected:
        keyword = "pub fn" if place.text() == "public" else "fn"
        return f"write `{keyword} {place.text(2)}(…)` without `{place.text()}`"
    return None


# ---------------------------------------------------------------- tests of types


def of_a_test(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for `x is None`, `x is String`, `x instanceof T`, `x in xs`, `x not in xs` and `x.(T)`,
    or None."""
    word = place.text()
    if place.kind() == "LPAREN" and place.before(1) == "DOT":
        value = place.written(place.begin(), -2)
        return f"write `typeof({value})`" if place.text(1) in ("type", "kind") else f"write `{value} as {place.text(1)}`"
    value = place.written(place.begin(), -1)
    if place.kind() == "IN" and "PLUS" in expected:
        return _contained(place, value, 1, "")
    if place.kind() != "IDENT" or place.before(1) not in ("IDENT", "RPAREN", "RBRACKET", "INT", "STRING"):
        return None
    if word == "not" and place.kind(1) == "IN":
        return _contained(place, value, 2, "!")
    if word == "instanceof":
        return f'write `typeof({value}) == "{place.text(1)}"`'
    if word != "is":
        return None
    negated = place.text(1) == "not"
    operand = place.text(2 if negated else 1)
    if operand in ("None", "nil", "null"):
        return f"write `{value} != nil`, or `{value}.is_some()` of an Option" if negated else (
            f"write `{value} == nil`, or `{value}.is_none()` of an Option"
        )
    # A capital letter begins the name of a type.
    if operand[:1].isupper() and operand not in ("True", "False"):
        return f'write `typeof({value}) {"!=" if negated else "=="} "{operand}"`'
    return f"write `{value} {'!=' if negated else '=='} {operand}`"


def _contained(place: ErrorPlace, value: str, ahead: int, negated: str) -> str:
    inside = place.rest(ahead, *BRACES, "ANDAND", "OROR")
    return f"write `{negated}{inside}.contains({value})`, of a map `{negated}{inside}.has({value})`"


# Imports as other languages write them.

_FROM = re.compile(r"from\s+(?P<path>[\w.]+)\s+import\s+(?P<names>[\w, ]+)")
_NAMED = re.compile(r"import\s+(?:type\s+)?\{(?P<names>[^}]*)\}\s*from\s*['\"](?P<path>[^'\"]+)['\"]")
_DEFAULT = re.compile(r"import\s+(?:\*\s+as\s+)?\w+\s+from\s*['\"](?P<path>[^'\"]+)['\"]")
_PLAIN = re.compile(r"(?:import|include|require|using|from)\b\W*(?P<path>[\w./:-]+)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def import_help(line: str) -> str:
    """Return the `use` that is meant by a source line with an import of Python, JavaScript, C, C# or Rust, as a help; an example
    where the line names no module."""
    statement = _FROM.search(line) or _NAMED.search(line) or _DEFAULT.search(line) or _PLAIN.search(line)
    path = (statement["path"] if statement else None) or ""
    names = _NAME.findall(statement["names"]) if statement and "names" in statement.groupdict() else []
    # `./name` is a file of the program, never a module of the library.
    own = path.startswith(".")
    segments = [segment for segment in re.split(r"[./:]+", path) if _NAME.fullmatch(segment)]
    if not segments:
        return "write `use std::json;`, one for each module"
    if segments[0] == "std":
        segments = segments[1:] or ["json"]
    module = segments[0] if segments[0] in STD_MODULES else MODULES.get(segments[0])
    if module is not None and not own:
        if names and all(name in std_module(module) for name in names):
            return f"write `use std::{module}::{_listed(names)};`"
        return f"write `use std::{module};`" + ("" if module in segments else f", and call `{module}::…`")
    last = segments[-1]
    if own or names:
        return f"write `use {last}::{_listed(names)};`, for a file `{last}.conc` beside this one"
    return f"the library has no `{last}`; a file `{last}.conc` beside this one is called as `{last}::…` without any import"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}" if names else "*"


# Words of other languages where this one has another word or form, with their helps.

WORDS = {
    "switch": "use `match`",
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`: `try { … } catch Error(e) { … } …`",
    "null": "write `nil`",
    "elif": "write `else if`",
    "elsif": "write `else if`",
    "elseif": "write `else if`",
    "spawn": "`spawn` takes a call or an `async` block: `spawn f()`",
    "assert": "call it: `assert(a == b)`, or `assert_eq(a, b)`",
    "foreach": "write `for x in xs { … }`",
    "not": "logical not is `!`",
    "and": "logical and is `&&`",
    "or": "logical or is `||`",
}
# Words that begin a block elsewhere and here a struct literal or a call, with their helps.
BLOCKS = {
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`: `try { … } catch Error(e) { … } …`",
    "do": "use `loop`: `loop { … if !again { break; } }`",
    "unless": "write `if !…`",
    "until": "write `while !…`",
    "switch": "use `match`: `match x { 1 => …, _ => … }`",
    "unsafe": "leave out `unsafe`",
}


# Stores without their type or value.

FORMS = {
    "K_MEMORY": "memory {}: Memory = Memory::new();",
    "K_HASHMAP": "hashmap {}: HashMap<String, Int> = HashMap::new();",
    "K_LEDGER": "ledger {}: Ledger = Ledger::new();",
    "K_INDEX": "index {}: Index<Doc> = Index::of(E, key: |d| d.text);",
}
LONGEST = 40  # tokens of a type


def of_a_store(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for a memory, hashmap, ledger or index without its type (the error is at `=`) or without its value (at `;`,
    or at a block in its place), and for a memory with something before its block; None for anything else."""
    name = {"EQ": -1, "LBRACE": -2}.get(place.kind(), 0)
    if name and place.kind(name - 1) == "K_MEMORY" and (name == -2 or place.kind(1) in ("LBRACE", "MLBRACE")):
        return f"leave out the `{place.text(name + 1)}`: `memory {place.text(name)} {{ … }}`"
    if place.kind() not in ("EQ", "SEMI", "LBRACE", "MLBRACE", "SLBRACE"):
        return None
    # The word that declares a store stands before its name and, perhaps, its type.
    for back in range(1, min(place.row, LONGEST) + 1):
        kind = place.before(back)
        if kind in FORMS and place.before(back - 1) == "IDENT":
            return f"write `{FORMS[kind].format(place.text(1 - back))}`"
        if kind in ("SEMI", "LBRACE", "RBRACE", "EQ"):
            return None
    return None
