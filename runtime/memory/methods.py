"""The direct methods of a memory with values of the machine (M-6.2 to M-6.20); loaded when a program first calls one that
needs it.

Hands on `perform`, `perform_keyed` and `WRITES` to `memories.Memories`; `of_failure` and `viewed` to the performer of memories;
and `message_of` to what takes messages from the program (`memories.py`, `effects/memory_callbacks.py`,
`effects/step_machine.py`). `METHODS` has a function for each method: it takes the handle, the memory, and then the checked
arguments, and returns a value of the machine. A new method gets its row in `vm/builtins/memories.py` and its function here;
methods of facts are in `fact_methods.py`.

Here values of the machine only become those of a memory, and back. What a method does to a log is in `memory.py`, and turn locks
are taken before (`memories.py`). A *derived view* shows the log of a memory through steps of its own; a *keyed memory* has one
log for each value of its key.
"""

from __future__ import annotations

from ...vm.builtins.memories import message_array
from ...vm.panics import Panic
from ...vm.values import Array, Entry, KeyedRef, MemoryRef, Ok, Turn, from_json
from ...vm.values.metering import FEW, paced, works_on
from ..media import Unsent, media_parts
from ..records import Call, Msg, failed, json_form
from .entries import count_text
from .failures import FixedSlot, InvalidValue, MemoryFailure, invalid_unit, nested
from .keyed_memory import DerivedMemory
from .keys import key_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from . import entries as stored
    from .memory import Memory
    from .views import Recalled, View


RESULTS = frozenset(("append_all", "fork", "branch", "rewind", "load", "erase", "forget"))
"""Methods that return a Result; a failure of any other method panics (M-6.22)."""
WRITES = frozenset(("append", "append_all", "pin", "set_pinned", "clear", "rewind", "load", "erase"))
"""Methods that join the turn around them, or are refused there (M-5.20)."""


def perform(
    ref: MemoryRef, opened: Callable[[], tuple[Any, bool]], method: str, arguments: Sequence[Any], task: Any
) -> Any:
    """Return the value of a method, as a Result where it has one. `opened` returns the memory, and whether it is a derived view,
    which has few methods (M-6.21): P014 for any other. `arguments` are checked, and `task` is the path of the task. Panics with
    P452 or P453 for an invalid value, P103 for arguments of calls beyond the limits of JSON, and for a failure of the memory as
    `of_failure` (M-6.22). Panics of the functions of its steps and MustWait of a store pass through."""
    try:
        memory, is_view = opened()
        if is_view and method not in OF_A_VIEW and method != "recall":
            raise Panic("P014", f"the derived view {ref.name} has no method {method}")
        if method in METHODS:
            value = (OF_A_VIEW if is_view else METHODS)[method](ref, memory, *arguments)
        else:
            value = _of_facts(memory, is_view, task, method, arguments)
    except FixedSlot as error:
        raise Panic("P453", str(error)) from None
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        return of_failure(method, failure)
    return Ok(value) if method in RESULTS else value


def of_failure(method: str, failure: MemoryFailure) -> Any:
    """Return the Err of a method that returns a Result; for any other one panic with P451, or P452 for a bound (M-6.22,
    M-6.33)."""
    if method in RESULTS:
        return failed(failure)
    raise Panic(failure.panic_code, failure.message) from None


def _of_facts(memory: Any, is_view: bool, task: Any, method: str, arguments: Sequence[Any]) -> Any:
    """Return the value of a method of facts. A derived view has the facts of its memory, and the messages that it shows."""
    from .fact_methods import FACT_METHODS
    from .remembering import Facts

    facts = Facts(memory.memory, task, said=lambda: memory.view().entries) if is_view else Facts(memory, task)
    return FACT_METHODS[method](facts, *arguments)


def perform_keyed(
    ref: KeyedRef, opened: Callable[[], Any], method: str, values: dict[str, Any], within: Callable[[], bool]
) -> Any:
    """Return the value of a method of a keyed memory (M-7.3): of `key` the handle of the memory at that key, of `keys` an Array
    of the stored keys as Maps, of `erase` the number of removed entries as a Result. `values` are the parts of the key by name,
    for `erase` some of them. `opened` returns the keyed memory. `within`: whether the task runs inside a turn on one of these
    keys, where `erase` is refused ("Nested"). Panics with P452 for an invalid value; a failure of the memory is an Err of
    `erase`, and panic P451 of the others. MustWait of a store passes through."""
    try:
        if method == "key":
            return MemoryRef(ref.name, "", key_values(ref.names, values))
        memory = opened()
        if method == "keys":
            keys = memory.keys()
            return Array([from_json(key) for key in keys])
        if within():
            raise nested()
        return Ok(memory.erase(**values))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        if method == "erase":
            return failed(failure)
        raise Panic("P451", failure.message) from None


def message_of(value: Any) -> Msg:
    """Return the message of a `Message` value; its role is not checked. Raises MemoryFailure("InvalidUnit") for a Media without
    content, and panic P103 for arguments of a call beyond the limits of JSON."""
    role, content, calls, call_id, media = value.values()
    tool_calls = []
    for call in calls.items:
        name, arguments = call.f1, json_form(call.f2)
        tool_calls.append(Call(call.f0, name, arguments, ""))
    try:
        return Msg(role, content, tuple(tool_calls), call_id, media=media_parts(media.items))
    except Unsent as unsent:
        raise invalid_unit(str(unsent)) from None


def _entry(entry: stored.Entry) -> Any:
    *values, media = message_array([entry.message]).items[0].values()
    stored_as = (entry.seq, entry.turn, entry.run, entry.by, entry.origin, entry.pinned, entry.tokens, entry.at)
    return Entry.of((*values, *stored_as, media))


def _turn(turn: stored.Turn, entries: Sequence[stored.Entry]) -> Any:
    messages = message_array([entry.message for entry in entries])
    meta = from_json(turn.meta)
    return Turn.of((turn.turn, turn.run, turn.by, turn.at, turn.tokens_in, turn.tokens_out, meta, messages))


def _to_map(ref: MemoryRef, memory: Memory) -> Any:
    """Return the log as plain data, from which JSON is made (M-6.32)."""
    messages = memory.messages()
    works_on(len(messages))
    maps = [_as_map(message) for message in paced(messages, FEW)]
    return from_json({"limits": memory.policy.limits(), "count": len(maps), "messages": maps})


def _as_map(message: Msg) -> dict[str, Any]:
    """Return the fields of a Message that are not at their defaults (M-6)."""
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        fields["tool_calls"] = [{"id": call.id, "name": call.name, "arguments": call.arguments or {}} for call in message.calls]
    if message.call_id is not None:
        fields["tool_call_id"] = message.call_id
    if message.media:
        fields["media"] = [part.as_json() for part in message.media]
    return fields


def _append(ref: MemoryRef, memory: Memory, role: str, content: str) -> None:
    memory.append(role, content)


def _append_all(ref: MemoryRef, memory: Memory, messages: Array) -> int:
    works_on(len(messages.items))
    return memory.append_all([message_of(message) for message in paced(messages.items, FEW)])


def _pin(ref: MemoryRef, memory: Memory, role: str, content: str) -> None:
    memory.pin(role, content)


def _entries(ref: MemoryRef, memory: Memory, after: int, limit: int | None) -> Array:
    entries = memory.entries(after, limit)
    works_on(len(entries))
    return Array([_entry(entry) for entry in paced(entries, FEW)])


def _turns(ref: MemoryRef, memory: Memory, last: int | None) -> Array:
    turns = memory.turns(last)
    works_on(sum(len(entries) for _, entries in turns))
    return Array([_turn(turn, entries) for turn, entries in paced(turns, FEW)])


def viewed(memory: Any, prompt: str) -> View:
    """Return the view of a memory, or of a derived one: what a request with that prompt would show of its log, with what its
    step `recall` finds. Nothing is changed. Raises MemoryFailure where the log cannot be read, and as `Memory.view`; lets
    MustWait, and panics of the functions in the memory's steps, through."""
    if isinstance(memory, DerivedMemory):
        recalled = _recalled(memory.memory, memory.view_name, prompt)
        return memory.view(count_text(prompt), recalled)
    recalled = _recalled(memory, "", prompt)
    view: View = memory.view(prompt_tokens=count_text(prompt), recalled=recalled)[0]
    return view


def _view(ref: MemoryRef, memory: Any, prompt: str) -> Array:
    return message_array(viewed(memory, prompt).messages(prompt))


def _recalled(memory: Memory, view: str, prompt: str) -> Recalled | None:
    """Return what the step `recall` finds. Ephemeral facts belong to the task of a run; `view` is called by none, so
    there are no ephemeral facts in it."""
    if memory.views[view].recall is None:
        return None
    from .remembering import recalled_for
    from .turns import Attached

    return recalled_for(Attached(memory, view), prompt, None)


def _fork(ref: MemoryRef, memory: Memory, name: str) -> MemoryRef:
    memory.fork(name)
    if ref.life is not None:
        ref.life.branches.add(name)
    return ref.at_branch(name)


def _branch(ref: MemoryRef, memory: Memory, name: str) -> MemoryRef:
    memory.branch(name)
    return ref.at_branch(name)


def _load(ref: MemoryRef, memory: Memory, text: str) -> None:
    memory.load(text)


def _erase(ref: MemoryRef, memory: Memory, seqs: Array | None, run: str | None) -> int:
    return memory.erase(None if seqs is None else seqs.items, run)


METHODS: dict[str, Any] = {
    "append": _append,
    "clear": lambda ref, memory: memory.clear(),
    "messages": lambda ref, memory: message_array(memory.messages()),
    "last": lambda ref, memory, n: message_array(memory.last(n)),
    "len": lambda ref, memory: len(memory),
    "is_empty": lambda ref, memory: len(memory) == 0,
    "append_all": _append_all,
    "pin": _pin,
    "set_pinned": lambda ref, memory, seq, on: memory.set_pinned(seq, on),
    "entries": _entries,
    "turns": _turns,
    "appended": lambda ref, memory, run: message_array(memory.appended(run)),
    "view": _view,
    "summary": lambda ref, memory: memory.summary(),
    "tokens": lambda ref, memory: memory.tokens(),
    "version": lambda ref, memory: memory.version(),
    "stats": lambda ref, memory: from_json(memory.stats()),
    "to_map": _to_map,
    "fork": _fork,
    "branch": _branch,
    "branches": lambda ref, memory: Array(memory.branches()),
    "rewind": lambda ref, memory, turn: memory.rewind(turn),
    "dump": lambda ref, memory: memory.dump(),
    "load": _load,
    "erase": _erase,
}
SHARED = ("messages", "last", "len", "is_empty", "summary", "tokens")  # methods whose functions serve a derived view too
OF_A_VIEW: dict[str, Any] = {"view": _view, **{name: METHODS[name] for name in SHARED}}
