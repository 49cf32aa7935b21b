"""Patterns: tests that jump when they fail, and bindings (L-5.8).

Hands on `bind_irrefutable`, for `let`, `for` and parameters, to `statements` and `functions`, and `test_pattern`, for `match`,
to `statements`. Both write code into `g.emitter`. The value under test lies in a slot, a local of the function by its number. A
bound part is marked shared unless its type has nothing to write into. `_TESTS` has one function for each kind of pattern but
`..`, which belongs to that of arrays; whether the arms cover all values has been checked. TooLong of `emit_constant` and
RecursionError pass through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import symbols
from .. import types as t
from ..checker.types import RECORDS
from ..syntax import ast
from .constants import emit_constant
from .emitter import Label
from .generator import Generator, is_plain


class NoOtherArm(Label):
    """Where values go that a pattern of let, for or a parameter does not match: nothing else is tried, so an array of another
    length panics where it is found, with both lengths (L-5.8.11)."""

    __slots__ = ()


def bind_irrefutable(g: Generator, pattern: ast.Pattern, type_: t.Type | None) -> None:
    """Generate what binds the value on the operand stack, and pops it, by a pattern of let, for or a parameter; `type_` is the
    static type of the value. A value that does not match all the same ends in a panic: P010 for an array of another length, P009
    for others behind Any."""
    e = g.emitter
    if isinstance(pattern, ast.BindPattern) and pattern.inner is None and pattern.constant is None:
        g.bind(pattern.binding)
    elif isinstance(pattern, ast.WildcardPattern):
        e.emit("POP")
    else:
        slot = e.temp()
        e.emit("STORE", slot)
        fails, end = NoOtherArm(), Label()
        depth = e.depth
        # Names of a pattern have their values only when all of it has matched.
        e.names.tentative = True
        test_pattern(g, pattern, slot, fails, type_)
        e.names.tentative = False
        e.jump("JUMP", end)
        e.mark(fails, depth)
        g.at(pattern.span)
        e.emit("LOAD", slot)
        e.emit("FAIL_MATCH")
        e.mark(end, depth)
        e.names.confirm(len(e.code))
        e.release(slot)


def test_pattern(g: Generator, pattern: ast.Pattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    """Generate the test: jump to `fails` unless the value in `slot`, of the static type `type_`, matches; bind its names. All
    that was pushed is popped either way."""
    g.module.nesting.call(_TESTS[type(pattern)], g, pattern, slot, fails, type_)


def _jump_unless(g: Generator, name: str, operand: int, slot: int, fails: Label) -> None:
    g.emitter.emit("LOAD", slot)
    g.emitter.emit(name, operand)
    g.emitter.jump("JUMP_UNLESS", fails)


def _bind_part(g: Generator, local: symbols.Local, slot: int, type_: t.Type | None) -> None:
    g.emitter.emit("LOAD", slot)
    if is_plain(type_):
        g.emitter.is_plain()
    else:
        g.emitter.emit("SHARE")
    g.bind(local)


def _wildcard(g: Generator, pattern: ast.WildcardPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    pass


def _bind(g: Generator, pattern: ast.BindPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    if pattern.constant is not None:
        _constant(g, pattern.constant, slot, fails, pattern.type)
        return
    if pattern.inner is not None:
        test_pattern(g, pattern.inner, slot, fails, type_)
    # Bound last: `x @ p` has a value only when p matches.
    _bind_part(g, pattern.binding, slot, pattern.binding.type)


def _constant(g: Generator, symbol: object, slot: int, fails: Label, type_: t.Type | None) -> None:
    if isinstance(symbol, symbols.VariantSymbol):
        _variant(g, symbol, slot, fails)
    elif isinstance(symbol, symbols.BuiltinSymbol):  # None
        _absence(g, slot, fails, is_nil=t.absent_as_nil(type_))
    elif isinstance(symbol, symbols.ConstSymbol):
        g.emitter.emit("LOAD", slot)
        emit_constant(g, symbol.value)
        g.emitter.emit("EQ")
        g.emitter.jump("JUMP_UNLESS", fails)
    elif isinstance(symbol, symbols.ErrorFamilySymbol):
        _error(g, symbol, slot, fails)


def _absence(g: Generator, slot: int, fails: Label, *, is_nil: bool) -> None:
    """Go to `fails` unless the value is nil, or None. Which of the two is meant says the type, or behind Any the word
    (L-5.8.13)."""
    g.emitter.emit("LOAD", slot)
    if is_nil:
        g.emitter.emit("IS_NIL")
    else:
        g.emitter.emit("NONE")
        g.emitter.emit("EQ")
    g.emitter.jump("JUMP_UNLESS", fails)


def _variant(g: Generator, symbol: symbols.VariantSymbol, slot: int, fails: Label) -> None:
    _jump_unless(g, "IS_VARIANT", g.module.variant(symbol), slot, fails)


def _error(g: Generator, symbol: symbols.ErrorFamilySymbol, slot: int, fails: Label) -> None:
    _jump_unless(g, "IS_ERROR", g.module.pool.error(symbol.name, symbol.variant, []), slot, fails)


def _literal(g: Generator, pattern: ast.LiteralPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    if pattern.value is None:
        _absence(g, slot, fails, is_nil=not (isinstance(pattern.type, t.Generic) and pattern.type.name == "Option"))
        return
    e.emit("LOAD", slot)
    if isinstance(pattern.value, bool) and type_ == t.BOOL:
        e.jump("JUMP_UNLESS" if pattern.value else "JUMP_IF", fails)
        return
    else:
        emit_constant(g, pattern.value)
        # EQ_INT also compares two Strings (V-2.6).
        e.emit("EQ_INT" if type_ in (t.INT, t.STRING) else "EQ")
    e.jump("JUMP_UNLESS", fails)


def _range(g: Generator, pattern: ast.RangePattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    # Of an Any the kind is tested first: a range never matches anything but a number.
    typed = type_ in (t.INT, t.FLOAT)
    if not typed:
        number = Label()
        depth = e.depth
        e.emit("LOAD", slot)
        e.emit("IS", g.module.pool.type(t.INT))
        e.jump("JUMP_IF", number)
        _jump_unless(g, "IS", g.module.pool.type(t.FLOAT), slot, fails)
        e.mark(number, depth)
    for bound, opcode in ((pattern.start, "GE"), (pattern.end, "LE" if pattern.inclusive else "LT")):
        if bound is not None:
            e.emit("LOAD", slot)
            emit_constant(g, bound)
            e.emit(opcode + "_INT" if typed else opcode)
            e.jump("JUMP_UNLESS", fails)


def _path(g: Generator, pattern: ast.PathPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    _constant(g, pattern.binding, slot, fails, pattern.type)


def _part(g: Generator, pattern: ast.Pattern, fails: Label, type_: t.Type | None) -> None:
    """Match the part on the stack."""
    e = g.emitter
    if isinstance(pattern, ast.WildcardPattern):
        e.emit("POP")
        return
    slot = e.temp()
    e.emit("STORE", slot)
    test_pattern(g, pattern, slot, fails, type_)
    e.release(slot)


_HOLDERS = {"Some": "IS_SOME", "Ok": "IS_OK", "Err": "IS_ERR"}


def _tuple_struct(g: Generator, pattern: ast.TupleStructPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    binding = pattern.binding
    # `Some(p)` on a `T?` is p on whatever is not nil (L-5.8.13).
    if isinstance(binding, symbols.BuiltinSymbol) and binding.name == "Some" and t.absent_as_nil(pattern.type):
        e.emit("LOAD", slot)
        e.emit("IS_NIL")
        e.jump("JUMP_IF", fails)
        e.emit("LOAD", slot)
        _part(g, pattern.items[0], fails, pattern.items[0].type)
        return
    if isinstance(binding, symbols.BuiltinSymbol):
        _jump_unless(g, _HOLDERS[binding.name], 0, slot, fails)
        if pattern.items:
            e.emit("LOAD", slot)
            e.emit("UNWRAP")
            _part(g, pattern.items[0], fails, pattern.items[0].type)
        else:  # Ok() is Ok(nil)
            e.emit("LOAD", slot)
            e.emit("UNWRAP")
            e.emit("IS_NIL")
            e.jump("JUMP_UNLESS", fails)
        return
    if isinstance(binding, symbols.VariantSymbol):
        _variant(g, binding, slot, fails)
        for index, item in enumerate(pattern.items):
            e.emit("LOAD", slot)
            e.emit("GET_PAYLOAD", index)
            _part(g, item, fails, item.type)
        return
    _error(g, binding, slot, fails)
    for item in pattern.items:
        e.emit("LOAD", slot)
        e.emit("GET_MEMBER", g.module.pool.string("message"))
        _part(g, item, fails, item.type)


def _struct(g: Generator, pattern: ast.StructPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    binding = pattern.binding
    by_position: dict[str, int] = {}
    part, by_name = "GET_FIELD", "GET_MEMBER"
    if isinstance(binding, symbols.ErrorFamilySymbol):
        _error(g, binding, slot, fails)
        by_name = "GET_ERROR" if binding.name == "Error" else by_name
    elif isinstance(binding, symbols.VariantSymbol):
        part = "GET_PAYLOAD"
        by_position = {name: i for i, (name, _, _, _) in enumerate(binding.fields)}
        _variant(g, binding, slot, fails)
    elif isinstance(binding, symbols.StructSymbol):
        by_position = {name: i for i, (name, _, _, _) in enumerate(binding.fields)}
        _test_type(g, binding.type, slot, fails, type_)
    else:
        _test_type(g, RECORDS[binding.name], slot, fails, type_)
    for entry in pattern.fields:
        e.emit("LOAD", slot)
        if entry.name.text in by_position:
            e.emit(part, by_position[entry.name.text])
        else:
            e.emit(by_name, g.module.pool.string(entry.name.text))
        _part(g, entry.pattern, fails, entry.pattern.type)


def _test_type(g: Generator, own: t.Type, slot: int, fails: Label, type_: t.Type | None) -> None:
    """Go to `fails` unless the value is of the struct or record `own`; of a value of just this type nothing has to be tested."""
    if not isinstance(type_, t.Nominal) or type_.bare != t.bare(own):
        _jump_unless(g, "IS", g.module.pool.type(own), slot, fails)


def _tuple(g: Generator, pattern: ast.TuplePattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    if not isinstance(type_, t.Tuple):
        shape = t.Tuple(tuple(t.ANY for _ in pattern.items))
        _jump_unless(g, "IS", g.module.pool.type(shape), slot, fails)
        e.emit("LOAD", slot)
        e.emit("LENGTH")
        emit_constant(g, len(pattern.items))
        e.emit("EQ_INT")
        e.jump("JUMP_UNLESS", fails)
    for index, item in enumerate(pattern.items):
        e.emit("LOAD", slot)
        e.emit("GET_ELEMENT", index)
        _part(g, item, fails, item.type)


def _array(g: Generator, pattern: ast.ArrayPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    rest = next((i for i, item in enumerate(pattern.items) if isinstance(item, ast.RestPattern)), None)
    # With `..` the array may be longer.
    needed = len(pattern.items) - (rest is not None)
    if not (isinstance(type_, t.Generic) and type_.name == "Array"):
        _jump_unless(g, "IS", g.module.pool.type(t.array(t.ANY)), slot, fails)
    e.emit("LOAD", slot)
    e.emit("LENGTH")
    emit_constant(g, needed)
    e.emit("EQ_INT" if rest is None else "GE_INT")
    if isinstance(fails, NoOtherArm):
        _panic_unless(g, pattern, slot, needed)
    else:
        e.jump("JUMP_UNLESS", fails)
    for index, item in enumerate(pattern.items):
        if isinstance(item, ast.RestPattern):
            if item.binding is not None:
                _rest(g, item, slot, index, len(pattern.items) - index - 1)
        else:
            e.emit("LOAD", slot)
            _array_index(g, slot, index, None if rest is None or index < rest else len(pattern.items) - index)
            e.emit("INDEX_ARRAY")
            _part(g, item, fails, item.type)


def _panic_unless(g: Generator, pattern: ast.ArrayPattern, slot: int, needed: int) -> None:
    """Panic with P010 unless the Bool on the stack says that the length is right."""
    e = g.emitter
    fits, around = Label(), e.span
    e.jump("JUMP_IF", fits)
    g.at(pattern.span)
    e.emit("LOAD", slot)
    e.emit("FAIL_LENGTH", needed)
    e.span = around
    e.mark(fits, e.depth)


def _array_index(g: Generator, slot: int, index: int, from_end: int | None) -> None:
    if from_end is None:
        emit_constant(g, index)
        return
    g.emitter.emit("LOAD", slot)
    g.emitter.emit("LENGTH")
    emit_constant(g, from_end)
    g.emitter.emit("SUB_INT")


def _rest(g: Generator, item: ast.RestPattern, slot: int, start: int, behind: int) -> None:
    """Bind `..r` to the elements between as an Array; `behind` elements of the pattern follow it."""
    e = g.emitter
    e.emit("LOAD", slot)
    emit_constant(g, start)
    _array_index(g, slot, 0, behind)
    e.emit("RANGE", 0)
    e.emit("INDEX")
    g.bind(item.binding)


def _or(g: Generator, pattern: ast.OrPattern, slot: int, fails: Label, type_: t.Type | None) -> None:
    e = g.emitter
    depth = e.depth
    matched = Label()
    # All alternatives bind the same names, so the code behind needs no cases.
    for alternative in pattern.alternatives[:-1]:
        following = Label()
        test_pattern(g, alternative, slot, following, type_)
        e.jump("JUMP", matched)
        e.mark(following, depth)
    test_pattern(g, pattern.alternatives[-1], slot, fails, type_)
    e.mark(matched, depth)


_TESTS: dict[type[ast.Pattern], Callable[[Generator, Any, int, Label, t.Type | None], None]] = {
    ast.WildcardPattern: _wildcard, ast.BindPattern: _bind, ast.LiteralPattern: _literal, ast.RangePattern: _range,
    ast.PathPattern: _path, ast.TupleStructPattern: _tuple_struct, ast.StructPattern: _struct, ast.TuplePattern: _tuple,
    ast.ArrayPattern: _array, ast.OrPattern: _or,
}  # fmt: skip
