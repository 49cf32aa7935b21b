"""Whether a reply is accepted: its JSON is found, then validated, then shown to the validators of the program (O-2.18 to O-2.29,
O-2.40, O-2.54 to O-2.59).

Hands on `judge`, which decides about a reply, with its `Verdict`, to the calls of models; `accept_data`, which decides about data
that is parsed already, to those of agents; and `program_validators`, which makes the `Validators` that both take, to the
performers of models and agents (`effects/models.py`, `effects/agents.py`) and to `agents/calls.py`. What a validator raises
passes through both. How JSON is found is `extraction.py`, how it is compared `validation.py`.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.schema import objects
from ...vm.values import Err, Ok, typeof
from .extraction import read
from .validation import (
    Accepted,
    objects_of,
    parse_violation,
    several_violation,
    truncated_violation,
    validate,
    validate_reply,
    validator_violation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..records import Reply
    from ..running import EffectContext
    from .strategy import Schema
    from .validation import Violation

    # Runs the validators of a schema, and of the schemas in it, on an accepted tree: path and message of each that rejects.
    Validators = Callable[[Any], Awaitable[Sequence[tuple[str, str]]]]


REJECTED = "rejected by validator"  # the message of a validator that gives Ok(false)


class Verdict:
    """An accepted reply: its `tree`, in the form that `validation.py` describes, and whether it was anything but the JSON of the
    value (`repaired`): text around it, other spellings, the letter case of a set's member."""

    __slots__ = ("tree", "repaired")

    def __init__(self, tree: Any, repaired: bool) -> None:
        self.tree = tree
        self.repaired = repaired


async def judge(schema: Schema, reply: Reply, validators: Validators | None) -> Verdict | list[Violation]:
    """Decide whether a reply is accepted by the schema: return a `Verdict`, or all violations, of which there is at least one.

    `validators` is None where the schema has none, or where they have accepted this reply before (a reply from the cache). What
    they raise passes through.
    """
    reading = read(reply.text)
    if reply.finish == "length" and reading.unclosed:  # an object before the cut may be a part of the one that is cut off
        return [truncated_violation()]
    outcome = _fitting(schema, reading.runs)
    if outcome is None:
        return [truncated_violation() if reply.finish == "length" else parse_violation(reading.reason)]
    if not isinstance(outcome, Accepted):
        return outcome
    rejected = await _rejections(outcome, validators)
    return rejected or Verdict(outcome.tree, reading.repaired or outcome.respelt)


def _fitting(schema: Schema, runs: Sequence[Sequence[Any]]) -> Accepted | list[Violation] | None:
    """Return the first object that fits, or that several of its run fit (O-2.54); else the violations of the object that has
    fewest (O-2.56); None when the reply holds no object."""
    best: list[Violation] | None = None
    for run in runs:
        fitting: list[Accepted] = []
        for value in run:
            outcome = validate_reply(schema.shape, value)
            if isinstance(outcome, Accepted):
                fitting.append(outcome)
            elif best is None or len(outcome) < len(best):
                best = outcome
        if fitting:
            alike = all(accepted.tree == fitting[0].tree for accepted in fitting)
            return fitting[0] if alike else [several_violation(len(fitting))]
    return best


async def accept_data(schema: Schema, data: Any, validators: Validators | None) -> Accepted | list[Violation]:
    """Decide whether plain JSON data is a value of the schema: return the accepted tree, or all violations (O-2.18).

    Unlike the text of a reply, the data gets no repair: every field must be spelled as the schema says. `validators` is None for
    none; what they raise passes through."""
    outcome = validate(schema.shape, data)
    return await _rejections(outcome, validators) or outcome if isinstance(outcome, Accepted) else outcome


async def _rejections(accepted: Accepted, validators: Validators | None) -> list[Violation]:
    if validators is None:
        return []
    return [validator_violation(path, message) for path, message in await validators(accepted.tree)]


def program_validators(run: EffectContext, effect: Effect, schema: str) -> Validators | None:
    """Return what runs the program's validators of a schema and of the schemas in it (O-2.18, O-2.19); None if there are none.

    They run as children of the task that waits for `effect`. Awaiting a call of what is returned raises Panic P007 when a
    validator gives no Result<Bool, String>, and what the validators raise. Raises KeyError for a schema that the program does not
    have.
    """
    codes = {declared.shape[1]: declared.validators for declared in run.schemas.values() if declared.validators}
    if not any(kind[1] in codes for kind in objects(run.schemas[schema].shape)):
        return None

    async def rejections(tree: Any) -> list[tuple[str, str]]:
        rejections_by_path = []
        for path, part in objects_of(tree):
            for code in codes.get(part[1], ()):
                # each validator gets a value of its own, since it may change it
                message = _rejection(await run.call(effect, code, [run.builder.value(part)]))
                if message is not None:
                    rejections_by_path.append((path, message))
        return rejections_by_path

    return rejections


def _rejection(outcome: Any) -> str | None:
    """Return the message of a validator that rejects, None of one that accepts."""
    value = outcome.value if type(outcome) in (Ok, Err) else None
    if type(outcome) is Ok and type(value) is bool:
        return None if value else REJECTED
    if type(outcome) is Err and type(value) is str:
        return value
    raise Panic("P007", f"expected Result<Bool, String> of a validator, found {typeof(outcome)}")
