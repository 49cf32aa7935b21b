"""Functions of the host in the place of tool methods (O-4.32, O-9.43)."""

from __future__ import annotations

import asyncio
from typing import Any

import concerto
import pytest

PROGRAM = concerto.compile("""
struct Size { width: Int, height: Int = 2 }
tool Lab {
    description: "d",
    calls: Int = 0,
    @describe("Counts") @param("n", "a number")
    pub fn count(mut self, n: Int) -> Result<Int, ToolError> { self.calls += n; Ok(self.calls) }
    @describe("Doubles") @param("size", "a size")
    pub fn double(self, size: Size) -> Size { size }
    fn hidden(self) -> Int { 1 }
}
model M { provider: offline, tools: [Lab] }
pub fn count(n: Int) -> Result<Int, ToolError> { Lab.count(n) }
pub fn double(size: Size) -> Size { Lab.double(size) }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
""")
CALL = {"tool_calls": [{"tool": "Lab.count", "arguments": {"n": 4}}]}


def test_a_function_takes_the_place_of_the_body() -> None:
    with PROGRAM.session() as session:
        session.register_tool("Lab", "count", lambda n: n * 100)
        assert [session.call("count", 1), session.call("count", 2)] == [100, 200]
        session.register_tool("Lab", "count", lambda n: concerto.Err(concerto.ErrorValue("ToolError", "Timeout", "late")))
        with pytest.raises(concerto.ProgramError, match="ToolError::Timeout: late"):
            session.call("count", 1)
    with PROGRAM.session() as session:
        assert session.call("count", 1) == 1


def test_coroutines_structs_and_defaults() -> None:
    async def double(size: concerto.Struct) -> Any:
        await asyncio.sleep(0)
        return {"width": size.width * 2}

    with PROGRAM.session() as session:
        session.register_tool("Lab", "double", double)
        assert session.call("double", {"width": 3}) == concerto.Struct("Size", width=6, height=2)


def test_calls_of_models_go_there_too() -> None:
    asked: list[int] = []
    with PROGRAM.session(offline_script=[CALL, "done"]) as session:
        session.register_tool("Lab", "count", lambda n: asked.append(n) or 1)
        assert session.call("ask", "q") == "done" and asked == [4]
        assert session.metrics().tool_calls == 1


@pytest.mark.parametrize(
    ("fn", "message"),
    [(lambda n: 1 / 0, "division by zero"), (lambda n: "x", "the result of Lab.count: expected Int, got str")],
)
def test_what_goes_wrong_is_a_tool_error(fn: Any, message: str) -> None:
    with PROGRAM.session() as session:
        session.register_tool("Lab", "count", fn)
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("count", 1)
        error = caught.value.value
        assert (error.kind, error.variant, error.message) == ("ToolError", "ExecutionFailed", message)
        assert (error.fields["tool"], error.fields["method"]) == ("Lab", "count")


def test_without_a_result_it_is_a_panic() -> None:
    with PROGRAM.session() as session:
        session.register_tool("Lab", "double", lambda size: 5)
        with pytest.raises(concerto.Panic) as caught:
            session.call("double", {"width": 3})
    assert caught.value.code == "P415" and "the host function of Lab.double failed: " in caught.value.message


@pytest.mark.parametrize(("tool", "method"), [("Lab", "nope"), ("Nope", "count"), ("Lab", "hidden")])
def test_only_declared_methods_can_be_replaced(tool: str, method: str) -> None:
    with PROGRAM.session() as session, pytest.raises(ValueError, match="tool methods: Lab.count, Lab.double"):
        session.register_tool(tool, method, lambda: None)


def test_the_host_takes_tools_away() -> None:
    for tools in ({"Lab": False}, {"Lab": ["double"]}):
        denied = pytest.raises(concerto.ProgramError, match="ToolError::PermissionDenied")
        with PROGRAM.session(permissions=concerto.Permissions(tools=tools)) as session, denied:
            session.call("count", 1)
    with PROGRAM.session(permissions=concerto.Permissions(tools={"Lab": ["count"]})) as session:
        assert session.call("count", 1) == 1
    for allowed in ("count", 5, None, b"count", [5], iter(["count"])):
        with pytest.raises(ValueError, match="permission of tool Lab is .*; it is a bool or names of methods"):
            concerto.Permissions(tools={"Lab": allowed})  # type: ignore[dict-item]
    for every in (5, ["Lab"], {1: True}):
        with pytest.raises(ValueError, match="permission tools is .*; it is a mapping of names of tools"):
            concerto.Permissions(tools=every)  # type: ignore[arg-type]


def test_a_function_of_the_host_learns_who_asks() -> None:
    """O-3.28"""
    program = concerto.compile("""
        tool Orders { description: "d", @describe("d") @param("n", "n") pub fn list(self, n: Int) -> String { "" } }
        model M { provider: openai, base: "m", tools: [Orders] }
        pub fn ask(user: Any) -> Result<String, AgentError> { Ok(M.with_context({ "user": user }).execute("q")?.text) }
        pub fn plain() -> String { Orders.list(7) }
    """)
    script = [{"tool_calls": [{"tool": "Orders.list", "arguments": {"n": 5}}]}, "done"]
    asked: list[Any] = []

    def orders(n: int, context: Any) -> str:
        asked.append((n, context))
        return "none"

    with program.session(offline_script=script * 2) as session:
        session.register_tool("Orders", "list", orders, context=True)
        assert session.call("ask", "ada") == "done"
        assert session.call("plain") == "none"
        session.register_tool("Orders", "list", lambda n: asked.append(n) or "none")
        assert session.call("ask", "bob") == "done"
    assert asked == [(5, {"user": "ada"}), (7, None), 5]


@pytest.mark.parametrize("fn", [None, 3, lambda: 1, lambda a, b: 1])
def test_what_cannot_take_the_arguments_is_refused_at_once(fn: Any) -> None:
    with PROGRAM.session() as session, pytest.raises(TypeError, match="register_tool: Lab.count"):
        session.register_tool("Lab", "count", fn)
    with PROGRAM.session() as session:
        session.register_tool("Lab", "count", lambda *arguments, of=1: 1)
        session.register_tool("Lab", "count", lambda n=0: 1)


def test_a_denial_tells_how_a_host_grants() -> None:
    program = concerto.compile('pub fn read() -> Result<String, FsError> { std::fs::read_file("a.txt") }')
    way = r"grant it with permissions=Permissions\(fs_read=\('.*a.txt',\)\)"
    with program.session() as session, pytest.raises(concerto.ProgramError, match=way):
        session.call("read")


def test_a_connection_that_is_nearly_there_is_refused() -> None:
    source = 'connect lab { provider: "custom", base_url: "http://a.example/v1", default_model: "m" }\nmodel L { provider: lab }'
    program = concerto.compile(source + '\npub fn f() -> Int { 1 }')
    with pytest.raises(Exception, match="no connection labb; did you mean lab"):
        program.session(connections={"labb": {"base_url": "http://b.example/v1"}})
    with pytest.raises(Exception, match="base_url does not take"):
        program.session(connections={"lab": {"base_url": "b.example/v1"}})
    with program.session(connections={"lab": {"base_url": "http://b.example/v1"}, "other": {"provider": "openai"}}) as session:
        assert session.call("f") == 1
