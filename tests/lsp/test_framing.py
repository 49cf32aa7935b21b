"""What an editor may send that is no message: the server goes on, or ends with a word and a code (G-5.12)."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ..command import environment
from .editor import Editor

BROKEN = {
    "a word": b"Content-Length: abc\r\n\r\n{}",
    "nothing": b"Content-Length:\r\n\r\n{}",
    "negative": b"Content-Length: -5\r\n\r\n{}",
    "a fraction": b"Content-Length: 2.0\r\n\r\n{}",
    "huge": b"Content-Length: 99999999999\r\n\r\n{}",
    "more digits than a number has": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "missing": b"Content-Type: text/plain\r\n\r\n{}",
    "two": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "no header": b"{\"jsonrpc\": \"2.0\"}\n\n",
    "a line without an end": b"x" * 100_000,
    "endless header": b"X-Y: z\r\n" * 10_000,
    "cut off in the header": b"Content-Length: 2",
    "cut off in the body": b"Content-Length: 200\r\n\r\n{}",
    "bytes": bytes(range(256)) * 4 + b"\n\n",
}
NO_JSON = (b"{", b"abc", b"\xff\xfe", b"5", b"[]", b"null", b'"x"', b"{}", b"[" * 100_000, b'{"jsonrpc": "2.0", "method": 7}')


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_header_ends_the_server_with_a_word(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "concerto", "lsp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as process:
        assert process.stdin is not None and process.stderr is not None
        with suppress(BrokenPipeError):  # it may end before it has read all
            process.stdin.write(BROKEN[name])
            process.stdin.flush()
            if "cut off" in name:
                process.stdin.close()
        code = process.wait(timeout=20)  # although its input is still open
        error = process.stderr.read().decode()
        with suppress(BrokenPipeError):
            process.stdin.close()
    assert code == 1 and error.startswith("concerto lsp: ") and error.endswith("; the server ends\n"), error
    assert "Traceback" not in error


def test_bodies_that_are_no_message_are_passed_over(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    assert editor.process.stdin is not None
    for body in NO_JSON:
        editor.process.stdin.write(b"content-length:%d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body))
    editor.process.stdin.write(b"Content-Length: 0\r\n\r\n")
    editor.process.stdin.flush()
    assert [found["code"] for found in editor.open("fn main() { x; }")] == ["E1001"]
    code, err = editor.leave()
    assert code == 0 and "Traceback" not in err and len(err.splitlines()) >= 5, err
