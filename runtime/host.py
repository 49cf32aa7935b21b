"""What a session takes from outside: sinks, clock, chance, the world, and what stands in place of parts of it.

Plain values and functions, given by the command line, the Python API and tests. Must not know: sessions.
"""

from __future__ import annotations

import os
import sys
import time

from .secrets import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from .code_cache import CodeCache
    from .http_requests import Network
    from .mcp.settings import McpSettings
    from .memory.embedding import Embedder
    from .memory.stores.protocol import Store
    from .permissions import Permissions


def log_to_stderr(level: str, text: str) -> None:
    print(f"[{level}] {text}", file=sys.stderr)


def _random_bits(bits: int) -> int:
    from random import getrandbits  # costs a start more than a run without numbers is worth

    return getrandbits(bits)


class Host:
    """What a session takes from outside.

    `emit(channel, value, by_runtime)`, `print(text)` and `log(level, text)` are sinks; `now` and `sleep` are the clock in
    seconds, `wall` the seconds since 1970 (`stored_wall`, where it differs, for what outlives the session); `random` gives
    [0, 1), `random_bits(n)` an Int of n bits, `secure_bytes(n)` bytes nobody can foresee; `provider`, when given, makes the
    provider of a connection. `args` are those of the program, `permissions` what it may touch, `folder` the directory its
    paths start from, `network` what carries `std::http` (None: nothing does); `agents` are the fields of agents by connector,
    over those of the manifest, in whose directory `project` their processes run; `children(name, arguments, env, folder)`
    starts one of these, None: as a process of the system; `mcp` are the fields of MCP servers by name, over those of
    declaration and manifest; `server(settings)` connects to one, None: through the SDK;
    `answer(channel, value, run)` answers awaited emits (it raises NoListener where nobody does) within `emit_timeout_ms`, where
    `run(number, arguments)` calls a function of the program;
    `tools` hold by tool and method what runs in its place, given the arguments, the type of the result, `run` as
    above, and what gives the context of the call (O-3.28);
    `emit_interval` is the flush interval of buffered mode in seconds; `loop` is the event loop that runs the
    session, None: asyncio's, which `new_loop` makes where it is not the usual one; `hears()`: whether anybody listens to
    `memory:*`, whose events are built only then (M-6.31); `requests` gets a line per model request (O-9.13). `stores` replace or
    add stores of memories by name (M-8.3); with `volatile` no memory outlives the session (M-8.15). `embedders` replace or
    add embedders by name (M-10.16). `summarizers`: by the names that `.summary("NAME")` says (M-9.1); `token_counter` counts
    entries in place of the default counter (M-11.1).
    `tier`: "both", or "interp" for the interpreter alone (V-7.7). `code_cache` keeps what is translated (V-7.2). `stdin` gives
    where `std::io` reads (`standard_input.py`), None: the program has no standard input.
    """

    def __init__(
        self,
        *,
        emit: Callable[[str, Any, bool], None],
        print: Callable[[str], object],
        env: Mapping[str, str],
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        offline: bool = False,
        script: Sequence[Any] | None = None,
        connections: Mapping[str, Mapping[str, Any]] | None = None,
        pricing: Mapping[str, Mapping[str, float]] | None = None,
        provider: Callable[[str], Any] | None = None,
        http_client: Any = None,
        answer: Callable[[str, Any, Any], Awaitable[Any]] | None = None,
        emit_timeout_ms: int | None = None,
        emit_interval: float | None = None,
        loop: Any = None,
        log: Callable[[str, str], object] = log_to_stderr,
        wall: Callable[[], float] = time.time,
        stored_wall: Callable[[], float] | None = None,
        random_bits: Callable[[int], int] = _random_bits,
        secure_bytes: Callable[[int], bytes] = os.urandom,
        args: Sequence[str] = (),
        permissions: Permissions | None = None,
        folder: str = ".",
        network: Network | None = None,
        agents: Mapping[str, Mapping[str, Any]] | None = None,
        mcp: Mapping[str, Mapping[str, Any]] | None = None,
        server: Callable[[McpSettings], Awaitable[Any]] | None = None,
        project: str | None = None,
        children: Callable[[str, list[str], dict[str, str], str], Awaitable[Any]] | None = None,
        hears: Callable[[], bool] = lambda: False,
        requests: Callable[[str], object] | None = None,
        stores: Mapping[str, Store] | None = None,
        volatile: bool = False,
        embedders: Mapping[str, Embedder] | None = None,
        tier: str = "both",
        summarizers: Mapping[str, Any] | None = None,
        token_counter: Any = None,
        code_cache: CodeCache | None = None,
        stdin: Callable[[], Any] | None = None,
    ) -> None:
        self.new_loop: Callable[[], Any] | None = None
        self.tools: dict[tuple[str, str], Callable[[list[Any], Any, Any, Any], Awaitable[Any]]] = {}
        self.emit = emit
        self.answer = answer
        self.emit_timeout_ms = emit_timeout_ms
        self.emit_interval = emit_interval
        self.print = print
        self.env = env
        self.now = now
        self.sleep = sleep
        self.random = random
        self.offline = offline
        self.script = script
        self.connections = connections or {}
        self.pricing = pricing or {}
        self.provider = provider
        self.http_client = http_client
        self.loop = loop
        self.log = log
        self.wall = wall
        self.stored_wall = stored_wall
        self.random_bits = random_bits
        self.secure_bytes = secure_bytes
        self.args = args
        self.permissions = permissions
        self.folder = folder
        self.network = network
        self.agents = agents or {}
        self.mcp = mcp or {}
        self.server = server
        self.project = folder if project is None else project
        self.children = children
        self.hears = hears
        self.requests = requests
        self.tier = tier
        self.stores = stores or {}
        self.volatile = volatile
        self.embedders = embedders or {}
        self.summarizers = summarizers or {}
        self.token_counter = token_counter
        self.code_cache = code_cache
        self.stdin = stdin
        self.redactor = Redactor()  # what one session of a host has learnt, the next one keeps too
