"""A synchronous session takes descriptors of the system only when something needs them (G-6.11)."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import concerto
import pytest

MANY = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
import concerto
program = concerto.compile("pub async fn f(x: Int) -> Int { std::time::sleep(1); x + 1 }")
sessions = [program.session() for _ in range(1000)]
print(sum(session.call("f", 1) for session in sessions))
for session in sessions:
    session.close()
"""
WAITS = concerto.compile("pub async fn waits(ms: Int) -> Int { std::time::sleep(ms); 7 }")


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_thousand_sessions_at_once() -> None:
    ended = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.returncode) == ("2000\n", 0), ended.stderr


def test_a_session_that_waits_is_woken_by_another_thread() -> None:
    with WAITS.session() as session:
        timer = threading.Timer(0.2, session.cancel)
        timer.start()
        started = time.monotonic()
        with pytest.raises(concerto.ProgramError, match="cancelled"):
            session.call("waits", 60_000)
        assert time.monotonic() - started < 5
        assert session.call("waits", 10) == 7


def test_a_handler_may_use_the_loop_for_what_needs_descriptors() -> None:
    program = concerto.compile('pub async fn asks() -> Any { (await emit("ask", 1)).unwrap() }')
    with program.session() as session:

        @session.on_emit("ask")
        async def answer(payload: int) -> str:
            import asyncio

            child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(5)", stdout=asyncio.subprocess.PIPE)
            text = (await child.communicate())[0].decode().strip()
            return text + await asyncio.to_thread(lambda: "6")

        assert session.call("asks") == "56"
        assert session.call("asks") == "56"
