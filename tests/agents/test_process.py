"""The wire protocol against real children (O-7.13 to O-7.31)."""

from __future__ import annotations

import asyncio
import contextlib
import os
from types import SimpleNamespace
from typing import Any, cast

import pytest
from concerto.runtime.agents import child as children
from concerto.runtime.agents import process as processes
from concerto.runtime.effects.agents import AgentCalls
from concerto.runtime.errors import CallFailure

from .children import ECHO, JSON, Deaf, agent, arguments, asked, gone, run

DIES = """
import sys
for line in sys.stdin:
    if 'die' in line:
        sys.stderr.write('why')
        sys.stdout.write('ha')
        sys.exit(7)
    print(line, end='', flush=True)
"""
SAYS = "import sys\nfor line in sys.stdin: print(%r, flush=True)"


def outcome(found: Any) -> Any:
    return (found.kind, found.variant) if isinstance(found, CallFailure) else found


def test_text_in_and_text_out() -> None:
    assert asked(agent(ECHO), "hello", "a\nb") == [("got hello", None), ('got "a\\nb"', None)]
    assert asked(agent(SAYS % '"a\\tb"'), "x") == [("a\tb", None)]
    blank = "input(); print('\\n  \\nyes', flush=True); input()"
    assert asked(agent(blank), "x") == [("yes", None)]


def test_context_follows_the_prompt() -> None:
    both = "print(input() + '|' + input(), flush=True); input()"
    assert asked(agent(both), "hello", context=({"a": [1]},)) == [('hello|Context: {"a":[1]}', None)]


def test_json_in_and_json_out() -> None:
    made = agent(JSON, input_format="json", output_format="json")
    assert asked(made, "a\nb", "c") == [("A\nB", {"text": "A\nB", "n": 1}), ("C", {"text": "C", "n": 1})]
    seen = "import json\nprint(json.dumps({'asked': json.loads(input())}), flush=True); input()"
    text = '{"asked":{"id":"r1","prompt":"p","context":null}}'
    made = agent(seen, input_format="json", output_format="json")
    assert asked(made, "p", context=(None,)) == [(text, {"asked": {"id": "r1", "prompt": "p", "context": None}})]


def test_a_reply_to_nothing_that_is_no_text() -> None:
    says = """input(); print('{"in_reply_to": [], "text": "x"}', flush=True); input()"""
    assert asked(agent(says, output_format="json"), "x") == [("x", {"text": "x"})]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("no json", ("AgentError", "Protocol")),
        ("[1]", ("AgentError", "Protocol")),
        ('{"type": 5}', ("AgentError", "Protocol")),
        ('{"type": "error", "message": "sorry"}', ("AgentError", "Failed")),
        ('{"a": 1}', ('{"a":1}', {"a": 1})),
        ('{"type": "result"}', ('{"type":"result"}', {})),
    ],
)
def test_what_json_output_may_be(line: str, expected: Any) -> None:
    found = asked(agent(SAYS % line, output_format="json"), "x")
    assert [outcome(one) for one in found] == [expected]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('"sorry"', "sorry"), ("true", "true"), ("null", "the agent gave no message"),
        ('{"code": 1, "why": null}', '{"code":1,"why":null}'),
    ],
)
def test_a_failure_says_what_the_agent_says(message: str, said: str) -> None:
    made = agent(SAYS % f'{{"type": "error", "message": {message}}}', output_format="json")
    assert [failure.message for failure in asked(made, "x")] == [f"A: {said}"]


def test_a_protocol_error_names_the_line_and_ends_the_process() -> None:
    made = agent("import os\nwhile True: input(); print('no json', os.getpid(), flush=True)", output_format="json")
    lines = []
    for failure in asked(made, "x", "x"):
        assert failure.variant == "Protocol" and failure.message == "A: a line is no JSON object"
        lines.append(failure.fields["raw_line"])
    assert all(line.startswith("no json ") for line in lines) and lines[0] != lines[1]


def test_an_error_message_keeps_the_process() -> None:
    source = 'import os\nwhile True: input(); print(\'{"type": "error", "message": "%d"}\' % os.getpid(), flush=True)'
    one, two = asked(agent(source, output_format="json"), "x", "y")
    assert one.message == two.message and one.message.startswith("A: ")


def test_an_exit_names_code_agent_and_stderr_and_the_next_call_starts_anew() -> None:
    one, two, three = asked(agent(DIES), "a", "die", "b")
    assert (one, three) == (("a", None), ("b", None))
    assert (two.variant, two.retry_class, two.fields["exit_code"], two.fields["stderr"]) == ("Exited", "connection", 7, "why")
    assert two.message == "A: the agent exited with code 7 before it answered; its stderr ends: why"
    assert two.fields["model"] == "A"


def test_what_exits_between_calls_is_started_again() -> None:
    made = agent("print(input(), flush=True)")

    async def twice() -> list[str]:
        first = await made.exchange("a", (), Deaf())
        while made._child is not None and not made._child.ended:
            await asyncio.sleep(0.01)
        second = await made.exchange("b", (), Deaf())
        await made.stop()
        return [first.text, second.text]

    assert run(twice()) == ["a", "b"]


def test_what_cannot_start() -> None:
    (failure,) = asked(agent("", command=["/no/such/program"]), "x")
    assert failure.variant == "SpawnFailed"


def test_a_hang_is_a_timeout_that_ends_the_process() -> None:
    made = agent("import os, sys, time\nsys.stderr.write(str(os.getpid()))\nsys.stderr.flush()\ntime.sleep(600)", timeout=1.5)

    async def hang() -> Any:
        with pytest.raises(CallFailure) as caught:
            await made.exchange("x", (), Deaf())
        return caught.value, made._child

    failure, child = run(hang())
    assert (failure.kind, failure.retry_class, child) == ("TimeoutError", "timeout", None)
    assert failure.message == "A: no reply within 1.5 s" and failure.fields["timeout_seconds"] == 1.5
    assert gone(int(failure.fields["stderr"]))


def test_a_cancelled_exchange_ends_the_process() -> None:
    made = agent("import time; time.sleep(600)")

    async def cancelled() -> int:
        call = asyncio.ensure_future(made.exchange("x", (), Deaf()))
        while made._child is None:
            await asyncio.sleep(0.01)
        pid = made._child.pid
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return pid

    assert gone(run(cancelled()))


def test_a_timeout_of_whoever_hears_the_messages_is_none_of_the_agent() -> None:
    def late(message: dict[str, Any]) -> Any:
        raise TimeoutError("of the host")

    made = agent("""input(); print('{"type": "note"}', flush=True); input()""", output_format="json")
    with pytest.raises(TimeoutError, match="of the host"):
        asked(made, "x", listener=Deaf(answer=late))
    assert made._child is None


def test_calls_of_one_agent_wait_for_each_other() -> None:
    source = "import time\nfor n in range(9): print(input(), n, flush=True)"
    made = agent(source)

    async def together() -> list[str]:
        answers = await asyncio.gather(*(made.exchange(name, (), Deaf()) for name in "abc"))
        await made.stop()
        return [answer.text for answer in answers]

    assert run(together()) == ["a 0", "b 1", "c 2"]


def test_lines_without_end_are_a_protocol_error() -> None:
    (failure,) = asked(agent("input(); print('x' * 3_000_000, flush=True)"), "x")
    assert failure.variant == "Protocol" and failure.message == "A: a line is longer than 1 MiB"
    (failure,) = asked(agent("import sys; input(); sys.stdout.buffer.write(bytes([255, 10])); sys.stdout.flush()"), "x")
    assert failure.variant == "Protocol" and failure.message == "A: a line is no UTF-8"


# ---------------------------------------------------------------- init and messages

ACKNOWLEDGES = "print('{\"type\":\"init_ack\",\"version\":\"1\"}', flush=True)"


def test_params_are_sent_first_and_acknowledged() -> None:
    source = f"first = input(); {ACKNOWLEDGES}; input(); print(first, flush=True); input()"
    assert asked(agent(source, params={"depth": 2}), "x") == [('{"type":"init","params":{"depth":2}}', None)]


@pytest.mark.parametrize(
    "source, message",
    [
        ("input(); print('hello', flush=True)", "A: the first line is no init_ack"),
        ('input(); print(\'{"type":"error","message":"no"}\', flush=True)', "A: the first line is no init_ack"),
        ("input()", "A: it ended before init_ack"),
        ("input(); raise SystemExit('no key')", "A: it ended before init_ack; its stderr ends: no key"),
        ("import time; time.sleep(600)", "A: no init_ack within 0.3 s"),
    ],
)
def test_a_failed_handshake(source: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.HANDSHAKE_SECONDS == 10
    if "sleep" in source:
        monkeypatch.setattr(processes, "HANDSHAKE_SECONDS", 0.3)
    made = agent(source, params={"a": 1})

    async def shaken() -> Any:
        with pytest.raises(CallFailure) as caught:
            await made.exchange("x", (), Deaf())
        return caught.value, made._child

    failure, child = run(shaken())
    assert (failure.variant, failure.message, child) == ("Protocol", message, None)


TALKS = """
import json, sys
def say(**message): print(json.dumps(message), flush=True)
n = 0
for line in sys.stdin:
    n += 1
    if n > 1: say(type="result", in_reply_to=f"r{n - 1}", text="late")
    say(type="progress", message="half")
    say(type="question", id="q1", message="sure?")
    answer = json.loads(sys.stdin.readline())
    say(type="result", in_reply_to=f"r{n}", answer=answer)
"""


def test_messages_on_the_way_and_replies_to_them() -> None:
    made = agent(TALKS, input_format="json", output_format="json")
    listener = Deaf(answer=lambda message: "yes" if message["type"] == "question" else None)
    answer = {"type": "response", "in_reply_to": "q1", "value": "yes"}
    assert [data for _, data in asked(made, "a", listener=listener)] == [{"answer": answer}]
    assert [message["type"] for message in listener.messages] == ["progress", "question"]


def test_the_ids_of_earlier_requests_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thousandth exchange of a process costs no more than the second."""
    made: list[int] = []

    def counted(number: int) -> str:
        made.append(number)
        return f"r{number}"

    monkeypatch.setattr(processes, "request_id", counted)
    assert len(asked(agent(ECHO), *["x"] * 100)) == 100
    assert sorted(made) == list(range(1, 100))


def test_late_lines_of_an_earlier_request_are_dropped() -> None:
    made = agent(TALKS, input_format="json", output_format="json")
    listener = Deaf(answer=lambda message: True if message["type"] == "question" else None)
    assert [list(data) for _, data in asked(made, "a", "b", listener=listener)] == [["answer"], ["answer"]]


def test_listening_takes_plain_lines_as_results() -> None:
    source = "input(); print('{\"type\":\"note\"}', flush=True); print('plain', flush=True); input()"
    listener = Deaf(listens=True)
    assert asked(agent(source), "x", listener=listener) == [("plain", None)]
    assert listener.messages == [{"type": "note"}]


def test_arguments_are_a_list() -> None:
    assert asked(agent("", command=[*arguments("import sys; input(); print(sys.argv[1:], flush=True)"), "a b", "$c"]), "x") == [
        ("['a b', '$c']", None)
    ]


def test_a_reply_names_the_id_of_the_message_or_its_type() -> None:
    source = """
import json
input()
for message in ({"type": "a", "id": "m7"}, {"type": "b"}):
    print(json.dumps(message), flush=True)
    print(json.dumps({"type": "c"}), flush=True)
    print(json.dumps({"type": "d", "line": input()}), flush=True)
print("end", flush=True)
input()
"""
    values = {"a": [1], "b": "no"}
    listener = Deaf(listens=True, answer=lambda message: values.get(message["type"]))
    assert asked(agent(source), "x", listener=listener) == [("end", None)]
    said = [message["line"] for message in listener.messages if message["type"] == "d"]
    assert said == ['{"type":"response","in_reply_to":"m7","value":[1]}', '{"type":"response","in_reply_to":"b","value":"no"}']


FLOODS = "import sys\nsys.stderr.write('x' * 3_000_000 + 'the end')\nsys.stderr.flush()\ninput()\n"


@pytest.mark.parametrize(
    ("ends", "variant"),
    [("sys.exit(3)", "Exited"), ("print('no json', flush=True); input()", "Protocol"), ("import time; time.sleep(600)", None)],
)
def test_a_flood_on_stderr_holds_nothing_up_and_its_end_stands_in_the_error(ends: str, variant: str | None) -> None:
    made = agent(FLOODS + ends, output_format="json", timeout=1.5)
    (failure,) = asked(made, "x")
    assert (failure.variant, len(failure.fields["stderr"])) == (variant, 64 * 1024)
    assert failure.fields["stderr"].endswith("xthe end")


HOSTILE = {
    "hangs": "import time; time.sleep(600)",
    "floods": "import sys, time\nwhile True: sys.stderr.write('x' * 10_000)",
    "dies mid-line": "import os, sys\ninput(); sys.stdout.write('half'); sys.stdout.flush(); os._exit(9)",
    "ignores SIGTERM": "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)",
    "leaves a grandchild": "import subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(600)', 'MARK'])\ntime.sleep(600)",
    "closes its output": "import os, time\nos.close(1); time.sleep(600)",
    "breaks the protocol": "print('no json', flush=True); input(); input()",
    "answers": "print('{\"a\":1}', flush=True); input(); input()",
}
ROUNDS = max(1, int(os.environ.get("CONCERTO_CYCLES", "8")) // len(HOSTILE))


def test_no_hostile_agent_outlives_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shape, started and ended in turn; CONCERTO_CYCLES=500 for the long run (G-2.23)."""
    monkeypatch.setattr(children, "TERMINATION_GRACE", 0.1)
    mark = f"concerto-test-{os.getpid()}"
    before = len(os.listdir("/proc/self/fd"))
    seen: set[str] = set()

    async def cycles() -> None:
        for _ in range(ROUNDS):
            for shape, source in HOSTILE.items():
                made = agent(
                    f"# {mark}\n{source}".replace("MARK", mark), output_format="json",
                    timeout=0.2 if "sleep" in source or "while" in source else 5,
                )  # fmt: skip
                work = asyncio.ensure_future(made.exchange("x", (), Deaf()))
                while not work.done():
                    seen.update([shape] if running(mark) else [])
                    await asyncio.sleep(0.001)
                with contextlib.suppress(CallFailure):
                    await work
                seen.update([shape] if running(mark) else [])  # one that answered at once still runs
                await made.stop()

    run(cycles())
    assert seen == set(HOSTILE)  # they did run
    assert not running(mark)
    assert len(os.listdir("/proc/self/fd")) <= before


def running(mark: str) -> list[str]:
    """The processes with a text in their command line, those of other sessions too."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline") as file:
            if mark in file.read() and not gone(int(name)):
                found.append(name)
    return found


def test_a_process_that_cannot_be_ended_leaves_the_others_to_be_ended() -> None:
    ended = []

    class Process:
        def __init__(self, name: str) -> None:
            self.name = name

        async def stop(self) -> None:
            await asyncio.sleep(0 if self.name == "broken" else 0.01)
            if self.name == "broken":
                raise RuntimeError("it stays")
            ended.append(self.name)

    class Context:
        host = SimpleNamespace(loop=None)

    calls = AgentCalls(cast("Any", Context()))
    calls.processes = {name: cast("Any", Process(name)) for name in ("one", "broken", "two")}
    with pytest.raises(RuntimeError, match="it stays"):
        asyncio.run(calls.aclose())
    assert ended == ["one", "two"]
