"""Sessions: state between calls, listeners, answers, options, cancelling (O-9.40 to O-9.44)."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from typing import Any

import concerto
import pytest

TEXT = """
model M { provider: openai, base: "m-1" }
hashmap h: HashMap<String, Int> = HashMap::new();
memory log: Memory = Memory::new();
h.set("start", 1);
pub fn count(k: String) -> Int { h.set(k, (h.get(k) ?? 0) + 1); h.get(k) ?? 0 }
pub fn emits(n: Int) { for i in 0..n { emit("n", i); } }
tool Probe { description: "d", @describe("d") pub fn look(self) -> Int { -1 } }
pub fn emits_and_looks(n: Int) -> Int { emits(n); Probe.look() }
pub async fn ask(q: Any) -> Result<Any, EmitError> { await emit("ask", q) }
pub fn model(q: String) -> Result<String, AgentError> { Ok(M.with_memory(log).execute(q)?.text) }
pub fn remembered() -> Int { log.len() }
pub fn forever() { emit("running", nil); let mut i = 0; loop { i += 1; if i > 1000000000 { break; } } }
pub fn fail(text: String = "no") -> Result<Int, Error> { throw text }
pub fn variable() -> Result<String, EnvError> { std::env::require("HOME_TEST") }
pub fn file() -> Result<String, FsError> { std::fs::read_file("x.txt") }
fn main() { }
"""
PROGRAM = concerto.compile(TEXT)


def test_state_lives_from_call_to_call_and_in_one_session() -> None:
    with PROGRAM.session() as one, PROGRAM.session() as other:
        assert [one.call("count", "a"), one.call("count", "a"), one.call("count", "start")] == [1, 2, 2]
        assert other.call("count", "a") == 1


def test_models_and_memories() -> None:
    with PROGRAM.session(offline=True, offline_script=["one", "two"]) as session:
        assert [session.call("model", "q"), session.call("model", "r"), session.call("remembered")] == ["one", "two", 4]
        assert session.metrics().model_calls == 2 and session.metrics().tokens_by_connection.keys() == {"openai"}


def test_a_call_raises_what_the_program_ended_in() -> None:
    with PROGRAM.session() as session:
        with pytest.raises(concerto.ProgramError, match="RuntimeError: no") as caught:
            session.call("fail")
        assert caught.value.value == concerto.ErrorValue("RuntimeError", None, "no")
        with pytest.raises(ValueError, match="no public function 'nope'.*count"):
            session.call("nope")
        with pytest.raises(TypeError, match=r"count\(k\): lacks 'k'"):
            session.call("count")
        assert session.call("count", "a") == 1


def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    missing = pytest.raises(concerto.ProgramError, match="ConnectionError::MissingKey.*OPENAI_API_KEY")
    with PROGRAM.session(env={}) as session, missing:
        session.call("model", "q")


# ---------------------------------------------------------------- listening


def test_listeners_hear_in_order_of_registration_and_the_star_hears_all() -> None:
    heard: list[Any] = []
    with PROGRAM.session() as session:
        session.on("n", lambda payload: heard.append(("first", payload)))

        @session.on("n")
        def second(payload: Any) -> None:
            heard.append(("second", payload))

        session.on("*", heard.append)
        session.call("emits", 1)
        assert heard == [("first", 0), ("second", 0), concerto.Emit("n", 0)]
        session.off("n", second)
        session.off("*")
        session.call("emits", 1)
        assert heard[3:] == [("first", 0)]


def test_events_of_memories_are_built_only_while_somebody_listens() -> None:
    """M-6.31"""
    with PROGRAM.session() as session:
        heard = session.on("memory:commit", print)
        assert session._hears()
        session.off("memory:commit", heard)
        assert not session._hears()


def test_an_exception_of_a_listener_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    def bad(payload: Any) -> None:
        raise ValueError("bad listener")

    with PROGRAM.session() as session, caplog.at_level(logging.ERROR, "concerto"):
        session.on("n", bad)
        session.call("emits", 1)
    assert "a listener of channel n failed" in caplog.text and "bad listener" in caplog.text


def test_buffered_emits_arrive_at_the_end() -> None:
    with PROGRAM.session(emit_mode=concerto.Buffered(60_000)) as session:
        heard: list[Any] = []
        session.on("n", heard.append)
        session.register_tool("Probe", "look", lambda: len(heard))
        assert session.call("emits_and_looks", 3) == 0
        assert heard == [0, 1, 2]


# ---------------------------------------------------------------- answering


def test_a_handler_answers_awaited_emits() -> None:
    with PROGRAM.session() as session:
        session.on_emit("ask", lambda q: {"plain": q})
        assert session.call("ask", 1) == {"plain": 1}

        @session.on_emit("ask")
        async def later(q: Any) -> Any:
            await asyncio.sleep(0)
            return [q]

        assert session.call("ask", (1, 2)) == [(1, 2)]


@pytest.mark.parametrize(
    ("handler", "variant", "message"),
    [
        (None, "NoListener", "ask"),
        (lambda q: 1 / 0, "HandlerFailed", "division by zero"),
        (lambda q: object(), "HandlerFailed", "the answer on ask: object"),
        (lambda q: asyncio.sleep(60), "Timeout", "20 ms"),
    ],
)
def test_what_goes_wrong_with_an_answer_is_an_emit_error(handler: Any, variant: str, message: str) -> None:
    with PROGRAM.session(emit_timeout_ms=20) as session:
        if handler is not None:
            session.on_emit("ask", handler)
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("ask", 1)
        assert (caught.value.value.kind, caught.value.value.variant) == ("EmitError", variant)
        assert message in caught.value.value.message


def test_a_handler_cannot_call_its_own_session() -> None:
    with PROGRAM.session() as session:
        session.on_emit("ask", lambda q: session.acall("count", "a"))
        with pytest.raises(concerto.ProgramError, match="own handlers"):
            session.call("ask", 1)
        session.on_emit("ask", lambda q: session.call("count", "a"))
        with pytest.raises(concerto.ProgramError, match="event loop is running"):
            session.call("ask", 1)
        session.on_emit("ask", lambda q: asyncio.to_thread(session.call, "count", "a"))
        with pytest.raises(concerto.ProgramError, match="own handlers"):
            session.call("ask", 1)
        assert session.call("count", "a") == 1


def test_what_a_handler_has_begun_calls_the_session_once_the_call_is_over() -> None:
    """Not before, since the handler may wait for it; and a call that one has begun in another session counts as well."""
    async def main() -> list[Any]:
        said: list[Any] = []
        begun: list[asyncio.Task[None]] = []
        refused, over = asyncio.Event(), asyncio.Event()

        async def later(one: concerto.Session, other: concerto.Session) -> None:
            with pytest.raises(RuntimeError, match="own handlers"):
                await one.acall("count", "a")
            refused.set()
            await over.wait()
            said.append(await one.acall("count", "a"))
            said.append(await other.acall("ask", 2))

        async with PROGRAM.session() as one, PROGRAM.session() as other:
            async def begin(q: Any) -> int:
                begun.append(asyncio.ensure_future(later(one, other)))
                await refused.wait()
                return 5

            async def cross(q: Any) -> Any:
                return await one.acall("count", "a")

            one.on_emit("ask", begin)
            other.on_emit("ask", cross)
            said.append(await one.acall("ask", 1))
            over.set()
            await asyncio.gather(*begun)
        return said

    assert asyncio.run(main()) == [5, 1, 2]


def test_a_session_that_was_called_without_a_loop_can_be_closed_in_one() -> None:
    session = PROGRAM.session()
    assert session.call("count", "a") == 1

    async def close() -> None:
        async with session:
            assert await session.acall("count", "a") == 2

    asyncio.run(close())
    with pytest.raises(RuntimeError, match="closed"):
        session.call("count", "a")


# ---------------------------------------------------------------- one call at a time


def test_calls_wait_for_each_other() -> None:
    async def run() -> list[Any]:
        async with PROGRAM.session() as session:
            order: list[Any] = []

            async def answer(q: Any) -> Any:
                order.append(("begin", q))
                await asyncio.sleep(0.001)
                order.append(("end", q))
                return q

            session.on_emit("ask", answer)
            await asyncio.gather(*(session.acall("ask", q) for q in range(3)))
            return order

    assert asyncio.run(run()) == [(word, q) for q in range(3) for word in ("begin", "end")]


def test_threads_wait_for_each_other() -> None:
    with PROGRAM.session() as session:
        order: list[Any] = []

        async def answer(q: Any) -> Any:
            order.append(q)
            await asyncio.sleep(0.02)
            order.append(q)
            return q

        session.on_emit("ask", answer)
        threads = [threading.Thread(target=session.call, args=("ask", q)) for q in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert order[::2] == order[1::2] and sorted(order[::2]) == [0, 1, 2, 3]


def test_a_running_loop_needs_the_async_forms() -> None:
    """Each says what to write in its place."""

    async def run() -> None:
        session = PROGRAM.session()
        call = session.start("count", "a")
        state = await session.adump()
        wrong = {
            "await session.arun(": session.run, "await session.acall('count'": lambda: session.call("count", "a"),
            "await session.adump()": session.dump, "await session.arestore(state)": lambda: session.restore(state),
            "await call": call.result, "await session.aclose()`, or `async with` for `with`": session.close,
        }  # fmt: skip
        for words, use in wrong.items():
            with pytest.raises(RuntimeError, match=re.escape(f"an event loop is running here: write `{words}")):
                use()
        assert await call == 1
        await session.aclose()

    asyncio.run(run())


def test_a_closed_session_runs_nothing() -> None:
    session = PROGRAM.session()
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.call("count", "a")


# ---------------------------------------------------------------- cancelling


def test_cancel_from_another_thread_ends_a_program_that_computes() -> None:
    with PROGRAM.session() as session:
        session.on("running", lambda _: threading.Timer(0.05, session.cancel).start())
        with pytest.raises(concerto.ProgramError, match="TaskError::Cancelled"):
            session.call("forever")
        assert session.call("count", "a") == 1


def test_cancel_ends_a_program_that_waits() -> None:
    with PROGRAM.session() as session:
        session.on_emit("ask", lambda q: (session.cancel(), asyncio.sleep(60))[1])
        with pytest.raises(concerto.ProgramError, match="TaskError::Cancelled"):
            session.call("ask", 1)
        session.cancel()
        assert session.call("count", "a") == 1


def test_cancelling_the_caller_cancels_the_call() -> None:
    async def run() -> Any:
        async with PROGRAM.session() as session:
            session.on_emit("ask", lambda q: asyncio.sleep(60))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await session.acall("ask", 1)
            return await session.acall("count", "a")

    assert asyncio.run(run()) == 1


# ---------------------------------------------------------------- options


def test_budgets() -> None:
    with PROGRAM.session(budgets=concerto.Budgets(steps=1000)) as session:
        with pytest.raises(concerto.Panic) as caught:
            session.call("forever")
        assert caught.value.code == "P101"
        assert session.call("count", "a") == 1  # the budget is that of one call
    with PROGRAM.session(budgets=concerto.Budgets(seconds=0.02)) as session:
        session.on_emit("ask", lambda q: asyncio.sleep(60))
        for function, arguments in (("ask", [1]), ("forever", [])):
            with pytest.raises(concerto.Panic) as caught:
                session.call(function, *arguments)
            assert caught.value.code == "P102"


def test_nothing_is_permitted_unless_it_is_said(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("content")
    environment = {"HOME_TEST": "yes"}
    with PROGRAM.session(env=environment) as session:
        for function in ("file", "variable"):
            with pytest.raises(concerto.ProgramError) as caught:
                session.call(function)
            assert caught.value.value.variant == "PermissionDenied"
    permissions = concerto.Permissions(fs_read=("x.txt",), env=("HOME_TEST",))
    with PROGRAM.session(env=environment, permissions=permissions) as session:
        assert (session.call("file"), session.call("variable")) == ("content", "yes")
    with PROGRAM.session(env=environment, permissions=concerto.Permissions(all=True)) as session:
        assert session.call("file") == "content"


def test_a_key_of_the_host_is_in_no_output() -> None:
    connections = {"openai": {"api_key": "sk-very-secret", "base_url": "http://127.0.0.1:9", "retry": {"max_attempts": 1}}}
    with PROGRAM.session(connections=connections, env={}) as session:
        heard: list[Any] = []
        session.on("*", heard.append)
        session.on_emit("ask", lambda q: heard.append(q))
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("model", "q")
        assert caught.value.value.variant == "NetworkError"  # the key is known since this call
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("fail", "sk-very-secret")
        session.call("ask", "sk-very-secret")
        for shown in (str(caught.value), repr(caught.value.value), str(heard)):
            assert "sk-very-secret" not in shown and "<secret openai.api_key>" in shown


@pytest.mark.parametrize(
    ("options", "error", "part"),
    [
        ({"nope": 1}, TypeError, "unknown option 'nope'"),
        ({"connections": {"openai": {"nope": 1}}}, ValueError, "unknown field nope"),
        ({"pricing": {"m": {"input": 1}}}, ValueError, "input_per_million"),
        ({"emit_timeout_ms": -1}, ValueError, "emit_timeout_ms"),
    ],
)
def test_bad_options_are_refused(options: Any, error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part):
        PROGRAM.session(**options)


def test_bad_values_of_options_are_refused() -> None:
    for make in (
        lambda: concerto.Budgets(steps=0),
        lambda: concerto.Budgets(seconds=0),
        lambda: concerto.Budgets(seconds=10**400),
        lambda: concerto.Budgets(cost=10**400),
        lambda: concerto.Buffered(10**400),
        lambda: concerto.Buffered(-1),
        lambda: concerto.Permissions(net=("a b",)),
        lambda: concerto.Permissions(fs_read="x"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError):
            make()


def test_an_error_of_the_program_is_shown_as_on_the_command_line() -> None:
    """Not in the form of Python (L-3.11.14)."""
    program = concerto.compile("""
    enum Bad { A(Int), B }
    struct Worse { message: String, n: Int }
    impl Error for Bad { }
    impl Error for Worse { }
    pub fn bad() -> Result<Int, Bad> { Err(Bad::A(1)) }
    pub fn worse() -> Result<Int, Worse> { Err(Worse { message: "gone", n: 1 }) }
    pub fn plain() -> Result<Int, String> { Err("plain") }
    fn main() -> Result<Nil, Bad> { Err(Bad::B) }
    """)
    with program.session() as session:
        for function, text, kind, variant in (
            ("bad", "Bad::A(1)", "Bad", "A"), ("worse", "gone", "Worse", None), ("plain", "plain", "String", None),
        ):  # fmt: skip
            with pytest.raises(concerto.ProgramError) as caught:
                session.call(function)
            assert (str(caught.value), caught.value.error.kind, caught.value.error.variant) == (text, kind, variant)
        error = session.run().error
        assert isinstance(error, concerto.ErrorValue) and (error.kind, error.variant, error.message) == ("Bad", "B", "Bad::B")


@pytest.mark.parametrize("method", ["on", "on_emit"])
def test_a_listener_is_a_function(method: str) -> None:
    with PROGRAM.session() as session, pytest.raises(TypeError, match="expected a function, got int"):
        getattr(session, method)("n", 5)


def test_an_error_names_where_it_was_made_and_its_way() -> None:
    source = """pub fn read(text: String) -> Result<Int, ParseError> {
    let n = text.parse_int()?;
    Ok(n)
}
pub fn deep(n: Int) -> Result<Int, Error> {
    if n == 0 { return Err(Error::new("no")); }
    Ok(deep(n - 1)? + 1)
}
fn main() { read("x")?; }
"""
    with concerto.compile(source).session() as session:
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("read", "x")
        assert caught.value.trace == (concerto.Frame("read", "main.conc", 2, 13),)
        result = session.run()
        assert [(frame.function, frame.line) for frame in result.trace] == [("read", 2), ("main", 9)]
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("deep", 100)
        trace = caught.value.trace
        assert len(trace) == 33 and trace[16] == concerto.Frame("… 69 more …", "", 0, 0) and trace[0].line == 6
        assert session.call("read", "4") == 4
    with concerto.compile("fn main() { panic(\"p\"); }").session() as session:
        assert [frame.line for frame in session.run().trace] == [1]


def test_a_session_that_ends_closes_what_it_has_open(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    async def aclose(pool: Any) -> None:
        closed.append(pool)

    with PROGRAM.session() as session:
        pool = session._session.pool
        monkeypatch.setattr(type(pool), "aclose", aclose)
        assert closed == []
    assert closed == [pool]
