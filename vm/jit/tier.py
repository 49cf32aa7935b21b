"""The translated tier: the translated parts of a program, and what runs them for one machine (V-7.3).

While a part runs, Python's own frames stand for those of the task. A `Deoptimise` or a panic that comes out of them shows by its
traceback where each one was, and the frames of the interpreter are built from that.

Hands on `Tier`, which the session gives to the machine as `make_tier`: the machine then calls `call`, `loop`, `flag` and
`charge`. What becomes of an opcode stands in the families of `emitter.py`; when code is translated, `interp/machine.py` decides.
To deoptimise is to go on in the interpreter, from the place that translated code has come to. Nothing here writes Python text or
files: what a host keeps of it between processes, it gets from `Translation.packed`.
"""

from __future__ import annotations

import sys
from types import FunctionType

from ..builtins.binding import arguments_of
from ..bytecode.opcodes import OPCODES
from ..interp.dispatch import exec_call_inout, fixed_method, plain_row, safe_method
from ..interp.linked import Code
from ..interp.machine import IN_A_ROW
from ..interp.tasks import Invoke
from ..panics import Panic
from ..values import UNSET, Array, Closure, Err, RangeValue, ToolRef
from ..values.containers import CONTAINERS
from ..values.limits import limits
from .analysis import TALLEST, CallGraph
from .library import NAMES, Deoptimise, Part, blank, is_literal, named_function, site_of, state_before, within
from .literals import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType, TracebackType
    from typing import Any

    from ..interp.effects import DirectMethod
    from ..interp.link import Program
    from ..interp.linked import LoopSite, Site
    from .functions import Function
    from .library import Closures, Inlined

    Key = tuple[int, int, bool, Closures]
    Names = tuple[dict[str, tuple[int, Closures]], dict[str, Any], list[str]]


class Translation:
    """The translated parts of a program, made when they are first wanted and shared by its machines. What the host has kept of
    them from other processes is not made again; the translator is only imported for the first part that has to be made.
    `graph`: the call graph of the `program`. `functions`: by (function, metered, closures), what `function` returns. `bodies`:
    by (function, metered), what `loops` returns. `parts`: by (function, head or -1 for all of it, -2 for a method of a tool
    that gets its state by a lease, metered, closures); None for what stays with the interpreter. Closures are what a part is
    specialised for: pairs of a parameter and the number of a function."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.graph = CallGraph(program)
        self.functions: dict[tuple[int, bool, Closures], Function | None] = {}
        self.parts: dict[Key, Part | None] = {}
        self.bodies: dict[tuple[int, bool], dict[int, frozenset[int]]] = {}
        kept = None if program.kept is None else program.kept.read()
        if kept is not None:
            self.bodies, rows = kept
            self.parts = {key: None if row is None else Part.unpacked(row) for key, row in rows.items()}
        self.walked: dict[tuple[int, Closures], int] = {}  # elements that a function was given with some closures
        self.made = {(number, closures) for number, _, _, closures in self.parts if closures}  # what was specialised for closures
        self.names: dict[Any, Names] = {}  # by code object of a part, what `names_of` returns
        self.transient: set[Key] = set()  # not translated for a reason that another process may not have

    def count(self) -> int:
        """Return how many parts `packed` has, those that stay with the interpreter included."""
        return len(self.parts) - len(self.transient)

    def packed(self) -> tuple[Any, Any]:
        """Return what the host may keep, as `program.kept.read()` is to give it back for the same image and the same translator.
        Other threads may be translating meanwhile."""
        parts = [(key, part) for key, part in list(self.parts.items()) if key not in self.transient]
        return dict(self.bodies), {key: None if part is None else part.packed() for key, part in parts}

    def function(self, number: int, metered: bool, closures: Closures = ()) -> Function | None:
        """Return what is known of a function before a part of it is made; None where it stays with the interpreter. Raises
        RecursionError or MemoryError where there is little room: the parts then stay with the interpreter (`_compiled`)."""
        from .flow import Unshaped
        from .functions import Function

        key = (number, metered, closures)
        if key not in self.functions:
            try:
                self.functions[key] = Function(self.program, self.graph, number, metered, closures)
            except Unshaped:
                self.functions[key] = None
        return self.functions[key]

    def whole(self, number: int, metered: bool, closures: Closures = ()) -> Part | None:
        """Return a function of the program as a part, which is made once for these arguments; None where it stays with the
        interpreter."""
        key = (number, -1, metered, closures)
        if self.graph.suspends[number]:
            return None
        if key not in self.parts:
            self.parts[key] = self._compiled(key, lambda function: function.whole())
        return self.parts[key]

    def method(self, number: int) -> Part | None:
        """Return a method of a tool as a part whose state is lent, made once; None where it has to be called in another way."""
        key = (number, -2, False, ())
        if self.graph.suspends[number]:
            return None
        if key not in self.parts:
            self.parts[key] = self._compiled(key, lambda function: function.method())
        return self.parts[key]

    def loops(self, number: int, metered: bool) -> dict[int, frozenset[int]]:
        """Return the heads of the loops that may be translated by themselves, with their blocks, as indexes in the function; none
        where there is little room to find them."""
        key = (number, metered)
        if key not in self.bodies:
            try:
                function = self.function(number, metered)
                self.bodies[key] = {} if function is None else function.loops()
            except (RecursionError, MemoryError):
                return {}  # not for ever: there may be more room at the next call
        return self.bodies[key]

    def loop(self, number: int, head: int, metered: bool, closures: Closures = ()) -> Part | None:
        """Return the loop of a function with this head, the index of an instruction in it, as a part, made once; None where it
        stays with the interpreter."""
        key = (number, head, metered, closures)
        if key not in self.parts:
            self.parts[key] = self._compiled(key, lambda function: function.loop(head))
        return self.parts[key]

    def _compiled(self, key: Key, make: Callable[[Function], Part | None]) -> Part | None:
        number, _, metered, closures = key
        kept = self.program.kept
        finish = None if kept is None else kept.making(len(self.parts) + 1)
        try:
            from .flow import Unshaped

            function = self.function(number, metered, closures)
            part = None if function is None else make(function)
            self.made |= {(number, closures)} if closures else set()
            if part is not None:
                module = compile(part.source, f"<translated {part.name}>", "exec", dont_inherit=True)
                part.code = next(constant for constant in module.co_consts if hasattr(constant, "co_code"))
            return part
        except (RecursionError, MemoryError):  # nested deeper than CPython compiles, or there was little room here
            self.transient.add(key)
            return None
        except (Unshaped, SyntaxError):  # the second: nested deeper than CPython compiles
            return None
        finally:
            if finish is not None:
                finish()

    def names_of(self, code: Any) -> Names:
        """Return what the names in the code of a part are, which is found once: functions of the program, by name with number and
        closures; what stands for the same in every tier; and the names of what each tier makes for itself."""
        if code not in self.names:
            functions: dict[str, tuple[int, Closures]] = {}
            values: dict[str, Any] = {}
            made: list[str] = []
            for name in code.co_names:
                called = named_function(name) if name[:2] == "fn" else None
                if called is not None:
                    functions[name] = called
                    continue
                if name.startswith((TARGETS, "FN")) or is_literal(name):
                    made.append(name)
                    continue
                try:
                    values[name] = self.value_of(name)
                except KeyError:
                    continue  # an attribute, or a name that each tier has
            self.names[code] = functions, values, made
        return self.names[code]

    def value_of(self, name: str) -> Any:
        """Return what a global name that the emitter writes (the forms are in `emitter.py`) stands for, where it is no function
        of the program. Raises KeyError for the name of an attribute, which never has one of those forms."""
        if name.startswith("new") and name[3].isdigit():
            return blank(self.value_of(f"K{name[3:]}"))
        letter, rest = name[0], name[1:]
        if letter == "K" and "_" in rest:
            number, _, operand = rest.partition("_")
            return self.program.resolve_operand(OPCODES[int(number)], int(operand))
        if letter == "W" and rest[:1] == "_":
            numbers = [int(number) for number in rest[1:].split("_")]
            return tuple(zip([self.program.codes[number] for number in numbers[::2]], numbers[1::2], strict=True))
        if letter == "C" and "_" in rest:
            return literal(self.program, *map(int, rest.split("_")))
        if letter == "B" and rest.isdigit():
            return self.program.constants[int(rest)][0]
        return NAMES[name]


# ---------------------------------------------------------------- running them

NESTED = 300  # Python frames of translated functions in one another; CPython has room for 1,000 of its own
WORTHWHILE = 20_000  # elements that a function walks over with one closure before it is specialised for that
SPECIALISED = 8  # closures that one function is specialised for
TARGETS = "TK"  # how names begin of the functions that a site calls, by class
BETWEEN = 2  # frames between translated code and a method that is found at run time
WORDS = {"None": None, "True": True, "False": False}
WARM = 1 << 30  # hits of what is to be translated at once: more than any threshold
PATIENCE = 50  # times that a function or loop may deoptimise
NEVER = 1 << 30  # more calls than may nest
PASSED = 5_000  # fuel that a loop uses before it asks how much is left


def walk_length(value: Any) -> int:
    """Return how many elements a walk over an Array or a range with an end has; 1 for any other value."""
    if type(value) is RangeValue:
        return 1 if value.end is None else value.length()
    return len(value.items) if type(value) is Array else 1


class FunctionValues(dict):  # type: ignore[type-arg]  # typing is not loaded to run
    """By the Code of a function value, its Python function; None where only the interpreter can call it, or it takes another
    number of arguments than `count`."""

    def __init__(self, tier: Tier, count: int) -> None:
        super().__init__()
        self.tier = tier
        self.count = count

    def __missing__(self, code: Any) -> Any:
        tier = self.tier
        function = None
        known = code.home is tier.program and code.number in tier.translation.graph.values
        if known and code.argc == self.count:
            function = tier.function(code.number)
            tier.program.link(code)  # its cost is known from then on
        self[code] = function
        return function


def with_room(function: Any, count: int, counted: bool, marks: bool) -> Any:
    """Return the Python function of a method of the program, of `count` parameters, as a site calls it: with the room for calls
    last, which goes on to one that is `counted`. It `marks` the receiver as shared before."""
    if count == 1 and not marks:
        return (lambda this, room: function(this, room - 1)) if counted else lambda this, room: function(this)

    def method(this: Any, *arguments: Any) -> Any:
        if marks:
            this.shared = True
        return function(this, *arguments[:-1], arguments[-1] - 1) if counted else function(this, *arguments[:-1])

    def alone(this: Any, room: int) -> Any:
        this.shared = True
        return function(this, room - 1) if counted else function(this)

    def with_argument(this: Any, argument: Any, room: int) -> Any:
        if marks:
            this.shared = True
        return function(this, argument, room - 1) if counted else function(this, argument)

    return {1: alone, 2: with_argument}.get(count, method)


class Lease:
    """What calls of one site of one method of a tool have of its `state`, without asking for it each time, until translated code
    comes to its end; None meanwhile. `tool` is the handle by which the method is called, `method` what the machine knows of it,
    `function` the Python function, which takes the lease as its last argument; `run` is the number of the run of translated code
    that has called it last, negative if there is no lease in that."""

    __slots__ = ("tier", "site", "tool", "method", "function", "state", "run")

    def __init__(self, tier: Tier, site: Site, tool: ToolRef, method: DirectMethod, part: Part) -> None:
        self.tier = tier
        self.site = site
        self.tool = tool
        self.method = method
        self.function = FunctionType(part.code, tier.globals, part.name, (self,))
        self.state: Any = None
        self.run = 0

    def call(self, tool: ToolRef, *arguments: Any) -> Any:
        """Do a call of the site, of any tool, that asks for the state; the room for calls is the last argument. If it is of this
        tool, there is no lease for it in this run of translated code. Raises as `Tier.call_method`."""
        if tool is self.tool:
            self.tier.refuse(self)
        return self.tier.call_tool(tool, self.site, arguments)


class Tier:
    """What runs translated code for one machine, whose loop calls `call` and `loop`. `metered`: the run has a limit of steps, or
    its steps are to be counted. `parts`: those that are linked, by code object; `functions`: Python functions by number, None for
    what stays with the interpreter; `loops`: those of loops by (identity of the site, closures); `targets`: as `targets_of` gives
    them.

    `globals` are those of translated code. `S` is the stop flag, and `L` the number of calls that must be able to nest still
    for a function to go on. `F` holds the fuel left; below `LOW` the interpreter goes on, which stops at the very
    instruction. `D` calls may nest in a function that counts them and is called by one that does not. `Q` characters are surely
    not too many for a String of this run, and a container has at most `M` elements. `KEEP` says whether a panic shows locals, so
    that what moves on has to stay as it is; `MARKED` are the classes whose values are marked as shared by setting `shared`;
    `FN2` has the Python functions of function values that take 2 arguments (`FunctionValues`); `R` holds how many calls of tools
    may still be made with a lease before the host performs one; `MACHINE` is the machine."""

    def __init__(self, machine: Any, metered: bool) -> None:
        self.machine = machine
        self.program = machine.program
        self.metered = metered
        translation = self.program.translation
        if translation is None:
            translation = self.program.translation = Translation(self.program)
        self.translation: Translation = translation
        self.parts: dict[Any, Part] = {}
        self.functions: dict[int, Any] = {}
        self.loops: dict[tuple[int, Closures], Any] = {}
        self.specialised: dict[tuple[int, Closures], Any] = {}  # Python functions of whole functions
        self.deoptimisations: dict[Any, int] = {}  # how often a function or loop has deoptimised
        self.targets: dict[Site, dict[type, Any]] = {}
        self.tools: dict[tuple[Site, str], Any] = {}  # what `_tool_target` gives, by site and name of the tool
        self.tool_code: Any = None  # the code object of these, once there is one
        # Of methods of tools that are called with a lease: the leases that hold now, how many calls the host lets pass, how many
        # of these are left, and the number of this run of translated code.
        self.leases: list[Lease] = []
        self.granted = 0
        self.left = [0]
        self.runs = 0
        self.excused = False  # whether the way back to the interpreter that comes next is not counted
        self.fuel = [0]
        self.charged = False  # whether translated code runs that counts fuel
        self.globals: dict[str, Any] = {
            "S": False, "L": 1, "F": self.fuel, "LOW": PASSED, "MACHINE": machine,
            "D": NESTED, "KEEP": False, "Q": 0, "M": 0,
            "MARKED": CONTAINERS.union([kind for kind in self.program.classes if isinstance(kind, type)]),
            "call_method": self.call_method, "call_inout": self.call_inout, "R": self.left,
            "leave_to_host": self.leave_to_host, "failed_in_tool": self.failed_in_tool,
        }  # fmt: skip

    def flag(self, stopped: bool) -> None:
        """Set whether translated code is to leave where it next looks: at the head of a loop, or on entry of a counted function;
        set `Q` and `M` from the limits of this thread too. Any thread may call this."""
        self.globals["S"], self.globals["L"] = stopped, NEVER if stopped else 1
        self.globals["Q"], self.globals["M"] = limits.surely // 4, limits.items

    def charge(self, cost: int) -> bool:
        """Charge the fuel (instructions) of a built-in that translated code calls and return True; False where none runs that
        counts it. Raises Deoptimise where little would be left: then the interpreter calls the built-in (V-6.7)."""
        if not self.charged:
            return False
        if self.fuel[0] - cost < self.globals["LOW"]:
            raise Deoptimise
        self.fuel[0] -= cost
        return True

    # ------------------------------------------------------------ Python functions

    def function(self, number: int) -> Any:
        """Return the Python function of a function of the program; None if it stays with the interpreter."""
        if number not in self.functions:
            part = self.translation.whole(number, self.metered)
            self.functions[number] = None if part is None or not self.link(part) else self.globals[f"fn{number}"]
        return self.functions[number]

    def closures_of(self, number: int, arguments: list[Any]) -> Closures:
        """Return what a function is specialised for, called with these arguments: the closures that it calls, once it has walked
        over much with them; () where it is not worth it."""
        positions = () if self.metered else self.translation.graph.called_parameters(number)
        if not positions:
            return ()
        closures = []
        for position in sorted(positions):
            value = arguments[position]
            if type(value) is not Closure or value.function.home is not self.program:
                return ()
            if not self.translation.graph.suspends[value.function.number]:
                closures.append((position, value.function.number))
        if not closures:
            return ()
        key = (number, tuple(closures))
        length = max([walk_length(value) for value in arguments], default=1)
        translation = self.translation
        walked = translation.walked[key] = translation.walked.get(key, 0) + length
        least = WORTHWHILE if key not in translation.made else 0
        if walked < least or key not in self.specialised and self._is_specialised_enough(number):
            return ()
        return key[1]

    def _is_specialised_enough(self, number: int) -> bool:
        return sum([known == number for known, _ in self.specialised]) >= SPECIALISED

    def specialised_function(self, number: int, closures: Closures) -> Any:
        """Return the Python function of a function for calls with some closures; that for any call, None included, where there is
        no such or there are no closures."""
        if not closures:
            return self.function(number)
        key = (number, closures)
        if key not in self.specialised:
            part = self.translation.whole(number, self.metered, closures)
            self.specialised[key] = None if part is None or not self.link(part) else self.globals[part.name]
        return self.specialised[key] or self.function(number)

    def link(self, part: Part) -> bool:
        """Make a part and all that it calls functions of Python, and return True; none of them, and False, if some of that is not
        translated."""
        parts: dict[str, Part] = {part.name: part}
        pending = [part]
        while pending:
            for name, called in self.translation.names_of(pending.pop().code)[0].items():
                if name not in self.globals and name not in parts:
                    callee = self.translation.whole(called[0], self.metered, called[1])
                    callee = callee or self.translation.whole(called[0], self.metered)
                    if callee is None:
                        return False
                    parts[name] = callee
                    pending.append(callee)
        for name, callee in parts.items():
            self.globals[name] = self._python_function(callee)
        return True

    def _python_function(self, part: Part) -> Any:
        _, values, made = self.translation.names_of(part.code)
        for name, value in values.items():
            self.globals.setdefault(name, value)
        for name in made:
            if name in self.globals:
                continue
            if name.startswith("FN"):
                self.globals[name] = FunctionValues(self, int(name[2:]))
            elif name.startswith(TARGETS):
                self.globals[name] = self.targets_of(self.translation.value_of(name[1:]))
            else:
                self.globals[name] = self.translation.value_of(name)
        self.parts[part.code] = part
        self.globals["LOW"] = max(self.globals["LOW"], PASSED + (NESTED + TALLEST) * part.fuel)
        return FunctionType(part.code, self.globals)

    # ------------------------------------------------------------ what translated code calls

    def targets_of(self, site: Site) -> dict[type, Any]:
        """Return the Python functions that a site calls, by the class of the receiver; each takes receiver, arguments and room.
        The dict is filled as the site is called with new classes."""
        return self.targets.setdefault(site, {})

    def call_method(self, receiver: Any, site: Site, arguments: list[Any], room: int) -> Any:
        """Return `receiver.method(arguments)`, with room for `room` calls nested in it. Raises Deoptimise where it may end the
        slice or no Python function is there, P014, P015 and P007 as `exec_call_method` does, and what the method raises."""
        if type(receiver) is ToolRef and not site.trait:
            target = self._tool_target(receiver, site)
            if target is None:
                raise Deoptimise
            if not self.metered:
                self.targets_of(site)[ToolRef] = target
            return target(receiver, *arguments, room)
        entry = safe_method(self.machine, receiver, site)
        if entry is None:
            raise Deoptimise
        if not self.metered and type(receiver) not in self.targets_of(site):
            target = self._body_target(receiver, site, entry) or self._method_target(receiver, site, True)
            if target is not None:
                self.targets[site][type(receiver)] = target
        value = entry(self.machine, None, receiver, site, arguments)
        return self.invoke(value, room) if type(value) is Invoke else value

    def call_inout(self, receiver: Any, site: Site, arguments: list[Any], room: int) -> Any:
        """Return what a method with `mut self` gives: the pair of its result and the new receiver. Raises Deoptimise where no
        Python function is there, P014, P015 and P007 as `exec_call_inout` does, and what the method raises."""
        if not self.metered and type(receiver) not in self.targets_of(site):
            target = self._method_target(receiver, site, False)
            if target is not None:
                self.targets[site][type(receiver)] = target
        return self.invoke(exec_call_inout(self.machine, receiver, site, arguments), room)

    def _method_target(self, receiver: Any, site: Site, shares: bool) -> Any:
        """Return the function for a method of the program that receivers of this class always have; None without one."""
        code = fixed_method(self.machine, receiver, site)
        if code is None or code.inout is shares or code.home is not self.program:
            return None
        function = self.function(code.number)
        if function is None or code.number in self.translation.graph.values:
            return None
        graph = self.translation.graph
        marks = shares and not graph.borrows(code.number, 0)
        return with_room(function, code.argc, graph.counted[code.number], marks)

    def _tool_target(self, tool: ToolRef, site: Site) -> Any:
        """Return the function for a method of a tool that runs within the slice; None where there is no Python function for it.
        It is made once for a site and a tool."""
        key = (site, tool.name)
        if key not in self.tools:
            self.tools[key] = self._new_tool_target(tool, site)
        return self.tools[key]

    def _new_tool_target(self, tool: ToolRef, site: Site) -> Any:
        machine, name, graph = self.machine, tool.name, self.translation.graph
        names = self.program.tool_methods.get((name, site.name))
        method = None if names is None else machine.direct_method(name, site.name)
        if method is None or names is None:
            return None
        in_order = not site.names and site.argc == len(names)
        code = method.code
        function = self.function(code.number)
        if function is None or code.number in graph.values:
            return None
        counted, metered, fuel = graph.counted[code.number], self.metered, self.fuel
        begin, in_tools, end = machine.begin_tool, machine.in_tools, method.end
        self.program.link(code)
        part = self.translation.method(code.number) if in_order and method.lends and not metered else None
        lease = None if part is None or not self.link(part) else Lease(self, site, tool, method, part)

        def tool_method(this: Any, *arguments: Any) -> Any:
            if this.name != name:
                return self.call_tool(this, site, arguments)
            if lease is not None and lease.state is None and lease.run != -self.runs:
                if lease.run == self.runs and self.lend(lease):
                    return lease.function(this, *arguments)
                lease.run = self.runs  # the first call of a run takes less than a lease
            if self.leases:
                self.count_lent()
            if machine.in_a_row >= IN_A_ROW:  # the host is to perform this call, and the next ones run here again
                self.leave_to_host()
            values: Sequence[Any] = arguments[:-1]
            if not in_order:
                values = arguments_of(site, list(values), names, (UNSET,) * len(names))
            given = begin(machine.running, method, values)
            if given is None:
                raise Deoptimise
            if metered:
                fuel[0] -= code.cost
            value = function(*given, arguments[-1] - 1) if counted else function(*given)
            in_tools.pop()
            value = end(value)
            if self.leases:
                self.renew_leases(name)
            return value if type(value) is not Err or value.way else self._from_tool(value, sys._getframe())

        self.tool_code = tool_method.__code__
        return tool_method

    def call_tool(self, tool: ToolRef, site: Site, arguments: tuple[Any, ...]) -> Any:
        """Do the call of a site that perhaps has called the method of another tool before. Raises as `call_method`."""
        target = self._tool_target(tool, site)
        if target is None:
            raise Deoptimise
        return target(tool, *arguments)

    def lend(self, lease: Lease) -> bool:
        """Give a lease its state, and let its site call the method by it, and return True; False where each call has to ask."""
        state = self.machine.lend_tool(lease.method)
        if state is None:
            return False
        if not self.leases:
            self.granted = self.left[0] = self.machine.calls_in_a_row()
        self.leases.append(lease)
        lease.state = state
        self.targets_of(lease.site)[ToolRef] = lease.function
        return True

    def renew_leases(self, name: str) -> None:
        """Give the leases of a tool its state anew, behind a call of it that has asked for the state."""
        self.granted = self.left[0] = self.machine.calls_in_a_row()
        for lease in self.leases:
            if lease.tool.name == name:
                lease.state = self.machine.lend_tool(lease.method)
                if lease.state is None:
                    self.end_leases()
                    return

    def count_lent(self) -> None:
        """Tell the machine of the calls that were made with leases."""
        self.machine.count_tools(self.granted - self.left[0])
        self.granted = self.left[0]

    def end_leases(self) -> None:
        """Take the states back: the next calls ask for them again."""
        self.count_lent()
        for lease in self.leases:
            lease.state = None
            self.targets_of(lease.site)[ToolRef] = self.tools[lease.site, lease.tool.name]
        self.leases.clear()

    def refuse(self, lease: Lease) -> None:
        """End a lease, and give it no other one in this run of translated code."""
        self.end_leases()
        lease.run = -self.runs

    def leave_to_host(self) -> None:
        """Let the host perform the call that comes next. Raises Deoptimise."""
        self.excused = True
        raise Deoptimise

    def failed_in_tool(self, failed: Err) -> Any:
        """Return the Err that a method with a lease gives, as `_from_tool`; only such a method calls this."""
        return self._from_tool(failed, sys._getframe(1).f_back)

    def _from_tool(self, failed: Err, at: FrameType | None) -> Any:
        """Return the Err that a method of a tool has given, with the place that translated code has come to as its way: in the
        frame `at` or around it."""
        inner: list[tuple[Any, Any, Any, Code]] = []
        while at is not None and at.f_code is not RUN:
            part = self.parts.get(at.f_code)
            if part is not None:
                index, innermost = part.places[site_of(part, at.f_lineno).index]
                inner[:0] = [frame(self.program, inlined, {}, index) for inlined, index in within(innermost, index + 1)]
            at = at.f_back
        following, _, _, code = inner.pop()
        return self.machine.from_outside(failed, following, code, [*self.machine.running.frames, *inner])

    def _body_target(self, receiver: Any, site: Site, entry: Any) -> Any:
        """Return the function for a built-in method that changes nothing and gets all its arguments by position."""
        row = plain_row(receiver, site, entry)
        if row is None:
            return None
        body = row.body
        return lambda this, *arguments: body(this, *arguments[:-1])

    def invoke(self, call: Invoke, room: int) -> Any:
        """Return what a function of the program gives, called as translated code. Raises Deoptimise where no Python function is
        there, and what comes out of it."""
        code = call.code
        function = self.function(code.number) if code.home is self.program else None
        if function is None:
            raise Deoptimise
        if self.metered:
            self.program.link(code)
            self.fuel[0] -= code.cost
        graph = self.translation.graph
        cells = (tuple(call.cells),) if code.number in graph.values else ()
        depth = (room - BETWEEN,) if graph.counted[code.number] else ()
        return function(*call.arguments, *cells, *depth)

    # ------------------------------------------------------------ what the loop calls

    def call(self, task: Any, code: Code, locs: list[Any], cells: list[Any], room: int) -> Any:
        """Run a function whose frame the interpreter has just made; `room`: how many calls may nest in it. Return a tuple with
        its value; None where the frames are in the task now, and what came out of them, if anything did, in `Machine.raised`;
        False where the interpreter has to run it."""
        arguments = locs[: code.argc]
        function = self.specialised_function(code.number, self.closures_of(code.number, arguments))
        if function is None:
            self.program.untranslated(code)
            return False
        if code.number in self.translation.graph.values:
            arguments.append(tuple(cells[: len(code.captures)]))
        if self.translation.graph.counted[code.number]:
            arguments.append(min(NESTED, room - 50))
        return self.run(task, function, arguments, room, code)

    def loop(self, task: Any, site: LoopSite, locs: list[Any], cells: list[Any], stack: list[Any], room: int) -> Any:
        """Run a loop from its head on; `stack` is what its frame has on the operand stack. Return the same as `call`."""
        code = site.code
        key = (id(site), self.closures_of(code.number, locs[: code.argc]))
        function = self.loops.get(key)
        if function is None:
            part = self.translation.loop(code.number, site.head, self.metered, key[1])
            part = part or self.translation.loop(code.number, site.head, self.metered)
            if part is None or not self.link(part):
                site.unhook()
                return False
            for head, body in self.translation.loops(code.number, self.metered).items():
                if site.head in body and head in site.all:
                    site.all[head].hits += WARM  # the loops around it come next
            function = self.loops[key] = self.globals[part.name]
        arguments = [*locs, *stack, *cells]
        if self.translation.graph.counted[site.code.number]:
            arguments.append(min(NESTED, room - 50))
        return self.run(task, function, arguments, room, site)

    def run(self, task: Any, function: Any, arguments: list[Any], room: int, unit: Code | LoopSite) -> Any:
        """Call a Python function for `unit` and return what `call` returns. It pays the machine the fuel that was used. Raises
        nothing of the program: what comes out of the function is in `Machine.raised` then."""
        machine = self.machine
        self.flag(False)
        self.globals["KEEP"] = machine.keeps_locals
        if room < 60 or machine.attention:  # the flag fell after another thread had raised it
            return False
        self.runs += 1
        outer, total = self.fuel[0], machine.fuel + machine.reserve
        if self.metered:
            if total < self.globals["LOW"]:
                return False
            self.fuel[0] = total
        self.charged = self.metered
        try:
            return (function(*arguments),)
        except Deoptimise as deoptimised:
            self.charged = False
            self.rebuild_frames(task, deoptimised.__traceback__)
            if machine.attention:
                self.attend()
            elif not self.excused:
                self.count_deoptimisation(unit)
            self.excused = False
            return None
        except BaseException as error:
            machine.raised = self.as_panic(error)
            self.rebuild_frames(task, error.__traceback__, failed=True)
            return None
        finally:
            self.charged = False
            if self.leases:
                self.end_leases()
            if self.metered:
                machine.pay(total - self.fuel[0])
                self.fuel[0] = outer

    def attend(self) -> None:
        """Do now what the stop flag stands for, and not only when the interpreter has used its chunk of fuel. What ends the run
        by that is put into `Machine.raised`."""
        try:
            self.machine.attend()
        except BaseException as error:
            if isinstance(error, Panic):
                error.is_between = True
            self.machine.raised = error

    def count_deoptimisation(self, unit: Code | LoopSite) -> None:
        """Give a function or loop back to the interpreter if it deoptimises often, since rebuilt frames cost more than translated
        code saves. Of a function that is most of its calls; of a loop nobody counts the rounds between."""
        count = self.deoptimisations[unit] = self.deoptimisations.get(unit, 0) + 1
        if count <= PATIENCE:
            return
        if not isinstance(unit, Code):
            unit.unhook()
        elif 2 * count > unit.hits % WARM:
            self.program.untranslated(unit)

    def as_panic(self, error: BaseException) -> BaseException:
        """Return the panic P004 for an IndexError of a read or write by position, since translated code leaves that test to
        Python; any other error as it is."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        part = None if traceback is None else self.parts.get(traceback.tb_frame.f_code)
        if part is None or traceback is None or not isinstance(error, IndexError):
            return error
        site = part.sites.get(traceback.tb_lineno)
        if site is None or site.element is None:
            return error
        array, index = [self.value(text, traceback.tb_frame.f_locals) for text in site.element]
        if type(array) is not Array or type(index) is not int or 0 <= index < len(array.items):
            return error  # it is about something else on this line
        return Panic("P004", f"index out of range: index {index}, length {len(array.items)}")

    # ------------------------------------------------------------ frames as data

    def rebuild_frames(self, task: Any, traceback: TracebackType | None, failed: bool = False) -> None:
        """Give the task the frames of the interpreter that stand for those of a traceback; the innermost becomes its state.
        `failed`: a panic ends the run, so that the operand stack is not needed."""
        frames: list[tuple[Part, dict[str, Any], int]] = []
        callers = set()  # the positions of frames that a method of a tool returns to
        while traceback is not None:
            part = self.parts.get(traceback.tb_frame.f_code)
            if part is not None and traceback.tb_lineno >= part.begun:
                values = traceback.tb_frame.f_locals
                if part.begun:
                    callers.add(len(frames) - 1)
                    self.take_over(values)
                frames.append((part, values, traceback.tb_lineno))
            elif traceback.tb_frame.f_code is self.tool_code:
                callers.add(len(frames) - 1)
            traceback = traceback.tb_next
        stack = task.stack
        for position, (part, values, line) in enumerate(frames):
            site = site_of(part, line)
            self.fuel[0] -= values.get("n", 0)
            at, innermost = part.places[site.index]
            again = not failed and position == len(frames) - 1  # else behind the call, or the instruction that failed
            if not failed:
                entries = site.again if again and site.again is not None else site.stack
                stack += [self.value(text, values) for text in entries or ()]
            at += not again
            task.frames += [frame(self.program, inlined, values, at) for inlined, at in within(innermost, at)]
            if position in callers and position < len(frames) - 1:
                following, *rest = task.frames[-1]
                task.frames[-1] = (self.machine.behind_tool(following), *rest)
        task.state = (*task.frames.pop(), None if failed else stack.pop())

    def take_over(self, values: dict[str, Any]) -> None:
        """Let the machine know of a call of a method with a lease that has not come to its end; `values` are its variables."""
        lease = values["H"]
        lease.method.take_over(lease.state, state_before(values))
        self.machine.in_tools.append(lease.method)

    def value(self, text: str, values: dict[str, Any]) -> Any:
        """Return the value of an atom of the operand stack in a frame with these local variables."""
        if text in values:
            return values[text]
        if text in WORDS:
            return WORDS[text]
        if not text.isidentifier():
            return int(text)
        if text not in self.globals:  # a constant that only frames need
            self.globals[text] = self.translation.value_of(text)
        return self.globals[text]


RUN = Tier.run.__code__  # of the Python frame beneath those of translated code


def frame(program: Program, inlined: Inlined, values: dict[str, Any], index: int) -> tuple[Any, list[Any], list[Any], Code]:
    """Return a frame of the interpreter (next node, locals, cells, code) of an inlined function that goes on with the instruction
    `index`; `values` are the variables of the translated frame."""
    code = program.codes[inlined.function]
    program.link(code)
    following = code.nodes[index] if index < len(code.nodes) else None
    slots = [values.get(f"l{n}") for n in range(inlined.slot, inlined.slot + code.argc + len(code.blank))]
    cells = [values.get(f"c{n}") for n in inlined.cells]
    return following, slots, cells, code
