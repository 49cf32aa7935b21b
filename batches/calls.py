"""The call of one row: a session of its own, the answer as JSON, what it cost, and another try where it failed (S-2.1).

Hands on `RowCalls` to `batch.py`, to `cluster.py` for the machines of a cluster, and to `provider_jobs.py`; `Failure`, what a row
failed by, with `BudgetEnds` and `Pending`, by which a row has no answer yet, to `run.py` and those two; `Shared`, the budget of a
batch, to `leases.py` too; `KeyMissing`, `JobsFailure` and `ClusterFailure`, by which a batch ends, to whoever raises them and to
`batch.py`. Sessions share code, the providers with their open connections, and the budget of the batch, nothing else. Which rows
are called, and what is kept of them, is not known here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..api.options import Options, amounts, host_of, limits_of
from ..api.python_functions import PythonFunctions
from ..api.session import arguments_of
from ..runtime.calls.budgets import Account
from ..runtime.calls.usage import Metrics
from ..runtime.host import Host
from ..runtime.session.session import Outcome, Session
from ..vm import values as v
from ..vm.interp.link import Program
from ..vm.interp.machine import Stopped
from ..vm.panics import Panic
from ..vm.values.limits import LONGEST_STRING
from .store import Answer

LONGEST_WAIT = 10.0  # seconds before another try
SPENT = "BudgetError"


class BudgetEnds(Exception):
    """The budget of the batch has no room for the request of a row: the row is not finished. The text is that of the refusal;
    `used` is what the row had used before, as tokens, cost and requests."""

    def __init__(self, text: str, used: tuple[int, float, int]) -> None:
        super().__init__(text, used)
        self.text = text
        self.used = used


class KeyMissing(Exception):
    """A row needs a key that is not there: the row is not finished, and the next ones would fail alike. The text names the
    variable."""


class Pending(Exception):
    """The answer to a row comes later, by a batch of the provider."""


class JobsFailure(Exception):
    """Batches of the provider that cannot be sent or collected; the text says why, and the way out."""


class ClusterFailure(Exception):
    """The cluster that calls the rows cannot be used, or is gone; the text says why, and the way out."""


class Shared(Account):
    """The budget of a batch, on which all its rows draw. `refused` counts the requests that it has refused."""

    __slots__ = ("refused",)

    def __init__(self, tokens: int | None, cost: float | None, model_calls: int | None) -> None:
        super().__init__(tokens, cost, model_calls, "batch")
        self.refused = 0

    def spent(self, kind: str, reservation: Any) -> Any:
        """Count one more request that is refused, and return its failure."""
        self.refused += 1
        return super().spent(kind, reservation)


class Failure:
    """Reasons as the file of errors has them, each the JSON text of an object with `kind` and `message`."""

    @staticmethod
    def of(kind: str, message: str, **more: Any) -> str:
        """Return a reason of that kind: `Row` for a row that cannot be read or does not fit, `Panic`, an error of the program,
        or one of batches of the provider. What is None in `more` is left out."""
        return json.dumps({"kind": kind, **{k: value for k, value in more.items() if value is not None}, "message": message})

    @staticmethod
    def of_outcome(outcome: Outcome, clean: Any) -> str:
        """Return the reason of a call that ended in an Err or a panic."""
        if outcome.panic is not None:
            at = outcome.panic.trace[0] if outcome.panic.trace and not isinstance(outcome.panic.trace[0], int) else None
            place = None if at is None or not at[1] else f"{at[1]}:{at[2]}:{at[3]}"
            return Failure.of("Panic", clean(outcome.panic.message), code=outcome.panic.code, place=place)
        error = outcome.error
        if isinstance(error, v.ErrorValue):
            return Failure.of(error.family, clean(error.message), variant=error.variant)
        variant = error.decl.variants[error.variant].name if isinstance(error, v.EnumValue) else None
        return Failure.of(v.typeof(error), clean(outcome.message), variant=variant, value=outcome.host_value)


class RowCalls:
    """Calls of one function. `options` are those of sessions, accepted by `check_options`; `budget` is that of the batch, None
    for none; `retries` is how often a row is called again. Raises ConfigFailure for a wrong configuration of the program,
    ValueError and OSError as `host_of`."""

    def __init__(
        self, program: Program, function: str, options: Options, project: str | None, budget: Shared | None, retries: int
    ) -> None:
        self.program = program
        self.function = function
        self.number = program.image.exports.functions[function]
        self.budget = budget
        self.retries = retries
        self._options = options
        self._project = project
        self._limits, self._accounts, self._per_call = amounts(options.get("budgets"))
        self._longest = max(LONGEST_STRING, self._limits.value_bytes or 0)
        # Its providers, with their connections, are those of all rows; it runs nothing itself.
        self._first = Session(program, self._host())
        self.is_offline = self._first.host.offline
        self._live: set[Session] = set()
        self._is_stopped = False

    def _host(self) -> Host:
        host = host_of(self._options, lambda channel, value, by_runtime: None, None, self._project)
        host.is_audited = False
        return host

    def prepared(self, arguments: Mapping[str, Any]) -> Any:
        """Return the arguments of a call, checked. Raise TypeError for what does not fit, and Panic for what is beyond the limits
        of values."""
        return arguments_of(self.program, self.function, self.number, (), dict(arguments), self._longest)

    async def call(self, arguments: Mapping[str, Any], row: tuple[str, bytes] = ("", b"")) -> Answer:
        """Call the function with arguments by name, again where it fails and that may help, and return the answer. `row`, its key
        and digest, is for callers of another kind (`run.Caller`). Raise BudgetEnds where the budget of the batch has no room,
        KeyMissing where the function failed by that, CancelledError after `stop`, and what the constructor raises."""
        total = Metrics()
        attempt = 0
        while True:
            attempt += 1
            refused = self._refusals()
            outcome, text = await self.once(arguments, total)
            if isinstance(outcome, str) or (outcome.panic is None and outcome.error is None):
                return self.answer_of(outcome, text, total, attempt)
            if _lacks_key(outcome):
                raise KeyMissing(self.clean(outcome.message))
            if self._is_budget(outcome) and self._refusals() > refused:
                message = outcome.message if outcome.panic is None else outcome.panic.message
                raise BudgetEnds(message, (total.total_tokens, total.estimated_cost, total.model_calls))
            if attempt > self.retries or self._is_budget(outcome) or outcome.exit_code == 77:
                return self.answer_of(outcome, text, total, attempt)
            if not self.is_offline:
                await asyncio.sleep(min(0.25 * 2**attempt, LONGEST_WAIT))

    def _refusals(self) -> int:
        return 0 if self.budget is None else self.budget.refused

    def _is_budget(self, outcome: Outcome) -> bool:
        if outcome.panic is not None:
            return outcome.panic.code in ("P401", "P402", "P403")
        return isinstance(outcome.error, v.ErrorValue) and outcome.error.family == SPENT

    def answer_of(self, outcome: Outcome | str, text: str | None, total: Metrics, attempts: int) -> Answer:
        """Return what a call came to: its outcome, or the reason why there is none, and the JSON text of its value; `total` is
        what was used."""
        if isinstance(outcome, str):
            text, failure = None, outcome
        elif outcome.panic is None and outcome.error is None:
            failure = None
        else:
            text, failure = None, Failure.of_outcome(outcome, self.clean)
        used = (total.total_tokens, total.estimated_cost, total.unpriced_calls, attempts, total.model_calls)
        return Answer(text, failure, *used)

    async def once(
        self, arguments: Mapping[str, Any], total: Metrics, provider: Callable[[str], Any] | None = None
    ) -> tuple[Outcome | str, str | None]:
        """Return how one call ended, or why the row does not fit (a reason of `Failure`), and the JSON text of its value, None
        without one; what it used is added to `total`. `provider` gives what stands in the place of the provider of a connection.
        Raise CancelledError after `stop`, and what the constructor raises."""
        try:
            prepared = self.prepared(arguments)
        except TypeError as misfit:
            return Failure.of("Row", str(misfit)), None
        except Panic as panic:  # of the conversion, which has no secrets
            return Failure.of("Panic", panic.message, code=panic.code), None
        if self._is_stopped:
            raise asyncio.CancelledError
        session = self._session(provider)

        def give(value: Any) -> str:
            return v.to_json(session.clean(value.value if type(value) in (v.Ok, v.Err) else value))

        accounts = [*(Account(each.tokens, each.cost, each.model_calls, "row") for each in self._per_call), *self._accounts]
        if self.budget is not None:
            accounts.append(self.budget)
        self._live.add(session)
        try:
            code = self.program.codes[self.number]
            outcome = await session.invoke(code, prepared, give=give, accounts=accounts, **limits_of(self._limits))
        except Stopped:
            raise asyncio.CancelledError from None
        finally:
            self._live.discard(session)
            _count(total, session.metrics)
            await session.aclose()
        return outcome, outcome.host_value

    def provider(self, connection: str) -> Any:
        """Return the provider of a connection, which all rows share. Raise KeyError for a connection that the program does not
        have."""
        return self._first.pool[connection]

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        return self._first.redactor.clean(text)

    def _session(self, provider: Callable[[str], Any] | None) -> Session:
        host = self._host()
        if provider is not None:
            host.provider = provider
        elif not self.is_offline:  # a script begins anew with each row
            host.provider = self._first.pool.__getitem__
        host.redactor = self._first.redactor
        host.python = PythonFunctions
        host.print = sys.stderr.write  # stdout is for the batch
        session = Session(self.program, host)
        session.account.whose = "row"
        session.services.limiters = self._first.services.limiters  # rates of a connection are those of all rows
        return session

    def stop(self) -> None:
        """End the calls that compute, and begin no more; those that wait are cancelled by whoever awaits them."""
        self._is_stopped = True
        for session in tuple(self._live):  # another thread may stop them
            session.stop("stopped")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._first.aclose()


def _lacks_key(outcome: Outcome) -> bool:
    error = outcome.error
    return isinstance(error, v.ErrorValue) and (error.family, error.variant) == ("ConnectionError", "MissingKey")


def _count(total: Metrics, one: Metrics) -> None:
    total.total_tokens += one.total_tokens
    total.estimated_cost += one.estimated_cost
    total.unpriced_calls += one.unpriced_calls
    total.model_calls += one.model_calls
