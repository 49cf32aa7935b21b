"""Performers of effects on the world around a program, a function `perform…` for each kind: clock, sleep, chance, log,
environment, standard input, dates, HTTP, awaited emits, usage of models, and the call that code runs in (L-7).

Hands on the performers to `table.py`, which says which one performs which kind. An effect is what the machine asks the session to
do for a task; its payload is a tuple of the operation and its arguments unless a performer says another. Hands on `answered`, for
emits of the runtime itself, to the session. Clock, chance, log, input, variables and network are the host's (`host.py`), the
rules of time zones those of `dates.py`, usage and the call around the session's. Environment and HTTP need permissions of the
program: a denial is an Err where the function has a Result, else panic P407. Files and processes are `files.py`.
"""

from __future__ import annotations

import time

from ...vm.builtins.json import Misfit
from ...vm.bytecode.disasm import printable
from ...vm.interp.machine import UNLIMITED
from ...vm.panics import Panic
from ...vm.values import (
    NONE,
    Array,
    BudgetLeft,
    Closure,
    Err,
    ErrorValue,
    HttpResponse,
    Map,
    ModelUsage,
    Ok,
    Some,
    check,
    display,
    share,
)
from ...vm.values.objects import DateTime
from ..access.http_messages import MOST_REDIRECTS, REDIRECTS, HttpFailure, HttpRequest, Target
from ..access.network import with_checked_address
from ..access.permissions import Access, Denied, denied_error, denied_panic, guarded, permissions_of
from ..access.rights import session_of
from ..access.secrets import is_secret_name, whole_text
from ..calls.usage import Use
from ..host import EffectUnknown, NoListener, message_and_fields
from ..running import context_around
from .answers import read_answer
from .dates import OPERATIONS, Fault
from .standard_input import Scripted, TooLong, Unreadable
from .tests import ANSWERS, EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ...vm.interp.effects import Effect, EmitPayload
    from ..access.http_messages import HttpReply
    from ..connections import ConnectionSettings
    from ..running import EffectContext


# `std::time::now`, `now_ms`: the host's wall clock (L-7.6.1, G-14.5).


async def perform(run: EffectContext, effect: Effect) -> str | int:
    """Return the time: for the operation `now_ms` in milliseconds since 1970, for `now` as text in UTC (`utc_text`)."""
    now = round(run.host.wall() * 1000)
    return now if effect.payload[0] == "now_ms" else utc_text(now)


def utc_text(now_ms: int) -> str:
    """Return a time in milliseconds since 1970 as `2030-01-02T03:04:05.678Z`."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03}Z"


# `std::call`: the call of a model or agent in which code of the program runs (L-7.18).


async def perform_call(run: EffectContext, effect: Effect) -> Any:
    """Return the context of the innermost call around the code, nil without one."""
    return context_around(effect)


# `std::math` randomness from the host's generator, identifiers and bytes from its secure source (L-7.7.3, L-7.9.5, O-9.28).

FLOAT_BITS = 53  # of the mantissa of a Float: every value of [0, 1) that is a multiple of 2**-53 is equally likely


async def perform_chance(run: EffectContext, effect: Effect) -> Any:
    """Return, by the operation, a random Float of [0, 1) ("float"), an Int from `low` up to but not including `high` ("int"), the
    text of a UUID ("uuid"), or the hexadecimal digits of so many random bytes ("bytes")."""
    operation, *arguments = effect.payload
    if operation == "float":
        return run.host.random_bits(FLOAT_BITS) / 2**FLOAT_BITS
    if operation == "int":
        low, high = arguments
        return low + below(high - low, run.host.random_bits)
    if operation == "uuid":
        return uuid_text(run.host.secure_bytes(16))
    return run.host.secure_bytes(arguments[0]).hex()


def below(bound: int, bits: Callable[[int], int]) -> int:
    """Return a number from 0 up to but not including `bound`, each equally likely (rejection sampling: a remainder would make
    some numbers likelier). `bits(n)` gives n random bits. `bound` must be 1 or more: with 0 or less this does not end."""
    width = (bound - 1).bit_length()
    if not width:
        return 0
    number = bits(width)
    while number >= bound:
        number = bits(width)
    return number


def uuid_text(data: bytes) -> str:
    """Return 16 random bytes as the text of a UUID of version 4 (RFC 9562, 5.4): four bits are the version, two the variant."""
    number = int.from_bytes(data, "big") & ~(0xF000 << 64) & ~(0xC000 << 48) | 4 << 76 | 2 << 62
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


# `std::date`, as far as it needs the rules of zones (L-7.15), which the machine does not have. No permission guards anything.


async def perform_dates(run: EffectContext, effect: Effect) -> Any:
    """Return the Ok of a DateTime, or an Err of DateError; its field `column` counts code points from 1."""
    operation, *arguments = effect.payload
    try:
        return Ok(DateTime.of(OPERATIONS[operation](*arguments)))
    except Fault as fault:
        message, fields = str(fault), {}
        if fault.source is not None:
            fields["input"] = fault.source
        if fault.at is not None:
            message += f" at character {fault.at + 1}"
            return Err(ErrorValue("DateError", fault.variant, message, {**fields, "column": fault.at + 1}))
        return Err(ErrorValue("DateError", fault.variant, message, fields))


# Awaited emits: delivered like any other, then answered by the host (O-5.25, O-5.26, O-5.29, O-5.35).


async def perform_emits(run: EffectContext, effect: Effect) -> Any:
    """Send an awaited emit, an `EmitPayload`, and return the Ok of its answer, of the type that the program expects, or an Err of
    EmitError: NoListener, Timeout, HandlerFailed, WrongAnswer, or EffectUnknown where a process died before its journal had the
    answer. What the host's sink of emits raises passes through (`Session.emit`)."""
    run.emit(effect.payload.channel, effect.payload.value)
    return await answered(run, effect, effect.payload)


async def answered(run: EffectContext, effect: Effect, emit: EmitPayload) -> Any:
    """Return what `perform_emits` does for an emit that has been sent, for the task that waits for `effect`. What the function of
    a mock panics with passes through."""
    run.emits.flush()  # whoever answers must have seen all emits before this one
    timeout_ms = run.host.emit_timeout_ms if emit.timeout_ms is None else emit.timeout_ms
    try:
        mocks = run.state.get(ANSWERS, {})
        if emit.channel in mocks:
            answer = await _mocked(run, effect, emit, mocks[emit.channel])
        elif run.host.answer is None:
            raise NoListener
        else:
            answer = await _answer(run, effect, emit, timeout_ms)
        if emit.answer is None:
            return Ok(answer)
        declared = emit.channel in run.program.channels
        try:
            return Ok(read_answer(run, answer, emit.answer) if declared else check(answer, emit.answer))
        except (Panic, Misfit) as fault:  # what a host answers is no fault of the program (O-0.9)
            text = fault.message if isinstance(fault, Panic) else str(fault)
            return _failed("WrongAnswer", f"the answer on {emit.channel}: {text}", emit)
    except NoListener:
        testing = EMITS in run.state and emit.channel.isidentifier()
        mock = f"mock {emit.channel} {{ … }}" if emit.channel in run.program.channels else f"mock emit {{ {emit.channel}: … }}"
        hint = f"; in a test write `{mock}`" if testing else _who_answers(run, emit.channel)
        return _failed("NoListener", f"nobody answers emits on {emit.channel}{hint}", emit)
    except TimeoutError:
        return _failed("Timeout", f"no answer on {emit.channel} within {timeout_ms} ms", emit)
    except EffectUnknown:
        return _failed("EffectUnknown", f"whether {emit.channel} was answered is not known: the process died meanwhile", emit)
    except MockedFailure as failed:
        return _failed("HandlerFailed", f"the answer on {emit.channel}: {failed}", emit)
    except HandlerFailed as failed:
        message, fields = message_and_fields(run.redactor.clean, f"the answer on {emit.channel}", failed.error)
        return _failed("HandlerFailed", message, emit, **fields)


def _who_answers(run: EffectContext, channel: str) -> str:
    """Return how a declared channel gets an answer; "" for the text of any other."""
    how = f'; a host answers by `session.on_emit("{channel}", …)`, a script by `// answer: {channel} …`'
    return how if channel in run.program.channels else ""


async def _mocked(run: EffectContext, effect: Effect, emit: EmitPayload, answer: Any) -> Any:
    """Return the answer of a mock: a value for every emit of the channel, or what a closure gives for the payload (O-8.27)."""
    value = await run.call(effect, answer, [share(emit.value)]) if type(answer) is Closure else share(answer)
    if type(value) is Err:
        raise MockedFailure(display(value.value))
    return value.value if type(value) is Ok else value


class MockedFailure(Exception):
    """The mock of a handler gave an Err; the text is that of its error."""


class HandlerFailed(Exception):
    """The handler of the host raised `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


async def _answer(run: EffectContext, effect: Effect, emit: EmitPayload, timeout_ms: int | None) -> Any:
    answer = _ask_host(run, effect, emit)
    return await (answer if timeout_ms is None else run.within(timeout_ms / 1000, answer))


async def _ask_host(run: EffectContext, effect: Effect, emit: EmitPayload) -> Any:
    async def call_function(number: int, arguments: list[Any]) -> Any:
        return await run.call(effect, run.program.codes[number], arguments)

    run.host.awaited = emit  # read before anything else runs: a journal checks the type of an answer that it was given
    try:
        return await run.host.answer(run.redactor.clean(emit.channel), run.clean(emit.value), call_function)
    except (NoListener, EffectUnknown):
        raise
    except Exception as error:
        raise HandlerFailed(error) from None


def _failed(variant: str, message: str, emit: EmitPayload, **fields: Any) -> Err:
    return Err(ErrorValue("EmitError", variant, message, {"channel": emit.channel, **fields}))


# `env()` and `std::env`: a table of the granted variables, and the arguments of the program (L-6.1.7, L-7.4, G-8.5). What a
# variable holds that is a secret by its name is kept from every sink.

EVERY_VARIABLE = "*"


async def perform_environment(run: EffectContext, effect: Effect) -> Any:
    """Return variables or arguments, in the form of the function that asks: of `args` an Array, of `all` a Map, of `env` the text
    or nil, of `get` an Option, of `has` a Bool, of `require` a Result. A variable that is not granted is an Err of `require`, and
    panic P407 of `env`, `get` and `has`; `all` leaves it out."""
    if effect.payload[0] == "args":
        return Array([whole_text(word) for word in run.host.args])
    environment = run.state.get("env")
    if environment is None:
        environment = run.state["env"] = Environment(session_of(run))
    if effect.payload[0] == "all":
        return Map(await environment.all(run))
    operation, name = effect.payload
    try:
        value = await environment.get(run, name)
    except Denied as denied:
        if operation == "require":
            return denied_error("EnvError", denied, name=name)
        raise denied_panic(run, effect, denied) from None
    return RESULTS[operation](name, value)


def _required(name: str, value: str | None) -> Any:
    if value is None:
        return Err(ErrorValue("EnvError", "NotSet", f"environment variable {name} is not set", {"name": name}))
    return Ok(value)


# By operation on one variable: what it returns, of the variable's name and its value, None when it is not set.
RESULTS: dict[str, Any] = {
    "env": lambda name, value: value,
    "get": lambda name, value: NONE if value is None else Some(value),
    "has": lambda name, value: value is not None,
    "require": _required,
}


def key_variables(connections: Iterable[ConnectionSettings]) -> set[str]:
    """Return the names of the variables that connections read their keys and headers from: their values are secrets."""
    names: set[str] = set()
    for connection in connections:
        names.update(connection.secret_variables)
        names.update(value["env"] for value in connection.headers.values() if not isinstance(value, str))
    return names


class Environment:
    """The granted variables of a session: `values`, as they were at the first look-up, and `keys`, the names of those that
    connections read their keys and headers from. Each look-up is an audit record (G-8.5)."""

    def __init__(self, run: EffectContext) -> None:
        allows = permissions_of(run).allows_variable
        self.run = run
        self.values = {name: whole_text(value) for name, value in run.host.env.items() if allows(name)}
        self.keys = key_variables(run.connections.values())

    async def get(self, run: EffectContext, name: str) -> str | None:
        """Return the value of a variable, None when it is not set. Raises Denied when it is not granted to `run`, the session or
        a view of it."""
        access = Access("env", name, "audit:env_access", {"variable": name})

        async def read() -> str | None:
            return self._value(name)

        return await guarded(run, access, permissions_of(run).allows_variable(name), read)

    async def all(self, run: EffectContext) -> dict[Any, Any]:
        """Return all variables that are granted to `run` with their values, in the order of their names."""
        allows = permissions_of(run).allows_variable
        access = Access("env", EVERY_VARIABLE, "audit:env_access", {"variable": EVERY_VARIABLE})

        async def read() -> dict[Any, Any]:
            return {name: self._value(name) for name in sorted(self.values) if allows(name)}

        return await guarded(run, access, True, read)

    def _value(self, name: str) -> str | None:
        """Return a value. One that is a secret goes to the redactor before the program has it (G-10.3)."""
        value = self.values.get(name)
        if value and (name in self.keys or is_secret_name(name)):
            self.run.redactor.add(value, name)
        return value


# `std::http`: each hop is granted, resolved and checked before anything connects (L-7.2, G-8.3, O-4.15).


async def perform_http(run: EffectContext, effect: Effect) -> Any:
    """Send a request, follow its redirects, all within the milliseconds of the effect, and return the Ok of the last response,
    whatever its status, or an Err of HttpError. The payload is (method, URL, body as text or None, headers by name,
    milliseconds). What a host's own network raises besides HttpFailure passes through."""
    method, url, body, headers, timeout_ms = effect.payload
    try:
        if run.services.telemetry is not None and not any(name.lower() == "traceparent" for name in headers):
            headers = {**headers, **run.services.telemetry.carrier()}
        request = HttpRequest(method, Target(url), headers, body)
        reply = await _within(run, timeout_ms / 1000, request)
    except Denied as denied:
        return denied_error("HttpError", denied, url=url)
    except HttpFailure as failure:
        return Err(ErrorValue("HttpError", failure.variant, run.redactor.clean(failure.message), {"url": url}))
    return Ok(response(reply))


def response(reply: HttpReply) -> Any:
    """Return a reply as the record HttpResponse; what of the body is no UTF-8 becomes U+FFFD."""
    headers = {whole_text(name): whole_text(value) for name, value in reply.headers.items()}
    return HttpResponse.of([reply.status, reply.body.decode("utf-8", "replace"), Map(headers)])


async def _within(run: EffectContext, seconds: float, request: HttpRequest) -> HttpReply:
    """Exchange a request, with all its redirects, under one time limit."""
    if run.host.network is None:
        raise HttpFailure("Network", f"{request.target.host}: the run is offline")
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await _follow_redirects(run, request)
    except TimeoutError:
        raise HttpFailure("Timeout", f"{request.target.host}: no reply within {seconds:g} s") from None


async def _follow_redirects(run: EffectContext, request: HttpRequest) -> HttpReply:
    for _ in range(MOST_REDIRECTS + 1):
        reply = await _hop(run, request)
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            return reply
        request = request.redirected(reply.status, location)
    raise HttpFailure("Network", f"{request.target.host}: more than {MOST_REDIRECTS} redirects")


async def _hop(run: EffectContext, request: HttpRequest) -> HttpReply:
    async def exchange(address: str) -> HttpReply:
        reply: HttpReply = await run.host.network.exchange(request, address)
        return reply

    return await with_checked_address(run, run.host.network, request.target.host, request.target.port, exchange)


# `std::log`: a line to the host's sink, which no text can break or disguise (L-7.9.2, G-10.4).


async def perform_log(run: EffectContext, effect: Effect) -> None:
    """Write a line to the log of the host. The payload is (level, text)."""
    level, text = effect.payload
    run.host.log(level, printable(run.redactor.clean(text)))


# `std::time::sleep`: a wait on the host's clock (L-7.6.2).


async def perform_sleep(run: EffectContext, effect: Effect) -> None:
    """Wait for the milliseconds of the effect, of which its payload is a tuple; for 0 not at all."""
    (milliseconds,) = effect.payload
    if milliseconds:
        await run.host.sleep(milliseconds / 1000)


# `std::io` (L-7.11): lines and texts of standard input, as the host hands it on.

INPUT = "stdin"  # the key in the state of a session: where it reads


async def perform_standard_input(run: EffectContext, effect: Effect) -> Any:
    """Read from standard input and return the Result: of `read_line` an Option, None at the end; of `read_all` the rest as text,
    of `read_bytes` as Bytes; an Err of IoError for more bytes than a String may have, for what is no UTF-8 (not of `read_bytes`),
    for a stream that cannot be read, and where there is no input. Or, for `script` in a test, put a text in the place of the
    input and return nil: elsewhere that is panic P013. What the source raises besides Unreadable passes through."""
    operation, content = effect.payload
    testing = EMITS in run.state
    if operation == "script":
        if not testing:
            raise run.machine.placed(effect.task, Panic("P013", "`io::script` stands in for standard input in a `@test` alone"))
        run.state[INPUT] = Scripted(content.encode())
        return None
    source = run.state.get(INPUT)
    if source is None and (testing or run.host.stdin is not None):
        source = run.state[INPUT] = Scripted() if testing else run.host.stdin()
    if source is None:
        return _error("Unavailable", "no standard input: the host of this program hands it none (option `stdin`)")
    try:
        content = await source.take(run, operation != "read_line", run.machine.value_bytes)
    except Unreadable as unreadable:
        return _error("Io", f"standard input: {unreadable}")
    return _standard_input_answer(operation, content, run.machine.value_bytes)


def _standard_input_answer(operation: str, content: bytes | TooLong, limit: int) -> Any:
    if isinstance(content, TooLong):
        what = "a line" if operation == "read_line" else "standard input"
        return _error("TooLong", f"{what} is longer than a String may be ({limit} bytes)")
    if operation == "read_bytes":
        return Ok(content)
    if operation == "read_line" and not content:  # the end: every line, also an empty one, has its line end
        return Ok(NONE)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _error("InvalidUtf8", f"standard input: no UTF-8 at byte {error.start} of what was read")
    if operation == "read_all":
        return Ok(text)
    return Ok(Some(text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")))


def _error(variant: str, message: str) -> Err:
    return Err(ErrorValue("IoError", variant, message, {}))


# `std::usage` and `std::budget`: what the program has used of models, and what it may still use (L-7.16, L-7.17).


async def perform_usage(run: EffectContext, effect: Effect) -> Any:
    """Return the record of what the task has used in its last call ("last"); of what it and the tasks below it have used in all
    ("spent"), or since a record that it gives ("since"); or of what is left of the budgets, nil where there is no limit
    ("left")."""
    operation, *arguments = effect.payload
    if operation == "left":
        return _left(run)
    task = effect.task.path
    spending = run.services.spending
    assert spending is not None
    if operation == "last":
        return _usage(spending.last.get(task) or Use())
    spent = _usage(spending.spent.get(task) or Use())
    if operation == "spent":
        return spent
    before = arguments[0].values()
    return ModelUsage.of([now - then for now, then in zip(spent.values(), before, strict=True)])


def _usage(use: Use) -> Any:
    return ModelUsage.of([getattr(use, name) for name in ModelUsage.decl.fields])


def _left(run: EffectContext) -> Any:
    purse, machine = run.services.purse, run.machine
    assert purse is not None
    tokens, cost, calls = purse.left()
    steps = None if machine.steps >= UNLIMITED else machine.steps - machine.used
    seconds = run.remaining()
    seconds = None if seconds is None else max(seconds, 0.0)
    return BudgetLeft.of([tokens, None if cost is None else float(cost), calls, steps, seconds])
