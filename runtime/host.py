"""What a session takes from outside: sinks, clock, chance, the world, and what stands in place of parts of it.

Plain values and functions, given by the command line, the Python API and tests.
"""

from __future__ import annotations

import os
import sys
import time

from ..vm.panics import Panic
from ..vm.values import Err, ErrorValue, Ok, display
from ..vm.values.errors import FOR_MODEL
from .access.secrets import Redactor, clean_text
from .errors import MESSAGE_LENGTH
from .running import context_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..vm.interp.effects import Effect
    from .access.network import Network
    from .access.permissions import Permissions
    from .mcp.served import McpSettings
    from .memory.embedding import Embedder
    from .memory.stores.protocol import Store
    from .running import Running
    from .session.code_cache import CodeCache


LONG_WRITE = 1 << 16  # characters
TURN_OF_OTHERS = 0.0001  # seconds


def log_to_stderr(level: str, text: str) -> None:
    print(f"[{level}] {text}", file=sys.stderr)
    if len(text) > LONG_WRITE:
        # A write gives the interpreter up for a moment too short for another thread to take it, and renews that thread's wait:
        # a `cancel` of the host's came seconds late to a loop that logs long texts.
        time.sleep(TURN_OF_OTHERS)


def _random_bits(bits: int) -> int:
    from random import getrandbits  # costs a start more than a run without numbers is worth

    return getrandbits(bits)


class NoListener(Exception):
    """Nobody answers awaited emits on this channel."""


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
    where `std::io` reads (`effects/standard_input.py`), None: the program has no standard input.
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


# What an exception of the host's own code becomes: its whole text for program and log, a neutral one for models (G-9.10).

STORE_FAILURES = ("Store", "Corrupt", "Version")  # variants of MemoryError whose text is that of a library


class ToolError(Exception):
    """Raised by code of the host (a tool function, a handler of awaited emits): its text is meant for the model."""


def exception_text(error: BaseException) -> str:
    """What it says, cleaned and of at most 2,000 code points; its class where it says nothing or fails to say it."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return clean_text(text)[:MESSAGE_LENGTH] or class_name(error)


def class_name(error: BaseException) -> str:
    return clean_text(type(error).__name__)[:100]


def full_text(error: BaseException) -> str:
    """For a log."""
    text, name = exception_text(error), class_name(error)
    return name if text == name else f"{name}: {text}"


def message_and_fields(clean: Callable[[str], str], what: str, error: Exception) -> tuple[str, dict[str, Any]]:
    """Of the error value that an exception becomes; `what` names the code that raised it, `clean` takes secrets out."""
    message = clean(exception_text(error))
    told = message if isinstance(error, ToolError) else neutral_text(what, error)
    return message, {FOR_MODEL: told}


def neutral_text(what: str, error: BaseException) -> str:
    return f"{what} failed ({class_name(error)})"


def model_text(error: Any) -> str:
    """What a model is told of an error."""
    if type(error) is not ErrorValue:
        return display(error)
    told = error.fields.get(FOR_MODEL)
    if type(told) is str:
        return told
    if error.family == "MemoryError" and error.variant in STORE_FAILURES:
        return "the store of the memory failed"
    return display(error)


def for_model(error: Any) -> dict[str, str]:
    """The field of an error that is made of another one, so that a model is told no more of it."""
    told = model_text(error)
    return {} if told == display(error) else {FOR_MODEL: told}


# Functions of the host in the place of tool methods (O-4.32, O-9.43).

if TYPE_CHECKING:
    class Method(Protocol):
        """What is replaced: `result` is the descriptor of what it gives."""

        tool: str
        name: str
        result: Any

        @property
        def fallible(self) -> bool: ...

        def failed(self, variant: str, message: str, **fields: Any) -> Err: ...


async def handled(run: Running, effect: Effect, method: Method, handler: Any, arguments: list[Any]) -> Any:
    """What the function of the host gives, as a value of the declared type; what it raises is an Err of ToolError
    (G-9.10), and P415 where the method has no Result to carry it."""

    async def give(number: int, given: list[Any]) -> Any:
        return await run.call(effect, run.program.codes[number], given)

    try:
        value = await handler(arguments, method.result, give, lambda: context_around(effect))
    except Exception as error:
        what = f"the host function of {method.tool}.{method.name}"
        message, fields = message_and_fields(run.redactor.clean, what, error)
        if not method.fallible:
            raise Panic("P415", f"{what} failed: {message}") from None
        return method.failed("ExecutionFailed", message, **fields)
    return Ok(value) if method.fallible and type(value) not in (Ok, Err) else value
