"""The driver of this implementation: conformance/PROTOCOL.md on standard input and output.

The runner starts it as a process. With `asking.py` beside it, it is the only file of the suite, but the oracle, that imports the
implementation (C-1.2). An operation is a function of OPERATIONS, which takes the message (`op`) and returns the result without
its id; a route is a branch of `by_route`.
"""

from __future__ import annotations

import os
import sys

if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]  # this file would be found as the package `concerto`

import asyncio
import base64
import contextlib
import json
import random
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from concerto.conformance.drivers.asking import (
    AskingChild, AskingNetwork, AskingProvider, AskingServer, Json, Runner, answered, receive, send,
)  # fmt: skip
from concerto.api.python_functions import PythonFunctions
from concerto.cli.version import VERSION
from concerto.compiler.diagnostics import CODES
from concerto.compiler.diagnostics import Diagnostic
from concerto.compiler.libraries import Library, NoLibrary, library_path
from concerto.compiler.pipeline import Compilation, compile_source
from concerto.compiler.source import Source
from concerto.runtime.errors import ConfigFailure
from concerto.runtime.mcp.served import McpSettings
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.providers.base import Provider
from concerto.runtime.effects.tests import EMITS
from concerto.runtime.host import Host
from concerto.runtime.journal.journal import Journal
from concerto.runtime.journal.recording import end_of, new_header
from concerto.runtime.journal.rows import DeliveryRow, EffectRow, EmitRow, PieceRow, plain_of, row_of
from concerto.runtime.session.session import Outcome, Session
from concerto.runtime.effects.standard_input import Scripted
from concerto.runtime.session.state import Snapshots, SnapshotLogs, resume
from concerto.runtime.session.testing import judged as judge
from concerto.runtime.session.testing import VirtualLoop
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.image import ImageError, logs_of
from concerto.vm.interp.effects import Effect
from concerto.vm.interp.link import Program
from concerto.vm.interp.link import load_bytes, load_image
from concerto.vm.values import display, to_json, typeof

FRAME = ("function", "file", "line", "column")
HELLO = {
    "event": "hello", "name": "concerto", "version": VERSION, "spec": "1.0", "protocol": 1,
    "levels": [0, 1, 2, 3, 4, 5],
    "features": ["ways", "libraries", "python", *(["pdf"] if find_spec("pypdf") else []), *(["acp"] if find_spec("acp") else [])],
    "routes": ["interp", "trans", "image", "asm", "resume", "replay"],
}  # fmt: skip


# ---------------------------------------------------------------- compiling


TRANSLATED = ("trans", "image")  # translated at the first call: with fuel counted, and as without a limit

LAST: dict[str, Compilation] = {}  # the newest one, by what it was made from: the routes of a program share it


def compilation(op: Json) -> Compilation:
    """Return what the compiler makes of the files of a message. The newest one is kept, since the routes of a program share
    it."""
    key = json.dumps([op["op"] != "check", op["main"], op["files"], op.get("libraries")])
    if key not in LAST:
        LAST.clear()
        LAST[key] = compiled(op)
    return LAST[key]


def compiled(op: Json) -> Compilation:
    """Compile the files of a message, which are texts, or bytes in base64 as `{"base64": …}`."""
    libraries: dict[str, str] = op.get("libraries") or {}

    def read(name: str) -> bytes | None:
        if name.startswith(tuple(library_path(library) + "/" for library in libraries)):
            return None  # no file of the program
        return content_of(name)

    def find_library(name: str) -> Library:
        if name not in libraries:
            raise NoLibrary("E1004", f"there is no library `{name}`", "`pip install` it")
        return Library(name, libraries[name], name, lambda path: content_of(library_path(name, path)))

    def content_of(name: str) -> bytes | None:
        content = op["files"].get(name)
        if content is None:
            return None
        return content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])

    data = read(op["main"])
    assert data is not None
    return compile_source(data, op["main"], emit=op["op"] != "check", read=read, find_library=find_library)


def diagnostics_of(result: Compilation) -> list[Json]:
    """Return the diagnostics of a compilation as the protocol has them."""
    return [diagnostic_json(d, result.sources[d.span.file]) for d in result.diagnostics.ordered()]


def diagnostic_json(d: Diagnostic, source: Source) -> Json:
    """Return one diagnostic as the protocol has it; line and column count from 1."""
    line, column = source.position(d.span.start)
    severity = "error" if d.is_error else "warning"
    return {
        "stage": CODES[d.code].stage, "code": d.code, "severity": severity, "file": d.span.file, "line": line, "column": column,
        "message": d.message,
    }  # fmt: skip


def check(op: Json) -> Json:
    """Return the result of `check`: the diagnostics."""
    result = compilation(op)
    failed = result.diagnostics.has_errors
    return {"status": "error" if failed else "ok", "diagnostics": diagnostics_of(result), "exit": 65 if failed else 0}


def compile_(op: Json) -> Json:
    """Return the result of `compile`: the diagnostics, and the image in base64 if there are no errors."""
    result = compilation(op)
    if result.image is None:
        return {"status": "error", "diagnostics": diagnostics_of(result), "exit": 65}
    if op.get("strip"):
        LAST.clear()
        result.image.strip()
    image = base64.b64encode(encode(result.image)).decode()
    return {"status": "ok", "diagnostics": diagnostics_of(result), "image": image, "exit": 0}


def rejected(error: ImageError) -> Json:
    """Return the result for an image that is refused."""
    stage = "load" if error.code.startswith("V0") else "verify"
    return {"status": "rejected", "stage": stage, "code": error.code, "exit": 74}


def load(op: Json) -> Json:
    """Return the result of `load`: whether the image is accepted."""
    try:
        load_bytes(base64.b64decode(op["image"]))
    except ImageError as error:
        return rejected(error)
    return {"status": "ok", "exit": 0}


# ---------------------------------------------------------------- running


LEFT_OUT = {"mode": "run", "route": "interp", "main": "main.conc"}  # what a `run` means that does not say it


def run(message: Json) -> Json:
    """Return the result of `run`: how `main` ended, or the tests. Emits and requests go to the runner meanwhile. What the message
    does not say is taken from LEFT_OUT."""
    op = LEFT_OUT | message
    diagnostics: list[Json] = []
    try:
        if op.get("image"):
            program = load_bytes(base64.b64decode(op["image"]))
        else:
            result = compilation(op)
            diagnostics = diagnostics_of(result)
            if result.image is None:
                return {"status": "error", "diagnostics": diagnostics, "exit": 65}
            if result.image.header.entry is None and op["mode"] == "run":
                return {"status": "error", "diagnostics": [*diagnostics, no_main(op["main"])], "exit": 65}
            program = by_route(op["route"], result)
    except ImageError as error:
        return {**rejected(error), "diagnostics": diagnostics}
    if isinstance(program, str):
        return {"status": "rejected", "stage": "asm", "code": program, "exit": 74, "diagnostics": diagnostics}
    try:
        with file_system(op, program) as folder:
            world = recorded_run if op["route"] == "replay" else plain_run
            ended = world(op, program, folder) if op["mode"] == "run" else run_tests(op, program, folder)
            return {**ended, "diagnostics": diagnostics}
    except ConfigFailure as failure:
        fails = {"kind": failure.code, "message": failure.message}
        return {"status": "error", "diagnostics": diagnostics, "exit": 2, "fails": fails}


def plain_run(op: Json, program: Program, folder: str) -> Json:
    """Run `main` and return the result."""
    return World(op, program, folder).run()


class Rows:
    """Where a recording is kept: rows as they would stand in a file."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    parks = False

    def commit(self, rows: Any, told: int, waits: Any) -> None:
        self.lines += [json.dumps(plain_of(row)) for row in rows]

    def renew(self) -> None:
        """Nobody else has it."""

    def close(self) -> None:
        """There is nothing to close."""


def recorded_run(op: Json, program: Program, folder: str) -> Json:
    """Run `main` and record it; then give the recording again to a session that reaches nothing outside; then go on from
    beginnings of it, as after the death of the process, with a world that answers as it did. Return the result of the first run,
    or an error where another one ended otherwise (C-7.1, G-13.4, G-14.2)."""
    kept = Rows()
    secure_bytes = random.Random(random.Random(op.get("seed", 0)).random()).randbytes  # those of the world
    header = new_header(program, op.get("args", []), op.get("seed", 0), op.get("now", 0) / 1000, False, secure_bytes)
    world = World(op, program, folder, recorded=lambda times: Journal(header, sink=kept, **times))
    first = world.run()
    if world.outcome is None:
        return first
    world.journal.close(end_of(world.outcome, world.session.redactor.clean))

    def differs(how: str, again: World, unused: Any = None) -> bool:
        second = {**again.run(), "calls": first["calls"]}  # which the runner counts
        if getattr(again.journal, "is_beyond", False):
            return False
        told = again.kept_texts
        if how != "replay":  # what stands side by side comes in the order of a world that answers at once
            second["fuel"], told = first["fuel"], sorted(told)
        same = (second, told) == (first, world.kept_texts if how == "replay" else sorted(world.kept_texts))
        same = same and again.journal.unused() is None
        if not same and "CONCERTO_SHOW_REPLAY" in os.environ:
            with open(os.environ["CONCERTO_SHOW_REPLAY"], "a") as file:
                parts = [again.journal.unused(), second, first, again.kept_texts, world.kept_texts, *kept.lines]
                print("=====", op["main"], how, *parts, sep="\n", file=file)
        return not same

    rows = [row_of(json.loads(line)) for line in kept.lines]
    again = Replayed(op, program, folder, recorded=lambda times: Journal(header, sink=None, recorded=iter(rows), **times))
    failed = "the replay differs" if differs("replay", again) else None
    for cut in [] if failed else cuts(rows):
        again = Replayed(op, program, folder, recorded=lambda times: Continued(header, rows, cut, times))  # noqa: B023
        failed = failed or (f"going on behind row {cut} differs" if differs(f"cut {cut}", again) else None)
    if failed is None:
        return first
    return {**first, "status": "error", "fails": {"kind": "Replay", "variant": None, "message": failed, "way": []}}


def cuts(rows: list[Any]) -> list[int]:
    """Return up to four places in a recording behind which no order of results is left to chance: a world that answers at once
    would choose another one. None is within a streamed reply, and none of a run that has stores of its own."""
    if any(isinstance(row, EffectRow) and row.kind == "memory" for row in rows):
        return []  # the store would hold what came later
    order = max((at for at, row in enumerate(rows) if isinstance(row, DeliveryRow)), default=0)
    places = [
        at for at in range(order, len(rows))
        if isinstance(rows[at], EffectRow) or at == 0
    ]  # fmt: skip
    open_streams: set[str] = set()
    fitting = []
    for at, row in enumerate(rows):
        if isinstance(row, PieceRow):
            open_streams.add(row.key)
        elif isinstance(row, EffectRow):
            open_streams.discard(row.key)
        if at + 1 in places and not open_streams:
            fitting.append(at + 1)
    fitting = ([0] if order == 0 else []) + fitting
    return sorted(random.Random(len(rows)).sample(fitting, min(4, len(fitting))))


class Continued(Journal):
    """The journal of a run that goes on behind the first rows of a recording, in a world that answers as the recording has it."""

    def __init__(self, header: Any, rows: list[Any], cut: int, times: Json) -> None:
        emits = sum(isinstance(row, EmitRow) for row in rows[:cut])
        super().__init__(header, sink=Rows(), recorded=iter(rows[:cut]), goes_on=True, emits=(emits, 0), **times)
        self.is_beyond = False  # whether it was asked for what the recording does not know
        self.outcomes = {row.key: row for row in rows if isinstance(row, EffectRow) and row.is_settled}
        self.pieces: dict[str, list[Any]] = {}
        for row in rows:
            if isinstance(row, PieceRow):
                self.pieces.setdefault(row.key, []).append(row)

    async def _live(
        self, key: str, kind: str, cls: str, digest: str, request: Any, work: Any, how: Any, announces: bool = False
    ) -> Any:
        row = self.outcomes.get(key)
        if row is None:  # the first run was not as fast as to ask for this
            self.is_beyond = True
            await self._loop.create_future()
        assert row is not None and row.digest == digest and row.kind == kind, (key, request)
        for piece in self.pieces.get(key, ()):
            self.clock(piece.t)
            await self.give[key](piece.text)
        if row.status == "discarded":
            await self._loop.create_future()
        self.clock(row.t_end)
        return self._outcome(row, how)

    def clock(self, milliseconds: float) -> None:
        """Set the clock to the time at which an outcome came."""
        self._time = max(self._time, milliseconds)

    async def stream(self, key: str, kind: str, cls: str, request: Any, work: Any, give: Any, how: Any, broken: Any) -> Any:
        self.give = {**getattr(self, "give", {}), key: give}
        return await super().stream(key, kind, cls, request, work, give, how, broken)


def run_tests(op: Json, program: Program, folder: str) -> Json:
    """Run each test in a world of its own, and return the result of all; emits and requests are numbered through all of them. A
    cancelled test ends the run, and its result is returned."""
    tests: list[Json] = []
    total: Json = {"fuel": 0, "calls": {}}
    emitted = requests = 0
    for test in program.image.tests:
        world = World(op, program, folder, test.function)
        world.emitted, world.runner.requests = emitted, requests
        ended = world.run()
        if world.outcome is None:
            return ended
        judged = judge(test, world.outcome, world.kept, world.session.redactor.clean)
        tests.append({"name": judged.description, "outcome": "pass" if judged.passed else "fail", "message": judged.failure})
        emitted, requests = world.emitted, world.runner.requests
        total["fuel"] = None if total["fuel"] is None or ended["fuel"] is None else total["fuel"] + ended["fuel"]
        for name, count in ended["calls"].items():
            total["calls"][name] = total["calls"].get(name, 0) + count
    failed = any(test["outcome"] == "fail" for test in tests)
    return {**total, "status": "error" if failed else "ok", "exit": 1 if failed or not tests else 0, "tests": tests}


def no_main(file: str) -> Json:
    """Return the diagnostic for a program without `main`."""
    row = {"stage": "names", "code": "E1013", "severity": "error", "file": file, "line": 1, "column": 1}
    return {**row, "message": "no main function to run"}


def by_route(route: str, result: Compilation) -> Program | str:
    """Return the program as the route makes it; a text that says why when assembling has changed the bytes. Raise ImageError for
    an image that is refused."""
    assert result.image is not None
    if route in ("interp", "trans", "resume", "replay"):
        return load_image(result.image)
    data = encode(result.image)
    if route == "image":
        return load_bytes(data)
    image = assemble(disassemble(result.image))
    if encode(image) != data:
        return "assembling the disassembly changed the image"
    return load_image(image)


@contextlib.contextmanager
def file_system(op: Json, program: Program) -> Iterator[str]:
    """Give the folder with the files of the run, which is removed at the end; `/` for a run that uses no files."""
    stores = any("store" in memory.steps for memory in program.image.memories)
    if not stores and not op.get("fs") and not any(text.startswith("fs:") for text in op.get("permissions", ())):
        yield "/"
        return
    with tempfile.TemporaryDirectory() as folder:
        for path, content in op.get("fs", {}).items():
            target = os.path.join(folder, *path.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else base64.b64decode(content["base64"]))
        yield folder


DISABLE = "disable-tool="


def permissions_of(op: Json) -> Permissions:
    """Return the permissions in a message. The whole file system of a run is the folder of the message."""
    texts = op.get("permissions", ())
    permissions = Permissions.of_texts(text for text in texts if not text.startswith(DISABLE))
    permissions.disabled = tuple(text.removeprefix(DISABLE) for text in texts if text.startswith(DISABLE))
    for key in ("fs_read", "fs_write"):
        permissions.scopes[key] = (".",) if permissions.scopes[key] is True else permissions.scopes[key]
    return permissions


class Cancelled(Exception):
    """The runner cancelled the run."""


class Resumed(Session):
    """A session that is written before each step, dropped, and made anew from the bytes: the machine, and volatile logs of
    memories, of which each snapshot has only what came since the one before (C-7.1, M-14.6)."""

    def __init__(self, program: Program, host: Host) -> None:
        super().__init__(program, host)
        self.snapshots = Snapshots(self)
        self.told = SnapshotLogs()

    def _step(self) -> list[Effect]:
        resume(self, self.snapshots.write(), self.told)
        return super()._step()


class World:
    """One run of `main`, or of the function of a test: its events out, its replies in, its virtual clock, which counts
    milliseconds. `outcome` is None until the run has ended; `kept` are the emits of a test by channel and value; `emitted` counts
    the emits."""

    def __init__(
        self, op: Json, program: Program, folder: str, function: int | None = None, recorded: Any = None
    ) -> None:
        self.journal: Any = None
        self.kept_texts: list[tuple[str, str]] = []
        self.op = op
        self.function = function
        self.outcome: Outcome | None = None
        self.kept: list[tuple[str, Any]] = []
        self.runner = Runner(op["id"])
        self.program = program
        self.emitted = 0
        self.loop = VirtualLoop(op.get("now", 0), self.idle)
        chance = random.Random(op.get("seed", 0))
        host = Host(
            emit=self.emit,
            print=lambda text: None,
            log=lambda level, text: None,
            wall=self.loop.time,
            random_bits=chance.getrandbits,
            secure_bytes=random.Random(chance.random()).randbytes,
            args=op.get("args", []),
            stdin=None if op.get("stdin") is None else lambda: Scripted(op["stdin"].encode()),
            permissions=permissions_of(op),
            folder=folder,
            network=AskingNetwork(self.runner),
            env=op.get("env", {}),
            now=self.loop.time,
            sleep=asyncio.sleep,
            random=chance.random,
            connections=op.get("connections", {}),
            provider=self.provider,
            answer=self.answer,
            agents=connectors(program, op.get("agents") or {}),
            children=self.child,
            server=self.server,
            volatile=function is not None,
            tier="both" if op["route"] in TRANSLATED else "interp",
            hears=lambda: bool(op.get("listen")),
            python=PythonFunctions,
        )
        if recorded is not None:
            host.journal = self.journal = recorded({"real_time": self.loop.time, "real_wall": self.loop.time})
        self.session = (Resumed if op["route"] == "resume" else Session)(program, host)
        if op["route"] in TRANSLATED:
            self.session.machine.tiers(True, at_once=True, counted=op["route"] == "trans")
        if function is not None:
            self.session.state[EMITS] = self.kept
        self.providers: dict[str, Provider] = {}
        for name, messages in (op.get("memories") or {}).items():
            for message in messages:
                self.session.memories[name].append(message["role"], message["content"])

    def run(self) -> Json:
        """Run the program to its end and return the result; the loop of this world is closed then. Raise ConfigFailure for a
        wrong configuration."""
        asyncio.set_event_loop(self.loop)
        limits = self.op.get("limits") or {}
        try:
            work = self.session.run(
                steps=limits.get("steps"),
                depth=limits.get("depth", 10_000),
                seconds=limits.get("seconds"),
                tokens=limits.get("tokens"),
                cost=limits.get("cost"),
                model_calls=limits.get("model_calls"),
                function=self.function,
            )
            self.outcome = outcome = self.loop.run_until_complete(work)
        except Cancelled:
            return {"status": "cancelled", "exit": 130}
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()
        return self.result(outcome)

    def result(self, outcome: Outcome) -> Json:
        """Return the result that the protocol has for an outcome."""
        result: Json = {"status": "ok", "exit": outcome.exit_code, "fuel": outcome.fuel, "calls": self.runner.calls}
        memories = self.session.memories
        clean = self.session.redactor.clean
        image = self.program.image
        bases = {m.name: log for m, log in zip(image.memories, logs_of(image.memories), strict=True)}
        plain = [name for name, base in bases.items() if not {"store", "keys", "made"} & base.steps.keys()]
        result["memories"] = {name: [m.as_json() for m in memories[name].messages()] for name in plain}
        if outcome.panic is not None:
            panic = outcome.panic
            trace = [dict(zip(FRAME, frame, strict=True)) for frame in panic.trace]
            place = trace[0] if trace else {"file": "", "line": 0, "column": 0}
            result["status"] = "panic"
            result["panic"] = {"code": panic.code, "message": clean(panic.message), **place, "trace": trace}
        elif outcome.exit_code:
            error = outcome.error
            result["status"] = "error"
            result["fails"] = {
                "kind": getattr(error, "family", None) or typeof(error),
                "variant": getattr(error, "variant", None) if hasattr(error, "family") else None,
                "message": clean(display(error)),
                "way": [place if isinstance(place, int) else dict(zip(FRAME, place, strict=True)) for place in outcome.trace],
            }
        return result

    # ------------------------------------------------------------ events

    def emit(self, channel: str, value: Any, by_runtime: bool) -> None:
        """Send an emit to the runner. Those of the program are kept for its test; an audited call of a tool is counted."""
        if not by_runtime:
            self.kept.append((channel, value))
        elif channel == "audit:tool_call":
            self.runner.called(f"{value.items['tool']}__{value.items['method']}")
        self.kept_texts.append((channel, to_json(value)))
        self.tell(channel, self.kept_texts[-1][1])
        self.emitted += 1

    def tell(self, channel: str, text: str) -> None:
        """Tell the runner of an emit."""
        send({"id": self.runner.id, "event": "emit", "n": self.emitted, "channel": channel, "json": text})

    async def answer(self, channel: str, value: Any, run: Any) -> Any:
        """Return the runner's answer to an awaited emit, as `answered` does."""
        return await answered(self.runner, channel, value)

    def provider(self, connection: str) -> Provider:
        """Return the session's own provider for `offline`, for every other connection one that asks the runner."""
        settings = self.session.connections[connection]
        if not settings.row.wires:
            return self.session.pool[connection]
        if connection not in self.providers:
            real, session = self.session.pool[connection], self.session
            self.providers[connection] = AskingProvider(self.runner, real, session.host.env, session.redactor)
        return self.providers[connection]

    async def child(self, name: str, arguments: list[str], env: dict[str, str], folder: str) -> AskingChild:
        """Return the process of an agent, which the runner plays. Raise OSError for the name of any other command."""
        if all(agent.name != name for agent in self.program.image.agents):
            raise OSError("this world has no commands")
        return AskingChild(self.runner, name, os.path.abspath(folder))

    async def server(self, settings: McpSettings) -> AskingServer:
        """Return the MCP server of these settings, which the runner plays."""
        return AskingServer(self.runner, settings)

    def idle(self, until: int | None) -> None:
        """Tell the runner that every task waits, at most until the time `until`, None for no end. Take replies until it sends the
        new time. Raise Cancelled if it cancels the run."""
        send({"id": self.runner.id, "event": "idle", "until": until})
        while True:
            message = receive()
            if message["op"] == "reply":
                self.runner.give(message)
            elif message["op"] == "tick":
                self.loop.now_ms = message["now"]
                return
            elif message["op"] == "cancel":
                raise Cancelled


class Replayed(World):
    """A world in which nothing is there but what a recording has."""

    def tell(self, channel: str, text: str) -> None:
        """Keep the emit to itself."""

    async def answer(self, channel: str, value: Any, run: Any) -> Any:
        raise AssertionError("a replay asks nobody")

    def provider(self, connection: str) -> Provider:
        return self.session.pool[connection]

    async def child(self, name: str, arguments: list[str], env: dict[str, str], folder: str) -> AskingChild:
        raise AssertionError("a replay starts nothing")

    async def server(self, settings: McpSettings) -> AskingServer:
        raise AssertionError("a replay connects to nothing")

    def idle(self, until: int | None) -> None:
        if getattr(self.journal, "is_beyond", False):
            raise Cancelled
        assert until is not None, "a replay stands still"
        self.loop.now_ms = until


def connectors(program: Program, configured: Json) -> dict[str, Json]:
    """Return the fields of agents by connector. The command of an agent is named after its connector if it declares no process.
    `configured` are further fields by agent, "" for any."""
    agents = [agent for agent in program.image.agents if "process" not in agent.fields]
    more = {agent.name: configured.get(agent.name, configured.get("", {})) for agent in agents}
    return {(name := agent.fields["connector"]): {"command": name, **more[agent.name]} for agent in agents}


OPERATIONS = {"check": check, "compile": compile_, "load": load, "run": run}


def main() -> int:
    """Answer the messages of the runner until `bye`; return the exit status 0."""
    while True:
        op = receive()
        if op["op"] == "hello":
            send(HELLO)
        elif op["op"] == "bye":
            return 0
        elif op["op"] in OPERATIONS:
            send({"id": op["id"], **OPERATIONS[op["op"]](op)})


if __name__ == "__main__":
    sys.exit(main())
