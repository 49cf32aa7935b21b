"""What a session takes from outside: sinks, clock, chance, the world, and replacements of parts of the runtime.

Hands on `Host`, plain values and functions that the command line, the Python API, batches, notebooks and tests give;
`NoListener` and `ToolError`, which code of the host raises; `EffectUnknown` to the journal, which raises it, and to the
performer of emits; IDEMPOTENCY_KEY to the journal, which sets it, and to the Python API; AUDIT, the channel of the records of
calls of tools, to tools, MCP servers and the Python API; `emitted`, what an emit of the runtime says of a value, to pipelines
and tools; `call_host_function` to tools; and, to performers, agents, calls, MCP servers, tools, memories and the journal, what
becomes of exceptions of that code: their whole text for the program and the log (`exception_text`, `full_text`), a neutral one
for models (`neutral_text`, `message_and_fields`, and of error values `model_text` and `for_model`) (G-9.10); `exception_text`,
and `class_name` for the class alone, go to the Python API (`api/python_functions.py`) too. A new thing that a session needs
from outside is a field of `Host`; the runtime must not import it.
"""

from __future__ import annotations

import os
import sys
import time
from contextvars import ContextVar

from ..vm.interp.machine import LARGEST_PAYLOAD
from ..vm.panics import Panic
from ..vm.values import Err, ErrorValue, Ok, display, typeof
from ..vm.values.errors import FOR_MODEL
from ..vm.values.text import cut_to, json_fits
from .access.secrets import Redactor, clean_text
from .breaker import Breakers
from .errors import MESSAGE_LENGTH
from .prompt_cache import PromptCaches
from .running import context_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..vm.interp.effects import Effect
    from .access.network import Network
    from .access.permissions import Permissions
    from .journal.journal import Journal
    from .mcp.login import Browser
    from .mcp.pins import Pins
    from .mcp.served import McpSettings
    from .memory.embedding import Embedder
    from .memory.stores.protocol import Store
    from .python_calls import PythonCaller
    from .running import EffectContext
    from .session.code_cache import CodeCache
    from .telemetry import Telemetry


AUDIT = "audit:tool_call"  # the channel of the records of calls of tools (O-4.21)

LONG_WRITE = 1 << 16  # code points of a line after which other threads get a turn
TURN_OF_OTHERS = 0.0001  # seconds of it


def log_to_stderr(level: str, text: str) -> None:
    """Write one line of the log to standard error: `level`, such as "warn" or "INFO", in brackets, and `text` as it is."""
    print(f"[{level}] {text}", file=sys.stderr)
    if len(text) > LONG_WRITE:
        # A write gives the interpreter up for a moment too short for another thread to take it, and renews that thread's wait:
        # a `cancel` of the host's came seconds late to a loop that logs long texts.
        time.sleep(TURN_OF_OTHERS)


def _random_bits(bits: int) -> int:
    from random import getrandbits  # costs a start more than a run without numbers is worth

    return getrandbits(bits)


class NoListener(Exception):
    """Nobody answers awaited emits on this channel: `Host.answer` raises it."""


class EffectUnknown(Exception):
    """An effect that must not happen twice began before the process died, and nobody knows what came of it (G-13.1)."""


IDEMPOTENCY_KEY: ContextVar[str | None] = ContextVar("IDEMPOTENCY_KEY", default=None)
"""That of the call that a function of the host is made for (G-13.3), None where there is no journal."""


class Host:
    """What a session takes from outside.

    Sinks: `emit(channel, value, by_runtime)`, `print(text)`, `log(level, text)`; `requests` gets the lines of each model request
    (O-9.13), None when nobody wants them. `emit_interval` is the flush interval of buffered emits in seconds; None: each goes at
    once. `redactor` takes secrets out of texts, those that any session of the host has met.

    Time and chance: `now()` and `sleep(…)` are the clock, in seconds, `wall` gives the seconds since 1970, and `stored_wall`
    those for what outlives the session, where they differ, else it is None. `random` gives a number of [0, 1), `random_bits(n)` a
    number from 0 up to 2**n, without that, `secure_bytes(n)` n bytes that nobody can foresee.

    The world: `args` are those of the program, `env` its environment, `permissions` what it may touch (None: nothing), `folder`
    the directory that its paths start from, `network` what carries `std::http` (None: nothing does). `stdin` gives where
    `std::io` reads (`effects/standard_input.py`); None: the program has no standard input.

    Models: `connections` and `pricing` go over those of the program. With `offline` every connection is the offline provider, and
    `script` its replies. `provider(name)` makes the provider of a connection in place of ours; `http_client` is handed to SDKs.

    `breakers` are the circuit breakers of connections, which sessions of several hosts may share; None: new ones (O-1.231). So
    are `prompt_caches`, what requests have told providers of their prompt caches (O-1.220).

    Agents and servers: `agents` are fields by connector, `mcp` fields by server, both over those of declaration and manifest.
    Processes run in the manifest's directory `project` (None: `folder`); `children(name, arguments, env, folder)` starts one and
    `server(settings)` connects to a server (None: by the system, through the SDK). `pins` are the tools of servers that were
    accepted (G-9.6); `browser` is how a person logs in to one (O-4.56), None: nobody does.

    Functions of the host: `answer(channel, value, run)` answers awaited emits within `emit_timeout_ms`, None for no limit (it
    raises NoListener when nobody does; None: nobody ever does), where `run(number, arguments)` calls a function of the program.
    `tools`, filled after the host was made, has by tool and method functions that run in place of the method: of the arguments,
    the type of the result, `run`, and what gives the context of the call (O-3.28).

    `python` gives what calls functions of Python (`python_calls.py: PythonCaller`), made when the first one is called; None:
    nothing does.

    Memories: `stores` and `embedders` add to those by name or replace them (M-8.3, M-10.16); `summarizers` are those that
    `.summary("NAME")` names, each with `fold(previous, entries)`, which gives the new text or an awaitable of it (M-9.1);
    `token_counter`, with `count(entry, model)`, replaces the default counter (M-11.1). With `volatile` no memory outlives the
    session (M-8.15). `hears()` says whether anybody listens to `memory:*`, whose events are built only then (M-6.31).
    `is_audited` says whether anybody hears `audit:tool_call`: where nobody does, the record of a call of a tool in source that is
    no effect (V-6.8) is not built. The host may set it at any time.

    `journal` records what comes from outside, or gives a recording again (G-13.4); a session binds it to its host
    (`journal/border.py: bind`), which sets the attributes behind it: `operation`, through which functions of the host are called
    then, and `around_provider`, `around_connection`, `around_child` and `around_agent_files`, which return what stands before a
    provider, the connection to a server, the process of an agent and the files that it asks for; `look_at_clock`, which
    records the present time, None without a journal; and the journal's own `journal_scope`, that of the session, and
    `journal_values`, which turns values into records. `asked(key, channel, value)` is told, with the effect key, of each awaited
    emit of such a session before anybody may answer it, also when the journal has the answer. `awaited` is the emit for which
    `answer` is called now. `telemetry` is told of runs, requests and tool calls (O-9.81).

    The machine: `loop` is the event loop that runs the session (None: asyncio's, which `new_loop` makes if it is not the usual
    one); `tier` is "both", or "interp" for the interpreter alone (V-7.7); `code_cache` keeps translated code (V-7.2)."""

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
        pins: Pins | None = None,
        browser: Browser | None = None,
        project: str | None = None,
        children: Callable[[str, list[str], dict[str, str], str], Awaitable[Any]] | None = None,
        hears: Callable[[], bool] = lambda: False,
        is_audited: bool = True,
        requests: Callable[[str], object] | None = None,
        stores: Mapping[str, Store] | None = None,
        volatile: bool = False,
        embedders: Mapping[str, Embedder] | None = None,
        tier: str = "both",
        summarizers: Mapping[str, Any] | None = None,
        token_counter: Any = None,
        code_cache: CodeCache | None = None,
        stdin: Callable[[], Any] | None = None,
        breakers: Breakers | None = None,
        prompt_caches: PromptCaches | None = None,
        journal: Journal | None = None,
        telemetry: Telemetry | None = None,
        python: Callable[[], PythonCaller] | None = None,
    ) -> None:
        self.python = python
        self.telemetry = telemetry
        self.journal = journal
        self.journal_scope: Any = None
        self.journal_values: Any = None
        self.look_at_clock: Callable[[], Awaitable[None]] | None = None
        self.awaited: Any = None  # the emit for which `answer` is called now
        self.asked: Callable[[str, str, Any], object] = lambda key, channel, value: None
        self.operation: HostOperation | None = None
        self.around_provider: Callable[[Any], Any] | None = None
        self.around_connection: Callable[[McpSettings, Callable[[], Awaitable[Any]]], Any] | None = None
        self.around_child: Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]] | None = None
        self.around_agent_files: Callable[[str, Any], Any] | None = None
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
        self.pins = pins or {}
        self.browser = browser
        self.project = folder if project is None else project
        self.children = children
        self.hears = hears
        self.is_audited = is_audited
        self.requests = requests
        self.tier = tier
        self.stores = stores or {}
        self.volatile = volatile
        self.embedders = embedders or {}
        self.summarizers = summarizers or {}
        self.token_counter = token_counter
        self.code_cache = code_cache
        self.stdin = stdin
        self.breakers = breakers or Breakers()
        self.prompt_caches = prompt_caches or PromptCaches()
        self.redactor = Redactor()  # a secret that one session of the host has met, the next one hides too


def emitted(value: Any) -> Any:
    """Return a value of the program as an emit of the runtime holds it: where no emit does, since it is too large or nests too
    deeply (G-6.1), its type in angle brackets. Raises what ends the run meanwhile."""
    try:
        if json_fits(value, LARGEST_PAYLOAD):
            return value
    except Panic as panic:
        if panic.code != "P103":
            raise
    return f"<{typeof(value)}>"


STORE_FAILURES = ("Store", "Corrupt", "Version")  # variants of MemoryError whose text is that of a library


class ToolError(Exception):
    """Raised by code of the host (a tool function, a handler of awaited emits) to give models its text; the text of any other
    exception stays from them."""


def exception_text(error: BaseException) -> str:
    """Return the text of an exception, cleaned and at most MESSAGE_LENGTH code points of it; its class when it has no text or
    cannot give it. Secrets are not taken out."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return cut_to(clean_text(text), MESSAGE_LENGTH) or class_name(error)


def class_name(error: BaseException) -> str:
    """Return the name of the exception's class, or the `public_name` that it has, cleaned and at most 100 code points."""
    return cut_to(clean_text(str(getattr(type(error), "public_name", type(error).__name__))), 100)


def full_text(error: BaseException) -> str:
    """Return class and text of an exception, for the log, as `exception_text` and `class_name` give them; the class once where
    there is no text."""
    text, name = exception_text(error), class_name(error)
    return name if text == name else f"{name}: {text}"


def message_and_fields(clean: Callable[[str], str], what: str, error: Exception) -> tuple[str, dict[str, Any]]:
    """Return message and fields of the error value that an exception becomes: the message for the program, and in the field
    FOR_MODEL the text for models, which is the same for a ToolError alone. `what` names the code that raised it, `clean` takes
    secrets out."""
    message = clean(exception_text(error))
    model_message = message if isinstance(error, ToolError) else neutral_text(what, error)
    return message, {FOR_MODEL: model_message}


def neutral_text(what: str, error: BaseException) -> str:
    """Return what a model is told of an exception: which code failed, and the class of the exception."""
    return f"{what} failed ({class_name(error)})"


def model_text(error: Any) -> str:
    """Return what a model is told of an error value: its field FOR_MODEL, else its Display text. Of a failed store only that it
    failed: its text is that of a library. Raises panic P103 as `display`."""
    if type(error) is not ErrorValue:
        return display(error)
    own_text = error.fields.get(FOR_MODEL)
    if type(own_text) is str:
        return own_text
    if error.family == "MemoryError" and error.variant in STORE_FAILURES:
        return "the store of the memory failed"
    return display(error)


def for_model(error: Any) -> dict[str, str]:
    """Return the fields for an error value whose message is the Display text of another one: they hold FOR_MODEL when models are
    told less than that, else nothing. So they are told no more of the new one. Raises panic P103 as `display`."""
    text = model_text(error)
    return {} if text == display(error) else {FOR_MODEL: text}


if TYPE_CHECKING:
    class HostOperation(Protocol):
        """Calls a function of the host, or gives what it gave in a recording. `kind` and `request` (plain data) say what is
        called, `cls` is the class of the effect (G-13.2). Raises EffectUnknown, and what the function raises."""

        async def __call__(
            self, kind: str, cls: str | None, request: Any, work: Callable[[], Awaitable[Any]], effect: Effect
        ) -> Any: ...

    class Method(Protocol):
        """The method that the host's function replaces. `result` is the descriptor of its result type; it is `fallible` when that
        is a Result; `failed` makes an Err of it. `effect` is the class of its effect, as `@effect` writes it, None without."""

        tool: str
        name: str
        result: Any
        effect: str | None

        @property
        def fallible(self) -> bool: ...

        def failed(self, variant: str, message: str, **fields: Any) -> Err: ...


async def call_host_function(run: EffectContext, effect: Effect, method: Method, handler: Any, arguments: list[Any]) -> Any:
    """Call the host's function that runs in place of a method (O-4.32, O-9.43), and return its value, as a Result when the method
    has one. `handler` is the row of `Host.tools`: it makes the value one of the declared type, which is not checked here.

    An exception becomes an Err of ToolError (G-9.10), of the variant EffectUnknown where nobody knows whether the function took
    effect, else ExecutionFailed; it becomes panic P415, which is raised, when the method has no Result to carry it."""

    async def call_function(number: int, function_arguments: list[Any]) -> Any:
        return await run.call(effect, run.program.codes[number], function_arguments)

    async def work() -> Any:
        return await handler(arguments, method.result, call_function, lambda: context_around(effect))

    try:
        if run.host.operation is None:
            value = await work()
        else:
            request = {"tool": method.tool, "method": method.name, "arguments": arguments}
            value = await run.host.operation("tool", method.effect, request, work, effect)
    except EffectUnknown:
        message = f"whether {method.tool}.{method.name} took effect is not known: the process died while it ran"
        if not method.fallible:
            raise Panic("P415", message) from None
        return method.failed("EffectUnknown", message)
    except Exception as error:
        what = f"the host function of {method.tool}.{method.name}"
        message, fields = message_and_fields(run.redactor.clean, what, error)
        if not method.fallible:
            raise Panic("P415", f"{what} failed: {message}") from None
        return method.failed("ExecutionFailed", message, **fields)
    return Ok(value) if method.fallible and type(value) not in (Ok, Err) else value
