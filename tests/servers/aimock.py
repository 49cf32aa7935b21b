"""The independent model server @copilotkit/aimock, which speaks the wires of both SDKs over real sockets.

It is a test dependency kept by npm: `npm ci` in this folder. It does not validate requests; tests/oracles.py does.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
COMMAND = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"


def unavailable() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    if not COMMAND.exists():
        return f"@copilotkit/aimock is not installed: run `npm ci` in {HERE}"
    return None


needs_aimock = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(fixtures: list[dict[str, Any]], folder: Path) -> Iterator[str]:
    """The address of a server with these replies; its counts per message begin anew."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    port = free_port()
    command = ["node", str(COMMAND), "-p", str(port), "-f", str(file), "--validate-on-load", "--log-level", "silent"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(process, url)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(400):
        if process.poll() is not None:
            raise AssertionError(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")
