"""The functions in the steps of memories: `redact`, `pin`, `clip`, `shape`, `learn`, and bounds that are functions of a key
(M-2.17, M-4.4, M-4.6, M-4.8, M-4.13, M-10.22).

They act in the middle of a commit or a view, or when a key is opened, which nothing may interrupt. So each runs to its end on a
`StepMachine` of its own, on the fuel of the session, and may ask nothing of the host or a memory (E4509 for the compiler, panic
P013 here). Hands on `StepFunction`, which a memory's policy calls, and `default_value` to the session, which gives them to its
memories; and `step_closure` to `memory_callbacks.py` and `summarisers.py`, which have the functions that may wait.
"""

from __future__ import annotations

from ...vm.builtins.memories import message_array
from ...vm.interp.machine import Machine
from ...vm.interp.tasks import DONE
from ...vm.panics import Panic
from ...vm.values import Array, Closure, Observed, check, from_json, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...vm.interp.link import Program


DEPTH = 1_000  # calls inside one another


class NoMemories:
    """What a step machine has for memories: whatever would read, write or make one is panic P013; the other questions are
    answered as by a program without memories. A function that acts in the middle of a commit must not see a memory that is half
    written."""

    failure: tuple[type[Exception], ...] = ()
    must_wait: tuple[type[BaseException], ...] = ()
    attended: frozenset[str] = frozenset()
    computed: Any = None

    # The names are those of `Memories`, which the machine calls; what would read or write a memory goes through `__getitem__`.

    def is_shared(self, ref: Any) -> bool:
        return False

    def is_queued(self, ref: Any, slot: Any) -> bool:
        return False

    def __getitem__(self, name: str) -> Any:
        raise Panic("P013", f"the function of a memory step cannot use the memory {name}")

    def at(self, ref: Any) -> Any:
        return self[ref.name]

    def written(self, ref: Any, task: Any) -> Any:
        return self[ref.name]

    def perform(self, ref: Any, method: str, arguments: Sequence[Any], task: Any) -> Any:
        return self[ref.name]

    def keyed(self, ref: Any, method: str, values: Any, task: Any) -> Any:
        return self[ref.name]

    def at_once(self, ref: Any, method: str, arguments: Sequence[Any], task: Any) -> Any:
        return self[ref.name]

    def keyed_at_once(self, ref: Any, method: str, values: Any, task: Any) -> Any:
        return self[ref.name]

    def bounds(self, name: str, computed: Any) -> Any:
        return self[name]

    def memory_value(self, name: str, bounds: Any, messages: Any) -> Any:
        raise Panic("P013", "the function of a memory step cannot make a memory")

    def initial(self, name: str, role: str, content: str, pinned: bool) -> None:
        self[name]

    def initial_fact(self, name: str, arguments: Sequence[Any]) -> None:
        self[name]


class StepMachine(Machine):
    """Runs pure functions with the stores and the fuel of another machine, `outer`, which waits meanwhile. What stops the outer
    one stops this one too."""

    def __init__(self, program: Program, outer: Machine) -> None:
        super().__init__(program, NoMemories())
        self.stores = outer.stores
        self.outer = outer
        self.limit(outer.reserve, DEPTH, value_bytes=outer.value_bytes)
        self.keeps_locals = outer.keeps_locals
        self.tiers(False)  # only the interpreter looks at what stops the other machine

    def next_chunk(self, overdraft: int) -> int:
        """Do what `Machine.next_chunk` does, after taking over what stops `outer`."""
        self.stop = self.outer.stop
        return super().next_chunk(overdraft)

    def value(self, function: Closure, arguments: Sequence[Any]) -> Any:
        """Run a function to its end and return its value. Raises its panic, P013 when it asks something of the host, and what
        stops the outer machine."""
        code = function.function
        cells = [*function.cells, *[None] * (code.cell_count - len(function.cells))]
        task = self.new_task(None, code, list(arguments), cells)
        try:
            effects = self.step()
        except Panic as panic:
            panic.leave()
            raise
        finally:
            self.outer.reserve -= self.used  # its fuel is that of the session
        if task.status is not DONE or effects:
            self.cancel_all()
            raise Panic("P013", "the function of a memory step asked something of the host")
        return task.result


class StepFunction:
    """A function of the program that a memory's policy calls, with one argument: FORMS makes it, and turns the result back.
    `step` is a row of FORMS; `place` is the number of the memory and that of the step in it; `machine` returns the machine of the
    session. Two are equal when `step` and `place` are: in sessions of one program they are the same function.

    A call takes and returns: of `redact` and `clip_with` a text and the new text; of `pin_when` a Msg and whether it is pinned;
    of `shape` messages and those that are shown instead; of `bound` the parts of a key by name and a number, or None for no
    bound; of `learn_by` an observation and the name of its group, None for none; of `learn_when` a group of observations and
    whether something is learned of it; of `learn_store` the group and (content as plain data, confidence, subjects).

    A call raises the panic of the function, P013 as `StepMachine.value` and `step_closure`, and P007 for a result that does not
    fit, where FORMS checks it; of `shape` also MemoryFailure("InvalidUnit") for a Media without content and P103 for arguments of
    calls beyond the limits of JSON, of `learn_store` InvalidValue for a content without a JSON form and P103 for one beyond the
    limits of JSON."""

    __slots__ = ("machine", "step", "place")

    def __init__(self, machine: Callable[[], Machine], step: str, place: Sequence[int]) -> None:
        self.machine = machine
        self.step = step
        self.place = tuple(place)

    def __call__(self, value: Any) -> Any:
        outer = self.machine()
        to_argument, from_result = FORMS[self.step]
        closure = step_closure(outer, self.place, 1)
        return from_result(StepMachine(outer.program, outer).value(closure, [to_argument(value)]))

    @property
    def mark(self) -> str:
        """Return the content hash of the function in hexadecimal: it changes when anything that the function does changes
        (V-3.3). Raises panic P013 as `step_closure`."""
        machine = self.machine()
        number = step_closure(machine, self.place, 1).function.number
        return str(machine.program.image.functions[number].hash.hex())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepFunction) and (other.step, other.place) == (self.step, self.place)

    def __hash__(self) -> int:
        return hash((self.step, self.place))


def default_value(machine: Machine, code: Any) -> Any:
    """Run a function without parameters, of which `code` is the linked code, and return its value: the default of a field that
    stored data lacks (M-8.23). Raises panics as `StepMachine.value`."""
    return StepMachine(machine.program, machine).value(Closure(code), [])


def step_closure(machine: Machine, place: Sequence[int], parameters: int) -> Closure:
    """Return the function that initialisation gave a step of a memory; `place` as in `StepFunction`. P013 when there is none with
    that number of parameters, which happens with foreign images only."""
    closure = machine.configured.get(("memories", place[0], f"step{place[1]}"))
    if type(closure) is not Closure or closure.function.argc != parameters:
        raise Panic("P013", "the image gives the step of a memory no function that fits")
    return closure


def _same(value: Any) -> Any:
    return value


def _messages(value: Array) -> Any:
    from ..memory.methods import message_of

    return [message_of(message) for message in value.items]


def _group(group: Any) -> Any:
    """Return a group as the functions of a rule see it (M-10.23). It is built once, and shared by all of them."""
    if group.shown is None:
        items = Array([_observation(observation) for observation in group.members])
        group.shown = share(Observed.of((group.key, len(group.members), items)))
    return group.shown


def _observation(observation: Any) -> Any:
    if observation.shown is None:
        observation.shown = share(from_json(observation.data))
    return observation.shown


def _text_or_nil(value: Any) -> Any:
    return check(value, ("nilable", ("string",)))


def _learned(value: Any) -> Any:
    from ..memory.fact_methods import content_of

    content, confidence, about = check(value, ("struct", "Learned")).values()
    return content_of(content), confidence, list(about.items)


# Per step: what makes the argument of the function from what the runtime has, and what the runtime takes from its result.
FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "redact": (_same, _same),
    "clip_with": (_same, _same),
    "pin_when": (lambda message: message_array([message]).items[0], _same),
    "shape": (message_array, _messages),
    "bound": (from_json, _same),
    "learn_by": (_observation, _text_or_nil),
    "learn_when": (_group, _same),
    "learn_store": (_group, _learned),
}
