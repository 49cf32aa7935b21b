"""The options of `run`, `arun` and `Program.session` (O-9.40).

Hands on the types of the values (`Budgets`, `SharedBudget`, `Permissions`, `Immediate`, `Buffered`, `Browser`) to users and to
what makes options for a program (`batches/`, `serve/`, some verbs, imported modules, pytest), `permitted`, what a manifest
permits, to the last two; `Options` and `RunOptions`, which type the keyword arguments, to whatever takes them, with
`check_options`, which refuses wrong ones by the rows of `RULES`, and `refuse_journal`, for what takes no recording; to what runs
programs (`session`, `results` for tests, `batches/calls.py`) `amounts`, `limits_of`, and `host_of`, which makes the runtime's
host: what a run reaches of the world outside, such as clock, files, network, functions of the embedding code. A new option is a
field of `Options`, a row of `RULES` and a line in `host_of`. Nothing is run here, and nothing connected.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from ..runtime.access import permissions
from ..runtime.breaker import Breakers
from ..runtime.calls.budgets import Account
from ..runtime.connections import ProcessEnvironment
from ..runtime.effects.standard_input import Scripted, SystemInput
from ..runtime.host import Host
from ..runtime.prompt_cache import PromptCaches
from ..runtime.session.code_cache import CodeCache
from ..vm.builtins.capabilities import BY_KEY
from ..vm.declaration_fields import OTHER_PRICES, PRICES
from ..vm.values import INT_MAX

if TYPE_CHECKING:
    from ..compiler.manifest import Manifest
    from ..runtime.mcp.pins import Pins


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits. Of each call: `steps`, the units of work that the machine counts, `seconds` of time, `depth` of nested calls,
    `value_bytes` of the largest String in UTF-8 or Bytes, `memory_bytes` of all values that the program holds (G-6.8); a program
    that reaches one ends in a panic. Of all calls of the session together: `tokens`, `cost` in dollars, and
    `model_calls`, the requests to models; a request beyond them is not sent, and is a `BudgetError` in the program. With
    `per="call"` these three begin anew with each call; several Budgets may be given at once. One that is None is that of the
    program's manifest (O-9.7), which has none of `value_bytes` and `memory_bytes`; without it a call may be 10,000 deep, a String
    16 MiB long, all values 1 GiB, and the others have no limit. Raises ValueError for an amount that is not positive or of
    another type, and for another `per`."""

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    depth: int | None = None
    value_bytes: int | None = None
    memory_bytes: int | None = None
    model_calls: int | None = None
    per: Literal["session", "call"] = "session"

    def __post_init__(self) -> None:
        if self.per not in PERIODS:
            raise ValueError(f"budgets are per {self.per!r}; they are per 'session' or 'call'")
        for name in ("steps", "tokens", "depth", "value_bytes", "memory_bytes", "model_calls"):
            value = getattr(self, name)
            # A bool is an int in Python, hence the exact type.
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"budget {name} is {value!r}; it is an int of at least 1")
        for name in ("seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not (type(value) is float and value > 0 or type(value) is int and 0 < value <= INT_MAX):
                raise ValueError(f"budget {name} is {value!r}; it is a float above 0, or an int of at least 1 in 64 bits")


class SharedBudget:
    """Limits of `tokens`, `cost` and `model_calls` over all sessions that get it, in one process: their requests draw on it
    besides their own budgets. Threads and event loops may share it. Raises ValueError for the amounts that `Budgets` refuses."""

    def __init__(self, *, tokens: int | None = None, cost: float | None = None, model_calls: int | None = None) -> None:
        Budgets(tokens=tokens, cost=cost, model_calls=model_calls)  # what they must be
        self._account = Account(tokens, cost, model_calls, "shared budget")

    def used(self) -> Spent:
        """Return what requests that have ended have used; no part of it is None."""
        return Spent(*self._account.used)

    def left(self) -> Spent:
        """Return what a request could have now, None of a kind without a limit. A request on its way counts as much as was
        reserved for it."""
        return Spent(*self._account.left())

    def __repr__(self) -> str:
        return f"<SharedBudget {self.used()} of {Spent(*self._account.limits)}>"


class Spent(NamedTuple):
    """Amounts of a budget: `tokens`, `cost` in dollars, and `model_calls`, the requests to models. None, in
    what is left, stands for no limit."""

    tokens: int | None
    cost: float | None
    model_calls: int | None


def amounts(
    option: Budgets | SharedBudget | Sequence[Budgets | SharedBudget] | None,
) -> tuple[Budgets, list[Account], list[Budgets]]:
    """Return, of the option `budgets`: the limits with which each call is run (the smallest of each kind; those of `tokens`,
    `cost` and `model_calls` are of the session), the accounts of SharedBudgets, on which requests draw besides, and the Budgets
    whose limits on models begin anew with each call. None stands for no budget."""
    if option is None:
        option = ()
    every = [option] if isinstance(option, Budgets | SharedBudget) else list(option)
    # A SharedBudget is an account already; a Budgets says what accounts to make.
    own = [one for one in every if isinstance(one, Budgets)]
    chosen: dict[str, Any] = {}
    for budgets in own:
        for name in ONLY_PER_CALL if budgets.per == "call" else (*ONLY_PER_CALL, *OF_MODELS):
            value = getattr(budgets, name)
            if value is not None:
                # Of several budgets the smallest counts.
                chosen[name] = min(value, chosen.get(name, value))
    per_call = [one for one in own if one.per == "call" and any(getattr(one, name) is not None for name in OF_MODELS)]
    return Budgets(**chosen), [one._account for one in every if isinstance(one, SharedBudget)], per_call


def limits_of(budgets: Budgets) -> dict[str, Any]:
    """Return the limits by their names in `Budgets`, as the runtime's session takes them as arguments; None where none is set."""
    return {name: getattr(budgets, name) for name in (*ONLY_PER_CALL, *OF_MODELS)}


PERIODS = ("session", "call")
ONLY_PER_CALL = ("steps", "seconds", "depth", "value_bytes", "memory_bytes")
OF_MODELS = ("tokens", "cost", "model_calls")


@dataclass(frozen=True, slots=True)
class Immediate:
    """Emits are delivered when they are made."""


@dataclass(frozen=True, slots=True)
class Buffered:
    """Emits are delivered after the interval, at 1000 entries, at `flush_emits()`, before an awaited emit, and at the end. Raises
    ValueError for an interval that is no int of at least 0."""

    flush_interval_ms: int

    def __post_init__(self) -> None:
        if type(self.flush_interval_ms) is not int or not 0 <= self.flush_interval_ms <= INT_MAX:
            raise ValueError(f"flush_interval_ms is {self.flush_interval_ms!r}; it is an int of at least 0 in 64 bits")


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a program may touch; nothing unless it is said here. The first six are each a tuple of scopes, True for all, or False
    for none: `fs_read` and `fs_write` paths, `net` hosts (`HOST`, `HOST:PORT`, `*.DOMAIN`), `env` names of variables, `run`
    commands, `python` modules whose functions may be called. `all` grants these six whole; what is named beside it stays named,
    as in `all=True, net=("127.0.0.1:8000",)`, which opens that private address too. Connections of models need none. `tools` says
    by tool whether it may be called, or which methods may; a tool that it does not name may be called. `lib` says by name what
    code of a library may touch of all this: nothing but models for one that it does not name; `models` counts in there alone, for
    calls of models. Raises ValueError for a scope that is of another type or written wrongly, and for `tools` of another form."""

    fs_read: tuple[str, ...] | bool = ()
    fs_write: tuple[str, ...] | bool = ()
    net: tuple[str, ...] | bool = ()
    env: tuple[str, ...] | bool = ()
    run: tuple[str, ...] | bool = ()
    python: tuple[str, ...] | bool = ()
    tools: Mapping[str, bool | Sequence[str]] = field(default_factory=dict)
    all: bool = False
    lib: Mapping[str, Permissions] = field(default_factory=dict)
    models: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.lib, Mapping) or not all(isinstance(one, Permissions) for one in self.lib.values()):
            raise ValueError(f"permission lib is {self.lib!r}; it is a mapping of names of libraries to Permissions")
        for name in self.lib:
            if not isinstance(name, str) or not name.isidentifier():
                raise ValueError(f"permission lib has {name!r}; that is no name of a library")
        if type(self.models) is not bool:
            raise ValueError(f"permission models is {self.models!r}; it is a bool")
        for name in SCOPES:
            scope = getattr(self, name)
            if not isinstance(scope, bool) and not (isinstance(scope, tuple) and all_texts(scope)):
                raise ValueError(f"permission {name} is {scope!r}; it is a tuple of str, or a bool")
        if not isinstance(self.tools, Mapping) or not all_texts(tuple(self.tools)):
            raise ValueError(f"permission tools is {self.tools!r}; it is a mapping of names of tools")
        for name, allowed in self.tools.items():
            are_names = isinstance(allowed, Collection) and not isinstance(allowed, str | bytes) and all_texts(tuple(allowed))
            if not (isinstance(allowed, bool) or are_names):
                raise ValueError(f"permission of tool {name} is {allowed!r}; it is a bool or names of methods")
        self.granted()  # a scope that is written wrongly is a ValueError here

    def granted(self) -> permissions.Permissions:
        """Return the grants as the runtime holds them. Raise ValueError for a scope that is written wrongly."""
        grants = permissions.Permissions({name: getattr(self, name) for name in SCOPES})
        for name in SCOPES if self.all else ():
            grants.grant(name, True)
        # Messages about missing permissions then name the fields of Permissions, not flags.
        grants.in_python = True
        grants.tools = {name: allowed if isinstance(allowed, bool) else tuple(allowed) for name, allowed in self.tools.items()}
        grants.models = self.models
        grants.libraries = {name: own.granted() for name, own in self.lib.items()}
        grants.expected = tuple(self.lib)
        return grants


SCOPES = tuple(BY_KEY)  # each is a field of Permissions


def permitted(manifest: Manifest, libraries: Iterable[str]) -> Permissions:
    """Return what a manifest permits to a program that uses the libraries of these names (O-4.12, O-4.20, P-3.2). A table for
    another library says nothing: only what a host grants by hand must be of one that the program uses."""
    tables: dict[str, dict[str, Any]] = {name: dict(table) for name, table in manifest.library_permissions.items()}
    scopes: dict[str, Any] = dict(manifest.permissions)
    lib = {name: Permissions(**tables[name]) for name in libraries if name in tables}
    return Permissions(**scopes, tools=manifest.tools, lib=lib)


def all_texts(values: tuple[Any, ...]) -> bool:
    """Return whether all values are str, True for none."""
    return all(isinstance(value, str) for value in values)


def _is_address(url: str) -> bool:
    """Return whether a text is a URL of http or https, with a host."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return has_host and parts.scheme in ("http", "https") and url.isprintable() and " " not in url


@dataclass(frozen=True, slots=True, eq=False)
class Browser:
    """Logins to MCP servers over HTTP that want one (OAuth 2.1). `open` gets the URL of a page, shows it to a person, and returns
    the URL at which the login has ended, or an awaitable of it: `redirect_url` with what the server has added to it. `tokens`
    keeps what was got, as a text by the URL of the server; without it a login lasts as long as the Browser. `client_id` and
    `client_secret` are those of a client that is registered with the servers; without them one is registered. Raises ValueError
    for a `redirect_url` that is no URL of http or https, or another type of any of these."""

    open: Callable[[str], str | Awaitable[str]]
    redirect_url: str
    tokens: MutableMapping[str, str] = field(default_factory=dict, repr=False)
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.open):
            raise ValueError(f"open is {self.open!r}; it is a function of a URL")
        if not isinstance(self.redirect_url, str) or not _is_address(self.redirect_url):
            raise ValueError(f"redirect_url is {self.redirect_url!r}; it is a URL of http or https")
        if not isinstance(self.tokens, MutableMapping):
            raise ValueError(f"tokens is of the type {type(self.tokens).__name__}; it is a mapping that can be changed")
        for name in ("client_id", "client_secret"):
            if not isinstance(getattr(self, name), str | None):
                raise ValueError(f"{name} is of the type {type(getattr(self, name)).__name__}; it is a str, or None")
            if getattr(self, name) == "":
                raise ValueError(f"{name} is empty; give one, or leave it out")

    async def visit(self, url: str) -> str:
        """Return what `open` gives for the URL, awaited where it is an awaitable. Raise what `open` raises."""
        answer = self.open(url)
        return await answer if inspect.isawaitable(answer) else answer


class Options(TypedDict, total=False):
    """What a session takes from its host.

    None for an option is the same as leaving it out, where its type has None. `permissions`: what the program may touch, nothing
    when left out. `budgets`: limits of calls and of the session, budgets that sessions share, or a list of them. `offline`:
    answer every model call without network or keys; `offline_script`: the replies then, in order, in the form of
    `--offline-script`; it implies `offline`. `connections`: fields of connections by name, over those of the source; `api_key`
    may stand here. `agents`: fields of agents by connector, over those of the manifest; `mcp`: those of MCP servers by name.
    `mcp_pins`: the file of `concerto pin`, with the tools of servers that were accepted (G-9.6), so that one that has changed is
    refused. `browser`: a Browser, by which a person logs in to MCP servers (O-4.56). `pricing`: model id to
    `{"input_per_million", "output_per_million"}` and, where they differ from that of input, the prices `"cached"` and
    `"cache_write"`, of a million tokens too, and those of a thousand calls of hosted tools by their types. `env`: the
    environment, that of the process when left out. `seed` fixes random numbers and retry jitter. `emit_mode`: Immediate() or
    Buffered(…). `emit_timeout_ms`: how many milliseconds an awaited emit waits by default, None for no limit. `stores`: stores of
    memories by name, over those of the manifest (M-8.3), `embedders` those of memories by name, likewise (M-10.16).
    `summarizers`: by the names that memories give them, each with `fold(previous, entries)`, which gives the new text or an
    awaitable of it (M-9.1). `token_counter`: its `count(entry, model)` gives the tokens of an entry (M-11.1). `tier`: "interp"
    for the interpreter alone, else "both" (V-7.7). `code_cache`: a directory where translated code is kept from one process to
    the next, if only this user can write it (V-7.2). `stdin`: what `std::io` reads: a text, bytes, or a file such as sys.stdin;
    without it there is no standard input (L-7.11.4).
    """

    permissions: Permissions | None
    budgets: Budgets | SharedBudget | Sequence[Budgets | SharedBudget] | None
    offline: bool
    offline_script: list[Any] | None
    connections: Mapping[str, Mapping[str, Any]]
    agents: Mapping[str, Mapping[str, Any]]
    mcp: Mapping[str, Mapping[str, Any]]
    mcp_pins: str | os.PathLike[str] | None
    browser: Browser | None
    pricing: Mapping[str, Mapping[str, float]]
    env: Mapping[str, str] | None
    seed: int | None
    emit_mode: Immediate | Buffered
    emit_timeout_ms: int | None
    stores: Mapping[str, Any]
    embedders: Mapping[str, Any]
    tier: Literal["interp", "both"]
    summarizers: Mapping[str, Any]
    token_counter: Any
    code_cache: str | os.PathLike[str] | None
    stdin: str | bytes | Any


class RunOptions(Options, total=False):
    """Those of a session that begins anew, which may have a journal: `record` is a new effect file, `replay` one that is there,
    with which nothing outside is reached, and with `extend` what comes behind its end is performed and appended; `store` is a run
    store, in which a run of main outlives the process. `redact` has paths in rows of the journal whose contents are left out,
    such as `request.messages.*.content`; `faults`, with `replay` alone, the failure before a request by its effect key: a status
    such as "429" or a name such as "timeout"."""

    record: str | os.PathLike[str] | None
    replay: str | os.PathLike[str] | None
    extend: bool
    store: str | os.PathLike[str] | None
    redact: Sequence[str]
    faults: Mapping[str, str]


_BREAKERS = Breakers()  # of the process: what one session has seen of an endpoint, the others need not find out
_PROMPT_CACHES = PromptCaches()  # of the process likewise: what its requests have told providers to keep of their prompts


class _Network:
    """The network of the system, loaded by the first request."""

    def __getattr__(self, name: str) -> Any:
        from ..runtime.access.network import SystemNetwork

        return getattr(SystemNetwork(), name)


def _telemetry() -> Any:
    """Return what tells OpenTelemetry of runs, None where this process has not imported it."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from ..runtime.telemetry import host_telemetry

    return host_telemetry(os.environ)


def host_of(
    options: Options,
    emit: Callable[[str, Any, bool], None],
    answer: Callable[[str, Any, Any], Awaitable[Any]] | None,
    project: str | None,
    hears: Callable[[], bool] = lambda: False,
) -> Host:
    """Return the host that the options describe; `check_options` has accepted them. `emit` gets channel, value and whether the
    runtime made the emit; `answer(channel, value, run)` answers awaited emits, where `run` calls a function of the program by its
    number, None if nobody does; `project` is the folder of the manifest, None for the current one; `hears` says whether anybody
    listens to memories. Nothing but the file of pins is opened here. Raises OSError if the working directory has been removed,
    ValueError for pins that cannot be read."""
    environment = options.get("env")
    mode = options.get("emit_mode", Immediate())
    script = options.get("offline_script")
    generator = random.Random(options.get("seed"))
    # A script makes a run offline, as on the command line.
    offline = options.get("offline", False) or script is not None
    folder = options.get("code_cache")
    return Host(
        telemetry=_telemetry(),
        emit=emit,
        print=sys.stdout.write,
        env=ProcessEnvironment(os.environ) if environment is None else environment,
        now=time.monotonic,
        sleep=asyncio.sleep,
        random=generator.random,
        random_bits=generator.getrandbits,
        permissions=(options.get("permissions") or Permissions()).granted(),
        folder=os.getcwd(),
        project=project,
        network=None if offline else _Network(),
        offline=offline,
        script=script,
        connections=options.get("connections", {}),
        agents=options.get("agents", {}),
        mcp=options.get("mcp", {}),
        pins=_pins_of(options.get("mcp_pins")),
        browser=options.get("browser"),
        pricing=options.get("pricing", {}),
        answer=answer,
        emit_timeout_ms=options.get("emit_timeout_ms"),
        emit_interval=mode.flush_interval_ms / 1000 if isinstance(mode, Buffered) else None,
        hears=hears,
        stores=options.get("stores", {}),
        embedders=options.get("embedders", {}),
        tier=options.get("tier", "both"),
        summarizers=options.get("summarizers", {}),
        token_counter=options.get("token_counter"),
        code_cache=None if folder is None else CodeCache(os.fspath(folder)),
        stdin=_input_of(options.get("stdin")),
        breakers=None if offline else _BREAKERS,
        prompt_caches=None if offline else _PROMPT_CACHES,
    )


def _pins_of(option: str | os.PathLike[str] | None) -> Pins:
    """Return the pins of a file. Raises ValueError for one that cannot be read, or holds none."""
    if option is None:
        return {}
    from ..runtime.mcp.pins import PinsRefused, read_pins

    try:
        with open(option, encoding="utf-8-sig") as file:
            return read_pins(file.read())
    except (OSError, UnicodeError, PinsRefused) as error:
        raise ValueError(f"mcp_pins: {os.fspath(option)}: {error}") from None


def _input_of(option: Any) -> Callable[[], Any] | None:
    if option is None:
        return None
    content = option.encode() if isinstance(option, str) else option
    # Each session reads from the beginning of a text.
    return lambda: Scripted(content) if isinstance(content, bytes) else SystemInput(content)


STORE = ("head", "entries", "turns", "views", "commit", "remove", "keys", "expire", "close")  # methods of a store (M-8.3)
Check = Callable[[Any], bool]


class Rule(NamedTuple):
    """What an option must be. `holds` checks its value, and the message for a wrong one says with `words` what it is; `entry` and
    `entry_words` do the same for each value of a mapping, `entry` is None where the option is none. `error` is raised for a wrong
    value, ValueError for a wrong key or entry of a mapping. For an option that is a mapping, which may hold secrets (O-9.44), a
    message names only the type of a wrong value or entry, but for prices, which it shows, and so of a mapping in place of what
    `holds_secrets`."""

    holds: Check
    words: str
    entry: Check | None = None
    entry_words: str = ""
    error: type[Exception] = ValueError
    holds_secrets: bool = False


def _one_of(kind: type | tuple[type, ...], *also: Any) -> Check:
    return lambda value: isinstance(value, kind) or any(value is other for other in also)


def _mapping(words: str, entry: Check, entry_words: str) -> Rule:
    return Rule(_one_of(Mapping), f"a mapping of {words}", entry, entry_words)


def _having(*methods: str) -> tuple[Check, str]:
    """Return the check for an object with these methods (a class is none), and its words."""
    last = f" and {methods[-1]}" if len(methods) > 1 else methods[0]
    words = f"an object with the method{'s' * (len(methods) > 1)} {', '.join(methods[:-1])}{last}"
    return lambda value: not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods), words


def _embeds(value: Any) -> bool:
    """Return whether a value is an embedder. With a baseline of 1 no text would be nearer than another (M-10.10)."""
    baseline = getattr(value, "baseline", 0.0)
    return EMBED[0](value) and isinstance(baseline, int | float) and not isinstance(baseline, bool) and -1 <= baseline < 1


def _prices(row: Any) -> bool:
    return (
        isinstance(row, Mapping) and set(PRICES) <= set(row) <= {*PRICES, *OTHER_PRICES}
        and all(type(row[name]) in (int, float) and row[name] >= 0 for name in row)
    )  # fmt: skip


def _budgets(option: Any) -> bool:
    every = option if isinstance(option, list | tuple) else [option]
    return option is None or all(isinstance(one, Budgets | SharedBudget) for one in every)


def _fault(value: Any) -> bool:
    from ..runtime.journal.border import is_fault

    return isinstance(value, str) and is_fault(value)


FIELDS = (_one_of(Mapping), "a mapping of fields")
COUNTS, COUNTER = _having("count")
EMBED = _having("embed")
RULES: dict[str, Rule] = {
    "permissions": Rule(_one_of(Permissions, None), "a Permissions, or None"),
    "budgets": Rule(_budgets, "a Budgets, a SharedBudget, a list of them, or None"),
    "offline": Rule(_one_of(bool), "a bool"),
    "offline_script": Rule(_one_of((list, tuple), None), "a list of replies, or None", error=TypeError),
    "connections": _mapping("names of connections to their fields", *FIELDS),
    "agents": _mapping("connectors of agents to their fields", *FIELDS),
    "mcp": _mapping("names of MCP servers to their fields", *FIELDS),
    "mcp_pins": Rule(_one_of((str, os.PathLike), None), "the path of a file of `concerto pin`, or None"),
    "browser": Rule(_one_of(Browser, None), "a Browser, or None", holds_secrets=True),
    "pricing": _mapping("ids of models to prices", _prices, f"the numbers {' and '.join(PRICES)}, at least 0"),
    "env": Rule(_one_of(Mapping, None), "a mapping of str to str, or None", _one_of(str), "a str"),
    "seed": Rule(lambda value: value is None or type(value) is int, "an int, or None"),
    "emit_mode": Rule(_one_of((Immediate, Buffered), Immediate), "Immediate() or Buffered(…)"),
    "emit_timeout_ms": Rule(lambda value: value is None or (type(value) is int and value >= 0), "an int of at least 0, or None"),
    "stores": _mapping("names to stores", *_having(*STORE)),
    "embedders": _mapping("names to embedders", _embeds, f"{EMBED[1]}; its baseline, if any, is a number from -1 to below 1"),
    "tier": Rule(lambda value: type(value) is str and value in ("interp", "both"), "'interp' or 'both'"),
    "summarizers": _mapping("names to summarizers", *_having("fold")),
    "token_counter": Rule(lambda value: value is None or COUNTS(value), f"{COUNTER}, or None"),
    "stdin": Rule(
        lambda value: isinstance(value, str | bytes | None) or callable(getattr(value, "fileno", None)),
        "a str, bytes, a file with a descriptor such as sys.stdin, or None",
    ),
    "code_cache": Rule(_one_of((str, os.PathLike), None), "the path of a directory, or None"),
    "record": Rule(_one_of((str, os.PathLike), None), "the path of a new effect file, or None"),
    "replay": Rule(_one_of((str, os.PathLike), None), "the path of an effect file, or None"),
    "extend": Rule(_one_of(bool), "a bool"),
    "store": Rule(_one_of((str, os.PathLike), None), "the path of a run store, or None"),
    "redact": Rule(
        lambda value: isinstance(value, list | tuple) and all(isinstance(path, str) for path in value), "a list of paths"
    ),
    "faults": _mapping("effect keys to failures", _fault, "a status such as '429', or a name such as 'timeout'"),
}


def check_options(options: Options) -> None:
    """Raise TypeError for an option that does not exist. For a value that is not what it must be, raise the error of its rule,
    which is ValueError but for `offline_script`, which has TypeError."""
    values: Mapping[str, Any] = options
    for name, value in values.items():
        rule = RULES.get(name)
        if rule is None:
            raise TypeError(f"unknown option {name!r}; options are {', '.join(RULES)}")
        if not rule.holds(value):
            raise rule.error(f"{name} is {_described(value, rule)}; it is {rule.words}")
        # None, which `env` may be, stands for a mapping that is left out.
        if rule.entry is not None and value is not None:
            _check_entries(name, value, rule.entry, rule)


def refuse_journal(options: Options, reason: str) -> None:
    """Raise TypeError, with the reason, for an option that only RunOptions has."""
    named = ", ".join(name for name in options if name in RunOptions.__annotations__ and name not in Options.__annotations__)
    if named:
        raise TypeError(f"{named}: {reason}")


def _check_entries(name: str, entries: Mapping[Any, Any], holds: Check, rule: Rule) -> None:
    for key, entry in entries.items():
        if not isinstance(key, str):
            raise ValueError(f"{name} has the key {key!r}; it is {rule.words}")
        if not holds(entry):
            description = repr(dict(entry)) if name == "pricing" and isinstance(entry, Mapping) else _kind(entry)
            raise ValueError(f"{name} of {key!r} is {description}; it is {rule.entry_words}")


def _described(value: Any, rule: Rule) -> str:
    is_hidden = rule.entry is not None or (rule.holds_secrets and isinstance(value, Mapping))
    return _kind(value) if is_hidden else repr(value)


def _kind(value: Any) -> str:
    return f"of the type {type(value).__name__}"
