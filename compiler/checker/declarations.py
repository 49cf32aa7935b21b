"""Declarations before any body: structs, enums, constants and aliases (L-3.9, L-3.13.5), and the fields of built-in records
(L-6.9).

Hands on to `program` the passes `declare_types`, `check_cycles`, `check_constants` and `check_defaults`; to everything that has
values in its declaration `at_module_level` (type it), `folded` and `constant_value` (its constant value, or FAILED); `components`
to what follows declarations, or functions, that are made of each other (`memory`, `models`, `callees`); and to `expressions`,
`operators` and codegen RECORD_FIELDS, where a new built-in record gets its fields, with `WRITTEN`, `may_be_left_out` and
`default_of` for their literals. Traits and impls are in `impls`; what a constant means is evaluated in `constants`. `c` is the
state of the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what
was reported, which suits every place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from ..source import Span
from ..symbols import (
    AliasSymbol,
    ConstSymbol,
    EnumSymbol,
    StructSymbol,
    Symbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    BOOL,
    CITATION,
    FLOAT,
    INT,
    MEDIA,
    MESSAGE,
    PROVENANCE,
    STRING,
    TOOL_CALL,
    Generic,
    Nilable,
    Nominal,
    Tuple,
    Type,
    array,
    map_,
    option,
)
from .constants import Fault, NotConstant, fold, size_of
from .outside import outside_functions
from .prompts import warn_quoted_type
from .state import Checker, Expected
from .types import alias_type, written_type

# Declarations that are made of others.

T = TypeVar("T")


def components(declarations: Iterable[T], made_of: Callable[[T], list[T]]) -> Iterator[list[T]]:
    """Yield the declarations, and all they are made of, in groups: each alone, or with all that are made of one another; a group
    comes after those it is made of.

    Strongly connected components by Tarjan, with a stack of its own: a chain of declarations may be longer than Python's stack.
    """
    number: dict[T, int] = {}  # in the order in which the walk met them
    lowest: dict[T, int] = {}  # the least number that is reached from it, among those without a group
    ungrouped: dict[T, None] = {}
    for start in declarations:
        path: list[tuple[T, Iterator[T]]] = []
        entered: T | None = None if start in number else start
        while entered is not None or path:
            if entered is not None:
                number[entered] = lowest[entered] = len(number)
                ungrouped[entered] = None
                path.append((entered, iter(made_of(entered))))
            at, below = path[-1]
            entered = next((other for other in below if _is_new(other, at, number, lowest, ungrouped)), None)
            if entered is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[at])
                if lowest[at] == number[at]:
                    yield _group(at, ungrouped)


def _is_new(other: T, at: T, number: dict[T, int], lowest: dict[T, int], ungrouped: dict[T, None]) -> bool:
    """Return whether the walk has not met a declaration; note for `at` that it reaches one that has no group yet."""
    if other in ungrouped:
        lowest[at] = min(lowest[at], number[other])
    return other not in number


def _group(first: T, ungrouped: dict[T, None]) -> list[T]:
    """Take the declarations from `first` on out of those without a group."""
    group: list[T] = []
    while not group or group[-1] is not first:
        group.append(ungrouped.popitem()[0])
    return group[::-1]


def topological_order(declarations: Iterable[T], made_of: Callable[[T], list[T]]) -> Iterator[T]:
    """Yield all of them once, each after those it is made of; those in a circle together, in their own order."""
    declarations = list(declarations)
    place = {declaration: at for at, declaration in enumerate(declarations)}
    for group in components(declarations, made_of):
        yield from sorted((one for one in group if one in place), key=place.__getitem__)


def declare_types(c: Checker, symbols: list[Symbol]) -> None:
    """Set the types of aliases, then, in the order of the source, the fields of structs that are no schemas, the fields of enums
    and the types of constants: those may name any alias. E2014 for a field that stands twice."""
    for symbol in symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and symbol.type_parameters and isinstance(symbol.type, Nominal):
            # Inside its declaration a generic type has its own parameters as arguments.
            symbol.type = symbol.type.of(tuple(parameter.type for parameter in symbol.type_parameters))
    for alias in topological_order([symbol for symbol in symbols if isinstance(symbol, AliasSymbol)], _aliases_in):
        alias_type(c, alias)
    for symbol in symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Struct):
            symbol.fields = _fields(c, symbol.name, symbol.declaration.fields)
        elif isinstance(symbol, EnumSymbol):
            _declare_payloads(c, symbol)
        elif isinstance(symbol, ConstSymbol):
            symbol.type = written_type(c, symbol.declaration.type)


def _aliases_in(symbol: AliasSymbol) -> list[AliasSymbol]:
    """Return the aliases that an alias is made of."""
    named = (node.binding for node in ast.walk(symbol.declaration.target) if isinstance(node, ast.NamedType))
    return [binding for binding in named if isinstance(binding, AliasSymbol)]


def _declare_payloads(c: Checker, symbol: EnumSymbol) -> None:
    declared: dict[str, ast.Variant] = {}
    for node in symbol.declaration.variants:
        declared.setdefault(node.name.text, node)
    for member in symbol.members:
        node = declared[member.name]
        items = enumerate(node.items or ())
        member.fields = [(str(position), written_type(c, type_), None, False) for position, type_ in items]
        member.fields += _fields(c, f"{symbol.name}::{member.name}", node.fields or [])
    if isinstance(symbol.type, Nominal):
        symbol.type.facts.payload = tuple([type_ for member in symbol.members for _, type_, _, _ in member.fields])


Fields = list[tuple[str, Type, ast.Expr | None, bool]]


def _fields(c: Checker, owner: str, fields: list[ast.Field]) -> Fields:
    """Return of each field name, type, default and whether it may be left out without one; E2014 for a name that stands twice."""
    seen: dict[str, Span] = {}
    parts: Fields = []
    for field in fields:
        name = field.name.text
        if name in seen:
            c.report(
                "E2014", field.name.span, f"field `{name}` of `{owner}` is declared twice", first=seen[name],
                help=f"remove {c.text(field)}, or rename it",
            )
            continue
        seen[name] = field.name.span
        parts.append((name, written_type(c, field.type), field.default, False))
        warn_quoted_type(c, field)
    return parts


def check_cycles(c: Checker, symbols: list[Symbol]) -> None:
    """Report structs whose values would have to hold themselves: E2040, of a schema E4020 (L-3.1.15, O-2.11)."""
    structs = [symbol for symbol in symbols if isinstance(symbol, StructSymbol)]
    held: Held = {}
    # Structs whose arguments go round are circles themselves: those are found whatever their parameters are taken for.
    for symbol in topological_order([s for s in structs if s.type_parameters], lambda s: _generics_in(c, s)):
        types = [inner for _, type_, _, _ in symbol.fields for inner in _types_held(c, type_, held)]
        held[symbol] = {at for at, parameter in enumerate(symbol.type_parameters) if parameter.type in types}
    done: set[StructSymbol] = set()
    for symbol in structs:
        for circle in _circles(c, symbol, done, held):
            # A circle is told from the struct that stands first in the source, however the walk met it.
            first = min(circle, key=lambda s: s.declaration.span.start)
            at = circle.index(first)
            members = [s.name for s in [*circle[at:], *circle[:at], first]]
            if len(members) > CIRCLE_SHOWN:
                members[CIRCLE_SHOWN // 2 : -CIRCLE_SHOWN // 2] = ["…"]
            names = " -> ".join(members)
            code = "E4020" if isinstance(first.declaration, ast.Schema) else "E2040"
            help = "hold it in an Option or an Array"
            c.report(code, first.declaration.name.span, f"circular type `{names}`", help=help)


CIRCLE_SHOWN = 20  # structs of a circle that a message names


# Of generic structs: the positions of the type parameters of which a value always holds one.
Held = dict[StructSymbol, set[int]]


def _circles(c: Checker, start: StructSymbol, done: set[StructSymbol], held: Held) -> list[list[StructSymbol]]:
    """Return the circles that a depth-first walk from `start` meets, over structs that are not yet done."""
    circles: list[list[StructSymbol]] = []
    if start in done:
        return circles
    path = {start: _structs_held(c, start, held)}  # in the order of the walk
    while path:
        at, left = next(reversed(path.items()))
        below = left.pop() if left else None
        if below is None:
            path.popitem()
            done.add(at)
        elif below in path:
            members = list(path)
            circles.append(members[members.index(below) :])
        elif below not in done:
            path[below] = _structs_held(c, below, held)
    return circles


def _structs_held(c: Checker, symbol: StructSymbol, held: Held) -> list[StructSymbol]:
    """Return the structs that a value of this one always holds, last field first; one in an Option or an Array need not be
    there."""
    types = [inner for _, type_, _, _ in reversed(symbol.fields) for inner in _types_held(c, type_, held)]
    return [struct for struct in map(c.declared, types) if isinstance(struct, StructSymbol)]


def _types_held(c: Checker, type_: Type, held: Held) -> list[Type]:
    """Return the declared types, and type parameters, of which a value of this type always holds one: of a Result only what both
    of its sides hold."""
    if isinstance(type_, Tuple):
        return [inner for item in type_.items for inner in _types_held(c, item, held)]
    if isinstance(type_, Generic) and type_.name == "Result":
        of_error = _types_held(c, type_.arguments[1], held)
        return [inner for inner in _types_held(c, type_.arguments[0], held) if inner in of_error]
    if not isinstance(type_, Nominal):
        return []
    symbol = c.declared(type_) if type_.arguments else None
    always = held.get(symbol, ()) if isinstance(symbol, StructSymbol) else ()
    return [type_, *(inner for at in always for inner in _types_held(c, type_.arguments[at], held))]


def _generics_in(c: Checker, symbol: StructSymbol) -> list[StructSymbol]:
    """Return the generic structs that the fields of a struct name outside of what may be empty."""
    found: dict[StructSymbol, None] = {}
    todo = [type_ for _, type_, _, _ in symbol.fields]
    while todo:
        type_ = todo.pop()
        if isinstance(type_, Tuple):
            todo.extend(type_.items)
        elif isinstance(type_, Nominal) or (isinstance(type_, Generic) and type_.name == "Result"):
            todo.extend(type_.arguments)
            named = c.declared(type_)
            if isinstance(named, StructSymbol) and named.type_parameters:
                found[named] = None
    return list(found)


# Values in declarations.


def check_defaults(c: Checker, symbols: list[Symbol]) -> None:
    """Type the defaults of the fields of all structs, schemas and variants; after this nothing that is folded has to type one."""
    for symbol in symbols:
        owners: list[StructSymbol | VariantSymbol] = [*symbol.members] if isinstance(symbol, EnumSymbol) else []
        for owner in [symbol] if isinstance(symbol, StructSymbol) else owners:
            for name, type_, default, _ in owner.fields:
                if default is not None:
                    type_default(c, owner, name, type_, default)


def type_default(c: Checker, owner: StructSymbol | VariantSymbol, name: str, type_: Type, default: ast.Expr) -> None:
    """Type the default of a field and convert it to the type of the field, once: in its turn, or before where a constant is made
    of it. One of another type is reported (E4023 of a schema, else E2001)."""
    if default.type is not None:
        return
    if isinstance(owner, StructSymbol) and isinstance(owner.declaration, ast.Schema):
        at_module_level(c, default, Expected(type_, "E4023", f"the default of `{name}`"))
    else:
        at_module_level(c, default, Expected(type_, place=f"field `{name}`"))


def at_module_level(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Type and convert an expression outside every function, where nothing can be thrown or returned (E3012); return the type
    that it then has, ERRONEOUS after a report that leaves none."""
    with outside_functions(c, node):
        return c.value(node, expected)


def check_constants(c: Checker, symbols: list[Symbol]) -> None:
    """Check all constants and fold their values into `value` of their symbols, each after those it is made of (E2001, E2032,
    E2033). One that cannot be folded has the value None, one of another type (E2001) the value that it has, which does not fit
    its type."""
    constants = [symbol for symbol in symbols if isinstance(symbol, ConstSymbol)]
    for symbol in constants:
        at_module_level(c, symbol.declaration.value, Expected(symbol.type, place=f"`{symbol.name}`"))
    values = _Values(c)
    for symbol in topological_order(constants, _constants_in):
        with suppress(NotConstant):
            values.value(symbol, symbol.declaration.name)


def _constants_in(symbol: ConstSymbol) -> list[ConstSymbol]:
    """Return the constants that a constant is made of, also through the defaults of structs in it."""
    constants: list[ConstSymbol] = []
    waiting: list[ast.Node] = [symbol.declaration.value]
    known: set[ast.Node] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.PathExpr) and isinstance(node.binding, ConstSymbol):
            constants.append(node.binding)
        elif isinstance(node, ast.StructExpr) and isinstance(node.binding, (StructSymbol, VariantSymbol)):
            defaults = [default for _, _, default, _ in node.binding.fields if default is not None and default not in known]
            known.update(defaults)
            waiting.extend(defaults)
        waiting.extend(node.children())
    return constants


class _Values:
    """The values of constants, each folded at its first use; what `constants.fold` needs to know of the program."""

    def __init__(self, c: Checker) -> None:
        self.checker = c

    def value(self, symbol: ConstSymbol, place: ast.Node) -> object:
        """Return the value of a constant, folded once. Raise NotConstant for one that has none; one that needs itself is
        reported (E2032)."""
        c = self.checker
        state = c.constants.get(symbol)
        if state == "busy":
            c.report("E2032", place.span, f"the constant `{symbol.name}` depends on itself", help="give one of them a literal")
            raise NotConstant(place)
        if state is None:
            c.constants[symbol] = "busy"
            value = folded(c, symbol.declaration.value, "E2032")
            c.constants[symbol] = "failed" if value is FAILED else "done"
            symbol.value = None if value is FAILED else value
        if c.constants[symbol] == "failed":
            raise NotConstant(place, reported=True)
        return symbol.value

    def default(self, owner: StructSymbol | VariantSymbol, name: str, type_: Type, node: ast.Expr) -> object:
        """Return the value of a default, folded once: defaults may be made of each other, so that few lines make huge ones. Raise
        what folding raises, Fault also for one that contains itself."""
        c = self.checker
        if node not in c.defaults:
            type_default(c, owner, name, type_, node)
            c.defaults[node] = _BUSY
            try:
                c.defaults[node] = c.nesting.call(fold, node, self)
            finally:
                if c.defaults[node] is _BUSY:
                    del c.defaults[node]
        value = c.defaults[node]
        if value is _BUSY:
            raise Fault(node, "P103", f"the default of `{name}` contains itself")
        return value

    def charge(self, node: ast.Node, value: object) -> None:
        """Count a value as part of all constants of the program; raise Fault where those are too large together (G-5.10)."""
        self.spend(node, size_of(value, max(0, self.checker.constant_room)))

    def spend(self, node: ast.Node, values: int) -> None:
        """Count work that costs as much as so many values; raise Fault as `charge` does."""
        self.checker.constant_room -= values
        if self.checker.constant_room < 0:
            raise Fault(node, "P103", "the constants of the program are too large together, or one is too deep")


_BUSY = object()  # in place of the value of a default that is being folded
FAILED = object()  # in place of the value of a constant that was reported


def constant_value(c: Checker, node: ast.Expr) -> object:
    """Return the value of a constant expression as plain data, FAILED as `folded` with the code E4004. Raise NotConstant, without
    a report, for an expression that is not constant."""
    try:
        c.nesting.call(fold, node, _Values(c))
    except NotConstant:
        raise
    except (Fault, AttributeError, TypeError, ValueError):
        pass  # `folded` reports it
    return folded(c, node, "E4004")


def folded(c: Checker, node: ast.Expr, code: str) -> object:
    """Return the value of a constant expression as plain data (`constants`); FAILED after a report: `code` for one that is not
    constant, E2033 for one that would panic. What was reported inside it before is not reported again."""
    # If folding has reported something itself, `code` would repeat it.
    before = len(c.diagnostics.found)
    values = _Values(c)
    try:
        value = c.nesting.call(fold, node, values)
        if type(value) not in (int, float, bool):
            values.charge(node, value)
        return value
    except NotConstant as part:
        if not part.reported and len(c.diagnostics.found) == before and not _reported(c, part.node):
            c.report(
                code, part.node.span, "this part is not constant",
                help="constants are made of literals, other constants and operators; compute the rest in a function",
            )
    except Fault as fault:
        if not _reported(c, fault.node):
            c.report("E2033", fault.node.span, f"the constant cannot be evaluated: {fault.text}", help="change the operands")
    except (AttributeError, TypeError, ValueError):
        pass  # operands of wrong types, reported when they were typed
    return FAILED


def _reported(c: Checker, node: ast.Node) -> bool:
    """Return whether something inside this part was reported already."""
    return c.diagnostics.has_errors_in(node.span)


# Types of the fields of built-in records, and those a literal may make (L-6.9, O-1.106 to O-1.115, O-1.221, O-1.225). The order
# of the fields is the machine's; a test compares the names.

RECORD_FIELDS: dict[str, dict[str, Type]] = {
    "Response": {
        "text": STRING, "tokens_in": INT, "tokens_out": INT, "model": STRING, "provider": STRING, "latency_ms": INT,
        "finish": STRING, "cost": Nilable(FLOAT), "attempts": INT, "cached": BOOL, "data": map_(STRING, ANY),
        "tokens_cached": INT, "tokens_cache_write": INT, "tokens_reasoning": INT, "reasoning": Nilable(STRING),
        "citations": array(CITATION),
    },
    "Citation": {"url": STRING, "title": Nilable(STRING), "start": INT, "end": INT},
    "Message": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING), "media": array(MEDIA),
    },
    "Prompt": {
        "text": STRING, "model": Nilable(STRING), "temperature": Nilable(FLOAT), "max_tokens": Nilable(INT),
        "media": array(MEDIA),
    },
    "Chunk": {"text": STRING},
    "ToolCall": {"id": STRING, "name": STRING, "arguments": map_(STRING, ANY)},
    "LedgerEntry": {"identifier": STRING, "keys": array(STRING), "value": STRING},
    "Entry": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING), "seq": INT,
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "origin": STRING, "pinned": BOOL, "tokens": INT, "at": INT,
        "media": array(MEDIA),
    },
    "Turn": {
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "at": INT, "tokens_in": INT, "tokens_out": INT,
        "meta": map_(STRING, ANY), "messages": array(MESSAGE),
    },
    "Fact": {
        "id": INT, "name": STRING, "content": ANY, "source": STRING, "relevance": FLOAT, "recency": FLOAT, "confidence": FLOAT,
        "score": FLOAT, "created_at": INT, "last_accessed": INT, "archived": BOOL, "trust": STRING, "provenance": PROVENANCE,
    },
    "Provenance": {
        "origin": STRING, "by": Nilable(STRING), "run": Nilable(STRING), "rule": Nilable(STRING), "seqs": array(INT),
    },
    "Learned": {"content": ANY, "confidence": FLOAT, "about": array(STRING)},
    "Dominant": {"value": ANY, "frequency": FLOAT},
    "Observed": {"key": STRING, "count": INT, "items": array(map_(STRING, ANY))},
    "Emit": {"channel": STRING, "payload": ANY},
    "ModelUsage": {
        **dict.fromkeys(
            (
                "attempts", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_write", "tokens_reasoning",
                "tokens_estimated",
            ),
            INT,
        ),  # fmt: skip
        "cost": FLOAT, "unpriced": INT, "hosted_calls": INT,
    },
    "BudgetLeft": {
        "tokens": Nilable(INT), "cost": Nilable(FLOAT), "model_calls": Nilable(INT), "steps": Nilable(INT),
        "seconds": Nilable(FLOAT),
    },
    "HttpResponse": {"status": INT, "body": STRING, "headers": map_(STRING, STRING)},
    "Url": {
        "scheme": STRING, "user": Nilable(STRING), "host": STRING, "port": Nilable(INT), "path": STRING,
        "query": Nilable(STRING), "fragment": Nilable(STRING),
    },
    "DateTime": {
        "year": INT, "month": INT, "day": INT, "hour": INT, "minute": INT, "second": INT, "millisecond": INT,
        "offset_minutes": INT, "zone": STRING,
    },
    "Media": {"kind": STRING, "mime": STRING, "bytes": INT, "hash": STRING, "name": Nilable(STRING)},
    "Passage": {"text": STRING, "start": INT, "headings": array(STRING)},
    "McpResource": {
        "uri": STRING, "name": STRING, "title": Nilable(STRING), "description": Nilable(STRING), "mime": Nilable(STRING),
        "size": Nilable(INT),
    },
    "McpPrompt": {
        "name": STRING, "title": Nilable(STRING), "description": Nilable(STRING), "arguments": map_(STRING, STRING),
        "required": array(STRING),
    },
    "RegexMatch": {"text": STRING, "start": INT, "end": INT, "groups": array(option(STRING))},
}  # fmt: skip

# Records that a literal may make; the others are made by the runtime only.
WRITTEN = ("Message", "Prompt", "ToolCall", "Learned")
# Defaults of fields of literals beside those of their types.
_DEFAULTS: dict[tuple[str, str], float] = {("Learned", "confidence"): 1.0}
_EMPTY = (("Message", "tool_calls"), ("Message", "media"), ("Prompt", "media"), ("Learned", "about"))


def may_be_left_out(record: str, field: str) -> bool:
    """Return whether a field of a literal has a default: nil, no elements, or a constant. Raise KeyError for a name that is not
    in RECORD_FIELDS."""
    nilable = isinstance(RECORD_FIELDS[record][field], Nilable)
    return nilable or (record, field) in _EMPTY or (record, field) in _DEFAULTS


def default_of(record: str, field: str) -> float | list[object] | None:
    """Return the default of a field that may be left out: None for nil; a list is a new one."""
    if (record, field) in _EMPTY:
        return []
    return _DEFAULTS.get((record, field))
