"""A machine between two steps as bytes, and another machine from them (G-13.7, V-5.8): tasks with their frames, who waits for
whom, the heap, stores.

Hands on to `runtime/session/state.py` `write_run`, `read_run` and `own_part` for runs that are resumed, with `HostRecords`, what
the host has of the machine; and `lower_stores`, `read_stores` and `RestoredStores.replace` for the state of a session. Bytes that
do not fit raise SnapshotError and no other error (of `read_run` also what `host.check` raises): the functions here that read a
part may also raise one of `reader.WRONG`, which these turn into SnapshotError. Memories are written by
`runtime/session/state.py`, not here; no file is read or written, and no instruction run. A form is plain data that stands for a
value or a part of the machine: the writer `w` gives it, the reader `r` takes it. The host is the program around the machine,
which performs its effects.
"""

from __future__ import annotations

from heapq import heapify

from ..bytecode.image import K_CONFIG
from ..bytecode.opcodes import OPCODES
from ..generated.loop import NUMBERS
from ..interp.effects import Effect
from ..interp.scheduler import AllEnded, Await, Each, First, HostCall, JoinAll
from ..interp.stores import Ledger, Stores
from ..interp.tasks import DONE, READY, WAITING, Task
from ..panics import Panic
from ..values import Closure, HashMapRef, key_of, unkey
from .envelope import SnapshotError, fits, misshapen, unseal
from .kinds import is_iterator, lower_iterator, lower_payload, read_iterator, read_payload, same_form
from .reader import WRONG, Reader
from .writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..interp.link import Program
    from ..interp.linked import Code
    from ..interp.machine import Machine
    from ..interp.scheduler import Wait
    from ..interp.stores import HashStore
    from ..values import MemoryRef, Stream
    from .envelope import Heads, Secrets


# ----------------------------------------------------------------
# The frames and the operand stack of one task (G-13.7, G-13.9): each frame stands at a suspension point of its function, and
# the stack holds what the verifier's stack map says for it.
#
# A frame names its function by number and hash, and the instruction it goes on with by its place.

CALLS = frozenset({"CALL", "CALL_VALUE", "CALL_METHOD", "CALL_INOUT"})  # what a frame waits in for another one
_BEGIN = NUMBERS["LINK"]
NOT_BEGUN = -1


def lower_frames(w: Writer, task: Task) -> list[Any]:
    """Return two lists: the rows of a task's frames, outermost first, and the forms of what is on its operand stack, deepest
    first. Raises SnapshotError V008 for a frame at no suspension point and for a value that no snapshot can hold."""
    ins, locs, cells, code, top = task.state
    frames = [*task.frames[1:], (ins, locs, cells, code)]
    stack = [*task.stack, top][1:]  # the first entry is no value: what the top register held when the stack was empty
    return [[_frame(w, *frame) for frame in frames], [_entry(w, value) for value in stack]]


def _entry(w: Writer, value: Any) -> Any:
    return lower_iterator(w, value) if is_iterator(value) else w.put(value)


def _frame(w: Writer, ins: Any, locs: list[Any], cells: list[Any], code: Code) -> list[Any]:
    at = NOT_BEGUN if ins[0] == _BEGIN else _place(code, ins)
    function = w.function(code)
    own = [None if cell is None else w.cell(cell) for cell in cells]
    return [function, w.program.image.functions[function].hash, at, [w.put(value) for value in locs], own]


def _place(code: Code, ins: Any) -> int:
    index = code.index_of(ins)
    if index is None:
        raise SnapshotError("V008", f"a frame of {code.label} stands at no suspension point; run the machine to one first")
    return index


# ---------------------------------------------------------------- reading


def read_frames(r: Reader, task: Task, rows: Any, stack: Any) -> None:
    """Set the frames and the operand stack of a task, whose `code` and `status` are set. Raises SnapshotError unless each frame
    stands at a suspension point of its function and the stack has the depth and kinds that the verifier has computed there."""
    program = r.program
    frames = [_read_frame(r, *row) for row in r.list(rows)]
    iterators: list[bool] = []
    for code, at, _, _ in frames[:-1]:
        iterators += _kinds(r, code, at, CALLS, True)
    code, at, locs, cells = frames[-1]
    if at == NOT_BEGUN:
        if len(frames) > 1 or task.status == WAITING:
            raise misshapen("a task that waits before it has begun")
        ins = program.begin(code)
    else:
        iterators += _kinds(r, code, at, None, task.status == WAITING)
        ins = code.nodes[at]
    if len(r.list(stack)) != len(iterators):
        raise misshapen("a stack of another depth than its frames have")
    values = [read_iterator(r, form) if walk else r.value(form) for form, walk in zip(stack, iterators, strict=True)]
    whole = [None, *values]
    task.stack, top = whole[:-1], whole[-1]
    task.frames = [(program.halt, None, None, None), *((code.nodes[at], ls, cs, code) for code, at, ls, cs in frames[:-1])]
    task.state = (ins, locs, cells, code, top)
    if code is not task.code and len(frames) == 1:
        raise misshapen("a task that runs another function than its own")


def _read_frame(r: Reader, number: Any, digest: Any, at: Any, locs: Any, cells: Any) -> tuple[Code, int, list[Any], list[Any]]:
    code = r.function(number)
    function = r.program.image.functions[code.number]
    if digest != function.hash:
        raise misshapen(f"a frame of another {code.label} than that of the image")
    if type(at) is not int or at < NOT_BEGUN or len(r.list(locs)) != function.slots or len(r.list(cells)) != code.cell_count:
        raise misshapen(f"a frame that {code.label} has not")
    if at != NOT_BEGUN:
        r.program.link(code)
    return code, at, r.values(locs), [None if cell is None else r.cell(cell) for cell in cells]


def _kinds(r: Reader, code: Code, at: int, calls: frozenset[str] | None, awaits: bool) -> list[bool]:
    """Return which entries of a frame's part of the stack are iterators. `calls`: the opcodes that may stand before, None for any
    that suspends; `awaits`: the result of that instruction is not on the stack yet."""
    facts = r.program.verified.functions[code.number]
    before = OPCODES[facts.instructions[at - 1][1]] if 0 < at < len(facts.instructions) else None
    if before is None or (before.flow != "suspend" if calls is None else before.name not in calls):
        raise misshapen(f"a frame of {code.label} that stands at no suspension point")
    if awaits and len(before.pushes) != 1 or facts.depths[at] < 0:
        raise misshapen(f"a frame of {code.label} that waits where nothing is awaited")
    return [bool(facts.iterators[at] >> position & 1) for position in range(facts.depths[at] - awaits)]


# ----------------------------------------------------------------
# Hashmaps, ledgers and configured fields of a machine as parts of a snapshot (G-13.7: state).
#
# In the state of a session a hashmap with a file keeps its entries there: only its watchers are written. `read_stores` checks
# everything first, so that `replace` cannot fail half-way.


def lower_stores(w: Writer, machine: Machine, with_files: bool) -> list[Any]:
    """Return the forms of configured fields, hashmaps and ledgers, in three lists. `with_files`: entries of hashmaps with a file
    too, which a run that is resumed goes on with. Raises SnapshotError for a value that no snapshot can hold."""
    configured = [[list(target), w.put(value)] for target, value in machine.configured.items()]
    stores = machine.stores
    hashmaps = [[name, _entries(w, store, with_files), _watchers(w, store)] for name, store in stores.hashmaps.items()]
    ledgers = [[name, list(map(w.clean, scope)), _records(w, ledger)] for (name, scope), ledger in stores.ledgers.items()]
    return [configured, hashmaps, ledgers]


def _entries(w: Writer, store: HashStore, with_files: bool) -> list[Any] | None:
    if store.path is not None and not with_files:
        return None
    return [part for key, value in store.items.items() for part in (w.put(unkey(key)), w.put(value))]


def _watchers(w: Writer, store: HashStore) -> list[Any]:
    """Return the watchers' rows. The key is an empty list for every key, else a list of one: nil could not be told from none."""
    return [
        [w.clean(prefix), [] if key is None else [w.put(unkey(key))], w.put(closure)] for prefix, key, closure in store.watchers
    ]


def _records(w: Writer, ledger: Ledger) -> list[Any]:
    return [[w.put(name), [w.put(key) for key in keys], w.put(value)] for name, (keys, value) in ledger.entries.items()]


class RestoredStores:
    """Stores and configured fields (as `Machine.configured`) of a snapshot, complete and checked; `files`: the hashmaps that the
    host has to read anew."""

    __slots__ = ("stores", "configured", "files")

    def __init__(self, stores: Stores, configured: dict[tuple[str, int, str], Any]) -> None:
        self.stores = stores
        self.configured = configured
        self.files = [HashMapRef(name) for name, store in stores.hashmaps.items() if store.path is not None]

    def replace(self, machine: Machine) -> None:
        """Put them into the machine, in place of its own. Raises nothing."""
        machine.stores = self.stores
        machine.configured = self.configured


def read_stores(r: Reader, part: Any, with_files: bool) -> RestoredStores:
    """Return the stores of a snapshot, for the program of `r`; `with_files`: as in `lower_stores`. Raises SnapshotError unless
    names, types and limits are those of the program."""
    try:
        configured, hashmaps, ledgers = part
        stores = Stores(r.program)
        _fill_hashmaps(r, stores, hashmaps, with_files)
        for row in ledgers:
            _fill_ledger(r, stores, *row)
        return RestoredStores(stores, _configured(r, configured))
    except WRONG:
        raise misshapen("the stores are malformed") from None


def _configured(r: Reader, rows: Any) -> dict[tuple[str, int, str], Any]:
    fields = {tuple(value) for kind, value in r.program.image.constants if kind == K_CONFIG}
    fields_by_target: dict[Any, Any] = {}
    for target, value in rows:
        if tuple(target) not in fields or tuple(target) in fields_by_target:
            raise misshapen("a field that the program does not configure")
        fields_by_target[tuple(target)] = r.value(value)
    return fields_by_target


def _fill_hashmaps(r: Reader, stores: Stores, rows: Any, with_files: bool) -> None:
    if [row[0] for row in rows] != list(stores.hashmaps):
        raise misshapen("other hashmaps than those of the program")
    for name, entries, watchers in rows:
        store = stores.hashmaps[name]
        if (entries is None) is with_files if store.path is not None else entries is None:
            raise misshapen(f"entries that the hashmap {name} keeps elsewhere")
        values = r.values(entries or [])
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not (fits(key, store.key_type) and fits(value, store.value_type)):
                raise misshapen(f"an entry that does not fit the hashmap {name}")
            store.items[key_of(key)] = value
        if len(store.items) * 2 != len(values):
            raise misshapen(f"the hashmap {name} holds one key twice")
        store.watchers = [_watcher(r, *row) for row in r.list(watchers)]


def _watcher(r: Reader, prefix: Any, key: Any, closure: Any) -> tuple[str, Any, Closure]:
    function = r.value(closure)
    keys = [key_of(each) for each in r.values(key)]
    if type(function) is not Closure or len(keys) > 1 or function.function.argc != (2 if keys else 3):
        raise misshapen("a watcher that is no function of a key's changes")
    return r.text(prefix), keys[0] if keys else None, function


def _fill_ledger(r: Reader, stores: Stores, name: Any, scope: Any, records: Any) -> None:
    at = (r.text(name), tuple(map(r.text, r.list(scope))))
    if name not in stores.ledger_names or at in stores.ledgers:
        raise misshapen(f"a ledger {name} that the program has not")
    ledger = stores.ledgers[at] = Ledger(name)
    for identifier, keys, value in records:
        ledger.put(r.text(r.value(identifier)), list(map(r.text, r.values(keys))), r.text(r.value(value)))
    if len(ledger.entries) != len(records):
        raise misshapen(f"the ledger {name} holds one identifier twice")


# ----------------------------------------------------------------
# What a task waits for inside the machine, and who waits for its end, as parts of a snapshot.
#
# Waits that were answered meanwhile are left out: the end of what they watch tells them nothing.

KINDS: tuple[type[Wait], ...] = (Await, JoinAll, First, Each, AllEnded)
BY_HOST = None  # a watcher that is no wait of a task


def lower_wait(w: Writer, wait: Any) -> list[Any] | None:
    """Return the form of what a task waits for inside the machine, None for nothing. Raises SnapshotError for a value that no
    snapshot can hold."""
    if wait is None:
        return None
    kind = KINDS.index(type(wait))
    if type(wait) is Await:
        return [kind]
    if type(wait) is AllEnded:
        return [kind, w.put(wait.value), wait.pending]
    if type(wait) is Each:
        cells = [None if cell is None else w.cell(cell) for cell in wait.captured]
        places = [[w.task(task), place] for task, place in wait.places.items()]
        results = [w.put(value) for value in wait.results]
        return [kind, w.function(wait.code), cells, lower_iterator(w, wait.elements), wait.limit, results, places]
    operands = list(map(w.task, wait.operands))
    return [kind, operands, wait.pending] if type(wait) is JoinAll else [kind, operands]


def lower_watchers(w: Writer, task: Task) -> list[Any]:
    """Return the forms of a task's watchers: numbers of the tasks that wait, BY_HOST for calls of the host."""
    watchers = [one for one in task.watchers if type(one) is HostCall or one.task.wait is one]
    return [BY_HOST if type(one) is HostCall else w.task(one.task) for one in watchers]


def read_wait(r: Reader, task: Task, form: Any) -> Wait | None:
    """Return the wait of `task` that a form describes, None for nothing. `read_watchers` sets the tasks that it watches. Raises
    SnapshotError, or one of WRONG, for another form."""
    if form is None:
        return None
    kind, *parts = r.list(form)
    cls = KINDS[r.index(kind)]
    if cls is Await:
        () = parts
        return Await(task)
    if cls is AllEnded:
        value, pending = parts
        return AllEnded(task, r.value(value), r.index(pending))
    if cls is Each:
        return _read_each(r, task, *parts)
    operands = list(map(r.task, parts[0]))
    if cls is First:
        (_,) = parts
        return First(task, operands)
    _, pending = parts
    return JoinAll(task, operands, r.index(pending))


def _read_each(r: Reader, task: Task, function: Any, cells: Any, elements: Any, limit: Any, results: Any, places: Any) -> Each:
    code = r.function(function)
    captured = [None if cell is None else r.cell(cell) for cell in r.list(cells)]
    each = Each(task, read_iterator(r, elements), r.index(limit), code, captured)
    each.results = r.values(results)
    each.places = {r.task(number): r.index(place) for number, place in places}
    if len(captured) != code.cell_count or code.argc != 1 or any(place >= len(each.results) for place in each.places.values()):
        raise misshapen("a parallel loop that the image has not")
    return each


def _check_wait(wait: Wait, watched: list[Task]) -> None:
    """Refuse a wait that would end too early, never, or with tasks that it is not about: what it watches are those of its
    operands that have not ended, each as often as it is one, or children of its task."""
    numbers = sorted(task.number for task in watched)
    fitting = bool(watched)
    if isinstance(wait, Await):
        fitting = len(watched) == 1
    elif isinstance(wait, JoinAll | First):
        fitting = fitting and numbers == sorted(operand.number for operand in wait.operands if operand.status is not DONE)
        pending = wait.pending if isinstance(wait, JoinAll) else len(wait.operands)
        fitting = fitting and pending == len(watched)
    elif isinstance(wait, AllEnded | Each):
        pending = wait.pending if isinstance(wait, AllEnded) else len(wait.places)
        fitting = fitting and pending == len(set(watched)) == len(watched) and all(one.parent is wait.task for one in watched)
    if isinstance(wait, Each):
        fitting = fitting and set(watched) == set(wait.places) and len(set(wait.places.values())) == len(wait.places)
    if not fitting:
        raise misshapen("a task that waits for tasks that do not run, or for others than it is about")


def read_watchers(
    r: Reader, alive: list[Task], forms: dict[Task, Any], calls: dict[str, HostCall]
) -> list[tuple[HostCall, Task]]:
    """Set the watchers of the tasks `alive`, once all tasks exist; `forms` has their forms. `calls`: the calls of the host by the
    path of their task; they come back with the new tasks that they belong to. Raises SnapshotError where a task waits for others
    than its wait is about, or for nothing."""
    called: list[tuple[HostCall, Task]] = []
    watched: dict[int, list[Task]] = {}
    for task in alive:
        for form in r.list(forms[task]):
            if form is BY_HOST:
                if called and called[-1][1] is task:
                    raise misshapen("a task that the host runs twice")
                called.append((calls[task.path], task))
                task.watchers.append(calls[task.path])
            elif r.task(form).wait is None:
                raise misshapen("a task that waits for another's end and for nothing")
            else:
                wait = r.task(form).wait
                task.watchers.append(wait)
                watched.setdefault(id(wait), []).append(task)
    for task in alive:
        if task.wait is not None:
            _check_wait(task.wait, watched.get(id(task.wait), []))
        host_calls = sum(1 for child in task.children if any(type(one) is HostCall for one in child.watchers))
        if task.calls != host_calls or (host_calls and task.effect is None):
            raise misshapen("a task that the host runs for nothing")
    return called


# ----------------------------------------------------------------
# A machine between two steps as bytes, and another machine from them (G-13.7, V-5.8): tasks with their frames, the heap,
# stores, configured fields, budgets.
#
# What the host performs goes on with the new machine: it keeps its records of effects and of what it runs, and their tasks are
# those of the new one.

if TYPE_CHECKING:
    Check = Callable[[Any, list[tuple[MemoryRef, int]]], object]

WHAT = "snapshot of a run"


class HostRecords:
    """What the host has of a machine. `effects`: those that it performs, by key; tasks await some of them (`awaited`: their
    keys), others have replies on their way or are to be closed. `calls`: what it runs, by the path of the task. `host_values`:
    values outside of the machine that may share storage with those inside. `check` gets the part of the host itself, and the
    handles of memories with their versions, before these records change; it raises what speaks against the read."""

    def __init__(self, machine: Machine, host_values: list[Any], check: Check) -> None:
        self.host_values = host_values
        self.check = check
        tasks = [task for root in machine.roots for task in root.subtree()]
        awaited = [task.effect for task in tasks if task.effect is not None]
        self.awaited = {effect.key for effect in awaited}
        streamed = [effect for task in tasks for effect in task.streams]
        self.effects: dict[str, Effect] = {effect.key: effect for effect in (*awaited, *streamed, *machine.closed)}
        self.calls = {task.path: call for task in tasks for call in task.watchers if type(call) is HostCall}


# ---------------------------------------------------------------- writing


class RunWriter(Writer):
    """A writer that also takes tasks that run and replies on their way."""

    def stream_key(self, stream: Stream) -> str:
        """Return the key of the effect that began a reply which has not ended."""
        key: str = stream.effect.key
        return key

    def task_row(self, task: Task) -> list[Any]:
        """Return the row of a task: of one that has ended as a `Writer` makes it, else twelve fields, which `RunReader.end_task`
        reads. Raises SnapshotError V008 as `lower_frames`."""
        if task.status is DONE:
            return super().task_row(task)
        fault = None if task.fault is None else [task.fault.code, self.put(task.fault.message)]
        parent = None if task.parent is None else self.task(task.parent)
        effect = None if task.effect is None else _effect(self, task.effect)
        flags = [task.status is WAITING, task.working, task.doomed]
        numbers = [task.number, task.depth, task.counter, task.born, task.calls]
        streams = [stream.key for stream in task.streams]
        return [
            task.path, self.function(task.code), parent, flags, numbers, *lower_frames(self, task), fault, effect,
            lower_wait(self, task.wait), lower_watchers(self, task), streams,
        ]  # fmt: skip


def _effect(w: Writer, effect: Effect) -> list[Any]:
    return [effect.key, effect.kind, lower_payload(w, effect.payload)]


def write_run(machine: Machine, host_values: list[Any], secrets: Secrets, head: Heads, own: Any) -> bytes:
    """Return the bytes of a run. `host_values`: as in `HostRecords`; `own`: plain data of the host itself. The machine stays as
    it is. Raises SnapshotError V008 when the run holds a value that no snapshot can hold or a task stands at no suspension point,
    V001 when the bytes are too many; and ImageError as `identity_of`."""
    w = RunWriter(machine.program, secrets, head)
    for root in machine.roots:
        for task in root.subtree():
            w.task(task)
    current = None if machine.current is None else w.task(machine.current)
    numbers = [machine.used, machine.created, machine.root_count]
    closed = [effect.key for effect in machine.closed]
    state = lower_stores(w, machine, True)
    return w.sealed(WHAT, [numbers, current, closed, state, [w.put(value) for value in host_values], own])


# ---------------------------------------------------------------- reading


def own_part(program: Program, data: bytes) -> Any:
    """Return the plain data of the host (`own`) from a snapshot, without reading the run. Raises SnapshotError, V001 to V008."""
    try:
        return unseal(data, WHAT, program)[3][-1]
    except WRONG:
        raise misshapen(f"the {WHAT} is malformed") from None


class RunReader(Reader):
    """A reader that also takes tasks that run and replies on their way. `host`: what the host performs; `adopted`: its effects
    with the tasks and payloads that they get; `watchers`: the forms of watchers of each task that has not ended."""

    holes = True  # while functions of the program give defaults to what `json::parse_as` made

    def __init__(self, program: Program, data: bytes, host: HostRecords, secrets: Secrets) -> None:
        self.host = host
        self.adopted: list[tuple[Effect, Task, Any]] = []
        self.watchers: dict[Task, Any] = {}
        super().__init__(program, data, WHAT, secrets)

    def stream_effect(self, key: Any) -> Effect:
        """Return the effect that began a reply which has not ended. Raises as `effect`."""
        return self.effect(key)

    def effect(self, key: Any) -> Effect:
        """Return the host's effect of this key. Raises SnapshotError for one that the host does not perform."""
        effect = self.host.effects.get(self.text(key))
        if effect is None:
            raise misshapen(f"an effect {key} that the host does not perform")
        return effect

    def end_task(self, task: Task, *row: Any) -> None:
        """Set in a task what its row says. Raises SnapshotError, or one of WRONG, for a row that no task has."""
        if len(row) == 3:
            return super().end_task(task, *row)
        path, function, parent, flags, numbers, frames, stack, fault, effect, wait, watchers, streams = row
        waits, task.working, task.doomed = map(self.flag, flags)
        task.path = self.text(path)
        task.code = self.function(function)
        task.status = WAITING if waits else READY
        task.number, task.depth, task.counter, task.born, task.calls = map(self.index, numbers)
        if parent is not None:
            self._put_below(task, self.task(parent))
        read_frames(self, task, frames, stack)
        if fault is not None:
            code, message = fault
            task.fault = Panic(self.text(code), self.text(self.value(message)))
        if effect is not None:
            self._adopt(task, *effect)
        task.wait = read_wait(self, task, wait)
        self.watchers[task] = watchers
        task.streams = dict.fromkeys(map(self.effect, self.list(streams)))
        for stream in task.streams:
            self.adopted.append((stream, task, stream.payload))
        if waits is not ((effect is not None) ^ (wait is not None)):
            raise misshapen("a task that waits for nothing, or for two things")
        return None

    def _put_below(self, task: Task, parent: Task) -> None:
        """Make a task a child. Rows of parents stand before those of their children, so that no task can be below itself."""
        if parent.status is DONE or not task.path.startswith(f"{parent.path}.") or task.depth > len(parent.frames):
            raise misshapen("a task that its parent has not started")
        task.parent = parent
        task.base = parent.base + task.depth
        parent.children[task] = None

    def _adopt(self, task: Task, key: Any, kind: Any, payload: Any) -> None:
        effect, stored_payload = self.effect(key), read_payload(self, payload)
        if kind != effect.kind or not key.startswith(f"{task.path}:") or not same_form(stored_payload, effect.payload):
            raise misshapen(f"the effect {key} is another one than the host performs")
        task.effect = effect
        self.adopted.append((effect, task, stored_payload))


def read_run(machine: Machine, data: bytes, host: HostRecords, secrets: Secrets) -> tuple[list[Any], dict[str, Stream]]:
    """Put a run into a machine in which nothing has run, whose limits stay the host's. Return the host's values, and the streams
    that have not ended by the keys of the effects that began them.

    Raises SnapshotError, or what `host.check` raises, unless all of it fits what the host performs. The records of the host have
    not changed then, but the machine may be half filled: throw it away."""
    r = RunReader(machine.program, data, host, secrets)
    try:
        numbers, current, closed, state, host_values, own = r.roots
        used, machine.created, machine.root_count = map(r.index, numbers)
        machine.reserve = machine.steps - used
        read_stores(r, state, True).replace(machine)
        alive = _place_tasks(r, machine, current)
        called = read_watchers(r, alive, r.watchers, host.calls)
        awaited = {task.effect.key for task in alive if task.effect is not None}
        if {task.path for _, task in called} != host.calls.keys() or awaited != host.awaited:
            raise misshapen("tasks of another moment than the host's")
        machine.closed = list(map(r.effect, closed))
        values = r.values(host_values)
        if list(map(type, values)) != list(map(type, host.host_values)):
            raise misshapen("values that the host has not kept")
        host.check(own, r.memories)
    except WRONG:
        raise misshapen(f"the {WHAT} is malformed") from None
    for effect, task, payload in r.adopted:
        effect.task, effect.payload = task, payload
    for call, task in called:
        call.task = task
    return values, r.streams


def _place_tasks(r: RunReader, machine: Machine, current: Any) -> list[Task]:
    """Put the tasks into the machine, with the queues of those that may run; return those that have not ended."""
    alive = list(r.watchers)
    numbers, paths = {task.number for task in alive}, {task.path for task in alive}
    awaited = [task.effect for task in alive if task.effect is not None]
    if not len(numbers) == len(paths) == len(alive) or len(set(awaited)) != len(awaited):
        raise misshapen("two tasks of one name, or that wait for one effect")
    if any(number >= machine.created for number in numbers):
        raise misshapen("a task that was not created")
    ready = [task for task in alive if task.status is READY]
    machine.current = None if current is None else r.task(current)
    if machine.current is not None and (machine.current not in ready or not machine.current.working):
        raise misshapen("a task that runs and cannot")
    machine.roots = {task: None for task in sorted(alive, key=lambda task: task.number) if task.parent is None}
    machine.queue = [(task.number, task) for task in ready if task.working and task is not machine.current]
    machine.held_back = [(task.number, task) for task in ready if not task.working]
    heapify(machine.queue)
    heapify(machine.held_back)
    machine.at_work = sum(task.working for task in alive)
    if machine.held_back and machine.at_work < machine.task_limit:
        raise misshapen("a task that could run and may not")
    return alive
