"""Memories and initialisation statements (O-3.1 to O-3.4, M-2.3 to M-2.10).

Hands on `check_memory`, `check_init` and `check_role`. Must not know: how calls use a memory.
"""

from __future__ import annotations

from typing import Any

from ...vm.builtins import lookup
from .. import ast
from ..decisions import BuiltinCall
from ..resolver.spelling import did_you_mean
from ..symbols import BuiltinSymbol, MemorySymbol, ModuleSymbol
from ..types import BOOL, KEYED_MEMORY, LEDGER, MEMORY, NIL
from .arguments import infer_all
from .builtins import call_row
from .context import FREE, Checker, Expected, Target
from .contexts import one_memory
from .declarations import FAILED, at_module_level, folded
from .fact_rules import check_fact_rules
from .facts import check_facts
from .memory_steps import Steps, bound
from .relations import ERRONEOUS, generic, is_memory
from .types import written_type

ROLES = ("user", "assistant", "system")
DEFLATING = ("sqlite", "postgres")  # kinds of stores that know `compress`
AT_A_STORE = ("store", "ttl", "decay", "context")  # where a report about the store of a memory points
INIT_METHODS = ("append", "pin", "remember")


def check_memory(c: Checker, symbol: MemorySymbol) -> None:
    """Once, before what takes its steps over or shows its log."""
    if symbol.steps is not None:
        return
    symbol.steps = {}
    node = symbol.declaration
    declared = written_type(c, node.type)
    if not is_memory(declared) and declared is not ERRONEOUS:
        c.report("E2001", node.type.span, f"expected `Memory`, found `{declared}`", help="memory log: Memory = …;")
    value, written = _chain(node.value)
    constructor = _constructor(value)
    if constructor is None or not isinstance(value, ast.Call):
        c.report(
            "E4501", value.span, "a memory begins with `Memory::new(…)`", help="write `Memory::new()` or `Memory::new(20)`"
        )
        return
    steps = Steps(c, is_view=constructor == "Memory::of")
    if steps.is_view:
        symbol.of = _shown(c, symbol, value)
    else:
        _new(c, value, steps)
    for step in written:
        steps.read(step)
    symbol.steps = steps.found
    if steps.like is not None:
        _take_over(c, symbol, steps, steps.like)
    steps.complete(c.memory_tables.defaults)
    failed = "context" in symbol.steps and symbol.context is None
    if is_memory(declared) and declared not in (MEMORY, one_memory(symbol)) and not failed:
        message = f"`{symbol.name}` is declared `{declared}` and has the type `{one_memory(symbol)}`"
        c.report("E2001", node.type.span, message, help="attach the context: `.context(C)`")
    symbol.keys = symbol.of.keys if symbol.of is not None else steps.found.get("per", {}).get("keys", [])
    _store(c, symbol)
    check_fact_rules(c, symbol)
    _embed(c, symbol)
    _check_together(c, symbol)
    symbol.max_messages = steps.found.get("retain", {}).get("retain")


def _chain(value: ast.Expr) -> tuple[ast.Expr, list[ast.MethodCall]]:
    """What the chain begins with, and its steps in source order."""
    steps: list[ast.MethodCall] = []
    while isinstance(value, (ast.MethodCall, ast.GroupExpr)):
        if isinstance(value, ast.GroupExpr):
            value = value.inner
        else:
            steps.append(value)
            value = value.receiver
    return value, steps[::-1]


def _constructor(value: ast.Expr) -> str | None:
    if isinstance(value, ast.Call) and isinstance(value.callee, ast.PathExpr):
        binding = value.callee.binding
        if isinstance(binding, BuiltinSymbol) and binding.name.startswith("Memory"):
            return binding.name.replace("MemoryRef", "Memory")
    return None


def _new(c: Checker, call: ast.Call, steps: Steps) -> None:
    """`Memory::new(n, tools: true)` (M-3.2, M-4.3)."""
    positional = [argument for argument in call.arguments if argument.name is None]
    for argument in call.arguments:
        if argument.name is not None and argument.name.text not in ("max", "tools"):
            message = f"`Memory::new` has no parameter `{argument.name.text}`"
            c.report("E4502", argument.name.span, message, help="the largest number of messages is `max`")
            return
    bounds = [a for a in call.arguments if a.name is None or a.name.text == "max"]
    flags = [a for a in call.arguments if a.name is not None and a.name.text == "tools"]
    if len(bounds) > 1 or len(flags) > 1:
        most = 2 if flags or len(positional) > 1 else 1
        c.report(
            "E2006", call.callee.span, f"`Memory::new` takes 0 to {most} arguments, {len(call.arguments)} given",
            help="write `Memory::new()`, or `Memory::new(20)` for the newest 20 messages",
        )
        return
    if bounds:
        count = bound(c, bounds[0].value, "the bound of a memory")
        if count is not FAILED:
            steps.found["retain"] = {"retain": count}
    if flags:
        found = at_module_level(c, flags[0].value, FREE)
        value = folded(c, flags[0].value, "E4004") if found == BOOL else None
        if isinstance(value, bool):
            steps.found["tools"] = {"tools": True} if value else {}
        elif found is not ERRONEOUS and value is not FAILED:
            c.report("E4004", flags[0].value.span, "`tools` is a constant Bool", help="write `true` or `false`")


def _shown(c: Checker, symbol: MemorySymbol, call: ast.Call) -> MemorySymbol | None:
    """The memory of `Memory::of(m)`: one with a log of its own."""
    value = call.arguments[0].value if len(call.arguments) == 1 and call.arguments[0].name is None else None
    other = value.binding if isinstance(value, ast.PathExpr) else None
    if not isinstance(other, MemorySymbol):
        c.report("E4501", call.span, "`Memory::of` takes the name of a memory", help="Memory::of(support)")
        return None
    check_memory(c, other)
    if other.of is not None or other is symbol:
        c.report("E4501", call.span, f"`{other.name}` has no log of its own", help="derive the view from the memory itself")
        return None
    return other


def _take_over(c: Checker, symbol: MemorySymbol, steps: Steps, like: ast.PathExpr) -> None:
    other = like.binding
    assert isinstance(other, MemorySymbol)
    if other is symbol or _is_like(other, symbol):
        c.report("E4501", like.span, f"`{symbol.name}` takes over its own steps", help="name another memory")
        return
    check_memory(c, other)
    steps.complete(other.steps or {})


def _store(c: Checker, symbol: MemorySymbol) -> None:
    """What `store` names, as the image holds it (M-8.2, M-8.3)."""
    steps = symbol.steps or {}
    said = steps.get("store", {})
    name = said.get("store")
    node = symbol.declaration
    place = next((step.name for step in _chain(node.value)[1] if step.name.text in AT_A_STORE), node.name)
    if name is None:
        if "ttl" in steps:
            c.report("E4507", place.span, "`ttl` needs `store`", help='.store("durable").ttl("30d")')
        elif symbol.context is not None and any(slot.tier == "persistent" for slot in symbol.context.slots.values()):
            message = f"the persistent slots of `{symbol.context.name}` need `store`"
            c.report("E4507", place.span, message, help='add `.store("durable")`, or make them `session` slots')
        elif "decay" in steps:
            c.report("E4507", place.span, "`decay` needs `store`: it is of persistent facts", help='.store("durable").decay(…)')
    elif isinstance(name, str):
        tables = c.memory_tables
        if name not in tables.stores:
            help = did_you_mean(name, tables.stores) or 'use "durable", or declare it: [stores.NAME] in Concerto.toml'
            c.report("E4508", place.span, f'unknown store "{name}"', help=help)
            return
        held: dict[str, Any] = {"name": name, **tables.stores[name]}
        if said.get("compress"):
            if held["kind"] not in DEFLATING:
                message = f"`compress` is of stores of the kinds {' and '.join(DEFLATING)}"
                c.report("E4507", place.span, f'{message}: "{name}" is of the kind {held["kind"]}', help="leave `compress` out")
            held["compress"] = True
        if tables.namespace is not None:
            held["namespace"] = tables.namespace
        steps["store"] = {"store": held}


def _embed(c: Checker, symbol: MemorySymbol) -> None:
    """What `embed` names, as the image holds it (M-10.16)."""
    steps = symbol.steps or {}
    name = steps.get("embed", {}).get("embed")
    if not isinstance(name, str):
        return
    node = symbol.declaration
    place = next((step.name for step in _chain(node.value)[1] if step.name.text == "embed"), node.name)
    known = c.memory_tables.embedders
    if name not in known:
        help = did_you_mean(name, known) or 'use "offline", or declare it: [embedders.NAME] in Concerto.toml'
        c.report("E4508", place.span, f'unknown embedder "{name}"', help=help)
        return
    held = known[name]
    steps["embed"] = {"embed": {"name": name, **held}}


def _is_like(start: MemorySymbol, target: MemorySymbol) -> bool:
    """Whether `target` is met along the `like` steps from `start`."""
    seen: set[MemorySymbol] = set()
    todo = [start]
    while todo:
        symbol = todo.pop()
        if symbol is target:
            return True
        if symbol in seen:
            continue
        seen.add(symbol)
        for step in _chain(symbol.declaration.value)[1]:
            values = [argument.value for argument in step.arguments if step.name.text == "like"]
            todo += [v.binding for v in values if isinstance(v, ast.PathExpr) and isinstance(v.binding, MemorySymbol)]
    return False


def _check_together(c: Checker, symbol: MemorySymbol) -> None:
    steps = symbol.steps or {}
    window, retain = steps.get("window", {}).get("window"), steps.get("retain", {}).get("retain")
    if window is not None and retain is not None and window > retain:
        place = next((step.name for step in _chain(symbol.declaration.value)[1] if step.name.text == "window"), None)
        message = f"a window of {window} messages is larger than the {retain} that are kept"
        c.report("E4504", (place or symbol.declaration.name).span, message, help="lower `window`, or raise `retain`")
    _check_pins(c, symbol)
    if "summary" in steps:
        _check_due(c, symbol, steps)


def _check_pins(c: Checker, symbol: MemorySymbol) -> None:
    """W0456: of a window of n messages the pinned ones take their part, at last all of it (M-4.9)."""
    written = {step.name.text: step for step in _chain(symbol.declaration.value)[1]}
    window = written.get("window")
    if window is None or "pin" not in written or len(window.arguments) != 1 or window.arguments[0].name is not None:
        return
    count = (symbol.steps or {}).get("window", {}).get("window")
    if not isinstance(count, int):
        return
    message = f"pinned messages count among the {count} of this window: with {count} of them it shows no conversation"
    c.report("W0456", window.name.span, message, help=f"count turns: `.window(turns: {max(1, count // 2)})`")


def _check_due(c: Checker, symbol: MemorySymbol, steps: dict[str, Any]) -> None:
    """With `every: Evict` a fold takes what the view leaves out or the log must lose (M-9.4)."""
    said = steps["summary"].get("summary")
    log = steps if symbol.of is None else symbol.of.steps or {}
    if said is None or "every_turns" in said or "every_ms" in said or "retain" in log or "window" in steps or "prune" in steps:
        return
    node = symbol.declaration
    place = next((step.name for step in _chain(node.value)[1] if step.name.text == "summary"), node.name)
    c.report(
        "W0454", place.span, f"nothing is ever summarised: `{symbol.name}` has no `window`, and its log loses nothing",
        help="add `.window(40)` or `.retain(200)`, or say when: `every: 10`",
    )  # fmt: skip


def check_role(c: Checker, memory: ast.Expr, role: ast.Expr | None, *, pinned: bool = False) -> None:
    """A literal role other than those of O-3.4; a system message that a bounded memory will lose."""
    while isinstance(role, ast.GroupExpr):
        role = role.inner
    if not isinstance(role, ast.StringLiteral):
        return
    if role.value not in ROLES:
        c.report("E4042", role.span, f'unknown role "{role.value}"', help='use "user", "assistant" or "system"')
    symbol = memory.binding if isinstance(memory, ast.PathExpr) else None
    if role.value == "system" and not pinned and isinstance(symbol, MemorySymbol) and _can_evict_system(symbol):
        c.report(
            "W0451", role.span, f"the bounded memory `{symbol.name}` can evict this system message",
            help="pin it, or keep it in the model's `system_prompt`",
        )  # fmt: skip


def _can_evict_system(symbol: MemorySymbol) -> bool:
    retain, pin = ((symbol.steps or {}).get(step, {}) for step in ("retain", "pin"))
    return ("retain" in retain or "retain_tokens" in retain) and "System" not in pin.get("pin_roles", ())


def check_init(c: Checker, statement: ast.InitStatement, home: ModuleSymbol) -> None:
    """`NAME.append(…);` at module level, NAME a memory or store of the same module (O-0.7, M-2.10)."""
    call = statement.call
    receiver = call.receiver
    c.targets.append(Target("none", result=NIL))
    owner = c.infer(receiver)
    is_store = owner == LEDGER or generic(owner, "HashMap") is not None
    if owner is ERRONEOUS:
        infer_all(c, call.arguments)
    elif not is_memory(owner) and owner != KEYED_MEMORY and not is_store:
        c.report(
            "E4501", receiver.span, "an initialisation statement calls a method of a memory, hashmap or ledger",
            help="put it in `fn main() { … }`",
        )
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
    elif owner == KEYED_MEMORY:
        _keyed_init(c, call)
    else:
        c.infer(call, Expected(used=False))
    c.targets.pop()


def _keyed_init(c: Checker, call: ast.MethodCall) -> None:
    """For every key of the memory, when it is first opened."""
    row = lookup("Memory", call.name.text)
    assert row is not None
    if row.name == "remember" and not check_facts(c, call):
        return infer_all(c, call.arguments)
    _, matched = call_row(c, row, None, call.arguments, call.name.span, FREE)
    if matched is not None:
        call.target = BuiltinCall(matched.values, matched.order, "Memory", row.name)
        if row.name != "remember":
            check_role(c, call.receiver, matched.values[0], pinned=row.name == "pin")
