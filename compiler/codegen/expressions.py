"""Code for literals, operators, collections, reading of parts and conversions.

The functions register themselves for their nodes (`value_of`) and push a value: they write the code into `g.emitter` that leaves
one value on the operand stack when it runs. The conversion to what the place asks for (`coercion`) is not theirs:
`Generator.value` adds it. Hands on `operator_opcode` to `places`, `error_leaves` to `functions` and `statements`, and `parse_as`
to `calls`. Which method, field or operator is meant has been decided by the checker and stands in the tree; here only opcodes
are chosen. AssertionError is a name without a meaning, which no checked program has; TooLong of `emit_constant` and
RecursionError pass through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from ...vm.builtins import ASSOCIATED, FUNCTIONS, std_row
from ...vm.builtins.modules import STD_PREFIX
from .. import decisions, symbols
from .. import types as t
from ..checker.declarations import RECORD_FIELDS, default_of
from ..declaration_kinds import KINDS
from ..operators import BY_TEXT, EQUALITY, ORDER
from ..syntax import ast
from .constants import AT_ONCE, collect, emit_constant, emit_variant
from .emitter import Label
from .generator import Generator, is_entry, is_plain, may_alias, static_type, value_of
from .hashmap_entries import load_entry
from .slots import load_slot

# ---------------------------------------------------------------- literals


@value_of(ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral, ast.NilLiteral)
def literal(g: Generator, node: ast.IntLiteral | ast.FloatLiteral | ast.StringLiteral | ast.BoolLiteral | ast.NilLiteral) -> None:
    emit_constant(g, None if isinstance(node, ast.NilLiteral) else node.value)


@value_of(ast.Interpolation)
def interpolation(g: Generator, node: ast.Interpolation) -> None:
    for start in range(0, len(node.parts), AT_ONCE):
        parts = node.parts[start : start + AT_ONCE]
        g.operands(parts)
        # JOIN takes its parts from the operand stack, whose depth is limited; longer strings are joined piece by piece.
        count = len(parts) + (start > 0)  # with the text so far
        g.emitter.emit("JOIN", count, count)


@value_of(ast.GroupExpr)
def group(g: Generator, node: ast.GroupExpr) -> None:
    g.value(node.inner)


@value_of(ast.Pipe)
def pipe(g: Generator, node: ast.Pipe) -> None:
    """Generate the left side, then the rewritten call (L-5.9.2). Chains may be long (G-5.2), so they are walked from the
    innermost outward."""
    spine = [node]
    while isinstance(spine[-1].left, ast.Pipe):
        spine.append(spine[-1].left)
    e = g.emitter
    depth = e.depth
    g.bound(spine[-1].left)
    for part in reversed(spine):
        # The rewritten call holds the left side as an argument, which is already evaluated: its slot stands for it.
        slot = g.value_slots[part.left] = e.temp()
        e.emit("STORE", slot)
        g.value(part.applied)
        e.release(slot)
        del g.value_slots[part.left]
        if part is not node and part.coercion is not None:
            g.coerce(part.coercion)
    e.depth = depth + 1


# ---------------------------------------------------------------- collections


@value_of(ast.ArrayExpr)
def array(g: Generator, node: ast.ArrayExpr) -> None:
    collect(g, "Array", [(item,) for item in node.items], Generator.bound)


@value_of(ast.TupleExpr)
def tuple_(g: Generator, node: ast.TupleExpr) -> None:
    for item in node.items:
        g.bound(item)
    g.emitter.emit("TUPLE", len(node.items), len(node.items))


@value_of(ast.MapExpr)
def map_(g: Generator, node: ast.MapExpr) -> None:
    collect(g, "Map", [(entry.key, entry.value) for entry in node.entries], Generator.bound)


@value_of(ast.RangeExpr)
def range_(g: Generator, node: ast.RangeExpr) -> None:
    for bound in (node.start, node.end):
        if bound is None:
            g.emitter.emit("NIL")
        else:
            g.value(bound)
    g.emitter.emit("RANGE", int(node.inclusive))


@value_of(ast.StructExpr)
def struct(g: Generator, node: ast.StructExpr) -> None:
    if isinstance(node.binding, symbols.ErrorFamilySymbol):
        error_literal(g, node, node.binding)
        return
    if isinstance(node.binding, symbols.BuiltinSymbol):
        record_literal(g, node, node.binding.name)
        return
    # Errors and records of the language have no declaration with fields.
    symbol: symbols.StructSymbol | symbols.VariantSymbol = node.binding
    values = {entry.name.text: entry.value for entry in node.fields}
    in_order = [name for name, _, _, _ in symbol.fields]
    # Written in the order of the declaration: no slots are needed.
    if list(values) == in_order and node.base is None:
        for value in values.values():
            g.bound(value)
    else:
        _fields_by_slots(g, node, values, in_order, lambda index: _default_field(g, symbol, index))
    if isinstance(symbol, symbols.VariantSymbol):
        g.emitter.emit("VARIANT", g.module.variant(symbol), len(symbol.fields))
    else:
        g.emitter.emit("STRUCT", g.module.pool.type(symbol.type), len(symbol.fields))


def _default_field(g: Generator, symbol: symbols.StructSymbol | symbols.VariantSymbol, index: int) -> None:
    """Push the value of a field that a literal leaves out."""
    _, _, default, optional = symbol.fields[index]
    if default is not None:
        g.emitter.emit("CALL", g.module.field_defaults[symbol][index], 0)
    elif optional:
        g.emitter.emit("NONE")


def record_literal(g: Generator, node: ast.StructExpr, name: str) -> None:
    """Generate `Message { … }`, a literal of the record `name`: the built-in that makes one takes all fields."""
    fields = RECORD_FIELDS[name]

    def absent(index: int) -> None:
        default = default_of(name, list(fields)[index])
        if default is None:
            g.emitter.emit("NIL")
        elif isinstance(default, list):
            g.emitter.emit("ARRAY", 0, 0)
        else:
            emit_constant(g, default)

    _fields_by_slots(g, node, {entry.name.text: entry.value for entry in node.fields}, list(fields), absent)
    g.emitter.emit("CALL_BUILTIN", g.module.pool.builtin("Records", name), len(fields))


def _fields_by_slots(
    g: Generator, node: ast.StructExpr, values: dict[str, ast.Expr], names: list[str], absent: Callable[[int], None]
) -> None:
    """Evaluate the entries as written, then push all fields in declaration order: those written, those of the base, or what
    `absent` pushes for a default (L-5.10.1)."""
    e = g.emitter
    temps: dict[str, int] = {}
    for name, value in values.items():
        g.bound(value)
        temps[name] = e.temp()
        e.emit("STORE", temps[name])
    inner = None if node.base is None else ast.ungrouped(node.base)
    own_slot = isinstance(inner, ast.PathExpr) and inner.binding in g.slots
    base = -1
    if isinstance(inner, ast.PathExpr) and own_slot:  # so that only the fields are read that are taken
        base = g.slots[inner.binding]
    elif node.base is not None:
        base = e.temp()
        g.bound(node.base)
        e.emit("STORE", base)
    for index, name in enumerate(names):
        if name in temps:
            e.emit("LOAD", temps[name])
        elif node.base is not None:
            e.emit("LOAD", base)
            e.emit("GET_FIELD", index)
            e.emit("SHARE")
        else:
            absent(index)
    for slot in temps.values():
        e.release(slot)
    if base >= 0 and not own_slot:
        e.release(base)


def error_literal(g: Generator, node: ast.StructExpr, family: symbols.ErrorFamilySymbol) -> None:
    """Generate `F::V { message: m, field: v }`, the entries as written (L-5.10.1); without `message` the default one."""
    e = g.emitter
    fields = [entry for entry in node.fields if entry.name.text != "message"]
    message = next((entry.value for entry in node.fields if entry.name.text == "message"), None)
    if message is None:
        e.emit("NIL")
    # The message lies below the fields: what is written before it waits in slots.
    waits = message is not None and node.fields[0].name.text != "message"
    slots: dict[str, int] = {}
    for entry in node.fields:
        g.bound(entry.value)
        if waits:
            slots[entry.name.text] = e.temp()
            e.emit("STORE", slots[entry.name.text])
    if waits:
        e.reload(slots["message"])
        for entry in fields:
            e.emit("LOAD", slots[entry.name.text])
    for slot in slots.values():
        e.release(slot)
    form = g.module.pool.error(family.name, family.variant, [entry.name.text for entry in fields])
    e.emit("ERROR", form, 1 + len(fields))


# ---------------------------------------------------------------- names


@value_of(ast.PathExpr)
def path(g: Generator, node: ast.PathExpr) -> None:
    binding = node.binding
    e = g.emitter
    if isinstance(binding, symbols.Local):
        g.load(binding)
    elif isinstance(binding, symbols.ConstSymbol):
        emit_constant(g, binding.value)
    elif isinstance(binding, symbols.FunctionSymbol):
        # Inside a tool `Self::m` is the plain function; from outside the method goes through the host.
        tool = binding.tool if node.segments[0].text != "Self" else None
        if isinstance(tool, (symbols.ToolSymbol, symbols.McpSymbol)):
            e.emit("CLOSURE", g.module.tool_function(binding, tool))
        else:
            e.emit("CLOSURE", g.module.function_value(binding))
    elif isinstance(binding, symbols.TraitItemSymbol):
        assert binding.trait is not None
        e.emit("CLOSURE", g.module.trait_function(binding.trait, binding.trait.methods[binding.name]))
    elif type(binding) in KINDS:
        e.emit(*g.module.handle_of(binding))
    elif isinstance(binding, symbols.StructSymbol):
        e.emit("SCHEMA", g.module.schemas[binding.type])
    elif isinstance(binding, symbols.VariantSymbol) and binding.form == "tuple":
        e.emit("CLOSURE", g.module.variant_function(binding))
    elif isinstance(binding, symbols.VariantSymbol):
        emit_variant(g, binding)
    elif isinstance(binding, symbols.ErrorFamilySymbol):
        e.emit("NIL")
        e.emit("ERROR", g.module.pool.error(binding.name, binding.variant, []), 1)
    elif isinstance(binding, symbols.StdFunctionSymbol):
        row = std_row(binding.module, binding.name)
        assert row is not None
        e.emit("CLOSURE", g.module.row_function(STD_PREFIX + binding.module, row, g.file))
    elif isinstance(binding, symbols.BuiltinSymbol):
        builtin_value(g, binding.name)
    else:
        raise AssertionError(f"path bound to {binding!r}")


# Constructors that may stand as function values, with the opcode that each becomes.
CONSTRUCTORS = {"Some": "SOME", "Ok": "OK", "Err": "ERR"}


def builtin_value(g: Generator, name: str) -> None:
    """Push `None`, or a constructor or built-in function used as a function value (L-3.8.3). KeyError for a name that the
    registry of built-ins lacks."""
    if name == "None":
        g.emitter.emit("NONE")
    elif name in CONSTRUCTORS:
        g.emitter.emit("CLOSURE", g.module.constructor_function(CONSTRUCTORS[name]))
    else:
        owner, _, member = name.rpartition("::")
        row = ASSOCIATED[owner, member] if owner else FUNCTIONS[member]
        g.emitter.emit("CLOSURE", g.module.row_function(owner, row, g.file))


# ---------------------------------------------------------------- operators


@value_of(ast.Unary)
def unary(g: Generator, node: ast.Unary) -> None:
    operand = node.operand
    if node.operator == "-" and isinstance(operand, (ast.IntLiteral, ast.FloatLiteral)):
        # -2^63 has no positive counterpart, so the sign belongs to the literal (L-1.4.1).
        emit_constant(g, -operand.value)
        return
    g.value(operand)
    if node.operator == "!":
        g.emitter.emit("NOT")
    else:
        g.emitter.emit("NEG_INT" if static_type(operand) == t.INT else "NEG")


def operator_opcode(operator: str, left: t.Type | None, right: t.Type | None) -> str:
    """Return the name of the opcode for a binary operator other than `??`, `||` and `&&`, and for the static types `left` and
    `right` of its operands, None where one is not known: one for just these types, or else the generic one, which looks at the
    values (V-2.6)."""
    row = BY_TEXT[operator]
    if row.level in (EQUALITY, ORDER):
        typed = left == right and left in (t.INT, t.STRING) or {left, right} <= {t.INT, t.FLOAT}
        # The typed comparisons also serve two Strings, and an Int with a Float: no kinds have to be looked at (V-2.6).
        return row.ints if typed else row.generic
    if row.ints and left == right == t.INT:
        return row.ints
    if row.floats and left == right == t.FLOAT:
        return row.floats
    if operator == "+" and left == right == t.STRING:
        return "CONCAT"
    return row.generic


@value_of(ast.Binary)
def binary(g: Generator, node: ast.Binary) -> None:
    """Generate a chain of operators, which is left-deep and may be long (G-5.2): its left spine is walked in a loop."""
    spine = [node]
    # A left side in a slot is a piped value, which must not be evaluated again.
    while isinstance(spine[-1].left, ast.Binary) and spine[-1].left not in g.value_slots:
        spine.append(spine[-1].left)
    depth = g.emitter.depth
    g.operand(spine[-1].left, [spine[-1].right])
    for part in reversed(spine):
        _apply(g, part)
        g.emitter.depth = depth + 1
        if part is not node and part.coercion is not None:
            g.coerce(part.coercion)


def _apply(g: Generator, node: ast.Binary) -> None:
    """Generate the right operand and the operator; the left operand is on the stack."""
    if node.operator in ("&&", "||"):
        _logic(g, node)
    elif node.operator == "??":
        _coalesce(g, node)
    else:
        g.value(node.right)
        g.at(node.span)
        g.emitter.emit(operator_opcode(node.operator, static_type(node.left), static_type(node.right)))


def _logic(g: Generator, node: ast.Binary) -> None:
    e = g.emitter
    depth = e.depth - 1
    short, end = Label(), Label()
    e.jump("JUMP_UNLESS" if node.operator == "&&" else "JUMP_IF", short)
    g.value(node.right)
    if static_type(node.right) == t.ANY:
        e.emit("CHECK", g.module.pool.type(t.BOOL))
    e.jump("JUMP", end)
    e.mark(short, depth)
    e.emit("FALSE" if node.operator == "&&" else "TRUE")
    e.mark(end, depth + 1)


def _coalesce(g: Generator, node: ast.Binary) -> None:
    """Generate `??`: Some(v) becomes v, None and nil the right side, any other value stays itself (L-5.11.2)."""
    e = g.emitter
    depth = e.depth - 1
    present, end = Label(), Label()
    e.emit("DUP")
    e.emit("IS_ABSENT")
    e.jump("JUMP_UNLESS", present)
    e.emit("POP")
    g.value(node.right)
    if may_alias(node.right) and not is_plain(static_type(node.right)):
        e.emit("SHARE")
    e.jump("JUMP", end)
    e.mark(present, depth + 1)
    left = static_type(node.left)
    if isinstance(left, t.Generic) and left.name == "Option":
        e.emit("UNWRAP")
    elif left == t.ANY:
        plain = Label()
        e.emit("DUP")
        e.emit("IS_SOME")
        e.jump("JUMP_UNLESS", plain)
        e.emit("UNWRAP")
        e.mark(plain, depth + 1)
    # `Option<Int> ?? 1.5` is a Float on both sides.
    if node.type == t.FLOAT and left != t.ANY and _inner(left) == t.INT:
        e.emit("INT_TO_FLOAT")
    e.mark(end, depth + 1)


def _inner(type_: t.Type | None) -> t.Type | None:
    if isinstance(type_, t.Generic) and type_.name == "Option":
        return type_.arguments[0]
    return type_.inner if isinstance(type_, t.Nilable) else None


@value_of(ast.Cast)
def cast(g: Generator, node: ast.Cast) -> None:
    g.value(node.operand)
    if not node.catchable:
        g.emitter.emit("CAST", g.module.pool.type(node.type))
        return
    g.at(node.span)
    g.emitter.emit("TRY_CAST", g.module.pool.type(node.type))
    g.emitter.emit("TRY")


@value_of(ast.Propagate)
def propagate(g: Generator, node: ast.Propagate) -> None:
    g.value(node.operand)
    g.at(node.span)
    if node.together:
        g.emitter.emit("CALL_BUILTIN", g.module.pool.builtin("Results", "together"), 1)
    # In these functions a handler takes what leaves by TRY; a None must go past it.
    if g.scope is not None and g.scope.returns_nilable and not g.in_try:
        nil_leaves(g)
        return
    caught = g.receiver is not None or (g.scope is not None and g.scope.spawns)
    if caught and g.scope is not None and g.scope.returns_option and not g.in_try:
        none_leaves(g)
    error_leaves(g, node.failure)


def nil_leaves(g: Generator) -> None:
    """Generate what replaces the Option on the stack by its value; None leaves a function that returns a `T?`, as nil
    (L-3.12.4)."""
    e = g.emitter
    depth = e.depth
    is_some = Label()
    e.emit("DUP")
    e.emit("IS_SOME")
    e.jump("JUMP_IF", is_some)
    e.emit("POP")
    e.emit("NIL")
    g.leave()
    e.mark(is_some, depth)
    e.emit("UNWRAP")


def error_leaves(g: Generator, coercion: decisions.Coercion | None) -> None:
    """Generate what replaces the Result or Option on the stack by its value. An error leaves the function or the `try`, converted
    by `coercion` if the target has another error type; the converted one keeps the trace of the original. A None leaves by TRY as
    well."""
    e = g.emitter
    if coercion is not None:
        depth = e.depth
        is_ok = Label()
        e.emit("DUP")
        e.emit("IS_ERR")
        e.jump("JUMP_UNLESS", is_ok)
        e.emit("DUP")
        e.emit("UNWRAP")
        g.coerce(coercion)
        e.emit("ERR_FROM")
        e.mark(is_ok, depth)
    e.emit("TRY")


def none_leaves(g: Generator) -> None:
    """Generate the return of a None on the stack from a function that returns an Option. It is needed where a handler catches
    what leaves by TRY, to end tasks or store `self`."""
    e = g.emitter
    depth = e.depth
    is_some = Label()
    e.emit("DUP")
    e.emit("NONE")
    e.emit("EQ")
    e.jump("JUMP_UNLESS", is_some)
    g.leave()
    e.mark(is_some, depth)


# ---------------------------------------------------------------- reading parts


@value_of(ast.FieldAccess)
def field_access(g: Generator, node: ast.FieldAccess) -> None:
    if isinstance(node.target, symbols.SlotAccess):
        load_slot(g, node)
        return
    g.value(node.receiver)
    g.at(node.name.span)
    if isinstance(node.target, decisions.FieldByPosition):
        g.emitter.emit("GET_FIELD", node.target.index)
    elif isinstance(node.target, decisions.FieldOfError):
        g.emitter.emit("GET_ERROR", g.module.pool.string(node.target.name))
    else:
        g.emitter.emit("GET_MEMBER", g.module.pool.string(node.target.name))


@value_of(ast.TupleAccess)
def tuple_access(g: Generator, node: ast.TupleAccess) -> None:
    g.value(node.receiver)
    if isinstance(static_type(node.receiver), t.Tuple):
        g.emitter.emit("GET_ELEMENT", node.index)
    else:
        emit_constant(g, node.index)
        g.emitter.emit("INDEX")


@value_of(ast.Index)
def index(g: Generator, node: ast.Index) -> None:
    if is_entry(node):
        load_entry(g, node)
        return
    g.operand(node.receiver, [node.index])
    g.value(node.index)
    g.at(node.span)
    receiver = static_type(node.receiver)
    typed = isinstance(receiver, t.Generic) and receiver.name == "Array" and static_type(node.index) == t.INT
    g.emitter.emit("INDEX_ARRAY" if typed else "INDEX")


# Reading JSON into types.


def parse_as(g: Generator, node: ast.Expr, target: decisions.BuiltinCall) -> None:
    """Generate `json::parse_as<T>(s)` or, of a value, `json::value_as<T>(v)` (L-7.1.2, L-7.1.5). The machine builds the
    value with holes where fields are left out; each default is a function of the program, called here in a loop over the
    holes."""
    e = g.emitter
    (text,) = target.arguments
    (type_,) = target.type_arguments
    assert text is not None
    g.bound(text)
    if target.name == "value_as":  # what it writes is what it is built from
        e.emit("CALL_BUILTIN", g.module.pool.builtin(target.receiver_kind, "stringify"), 1)
    count = 0
    for key, function in defaults_within(g, type_):
        e.emit("CONST", g.module.pool.string(key))
        e.emit("CLOSURE", function)
        count += 2
    e.emit("MAP", count, count)
    g.at(node.span)
    e.emit("PARSE_AS", g.module.pool.type(type_))
    _fill(g)


def _fill(g: Generator) -> None:
    """Fill the holes. On the stack lie the result and the holes; each hole is (struct, position, default)."""
    e = g.emitter
    again, filled = Label(), Label()
    e.emit("ITERATE")
    e.mark(again, e.depth)
    e.jump("NEXT", filled)
    e.emit("DUP")
    e.emit("GET_ELEMENT", 2)
    e.emit("CALL_VALUE", 0, 0)
    e.emit("FILL")
    e.jump("JUMP", again)
    e.mark(filled, e.depth)


def defaults_within(g: Generator, type_: t.Type) -> Iterator[tuple[str, int]]:
    """Yield the field defaults of every struct and schema that may stand inside a value of the type, and of its own: a key such
    as `Point.0`, the unique name of the type and the position of the field, and the number of the function."""
    seen: set[t.Type] = set()
    open_ = deque([type_])
    while open_:
        at = t.bare(open_.popleft())
        if at in seen:
            continue
        seen.add(at)
        open_.extend(_parts(g, at))
        symbol = g.module.declared.get(at)
        if isinstance(symbol, symbols.StructSymbol):
            assert isinstance(at, t.Nominal)
            for position, function in g.module.field_defaults[symbol].items():
                yield f"{at.unique_name}.{position}", function


def _parts(g: Generator, type_: t.Type) -> list[t.Type]:
    if isinstance(type_, t.Nilable):
        return [type_.inner]
    if isinstance(type_, t.Generic):
        return list(type_.arguments)
    if isinstance(type_, t.Tuple):
        return list(type_.items)
    if not isinstance(type_, t.Nominal):
        return []
    parts: list[t.Type] = []
    for _, field_types, *_ in g.module.pool.declared.get(type_, []):
        parts += field_types if isinstance(field_types, list) else [field_types]
    return parts
