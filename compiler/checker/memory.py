"""Declarations of memories and memory values in the checker (O-3.1 to O-3.4, M-2 to M-10).

Hands on `check_memory` to `declaration_checks` and `expressions`, `memory_value` to `calls` and `methods` (both read a chain of
steps into what the image says), and `store_table` to `stores` and `indexes`. A memory is declared by a chain of steps, `memory
log: Memory = Memory::new(20).store("durable");`; `Memory::of(m)` makes a view, which shows the log of m and has none. Steps are
read one by one by `memory_steps.Steps`; this file checks what they mean together and with the rest of the program: a rule about
two steps goes into `_check_together`. What is wrong with the program is reported to `c`, the state of the check, by a code (E…,
W…), never raised; ERRONEOUS is the type of what was reported. Calls of methods of a memory are the matter of `memory_calls`, who
may attach one that of `memory_attachments`. Nothing is remembered here: that is for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...vm.memory_steps import BLOCK, STEPS
from ..hints.names import STEPS as STEPS_ELSEWHERE
from ..hints.names import did_you_mean
from ..source import Span
from ..symbols import (
    BuiltinSymbol,
    EmbedderSymbol,
    Local,
    MemorySymbol,
    MemoryValue,
    StepFunction,
)
from ..syntax import ast
from ..types import BOOL, MEMORY, MESSAGE, Type, array
from .arguments import infer_all
from .context_declarations import one_memory
from .declarations import FAILED, at_module_level, components, folded
from .embedders import check_embedder, named_embedder
from .memory_asking import check_fact_rules
from .memory_bounds import bound, check_key_functions
from .memory_steps import DECLARE, Steps, check_summary, useless_beside_only
from .relations import ERRONEOUS, is_memory
from .state import FREE, Checker, Expected
from .types import written_type

DEFLATING = ("sqlite", "postgres")  # kinds of stores that know `compress`
AT_A_STORE = ("store", "ttl", "decay", "context")  # where a report about the store of a memory points
OF_THE_TYPE = ("per", "context")
"""Steps that are read first: functions of the others may use the memory."""


def check_memory(c: Checker, symbol: MemorySymbol) -> None:
    """Read the declaration of a memory into `symbol.steps`, by step what its arguments say, and its keys, context and the
    memory that it is a view of (`of`, None for none) into the symbol. It is read once, before the memories that take its steps
    over or show its log; later calls do nothing. Report another type than a memory's (E2001), what no declaration begins with,
    and a memory that takes over its own steps (E4501), wrong arguments of `Memory::new` (E2006, E4004, E4502), a view of itself
    (E4511), an unknown store or embedder (E4508), a function of the key without key parts (E4520), steps that do not fit
    together (E4504, E4507, E4512, E4528, E4530, E4531; W0454, W0456, W0457), and what `Steps` and `check_fact_rules` find."""
    if symbol.steps is not None:
        return
    # One after the other: a chain of memories may be longer than Python's stack.
    groups = list(components([symbol], lambda memory: [*_taken_over(memory), *_shown_by(memory)]))
    _number(c.memory_circles, groups)
    for group in groups:
        if len(group) > 1:
            _number(c.view_circles, components(group, _shown_by))
    for memory in [memory for group in groups for memory in reversed(group)]:
        if memory.steps is None:
            _read(c, memory)


def _number(circles: dict[MemorySymbol, int], groups: Iterable[list[MemorySymbol]]) -> None:
    for group in groups:
        number = len(circles)
        for memory in group:
            circles.setdefault(memory, number)


def _taken_over(symbol: MemorySymbol) -> list[MemorySymbol]:
    """Return the memories, not read yet, whose steps a memory takes over by `like`."""
    chain = _chain(symbol.declaration.value)[1]
    return _unread([argument.value for step in chain for argument in step.arguments if step.name.text == "like"])


def _shown_by(symbol: MemorySymbol) -> list[MemorySymbol]:
    """Return the memories, not read yet, whose log a view shows by `Memory::of`."""
    value = _chain(symbol.declaration.value)[0]
    if not isinstance(value, ast.Call) or _constructor(value) != "Memory::of":
        return []
    return _unread([argument.value for argument in value.arguments])


def _unread(values: Sequence[ast.Expr]) -> list[MemorySymbol]:
    named = [value.binding for value in values if isinstance(value, ast.PathExpr)]
    return [memory for memory in named if isinstance(memory, MemorySymbol) and memory.steps is None]


def _read(c: Checker, symbol: MemorySymbol) -> None:
    symbol.steps = {}
    node = symbol.declaration
    declared = written_type(c, node.type)
    if not is_memory(declared) and declared is not ERRONEOUS:
        help = "memory log: Memory = …;" if node.block is None else "leave the type out"
        c.report("E2001", node.type.span, f"expected `Memory`, found `{declared}`", help=help)
    value, chain = _chain(node.value)
    constructor = _constructor(value)
    if constructor is None or not isinstance(value, ast.Call):
        help = "write `Memory::new()` or `Memory::new(20)`"
        if isinstance(value, (ast.MapExpr, ast.StructExpr)):
            help = f"a block stands behind the name: `memory {symbol.name} {{ retain: 20 }}`"
        c.report("E4501", value.span, "a memory begins with `Memory::new(…)`", help=help)
        return
    if constructor == "Memory::from":
        help = f'write what it begins with below: `{symbol.name}.append("user", "…");`'
        c.report("E4501", value.callee.span, "a declared memory begins with `Memory::new(…)`", help=help)
        return
    steps = Steps(c, is_view=constructor == "Memory::of", words=STEPS if node.block is None else BLOCK)
    if steps.is_view:
        symbol.of = _shown(c, symbol, value)
    else:
        _new(c, value, steps)
    symbol.keys = symbol.of.keys if symbol.of is not None else []
    symbol.steps = steps.found
    if declared is ERRONEOUS:  # of a context in the type of a block it was said that there is none
        chain = [step for step in chain if not node.type.span.start <= step.name.span.start < node.type.span.end]
    # Key, context and `like` first: functions of the other steps may use the memory, whose type they decide.
    for name in (*OF_THE_TYPE, "like"):
        for step in chain:
            if step.name.text == name:
                steps.read(step)
    _settle_type(c, symbol, steps)
    for step in chain:
        if step.name.text not in (*OF_THE_TYPE, "like"):
            steps.read(step)
    if steps.like is not None:
        _take_over(c, symbol, steps, steps.like)
    steps.complete(c.memory_defaults)
    failed = "context" in symbol.steps and symbol.context is None
    if is_memory(declared) and declared not in (MEMORY, one_memory(symbol)) and not failed:
        message = f"`{symbol.name}` is declared `{declared}` and has the type `{one_memory(symbol)}`"
        help = "attach the context: `.context(C)`"
        if symbol.of is not None:
            help = f"a view has the context of its memory: write `{one_memory(symbol)}`"
        c.report("E2001", node.type.span, message, help=help)
    symbol.keys = symbol.of.keys if symbol.of is not None else steps.found.get("per", {}).get("keys", [])
    _store(c, symbol)
    check_fact_rules(c, symbol)
    _embed(c, symbol)
    _check_together(c, symbol)
    check_key_functions(c, symbol)
    _bounded(c, symbol)


def _settle_type(c: Checker, symbol: MemorySymbol, steps: Steps) -> None:
    """Find key and context before the functions of other steps are read, since these may use the memory."""
    if steps.is_view:
        return
    other = steps.like.binding if steps.like is not None else None
    if isinstance(other, MemorySymbol) and not _in_circle(c.memory_circles, other, symbol):
        check_memory(c, other)
        other_steps = other.steps or {}
        steps.found.update({name: other_steps[name] for name in OF_THE_TYPE if name in other_steps and name not in steps.found})
    symbol.keys = steps.found.get("per", {}).get("keys", [])


def memory_value(c: Checker, symbol: MemorySymbol) -> Type:
    """Return the type of a chain in an expression, which makes a memory value (M-2.18), and read its steps into `symbol.steps`;
    `symbol.value` is set. Report as `check_memory`, and E4521 for what a memory value cannot have, E4522 for a function that uses
    a variable around it, E2006 for other arguments of `Memory::from`."""
    value = symbol.value
    assert value is not None
    symbol.steps = {}
    steps = Steps(c, is_value=True)
    if _constructor(value.chain) == "Memory::from":
        _from(c, value)
    else:
        _new(c, value.chain, steps)
    for step in _chain(symbol.declaration.value)[1]:
        steps.read(step)
    symbol.steps = steps.found
    if steps.like is not None:
        other = steps.like.binding
        check_memory(c, other)
        missing = {name: step.no_value for name, step in STEPS.items() if step.taken_over and step.no_value is not None}
        unavailable = [name for name in missing if name in (other.steps or {})]
        if unavailable:
            message = f"a memory value has no `{unavailable[0]}`, which it would take over: {missing[unavailable[0]]}"
            c.report("E4521", steps.like.span, message, help="write the steps you want, or take over those of another memory")
        _take_over(c, symbol, steps, steps.like)
    steps.complete(c.memory_defaults)
    _check_context(c, symbol)
    check_fact_rules(c, symbol)
    _embed(c, symbol)
    _check_together(c, symbol)
    _check_captures(c, symbol)
    _bounded(c, symbol)
    return one_memory(symbol)


def _from(c: Checker, value: MemoryValue) -> None:
    """Check `Memory::from(messages)`, and set the messages of the value (M-2.20)."""
    arguments = value.chain.arguments
    if len(arguments) != 1 or arguments[0].name is not None:
        infer_all(c, arguments)
        message = "`Memory::from` takes 1 argument without a name"
        c.report("E2006", value.chain.callee.span, message, help="Memory::from(messages).retain(20)")
        return
    if c.value(arguments[0].value, Expected(array(MESSAGE), place="`Memory::from`")) is not ERRONEOUS:
        value.messages = arguments[0].value


def _check_context(c: Checker, symbol: MemorySymbol) -> None:
    if symbol.context is None:
        return
    persistent = [slot.name for slot in symbol.context.slots.values() if slot.tier == "persistent"]
    if persistent:
        message = f"a memory value has no persistent slots, and `{symbol.context.name}` has `{persistent[0]}`"
        c.report("E4521", symbol.declaration.name.span, message, help=f"make them `session` slots, or {DECLARE}")


def _check_captures(c: Checker, symbol: MemorySymbol) -> None:
    """Report E4522 for a step's function that uses a variable around it: such functions exist before any memory is made
    (M-2.22)."""
    todo: list[Any] = [symbol.steps]
    while todo:
        part = todo.pop()
        if isinstance(part, StepFunction):
            local = foreign_variable(part.value)
            if local is not None:
                name = local.segments[0].text
                message = f"a function of a memory step cannot use `{name}`: it runs outside of the function around it"
                c.report("E4522", local.span, message, help="compute it from the argument, or from a `const`")
        elif isinstance(part, (dict, list)):
            todo += part.values() if isinstance(part, dict) else part


def foreign_variable(value: ast.Expr) -> ast.PathExpr | None:
    """Return the first variable in a closure that is not its own, None without one."""
    own = {id(node.scope) for node in _nodes(value) if isinstance(node, ast.Closure)}
    paths = [node for node in _nodes(value) if isinstance(node, ast.PathExpr) and isinstance(node.binding, Local)]
    foreign = [node for node in paths if id(node.binding.scope) not in own]
    return min(foreign, key=lambda node: node.span.start, default=None)


def _nodes(value: ast.Node) -> Iterator[ast.Node]:
    todo: list[ast.Node] = [value]
    while todo:
        node = todo.pop()
        yield node
        todo += node.children()


def _bounded(c: Checker, symbol: MemorySymbol) -> None:
    """Note the bound of the log if it is a constant; expressions that compute bounds are checked later (E4519)."""
    retain = (symbol.steps or {}).get("retain", {}).get("retain")
    symbol.max_messages = retain if isinstance(retain, int) else None
    if symbol.value is None:
        c.computed_bounds += [value for _, value in symbol.computed]


def _chain(value: ast.Expr) -> tuple[ast.Expr, list[ast.MethodCall]]:
    """Return what the chain begins with, and its steps in source order."""
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
        if isinstance(binding, BuiltinSymbol) and binding.name.startswith(("Memory::", "MemoryRef::")):
            return binding.name.replace("MemoryRef", "Memory")
    return None


def _new(c: Checker, call: ast.Call, steps: Steps) -> None:
    """Read the arguments of `Memory::new(n, tools: true)` into `steps` (M-3.2, M-4.3)."""
    positional = [argument for argument in call.arguments if argument.name is None]
    for argument in call.arguments:
        if argument.name is not None and argument.name.text not in ("max", "tools"):
            message = f"`Memory::new` has no parameter `{argument.name.text}`"
            help = STEPS_ELSEWHERE.get(argument.name.text) if "token" in argument.name.text else None
            c.report("E4502", argument.name.span, message, help=help or "the largest number of messages is `max`")
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
        count = bound(c, bounds[0].value, "the bound of a memory", in_body=steps.is_value)
        if count is not FAILED:
            steps.found["retain"] = {"retain": count}
            steps.places["retain"] = bounds[0].span
    if flags:
        type_ = c.value(flags[0].value, FREE) if steps.is_value else at_module_level(c, flags[0].value, FREE)
        value = folded(c, flags[0].value, "E4004") if type_ == BOOL else None
        if isinstance(value, bool):
            steps.found["tools"] = {"tools": True} if value else {}
            steps.places["tools"] = flags[0].span
        elif type_ is not ERRONEOUS and value is not FAILED:
            c.report("E4004", flags[0].value.span, "`tools` is a constant Bool", help="write `true` or `false`")


def _shown(c: Checker, symbol: MemorySymbol, call: ast.Call) -> MemorySymbol | None:
    """Return the memory or view m of `Memory::of(m)`; None after a report (E4501, E4511)."""
    value = call.arguments[0].value if len(call.arguments) == 1 and call.arguments[0].name is None else None
    other = value.binding if isinstance(value, ast.PathExpr) else None
    if not isinstance(other, MemorySymbol):
        c.report("E4501", call.span, "`Memory::of` takes the name of a memory", help="Memory::of(support)")
        return None
    if other is symbol or _in_circle(c.view_circles, other, symbol):
        c.report("E4511", call.span, f"`{symbol.name}` is a view of itself", help="derive it from a memory: `Memory::of(log)`")
        return None
    check_memory(c, other)
    for step in ("shape", "only", "view"):
        if other.of is not None and step in (other.steps or {}):
            message = f"with `{step}` the view `{other.name}` shows no messages of a log that another view could take"
            c.report("E4511", call.span, message, help=f"derive it from `{other.of.name}`")
            return None
    return other


def _take_over(c: Checker, symbol: MemorySymbol, steps: Steps, like: ast.PathExpr) -> None:
    other = like.binding
    assert isinstance(other, MemorySymbol)
    if _in_circle(c.memory_circles, other, symbol):
        c.report("E4501", like.span, f"`{symbol.name}` takes over its own steps", help="name another memory")
        return
    check_memory(c, other)
    steps.complete(other.steps or {})


def _store(c: Checker, symbol: MemorySymbol) -> None:
    """Replace the name of the store by its table, as the image has it (M-8.2, M-8.3)."""
    steps = symbol.steps or {}
    written = steps.get("store", {})
    name = written.get("store")
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
        table = store_table(c, name, place.span)
        if table is None:
            return
        if written.get("compress"):
            if table["kind"] not in DEFLATING:
                message = f"`compress` is of stores of the kinds {' and '.join(DEFLATING)}"
                c.report("E4507", place.span, f'{message}: "{name}" is of the kind {table["kind"]}', help="leave `compress` out")
            table["compress"] = True
        steps["store"] = {"store": table}


def store_table(c: Checker, name: str, at: Span) -> dict[str, Any] | None:
    """Return what an image says of the store of that name (M-8.2, M-8.3): its `name`, `kind` and settings, and the `namespace` of
    the manifest if there is one; None for an unknown one, after a report (E4508) unless the manifest could not be read."""
    tables = c.memory_tables
    if name not in tables.stores:
        if tables.readable:
            help = did_you_mean(name, tables.stores) or 'use "durable", or declare it: [stores.NAME] in Concerto.toml'
            c.report("E4508", at, f'unknown store "{name}"', help=help)
        return None
    table: dict[str, Any] = {"name": name, **tables.stores[name]}
    if tables.namespace is not None:
        table["namespace"] = tables.namespace
    return table


def _embed(c: Checker, symbol: MemorySymbol) -> None:
    """Replace the name of the embedder by its table, as the image has it (M-10.16)."""
    steps = symbol.steps or {}
    name = steps.get("embed", {}).get("embed")
    if not isinstance(name, (str, EmbedderSymbol)):
        return
    node = symbol.declaration
    place = next((step.name for step in _chain(node.value)[1] if step.name.text == "embed"), node.name)
    if isinstance(name, EmbedderSymbol):
        check_embedder(c, name)
    table = named_embedder(c, name, place.span) if isinstance(name, str) else name.table
    if table is not None:
        steps["embed"] = {"embed": table}


def _in_circle(circles: Mapping[MemorySymbol, int], other: MemorySymbol, symbol: MemorySymbol) -> bool:
    """Return whether `other`, which `symbol` names in `like` or `Memory::of`, leads back to it by these."""
    return symbol in circles and circles[symbol] == circles.get(other)


def _check_together(c: Checker, symbol: MemorySymbol) -> None:
    steps = symbol.steps or {}
    window, retain = steps.get("window", {}).get("window"), steps.get("retain", {}).get("retain")
    if isinstance(window, int) and isinstance(retain, int) and window > retain:
        place = next((step.name for step in _chain(symbol.declaration.value)[1] if step.name.text == "window"), None)
        message = f"a window of {window} messages is larger than the {retain} that are kept"
        c.report("E4504", (place or symbol.declaration.name).span, message, help="lower `window`, or raise `retain`")
    _check_pins(c, symbol)
    if "only" in steps:
        _check_only(c, symbol, steps)
    _check_views(c, symbol, steps)
    if "summary" in steps:
        _check_summary(c, symbol, steps)


def _check_views(c: Checker, symbol: MemorySymbol, steps: dict[str, Any]) -> None:
    """Check `view`, `shape` and `refresh` against each other: one function gives the shown messages (M-4.32), and what is
    read again bypasses it and needs other writers between the steps (M-5.31)."""
    by_name = {step.name.text: step.name for step in _chain(symbol.declaration.value)[1]}
    place = by_name.get("view") or by_name.get("refresh") or symbol.declaration.name
    if "view" in steps and "shape" in steps:
        message = "`view` and `shape` both give the messages that are shown"
        c.report("E4528", place.span, message, help="keep `view`, and call the other function in its own")
    if "refresh" not in steps:
        return
    place = by_name.get("refresh") or symbol.declaration.name
    giving = next((step for step in ("view", "shape") if step in steps), None)
    if giving is not None:
        message = f"what `refresh` shows later would pass by the function of `{giving}`"
        c.report("E4531", place.span, message, help=f"leave out `{giving}` or `refresh`")
    elif symbol.of is None and (how := _on_conflict(steps)) != "Append":
        message = f"nothing comes between the steps of a turn of {symbol.told}: its `on_conflict` is `{how}`"
        view = f", or refresh a view of it that is only read: `Memory::of({symbol.name}).refresh(Step)`"
        help = f"add `.on_conflict(Append)`{view if symbol.value is None else ''}"
        c.report("E4530", place.span, message, help=help)


def _on_conflict(steps: dict[str, Any]) -> str:
    """Return the written word, or the default (M-4.15)."""
    word: str | None = steps.get("on_conflict", {}).get("on_conflict")
    row = STEPS["on_conflict"].arguments[""]
    return word or str(row.stored if "store" in steps else row.default)


def _check_pins(c: Checker, symbol: MemorySymbol) -> None:
    """Report W0456: pinned messages take part of a window of n messages, in the end all of it (M-4.9)."""
    by_name = {step.name.text: step for step in _chain(symbol.declaration.value)[1]}
    window = by_name.get("window")
    if window is None or "pin" not in by_name or len(window.arguments) != 1 or window.arguments[0].name is not None:
        return
    count = (symbol.steps or {}).get("window", {}).get("window")
    if not isinstance(count, int):
        return
    message = f"pinned messages count among the {count} of this window: with {count} of them it shows no conversation"
    c.report("W0456", window.name.span, message, help=f"count turns: `.window(turns: {max(1, count // 2)})`")


def _check_only(c: Checker, symbol: MemorySymbol, steps: dict[str, Any]) -> None:
    """Check that a view that shows only its summary has one, and no step for other things that it would show (M-9.18)."""
    by_name = {step.name.text: step.name for step in _chain(symbol.declaration.value)[1]}
    at = by_name.get("only", symbol.declaration.name)
    if "summary" not in steps:
        message = f"{symbol.told} shows only its summary, and has none"
        c.report("E4512", at.span, message, help=".summary(shorten, every: 3).only(Summary)")
    for name in useless_beside_only(symbol.of is not None):
        if name in by_name and name in steps:
            message = f"`{name}` has nothing to act on: {symbol.told} shows only its summary"
            c.report("E4512", by_name[name].span, message, help=f"drop `{name}`, or `only`")


def _check_summary(c: Checker, symbol: MemorySymbol, steps: dict[str, Any]) -> None:
    """Check that a summary is ever made: with `every: Evict` a fold takes what the view leaves out or the log loses
    (M-9.4)."""
    summary = steps["summary"].get("summary")
    node = symbol.declaration
    step = next((step for step in _chain(node.value)[1] if step.name.text == "summary"), None)
    place = node.name if step is None else step.name
    if summary is None or (step is not None and not check_summary(c, step, summary)):
        return
    named = {"retain"} & (symbol.log.steps or {}).keys()
    through: MemorySymbol | None = symbol
    while through is not None and (through.of is not None or through is symbol):
        named |= {"window", "prune"} & (through.steps or {}).keys()
        through = through.of
    if summary.get("from") == "Buffer" and not named & {"window", "retain"}:
        message = f"each fold is given the whole log: {symbol.told} has no `window`, and its log loses nothing"
        c.report("W0457", place.span, message, help="add `.window(40)`, or leave `from: Buffer` out")
    if "every_turns" in summary or "every_ms" in summary or named:
        return
    c.report(
        "W0454", place.span, f"nothing is ever summarised: {symbol.told} has no `window`, and its log loses nothing",
        help="add `.window(40)` or `.retain(200)`, or say when: `every: 10`",
    )  # fmt: skip
