"""Rules about one instruction by itself: its operand is inside its table and of its kind (V102 to V109, V119, V120).

Hands on `check_operands`, which also tells what each instruction pops and pushes. Must not know: stack depths,
paths.
"""

from __future__ import annotations

from . import image as i
from . import operands as k
from . import pictures as p
from .names import is_identifier
from .opcodes import BY_NAME, OPCODES, Opcode
from .rules import refuse
from .scope import Code, Scope, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .scope import Effect

    Breach = tuple[str, str]  # rule, reason
    LocalRule = Callable[[Scope, i.Function, Code, int, int], Iterable[Breach]]

_KINDS_OF_CONSTANT: dict[str, tuple[int, ...]] = {
    k.CONST.name: (i.K_INT, i.K_FLOAT, i.K_STRING, i.K_VARIANT),
    k.VARIANT.name: (i.K_VARIANT,),
    k.METHOD.name: (i.K_METHOD,),
    k.BUILTIN.name: (i.K_BUILTIN,),
    k.HOST.name: (i.K_BUILTIN,),
    k.ERROR.name: (i.K_ERROR,),
    k.NAME.name: (i.K_STRING,),
    k.CONFIG.name: (i.K_CONFIG,),
}
_RANGE = BY_NAME["RANGE"].number
_PARALLEL = BY_NAME["PARALLEL"].number


def check_operands(scope: Scope, function: i.Function, code: Code) -> list[Effect]:
    """The effect of each instruction on the stack, counted groups counted."""
    found = []
    known, slots, offsets = scope.effects, function.slots, code.index_of
    for _, number, operand in code.instructions:
        effect = _WITHOUT_OPERAND[number]
        if effect is None:
            form = _FORM[number]
            if form == _ANYWHERE:
                effect = known.get((number, operand))
            elif operand < slots if form == _SLOT else form == _LABEL and operand in offsets:
                effect = _UNCOUNTED[number]
            if effect is None:
                effect = _checked(scope, function, code, number, operand)
        found.append(effect)
    return found


def _checked(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Effect:
    """The effect of an instruction that keeps all rules; what holds in every function is looked at once per image."""
    pair = (number, operand)
    local_rule = _LOCAL_RULES[number]
    if local_rule is not None:
        _refuse(local_rule(scope, function, code, number, operand), function, code, pair)
    if p.SUSPENDS[number] and not function.flags & i.F_SUSPENDS:
        _refuse((("V120", "it may suspend, its function does not say so"),), function, code, pair)
    if pair not in scope.effects:
        kind = OPCODES[number].kind.name
        if kind in _RULES:
            _refuse(_RULES[kind](scope, number, operand), function, code, pair)
        count = _COUNTS[kind](scope, operand) if p.STARRED[number] else 0
        scope.effects[pair] = _effect(number, count)
    return scope.effects[pair]


def _effect(number: int, count: int) -> Effect:
    return p.POPS[number] + count, p.PUSHES[number], p.ROLE[number], p.ENDS_BLOCK[number]


_UNCOUNTED = tuple(_effect(op.number, 0) for op in OPCODES)
# The effects that need no further look.
_WITHOUT_OPERAND = tuple(
    _effect(op.number, 0) if op.kind is k.NONE and not p.SUSPENDS[op.number] else None for op in OPCODES
)
# Which look is enough at the others: whether the function has the slot; whether an instruction starts at the label; whether the
# operand was right elsewhere in the image.
_SLOT, _LABEL, _ANYWHERE, _WHOLE = range(4)


def _form(op: Opcode) -> int:
    if op.kind is k.LOCAL or op.kind is k.LABEL:
        return _SLOT if op.kind is k.LOCAL else _LABEL
    return _WHOLE if p.SUSPENDS[op.number] or op.kind.name in _BY_KIND else _ANYWHERE


def _refuse(breaches: Iterable[Breach], function: i.Function, code: Code, pair: tuple[int, int]) -> None:
    for rule, reason in breaches:
        refuse(rule, where(function, code, *pair), reason)


def where(function: i.Function, code: Code, number: int, operand: int) -> str:
    """Function, offset and text of the first such instruction."""
    at = next(offset for offset, *rest in code.instructions if rest == [number, operand])
    return describe(function, at, number, operand)


def describe(function: i.Function, at: int, number: int, operand: int) -> str:
    op = OPCODES[number]
    return place(function, f"offset {at}, {op.name}{'' if op.kind is k.NONE else f' {operand}'}")


# ---------------------------------------------------------------- operand kinds that mean the same in every function


def _count(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand % 2 and "entries*" in OPCODES[number].pops:
        yield "V102", "keys and values come in pairs"
    if number == _RANGE and operand > 1:
        yield "V102", "the operand is 0 or 1"


def _constant(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    kind = OPCODES[number].kind.name
    if operand >= len(scope.kinds):
        yield "V103", f"there are {len(scope.kinds)} constants"
    elif scope.kinds[operand] not in _KINDS_OF_CONSTANT[kind]:
        yield "V103", f"constant {operand} is no {kind}"
    else:
        yield from _content(scope, kind, operand)


def _content(scope: Scope, kind: str, operand: int) -> Iterator[Breach]:
    value = scope.image.constants[operand][1]
    if kind == k.NAME.name and not is_identifier(value):
        yield "V125", f"{value!r} is no member name"
    if kind == k.CONST.name and scope.kinds[operand] == i.K_VARIANT and scope.payload(operand):
        yield "V119", f"constant {operand} is a variant with a payload"
    if kind == k.BUILTIN.name and tuple(value) not in scope.builtins:
        yield "V103", f"there is no built-in {'.'.join(part for part in value if part)}"
    if kind == k.HOST.name and tuple(value) not in scope.performed:
        yield "V103", f"the host performs no {'::'.join(part for part in value if part)}"


def _type(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["types"]:
        yield "V107", f"there are {scope.sizes['types']} types"
    elif p.STARRED[number] and scope.fields[operand] is None:
        yield "V107", f"type {operand} has no fields"


def _field(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.most_fields:
        yield "V107", f"no type has more than {scope.most_fields} fields"


def _declaration(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    table = OPCODES[number].kind.table
    if operand >= scope.sizes[table]:
        yield "V108", f"there are {scope.sizes[table]} {table}"


_RULES: dict[str, Callable[[Scope, int, int], Iterator[Breach]]] = {
    k.COUNT.name: _count,
    k.CONST.name: _constant,
    k.VARIANT.name: _constant,
    k.METHOD.name: _constant,
    k.BUILTIN.name: _constant,
    k.HOST.name: _constant,
    k.ERROR.name: _constant,
    k.NAME.name: _constant,
    k.CONFIG.name: _constant,
    k.TYPE.name: _type,
    k.FIELD.name: _field,
    k.MODEL.name: _declaration,
    k.AGENT.name: _declaration,
    k.MEMORY.name: _declaration,
    k.HASHMAP.name: _declaration,
    k.LEDGER.name: _declaration,
    k.PIPELINE.name: _declaration,
    k.SCHEMA.name: _declaration,
    k.TOOL.name: _declaration,
    k.MCP.name: _declaration,
}


# ---------------------------------------------------------------- operand kinds that mean something within one function


def _slot(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand < function.slots else (("V104", f"the function has {function.slots} locals"),)


def _cell(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand < function.cells else (("V105", f"the function has {function.cells} cells"),)


def _label(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand in code.index_of else (("V109", "no instruction starts there"),)


def _function(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["functions"]:
        yield "V106", f"there are {scope.sizes['functions']} functions"
        return
    callee = scope.image.functions[operand]
    if p.ROLE[number] != p.CAPTURE and callee.captures:
        yield "V105", f"`{callee.name}` captures cells, so it is called through a closure only"
    elif any(cell >= function.cells for cell in callee.captures):
        yield "V105", f"`{callee.name}` captures a cell that the function has not"
    if number == _PARALLEL and len(callee.params) != 1:
        yield "V119", f"`{callee.name}` takes {len(callee.params)} parameters, an element is one"
    if callee.flags & i.F_SUSPENDS and not function.flags & i.F_SUSPENDS:
        yield "V120", f"`{callee.name}` may suspend, the function that names it does not say so"


_BY_KIND: dict[str, LocalRule] = {
    k.LOCAL.name: _slot,
    k.CELL.name: _cell,
    k.LABEL.name: _label,
    k.FUNCTION.name: _function,
}
_LOCAL_RULES = tuple(_BY_KIND.get(op.kind.name) for op in OPCODES)
_FORM = tuple(_form(op) for op in OPCODES)


# ---------------------------------------------------------------- what a counted group counts


def _arguments_of_function(scope: Scope, operand: int) -> int:
    return scope.parameters[operand] if operand < len(scope.parameters) else 0


def _arguments_of_constant(scope: Scope, operand: int) -> int:
    """Payload of a variant, arguments of a method, of a builtin with its receiver, message and fields of an error."""
    if operand >= len(scope.kinds):
        return 0
    kind, value = scope.image.constants[operand]
    if kind == i.K_VARIANT:
        return scope.payload(operand)
    if kind == i.K_METHOD:
        return int(value[1])
    if kind == i.K_BUILTIN:
        return scope.builtins.get(tuple(value)) or scope.performed.get(tuple(value), 0)
    return len(value) - 1 if kind == i.K_ERROR else 0


def _fields_of_type(scope: Scope, operand: int) -> int:
    return scope.fields[operand] or 0 if operand < len(scope.fields) else 0


_COUNTS: dict[str, Callable[[Scope, int], int]] = {
    k.COUNT.name: lambda scope, operand: operand,
    k.VARIANT.name: _arguments_of_constant,
    k.FUNCTION.name: _arguments_of_function,
    k.METHOD.name: _arguments_of_constant,
    k.BUILTIN.name: _arguments_of_constant,
    k.HOST.name: _arguments_of_constant,
    k.ERROR.name: _arguments_of_constant,
    k.TYPE.name: _fields_of_type,
}
