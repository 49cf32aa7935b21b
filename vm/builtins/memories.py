"""Methods of memories and of memories with `.per(values: Any...)` (O-3.4 to O-3.8, M-6.2 to M-6.32, M-7.3, M-10.5 to M-10.7).

What reads the log alone, and `append`, is done here at once, on the log that the host handed in. The rest the memory does itself,
by the name of the method (`runtime/memory/methods.py`), and where it has to wait the method becomes an effect, a request to the
host, and returns SUSPENDED; so it is with all methods of a memory whose name is in `Memories.attended` (`interp/effects.py`). A
failure of a store is a panic of the failure's code; methods with a Result return it as Err (M-6.22). An unknown role is P408 of
`append` and `pin`, an argument of another type P007, a wrong number or name of arguments P015; what ends the run may come out of
each method. A memory with `.per(…)` is one log for each combination of values of its key parts.

Hands on, besides its rows, `message_array` to the runtime, which makes values of the program from stored messages, and `ROLES` to
`runtime/session/state.py`.
"""

from __future__ import annotations

from ..interp.effects import MemoryUse
from ..interp.tasks import SUSPENDED
from ..memory_steps import COMPUTED, VALUE
from ..panics import Panic
from ..values import Array, KeyedRef, Media, MemoryRef, Message, ToolCall, check, from_json
from ..values.metering import FEW, look, paced, works_on
from .binding import expect, in_order
from .registry import METHODS, handle, hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..interp.effects import MachineContext, StoredMessage
    from ..interp.linked import Site
    from ..interp.tasks import Task


MEMORY, KEYED = "Memory", "KeyedMemory"
ROLES = ("system", "user", "assistant")


# ---------------------------------------------------------------- of the log alone


@handle(MEMORY, "append(role: String, content: String) -> Nil", clause="O-3.4")
def append(machine: MachineContext, task: Task, memory: MemoryRef, role: str, content: str) -> Any:
    """Adds one message at once."""
    if role not in ROLES:
        raise _unknown_role(role)
    memories = machine.memories
    if memory.name in memories.attended:
        return memory_use(machine, task, memory, "append", [role, content])
    try:
        memories.written(memory, task).append(role, content)
    except memories.failure as failure:
        raise memory_failure(failure) from None
    return None


@handle(MEMORY, "messages() -> Array<Message>", clause="O-3.5")
def messages(machine: MachineContext, task: Task, memory: MemoryRef) -> Any:
    """The messages, oldest first."""
    return _read(machine, task, memory, "messages", [], lambda log: message_array(log.messages()))


@handle(MEMORY, "last(n: Int) -> Array<Message>", clause="O-3.6")
def last(machine: MachineContext, task: Task, memory: MemoryRef, count: int) -> Any:
    """The newest n messages, oldest first."""
    return _read(machine, task, memory, "last", [count], lambda log: message_array(log.last(count)))


@handle(MEMORY, "len() -> Int", clause="O-3.7")
def size(machine: MachineContext, task: Task, memory: MemoryRef) -> Any:
    """Number of messages."""
    return _read(machine, task, memory, "len", [], len)


@handle(MEMORY, "is_empty() -> Bool", clause="M-6.7")
def is_empty(machine: MachineContext, task: Task, memory: MemoryRef) -> Any:
    """Whether there is no message."""
    return _read(machine, task, memory, "is_empty", [], lambda log: len(log) == 0)


@handle(MEMORY, "clear() -> Nil", clause="O-3.8")
def clear(machine: MachineContext, task: Task, memory: MemoryRef) -> Any:
    """Removes all messages."""
    return memory_use(machine, task, memory, "clear", [])


def _read(
    machine: MachineContext, task: Task, memory: MemoryRef, method: str, arguments: list[Any], of_log: Callable[[Any], Any]
) -> Any:
    """Return the result of `of_log` on the log, or of the memory's own method where it may have to wait."""
    memories = machine.memories
    if memory.name in memories.attended:
        return memory_use(machine, task, memory, method, arguments)
    try:
        return of_log(memories.at(memory) if memory.branch or memory.key else memories[memory.name])
    except memories.failure as failure:
        raise memory_failure(failure) from None


# ---------------------------------------------------------------- of the memory, by name


def memory_use(machine: MachineContext, task: Task, memory: MemoryRef, method: str, arguments: list[Any]) -> Any:
    """Return the result of the memory's method; where the host has to wait for it, make an effect and return SUSPENDED.
    `arguments`: one for each parameter, of its type. Raises what the method panics with, and what ends the run."""
    memories = machine.memories
    look()
    try:
        return memories.at_once(memory, method, arguments, task)
    except memories.must_wait:
        machine.suspend(task, "memory", MemoryUse(memory, method, arguments))
        return SUSPENDED


def _by_name(machine: MachineContext, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    checked = _checked(site, arguments)
    if site.name == "pin" and checked[0] not in ROLES:
        raise _unknown_role(checked[0])
    return memory_use(machine, task, memory, site.name, checked)


def _checked(site: Site, arguments: list[Any]) -> list[Any]:
    """Return one value for every parameter of the method of a memory, each of the declared type."""
    row = METHODS[MEMORY, site.name]
    values = in_order(row, site, arguments)
    return [check(value, parameter.type) for value, parameter in zip(values, row.parameters, strict=True)]


for _text, _clause, _doc in (
    ("append_all(msgs: Array<Message>) -> Result<Int, MemoryError>", "M-6.2", "Adds messages as one turn; the new length."),
    ("pin(role: String, content: String) -> Nil", "M-6.3", "Adds one message that stays."),
    ("set_pinned(seq: Int, on: Bool) -> Bool", "M-6.4", "Pins a message, or no longer; false when it is not there."),
    ("entries(after: Int = -1, limit: Int? = nil) -> Array<Entry>", "M-6.9", "The entries behind a seq, oldest first."),
    ("turns(last: Int? = nil) -> Array<Turn>", "M-6.10", "The newest turns, oldest first."),
    (
        "appended(run: String? = nil) -> Array<Message>", "M-6.11",
        "The messages of a run, by default of the one in progress, else of the newest that was committed.",
    ),
    ("view(prompt: String) -> Array<Message>", "M-6.12", "The messages a request with this prompt would have."),
    ("summary() -> String?", "M-6.13", "The stored summary."),
    ("tokens() -> Int", "M-6.14", "Tokens of all messages."),
    ("version() -> Int", "M-6.14", "Number of changes so far."),
    ("stats() -> Map<String, Any>", "M-6.15", "Counts, and all limits."),
    ("to_map() -> Map<String, Any>", "M-6.32", "Limits, count and messages as plain data, of which JSON is made."),
    ("fork(name: String) -> Result<Memory, MemoryError>", "M-6.16", "An independent copy as a branch."),
    ("branch(name: String) -> Result<Memory, MemoryError>", "M-6.17", "The branch of that name."),
    ("branches() -> Array<String>", "M-6.17", "The names of the branches."),
    ("rewind(turn: Int) -> Result<Int, MemoryError>", "M-6.18", "Removes the turns above this one; how many."),
    ("dump() -> String", "M-6.19", "Everything as text."),
    ("load(text: String) -> Result<Nil, MemoryError>", "M-6.19", "Replaces everything by what a dump holds."),
    (
        "erase(seqs: Array<Int>? = nil, run: String? = nil) -> Result<Int, MemoryError>", "M-6.20",
        "Removes messages without trace, by default all; how many.",
    ),
    (
        "remember(name: String, content: Any, confidence: Float = 1.0, tier: String? = nil, about: Array<String>? = nil,"
        " from: Array<Int>? = nil) -> Nil", "M-10.5", "Keeps a fact under a name of its tier, in place of an earlier one.",
    ),
    (
        "recall(query: String, k: Int = 10, from: Array<String>? = nil, min_confidence: Float = 0.0, archived: Bool = false,"
        " touch: Bool = true) -> Array<Fact>", "M-10.6", "The facts that fit the query best.",
    ),
    ("fact(name: String) -> Option<Fact>", "M-10.7", "The fact of that name."),
    ("confirm(name: String) -> Bool", "M-10.7", "Holds for as sure as when it was remembered; false when it is not there."),
    ("forget(name: String) -> Result<Bool, MemoryError>", "M-10.7", "Removes the facts of that name; whether there were any."),
    ("relate(a: String, relation: String, b: String) -> Nil", "M-10.7", "Remembers that two things are related."),
    ("observe(topic: String, data: Map<String, Any>) -> Nil", "M-10.7", "Tells the rules of `learn` what happened."),
    (
        "neighbors(entity: String, relation: String? = nil, direction: String? = nil) -> Array<(String, Int)>", "M-10.7",
        "What shares facts with it, or is related to it, and how many.",
    ),
):  # fmt: skip
    handle(MEMORY, _text, clause=_clause, doc=_doc, by_site=True)(_by_name)


# ---------------------------------------------------------------- memories with `.per(values: Any...)`


def _of_key(machine: MachineContext, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """Call a method at the values of key parts; return as `memory_use`. The arguments are named like the parts in the
    declaration; P015 for others."""
    unknown = [name for name in site.names if name not in memory.names]
    if len(site.names) < len(arguments) or unknown:
        raise Panic("P015", f"{site.name} of {memory.name} takes {', '.join(memory.names)}, each by its name")
    values = dict(zip(site.names, arguments, strict=True))
    memories = machine.memories
    look()
    try:
        return memories.keyed_at_once(memory, site.name, values, task)
    except memories.must_wait:
        machine.suspend(task, "memory", MemoryUse(memory, site.name, [values]))
        return SUSPENDED


for _text, _doc in (
    ("key(parts: Any) -> Memory", "The memory of these values of the key parts."),
    ("keys() -> Array<Map<String, Any>>", "The keys that were written."),
    (
        "erase(parts: Any) -> Result<Int, MemoryError>",
        "Erases every key with these values; how many entries there were.",
    ),
):
    handle(KEYED, _text, clause="M-7.3", doc=_doc, by_site=True)(_of_key)


# ---------------------------------------------------------------- what the code of declarations calls


@hidden(KEYED, "append(role: String, content: String) -> Nil")
def initial_message(machine: MachineContext, task: Task, memory: KeyedRef, role: str, content: str) -> None:
    """Take a message of an initialisation statement, for every key (M-2.10)."""
    if role not in ROLES:
        raise _unknown_role(role)
    machine.memories.initial(memory.name, role, content, pinned=False)


@hidden(KEYED, "pin(role: String, content: String) -> Nil")
def initial_pin(machine: MachineContext, task: Task, memory: KeyedRef, role: str, content: str) -> None:
    """Take a pinned message of an initialisation statement, for every key (M-2.10)."""
    if role not in ROLES:
        raise _unknown_role(role)
    machine.memories.initial(memory.name, role, content, pinned=True)


@hidden(KEYED, "remember(values: Any...) -> Nil", by_site=True)
def initial_fact(machine: MachineContext, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> None:
    """Take `remember` of an initialisation statement, for every key (M-2.10). Raises as `remember` of a memory does for its
    arguments: P007 and P015."""
    machine.memories.initial_fact(memory.name, _checked(site, arguments))


@hidden((MEMORY, KEYED), f"{COMPUTED}(values: Any...) -> Map<String, Any>", by_site=True)
def computed_bounds(machine: MachineContext, task: Task, memory: MemoryRef | KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """Return the bounds that the beginning of the program computes (M-2.14). Raises P014 or P452 when they may not be set."""
    return from_json(machine.memories.bounds(memory.name, _bounds_of(site, arguments)))


@hidden(KEYED, f"{VALUE}(values: Any...) -> Memory", by_site=True)
def memory_value(machine: MachineContext, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """Return a new memory (M-2.19); the argument before its bounds: the messages it begins with, or nil (M-2.20). Raises P007
    when these are no Messages, P015 for another number of arguments, P014 or P452 for bounds or messages that it may not have."""
    if len(arguments) != 1 + len(site.names):
        raise Panic("P015", "a memory value is made from messages, or nil, and its bounds")
    first = arguments[0]
    begun = None if first is None else [expect(one, Message, "Message") for one in expect(first, Array, "Array").items]
    return machine.memories.memory_value(memory.name, _bounds_of(site, arguments), begun)


def _bounds_of(site: Site, arguments: list[Any]) -> dict[str, Any]:
    return dict(zip(site.names, arguments[len(arguments) - len(site.names) :], strict=True))


# ---------------------------------------------------------------- failures and messages


def _unknown_role(role: str) -> Panic:
    return Panic("P408", f'unknown message role "{role}": expected system, user or assistant')


def memory_failure(failure: Any) -> Panic:
    """Return the panic for a failure of the store, an exception with a `panic_code`, in a method without Result (M-6.22)."""
    return Panic(failure.panic_code, str(failure))


def message_array(stored: Sequence[StoredMessage]) -> Array:
    """Return the messages, in their order, as values of the program: copies, so that changing them changes no memory (M-6.24).
    Raises what ends the run, and as `from_json` for the arguments of their tool calls: ValueError for a number beyond Float, P103
    for more nesting than the limit."""
    works_on(len(stored))
    return Array([_message(message) for message in paced(stored, FEW)])


def _message(message: StoredMessage) -> Any:
    calls = [ToolCall(call.id, call.name, from_json(call.arguments or {})) for call in message.calls]
    media = [Media.holding(part.content, part.name) for part in message.media]
    return Message(message.role, message.content, Array(calls), message.call_id, Array(media))
