"""The memories of a session by name (O-8.3, O-10.15, M-7): plain ones, keyed ones, and views derived from either.

Hands on `Memories` to the session, whose performers (by `running.py`) and machine ask it for the memory of a handle (a
`Beginning` takes its place in the machine while initialisation statements run); `MetVersions` to what reads stores; and
`EMBEDDED` to the performer of memories. Logs and stores are opened when a memory is first used (M-14.7). One memory at one key is
`memory.Memory`; the methods of the language with values of the machine are in `methods.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from time import time

from ...vm.interp.tasks import is_below
from ...vm.panics import Panic
from ...vm.values.metering import FEW, paced, works_on
from .failures import InvalidValue, MemoryFailure, corrupt, other_key_parts, reading_itself, stored_twice
from .keyed_memory import DerivedMemory, KeyedMemory
from .keys import MAIN_BRANCH, declared_values, encode, key_values, memory_key, stored_values
from .policy import Declaration, Policy
from .stores.operations import IN_PLACE, MustWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from ...vm.interp import effects
    from ...vm.values import KeyedRef, MemoryRef
    from .bounds import MemoryValues
    from .embedding import Embedding
    from .keys import Key
    from .locks import SlotTurn, SlotTurns
    from .memory import Listener, Memory
    from .states import Changes, Logs
    from .stores.operations import Operations
    from .stores.protocol import Store
    from .stores.volatile import VolatileStore


if TYPE_CHECKING:
    class BeginningMemories(effects.Memories, Protocol):
        """Those of the session, as `Beginning` needs them."""

        def is_open(self, name: str) -> bool:
            """Return whether the memory was read or written already."""


BEGINS = ("append", "pin", "remember")


class Beginning:
    """The memories of a session while initialisation statements run (M-2.10): it stands for `Memories` in the machine, and its
    methods are those of `vm/interp/effects.py: Memories`. Writes to a memory that nobody has used are kept, for its logs to
    begin with; one that was used is written at once."""

    def __init__(self, memories: BeginningMemories) -> None:
        self.memories = memories
        self.failure = memories.failure
        self.must_wait = memories.must_wait
        self.attended = memories.attended
        self.computed = memories.computed

    def __getitem__(self, name: str) -> Any:
        return self.memories[name] if self.memories.is_open(name) else _Begun(self.memories, name)

    def is_shared(self, ref: MemoryRef) -> bool:
        return self.memories.is_shared(ref)

    def is_queued(self, ref: MemoryRef, slot: Any) -> bool:
        return False

    def at(self, ref: MemoryRef) -> Any:
        return self.memories.at(ref)

    def written(self, ref: MemoryRef, task: Any) -> Any:
        return self[ref.name] if not (ref.branch or ref.key) else self.at(ref)

    def bounds(self, name: str, computed: dict[str, Any]) -> dict[str, Any]:
        return self.memories.bounds(name, computed)

    def memory_value(self, name: str, bounds: dict[str, Any], messages: Any) -> Any:
        return self.memories.memory_value(name, bounds, messages)

    def at_once(self, ref: MemoryRef, method: str, arguments: list[Any], task: Any) -> Any:
        """Do as `Memories.at_once`, but keep `append`, `pin` and `remember` of an unused memory (M-2.10)."""
        if method in BEGINS and not (ref.branch or ref.key or self.memories.is_open(ref.name)):
            if method == "remember":
                return self.initial_fact(ref.name, arguments)
            role, content = arguments
            return self.initial(ref.name, role, content, method == "pin")
        return self.memories.at_once(ref, method, arguments, task)

    def perform(self, ref: MemoryRef, method: str, arguments: list[Any], task: Any) -> Any:
        return self.memories.perform(ref, method, arguments, task)

    def keyed(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        return self.memories.keyed(ref, method, values, task)

    def keyed_at_once(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        return self.memories.keyed_at_once(ref, method, values, task)

    def initial(self, name: str, role: str, content: str, pinned: bool) -> None:
        self.memories.initial(name, role, content, pinned)

    def initial_fact(self, name: str, arguments: list[Any]) -> None:
        self.memories.initial_fact(name, arguments)


class _Begun:
    """One memory that nobody has used yet: any method but `append` opens it."""

    def __init__(self, memories: BeginningMemories, name: str) -> None:
        self._memories = memories
        self._name = name

    def append(self, role: str, content: str) -> None:
        self._memories.initial(self._name, role, content, False)

    def __getattr__(self, method: str) -> Any:
        return getattr(self._memories[self._name], method)

    def __len__(self) -> int:
        return len(self._memories[self._name])


MOST = 10_000  # keys whose versions a session keeps


class MetVersions:
    """The versions that keys in stores had when the session last saw them (M-14.6). They show when a store was set back.

    Only the newest MOST keys are kept, since a session may serve millions; of any other key nothing can be said.
    """

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: OrderedDict[Key, int] = OrderedDict()

    def meet(self, key: Key, version: int) -> None:
        """Note the version that a key has now."""
        self._versions[key] = version
        self._versions.move_to_end(key)
        if len(self._versions) > MOST:
            self._versions.popitem(last=False)

    def forget(self, key: Key) -> None:
        """Drop what is known of a key: its next version may be any."""
        self._versions.pop(key, None)

    def version(self, key: Key) -> int:
        """Return the version that was seen last, 0 when it is unknown."""
        return self._versions.get(key, 0)


LOCKED = frozenset(("append", "append_all", "pin", "set_pinned", "clear", "rewind", "load", "erase"))
"""Direct writes that take the turn lock of a `Serial` memory (M-5.17)."""
EMBEDDED = ("remember", "relate", "observe", "recall", "view")
"""Methods that store facts or look for them: with `embed` the host may have to wait for vectors (M-10.16)."""
CHANGES = LOCKED.union(("fork", "observe", "remember", "relate", "forget", "confirm", "recall"))
"""Methods that a function of the program may hear of (M-6.37)."""


class Memories:
    """Every declared memory by name. Logs are shared handles and live as long as the session or their store (O-3.3).

    `declared`: the declarations, or name and bound in messages of plain memories. `namespace`: the first part of every key
    (M-7.1). `clock` gives seconds since 1970, `stored_clock` those of logs in a store where that is another clock.
    `listener` gets the events of memories that are opened while `hears` returns True. `stores` returns a store by its name,
    `embedders` gives the embedding of an embedder, always the same one; `operations` are those of the session on its stores.

    What opens a memory raises MemoryFailure when its store cannot be opened, or holds its data under another declaration,
    or when a bound cannot be computed; and MustWait, having changed nothing, where a store has to be waited for. A name
    that is not declared is a KeyError.
    """

    __slots__ = (
        "_declared", "_by_path", "computed", "lost", "slot_turns",
        "_views", "_volatile", "_earlier", "_open", "_namespace", "_clock", "_stored_clock", "_listener", "_hears",
        "_stores", "_embedders", "_met", "initialising", "failure", "must_wait", "turns", "serial", "attended",
        "operations", "_values", "reading", "handlers", "hearing", "runs",
    )  # fmt: skip

    def __init__(
        self,
        declared: Iterable[Declaration | tuple[str, int | None]] = (),
        *,
        namespace: str = "",
        clock: Callable[[], float] = time,
        stored_clock: Callable[[], float] | None = None,
        listener: Listener | None = None,
        hears: Callable[[], bool] = lambda: True,
        stores: Callable[[str], Store] | None = None,
        embedders: Callable[[dict[str, Any]], Embedding] | None = None,
        operations: Operations = IN_PLACE,
    ) -> None:
        declarations = [
            each if isinstance(each, Declaration) else Declaration(each[0], Policy(retain=each[1])) for each in declared
        ]
        self._declared = {each.name: each for each in declarations}
        self._by_path = {each.path: each for each in declarations if each.of is None}
        self._views = _views(declarations)
        self._volatile: VolatileStore | None = None
        self._earlier: dict[str, VolatileStore] = {}
        self._open: dict[str, Any] = {}
        self._namespace = namespace
        self._clock = clock
        self._stored_clock = stored_clock or clock  # of logs in a store
        self._listener = listener
        self._hears = hears
        self._stores = stores
        self._embedders = embedders
        self._met = MetVersions()
        self._values: MemoryValues | None = None
        self.computed: Callable[[Any], Any] = _no_program
        """Runs a function without parameters and returns its value: the default of a field (M-8.23)."""
        self.slot_turns: SlotTurns | None = None
        """The queues for slots that several sessions change, None before the first change of such a slot (M-8.21)."""
        self.lost: dict[str, int] = {}
        """How often in a row a change of a slot came too late, by the path of its task."""
        self.initialising = False
        """Whether the initialisation statements of the program run (`beginning`)."""
        self.failure = MemoryFailure  # the machine names no class of the runtime
        self.must_wait = MustWait  # nor this one
        self.operations = operations
        self.turns: dict[Any, Any] = {}
        """The conversations of turns in progress, of memories without `Append`, and direct writes that hold the lock, by the
        effect that began each."""
        self.runs: dict[Any, Any] = {}
        """The conversations of all calls in progress that write a log, by the effect that began each."""
        self.reading: dict[str, Memory] = {}
        """Memories whose view a function of the program is making, by the path of its task (M-4.33)."""
        self.handlers = {each.name: each.on for each in declarations if each.on}
        """The places of functions that hear of a memory, by channel (M-6.37)."""
        self.hearing: dict[str, str] = {}
        """Names of memories of whose events such a function is told, by the path of its task."""
        self.serial = frozenset([each.name for each in declarations if each.of is None and each.policy.on_conflict == "Serial"])
        """Names of the memories whose direct writes wait for the turn lock (M-5.17)."""
        stored = {each.name for each in declarations if each.store is not None}
        self.attended = self.serial.union(self.handlers, [each.name for each in declarations if (each.of or each.name) in stored])
        """Names of the memories and views whose methods may have to wait: `Serial` ones, heard ones, those in a store."""

    @contextmanager
    def beginning(self, machine: Callable[[], Any]) -> Iterator[None]:
        """Keep `append`, `pin` and `remember` for the logs that begin, while the program is initialised (M-2.10). `machine`
        returns the machine that runs; its `memories` are a `Beginning` meanwhile."""
        machine().memories, self.initialising = Beginning(self), True
        try:
            yield
        finally:
            machine().memories, self.initialising = self, False

    def is_open(self, name: str) -> bool:
        """Return whether the memory was read or written already."""
        return name in self._open

    @property
    def values(self) -> MemoryValues:
        """The memory values of the session. A program that makes none does not load their code (M-14.7)."""
        if self._values is None:
            from .bounds import MemoryValues

            self._values = MemoryValues()
        return self._values

    def listen(self) -> None:
        """Send the events of memories in use to the listener from now on; those that are opened later ask `hears` (M-6.31)."""
        lives = () if self._values is None else self._values.lives.values()
        for memory in (*self._open.values(), *(life.memory for life in lives)):
            if hasattr(memory, "listen"):
                memory.listen(self._listener)

    def __getitem__(self, name: str) -> Any:
        """Return the Memory, KeyedMemory or DerivedMemory of a declared name, for a view of a keyed memory the KeyedMemory that
        it is of. It is opened at the first use."""
        memory = self._open.get(name)
        if memory is None:
            memory = self._open[name] = self._opened(self._declared[name])
        return memory

    def at(self, ref: MemoryRef) -> Any:
        """Return the Memory or DerivedMemory of a handle, at its key and branch. Whether the branch exists was checked
        when the handle was made (M-6.17)."""
        if ref.life is not None:
            memory = ref.life.memory
        else:
            memory = self[ref.name] if not ref.key else self._at_key(ref)
        return memory.with_key((*memory.key[:-1], ref.branch)) if ref.branch else memory

    def bounds(self, name: str, computed: dict[str, Any]) -> dict[str, Any]:
        """Return the bounds that the beginning of a program computed for a declared memory. Panics with P014 when it can have
        none, with P452 when one is no value of its kind (M-2.14, M-2.15)."""
        rule = self._declared[name].bounds
        if rule is None:
            raise Panic("P014", f"the memory {name} has no bounds that a run computes")
        try:
            rule.check(computed)
        except InvalidValue as error:
            raise Panic("P452", str(error)) from None
        return computed

    def memory_value(self, name: str, bounds: dict[str, Any], messages: Sequence[Any] | None) -> MemoryRef:
        """Return a new memory value with these bounds, and with these messages as a turn of no run (M-2.19, M-2.20). Panics with
        P014 when `name` is no memory that values are made of, with P452 for wrong bounds or messages."""
        from ...vm.values import MemoryRef

        declared = self._declared[name]
        if not declared.makes_values:
            raise Panic("P014", f"the memory {name} is declared, and no value is made of it")
        self.bounds(name, bounds)
        self.values.give_up()
        key = self.values.new_key(self._namespace, declared, bounds)
        memory = self._bare(declared, key)
        ref = MemoryRef(name, "", key[2:-1], self.values.live(declared, memory, self._session(name)))
        if messages:
            from .methods import message_of

            works_on(len(messages))
            try:
                memory.append_all([message_of(message) for message in paced(messages, FEW)])
            except MemoryFailure as failure:
                raise Panic("P452", f"the messages a memory is made from: {failure.message}") from None
        return ref

    def revive(self, handles: Iterable[tuple[MemoryRef, int]]) -> None:
        """Open the memory values of handles that came from a snapshot, each given with the version of its log, and give up the
        logs of all other values."""
        alive = []
        for ref, _ in handles:
            declared = self._declared[ref.name]
            if declared.makes_values:
                key = memory_key(self._namespace, ref.name, ref.key)
                ref.life = self.values.lives.get(key)
                if ref.life is None or ref.life.store is not self._session(ref.name):
                    self.values.lives.pop(key, None)
                    ref.life = self.values.live(declared, self._bare(declared, key), self._session(ref.name))
                alive.append(ref)
        names = {name for name, declared in self._declared.items() if declared.makes_values}
        if names and self._volatile is not None:
            self.values.sweep(self._volatile, names)

    def number_after(self, earlier: Memories) -> None:
        """Continue the numbers of memory values where those of an earlier session ended."""
        if earlier._values is not None:
            self.values.last = earlier._values.last

    def turn_around(self, task: Any, memory: Memory) -> Any:
        """Return the turn in progress of this memory that the task runs inside: as one of its tools, hooks, loop bodies
        or child tasks (M-5.20). None for none."""
        turns = (turn for effect, turn in self.turns.items() if turn.memory == memory and is_below(task.path, effect.task.path))
        return next(turns, None)

    def frame_around(self, task: Any, memory: Memory) -> Any:
        """Return the frame of the innermost run in progress that writes this log and that the task runs inside, whatever its
        `on_conflict` is (M-6.11). A frame (`turns.Frame`) stands for the memory within a run: it takes messages that join the
        turn, which is not stored yet, and gives those of it so far. None for none."""
        around = [
            (effect, conversation.run)
            for effect, conversation in self.runs.items()
            if conversation.run is not None and conversation.memory == memory and is_below(task.path, effect.task.path)
        ]
        # Of two of one task the later one began within the other, in the body of its stream.
        return max(reversed(around), key=lambda one: len(one[0].task.path))[1].frame() if around else None

    def reads_around(self, task: Any, memory: Memory) -> bool:
        """Return whether the task runs inside a function that computes a view of this log."""
        return any(other == memory and is_below(task.path, path) for path, other in self.reading.items())

    def is_heard(self, name: str) -> bool:
        """Return whether a function of the program hears of the memory, or of the one that it is a view of."""
        return (self._declared[name].of or name) in self.handlers

    def asks(self, ref: MemoryRef) -> bool:
        """Return whether a function of the program gives the messages of its view (M-4.30)."""
        return self._declared[ref.name].policy.view_with is not None

    def written(self, ref: MemoryRef, task: Any) -> Any:
        """Return what takes the direct writes of a task: the memory, or the frame of the turn that they join (M-5.20).
        Raises MemoryFailure("Nested") inside a function that computes a view of this log."""
        # Nearly every direct write: a memory that is open already, outside of turns and of functions that compute views.
        if not self.turns and not self.reading and not ref.key and not ref.branch and ref.life is None:
            opened = self._open.get(ref.name)
            if opened is not None:
                return opened
        memory = self.at(ref)
        if self.reading and self.reads_around(task, memory):
            raise reading_itself(memory.name)
        if not self.turns:
            return memory
        turn = self.turn_around(task, memory)
        return memory if turn is None or turn.run is None else turn.run.frame()

    def waits(self, ref: MemoryRef | KeyedRef, method: str, task: Any) -> bool:
        """Return whether a direct write takes the turn lock first (M-5.17). Inside a turn on its key it joins that turn
        instead. What erases several keys looks for turns around it when it knows the keys."""
        if ref.name not in self.serial or method not in LOCKED or self.initialising:
            return False
        if hasattr(ref, "names") or not self.turns:
            return True
        return self.turn_around(task, self.at(ref)) is None

    def at_once(self, ref: MemoryRef, method: str, arguments: Sequence[Any], task: Any) -> Any:
        """Do as `perform` where nothing has to be waited for; else raise MustWait, having done nothing."""
        if self.initialising:  # what is written then begins a log, or has it to itself; facts get their vectors later
            return self.operations.attempt(lambda: self.perform(ref, method, arguments, task))
        # Each of these may wait: for vectors, a turn lock, a function of the program.
        if (method in EMBEDDED and self.embeds(ref)) or self._takes_lock(ref, method, task):
            raise MustWait
        if (method in CHANGES and ref.name in self.handlers) or (method == "view" and self.asks(ref)):
            raise MustWait
        return self.operations.attempt(lambda: self.perform(ref, method, arguments, task))

    def is_shared(self, ref: MemoryRef) -> bool:
        """Return whether other sessions may write the store of the memory meanwhile."""
        return self._declared[self._declared[ref.name].of or ref.name].store is not None and not self._are_volatile()

    def is_queued(self, ref: MemoryRef, slot: Any) -> bool:
        """Note that a change of a slot begins or ends where sessions change it in turns (M-8.21); return whether it has to ask
        the store for its turn, or to give it back."""
        return self.is_shared(ref) and not self.initialising and self.slot_turn(ref, slot).begins()

    def slot_turn(self, ref: MemoryRef, slot: Any) -> SlotTurn:
        """Return the turn of this session in the queue for a slot."""
        if self.slot_turns is None:
            from .locks import SlotTurns
            from .stores.sqlite import owner_name

            self.slot_turns = SlotTurns(owner_name(), self.operations.clock)
        return self.slot_turns.of((ref, slot))

    def _takes_lock(self, ref: MemoryRef, method: str, task: Any) -> bool:
        try:
            return self.waits(ref, method, task)
        except MemoryFailure:  # the store cannot be opened: the operation that waits for it reports that
            return True

    def keyed_at_once(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        """Do as `keyed` where nothing has to be waited for; else raise MustWait, having done nothing."""
        if method == "erase" and ref.name in self.attended:
            raise MustWait
        return self.operations.attempt(lambda: self.keyed(ref, method, values, task))

    def _at_key(self, ref: MemoryRef) -> Any:
        of = self._declared[ref.name].of
        memory = self[of or ref.name].at(ref.key)
        return DerivedMemory(ref.name, memory) if of is not None else memory

    def perform(
        self, ref: MemoryRef, method: str, arguments: Sequence[Any], task: Any, heard: Callable[[Any], Any] | None = None
    ) -> Any:
        """Return the value of a method of the direct API, for values of the machine (M-6.2 to M-6.20). `heard` replaces
        the memory by one whose events are noted. Panics as `methods.perform`."""
        from .methods import WRITES, perform

        def opened() -> tuple[Any, bool]:
            memory = self.written(ref, task) if method in WRITES else self.at(ref)
            if method == "appended" and self.runs and not isinstance(memory, DerivedMemory):
                memory = self.frame_around(task, memory) or memory
            return memory if heard is None else heard(memory), isinstance(memory, DerivedMemory)

        return perform(ref, opened, method, arguments, task.path)

    def keyed(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        """Return the value of `key`, `keys` or `erase`, for values of the machine (M-7.3). Panics as `methods.perform_keyed`."""
        from .methods import perform_keyed

        return perform_keyed(ref, lambda: self[ref.name], method, values, lambda: self.within_keys(ref, values, task))

    def within_keys(self, ref: KeyedRef, values: dict[str, Any], task: Any) -> bool:
        """Return whether the task runs within a turn of a key with these values (M-5.20), or within a function that makes a
        view of one. Raises as `KeyedMemory.has`."""
        has = self[ref.name].has(values)
        if any(has(memory.key) and is_below(task.path, path) for path, memory in self.reading.items()):
            return True
        return any(has(memory.key) and is_below(task.path, effect.task.path) for effect, memory in self._turns_of_runs())

    def _turns_of_runs(self) -> list[tuple[Any, Any]]:
        return [(effect, turn.memory) for effect, turn in self.turns.items() if turn.run is not None]

    def with_keys(self, ref: KeyedRef, values: dict[str, Any]) -> list[Memory]:
        """Return the stored logs of these keys and those that have a turn in progress, ordered by the bytes of their
        keys."""
        keyed, declared = self[ref.name], self._declared[ref.name]
        has = keyed.has(values)
        logs = {memory.key: memory for _, memory in self._turns_of_runs() if has(memory.key)}
        base = declared.policy  # nothing is added to them, so no function that computes a bound has to run
        logs.update((key, self._bare(declared, key, base)) for key in keyed.stored(values) if key not in logs)
        return [logs[key] for key in sorted(logs, key=encode)]

    def allows(self, name: str, by: str, writes: bool) -> bool:
        """Return whether the model or agent `by` may attach the memory, to write it or only to read (M-4.16). A view is
        attached as the memory that it is of."""
        allow = self._declared[self._declared[name].of or name].allow
        return allow is None or by in allow[1] or (not writes and by in allow[0])

    def initial(self, name: str, role: str, content: str, pinned: bool) -> None:
        """Keep an initialisation statement of a memory for the logs that begin (M-2.10). Panics with P014 outside of the
        initialisation: only a memory with keys whose key is missing gets here then."""
        if not self.initialising:
            raise Panic("P014", f"the memory {name} has keys: call `key` first")
        self._declared[name].initial.append((role, content, pinned))

    def initial_fact(self, name: str, arguments: Sequence[Any]) -> None:
        """Keep `remember` as an initialisation statement. Panics with P452 for a wrong value, with P014 as `initial`."""
        if not self.initialising:
            raise Panic("P014", f"the memory {name} has keys: call `key` first")
        try:
            self._declared[name].facts.append(self.checked_fact(name, arguments))
        except InvalidValue as error:
            raise Panic("P452", str(error)) from None

    def checked_fact(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Return arguments of `remember` that a log of this memory may begin with. Raises as `fact_methods.checked`."""
        from .fact_methods import checked

        return checked(arguments, name, self._declared[name].store is not None)

    def _opened(self, declared: Declaration) -> Any:
        base = self._declared[declared.of] if declared.of is not None else declared
        prefix = memory_key(self._namespace, base.path)[:-1]
        if base.path != base.name and declared.of is None:
            self._refuse_both_names(base)
        if base.per and declared.of is None:
            stores = self._both(base)
            return KeyedMemory(base.name, base.per, lambda key: self._at(base, key), stores, prefix, self._met, base.key_defaults)
        if declared.of is not None:
            return self[base.name] if base.per else DerivedMemory(declared.name, self[base.name])
        return self._at(base, (*prefix, MAIN_BRANCH))

    def _refuse_both_names(self, declared: Declaration) -> None:
        """Raise when data is stored under the name of now although `was` names another path: it would never be read again
        (M-7.8)."""
        for store in self._both(declared):
            if next(iter(store.keys(memory_key(self._namespace, declared.name)[:-1])), None) is not None:
                raise stored_twice(declared.name, f"the name {declared.name}", f"the name {declared.path}")

    def _at(self, declared: Declaration, key: Key) -> Memory:
        memory = self._bare(declared, key)
        if declared.facts:
            from .fact_methods import initial_facts

            memory.initialise(declared.initial, lambda: initial_facts(memory, declared.facts))
        else:
            memory.initialise(declared.initial)
        return memory

    def _bare(self, declared: Declaration, key: Key, policy: Policy | None = None) -> Memory:
        """Return the memory at a key without writing what its log begins with. `policy` replaces that of the key."""
        from .memory import Memory

        views = self._views.get(declared.name)
        if policy is None:
            policy = self._policy(declared, declared, key)
            views = views and {name: self._policy(self._declared[name], declared, key) for name in views}
        return Memory(
            policy, name=declared.name, store=self._store_of(declared), key=key,
            clock=self._clock if declared.store is None else self._stored_clock,
            views=views, listener=self._listener if self._hears() else None,
            session=self._session(declared.name), embedding=self._embedding(declared), fixed=declared.fixed, lists=declared.lists,
            access=declared.access, met=None if declared.store is None else self._met, renamed=declared.renamed,
            keyed=bool(declared.per),
        )  # fmt: skip

    def _policy(self, declared: Declaration, base: Declaration, key: Key) -> Policy:
        """Return the policy of a memory, or of a view of `base`, at a key, with the bounds that a run computes (M-2.14 to
        M-2.19)."""
        policy = declared.policy
        if declared.bounds is not None:
            values = declared_values(base.per, base.key_defaults, key[2:-1])
            if values is None:
                raise other_key_parts(base.name, base.per, key[2:-1])
            policy = declared.bounds.at(base.per, values)
        if declared.policy.inner is None:
            return policy
        name, _ = declared.policy.inner
        inner = self._policy(self._declared[name], base, key)
        same = policy.inner is not None and policy.inner[1] is inner
        return policy if same else policy.replaced(inner=(name, inner))

    def take_over(self, earlier: Memories) -> None:
        """Continue with the volatile logs of an earlier session where a memory has the same name and declaration there;
        views and permissions are those of now. Logs in stores are opened anew, since the earlier session has closed its
        stores."""
        for name, mine in self._declared.items():
            theirs = earlier._declared.get(name)
            if theirs is None or mine.store is not None or mine.of is not None:
                continue
            bounds = mine.bounds and mine.bounds.said
            if mine.makes_values or (theirs.bounds and theirs.bounds.said) != bounds:
                continue
            declared = (mine.policy, mine.per, None, None, mine.path, mine.key_defaults)
            if (theirs.policy, theirs.per, theirs.store, theirs.of, theirs.path, theirs.key_defaults) == declared:
                # The log stays in the store of the earlier session, so that its other users keep the same object.
                self._earlier[name] = earlier._session(name)
                earlier[name]  # opened there, so that its log has its initial content
                for opened in (name, *self._views.get(name, ())):
                    self._open.pop(opened, None)

    def _store_of(self, declared: Declaration) -> Store:
        """Return the store of a memory: its own, or the one volatile store of the session (M-8.1)."""
        if declared.store is not None:
            assert self._stores is not None, "who declares stores gives them"
            return self._stores(declared.store)
        return self._session(declared.name)

    def _embedding(self, declared: Declaration) -> Embedding | None:
        embedder = declared.embed
        if embedder is None:
            return None
        assert self._embedders is not None, "who declares embedders gives them"
        return self._embedders(embedder)

    @property
    def lasting(self) -> bool:
        """Whether a store holds logs that outlive the session."""
        return any(declared.store is not None for declared in self._declared.values())

    @property
    def namespace(self) -> str:
        """The first part of every key."""
        return self._namespace

    def key_names(self, name: str) -> tuple[str, ...]:
        """Return the names of the key parts of a memory that has a log; raise KeyError for any other name."""
        declared = self._declared[name]
        if declared.of is not None:
            raise KeyError(name)
        return declared.per

    def stored_parts(self, path: str, values: Sequence[str | int]) -> Key:
        """Return the key parts of a volatile log as they are stored now, also of one that an earlier declaration wrote
        (M-7.8, M-7.9). Raises KeyError for a path that no memory has, MemoryFailure("Store") and InvalidValue for parts that
        do not fit."""
        declared = self._by_path[path]
        declared_parts = declared_values(declared.per, declared.key_defaults, tuple(values))
        if declared_parts is None:
            raise other_key_parts(declared.name, declared.per, values)
        checked = key_values(declared.per, dict(zip(declared.per, declared_parts, strict=True)))
        return stored_values(declared.per, declared.key_defaults, checked)

    def volatile_stores(self) -> list[tuple[str | None, VolatileStore]]:
        """Return the stores whose logs end with the session, each with its label: None, or in a test the name of the
        store that it stands for (M-8.15)."""
        if self._values is not None:
            self._values.give_up()
        stores: dict[int, tuple[str | None, VolatileStore]] = {}
        for store in (self._volatile, *self._earlier.values()):
            if store is not None:
                stores[id(store)] = (None, store)
        if self._are_volatile():
            stores.update((id(store), (name, store)) for name, store in self._stores.open.items())  # type: ignore[union-attr]
        return list(stores.values())

    def _are_volatile(self) -> bool:
        return bool(getattr(self._stores, "volatile", False))

    def volatile(self, label: str | None, key: Key) -> VolatileStore | None:
        """Return the volatile store of the session where that log is; `label` is the name of a store in a test. None when it
        is elsewhere, or when no memory has that path, as for a log of an earlier program, or no memory value that key."""
        declared = self._by_path.get(str(key[1]))
        if declared is None:
            return None
        if declared.bounds is not None and not declared.bounds.is_key(key[2:-1]):
            return None
        if label is None:
            return self._session(declared.name)
        if label != declared.store or not self._are_volatile():
            return None
        store: Any = self._store_of(declared)
        return store  # type: ignore[no-any-return]

    def hold(self, logs: Logs) -> None:
        """Continue with the content of these volatile logs, in the log objects that memories already hold."""
        for label, store in self.volatile_stores():
            for key, log in store.logs.items():
                if self.volatile(label, key) is store:
                    log.become(logs.log(label, key))
            store.spoken.clear()
        for label, store in logs.stores.items():
            for key, restored in store.logs.items():
                mine = self.volatile(label, key)
                assert mine is not None, "it was checked when it was read"
                mine.log(key).become(restored)

    def _log_of(self, ref: MemoryRef) -> tuple[Declaration, Key]:
        of = self._declared[self._declared[ref.name].of or ref.name]
        return of, memory_key(self._namespace, of.path, stored_values(of.per, of.key_defaults, ref.key), ref.branch)

    def head(self, ref: MemoryRef) -> tuple[str | None, int]:
        """Return the store name of a handle, None for a volatile memory, and the version of its log when the session last saw it
        (M-14.6)."""
        declared, key = self._log_of(ref)
        store = self.volatile(declared.store, key) if declared.store is None or self._are_volatile() else None
        return declared.store, self._met.version(key) if store is None else store.head(key).version

    def differs(self, ref: MemoryRef, version: int, changes: Changes) -> bool:
        """Return whether the volatile log of a handle will have another version after these changes. A log in a store changes
        independently. Raises MemoryFailure("Corrupt") for a key that no memory value has."""
        declared, key = self._log_of(ref)
        if declared.bounds is not None and not declared.bounds.is_key(ref.key):
            raise corrupt(f"a memory value {ref.name} that none is")
        return (declared.store is None or self._are_volatile()) and changes.version(declared.store, key) != version

    def went_back(self, ref: MemoryRef, version: int) -> int | None:
        """Return the version of the log in its store when that is an earlier one than `version`, else None, as for a volatile
        log. A store that cannot be read is reported when it is used (M-8.6)."""
        declared, key = self._log_of(ref)
        if declared.store is None or self._are_volatile() or not version:
            return None
        try:
            current = self._store_of(declared).head(key).version
        except MemoryFailure:
            return None
        self._met.meet(key, current)
        return current if current < version else None

    def beginnings(self) -> list[tuple[str, list[Any], list[Any]]]:
        """Return what initialisation statements give a log that begins, as (name of the memory, messages, facts)."""
        return [(name, each.initial, each.facts) for name, each in self._declared.items() if each.initial or each.facts]

    def begin_with(self, logs: Logs | None, beginnings: dict[str, tuple[list[Any], list[Any]]]) -> None:
        """Continue with other volatile logs than before (None: with none), and with other `beginnings`, by name; logs in a
        store are opened anew."""
        self._volatile = None
        self._earlier.clear()
        self._open.clear()
        if logs is not None:
            self.hold(logs)
        for name, declared in self._declared.items():
            declared.initial, declared.facts = beginnings.get(name, ([], []))

    def is_view(self, name: str) -> bool:
        """Return whether the memory of that name is derived from another one."""
        return self._declared[name].of is not None

    def embeds(self, ref: MemoryRef) -> bool:
        """Return whether the facts of the memory have vectors, for which the host may have to be waited for."""
        declared = self._declared[ref.name]
        return (self._declared[declared.of] if declared.of else declared).embed is not None

    def _both(self, declared: Declaration) -> list[Store]:
        store = self._store_of(declared)
        session = self._session(declared.name)
        return [store] if store is session else [store, session]

    def _session(self, name: str) -> VolatileStore:
        """Return the volatile store of the session, or that of an earlier session whose log the memory continues."""
        if name in self._earlier:
            return self._earlier[name]
        if self._volatile is None:
            from .stores.volatile import VolatileStore

            self._volatile = VolatileStore()
        return self._volatile

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def _no_program(code: Any) -> Any:
    raise Panic("P013", "no program is there that could compute a default")


def _views(declared: Sequence[Declaration]) -> dict[str, dict[str, Policy]]:
    """Return the derived views of each memory by name, each behind the one that it is of."""
    by_memory: dict[str, dict[str, Policy]] = {}
    for each in sorted(declared, key=lambda each: len(each.policy.chain)):
        if each.of is not None:
            by_memory.setdefault(each.of, {})[each.name] = each.policy
    return by_memory
