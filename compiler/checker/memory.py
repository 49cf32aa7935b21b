"""Memories in the checker (O-3.1 to O-3.4, M-2 to M-10): declarations, memory values, initialisation statements, facts, keys, and
who may attach a memory.

Hands on `check_memory` to `declaration_checks` and `expressions`, `memory_value` to `calls` and `methods` (both read a chain of
steps into what the image says); to `methods` what calls on a memory need: `check_role`, `check_facts`, `misplaced_word`,
`keyed_method`, `check_allowed`; to `methods`, `models` and `tools` `without_key`, to the latter two `refuse_attaching`; to
`tools` and `indexes` `store_table`; to `program` `check_init` and `check_concurrent_memories`. A memory is declared by a chain of
steps, `memory log: Memory = Memory::new(20).store("durable");`; `Memory::of(m)` makes a view, which shows the log of m and has
none. Steps are read one by one by `memory_steps.Steps`; this file checks what they mean together and with the rest of the
program: a rule about two steps goes into `_check_together`. What is wrong with the program is reported to `c`, the state of the
check, by a code (E…, W…), never raised; ERRONEOUS is the type of what was reported. Nothing is remembered here: that is for the
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from ...vm.builtins import lookup
from ...vm.memory_steps import BLOCK, DIRECTIONS, FACT_TIERS, SOURCES, STEPS
from ..decisions import BuiltinCall, DynamicCall
from ..hints.names import STEPS as STEPS_ELSEWHERE
from ..hints.names import did_you_mean, listed
from ..resolver.memories import WORD_OF_METHOD
from ..source import Span
from ..symbols import (
    AgentSymbol,
    BuiltinSymbol,
    EmbedderSymbol,
    FunctionSymbol,
    Local,
    MemorySymbol,
    MemoryValue,
    ModelSymbol,
    ModuleSymbol,
    StepFunction,
)
from ..syntax import ast
from ..types import ANY, BOOL, INT, KEYED_MEMORY, LEDGER, MEMORY, MESSAGE, NEVER, NIL, STRING, Type, array, error, map_, result
from .arguments import call_row, infer_all
from .callees import Summaries
from .config import quiet_fold
from .context_declarations import one_memory
from .declarations import FAILED, at_module_level, components, folded
from .embedders import check_embedder, named_embedder
from .memory_asking import check_fact_rules
from .memory_bounds import bound, check_key_functions, known_word
from .memory_steps import DECLARE, Steps, check_summary, in_its_form, useless_beside_only
from .relations import ERRONEOUS, generic, is_memory, is_text
from .state import FREE, Checker, Expected, Target
from .types import written_type

# Calls of `remember`, `recall` and `neighbors` of a memory (M-10.5 to M-10.7).

WORDS = {"remember": FACT_TIERS, "recall": SOURCES, "neighbors": DIRECTIONS}
SHARES = ("confidence", "min_confidence")


def _items(argument: ast.Argument) -> list[ast.Expr]:
    return argument.value.items if isinstance(argument.value, ast.ArrayExpr) else [argument.value]


def misplaced_word(c: Checker, node: ast.MethodCall, receiver: Type) -> None:
    """Report a word such as `Session` in a call of anything but a memory: nothing has that name (E1001). What is behind Any may
    be a memory, so there the words that a memory takes are legal."""
    legal = WORDS[node.name.text] if receiver in (ANY, NEVER) else ()
    for argument in node.arguments:
        for item in _items(argument):
            if isinstance(item, ast.StringLiteral) and item.word and item.value not in legal:
                help = did_you_mean(item.value, legal) or "only methods of a memory take such words"
                c.report("E1001", item.span, f"unknown name `{item.value}`", help=help)


def check_facts(c: Checker, node: ast.MethodCall) -> bool:
    """Return whether the words and constant confidences in a call of one of WORD_OF_METHOD are legal; report those that are not
    (E4502, E4507, E4004)."""
    legal = True
    for argument in node.arguments:
        label = argument.name.text if argument.name is not None else ""
        if label == WORD_OF_METHOD[node.name.text]:
            for item in _items(argument):
                legal = _tier(c, node, label, item) and legal
        elif label in SHARES and not _may_be_share(quiet_fold(c, argument.value)):
            c.report("E4004", argument.value.span, f"`{label}` is a number from 0 to 1", help="write it as `0.5`")
            legal = False
    return legal


def _may_be_share(known: object) -> bool:
    """Return whether a value is from 0 to 1, or no constant number (whose type is checked with the other arguments)."""
    return type(known) not in (int, float) or 0 <= known <= 1  # type: ignore[operator]


def _tier(c: Checker, node: ast.MethodCall, label: str, value: ast.Expr) -> bool:
    word = known_word(c, label, WORDS[node.name.text], value)
    if word is None:
        return False
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    if word == "Persistent" and isinstance(memory, MemorySymbol) and "store" not in (memory.log.steps or {}):
        c.report(
            "E4507", value.span, f"a persistent fact needs a store, which `{memory.name}` lacks",
            help=in_its_form(memory, 'add `.store("durable")` to the memory'),
        )  # fmt: skip
        return False
    return True


# Declarations, memory values and initialisation statements (M-2.3 to M-2.10).

ROLES = ("user", "assistant", "system")
DEFLATING = ("sqlite", "postgres")  # kinds of stores that know `compress`
AT_A_STORE = ("store", "ttl", "decay", "context")  # where a report about the store of a memory points
OF_THE_TYPE = ("per", "context")
"""Steps that are read first: functions of the others may use the memory."""
INIT_METHODS = ("append", "pin", "remember")


def check_memory(c: Checker, symbol: MemorySymbol) -> None:
    """Read the declaration of a memory into `symbol.steps`, its keys, context and memory behind it into the symbol. It is read
    once, before the memories that take its steps over or show its log; later calls do nothing."""
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
    """Return the type of a chain in an expression, which makes a memory value (M-2.18), and read its steps into
    `symbol.steps`."""
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


def check_role(c: Checker, memory: ast.Expr, role: ast.Expr | None, *, pinned: bool = False) -> None:
    """Report a literal role other than user, assistant and system (E4042, O-3.4), and warn of a system message that a bounded
    memory will lose, unless it is `pinned` (W0451). `role` is the argument, None for one that is left out."""
    role = role and ast.ungrouped(role)
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
    return bool(retain) and "System" not in pin.get("pin_roles", ())


def check_init(c: Checker, statement: ast.InitStatement, home: ModuleSymbol) -> None:
    """Check `NAME.append(…);` at module level, where NAME is a memory or store of the same module `home` (O-0.7, M-2.10); E4501
    for any other statement."""
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
    """Check a statement for every key of the memory; it runs when a key is first opened."""
    row = lookup("Memory", call.name.text)
    assert row is not None
    if row.name == "remember" and not check_facts(c, call):
        return infer_all(c, call.arguments)
    _, matched = call_row(c, row, None, call.arguments, call.name.span, FREE)
    if matched is not None:
        call.target = BuiltinCall(matched.values, matched.order, "Memory", row.name)
        if row.name != "remember":
            check_role(c, call.receiver, matched.values[0], pinned=row.name == "pin")


# Who may attach a memory: `.allow(read: […], write: […])` (M-4.16). What only a run knows is refused at run time.


def check_allowed(c: Checker, node: ast.MethodCall, attached: ast.Expr, auto: ast.Expr | None) -> None:
    """Check `NAME.….with_memory(m, auto: …)` where model or agent and memories are names (E4510). `auto` is None where it is left
    out: the last memory is then written, as with `true`."""
    attaching: ast.Expr = node.receiver
    while isinstance(attaching, (ast.MethodCall, ast.GroupExpr)):
        attaching = attaching.receiver if isinstance(attaching, ast.MethodCall) else attaching.inner
    who = attaching.binding if isinstance(attaching, ast.PathExpr) else None
    if not isinstance(who, (ModelSymbol, AgentSymbol)):
        return
    writes = auto is None or (isinstance(auto, ast.BoolLiteral) and auto.value)  # else only a run knows
    items = attached.items if isinstance(attached, ast.ArrayExpr) else [attached]
    for number, item in enumerate(items):
        memory = item.binding if isinstance(item, ast.PathExpr) else None
        if isinstance(memory, MemorySymbol):
            refuse_attaching(c, item, who, memory, writes=writes and number == len(items) - 1)


def refuse_attaching(
    c: Checker, at: ast.Expr, who: ModelSymbol | AgentSymbol, memory: MemorySymbol, *, writes: bool
) -> None:
    """Report E4510 for a model or agent that `allow` does not name, or names as a reader only where it `writes`. A view is
    attached as the memory that it is of."""
    base = memory.log
    allow = (base.steps or {}).get("allow")
    if allow is None or not {"allow_read", "allow_write"} & allow.keys():
        return
    writers, readers = allow.get("allow_write", []), allow.get("allow_read", [])
    if who in writers or (not writes and who in readers):
        return
    if who in readers:
        c.report("E4510", at.span, f"`{who.name}` may only read `{base.name}`", help="attach it with `auto: false`")
    else:
        help = in_its_form(base, f"name it: .allow(write: [{who.name}])")
        c.report("E4510", at.span, f"`{base.name}` does not allow `{who.name}`", help=help)


# One memory attached in two operands that run at once, where its turns exclude each other (W0452, M-5.17): `Serial` makes the
# operands run one after the other, `Reject` and `Fork` let one of them fail or leave the log. Functions that an operand calls
# are followed as far as names lead; keys of a keyed memory may differ and are left out.

CALLS = ("execute", "execute_with_schema", "chat", "stream")
EXCLUDE = {
    "Serial": "they wait for each other", "Reject": "the later one is Err `Conflict`", "Fork": "the later one goes to a branch",
}  # fmt: skip


def check_concurrent_memories(c: Checker) -> None:
    """Report W0452 for memories whose turns exclude each other and that are attached in two operands that run at once, of an
    operand some at most. Raise BodyNeeded, with a cache, where a call leads into a body that this check leaves out."""
    memories: list[MemorySymbol] = []
    attached = _attached(c, memories)
    for operands in c.concurrent:
        earlier = 0
        for operand in operands:
            if c.is_answered(operand.span):
                continue
            parts = [(part, attached.of(part, operand.span)) for part in operand.children()]
            own = reduce(or_, [mask for _, mask in parts], 0)
            for number in list(_bits(own & earlier))[:SHARED_SHOWN]:
                memory = memories[number]
                message = f"`{memory.name}`, which is `{_word(memory)}`, is attached in an earlier operand too: "
                place = next(part for part, mask in reversed(parts) if mask >> number & 1)
                help = "give each operand a memory of its own, or `Append`"
                c.report("W0452", place.span, message + EXCLUDE[_word(memory)], help=help)
            earlier |= own


SHARED_SHOWN = 10  # memories of one operand that are reported


def _word(memory: MemorySymbol) -> str:
    steps = memory.image_steps
    return steps.get("on_conflict", "Serial" if "store" in steps else "Append")  # type: ignore[no-any-return]


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _attached(c: Checker, memories: list[MemorySymbol]) -> Summaries[int]:
    """Return the summaries of functions by the memories that their calls attach, as a set of bits: the places in `memories`,
    which this fills with those whose turns exclude each other."""
    numbers: dict[MemorySymbol, int] = {}

    def walk(value: ast.Node) -> Iterator[int | FunctionSymbol]:
        todo: list[ast.Node] = [value]
        while todo:
            node = todo.pop()
            called = c.called(getattr(node, "target", None))
            if called is not None:
                yield called
            if isinstance(node, ast.MethodCall) and node.name.text in CALLS:
                for memory in _of_call(node):
                    if memory not in numbers and _word(memory) in EXCLUDE:
                        numbers[memory] = len(memories)
                        memories.append(memory)
                    yield 1 << numbers[memory] if memory in numbers else 0
            todo.extend(node.children())

    return Summaries(c, walk, lambda masks: reduce(or_, masks, 0))


def _of_call(call: ast.MethodCall) -> list[MemorySymbol]:
    """Return what `NAME.….with_memory(m).….execute(p)` attaches: the memories of the last `with_memory` or `with(memory: m)`,
    else those of the model's field."""
    node: ast.Expr = call.receiver
    while isinstance(node, (ast.MethodCall, ast.GroupExpr)):
        attached = _attached_by(node) if isinstance(node, ast.MethodCall) else None
        if attached is not None:
            items = attached.items if isinstance(attached, ast.ArrayExpr) else [attached]
            return [memory.log for item in items for memory in _named(item)]
        node = node.receiver if isinstance(node, ast.MethodCall) else node.inner
    who = node.binding if isinstance(node, ast.PathExpr) else None
    return [memory.log for memory in who.memories] if isinstance(who, ModelSymbol) else []


def _attached_by(call: ast.MethodCall) -> ast.Expr | None:
    if call.name.text == "with_memory":
        return call.arguments[0].value
    named = (one.value for one in call.arguments if one.name is not None and one.name.text == "memory")
    return next(named, None) if call.name.text == "with" else None


def _named(item: ast.Expr) -> list[MemorySymbol]:
    named = item.binding if isinstance(item, ast.PathExpr) else None
    return [named] if isinstance(named, MemorySymbol) else []


# Memories with `.per(…)` have the methods `key`, `keys` and `erase`, and no others (M-7.3, M-7.4).

METHODS = ("key", "keys", "erase")
RESULTS: dict[str, Type] = {
    "key": MEMORY, "keys": array(map_(STRING, ANY)), "erase": result(INT, error("MemoryError")),
}  # fmt: skip


def keyed_method(c: Checker, node: ast.MethodCall) -> Type:
    """Return the type of a call of a method of a keyed memory, ERRONEOUS after a report (E4505, E2009), and set `node.target`.
    Its key parts are known where the receiver is the name of the declaration."""
    name = node.name.text
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else None
    if name not in METHODS:
        infer_all(c, node.arguments)
        return without_key(c, node.receiver, did_you_mean(name, METHODS))
    if not _named_keys(c, node, keys):
        return ERRONEOUS
    names = [argument.name.text for argument in node.arguments if argument.name is not None]
    if name == "key" and keys is not None and set(names) != set(keys):
        missing = listed("missing", [key for key in keys if key not in names])
        return c.report("E4505", node.name.span, f"`key` gives each of {', '.join(keys)}", help=missing)
    values: list[ast.Expr | None] = [argument.value for argument in node.arguments]
    node.target = DynamicCall(values, list(range(len(values))), name, names)
    return one_memory(memory) if name == "key" and isinstance(memory, MemorySymbol) else RESULTS[name]


def _named_keys(c: Checker, node: ast.MethodCall, keys: list[str] | None) -> bool:
    """Return whether each argument is named like a key part and holds a String or an Int, and the method `keys` has none; report
    what is wrong (E4505, E2009). `keys` are the key parts, None where they are not known."""
    if node.name.text == "keys" and node.arguments:
        infer_all(c, node.arguments)
        way = f"write `{c.operand(node.receiver, 'm')}.keys()`: the Map of each key; `.filter(|key| …)` keeps some of them"
        c.report("E4505", node.arguments[0].span, "`keys` takes no arguments", help=way)
        return False
    legal = True
    labels: set[str] = set()
    for number, argument in enumerate(node.arguments):
        type_ = c.infer(argument.value)
        label = argument.name.text if argument.name is not None else None
        if label is None or label in labels or (keys is not None and label not in keys):
            help = listed("key parts", keys) if keys else None
            if label is None and keys is not None and len(keys) > len(labels):
                help = f"write `{[key for key in keys if key not in labels][0]}: {c.text(argument.value)[1:-1]}`"
            what = f"has no key part `{label}`" if label is not None and label not in labels else "names each argument once"
            c.report("E4505", argument.span, f"`{node.name.text}` {what}", help=help)
            infer_all(c, node.arguments[number + 1 :])
            return False
        elif not (type_ in (INT, ANY) or is_text(type_) or type_ is ERRONEOUS):
            what = f"expected `String` or `Int` for the key part `{label}`, found `{type_}`"
            c.report("E2009", argument.value.span, what, help="a text or a number tells one key from another: `.to_string()`")
            legal = False
        labels.add(label or "")
    return legal


def without_key(c: Checker, at: ast.Expr, help: str | None = None) -> Type:
    """Report E4505 for a keyed memory that is used as if it were one log; return ERRONEOUS."""
    memory = at.binding if isinstance(at, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else []
    example = f".key({', '.join(f'{key}: …' for key in keys) or '…'})"
    return c.report("E4505", at.span, "a memory with `.per(…)` is used by its keys", help=help or f"write `{example}`")
