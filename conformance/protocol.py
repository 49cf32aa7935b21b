"""A driver process and the lines exchanged with it (PROTOCOL.md, sections 1 to 3; C-8.1, C-8.8).

Hands on `Driver` and `DriverError` to the runner, to `command` and to `generate.py`, SILENCE to the first, and the type `Json`.
It knows messages, hangs and crashes; programs and expectations are not known here. The time limits are the constants at the top.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

PROTOCOL = 1
SILENCE = 10.0  # seconds without a line of the driver, after which it hangs
HELLO_SILENCE = 60.0  # seconds to start
EXIT = 6  # times as long as it may be silent, to end: a busy machine is slow to take a process down
RUN_LIMIT = 120.0  # seconds for one operation, however much the driver says
LINE_LIMIT = 16 * 1024 * 1024  # bytes


class DriverError(Exception):
    """The driver broke the protocol or has ended; `outcome` is "hang" or "crash"."""

    outcome = "crash"


class DriverHang(DriverError):
    """The driver was silent or busy for too long."""

    outcome = "hang"


class Driver:
    """One driver process, started at once; `run` sends an operation and feeds its events to a handler. `hello` is the driver's
    first message. `silence` is how many seconds it may be silent while it runs. Raises DriverError if it does not start or says
    no hello. A DriverError from any method means that the process has been ended."""

    def __init__(self, command: list[str] | str, silence: float = SILENCE) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.silence = silence
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._buffer = bytearray()
        self._last_id = 0
        try:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
            )
        except OSError as error:
            self._stderr.close()
            raise DriverError(f"the driver does not start: {error}") from None
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self.hello = self._greet()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def _greet(self) -> Json:
        self.send({"op": "hello", "protocol": PROTOCOL})
        hello = self._read(HELLO_SILENCE)
        missing = [key for key in ("name", "levels", "routes") if key not in hello]
        if hello.get("event") != "hello" or missing:
            raise self._fail(f"no hello, but {json.dumps(hello)[:200]}")
        if hello.get("protocol", PROTOCOL) != PROTOCOL:
            raise self._fail(f"protocol {hello['protocol']}, the runner speaks {PROTOCOL}")
        return hello

    def send(self, message: Json) -> None:
        """Write one message to the driver. Raise DriverError if it does not read any more."""
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        assert self._process.stdin
        try:
            self._process.stdin.write(line)
        except OSError:
            raise self._fail("the driver has closed its input") from None

    def run(self, message: Json, on_event: Callable[[Json], None]) -> Json:
        """Send `message` under a fresh id, hand every event to `on_event`, and return the result. Raise DriverError for a crash
        or what is not of the protocol, DriverHang after `silence` seconds without a line or RUN_LIMIT seconds in all."""
        self._last_id += 1
        self.send({"id": self._last_id, **message})
        end = time.monotonic() + RUN_LIMIT
        while True:
            answer = self._read(self.silence)
            if answer.get("id") != self._last_id:
                raise self._fail(f"a message of another run: {json.dumps(answer)[:200]}")
            if "event" not in answer:
                if "status" not in answer:
                    raise self._fail(f"neither event nor result: {json.dumps(answer)[:200]}")
                return answer
            on_event(answer)
            if time.monotonic() > end:
                raise self._hang(f"still running after {RUN_LIMIT:.0f} s")

    def answer(self, message: Json) -> None:
        """Send a further message of the run in progress; raise as `send`."""
        self.send({"id": self._last_id, **message})

    def _read(self, silence: float) -> Json:
        line = self._line(silence)
        try:
            message = json.loads(line)
        except ValueError:
            raise self._fail(f"text outside the protocol: {line[:200]!r}") from None
        if not isinstance(message, dict):
            raise self._fail(f"not an object: {line[:200]!r}")
        return message

    def _line(self, silence: float) -> bytes:
        assert self._process.stdout
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                return line
            searched = len(self._buffer)
            if searched > LINE_LIMIT:
                raise self._fail("a line over 16 MiB")
            if not self._selector.select(silence):
                raise self._hang(f"silent for {silence:.0f} s")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise self._fail("the driver ended" + self._status())
            self._buffer += data

    def _status(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f" with status {self._process.wait(2)}"
        return ""

    def _fail(self, text: str) -> DriverError:
        self.kill()
        return DriverError(text + self._tail())

    def _hang(self, text: str) -> DriverHang:
        self.kill()
        return DriverHang(text + self._tail())

    def _tail(self) -> str:
        with self._stderr:
            self._stderr.seek(0)
            text = self._stderr.read()[-1500:].decode("utf-8", errors="replace").strip()
        return f"; its standard error ends:\n{text}" if text else ""

    def kill(self) -> None:
        """End this process at once; a second call does nothing."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def close(self) -> str | None:
        """Say `bye` and wait for the end of the process. Return what was wrong if the driver wrote more or did not exit with
        status 0, else None."""
        try:
            self.send({"op": "bye"})
            assert self._process.stdin
            self._process.stdin.close()
            status = self._process.wait(EXIT * self.silence)
            assert self._process.stdout
            rest = bytes(self._buffer) + self._process.stdout.read()
        except (DriverError, OSError, subprocess.TimeoutExpired):
            self.kill()
            return "the driver does not exit after bye"
        finally:
            self._stderr.close()
        self.kill()
        if status:
            return f"exit status {status} after bye"
        return f"text after bye: {rest[:200]!r}" if rest.strip() else None
