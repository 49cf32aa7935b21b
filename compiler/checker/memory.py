"""Memories and initialisation statements (O-3.1 to O-3.4, M-2.3 to M-2.10).

Hands on `check_memory`, `check_init` and `check_role`. Must not know: how calls use a memory.
"""

from __future__ import annotations

from .. import ast
from ..symbols import BuiltinSymbol, MemorySymbol, ModuleSymbol
from ..types import INT, LEDGER, MEMORY, NIL
from .arguments import infer_all
from .context import FREE, Checker, Expected, Target
from .declarations import FAILED, at_module_level, folded
from .relations import ERRONEOUS, generic
from .types import written_type

ROLES = ("user", "assistant", "system")
UNBUILT_OPTIONS = ("tools",)
INIT_METHODS = ("append", "pin", "remember")


def check_memory(c: Checker, symbol: MemorySymbol) -> None:
    node = symbol.declaration
    declared = written_type(c, node.type)
    if declared != MEMORY and declared is not ERRONEOUS:
        c.report("E2001", node.type.span, f"expected `Memory`, found `{declared}`", help="memory log: Memory = …;")
    value = node.value
    while isinstance(value, ast.GroupExpr):
        value = value.inner
    step = _outermost_step(value)
    if step is not None:
        c.unbuilt(step.name.span, f"memory step {step.name.text}")
        return
    constructor = _constructor(value)
    if constructor == "Memory::of":
        c.unbuilt(value.span, "Memory::of")
    elif constructor == "Memory::new" and isinstance(value, ast.Call):
        symbol.max_messages = _bound(c, value)
    else:
        c.report(
            "E4501", value.span, "a memory begins with `Memory::new(…)`", help="write `Memory::new()` or `Memory::new(20)`"
        )


def _outermost_step(value: ast.Expr) -> ast.MethodCall | None:
    """The first step written after the constructor of a chain."""
    step = None
    while isinstance(value, ast.MethodCall):
        step, value = value, value.receiver
    return step if _constructor(value) is not None else None


def _constructor(value: ast.Expr) -> str | None:
    if isinstance(value, ast.Call) and isinstance(value.callee, ast.PathExpr):
        binding = value.callee.binding
        if isinstance(binding, BuiltinSymbol) and binding.name.startswith("Memory"):
            return binding.name.replace("MemoryRef", "Memory")
    return None


def _bound(c: Checker, call: ast.Call) -> int | None:
    """The largest number of messages: a constant Int of at least 1 (O-3.2)."""
    for argument in call.arguments:
        if argument.name is not None and argument.name.text not in ("max", *UNBUILT_OPTIONS):
            message = f"`Memory::new` has no parameter `{argument.name.text}`"
            c.report("E4502", argument.name.span, message, help="the largest number of messages is `max`")
            return None
        if argument.name is not None and argument.name.text != "max":
            c.unbuilt(argument.name.span, f"Memory::new({argument.name.text}: …)")
            return None
    if not call.arguments:
        return None
    if len(call.arguments) > 1:
        c.report("E2006", call.callee.span, f"`Memory::new` takes 0 to 1 arguments, {len(call.arguments)} given")
        return None
    value = call.arguments[0].value
    found = at_module_level(c, value, FREE)
    if found is ERRONEOUS:
        return None
    bound = folded(c, value, "E4004") if found == INT else None
    if bound is FAILED:
        return None
    if not isinstance(bound, int) or bound < 1:
        c.report("E4004", value.span, "the bound of a memory is a constant Int of at least 1")
        return None
    return bound


def check_role(c: Checker, memory: ast.Expr, role: ast.Expr | None) -> None:
    """A literal role other than those of O-3.4; a system message that a bounded memory will lose."""
    while isinstance(role, ast.GroupExpr):
        role = role.inner
    if not isinstance(role, ast.StringLiteral):
        return
    if role.value not in ROLES:
        c.report("E4042", role.span, f'unknown role "{role.value}"', help='use "user", "assistant" or "system"')
    symbol = memory.binding if isinstance(memory, ast.PathExpr) else None
    if role.value == "system" and isinstance(symbol, MemorySymbol) and symbol.max_messages is not None:
        c.report(
            "W0451", role.span, f"the bounded memory `{symbol.name}` can evict this system message",
            help="keep it in the model's `system_prompt`",
        )  # fmt: skip


def check_init(c: Checker, statement: ast.InitStatement, home: ModuleSymbol) -> None:
    """`NAME.append(…);` at module level, NAME a memory or store of the same module (O-0.7, M-2.10)."""
    call = statement.call
    receiver = call.receiver
    c.targets.append(Target("none", result=NIL))
    owner = c.infer(receiver)
    is_store = owner == LEDGER or generic(owner, "HashMap") is not None
    if owner is ERRONEOUS:
        infer_all(c, call.arguments)
    elif owner != MEMORY and not is_store:
        c.report("E4501", receiver.span, "an initialisation statement calls a method of a memory, hashmap or ledger")
        infer_all(c, call.arguments)
    elif isinstance(receiver, ast.PathExpr) and receiver.binding.home is not home:
        help = "write the statement where the memory is declared"
        what = "store" if is_store else "memory"
        c.report("E4501", receiver.span, f"the {what} `{receiver.segments[-1].text}` belongs to another module", help=help)
        infer_all(c, call.arguments)
    elif call.name.text not in INIT_METHODS and not is_store:
        c.report(
            "E4501", call.name.span, f"an initialisation statement cannot call `{call.name.text}`", help="use `append`"
        )
        infer_all(c, call.arguments)
    else:
        c.infer(call, Expected(used=False))
    c.targets.pop()
