"""The border between a session and the world, with a journal on it: what of a session's host and effects goes through the
journal, and how its requests and outcomes are written (G-13.2, G-14.1).

Hands on `bind`, with which a session puts its journal between itself and its host, and `whole` for effects that are one
operation, to the session; `is_fault` to the command line and the Python API, AnswerRefused to the former. MCP servers and agents
are `peers.py`, stores `stores.py`. A new kind of effect that the machine cannot compute is a row in `WHOLE` here, or an operation
of its own. The order of outcomes is for `journal.py`.
"""

from __future__ import annotations

import json
from inspect import isawaitable
from random import Random

from ...vm.builtins.json import Misfit
from ...vm.bytecode.image import F_SUSPENDS
from ...vm.interp.effects import ExternCall, StoreFile
from ...vm.panics import Panic
from ...vm.snapshot.value_forms import value_form, value_of
from ...vm.values import Err, ErrorValue, HostStream, from_json, to_json
from ...vm.values import check as check_value
from ...vm.values.errors import FAMILIES, FAULTS
from ..access.files import WRITING
from ..access.snapshot_secrets import SnapshotSecrets
from ..calls.embedders import host_vectors
from ..calls.usage import cost_of, list_price, used_by_reply
from ..effects.answers import read_answer
from ..effects.externs import came, passed_functions, unknown_extern
from ..errors import CallFailure
from ..host import IDEMPOTENCY_KEY, EffectUnknown, NoListener, ToolError, class_name, exception_text
from ..memory.embedding import BASELINE
from ..providers.base import origin_of
from ..providers.offline import fault
from ..schema.extraction import read
from .forms import canonical, cleaned, hidden, reply_form, reply_of, shown, without_infinities
from .journal import RecordedPanic
from .operation import SCOPE, Form, Scope
from .rows import OBSERVED, ONCE, REPEATABLE, JournalRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..errors import Origin
    from ..host import Host
    from ..records import EmbedRequest, Reply, Request
    from ..running import EffectContext
    from .journal import Journal

    Performer = Callable[[EffectContext, Effect], Coroutine[Any, Any, Any]]


LONG_WAIT = 1.0  # seconds of a wait that goes on where the process died in it


class _Values:
    """Values of one program as plain data."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.secrets = SnapshotSecrets(run)

    def lower(self, value: Any) -> Any:
        return value_form(self.run.program, value, self.secrets)

    def read(self, form: Any) -> Any:
        return value_of(self.run.program, form, self.secrets)


# ---------------------------------------------------------------- effects that are one operation


def _of_file(effect: Effect) -> str:
    return ONCE if effect.payload[0] in WRITING or effect.payload[0] == "temp_dir" else OBSERVED


def _of_http(effect: Effect) -> str:
    return REPEATABLE if effect.payload[0] in ("GET", "HEAD") else ONCE


def _of_hashmap(effect: Effect) -> str:
    return OBSERVED if effect.payload.text is None else REPEATABLE  # the whole file is written: twice is as good as once


def _of_chance(effect: Effect) -> str | None:
    return OBSERVED if effect.payload[0] in ("uuid", "bytes") else None  # the others follow from the seed


def _of_extern(effect: Effect) -> str:
    return CLASSES[effect.payload.function.effect]


def _function_of(payload: ExternCall | HostStream) -> dict[str, Any]:
    asked = {"element": payload.asked} if type(payload) is HostStream else {}
    return {"function": payload.function.name, "arguments": _plain(payload.arguments), **asked}


def _observed(effect: Effect) -> str:
    return OBSERVED


# By kind of effect, its class, None for one that the machine computes; and the family of its errors.
WHOLE: dict[str, tuple[Callable[[Effect], str | None], str]] = {
    "clock": (_observed, ""),
    "random": (_of_chance, ""),
    "env": (_observed, ""),
    "budget": (_observed, ""),
    "io": (_observed, "IoError"),
    "log": (_observed, ""),
    "document": (_observed, "MediaError"),
    "file": (_of_file, "FsError"),
    "store": (_of_hashmap, "FsError"),
    "http": (_of_http, "HttpError"),
    "command": (lambda effect: ONCE, "ToolError"),
    "extern": (_of_extern, "HostError"),
    "extern_next": (_of_extern, "HostError"),
}


def whole(run: EffectContext, journal: Journal, effect: Effect, perform: Performer) -> Coroutine[Any, Any, Any]:
    """Return the coroutine that performs an effect of the session by `perform`: through the journal if it is one operation, else
    so that the operations within it are known to be its own. An operation of which nobody knows whether it took effect gives an
    Err, EffectUnknown, of the family in WHOLE; a recorded panic is raised at the place of its effect, and so is P417 for a
    function of Python that is passed functions which cannot be recorded; what else `Journal.perform` raises passes through."""
    row = WHOLE.get(effect.kind)
    cls = None if row is None else row[0](effect)
    if row is None or cls is None:
        return _scoped(run, effect, perform)
    return _as_operation(run, journal, effect, perform, cls, row[1])


async def _scoped(run: EffectContext, effect: Effect, perform: Performer) -> Any:
    SCOPE.set(Scope(effect.key))
    return await perform(run, effect)


async def _as_operation(
    run: EffectContext, journal: Journal, effect: Effect, perform: Performer, cls: str, family: str
) -> Any:
    values = _values(run)
    form = Form(values.lower, values.read)
    passed = passed_functions(effect.payload.arguments) if type(effect.payload) in (ExternCall, HostStream) else []
    try:
        if passed:
            return await _with_functions(run, journal, effect, perform, cls, passed)
        value = await journal.perform(effect.key, effect.kind, cls, _request_of(effect), lambda: perform(run, effect), form)
        return came(effect.payload, value) if type(effect.payload) is HostStream else value
    except RecordedPanic as panic:
        raise (run.machine.placed(effect.task, panic) if panic.is_placed else panic) from None
    except EffectUnknown:
        message = f"whether this took effect is not known: the process died while it was on its way ({effect.key})"
        if type(effect.payload) in (ExternCall, HostStream):
            return unknown_extern(run, effect, message)
        return Err(ErrorValue(family, "EffectUnknown", message, dict.fromkeys(FAMILIES[family].fields, "")))


async def _with_functions(
    run: EffectContext, journal: Journal, effect: Effect, perform: Performer, cls: str, passed: Sequence[Any]
) -> Any:
    """Return what a function of Python gives that is passed functions of the program. The recording has which of them were
    called, with which arguments; where the outcome is one of a recording they are called so again, since they may change
    variables. P417 for one that has effects, which a recording could not place, and for a Stream."""
    flags = [run.program.image.functions[closure.function.number].flags for closure in passed]
    if type(effect.payload) is HostStream or any(flag & F_SUSPENDS for flag in flags):
        name = effect.payload.function.name
        message = f"{name} cannot be recorded: it is passed a function that has effects, or gives a Stream and is passed one"
        raise run.machine.placed(effect.task, Panic("P417", message))
    values = _values(run)
    recorded: list[list[Any]] = []

    def lower(value: Any) -> Any:
        calls = [[number, [values.lower(one) for one in arguments]] for number, arguments in effect.payload.calls]
        return {"value": values.lower(value), "calls": calls}

    def read(form: Any) -> Any:
        recorded.extend(form["calls"])
        return values.read(form["value"])

    form = Form(lower, read)
    value = await journal.perform(effect.key, effect.kind, cls, _request_of(effect), lambda: perform(run, effect), form)
    for number, arguments in recorded:
        await run.call(effect, passed[number], [values.read(one) for one in arguments])
    return value


def _request_of(effect: Effect) -> Any:
    payload = effect.payload
    if type(payload) in (ExternCall, HostStream):
        return _function_of(payload)
    if type(payload) is StoreFile:
        return {"store": payload.store, "path": payload.path, "text": payload.text}
    return [_plain(part) for part in payload] if isinstance(payload, tuple) else _plain(payload)


def _plain(value: Any) -> Any:
    """Return a value of a payload as JSON for comparing and reading; bytes and handles by what they say of themselves."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    try:
        return json.loads(to_json(value))
    except Exception:
        return type(value).__name__


# ---------------------------------------------------------------- failures of the host's own code


class _Recorded(Exception):
    """An exception of the host's code that is given again from a recording: with the text it had."""


def exception_form(error: BaseException) -> Any:
    """Return an exception of the host's code as plain data."""
    return {"exception": class_name(error), "message": exception_text(error), "for_model": isinstance(error, ToolError)}


def exception_of(form: Any) -> Exception:
    """Return an exception of the same class name and text."""
    base = ToolError if form.get("for_model") else _Recorded
    name = str(form["exception"])
    error: Exception = type(name if name.isidentifier() else "Exception", (base,), {})(str(form["message"]))
    return error


class _HostOutcome:
    """What code of the host gave: a value, or the form of its exception."""

    __slots__ = ("value", "error")

    def __init__(self, value: Any, error: Any = None) -> None:
        self.value = value
        self.error = error

    def give(self) -> Any:
        if self.error is None:
            return self.value
        raise NoListener if self.error == "no listener" else exception_of(self.error)


CLASSES = {None: ONCE, "once": ONCE, "pure": REPEATABLE, "idempotent": REPEATABLE}  # by what `@effect` says of a method


async def host_operation(
    run: EffectContext, kind: str, key: str, cls: str, request: Any, work: Callable[[], Awaitable[Any]],
    effect: Effect | None = None, given: Callable[[], object] = lambda: None, check: Callable[[Any], object] = lambda form: None,
) -> Any:  # fmt: skip
    """Return what a function of the host gives, a value of the machine; raise, recorded or not, an exception with the name and
    text of the one that it raises, but NoListener, CallFailure, Misfit, Panic and EffectUnknown themselves. `effect` is the one
    that the function is called for, None for an emit; `given` is called where the outcome is one of a recording, `check` with
    the form of one that was given from outside, which it may refuse by raising. What `Journal.perform` raises passes through,
    EffectUnknown too."""
    journal: Journal = run.host.journal
    values = _values(run)
    task = None if effect is None else effect.task
    children = 0 if task is None else task.born  # the program's functions that the host's function calls are tasks below

    async def outcome() -> _HostOutcome:
        token = IDEMPOTENCY_KEY.set(journal.idem_key(key))
        try:
            return _HostOutcome(await work())
        except NoListener:
            return _HostOutcome(None, "no listener")
        except Exception as error:
            if isinstance(error, CallFailure | Misfit | Panic | EffectUnknown):
                raise
            return _HostOutcome(None, exception_form(error))
        finally:
            IDEMPOTENCY_KEY.reset(token)

    def lower(one: _HostOutcome) -> Any:
        form = {"value": values.lower(one.value)} if one.error is None else {"error": one.error}
        born = 0 if task is None else task.born - children
        return {**form, "born": born} if born else form

    def read(form: Any) -> _HostOutcome:
        if task is not None:
            task.born += form.get("born", 0)
        if "json" in form:  # given from outside, while the run waited for it
            return _HostOutcome(from_json(form["json"]))
        return _HostOutcome(None, form["error"]) if "error" in form else _HostOutcome(values.read(form["value"]))

    done = await journal.perform(key, kind, cls, _plain(request), outcome, Form(lower, read, given=given, check=check))
    return done.give()


# ---------------------------------------------------------------- binding


def bind(run: Any, host: Host) -> None:
    """Put the journal of a host between it and the session `run`: its clock, chance, waits, emits, answers, functions, embedders,
    summarisers, providers, servers and agents go through the journal from now on, by attributes of the host that are set here.
    The host must be for this session alone. A row that would hold a secret raises JournalRefused before it is written."""
    assert host.journal is not None
    journal: Journal = host.journal
    generator = Random(journal.header.seed)
    scope = host.journal_scope = Scope("session")
    emit, write, sleep, answer = host.emit, host.print, host.sleep, host.answer
    redactor = host.redactor

    def clean(plain: Any) -> Any:
        if redactor.is_empty:
            return plain
        plain = cleaned(plain, redactor.clean)
        text = canonical(plain)
        if any(secret in text for secret in redactor.known):
            raise JournalRefused("a row of the journal would hold a secret; the run ends before it is written")
        return plain

    journal.clean = clean
    host.now, host.wall = journal.now, journal.wall
    if host.stored_wall is not None:
        host.stored_wall = journal.wall
    host.random = Random(journal.header.seed ^ 1).random  # of waits: the program's own numbers do not hang on them
    host.random_bits = generator.getrandbits

    def record_emit(channel: str, value: Any, by_runtime: bool) -> None:
        journal.emit(channel, without_infinities(_plain(value)), by_runtime, lambda: emit(channel, value, by_runtime))

    def record_print(text: str) -> None:
        journal.emit(None, text, False, lambda: write(text))

    async def wait(seconds: float) -> None:
        async def waited() -> None:
            await sleep(max(seconds - journal.begun_before, 0.0))

        at = SCOPE.get() or scope
        if at.retries_at_once:  # after a fault that the recording does not know, nor the wait behind it
            at.retries_at_once = False
            return
        key = journal.next_key(scope, "wait")
        journal.rest()
        is_long = seconds >= LONG_WAIT and journal.sink is not None and journal.sink.parks
        await journal.perform(key, "wait", REPEATABLE, {"seconds": round(seconds, 3)}, waited, announces=is_long)

    async def ask(channel: str, value: Any, call_function: Any) -> Any:
        expected = host.awaited.answer
        journal.rest()  # who answers has seen all emits before
        cls = ONCE if channel.startswith("tool:") else REPEATABLE

        async def answered() -> Any:
            try:
                if answer is None:
                    raise NoListener
                return await answer(channel, value, call_function)
            except NoListener:
                if journal.sink is None or not journal.sink.parks or cls == ONCE:
                    raise
            return await journal.park(key, {"kind": "answer", "channel": channel, "value": without_infinities(_plain(value))})

        key = journal.next_key(scope, channel)
        host.asked(key, channel, value)
        passed_over = getattr(answer, "passed_over", None)
        given = (lambda: None) if passed_over is None else lambda: passed_over(channel)

        def fits(form: Any) -> None:
            _check_answer(run, key, channel, form, expected)

        request = {"channel": channel, "value": value}
        return await host_operation(run, "answer", key, cls, request, answered, given=given, check=fits)

    async def operation(kind: str, cls: str | None, request: Any, work: Callable[[], Awaitable[Any]], effect: Effect) -> Any:
        journal.rest()
        key = journal.next_key(scope, f"{request['tool']}.{request['method']}")
        return await host_operation(run, kind, key, CLASSES[cls], request, work, effect)

    host.emit, host.print, host.sleep, host.answer, host.operation = record_emit, record_print, wait, ask, operation
    embedders: Any = {name: JournaledEmbedder(run, name, inner) for name, inner in host.embedders.items()}
    host.embedders = embedders  # they answer `aembed`, which is asked first
    host.summarizers = {name: JournaledSummariser(run, name, inner) for name, inner in host.summarizers.items()}

    async def look_at_clock() -> None:
        async def look() -> None:
            """An observed outcome, with the time at which it comes."""

        await journal.perform(journal.next_key(scope, "clock"), "clock", OBSERVED, None, look)

    host.look_at_clock = look_at_clock
    host.around_provider = lambda inner: JournaledProvider(
        journal, scope, inner, SnapshotSecrets(run), lambda request, reply: _cost(run.services.pricing, inner, request, reply)
    )

    def around_connection(settings: Any, open_real: Callable[[], Awaitable[Any]]) -> Any:
        from .peers import JournaledConnection

        return JournaledConnection(journal, scope, settings, open_real)

    async def around_child(owner: str, launch: Callable[[], Awaitable[Any]]) -> Any:
        from .peers import JournaledChild

        return await JournaledChild(journal, scope, owner, launch).begin()

    def around_agent_files(owner: str, files: Any) -> Any:
        from .peers import JournaledAgentFiles

        return JournaledAgentFiles(journal, scope, owner, files)

    host.around_connection, host.around_child, host.around_agent_files = around_connection, around_child, around_agent_files


def _values(run: Any) -> _Values:
    values: _Values | None = getattr(run.host, "journal_values", None)
    if values is None:
        values = run.host.journal_values = _Values(run)
    return values


class JournaledEmbedder:
    """The embedder `inner` of the host, under the `name` that the program calls it by, with the journal before it; it answers
    `aembed`, in the session's own thread. `baseline` is that of `inner`."""

    def __init__(self, run: EffectContext, name: str, inner: Any) -> None:
        self.run = run
        self.name = name
        self.inner = inner
        self.baseline = getattr(inner, "baseline", BASELINE)

    async def aembed(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text. Raises as `host_operation` does for the host's embedder."""

        async def embedded() -> str:
            vectors = await host_vectors(self.inner, texts)
            return json.dumps([[float(number) for number in vector] for vector in vectors])

        key = self.run.host.journal.next_key(self.run.host.journal_scope, self.name)
        request = {"embedder": self.name, "texts": texts}
        vectors: list[list[float]] = json.loads(await host_operation(self.run, "embed", key, REPEATABLE, request, embedded))
        return vectors


class JournaledSummariser:
    """The summariser `inner` of the host, under the `name` that the program calls it by, with the journal before it."""

    def __init__(self, run: EffectContext, name: str, inner: Any) -> None:
        self.run = run
        self.name = name
        self.inner = inner

    async def fold(self, previous: str, entries: Sequence[Any]) -> Any:
        """Return the new summary. Raises as `JournaledEmbedder.aembed`."""

        async def folded() -> Any:
            text = self.inner.fold(previous, entries)
            text = await text if isawaitable(text) else text
            return text if type(text) is str else None  # no value of another class is written, and none is taken for a summary

        key = self.run.host.journal.next_key(self.run.host.journal_scope, self.name)
        messages = [[entry.message.role, entry.message.content] for entry in entries]
        request = {"summariser": self.name, "previous": previous, "messages": messages}
        return await host_operation(self.run, "summary", key, REPEATABLE, request, folded)


def is_fault(name: str) -> bool:
    """Return whether a fault overlay may have this failure: a status of HTTP, or a name of O-8.22."""
    return name in FAULTS or (name.isdecimal() and 400 <= int(name) <= 599)


def failure_named(name: str, origin: Origin) -> CallFailure:
    """Return the failure of that name (`is_fault`)."""
    return fault(name, origin) if name in FAULTS else origin.of_status(int(name), f"fault of the replay: {name}")


class AnswerRefused(JournalRefused):
    """An answer from outside that is not of the type that the program expects: the run waits on."""


def _check_answer(run: Any, key: str, channel: str, form: Any, expected: Any) -> None:
    if "json" not in form:
        return
    try:
        value = from_json(form["json"])
        if expected is not None:
            if channel in run.program.channels:
                read_answer(run, value, expected)
            else:
                check_value(value, expected)
    except (Misfit, Panic) as fault:
        text = fault.message if isinstance(fault, Panic) else str(fault)
        refused = AnswerRefused(f"the answer for {key} ({channel}) is refused: {text}; the run waits on")
        run.journal.refuse_answer(key, refused)
        raise refused from None


def _cost(pricing: Mapping[str, Mapping[str, float]], provider: Any, request: Request, reply: Reply) -> float | None:
    """Return the cost of an answered request in dollars, as `calls/call.py` accounts it; None where nobody knows it, and where
    nobody asks for money."""
    if provider.free_and_instant or provider.unmetered:
        return None
    # what stands in for a connection, such as a mock, has no endpoint that publishes prices
    settings = getattr(provider, "settings", None) if provider.name == request.connection else None
    address = None if settings is None else settings.base_url
    return cost_of(
        pricing, request.model, used_by_reply(request, reply), lambda *tokens: list_price(address, request.model, *tokens)
    )


def _is_repaired(text: str) -> bool | None:
    """Return whether JSON had to be found in the text of a reply, None where there is none in it (O-2.40)."""
    reading = read(text)
    return reading.repaired if any(reading.runs) else None


class JournaledProvider:
    """The provider of one connection, with the journal before it. What it says of itself is that of `inner`; `cost` gives what a
    reply cost in dollars, None where that is not known. `send`, `stream` and `embed` are those of `Provider`: they return and
    raise what `inner` does, or did when it was recorded, and raise CallFailure (EffectUnknown) for a request of which nobody
    knows whether it took effect, before `send` and `stream` the failure of a fault too; what else `Journal.perform` raises passes
    through."""

    def __init__(
        self, journal: Journal, scope: Scope, inner: Any, secrets: SnapshotSecrets,
        cost: Callable[[Request, Reply], float | None],
    ) -> None:  # fmt: skip
        self.journal = journal
        self.scope = scope
        self.inner = inner
        self.secrets = secrets
        self.cost = cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _fault(self, key: str, request: Request) -> None:
        """Raise the failure that the host wants before a request; the request is asked for again under the same key."""
        name = self.journal.faults.pop(key, None)
        if name is not None:
            scope = SCOPE.get() or self.scope
            scope.counts[""] -= 1
            scope.retries_at_once = True
            raise failure_named(name, origin_of(request))

    async def send(self, request: Request) -> Reply:
        """Return the reply to a request, recorded or new."""
        key = self.journal.next_key(self.scope, "")
        self._fault(key, request)
        try:
            reply: Reply = await self.journal.perform(
                key, "model", _class_of(request), request.as_json(), lambda: self.inner.send(request), self._replies(request)
            )
            return reply
        except EffectUnknown:
            raise _unknown(request, key) from None

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        """Do as `send`, and hand each piece of the text to `give`, recorded ones too."""
        key = self.journal.next_key(self.scope, "")
        self._fault(key, request)
        try:
            reply: Reply = await self.journal.stream(
                key, "model", _class_of(request), request.as_json(), lambda piece: self.inner.stream(request, piece), give,
                self._replies(request), lambda: origin_of(request).network("the process died while the reply was streamed"),
            )
            return reply
        except EffectUnknown:
            raise _unknown(request, key) from None

    def _replies(self, request: Request) -> Form:
        """Return how replies to a request are written. One of a recording is passed over where the provider keeps a place, as one
        with a script does."""

        def details(reply: Reply) -> dict[str, Any]:
            tokens = [reply.tokens_in, reply.tokens_out, reply.cached, reply.cache_write, reply.reasoning]
            repaired = None if request.schema is None or not reply.text else _is_repaired(reply.text)
            return {"tokens": tokens, "cost": self.cost(request, reply), "repaired": repaired}

        return Form(
            lambda reply: hidden(reply_form(reply), self.secrets), lambda form: reply_of(shown(form, self.secrets)), details,
            lambda: self.inner.pass_over(request),
        )  # fmt: skip

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        """Return one vector for each text, recorded or new."""
        record: dict[str, Any] = {"connection": request.connection, "model": request.model, "texts": request.texts}
        if request.dimensions is not None:
            record["dimensions"] = request.dimensions
        key = self.journal.next_key(self.scope, "")
        vectors: list[list[float]] = await self.journal.perform(
            key, "embed", REPEATABLE, record, lambda: self.inner.embed(request)
        )
        return vectors


def _class_of(request: Request) -> str:
    return ONCE if request.is_once else REPEATABLE


def _unknown(request: Request, key: str) -> CallFailure:
    message = f"whether this request took effect is not known: the process died while it was on its way ({key})"
    return origin_of(request).failure("AgentError", "EffectUnknown", message)
