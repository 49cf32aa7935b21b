"""Performs the effects that only tests have: installing mocks, and reading the emits so far (O-8.9, O-8.11 to O-8.18); and the
files of a test (O-8.25).

A mock of an agent stands in for its process; a mock of a model is the provider of all calls of it that follow. Mocks are put into
the state of the session under the keys below, those of tools and MCP servers under the key of `tools/tools.py`; there the
performers of models, agents, tools and emits look for them. Hands on `ANSWERS` to `world.py`, `EMITS`, by which a test is known,
to `world.py`, `files.py`, `externs.py` and `session/testing.py`, `TestFiles` to `files.py`, and `perform` and `perform_mocked` to
`table.py`. How a scripted reply is written is `providers/offline.py`.
"""

from __future__ import annotations

import os

from ...vm.builtins.json import Misfit
from ...vm.builtins.records import AWAITED, FUNCTION
from ...vm.panics import Panic
from ...vm.values import NONE, Array, Closure, Emit, Err, HostStream, McpRef, Ok, Some, ToolRef, share, unkey
from ..access.files import OPERATIONS, WRITING, Failed, Files, Spot, make_dirs, own_directory, read_bytes
from ..access.roots import ANCHOR, beneath
from ..errors import CallFailure, ConfigFailure
from ..providers.offline import Script, ScriptedProvider
from ..records import to_plain
from ..tools.tools import MOCKS as TOOL_MOCKS
from .answers import read_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..agents.calls import ScriptedAgent
    from ..records import Request
    from ..running import EffectContext


# Keys in the state of a session.
ANSWERS = "emit_answers"  # by channel: what answers awaited emits in place of the host
EMITS = "test_emits"  # the emits of the test that runs; while it is there, a test runs
FUNCTIONS = "function_answers"  # by name: what answers in place of the model of a function
MOCKS = "mocks"  # by model or agent: the mock that stands in for it


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Install a mock and return nil, or, for an effect of the kind `test_emits`, return the emits of the test so far. The payload
    of a mock is (target, its Map): the name of a model or agent, AWAITED, FUNCTION, or the handle of a tool or MCP server. Raises
    panic P411 for a mock that is no script, and for one of an agent whose settings do not fit, P103 for a value in a script
    beyond the limits of JSON."""
    if effect.kind == "test_emits":
        return Array([Emit(channel, value) for channel, value in run.state.get(EMITS, ())])
    name, config = effect.payload
    if type(name) in (ToolRef, McpRef):
        run.state.setdefault(TOOL_MOCKS, {})[name.name] = {unkey(key): value for key, value in config.items.items()}
        return None
    if name in (AWAITED, FUNCTION):
        answers = run.state.setdefault(ANSWERS if name == AWAITED else FUNCTIONS, {})
        answers.update((unkey(key), value) for key, value in config.items.items())
        return None
    try:
        fields = to_plain(config)
    except TypeError as other:
        raise Panic("P411", f"mock {name}: a reply is text or plain data, found {other}") from None
    run.state.setdefault(MOCKS, {})[name] = _mock_of(run, name, fields)
    return None


async def perform_mocked(run: EffectContext, effect: Effect) -> Any:
    """Return Some of what the mock of a function by a model or of Python gives for these arguments, as a Result where the
    function has one; None without a mock. The payload is (name of the function, Array of its arguments). The value is of the type
    of the function's answer, or in its JSON form, else panic P007; what a closure as the mock panics with passes through."""
    name, arguments = effect.payload
    answers = run.state.get(FUNCTIONS, {})
    if name not in answers:
        return NONE
    answer = answers[name]
    value = await run.call(effect, answer, list(arguments.items)) if type(answer) is Closure else share(answer)
    function = run.program.image.functions[int(name.rpartition("#")[2])]
    descriptor = run.program.descriptors[function.result]
    try:
        if descriptor == ("handle", "Stream"):
            return Some(_mocked_stream(run, int(name.rpartition("#")[2]), value))
        if descriptor[0] != "result":  # only of a function of Python
            return Some(read_answer(run, value, descriptor))
        if type(value) is Err:
            return Some(value)
        return Some(Ok(read_answer(run, value.value if type(value) is Ok else value, descriptor[1])))
    except (Panic, Misfit) as fault:
        text = fault.message if isinstance(fault, Panic) else str(fault)
        raise Panic("P007", f"mock {function.name}: {text}") from None


def _mocked_stream(run: EffectContext, number: int, value: Any) -> HostStream:
    """Return the stream of the elements that a mock gives for the function of Python that function `number` calls."""
    externs = zip(run.program.externs, run.program.image.externs, strict=True)
    function = next(linked for linked, entry in externs if entry.function == number)
    return HostStream("", function, [], list(read_answer(run, value, ("array", function.gives)).items))


def _mock_of(run: EffectContext, name: str, config: dict[str, Any]) -> ScriptedProvider | ScriptedAgent:
    model = next((model for model in run.program.image.models if model.name == name), None)
    try:
        script = _script(config)
        if model is None:
            return _agent(run, name, script, config)
    except (ConfigFailure, CallFailure) as failure:
        raise Panic("P411", f"mock {name}: {failure.message}") from None
    return ScriptedProvider(run.connections[model.connection], script, run.host.sleep, lambda request: _exhausted(name, request))


def _agent(run: EffectContext, name: str, script: Script, config: dict[str, Any]) -> ScriptedAgent:
    from ..agents.calls import ScriptedAgent
    from .agent_processes import agent_settings

    return ScriptedAgent(
        agent_settings(run, name), script, config.get("messages"), run.host.sleep,
        lambda: Panic("P414", f"mock {name} has no reply left for a prompt"),
    )  # fmt: skip


def _script(config: dict[str, Any]) -> Script:
    """Return the replies of a mock: `tool_calls` answers the first request; then each of `responses` answers one, or `response`
    or `error` answers all (O-8.11)."""
    first = [{"tool_calls": config["tool_calls"]}] if "tool_calls" in config else []
    if "responses" in config:
        return Script([*first, *config["responses"]])
    return Script(first, {"error": config["error"]} if "error" in config else config.get("response"))


def _exhausted(name: str, request: Request) -> Panic:
    return Panic("P414", f"mock {name} has no reply left for request {request.id}")


ABSENT = "no such file or directory"
ELSEWHERE = "a test writes in a folder of its own alone; use a path inside the project, or `fs::temp_dir()`"


class TestFiles(Files):
    """The files that `std::fs` has in a test: a layer of its own over those of the project, which it can read and never changes
    (O-8.25).

    `own` is the folder of what the test has written, `project` the real path of its working directory; `removed` are the keys of
    files and directories of the project that it has removed, perhaps written anew since. A `key` is a path from the working
    directory, "." for itself. `reached` is what the path leads to in the project, as in `Files.allows`. Raises Failed (Io) when
    no folder can be made, and Unsupported as `Files`."""

    __test__ = False  # not a test of pytest

    def __init__(self, run: EffectContext) -> None:
        super().__init__(run)
        try:
            self.own = own_directory("concerto-test-")
        except Failed:
            self.close()
            raise
        self.project = os.path.realpath(run.host.folder)
        self.made.append(self.own)
        self.removed: set[str] = set()

    def allows(self, operation: str, path: str, reached: Spot | OSError | None) -> bool:
        """Return whether the operation is permitted: reading what the test itself has written always, else as `Files.allows`."""
        inner = self._inner(path)
        if operation not in WRITING and inner is not None and os.path.lexists(self._own_path(os.path.join(".", *inner))):
            return True
        return super().allows(operation, path, reached)

    def _inner(self, path: str) -> list[str] | None:
        """Return the components of a path from the working directory, None for a path outside."""
        return None if "\0" in path else beneath(self.project, os.path.normpath(os.path.join(self.project, path)))

    def perform(self, operation: str, path: str, reached: Spot | OSError | None, arguments: list[Any]) -> Any:
        """Perform an operation in the layer that has the path, and return what the operation gives (`access/files.py`: plain
        data); `reached` stays open. Raises Failed and OSError; for writing outside the project and the directories of `temp_dir`
        the variant of Failed is Unsupported."""
        absolute = os.path.normpath(os.path.join(self.project, path))
        inner = self._inner(path)
        is_temporary = any(beneath(folder, absolute) is not None for folder in self.made)
        if inner is None or is_temporary:
            if operation in WRITING and not is_temporary:
                raise Failed("Unsupported", ELSEWHERE)
            return super().perform(operation, path, reached, arguments)
        key = os.path.join(*inner) if inner else "."
        if operation in WRITING:
            return self._write(operation, key, reached, arguments)
        if operation == "list_dir":
            return self._names(key, path, reached)
        if os.path.lexists(self._own_path(key)):
            return self._in_own(operation, key, arguments)
        if self._is_removed(key):
            raise Failed("NotFound", ABSENT)
        return super().perform(operation, path, reached, arguments)

    def _own_path(self, key: str) -> str:
        return os.path.join(self.own, key)

    def _project_path(self, key: str) -> str | None:
        """Return the path of what the project has there; None when it has nothing, or the test has removed it."""
        path = os.path.join(self.project, key)
        return None if self._is_removed(key) or not os.path.lexists(path) else path

    def _is_file(self, key: str) -> bool:
        """Return whether there is something else than a directory, of the test or of the project."""
        own = self._own_path(key)
        path = own if os.path.lexists(own) else self._project_path(key)
        return path is not None and not os.path.isdir(path)

    def _is_removed(self, key: str) -> bool:
        parts = key.split("/")
        return any("/".join(parts[:count]) in self.removed for count in range(1, len(parts) + 1))

    def _in_own(self, operation: str, key: str, arguments: list[Any]) -> Any:
        """Perform an operation in the folder of the test, in which nothing is a link."""
        folder, name = os.path.split(key)
        with Spot(os.open(self._own_path(folder), ANCHOR), name or ".") as spot:
            return OPERATIONS[operation][0](spot, *arguments)

    def _names(self, key: str, path: str, reached: Spot | OSError | None) -> list[str]:
        has_own = os.path.isdir(self._own_path(key))
        names = set(self._in_own("list_dir", key, [])) if has_own else set()
        if self._project_path(key) is None or (has_own and not isinstance(reached, Spot)):
            if not has_own:
                raise Failed("Io", "not a directory") if self._is_file(key) else Failed("NotFound", ABSENT)
            return sorted(names)
        inside = "" if key == "." else f"{key}/"
        project_names = super().perform("list_dir", path, reached, [])
        return sorted(names | {name for name in project_names if not self._is_removed(inside + name)})

    def _write(self, operation: str, key: str, reached: Spot | OSError | None, arguments: list[Any]) -> Any:
        original, has_own = self._project_path(key), os.path.lexists(self._own_path(key))
        if operation == "make_dir":
            if self._is_file(key):
                raise Failed("Io", "there is a file of that name")
            parts = key.split("/")
            if any(self._is_file("/".join(parts[:count])) for count in range(1, len(parts))):
                raise Failed("NotFound", ABSENT)
            make_dirs(self._own_path(key))
            return None
        if operation in ("remove_file", "remove_dir"):
            return self._remove(operation, key, original, has_own, reached, arguments)
        folder = os.path.dirname(key)
        if not os.path.isdir(self._own_path(folder)):
            above = self._project_path(folder)
            if above is None or not os.path.isdir(above):
                raise Failed("NotFound", ABSENT)
            make_dirs(self._own_path(folder))
        if original is not None and not os.path.isfile(original):
            raise Failed("NotAFile", "not a file")
        if operation == "append_file" and original is not None and not has_own and isinstance(reached, Spot):
            self._in_own("write_bytes", key, [read_bytes(reached)])
        return self._in_own(operation, key, arguments)

    def _remove(
        self, operation: str, key: str, original: str | None, has_own: bool, reached: Spot | OSError | None, arguments: list[Any]
    ) -> None:
        if not has_own and original is None:
            raise Failed("NotFound", ABSENT)
        if original is not None and os.path.isdir(original) != (operation == "remove_dir"):
            raise Failed("Io", "not a directory") if operation == "remove_dir" else Failed("NotAFile", "not a file")
        if operation == "remove_dir" and not arguments[0] and original is not None:
            entries = [name for name in os.listdir(original) if not self._is_removed(f"{key}/{name}")]
            if entries:
                raise Failed("Io", "directory not empty")
        if has_own:
            self._in_own(operation, key, arguments)
        if original is not None:
            self.removed.add(key)
