"""`concerto view`: the page of a recording in a browser, following a run that goes on (O-9.82).

Hands on `configure` and `execute` to `main`. It serves pages of `cli/trace_page.py` on 127.0.0.1 alone, under an address that
nobody can guess, and writes nothing but a file of its own for the time that it serves. A page is written anew when the recording
has more rows, and at most so often that writing takes a fifth of the time.
"""

from __future__ import annotations

import hmac
import html
import json
import os
import secrets
import sys
import tempfile
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

from . import exits
from .journals import refusing
from .trace_page import own_style, write_page
from .trace_source import Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..runtime.journal.run_store import RunRow

REST = 4.0  # times as long as the writing of a page took, until it may be written again
LEAST = 0.5  # seconds until then at least


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `view`."""
    recording = "an effect file, or a run of a store; without it all runs of the store"
    parser.add_argument("recording", metavar="FILE|RUN", nargs="?", help=recording)
    parser.add_argument("--store", metavar="PATH", help="the run store that has the run")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port (one that is free)")
    parser.usage = "concerto view FILE [options]\n       concerto view [RUN] --store PATH [options]"


def execute(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, which leaves as KeyboardInterrupt. Raise `Exit`: 2 for flags that do not fit, 66 for a file or
    port that cannot be used, 74 for what is no recording, 1 where the library of the store's database is not installed."""
    if arguments.recording is None and arguments.store is None:
        raise exits.Exit(exits.USAGE, "view: name an effect file, or a run store with --store")
    if arguments.recording == "-":
        raise exits.Exit(exits.USAGE, "view: a recording is read again as it grows; name a file")
    if not 0 <= arguments.port <= 65535:
        raise exits.Exit(exits.USAGE, f"view: --port {arguments.port} is no port")
    with tempfile.TemporaryDirectory(prefix="concerto-view-") as folder:
        pages = Pages(arguments.recording, arguments.store, folder)
        refusing(arguments.recording or arguments.store, pages.check)
        try:
            server = Server(arguments.port, pages)
        except OSError as error:
            raise exits.Exit(exits.NO_INPUT, f"view: port {arguments.port} cannot be used: {error.strerror or error}") from None
        with server:
            print(server.address, flush=True)
            if not arguments.quiet:
                print("Ctrl-C ends it", file=sys.stderr)
            server.serve_forever(poll_interval=0.2)
    return exits.OK


class Pages:
    """The pages of a recording, or of the runs of a store, each written into `folder` as it is asked for. `recording` is an
    effect file or the id of a run of the store, None for all its runs. Methods raise JournalRefused, OSError and `Exit` for what
    cannot be read."""

    def __init__(self, recording: str | None, store: str | None, folder: str) -> None:
        self.recording = recording
        self.store = store
        self.folder = folder
        self._lock = threading.Lock()
        self._written: dict[str, _Written] = {}

    def check(self) -> None:
        """Read the beginning of the recording, or the list of runs."""
        if self.recording is None:
            self.runs()
        else:
            Recording(self.recording, self.store).close()

    def runs(self) -> list[RunRow]:
        """Return the runs of the store that can be read, the newest first."""
        from ..runtime.journal.run_store import RunStore

        assert self.store is not None
        store = RunStore(self.store, time.time, must_exist=True)
        try:
            return store.runs([])
        finally:
            store.close()

    def page(self, name: str) -> _Written:
        """Return the page of a recording, written anew where there is more of it, but not as long as it rests."""
        with self._lock:
            written = self._written.get(name)
            if written is None:
                written = self._written[name] = _Written(os.path.join(self.folder, f"{len(self._written)}.html"))
            state = self._state(name)
            if state != written.state and time.monotonic() >= written.rests_until:
                began = time.monotonic()
                recording = Recording(name, self.store)
                try:
                    write_page(written.path, recording, following=True)
                finally:
                    recording.close()
                written.state, written.rows, written.over = state, recording.count, recording.has_end
                ended = time.monotonic()
                written.rests_until = ended + max(LEAST, REST * (ended - began))
            return written

    def _state(self, name: str) -> tuple[object, ...]:
        """Return what is another one when there is more of a recording."""
        if self.store is None:
            about = os.stat(name)
            return (about.st_size, about.st_mtime_ns, about.st_ino)
        from ..runtime.journal.run_store import RunStore

        store = RunStore(self.store, time.time, must_exist=True)
        try:
            run = store.run(name)
            return (run.rows, run.state)
        finally:
            store.close()


class _Written:
    """A page that was written: of which `state` of the recording, with how many `rows`, and whether the run is `over`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.state: tuple[object, ...] = ()
        self.rows = 0
        self.over = False
        self.rests_until = 0.0


class Server(ThreadingHTTPServer):
    """Serves `pages` on 127.0.0.1. `address` is where a browser finds them: it has the secret `token`, without which every
    request is answered 404, as is one whose Host is none of `hosts`. Raises OSError for a port that cannot be had."""

    daemon_threads = True

    def __init__(self, port: int, pages: Pages) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.pages = pages
        self.token = secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.address = f"http://127.0.0.1:{self.server_port}/{self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30.0  # seconds for a client to say what it wants

    def do_GET(self) -> None:
        with suppress(ConnectionError):  # the browser has gone, and wants no answer
            self._get()

    def _get(self) -> None:
        token, _, rest = self.path.partition("?")[0].removeprefix("/").partition("/")
        # another host's name is that of a page elsewhere, which reaches this one by a name of its own
        is_meant = self.headers.get("Host", "") in self.server.hosts
        if not is_meant or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._answer(404, b"not found\n", "text/plain")
            return
        try:
            self._show(rest)
        except exits.Exit as refused:
            self._answer(404, f"{refused.message}\n".encode("utf-8", "replace"), "text/plain")
        except ConnectionError:
            raise
        except RecursionError:
            self._answer(404, b"a row of it is nested too deeply\n", "text/plain")
        except OSError as error:
            self._answer(404, f"{error.strerror or error}\n".encode("utf-8", "replace"), "text/plain")

    def _show(self, rest: str) -> None:
        pages = self.server.pages
        name, slash, what = rest.partition("/")
        if pages.recording is not None:
            name, what = pages.recording, rest
        elif not name:
            runs = refusing(str(pages.store), pages.runs)
            self._answer(200, index_of(runs, self.server.token).encode("utf-8", "replace"), "text/html")
            return
        if what not in ("", "state"):
            self._answer(404, b"not found\n", "text/plain")
            return
        written = refusing(name, lambda: pages.page(unquote(name) if pages.recording is None else name))
        if what == "state":
            self._answer(200, json.dumps({"rows": written.rows, "over": written.over}).encode(), "application/json")
            return
        with open(written.path, "rb") as file:
            self._answer(200, file.read(), "text/html")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the address has the token in it."""


def index_of(runs: list[RunRow], token: str) -> str:
    """Return the page that lists runs, each with a link to its own."""
    style, policy = own_style()
    rows = "".join(
        f'<tr><td><a href="/{token}/{quote(run.id, safe="")}">{html.escape(run.id)}</a></td>'
        f"<td>{html.escape(run.header.program)}</td><td>{run.state}</td>"
        f"<td>{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(run.created))}</td><td>{run.rows}</td></tr>"
        for run in runs
    )
    names = "".join(f'<th scope="col">{name}</th>' for name in ("run", "program", "state", "began", "rows"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta http-equiv="refresh" content="5">'
        f"<title>Runs</title><style>{style}</style></head><body><main><h1>Runs</h1>"
        f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table></main></body></html>"
    )

