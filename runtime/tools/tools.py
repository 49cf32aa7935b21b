"""The tools of a session: their state, their methods as models and programs call them (O-4.4, O-4.20, O-4.23 to O-4.29).

Hands on `Tools`, whose `use` answers a call from source and whose `bindings` are what models may call.
"""

from __future__ import annotations

from collections import deque

from ...vm.builtins.capabilities import BY_KEY
from ...vm.bytecode.image import F_INOUT
from ...vm.interp.tasks import is_below
from ...vm.panics import Panic
from ...vm.values import UNSET, Closure, EnumValue, Err, ErrorValue, Map, Ok, ToolCall, check, display, from_json, share, typeof
from ..access.permissions import permissions_of
from ..host import for_model, handled
from ..records import ToolDef
from ..schema.validation import Accepted, Violation, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Tool
    from ...vm.interp.effects import Effect, ToolUse
    from ...vm.values import ModelRef
    from ..calls.settings import CallSettings
    from ..records import Call
    from ..running import Running
    from .bindings import ToolBinding


# Whose turn it is: methods of a tool that change its state run one at a time, in the order they came (O-4.25). A wait that
# could never end, of a method for itself or of methods of several tools for each other, is refused when it begins.


class Turns:
    """The queue of one tool; `future` makes a future of the loop that runs the session, `all_of_them` holds those of
    every tool."""

    __slots__ = ("name", "future", "all_of_them", "busy", "waiting", "runs")

    def __init__(self, name: str, future: Callable[[], Any], all_of_them: list[Turns]) -> None:
        self.name = name
        self.future = future
        self.all_of_them = all_of_them
        self.busy = False
        self.waiting: deque[tuple[Any, str]] = deque()  # a future, and the path of the task that waits for it
        self.runs: str | None = None  # the path of the method that has its turn

    async def take(self, task: str) -> None:
        """Returns when it is the turn of a call that the task with that path waits for."""
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
            else:  # it was given and is not taken
                self.end()
            raise

    def begin(self, task: str) -> None:
        self.runs = task

    def end(self) -> None:
        """The next one, if any."""
        self.runs = None
        while self.waiting:
            turn, _ = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False

    def _refuse_circle(self, task: str) -> None:
        """What `task` waits for must not wait for `task`: from each method that has its turn to the tools that tasks below it
        wait for."""
        reached: list[Turns] = []
        ahead = [self]
        while ahead:
            turns = ahead.pop()
            if turns.runs is None or turns in reached:
                continue
            if is_below(task, turns.runs):
                raise Panic("P013", self._circle(turns))
            reached.append(turns)
            ahead += [other for other in self.all_of_them if other._waits_below(turns.runs)]

    def _waits_below(self, running: str) -> bool:
        return any(is_below(task, running) for _, task in self.waiting)

    def _circle(self, last: Turns) -> str:
        if last is self:
            return f"tool {self.name}: a `mut self` method waits for itself; call it as `self.…`"
        return f"tools {last.name} and {self.name}: their `mut self` methods wait for each other"


TURNS = "tool_turns"  # what the session keeps: the turns of all tools
MOCKS = "tool_mocks"  # what the session keeps: what stands in for methods, by tool


class Method:
    """One method of a declared tool, as its image entry has it."""

    __slots__ = ("tool", "name", "code", "definition", "shape", "takes_state", "changes_state", "result", "guard")

    def __init__(self, run: Running, tool: str, entry: Sequence[Any]) -> None:
        name, number, wire, text, shape, schema, guard, _ = entry
        function = run.program.image.functions[number]
        self.tool = tool
        self.name: str = name
        self.code = run.program.codes[number]
        self.definition = ToolDef(wire, text, schema)
        self.shape = shape
        self.guard: str | None = guard
        self.takes_state = len(function.params) > len(shape[3])
        self.changes_state = bool(function.flags & F_INOUT)
        result = run.program.descriptors[function.result]
        self.result = result[1][0] if self.changes_state else result

    @property
    def fallible(self) -> bool:
        return bool(self.result[0] == "result")

    def failed(self, variant: str, message: str, **fields: Any) -> Err:
        return Err(ErrorValue("ToolError", variant, message, {"tool": self.tool, "method": self.name, **fields}))


class Tools:
    """One instance of each declared tool (O-4.4)."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.numbers = {tool.name: number for number, tool in enumerate(run.program.image.tools)}
        self.methods = {tool.name: _methods(run, tool) for tool in run.program.image.tools}
        self.states: dict[str, Any] = {}
        self.turns: dict[str, Turns] = {}

    @classmethod
    def of(cls, run: Running) -> Tools:
        """Those of the session, made by the first call that needs them."""
        kept: Tools | None = run.state.get("tools")
        if kept is None:
            kept = run.state["tools"] = cls(run)
        return kept

    def hand_over(self, later: Running) -> None:
        """The states to a session that goes on from this one, of tools that it declares in the same way."""
        tools = Tools.of(later)
        for name, state in self.states.items():
            number = tools.numbers.get(name)
            if number is not None and type(later.machine.configured.get(("tools", number, "state"))) is type(state):
                tools.states[name] = state

    def is_enabled(self, method: Method) -> bool:
        """Whether the host lets it be called, and grants anything of what it needs (O-4.20)."""
        return is_enabled(self.run, method.tool, method.name, method.guard)

    # ------------------------------------------------------------ from source

    async def use(self, effect: Effect, use: ToolUse) -> Any:
        """What the method gives, its Result as it is (O-4.6)."""
        method = self.methods[use.tool][use.method]
        arguments = [
            self._default(method, field) if given is UNSET else given
            for given, field in zip(use.arguments, method.shape[3], strict=True)
        ]
        if not self.is_enabled(method):
            return self._refused(effect, method)
        names = [field[0] for field in method.shape[3]]
        self._audit(method, Map({name: share(argument) for name, argument in zip(names, arguments, strict=True)}))
        return await self.call(effect, method, arguments)

    def _default(self, method: Method, field: Sequence[Any]) -> Any:
        """What an argument left out is."""
        _, _, optional, has_default, _, _ = field
        if not (optional or has_default):
            raise Panic("P015", f"{method.name} expects {', '.join(f[0] for f in method.shape[3])}")
        accepted = validate(["object", "", [], [field]], {})
        assert isinstance(accepted, Accepted)
        return self.run.builder.value(accepted.tree[2][0][1])

    def _refused(self, effect: Effect, method: Method) -> Err:
        """The Err, or P407 where the method has no Result (O-4.19)."""
        denied = denial(self.run, method.tool, method.name, method.guard)
        if not method.fallible:
            raise self.run.machine.placed(effect.task, Panic("P407", denied.value.message))
        return denied

    def _audit(self, method: Method, arguments: Any) -> None:
        self.run.runtime_emit("audit:tool_call", {"tool": method.tool, "method": method.name, "args": arguments})

    # ------------------------------------------------------------ from models

    def bindings(self, name: str) -> list[ToolBinding]:
        """Return the methods of the declared tool `name`, each as a tool that a model may call."""
        return [MethodBinding(self, method) for method in self.methods[name].values()]

    async def answer(self, effect: Effect, method: Method, call: Call) -> Any:
        """What a call of a reply gives; an Err of ToolError where it fails (O-4.27, O-4.28)."""
        if not self.is_enabled(method):
            return denial(self.run, method.tool, method.name, method.guard)
        accepted = fitting_arguments(method.shape, call)
        if not isinstance(accepted, Accepted):
            return method.failed("InvalidArguments", accepted)
        self._audit(method, call.arguments)
        value = await self.call(effect, method, [self.run.builder.value(node) for _, node in accepted.tree[2]])
        if type(value) is Err and getattr(value.value, "family", None) != "ToolError":
            return method.failed("ExecutionFailed", display(value.value), **for_model(value.value))
        return value

    # ------------------------------------------------------------ running

    async def call(self, effect: Effect, method: Method, arguments: list[Any]) -> Any:
        """Runs a method, or what stands in for it."""
        mocked = self.run.state.get(MOCKS, {}).get(method.tool, {})
        if method.name in mocked:
            return await self._mocked(effect, method, mocked[method.name], arguments)
        handler = self.run.host.tools.get((method.tool, method.name))
        if handler is not None:
            return await handled(self.run, effect, method, handler, arguments)
        if not method.takes_state:
            return await self.run.call(effect, method.code, arguments)
        if not method.changes_state:
            return await self.run.call(effect, method.code, [self._state(method.tool), *arguments])
        turns = self._turns(method.tool)
        await turns.take(effect.task.path)
        try:
            state = self._state(method.tool)
            pair = await self.run.call(effect, method.code, [state, *arguments], turns.begin)
            if type(pair) is not tuple or len(pair) != 2:  # only a foreign image has such a method
                raise Panic("P007", f"{method.tool}.{method.name} gives no new state")
            result, self.states[method.tool] = pair
            return result
        finally:
            turns.end()

    def _turns(self, tool: str) -> Turns:
        """Spawned models have tools of their own, which may wait for each other all the same."""
        if tool not in self.turns:
            known: list[Turns] = self.run.state.setdefault(TURNS, [])
            self.turns[tool] = Turns(tool, self.run.future, known)
            known.append(self.turns[tool])
        return self.turns[tool]

    def _state(self, tool: str) -> Any:
        """The state as a method takes it: what it writes into is its own until it ends."""
        if tool not in self.states:
            key = ("tools", self.numbers[tool], "state")
            if key not in self.run.machine.configured:
                raise Panic("P013", f"tool {tool} is used before its initialisation")
            self.states[tool] = self.run.machine.configured[key]
        return share(self.states[tool])

    async def _mocked(self, effect: Effect, method: Method, answer: Any, arguments: list[Any]) -> Any:
        """A value for every call, or a closure called with the arguments (O-8.13)."""
        value = await self.run.call(effect, answer, arguments) if type(answer) is Closure else share(answer)
        if method.fallible and type(value) is Err:
            return value
        try:
            if method.fallible:
                return Ok(check(value.value if type(value) is Ok else value, method.result[1]))
            return check(value, method.result)
        except Panic as panic:
            raise Panic(panic.code, f"mock {method.tool}: the result of {method.name}: {panic.message}") from None


def is_enabled(run: Running, tool: str, method: str, guard: str | None) -> bool:
    """Whether the host lets it be called, and grants anything of the capability `guard` (O-4.20)."""
    granted = permissions_of(run)
    return granted.allows_tool(tool, method) and (guard is None or bool(granted.scopes.get(guard)))


def denial(run: Running, tool: str, method: str, guard: str | None, target: str | None = None) -> Err:
    """The Err of a call that is not enabled; `target`: what of the capability it would use, where that is known."""
    fields = {"tool": tool, "method": method}
    capability = BY_KEY.get(guard or "")
    if capability is None or permissions_of(run).scopes[capability.key]:
        return Err(ErrorValue("ToolError", "PermissionDenied", f"permission denied: tool {tool}.{method} is disabled", fields))
    scope = "" if target is None else f"={target}"
    granted_by = {"capability": f"{capability.name}{scope}", "flag": f"{capability.flag}{scope}"}
    way = permissions_of(run).way(capability.key, capability.flag, target or "")
    message = f"permission denied: {granted_by['capability']} (grant it with {way})"
    return Err(ErrorValue("ToolError", "PermissionDenied", message, {**fields, **granted_by}))


def fitting_arguments(shape: Any, call: Call) -> Accepted | str:
    """The arguments of a model's call as they fit, or what is wrong with them, in words for the model (O-4.27)."""
    if call.arguments is None:
        return invalid_arguments([Violation("$", "type", "expected an object of arguments")])
    accepted = validate(shape, call.arguments)
    return accepted if isinstance(accepted, Accepted) else invalid_arguments(accepted)


def invalid_arguments(violations: Sequence[Violation]) -> str:
    return "\n".join(["invalid arguments:", *(f"- {violation.text}" for violation in violations)])


class MethodBinding:
    """A method of a declared tool as a model calls it: a `ToolBinding`."""

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


def _methods(run: Running, tool: Tool) -> Mapping[str, Method]:
    return {entry[0]: Method(run, tool.name, entry) for entry in tool.methods}


# The hooks of a model around the calls of its tools (O-4.30, O-4.31).

ALLOW = ("Allow", None)


class Hooks:
    """Those of one model, for one call of it."""

    def __init__(self, run: Running, effect: Effect, model: ModelRef) -> None:
        self.run = run
        self.effect = effect
        self.model = model
        self.on_call = run.program.methods.get((f"{model.name}.", "on_tool_call"))
        self.on_error = run.program.methods.get((f"{model.name}.", "on_tool_error"))

    async def before(self, call: Call) -> tuple[str, Any]:
        """What to do with a call: the name of the action and what it holds."""
        if self.on_call is None:
            return ALLOW
        seen = ToolCall.of((call.id, call.name, from_json(call.arguments or {})))
        return _action(await self.run.call(self.effect, self.on_call, [self.model, seen]))

    async def again(self, settings: CallSettings, call: Call, error: ErrorValue, runs: int) -> bool:
        """Whether a failed call runs once more; `runs`: how often it did so. A CallFailure where the hook ends the model call."""
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
