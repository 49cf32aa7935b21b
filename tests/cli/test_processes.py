"""What only a process of its own shows: interrupts, pipes, full disks, closed streams, locales (O-9.10, O-9.29)."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from ..agents.children import gone
from ..command import EXAMPLES, concerto, environment

SAID = 'fn main() { emit("said", "grüße €"); }\n'
LONG = 10_000  # more than a pipe's buffer holds back


def started(folder, *words, **extra):
    command = [sys.executable, "-m", "concerto", *words]
    return subprocess.Popen(command, cwd=folder, env=environment(**extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def shell(folder, line, **extra):
    """`concerto` of a shell line is the command; gives code, stdout and stderr."""
    script = f'concerto() {{ "{sys.executable}" -m concerto "$@"; }}\n{line}\n'
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=environment(**extra), capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def silent_server():
    """Accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def test_interrupt_while_waiting_for_a_reply(tmp_path, silent_server):
    url = f"http://127.0.0.1:{silent_server.getsockname()[1]}/v1"
    (tmp_path / "waits.conc").write_text(
        f'connect lab {{ provider: "custom", base_url: "{url}" }}\n'
        'model M { provider: lab, base: "m" }\n'
        'fn main() { emit("said", "before"); emit("answer", M.execute("hi")?.text); }\n'
    )
    process = started(tmp_path, "run", "waits.conc")
    connection, _ = silent_server.accept()
    with connection:
        assert connection.recv(4096).startswith(b"POST /v1/chat/completions")
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"[emit:said] before\n", b"")
    assert time.monotonic() - asked < 5


@pytest.mark.parametrize("flags", [["--offline"], []], ids=["offline", "online"])
def test_interrupt_of_a_program_that_computes(tmp_path, flags):
    """The first interrupt suffices, in an event loop too."""
    (tmp_path / "loop.conc").write_text(
        f'fn main() {{ emit("a", "x".repeat({LONG})); let mut n = 0; while true {{ n += 1; }} }}\n'
    )
    process = started(tmp_path, "run", "loop.conc", *flags)
    assert process.stdout.read(1) == b"["
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")


def test_reader_that_goes_away(tmp_path):
    """In the middle of the output, and before the first byte of a short one."""
    (tmp_path / "many.conc").write_text('fn main() { for i in 0..100000 { emit("number", i); } }\n')
    code, out, err = shell(tmp_path, "{ concerto run many.conc; echo $? >code; } | head -n 1")
    assert (out, err, (tmp_path / "code").read_text()) == ("[emit:number] 0\n", "", "1\n")
    process = started(tmp_path, "version")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(20), err) == (1, b"")


def test_full_disk(tmp_path):
    (tmp_path / "said.conc").write_text(SAID)
    assert shell(tmp_path, "concerto run said.conc >/dev/full") == (1, "", "cannot write the output: No space left on device\n")


def test_closed_streams(tmp_path):
    (tmp_path / "said.conc").write_text(SAID)
    assert shell(tmp_path, "concerto run said.conc >&-") == (0, "", "")
    assert shell(tmp_path, "concerto run gone.conc 2>&-") == (66, "", "")
    assert shell(tmp_path, "concerto check - <&-") == (66, "", "cannot read -: standard input is closed\n")


def test_output_is_utf_8_in_every_locale(tmp_path):
    (tmp_path / "said.conc").write_text(SAID, encoding="utf-8")
    assert concerto("run", "said.conc", cwd=tmp_path, PYTHONIOENCODING="ascii", LANG="C") == (0, "[emit:said] grüße €\n", "")


KEYLESS = """
import sys
from concerto.cli.main import main
code = main(["run", sys.argv[1]])
sys.exit(99 if "openai" in sys.modules else code)
"""


def test_missing_key_is_said_at_once(tmp_path):
    """Before the SDK is imported; and no variable an SDK reads by itself stands in for the key, nor does any mock."""
    extra = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_ADMIN_KEY": "x", "ANTHROPIC_API_KEY": "another"}
    command = [sys.executable, "-c", KEYLESS, str(EXAMPLES / "conversation.conc")]
    done = subprocess.run(command, cwd=tmp_path, env=environment(**extra), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"environment variable OPENAI_API_KEY is not set" in done.stderr and b"--offline" in done.stderr


AGENT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
%s
open("pid", "w").write(str(os.getpid()))
sys.stdin.readline()
print('{"type":"note"}', flush=True)
time.sleep(600)
"""
LISTENS = """agent A { connector: a }
async fn other() { std::time::sleep(600000); }
fn main() {
    spawn other();
    let _ = listen A.execute("x") { "note" => |_m| { emit("heard", 1); std::time::sleep(600000); }, };
}
"""
SLOW_END = "import sys\nfrom concerto.cli.main import main\nfrom concerto.runtime.agents import child\n" \
    "child.TERMINATION_GRACE = 600\nsys.exit(main(sys.argv[1:]))"


def interrupted(folder, agent):
    """A run whose agent was told its prompt, interrupted once."""
    (folder / "agent.py").write_text(agent)
    (folder / "main.conc").write_text(LISTENS)
    (folder / "Concerto.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n[permissions]\nrun = true\n'
        f'[agents.a]\ncommand = "{sys.executable} -S agent.py"\n'
    )
    command = [sys.executable, "-c", SLOW_END, "run", "main.conc"]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"[emit:heard] 1\n"
    process.send_signal(signal.SIGINT)
    return process, int((folder / "pid").read_text())


def test_an_interrupt_ends_tasks_and_children(tmp_path):
    process, agent = interrupted(tmp_path, AGENT % "")
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 130 and gone(agent)


def test_a_second_interrupt_exits_at_once(tmp_path):
    """While the first one waits for a child that does not end."""
    process, agent = interrupted(tmp_path, AGENT % "signal.signal(signal.SIGTERM, lambda *_: open('asked', 'w').close())")
    try:
        until = time.monotonic() + 20
        while not (tmp_path / "asked").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (130, b"")
        assert gone(agent)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent, signal.SIGKILL)
