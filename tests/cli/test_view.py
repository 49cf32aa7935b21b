"""`concerto view`: who may see a page, what is on it, and that it follows a run (O-9.82)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from concerto.cli.view import Pages, Server, _Handler

from ..command import concerto, environment

PROGRAM = """\
channel approve: String -> Bool;
model M { provider: openai, base: "m" }
fn main() -> Result<Nil, Error> {
    emit("said", M.execute("<b>one</b>")?.text);
    emit("yes", approve("send?")?);
}
"""


class View:
    """A process of `concerto view`. `get` returns status, headers and text; `address` is what it has printed."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "concerto", "view", *words], cwd=folder, env=environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def get(self, path: str = "", host: str | None = None) -> tuple[int, Any, str]:
        request = urllib.request.Request(self.address + path, headers={} if host is None else {"Host": host})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def rows(self, path: str = "") -> int:
        count: int = json.loads(self.get(f"{path}/state")[2])["rows"]
        return count

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def view(tmp_path: Path) -> Iterator[Callable[..., View]]:
    (tmp_path / "p.conc").write_text(PROGRAM)
    begun: list[View] = []

    def begin(*words: str) -> View:
        begun.append(View(tmp_path, *words))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.communicate()


def soon(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_only_who_has_the_address_sees_the_page(view: Callable[..., View], tmp_path: Path) -> None:
    assert concerto("run", "p.conc", "--offline", "--store", "s.db", cwd=tmp_path).code == 75
    run = json.loads(concerto("runs", "--store", "s.db", "--json", cwd=tmp_path).out)[0]["id"]
    shown = view(run, "--store", "s.db")
    status, headers, page = shown.get()
    assert status == 200 and headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
    assert "offline: \\u003cb\\u003eone" in page and "connect-src 'self'" in page and "<b>one" not in page
    token = shown.address.rpartition("/")[2]
    assert shown.address == f"http://127.0.0.1:{shown.address.split(':')[2].partition('/')[0]}/{token}" and len(token) >= 32
    assert shown.get("x")[0] == shown.get("/other")[0] == shown.get(host="attacker.example")[0] == 404
    shown.address = shown.address.removesuffix(token)
    assert shown.get()[0] == shown.get("x" * len(token))[0] == 404
    assert shown.end() == 130


def test_it_follows_a_run_of_a_store(view: Callable[..., View], tmp_path: Path) -> None:
    assert concerto("run", "p.conc", "--offline", "--store", "s.db", cwd=tmp_path).code == 75
    (row,) = json.loads(concerto("runs", "--store", "s.db", "--json", cwd=tmp_path).out)
    shown = view("--store", "s.db")
    index = shown.get()[2]
    assert f'href="/{shown.address.rpartition("/")[2]}/{row["id"]}"' in index and "waiting" in index and "<script" not in index
    before = shown.rows(f"/{row['id']}")
    assert "ended well" not in shown.get(f"/{row['id']}")[2]
    answer = f"{row['waits'][0]['key']}=true"
    assert concerto("resume", row["id"], "--store", "s.db", "--answer", answer, cwd=tmp_path).code == 0
    soon(lambda: shown.rows(f"/{row['id']}") > before)
    assert "ended well" in shown.get(f"/{row['id']}")[2] and "done" in shown.get()[2]
    status, _, text = shown.get("/nope")
    assert status == 404 and "has no run nope" in text


def test_it_follows_a_file_that_grows(view: Callable[..., View], tmp_path: Path) -> None:
    (tmp_path / "p.conc").write_text(PROGRAM.replace('approve("send?")?', "true"))
    assert concerto("run", "p.conc", "--offline", "--record", "p.effects.jsonl", cwd=tmp_path).code == 0
    whole = (tmp_path / "p.effects.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "p.effects.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:10])
    shown = view("p.effects.jsonl")
    assert shown.rows() == 1 and json.loads(shown.get("/state")[2]) == {"rows": 1, "over": False}
    (tmp_path / "p.effects.jsonl").write_bytes(whole)
    soon(lambda: shown.rows() == len(lines) - 1)
    assert json.loads(shown.get("/state")[2])["over"] is True
    (tmp_path / "p.effects.jsonl").write_bytes(whole.replace(b"one", b"two"))
    soon(lambda: shown.get()[0] == 404)
    assert "p.effects.jsonl:" in shown.get()[2]
    (tmp_path / "p.effects.jsonl").unlink()
    assert shown.get()[0] == 404 and "No such file" in shown.get()[2]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ((), 2, "name an effect file, or a run store"),
        (("-",), 2, "name a file"),
        (("none.effects.jsonl",), 66, "cannot"),
        (("p.conc",), 74, "p.conc"),
        (("--store", "none.db"), 74, "there is no run store none.db"),
        (("p.conc", "--port", "70000"), 2, "is no port"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: tuple[str, ...], code: int, part: str) -> None:
    (tmp_path / "p.conc").write_text(PROGRAM)
    done = concerto("view", *words, cwd=tmp_path)
    assert done.code == code and part in done.err and done.out == "", done


def test_a_browser_that_has_gone_leaves_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answered = threading.Event()

    def gone(self: Any, status: int, body: bytes, kind: str) -> None:
        answered.set()
        raise BrokenPipeError

    monkeypatch.setattr(_Handler, "_answer", gone)
    with Server(0, Pages(None, None, str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with socket.create_connection(("127.0.0.1", server.server_port)) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.recv(1) == b""
        server.shutdown()
        thread.join()
    assert answered.is_set() and "Traceback" not in capfd.readouterr().err
