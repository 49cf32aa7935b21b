"""The declared tools of a session: their states, and their methods as programs and models call them (O-4.4, O-4.20 to O-4.31).

Hands on `Tools` to the effects of tools and models and to the state of a session: `use` performs a call in source, `bindings` are
its methods as models call them. Hands on `Tools`, `Method` and `no_state` to calls within a slice (`direct.py`), `Hooks` to the
runner of a model's calls (`bindings.py`), and to other owners of tools (`memory_tools.py`, `mcp/servers.py`) what they share:
`is_enabled`, `denial`, `fitting_arguments`. Which tools one call of a model offers is `bindings.py`. MOCKS is where
`effects/tests.py` puts mocks, also those of the tools of MCP servers.
"""

from __future__ import annotations

from collections import deque

from ...vm.builtins.capabilities import BY_KEY
from ...vm.bytecode.image import F_INOUT
from ...vm.interp.tasks import is_below
from ...vm.panics import Panic
from ...vm.values import (
    NONE,
    UNSET,
    Closure,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    NoneOption,
    Ok,
    Some,
    ToolCall,
    check,
    display,
    from_json,
    matches,
    share,
    typeof,
)
from ..access.permissions import permissions_of
from ..host import AUDIT, call_host_function, emitted, for_model
from ..records import ToolDef
from ..schema.validation import Accepted, Violation, validate
from .states import States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Tool
    from ...vm.interp.effects import Effect, ToolUse
    from ...vm.values import ModelRef
    from ...vm.values.types import Descriptor
    from ..calls.settings import CallSettings
    from ..records import Call
    from ..running import EffectContext
    from .bindings import ToolBinding


class Turns:
    """The queue of one tool: its methods that change the state run one at a time, in the order in which they came (O-4.25).

    A wait that could never end, of a method for itself or of methods of several tools for each other, is refused when it begins.
    `future` makes a future of the loop, `all_of_them` has the queues of all tools; `busy`: a call has the turn; `runs` is the
    path of the task whose method has its turn."""

    __slots__ = ("name", "future", "all_of_them", "busy", "waiting", "runs")

    def __init__(self, name: str, future: Callable[[], Any], all_of_them: list[Turns]) -> None:
        self.name = name
        self.future = future
        self.all_of_them = all_of_them
        self.busy = False
        self.waiting: deque[tuple[Any, str]] = deque()  # a future, and the path of the task that waits for it
        self.runs: str | None = None

    async def take(self, task: str) -> None:
        """Wait for the turn of a call that the task with that path waits for. Every `take` that returned is followed by one
        `end`. Raises panic P013 for a wait that could never end."""
        if not self.busy:
            self.busy = True
            return
        self._refuse_circle(task)
        turn = self.future()
        entry = (turn, task)
        self.waiting.append(entry)
        try:
            await turn
        except BaseException:
            if entry in self.waiting:
                self.waiting.remove(entry)
            else:  # its turn had come when it was cancelled: the next one gets it
                self.end()
            raise

    def begin(self, task: str) -> None:
        """Note which task runs the method that has its turn, by its path."""
        self.runs = task

    def end(self) -> None:
        """Give the turn to the next one that waits, if any does."""
        self.runs = None
        while self.waiting:
            turn, _ = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False

    def _refuse_circle(self, task: str) -> None:
        """Raise P013 when what `task` would wait for waits for `task` itself.

        It is a search through the graph of waits: from a method that has its turn to the tools that tasks below it wait for."""
        visited: list[Turns] = []
        to_visit = [self]
        while to_visit:
            turns = to_visit.pop()
            if turns.runs is None or turns in visited:
                continue
            if is_below(task, turns.runs):
                raise Panic("P013", self._circle(turns))
            visited.append(turns)
            to_visit += [other for other in self.all_of_them if other._waits_below(turns.runs)]

    def _waits_below(self, running: str) -> bool:
        return any(is_below(task, running) for _, task in self.waiting)

    def _circle(self, last: Turns) -> str:
        if last is self:
            return f"tool {self.name}: a `mut self` method waits for itself; call it as `self.…`"
        return f"tools {last.name} and {self.name}: their `mut self` methods wait for each other"


# Keys in the state of a session.
TURNS = "tool_turns"  # the queues of all tools
MOCKS = "tool_mocks"  # by tool, then by method, what stands in for it: a value, or a closure that is called


class Method:
    """One method of a declared tool, from its entry in the image.

    `code` is its linked function, `definition` what a request to a model says of it, `shape` the schema type of its arguments, an
    object whose fields are at index 3; `guard` the key of the capability that it needs, None for none; `effect` the class that
    `@effect` gives it, or None. `takes_state` says that it has `self`, `changes_state` that it has `mut self` and returns a pair
    with the new state; `result` is the descriptor of its result without that."""

    __slots__ = ("tool", "name", "code", "definition", "shape", "takes_state", "changes_state", "result", "guard", "effect")

    def __init__(self, run: EffectContext, tool: str, entry: Sequence[Any]) -> None:
        name, number, wire, text, shape, schema, guard, effect = entry
        function = run.program.image.functions[number]
        self.tool = tool
        self.name: str = name
        self.code = run.program.codes[number]
        self.definition = ToolDef(wire, text, schema)
        self.shape = shape
        self.guard: str | None = guard
        self.effect: str | None = effect
        self.takes_state = len(function.params) > len(shape[3])
        self.changes_state = bool(function.flags & F_INOUT)
        result = run.program.descriptors[function.result]
        self.result = result[1][0] if self.changes_state else result

    @property
    def fallible(self) -> bool:
        """Whether its result type is a Result."""
        return bool(self.result[0] == "result")

    def failed(self, variant: str, message: str, **fields: Any) -> Err:
        """Return an Err of ToolError that names the method."""
        return Err(ErrorValue("ToolError", variant, message, {"tool": self.tool, "method": self.name, **fields}))


class Tools:
    """One instance of each declared tool (O-4.4). A spawned model has a `Tools` of its own. By the name of the tool, `numbers`
    has its place in the image, `methods` its methods by their names, `held` its state once a method has asked for it or
    `hand_over` gave it, and `turns` the queue of its methods that change the state."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.numbers = {tool.name: number for number, tool in enumerate(run.program.image.tools)}
        self.methods = {tool.name: _methods(run, tool) for tool in run.program.image.tools}
        self.held = States()
        self.turns: dict[str, Turns] = {}

    @property
    def states(self) -> dict[str, Any]:
        """The states by the names of the tools, for whoever keeps or replaces them, such as a snapshot."""
        return self.held.settled()

    @classmethod
    def of(cls, run: EffectContext) -> Tools:
        """Return the tools of the session; the first call that needs them makes them."""
        tools: Tools | None = run.state.get("tools")
        if tools is None:
            tools = run.state["tools"] = cls(run)
        return tools

    def hand_over(self, later: EffectContext) -> None:
        """Give the states, the same objects, to a session that goes on from this one, for tools that it declares with the same
        type of state. Its initialisation has run by then, or nothing is handed over."""
        tools = Tools.of(later)
        for name, state in self.states.items():
            number = tools.numbers.get(name)
            if number is not None and type(later.machine.configured.get(("tools", number, "state"))) is type(state):
                tools.states[name] = state

    def is_enabled(self, method: Method) -> bool:
        """Return whether a method may be called (O-4.20)."""
        return is_enabled(self.run, method.tool, method.name, method.guard)

    # ------------------------------------------------------------ from source

    async def use(self, effect: Effect, use: ToolUse) -> Any:
        """Perform a call in source, `use`, and return what the method gives (O-4.6). A denial is an Err, or P407 without a
        Result. Raises panic P015 for an argument that is left out and has no default, and as `call`."""
        method = self.methods[use.tool][use.method]
        arguments = self.filled(method, use.arguments)
        if not self.is_enabled(method):
            return self._refused(effect, method)
        names = [field[0] for field in method.shape[3]]
        self.audit(method, Map({name: share(emitted(argument)) for name, argument in zip(names, arguments, strict=True)}))
        return await self.call(effect, method, arguments)

    def filled(self, method: Method, arguments: Sequence[Any]) -> list[Any]:
        """Return arguments with the defaults in place of those that are UNSET. Raises panic P015 where one has none."""
        return [
            self._default(method, field) if argument is UNSET else argument
            for argument, field in zip(arguments, method.shape[3], strict=True)
        ]

    def _default(self, method: Method, field: Sequence[Any]) -> Any:
        """Return the value of an argument that is left out. Raises panic P015 when it has none."""
        _, _, optional, has_default, _, _ = field
        if not (optional or has_default):
            raise Panic("P015", f"{method.name} expects {', '.join(f[0] for f in method.shape[3])}")
        accepted = validate(["object", "", [], [field]], {})
        assert isinstance(accepted, Accepted)
        return self.run.builder.value(accepted.tree[2][0][1])

    def _refused(self, effect: Effect, method: Method) -> Err:
        """Return the Err of a denial, or raise P407 when the method has no Result (O-4.19)."""
        err = denial(self.run, method.tool, method.name, method.guard)
        if not method.fallible:
            raise self.run.machine.placed(effect.task, Panic("P407", err.value.message))
        return err

    def audit(self, method: Method, arguments: Any) -> None:
        """Send the audit record of a call (O-4.21). What the host's sink of emits raises passes through."""
        self.run.runtime_emit(AUDIT, {"tool": method.tool, "method": method.name, "args": arguments})

    # ------------------------------------------------------------ from models

    def bindings(self, name: str) -> list[ToolBinding]:
        """Return the methods of the declared tool `name`, each as a tool that a model may call."""
        return [MethodBinding(self, method) for method in self.methods[name].values()]

    async def answer(self, effect: Effect, method: Method, call: Call) -> Any:
        """Perform a call in a reply and return its value, Ok of it where the method gives a Result, an Err of ToolError where it
        fails (O-4.27, O-4.28). Raises as `call`."""
        if not self.is_enabled(method):
            return denial(self.run, method.tool, method.name, method.guard)
        accepted = fitting_arguments(method.shape, call)
        if not isinstance(accepted, Accepted):
            return method.failed("InvalidArguments", accepted)
        self.audit(method, call.arguments)
        value = await self.call(effect, method, [self.run.builder.value(node) for _, node in accepted.tree[2]])
        if type(value) is Err and getattr(value.value, "family", None) != "ToolError":
            return method.failed("ExecutionFailed", display(value.value), **for_model(value.value))
        return value

    # ------------------------------------------------------------ running

    async def call(self, effect: Effect, method: Method, arguments: list[Any]) -> Any:
        """Run a method, or what stands in for it: a mock, or a function of the host. Return its value. A method that changes the
        state waits for its turn. Raises panic P013 for a wait that could never end and for a tool that is used before its
        initialisation, P007 where a mock gives a value of another type, and P415 where a function of the host fails for a method
        without a Result. A panic in the method ends the run."""
        mocks = self.run.state.get(MOCKS, {}).get(method.tool, {})
        if method.name in mocks:
            return await self._mock_answer(effect, method, mocks[method.name], arguments)
        handler = self.run.host.tools.get((method.tool, method.name))
        if handler is not None:
            return await call_host_function(self.run, effect, method, handler, arguments)
        if not method.takes_state:
            return await self.run.call(effect, method.code, arguments)
        held = self._held(method.tool)
        if not method.changes_state:
            view = held.read(method.tool)
            try:
                return await self.run.call(effect, method.code, [view, *arguments])
            finally:
                held.have_read(method.tool, view)
        turns = self._turns(method.tool)
        await turns.take(effect.task.path)
        try:
            # the new state is stored when the method returns: a panic or a cancellation leaves the old one
            pair = await self.run.call(effect, method.code, [held.change(method.tool), *arguments], turns.begin)
            if type(pair) is not tuple or len(pair) != 2:
                raise no_state(method)
            result, state = pair
            held.have_changed(method.tool, state)
            return result
        finally:
            held.leave(method.tool)
            turns.end()

    def _turns(self, tool: str) -> Turns:
        """Return the queue of a tool. The tools of spawned models are in the same list: they may wait for each other, too."""
        if tool not in self.turns:
            all_turns: list[Turns] = self.run.state.setdefault(TURNS, [])
            self.turns[tool] = Turns(tool, self.run.future, all_turns)
            all_turns.append(self.turns[tool])
        return self.turns[tool]

    def _held(self, tool: str) -> States:
        """Return the states, once that tool has one."""
        if not self.is_initialised(tool):
            raise Panic("P013", f"tool {tool} is used before its initialisation")
        return self.held

    def is_initialised(self, tool: str) -> bool:
        """Return whether a tool has its state, which the initialisation of the program gives it."""
        if tool not in self.held:
            key = ("tools", self.numbers[tool], "state")
            if key not in self.run.machine.configured:
                return False
            self.held.begin(tool, self.run.machine.configured[key])
        return True

    async def _mock_answer(self, effect: Effect, method: Method, answer: Any, arguments: list[Any]) -> Any:
        """Return the answer of a mock: a value for every call, or what a closure gives for the arguments (O-8.13)."""
        value = await self.run.call(effect, answer, arguments) if type(answer) is Closure else share(answer)
        if method.fallible and type(value) is Err:
            return value
        try:
            if method.fallible:
                return Ok(_answered(value.value if type(value) is Ok else value, method.result[1]))
            return _answered(value, method.result)
        except Panic as panic:
            raise Panic(panic.code, f"mock {method.tool}: the result of {method.name}: {panic.message}") from None


def no_state(method: Method) -> Panic:
    """Return the panic for a method with `mut self` that gives no pair of result and new state, as only one of a foreign image
    does; the caller raises it."""
    return Panic("P007", f"{method.tool}.{method.name} gives no new state")


def _answered(value: Any, wanted: Descriptor) -> Any:
    """Return what the closure of a mock gave as a value of the type `wanted`, absent values and present ones converted as in any
    place of that type (L-3.3.6, L-3.3.14). Raise the panic of `check`."""
    if wanted[0] == "option" and type(value) not in (Some, NoneOption):
        return NONE if value is None else Some(check(value, wanted[1]))
    if wanted[0] == "nilable" and type(value) in (Some, NoneOption) and not matches(value, wanted):
        return None if value is NONE else check(value.value, wanted[1])
    return check(value, wanted)


def is_enabled(run: EffectContext, tool: str, method: str, guard: str | None) -> bool:
    """Return whether the host has not disabled a method and grants anything of the capability that it needs, `guard`
    (O-4.20)."""
    permissions = permissions_of(run)
    return permissions.allows_tool(tool, method) and (guard is None or bool(permissions.scopes.get(guard)))


def denial(run: EffectContext, tool: str, method: str, guard: str | None, target: str | None = None) -> Err:
    """Return the Err of ToolError for a call that is not enabled. `guard` is the key of the capability that it needs, None for
    none; `target` is what it would use of that, None where that is not known."""
    fields = {"tool": tool, "method": method}
    capability = BY_KEY.get(guard or "")
    if capability is None or permissions_of(run).scopes[capability.key]:
        return Err(ErrorValue("ToolError", "PermissionDenied", f"permission denied: tool {tool}.{method} is disabled", fields))
    scope = "" if target is None else f"={target}"
    permissions = permissions_of(run)
    flag = permissions.flag(capability.flag, capability.name, target)
    granted_by = {"capability": f"{capability.name}{scope}", "flag": flag}
    way = permissions.way(capability.key, capability.flag, target or "")
    message = f"permission denied: {granted_by['capability']}{permissions.subject} (grant it with {way})"
    return Err(ErrorValue("ToolError", "PermissionDenied", message, {**fields, **granted_by}))


def fitting_arguments(shape: Any, call: Call) -> Accepted | str:
    """Return the arguments of a model's call in accepted form, or what is wrong with them, in words for the model (O-4.27)."""
    if call.arguments is None:
        return invalid_arguments([Violation("$", "type", "expected an object of arguments")])
    accepted = validate(shape, call.arguments)
    return accepted if isinstance(accepted, Accepted) else invalid_arguments(accepted)


def invalid_arguments(violations: Sequence[Violation]) -> str:
    """Return the text that tells a model what is wrong with its arguments."""
    return "\n".join(["invalid arguments:", *(f"- {violation.text}" for violation in violations)])


class MethodBinding:
    """A method of a declared tool as a model calls it: a `ToolBinding` (`bindings.py`). `is_enabled` and `answer` return and
    raise as those of `Tools` do."""

    __slots__ = ("tools", "method", "definition", "owner", "changes_state")

    def __init__(self, tools: Tools, method: Method) -> None:
        self.tools = tools
        self.method = method
        self.definition = method.definition
        self.owner = method.tool
        self.changes_state = method.changes_state

    def is_enabled(self) -> bool:
        return self.tools.is_enabled(self.method)

    async def answer(self, effect: Effect, call: Call) -> Any:
        return await self.tools.answer(effect, self.method, call)


def _methods(run: EffectContext, tool: Tool) -> Mapping[str, Method]:
    return {entry[0]: Method(run, tool.name, entry) for entry in tool.methods}


ALLOW = ("Allow", None)  # the action when a model has no hook


class Hooks:
    """The hooks of a model around the calls of its tools, for one call of the model (O-4.30, O-4.31): functions of the program
    that decide about a call before it runs, and after it has failed. Raises panic P007 where a hook of a foreign image returns no
    action."""

    def __init__(self, run: EffectContext, effect: Effect, model: ModelRef) -> None:
        self.run = run
        self.effect = effect
        self.model = model
        self.on_call = run.program.methods.get((f"{model.name}.", "on_tool_call"))
        self.on_error = run.program.methods.get((f"{model.name}.", "on_tool_error"))

    async def before(self, call: Call) -> tuple[str, Any]:
        """Ask `on_tool_call` what to do with a call: return `Allow` with None, `Deny` with a reason, or `Replace` with a
        value. Without such a hook it is `Allow`."""
        if self.on_call is None:
            return ALLOW
        value = ToolCall.of((call.id, call.name, from_json(call.arguments or {})))
        return _action(await self.run.call(self.effect, self.on_call, [self.model, value]))

    async def again(self, settings: CallSettings, call: Call, error: ErrorValue, runs: int) -> bool:
        """Ask `on_tool_error` whether a failed call runs once more; `runs` is how often it was repeated. Return False without
        such a hook. Raises CallFailure when the hook ends the model call."""
        if self.on_error is None:
            return False
        name, times = _action(await self.run.call(self.effect, self.on_error, [self.model, call.name, error]))
        if name == "Fail":
            raise settings.origin().failure("AgentError", "Failed", error.message, cause=error, **for_model(error))
        return name == "Retry" and type(times) is int and runs < times


def _action(value: Any) -> tuple[str, Any]:
    if type(value) is not EnumValue:  # only the hook of a foreign image gives such a value
        raise Panic("P007", f"expected the action of a hook, found {typeof(value)}")
    return value.decl.variants[value.variant].name, value.payload[0] if value.payload else None
