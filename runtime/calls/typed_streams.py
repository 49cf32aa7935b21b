"""A reply that arrives as parts of a value of a schema (O-2.70 to O-2.75).

A typed stream is a streamed call whose work is a schema call: retries, validators, tool rounds and the commit are those of
`execute_with_schema`. Hands on `TypedStreamedCall` to the performer of models. What has come of a reply is only shown: a memory
gets its turn, and the program its value, when the whole reply is accepted. What a part of a value is, is
`schema/partial_values.py`.
"""

from __future__ import annotations

from ...vm.values import ItemStream, Ok, TypedStream
from ...vm.values.equality import equal
from ..errors import CallFailure, Origin
from ..records import failed, succeeded
from ..schema.partial_values import NOTHING, Parts
from .call import CallRun
from .streams import StreamedCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..records import Reply, Request, TreeBuilder
    from ..schema.acceptance import Validators, Verdict
    from ..schema.strategy import Plan
    from .responses import Response, Validated

PART = "part"  # an outcome: something of the value has come


class TypedStreamedCall(StreamedCall):
    """A streamed call whose reply is to be a value of a schema.

    The job stops where something new has come, until the program asks for more: for the next part, the next element of a field,
    or the end. `wanted` is the plan of the schema, `parts` what has come of this reply. `given` counts by field the elements that
    were handed on of this reply. `accepted` is the value of the whole reply once the program has come to its commit, `tree` its
    form in `schema/validation.py`, `shown` the part of this reply that was handed on last, None before, and `last` the one in
    which all is done, until it was handed on. `builder` is that of the program."""

    __slots__ = (
        "wanted", "retry_message", "validators", "builder", "parts", "given", "accepted", "shown", "last", "tree",
    )  # fmt: skip

    kind = TypedStream

    def expect(
        self, plan: Plan, retry_message: str | None, validators: Validators | None, builder: TreeBuilder
    ) -> None:
        """Say what the reply is to be; it must be done before `run`. `plan` says how the schema is sent, `retry_message` what a
        model is told besides when it is asked again, `validators` are the program's own checks of the schema, None without any.
        `builder` makes values of the program."""
        self.wanted = plan
        self.retry_message = retry_message
        self.validators = validators
        self.builder = builder
        self.given: dict[str, int] = {}
        self.accepted: Any = None
        self.shown: Any = None
        self.last: Any = None
        self.parts = Parts(plan.schema.shape, builder)

    # ------------------------------------------------------------ the side of the program

    async def next(self, effect: Effect) -> Any:
        """Wait for what the effect asks for, and return it as a Result: the next Partial, or by an `ItemStream` the next element
        of its field or, where the field is "", the Result of the whole. Where the call has failed it returns the Err. At the end
        it returns a PendingCommit, which stores the turn and gives Ok(nil), for the whole the Ok of its value, or an Err when the
        turn cannot be stored. Raises a panic of the job."""
        wanted = effect.payload
        field = wanted.field if type(wanted) is ItemStream else None
        while True:
            if field:
                element = self._element(field)
                if element is not NOTHING:
                    return succeeded(element)
            elif field is None and self.last is not None:
                last, self.last = self.last, None
                return succeeded(last)
            outcome = await self._next_outcome(effect)
            if outcome is not PART:
                if callable(outcome) and self._take_verdict(field):
                    self.outcome = outcome
                    continue
                return self._end_of(outcome, field)
            if field is None:
                self.shown = self.parts.value()
                return succeeded(self.shown)

    def _take_verdict(self, field: str | None) -> bool:
        """Note the accepted value when its commit is first seen; return whether parts or elements of it are still to be shown."""
        if self.accepted is not None:
            return False
        self.accepted = self.builder.value(self.tree)
        last = self.parts.whole(self.accepted)
        self.last = None if self.shown is not None and equal(self.shown, last) else last
        return field != ""

    def _element(self, field: str) -> Any:
        number = self.given.get(field, 0)
        if self.accepted is None:
            element = self.parts.element(field, number)
        else:
            elements = self.accepted.values()[list(self.parts.fields).index(field)].items
            element = elements[number] if number < len(elements) else NOTHING
        if element is not NOTHING:
            self.given[field] = number + 1
        return element

    def _end_of(self, outcome: Any, field: str | None) -> Any:
        ended = self._ended(outcome)
        if field != "" or isinstance(outcome, CallFailure):
            return ended
        run = ended.commit
        ended.commit = lambda: self._outcome_of(run())
        return ended

    def _outcome_of(self, committed: Any) -> Any:
        """Return the Result of the whole for what the commit gave."""
        return self.stream.outcome if type(committed) is Ok else committed

    def _committed(self, commit: Callable[[], Any]) -> Response:
        validated: Validated = commit()
        self.stream.outcome = Ok(self.accepted)
        return validated.response

    # ------------------------------------------------------------ the job

    async def work(self) -> Callable[[], Any]:
        """Ask the model until a reply fits the schema, and return the commit. Raises CallFailure, a SchemaError when none
        fits."""
        return await self.with_schema(self.wanted, self.retry_message, self.validators)

    def _validated(self, verdict: Verdict, commit: Callable[[], Response]) -> Callable[[], Validated]:
        self.tree = verdict.tree
        return super()._validated(verdict, commit)

    def _begin(self, why: str) -> None:
        super()._begin(why)
        self.stream.attempt = self.tally.schema_attempt

    def _request(self) -> Request:
        if self.paused is None:  # each reply begins anew
            self.parts = Parts(self.wanted.schema.shape, self.builder)
            self.given.clear()
            self.shown = None
        return super()._request()

    def _outcome_of_chunk(self, text: str) -> Any:
        return PART if self.parts.feed(text) else None

    def _joined(self, piece: str, outcome: Any) -> tuple[str, Any]:
        return piece, None if outcome is PART else outcome

    def _put_outcome(self, outcome: Any) -> None:
        if isinstance(outcome, CallFailure):
            self.stream.outcome = failed(outcome)
        super()._put_outcome(outcome)

    def _end(self, finish: str) -> None:
        if self.stream.outcome is None:
            cancelled = Origin(self.settings.model, self.settings.connection.name, 0).failure(
                "AgentError", "Cancelled", "the stream was left before its end"
            )
            self.stream.outcome = failed(cancelled)
        super()._end(finish)

    def _response(self, reply: Reply, cached: bool) -> Response:
        return CallRun._response(self, reply, cached)
