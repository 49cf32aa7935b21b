"""The records that linked code consists of: functions, call sites, loops, error forms.

The linker (`link.py`) makes them, and hooks and counters in them change while the program runs, for all of its sessions;
dispatch, tasks, the loop and the translated tier read them without importing one another. Bodies of built-ins that take their
call site get a `Site`. Nothing is linked, run or translated here.

Hands on `Code`, `LoopSite`, `Site`, `HostFunction`, `PythonFunction` and `ErrorForm` to these; `Code` and `PythonFunction` also
to snapshots and the runtime, `PythonFunction` to the API, `Code` and `Site` to `vm/builtins/`; and `GROUP_SIZES` to the linker
and `template.py`.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..values.errors import is_family, make_error
from ..values.objects import EnumValue, Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..values.objects import Way


# How many values the starred name of a stack effect stands for, by the kind of the operand: functions of the linked operand.
GROUP_SIZES: dict[k.OperandKind, Callable[[Any], int]] = {
    k.COUNT: lambda operand: operand,
    k.FUNCTION: lambda operand: operand.argc,
    k.METHOD: lambda operand: operand.argc,
    k.HOST: lambda operand: operand.argc,
    k.BUILTIN: lambda operand: operand[1],
    k.TYPE: lambda operand: len(operand.decl.fields),
    k.EXTERN: lambda operand: operand.argc,
    k.ERROR: lambda operand: operand.count,
    k.VARIANT: lambda operand: operand.decl.variants[operand.variant].arity,
}


def is_error(value: Any) -> bool:
    """Return whether a value is a struct or enum with `impl Error` (L-3.11.14)."""
    return isinstance(value, (Struct, EnumValue)) and value.decl.is_error


class Code:
    """A linked function. `name`: as it displays, "" for an anonymous one; `label`: its name in the image, for traces. `entry`:
    the node by which a call enters it; at first one that links the function. `cost`: the fuel of the straight run of instructions
    at its beginning. `nodes`: one for each instruction, none until it is linked. `home`: its program, which a closure kept by a
    later program of the same session still needs. `hidden`: traces leave it out (V-7.5). `argc` counts its parameters, `blank` is
    what the further locals of a new frame hold, `cell_count` is how many cells that has, `captures` are the numbers of the cells
    that a closure takes from the frame around it. `inout`: it has `mut self`; `returns_option`: a `?` on None returns None.
    `number` is that of the function in the image. `library` is the name of the library whose code it is, "" for the program's and
    the standard library's."""

    __slots__ = (
        "number", "name", "label", "argc", "blank", "cell_count", "captures", "entry", "cost", "nodes", "hidden",
        "returns_option", "inout", "home", "hits", "library", "_indexes",
    )  # fmt: skip

    def __init__(self, home: Any, number: int, function: im.Function, begin: Callable[[Code], list[Any]]) -> None:
        self.home = home
        self.number = number
        # an anonymous function displays as <fn> (L-5.1.15); traces call it by the name in the image
        self.name = "" if function.flags & im.F_CLOSURE else function.name
        self.label = function.name
        self.argc = len(function.params)
        self.blank: list[Any] = [None] * (function.slots - self.argc)
        self.cell_count = function.cells
        self.captures: list[int] = function.captures
        self.entry = begin(self)
        self.cost = 0
        self.nodes: list[list[Any]] = []
        self._indexes: dict[int, int] = {}  # by identity of a node, once one was asked for
        self.library = ""
        self.hits = 0  # calls, while the interpreter runs it
        self.hidden = bool(function.flags & im.F_HIDDEN)
        self.inout = bool(function.flags & im.F_INOUT)
        self.returns_option = bool(function.flags & im.F_OPTION)

    def index_of(self, node: Any) -> int | None:
        """Return the index of the instruction whose node this is; None for any other node."""
        if len(self._indexes) != len(self.nodes):
            self._indexes = {id(one): index for index, one in enumerate(self.nodes)}
        return self._indexes.get(id(node))

    def way_by(self, index: int) -> Way:
        """Return the way of an error that the instruction of this index makes: one place, or none in a hidden function."""
        return () if self.hidden else ((self, index),)


class LoopSite:
    """The operand of LOOP, to which back edges go as long as the loop may yet be translated. `code`: its function; `head`: index
    of its first instruction; `depth`: of the operand stack there; `jumps`: the operands of the back edges; `target`: the node
    that they go to when nothing counts rounds; `hits`: rounds so far; `all`: the sites of the function by their heads."""

    __slots__ = ("code", "head", "depth", "target", "counting", "jumps", "hits", "all")

    def __init__(self, code: Code, head: int, depth: int, target: list[Any], others: dict[int, LoopSite]) -> None:
        self.code = code
        self.head = head
        self.depth = depth
        self.target = target
        self.counting: list[Any] = []  # the node LOOP
        self.jumps: list[list[Any]] = []
        self.hits = 0
        self.all = others
        others[head] = self

    def unhook(self) -> None:
        """Let the back edges go straight to the loop's first node: the loop stays with the interpreter."""
        for jump in self.jumps:
            jump[0] = self.target

    def hook(self) -> None:
        """Let the back edges go to LOOP, which counts rounds until the loop is worth translating."""
        for jump in self.jumps:
            jump[0] = self.counting


class Site:
    """A call of a method by name. `argc`: the number of all arguments; `names`: of the trailing ones that are named; `cache`: the
    calling function per receiver class, filled by `dispatch`; `trait`: the trait whose method is meant, "" for any."""

    __slots__ = ("name", "trait", "argc", "names", "cache")

    def __init__(self, name: str, argc: int, names: tuple[str, ...]) -> None:
        self.trait, _, self.name = name.rpartition("::")
        self.argc = argc
        self.names = names
        self.cache: dict[type, Any] = {}


class HostFunction:
    """The operand of CALL_HOST: the kind of effect, and `prepare`, which checks the arguments and returns the payload; `argc` is
    how many it takes, a schema included. `at_once` returns the result for a payload without the host, None where it cannot; it
    is None itself where only the host can."""

    __slots__ = ("effect", "prepare", "at_once", "argc")

    def __init__(self, effect: str, prepare: Any, at_once: Any, argc: int) -> None:
        self.effect = effect
        self.prepare = prepare
        self.at_once = at_once
        self.argc = argc


class PythonFunction:
    """The operand of CALL_EXTERN: a declared function of Python. `name` is its path in the program, `module` and `attribute` say
    where it is. By its parameters, `parameters` has the names and `types` the descriptors; `result` is that of its result.
    `effect` is the class that `@effect` gives it, or None, `seconds` the limit of `@timeout`, or None, `retry` the arguments of
    `@retry`, or None. `is_async`: it is declared as a coroutine function. `thread`: a plain function runs in a worker thread.
    `argc` is how many arguments it takes. `gives`: the descriptor of the elements where it gives them one by one, else None.
    `fallible`: its result type is a Result of HostError, which carries what goes wrong in it."""

    __slots__ = (
        "name", "module", "attribute", "parameters", "types", "result", "effect", "seconds", "retry", "is_async", "thread",
        "argc", "gives", "fallible",
    )  # fmt: skip

    def __init__(self, entry: im.Extern, function: im.Function, descriptors: list[Any]) -> None:
        decorators = dict(entry.decorators)
        self.name = entry.name
        self.module = entry.module
        self.attribute = entry.attribute
        self.parameters = tuple([name for name, _, _ in function.params])
        self.types = tuple([descriptors[index] for _, index, _ in function.params])
        self.result = descriptors[function.result]
        self.effect: str | None = decorators.get("effect", {}).get("class")
        self.seconds: float | None = decorators.get("timeout", {}).get("seconds")
        self.retry: Any = decorators.get("retry")
        self.is_async = entry.is_async
        self.thread = entry.thread
        self.argc = len(function.params)
        self.gives = None if entry.elements is None else descriptors[entry.elements]
        self.fallible = self.result[0] == "result" and self.result[2] in (("error", "HostError"), ("error", "Error"), ("any",))


class ErrorForm:
    """The operand of ERROR and IS_ERROR: a family, a variant or None, and the names of the fields after the message. `count`: the
    values that ERROR pops."""

    __slots__ = ("family", "variant", "fields", "count")

    def __init__(self, family: str, variant: str | None, fields: tuple[str, ...]) -> None:
        self.family = family
        self.variant = variant
        self.fields = fields
        self.count = 1 + len(fields)

    def make(self, values: list[Any]) -> Any:
        """Return an error of this form from its message (nil: the default one) and the values of its fields. Raises P007 as
        `make_error`."""
        fields = dict(zip(self.fields, values[1:], strict=True))
        if values[0] is not None:
            return make_error(self.family, self.variant, {"message": values[0], **fields})
        return make_error(self.family, self.variant, fields) if fields else make_error(self.family, self.variant)

    def matches(self, value: Any) -> bool:
        """Return whether a value is an error of this family, or one below it, and of this variant if there is one."""
        family = getattr(value, "family", None)
        if family is None:  # a type with `impl Error` (L-3.11.15)
            return self.family == "Error" and self.variant is None and is_error(value)
        if not is_family(family, self.family):
            return False
        return self.variant is None or value.variant == self.variant
