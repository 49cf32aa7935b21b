"""Functions of Python that a program calls: `extern python`, from the side of the host (P-1.2 to P-1.8)."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import concerto
import pytest

TEXT = """
pub struct Row { pub id: Int, pub name: String = "none" }
extern python "shop" {
    fn price(article: String) -> Result<Int, HostError>;
    fn thread() -> Int;
    async fn on_loop() -> Int;
    fn rows(n: Int) -> Stream<Row>;
    fn row(id: Int) -> Row;
    fn call(f: fn(Int) -> Int, n: Int) -> Int;
    async fn call_later(f: fn(Int) -> Int, n: Int) -> Int;
    fn keep(f: fn(Int) -> Int);
    fn plain(n: Int) -> Int;
    @retry(max: 3, delay_ms: 0) fn flaky() -> Result<Int, HostError>;
    @timeout(0.05) fn slow() -> Result<Int, HostError>;
    fn nothing();
}
pub fn get(article: String) -> Result<Int, HostError> { price(article) }
pub fn variant(article: String) -> Any { match price(article) { Ok(n) => n, Err(e) => e.variant } }
pub fn ids(n: Int, most: Int) -> Result<Array<Int>, HostError> {
    let mut ids = [];
    for r in rows(n) { ids.push(r.id); if ids.len() >= most { break; } }
    Ok(ids)
}
pub fn places() -> Array<Int> { [thread(), on_loop()] }
pub fn named(id: Int) -> Row { row(id) }
pub fn through(n: Int) -> Int { let k = 3; call(|x| x * k, n) + await call_later(|x| x + k, n) }
pub fn give(n: Int) { keep(|x| x + n); }
pub fn straight(n: Int) -> Int { plain(n) }
pub fn again() -> Result<Int, HostError> { flaky() }
pub fn late() -> Any { slow().unwrap_err().variant }
pub fn none() { nothing(); }
fn main() {}
"""
PROGRAM = concerto.compile(TEXT)


def session(**functions: Any) -> concerto.Session:
    one = PROGRAM.session()
    one.bind("shop", functions)
    return one


def test_a_binding_needs_neither_module_nor_permission() -> None:
    with session(price=len) as one:
        assert one.call("get", "lamp") == 4


def test_a_binding_comes_before_a_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def price(article): return -1\ndef plain(n): return -n\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    with PROGRAM.session(permissions=concerto.Permissions(python=("shop",))) as one:
        one.bind("shop", {"price": len})
        assert [one.call("get", "lamp"), one.call("straight", 3)] == [4, -3]


def test_what_is_not_declared_is_not_bound() -> None:
    with PROGRAM.session() as one:
        with pytest.raises(ValueError, match=r"declares no function shop\.prize of Python; it declares .*shop\.price"):
            one.bind("shop", {"prize": len})
        with pytest.raises(TypeError, match="takes functions"):
            one.bind("shop", {"price": 3})  # type: ignore[dict-item]


def test_nothing_is_imported_before_the_first_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def price(article): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    with concerto.compile(TEXT).session(permissions=concerto.Permissions(python=True)) as one:
        assert "shop" not in sys.modules
        assert one.call("get", "x") == 1 and "shop" in sys.modules


def test_a_grant_holds_for_what_lies_in_a_module() -> None:
    granted = concerto.Permissions(python=("a.b",)).granted()
    assert [granted.allows_module(name) for name in ("a.b", "a.b.c", "a", "a.bc", "b")] == [True, True, False, False, False]
    with pytest.raises(ValueError, match="no module of Python"):
        PROGRAM.session(permissions=concerto.Permissions(python=("a/b",)))


def test_without_permission_nothing_is_imported() -> None:
    with PROGRAM.session() as one:
        assert one.call("variant", "x") == "PermissionDenied"
        with pytest.raises(concerto.Panic, match=r"python=shop \(grant it with permissions=Permissions\(python=\('shop',\)\)\)"):
            one.call("straight", 1)


def test_a_module_that_raises_is_not_one_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    with PROGRAM.session(permissions=concerto.Permissions(python=True)) as one:
        with pytest.raises(concerto.ProgramError) as caught:
            one.call("get", "x")
        assert (caught.value.value.variant, caught.value.value.fields["exception"]) == ("Raised", "ModuleNotFoundError")


def test_plain_functions_run_in_a_thread_and_coroutines_on_the_loop() -> None:
    async def on_loop() -> int:
        return threading.get_ident()

    with session(thread=threading.get_ident, on_loop=on_loop) as one:
        thread, loop = one.call("places")
        assert loop == threading.get_ident() != thread


def test_thread_false_keeps_a_module_on_the_loop(tmp_path: Path) -> None:
    (tmp_path / "Concerto.toml").write_text(
        '[project]\nname = "a"\nversion = "1"\nentry = "main.conc"\n[python."shop"]\nthread = false\n'
    )
    (tmp_path / "main.conc").write_text(TEXT)
    program = concerto.compile(path=tmp_path / "main.conc")
    with program.session() as one:
        one.bind("shop", {"thread": threading.get_ident, "on_loop": threading.get_ident})
        assert one.call("places") == [threading.get_ident()] * 2


def test_a_result_may_leave_out_what_has_a_default() -> None:
    with session(row=lambda number: {"id": number}) as one:
        assert one.call("named", 4) == concerto.Struct("Row", id=4, name="none")


def test_ok_and_err_of_the_function_itself() -> None:
    error = concerto.ErrorValue("HostError", "Raised", "no such article", {"exception": "Mine"})
    with session(price=lambda article: concerto.Ok(7) if article == "a" else concerto.Err(error)) as one:
        assert one.call("get", "a") == 7
        with pytest.raises(concerto.ProgramError) as caught:
            one.call("get", "b")
        assert caught.value.value == error


def test_the_traceback_has_the_part_of_python_alone() -> None:
    def price(article: str) -> int:
        raise LookupError(f"no {article}")

    with session(price=price) as one:
        with pytest.raises(concerto.ProgramError) as caught:
            one.call("get", "lamp")
        error = caught.value.value
        assert (error.message, error.fields["exception"]) == ("LookupError: no lamp", "LookupError")
        first, place, *_ = error.fields["traceback"].splitlines()
        assert first.startswith("Traceback") and __file__ in place and "worker_threads" not in error.fields["traceback"]


def test_secrets_do_not_leave_in_an_exception() -> None:
    secret = "planted0key9value7of3forty"

    def price(article: str) -> int:
        raise ValueError(f"refused with {article}")

    source = 'connect lab { provider: "custom", base_url: "http://127.0.0.1:9", api_key_env: "PLANTED_API_KEY" }\n' + TEXT
    source = source.replace("{ price(article) }", '{ price(env("PLANTED_API_KEY") ?? "") }')
    granted = concerto.Permissions(env=("PLANTED_API_KEY",))
    with concerto.compile(source).session(env={"PLANTED_API_KEY": secret}, permissions=granted) as one:
        one.bind("shop", {"price": price})
        heard: list[Any] = []
        one.on("*", heard.append)
        with pytest.raises(concerto.ProgramError) as caught:
            one.call("get", "x")
        assert "refused with" in caught.value.value.message
        assert secret not in repr(caught.value.value) and secret not in repr(heard)


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), StopIteration(1), asyncio.CancelledError(), MemoryError()])
def test_no_exception_of_a_function_ends_the_process(error: BaseException) -> None:
    def price(article: str) -> int:
        raise error

    async def again(article: str) -> int:
        raise error

    for function in (price, again):
        with session(price=function) as one:
            wanted = "RuntimeError" if isinstance(error, StopIteration) and function is again else type(error).__name__
            with pytest.raises(concerto.ProgramError) as caught:
                one.call("get", "x")
            assert caught.value.value.fields["exception"] == wanted


def test_streams_are_read_one_by_one_and_closed() -> None:
    seen: list[Any] = []

    def rows(n: int) -> Any:
        try:
            for number in range(n):
                seen.append(number)
                yield {"id": number}
        finally:
            seen.append(threading.get_ident())

    with session(rows=rows) as one:
        assert one.call("ids", 1_000_000, 3) == [0, 1, 2]
        assert seen[:3] == [0, 1, 2] and len(seen) == 4 and seen[3] != threading.get_ident()


def test_asynchronous_streams() -> None:
    closed: list[bool] = []

    async def rows(n: int) -> Any:
        try:
            for number in range(n):
                await asyncio.sleep(0)
                yield concerto.Struct("Row", id=number, name="r")
        finally:
            closed.append(True)

    with session(rows=rows) as one:
        assert one.call("ids", 3, 9) == [0, 1, 2]
        assert one.call("ids", 9, 2) == [0, 1] and closed == [True, True]


def test_a_stream_fails_where_it_is_read() -> None:
    def rows(n: int) -> Any:
        yield {"id": 1}
        if n:
            raise ValueError("half way")
        yield {"id": "two"}

    with session(rows=rows) as one:
        with pytest.raises(concerto.ProgramError, match="half way"):
            one.call("ids", 1, 9)
        with pytest.raises(concerto.ProgramError, match="element 1 of rows, at id: expected Int, got str"):
            one.call("ids", 0, 9)


def test_a_stream_that_takes_too_long_is_left_to_its_thread() -> None:
    source = TEXT.replace("    fn rows(n: Int)", "    @timeout(0.05) fn rows(n: Int)")
    closed = threading.Event()

    def rows(n: int) -> Any:
        try:
            yield {"id": 1}
            time.sleep(3)
            yield {"id": 2}
        finally:
            closed.set()

    with concerto.compile(source).session() as one:
        one.bind("shop", {"rows": rows})
        began = time.monotonic()
        with pytest.raises(concerto.ProgramError, match="rows has not ended within 0.05 s"):
            one.call("ids", 2, 9)
        assert time.monotonic() - began < 2.5
        assert closed.wait(10)


def test_functions_of_the_program_enter_the_session_again() -> None:
    def call(f: Any, n: int) -> int:
        return f(n) + f(n)  # type: ignore[no-any-return]

    async def call_later(f: Any, n: int) -> int:
        return sum(await asyncio.gather(f(n), f(n + 1)))

    with session(call=call, call_later=call_later) as one:
        assert one.call("through", 2) == 6 + 6 + 5 + 6


def test_a_function_is_not_called_when_its_call_is_over() -> None:
    kept: list[Any] = []
    with session(keep=kept.append) as one:
        one.call("give", 1)
        with pytest.raises(concerto.Panic, match="was passed to keep, which has ended") as caught:
            kept[0](1)
        assert caught.value.code == "P418"


def test_arguments_of_a_function_of_the_program_are_checked() -> None:
    def call(f: Any, n: int) -> int:
        with pytest.raises(TypeError, match="takes 1 argument"):
            f(1, 2)
        with pytest.raises(TypeError, match="argument 'x' of fn: expected Int, got str"):
            f("1")
        return 0

    with session(call=call, call_later=lambda f, n: 0) as one:
        assert one.call("through", 2) == 0


def test_retry_and_timeout() -> None:
    tries: list[int] = []

    def flaky() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("again")
        return 5

    dropped: list[Any] = []
    with session(flaky=flaky, slow=lambda: time.sleep(0.2)) as one:
        one.on("python:dropped", dropped.append)
        assert one.call("again") == 5 and len(tries) == 3
        assert one.call("late") == "Timeout"
        time.sleep(0.3)
        assert one.call("again") == 5  # the loop runs again, and hears of the thread
        assert dropped == [{"function": "slow"}]


def test_wrong_types_never_retry() -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        return "5"

    with session(flaky=flaky) as one, pytest.raises(concerto.ProgramError, match="expected Int, got str"):
        one.call("again")
    assert len(tries) == 1


def test_a_cancelled_call_cancels_the_coroutine() -> None:
    ended: list[str] = []

    async def on_loop() -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return 1

    with session(thread=lambda: 1, on_loop=on_loop) as one:
        threading.Timer(0.1, one.cancel).start()
        with pytest.raises(concerto.ProgramError, match="cancelled"):
            one.call("places")
    assert ended == ["cancelled"]


def test_a_function_without_result_gives_nothing() -> None:
    with session(nothing=lambda: None) as one:
        assert one.call("none") is None
    with session(nothing=lambda: 1) as one, pytest.raises(concerto.Panic, match="P417.*expected Nil, got int"):
        one.call("none")
