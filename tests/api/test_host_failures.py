"""What exceptions of the host's code say, and to whom: all of it to program and log, the class alone to models (G-9.10)."""

from __future__ import annotations

import logging
import sys
from typing import Any

import concerto
import pytest
from concerto.runtime.providers import offline
from concerto.runtime.session import session as sessions

PLANTED = "db password=hunter2 at 10.0.0.7"
SOURCE = """
tool Lab {
    description: "d",
    @describe("Measures") @param("n", "a number")
    pub fn measure(self, n: Int) -> Result<Int, ToolError> { Ok(n) }
}
tool Inner {
    description: "d",
    @describe("Passes on") @param("n", "a number")
    pub fn through(self, n: Int) -> Result<Int, ToolError> { Ok(Lab.measure(n).context("inner")?) }
    @describe("Asks") @param("n", "a number")
    pub async fn ask(self, n: Int) -> Result<Int, EmitError> { let r: Int = await emit("tool:ask", n)?; Ok(r) }
    @describe("Asks a model") @param("n", "a number")
    pub fn model(self, n: Int) -> Result<String, AgentError> { Ok(Strict.execute("n")?.text) }
}
memory log: Memory = Memory::new().on_failure(Record).tools();
model M { provider: offline, tools: [Lab, Inner] }
model Strict { provider: offline, tools: [Lab] }
impl Strict {
    fn on_tool_error(self, tool_name: String, error: ToolError) -> ToolErrorAction { ToolErrorAction::Fail }
}
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.with_memory(log).execute(q)?.text) }
pub fn strict(q: String) -> Result<String, AgentError> { Ok(Strict.with_memory(log).execute(q)?.text) }
pub fn measure(n: Int) -> Result<Int, ToolError> { Lab.measure(n) }
pub async fn wait(n: Int) -> Result<Int, EmitError> { let r: Int = await emit("tool:ask", n)?; Ok(r) }
pub fn kept() -> Array<String> { log.messages().map(|m| m.content) }
"""
PROGRAM = concerto.compile(SOURCE)


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError(PLANTED)


def call(tool: str) -> dict[str, Any]:
    return {"tool_calls": [{"tool": tool, "arguments": {"n": 4}}]}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text of every message that is sent to a model."""
    found: list[str] = []
    send = offline.OfflineProvider.send

    async def spied(self: Any, request: Any) -> Any:
        found.extend(f"{message.role}: {message.content}" for message in request.messages)
        return await send(self, request)

    monkeypatch.setattr(offline.OfflineProvider, "send", spied)
    return found


def raising(error: BaseException) -> Any:
    def fails(*_: Any) -> Any:
        raise error

    return fails


def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    made = sessions.Session.__init__

    def spied(self: Any, program: Any, host: Any, *rest: Any, **named: Any) -> None:
        host.log = lambda level, text: lines.append(text)
        made(self, program, host, *rest, **named)

    monkeypatch.setattr(sessions.Session, "__init__", spied)
    return lines


WAYS = {
    "Lab.measure": "the host function of Lab.measure failed (RuntimeError)",
    "Inner.through": "the host function of Lab.measure failed (RuntimeError)",
    "Inner.ask": "the answer on tool:ask failed (RuntimeError)",
    "Inner.model": "the host function of Lab.measure failed (RuntimeError)",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_learns_the_class_alone(way: str, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the error comes through a method of the program, an answer of the host, or another model's call."""
    lines = logged(monkeypatch)
    replies = [call(way), *([call("Lab.measure")] if way == "Inner.model" else []), "done"]
    with PROGRAM.session(offline_script=replies) as session:
        session.register_tool("Lab", "measure", raising(RuntimeError(PLANTED)))
        session.on_emit("tool:ask", raising(RuntimeError(PLANTED)))
        assert session.call("ask", "q") == "done"
        kept = session.call("kept")
    assert f'tool: {{"error":"{WAYS[way]}"}}' in told
    assert not any("password" in text for text in [*told, *kept])
    assert any(PLANTED in line for line in lines), "the log has all of it"


def test_the_program_has_the_whole_text() -> None:
    with PROGRAM.session(offline=True) as session:
        session.register_tool("Lab", "measure", raising(RuntimeError(PLANTED)))
        session.on_emit("tool:ask", raising(RuntimeError(PLANTED)))
        for function in ("measure", "wait"):
            with pytest.raises(concerto.ProgramError) as caught:
                session.call(function, 1)
            assert caught.value.error.message == PLANTED
            assert set(caught.value.error.fields) <= {"tool", "method", "channel"}


def test_a_tool_error_is_meant_for_the_model(told: list[str]) -> None:
    with PROGRAM.session(offline_script=[call("Lab.measure"), call("Inner.ask"), "done"]) as session:
        session.register_tool("Lab", "measure", raising(concerto.ToolError("no such place; try Oslo")))
        session.on_emit("tool:ask", raising(concerto.ToolError("ask later")))
        assert session.call("ask", "q") == "done"
        with pytest.raises(concerto.ProgramError, match="ToolError::ExecutionFailed: no such place; try Oslo"):
            session.call("measure", 1)
    assert 'tool: {"error":"no such place; try Oslo"}' in told and 'tool: {"error":"ask later"}' in told


def test_an_error_that_the_host_gives_is_its_own_word(told: list[str]) -> None:
    with PROGRAM.session(offline_script=[call("Lab.measure"), "done"]) as session:
        session.register_tool("Lab", "measure", lambda n: concerto.Err(concerto.ErrorValue("ToolError", "Timeout", "late")))
        session.call("ask", "q")
    assert 'tool: {"error":"late"}' in told


def test_a_result_that_does_not_fit_is_told_neutrally(told: list[str]) -> None:
    with PROGRAM.session(offline_script=[call("Lab.measure"), "done"]) as session:
        session.register_tool("Lab", "measure", lambda n: PLANTED)
        session.call("ask", "q")
    assert 'tool: {"error":"the host function of Lab.measure failed (TypeError)"}' in told


def test_what_a_failed_call_records_is_neutral_too(told: list[str]) -> None:
    """`on_failure(Record)` keeps the reason in the memory, which the next call shows (M-5.12)."""
    rollbacks: list[Any] = []
    answers = iter([lambda: 1, raising(RuntimeError(PLANTED))])
    with PROGRAM.session(offline_script=[call("Lab.measure"), call("Lab.measure"), "done"]) as session:
        session.on("memory:rollback", rollbacks.append)
        session.register_tool("Lab", "measure", lambda n: next(answers)())
        with pytest.raises(concerto.ProgramError, match="password"):
            session.call("strict", "q")
        kept = session.call("kept")
        session.call("strict", "again")
    assert kept[-1] == "[interrupted: the host function of Lab.measure failed (RuntimeError)]"
    assert not any("password" in text for text in [*kept, *told, *map(str, rollbacks)])


@pytest.mark.parametrize("error", [Unsayable(), RuntimeError(), RuntimeError("\ud800 \U000e0041"), RuntimeError("x" * 5000)])
def test_any_text_of_an_exception_is_taken(error: Exception) -> None:
    """G-9.3: cleaned, of at most 2,000 code points; a text that cannot be had is the class."""
    with PROGRAM.session(offline=True) as session:
        session.register_tool("Lab", "measure", raising(error))
        session.on_emit("tool:ask", raising(error))
        for function in ("measure", "wait"):
            with pytest.raises(concerto.ProgramError) as caught:
                session.call(function, 1)
            message = caught.value.error.message
            message.encode()
            assert 0 < len(message) <= 2000 and PLANTED not in message and "\U000e0041" not in message


STORED = concerto.compile("""
memory facts: Memory = Memory::new().store("durable");
model M { provider: offline, tools: [facts] }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
""")


class BrokenStore:
    """Every method but its name is an exception."""

    blocking = False
    name = "durable"

    def __getattr__(self, method: str) -> Any:
        return raising(RuntimeError(PLANTED))


def test_a_store_that_fails_says_nothing_to_a_model(told: list[str]) -> None:
    replies = [{"tool_calls": [{"tool": "facts__recall", "arguments": {"query": "x"}}]}, "done"]
    with STORED.session(offline_script=replies, stores={"durable": BrokenStore()}) as session:
        assert session.call("ask", "q") == "done"
    assert 'tool: {"error":"the store of the memory failed"}' in told and not any("password" in text for text in told)


AGENT = concerto.compile("""
agent Child { connector: "child" }
tool Outer {
    description: "d",
    @describe("Asks an agent") pub fn ask(self) -> Result<String, AgentError> { Ok(Child.execute("hi")?.text) }
}
model M { provider: offline, tools: [Outer] }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
pub fn direct() -> Result<String, AgentError> { Ok(Child.execute("hi")?.text) }
""")


@pytest.mark.parametrize(
    ("params", "neutral"),
    [({}, "Child: the agent exited with code 7 before it answered"), ({"a": 1}, "Child: it ended before init_ack")],
)
def test_the_stderr_of_an_agent_is_not_for_models(told: list[str], params: dict[str, int], neutral: str) -> None:
    code = f"import sys; sys.stderr.write({PLANTED!r}); sys.stderr.flush(); sys.exit(7)"
    child = {"command": sys.executable, "args": ["-S", "-c", code], "params": params}
    replies = [{"tool_calls": [{"tool": "Outer.ask", "arguments": {}}]}, "done"]
    grants = concerto.Permissions(run=True)
    with AGENT.session(offline_script=replies, agents={"child": child}, permissions=grants) as session:
        assert session.call("ask", "q") == "done"
        with pytest.raises(concerto.ProgramError, match="its stderr ends: db password"):
            session.call("direct")
    assert f'tool: {{"error":"{neutral}"}}' in told and not any("password" in text for text in told)


SUMMED = concerto.compile("""
memory log: Memory = Memory::new().summary("notes", every: 1);
model M { provider: offline }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.with_memory(log).execute(q)?.text) }
""")


class BrokenSummarizer:
    fold = staticmethod(raising(RuntimeError(PLANTED)))


def test_a_summariser_that_fails_is_told_neutrally_by_emits(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = logged(monkeypatch)
    heard: list[Any] = []
    with SUMMED.session(offline=True, summarizers={"notes": BrokenSummarizer()}) as session:
        session.on("memory:summary_failed", heard.append)
        session.call("ask", "q")
    assert [{"reason": row["reason"]} for row in heard] == [{"reason": "the summariser notes of the host failed (RuntimeError)"}]
    assert any(PLANTED in line for line in lines)


def test_a_state_keeps_what_a_model_may_be_told() -> None:
    """An error that a hashmap holds goes through bytes and is told neutrally afterwards."""
    program = concerto.compile("""
        tool Lab {
            description: "d",
            @describe("Measures") @param("n", "a number")
            pub fn measure(self, n: Int) -> Result<Int, ToolError> { Ok(n) }
            @describe("Earlier") pub fn earlier(self) -> Result<Int, Any> { Err(failures.get("one") ?? "none") }
        }
        hashmap failures: HashMap<String, Any> = HashMap::new();
        model M { provider: offline, tools: [Lab] }
        pub fn keep() -> Bool { match Lab.measure(1) { Err(e) => { failures.set("one", e); true }, Ok(_) => false } }
        pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
    """)
    with program.session(offline=True) as session:
        session.register_tool("Lab", "measure", raising(RuntimeError(PLANTED)))
        assert session.call("keep") is True
        state = session.dump()
    found: list[str] = []
    replies = [{"tool_calls": [{"tool": "Lab.earlier", "arguments": {}}]}, "done"]
    with program.session(offline_script=replies) as later:
        later.restore(state)
        later.on("*", lambda emit: found.append(str(emit)))
        later.call("ask", "q")
    assert not any("password" in text for text in found)


def test_logging_of_the_library_is_untouched(caplog: pytest.LogCaptureFixture) -> None:
    """A listener's exception goes to Python's log with its trace, nowhere else."""
    program = concerto.compile('pub fn go() -> Int { emit("a", 1); 2 }')
    with caplog.at_level(logging.ERROR), program.session(offline=True) as session:
        session.on("a", raising(RuntimeError(PLANTED)))
        assert session.call("go") == 2
    assert PLANTED in caplog.text
