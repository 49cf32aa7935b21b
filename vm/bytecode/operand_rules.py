"""Rules about one instruction by itself: its operand is inside its table and of its kind (V102 to V109, V119, V120).

Hands on `check_operands`, which also tells how many values a counted group stands for. Must not know: stack depths,
paths.
"""

from __future__ import annotations

from . import image as i
from . import operands as k
from .names import is_identifier
from .opcodes import BY_NAME, OPCODES
from .pictures import STARRED, SUSPENDS
from .rules import refuse
from .scope import Code, Scope, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Breach = tuple[str, str]  # rule, reason
    Rule = Callable[[Scope, i.Function, Code, int, int], Iterator[Breach]]

_KINDS_OF_CONSTANT: dict[str, tuple[int, ...]] = {
    k.CONST.name: (i.K_INT, i.K_FLOAT, i.K_STRING, i.K_VARIANT),
    k.METHOD.name: (i.K_METHOD,),
    k.BUILTIN.name: (i.K_BUILTIN,),
    k.ERROR.name: (i.K_ERROR,),
    k.NAME.name: (i.K_STRING,),
    k.CONFIG.name: (i.K_CONFIG,),
}
_IS_VARIANT = BY_NAME["IS_VARIANT"].number
_RANGE = BY_NAME["RANGE"].number


def check_operands(scope: Scope, function: i.Function, code: Code) -> dict[tuple[int, int], int]:
    """Values that the counted group stands for, by (opcode, operand) of the instructions that have one."""
    counts = {}
    for number, operand in {(number, operand) for _, number, operand in code.instructions}:
        kind = OPCODES[number].kind
        for rule, reason in _RULES[kind.name](scope, function, code, number, operand):
            refuse(rule, where(function, code, number, operand), reason)
        if STARRED[number]:
            counts[number, operand] = _COUNTS[kind.name](scope, operand)
        if SUSPENDS[number] and not function.flags & i.F_SUSPENDS:
            refuse("V120", where(function, code, number, operand), "it may suspend, its function does not say so")
    return counts


def where(function: i.Function, code: Code, number: int, operand: int) -> str:
    """Function, offset and text of the first such instruction."""
    at = next(offset for offset, *rest in code.instructions if rest == [number, operand])
    return describe(function, at, number, operand)


def describe(function: i.Function, at: int, number: int, operand: int) -> str:
    op = OPCODES[number]
    return place(function, f"offset {at}, {op.name}{'' if op.kind is k.NONE else f' {operand}'}")


# ---------------------------------------------------------------- a rule per operand kind


def _none(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    return iter(())


def _count(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand % 2 and "entries*" in OPCODES[number].pops:
        yield "V102", "keys and values come in pairs"
    if number == _RANGE and operand > 1:
        yield "V102", "the operand is 0 or 1"


def _constant(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    kind = OPCODES[number].kind.name
    wanted = (i.K_VARIANT,) if number == _IS_VARIANT else _KINDS_OF_CONSTANT[kind]
    if operand >= len(scope.kinds):
        yield "V103", f"there are {len(scope.kinds)} constants"
    elif scope.kinds[operand] not in wanted:
        yield "V103", f"constant {operand} is no {'variant' if number == _IS_VARIANT else kind}"
    else:
        yield from _content(scope, kind, operand)


def _content(scope: Scope, kind: str, operand: int) -> Iterator[Breach]:
    value = scope.image.constants[operand][1]
    if kind == k.NAME.name and not is_identifier(value):
        yield "V125", f"{value!r} is no member name"
    if kind == k.BUILTIN.name and tuple(value) not in scope.builtins:
        yield "V103", f"there is no built-in {'.'.join(part for part in value if part)}"


def _slot(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= function.slots:
        yield "V104", f"the function has {function.slots} locals"


def _cell(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= function.cells:
        yield "V105", f"the function has {function.cells} cells"


def _function(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["functions"]:
        yield "V106", f"there are {scope.sizes['functions']} functions"
        return
    callee = scope.image.functions[operand]
    if OPCODES[number].pops and callee.captures:
        yield "V105", f"`{callee.name}` captures cells, so it is called through a closure only"
    elif any(cell >= function.cells for cell in callee.captures):
        yield "V105", f"`{callee.name}` captures a cell that the function has not"
    if callee.flags & i.F_SUSPENDS and not function.flags & i.F_SUSPENDS:
        yield "V120", f"`{callee.name}` may suspend, the function that names it does not say so"


def _type(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["types"]:
        yield "V107", f"there are {scope.sizes['types']} types"
    elif STARRED[number] and scope.fields[operand] is None:
        yield "V107", f"type {operand} has no fields"


def _field(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.most_fields:
        yield "V107", f"no type has more than {scope.most_fields} fields"


def _declaration(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    kind = OPCODES[number].kind
    if operand >= scope.sizes[kind.table]:
        yield "V108", f"there are {scope.sizes[kind.table]} {kind.table}"


def _label(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand not in code.index_of:
        yield "V109", "no instruction starts there"


_RULES: dict[str, Rule] = {
    k.NONE.name: _none,
    k.COUNT.name: _count,
    k.CONST.name: _constant,
    k.METHOD.name: _constant,
    k.BUILTIN.name: _constant,
    k.ERROR.name: _constant,
    k.NAME.name: _constant,
    k.CONFIG.name: _constant,
    k.LOCAL.name: _slot,
    k.CELL.name: _cell,
    k.FUNCTION.name: _function,
    k.TYPE.name: _type,
    k.FIELD.name: _field,
    k.MODEL.name: _declaration,
    k.MEMORY.name: _declaration,
    k.SCHEMA.name: _declaration,
    k.LABEL.name: _label,
}


# ---------------------------------------------------------------- what a counted group counts


def _arguments_of_function(scope: Scope, operand: int) -> int:
    return scope.parameters[operand] if operand < len(scope.parameters) else 0


def _arguments_of_constant(scope: Scope, operand: int) -> int:
    """Arguments of a method, arguments of a builtin with its receiver, message and fields of an error."""
    if operand >= len(scope.kinds):
        return 0
    kind, value = scope.image.constants[operand]
    if kind == i.K_METHOD:
        return int(value[1])
    if kind == i.K_BUILTIN:
        return scope.builtins.get(tuple(value), 0)
    return len(value) - 1 if kind == i.K_ERROR else 0


def _fields_of_type(scope: Scope, operand: int) -> int:
    return scope.fields[operand] or 0 if operand < len(scope.fields) else 0


_COUNTS: dict[str, Callable[[Scope, int], int]] = {
    k.COUNT.name: lambda scope, operand: operand,
    k.FUNCTION.name: _arguments_of_function,
    k.METHOD.name: _arguments_of_constant,
    k.BUILTIN.name: _arguments_of_constant,
    k.ERROR.name: _arguments_of_constant,
    k.TYPE.name: _fields_of_type,
}
