"""Whether a reply is accepted: extraction, validation, validators (O-2.18 to O-2.29, O-2.40, O-2.54 to O-2.59).

Hands on `judge`: a `Verdict` or the violations, and `admitted`. Must not know: attempts, memories.
"""

from __future__ import annotations

from .extraction import read
from .validation import (
    Accepted,
    Violation,
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

    from ..records import Reply
    from .strategy import Schema

    # Runs the validators of a schema, and of those in it, on an accepted tree: path and message of each that rejects (O-2.18).
    Validators = Callable[[Any], Awaitable[Sequence[tuple[str, str]]]]


class Verdict:
    """An accepted reply: the tree of validation.py, and whether the text had to be repaired."""

    __slots__ = ("tree", "repaired")

    def __init__(self, tree: Any, repaired: bool) -> None:
        self.tree = tree
        self.repaired = repaired


async def judge(schema: Schema, reply: Reply, validators: Validators | None) -> Verdict | list[Violation]:
    """Extraction, validation, validators: the accepted tree or why not."""
    reading = read(reply.text)
    if reply.finish == "length" and reading.unclosed:
        return [truncated_violation()]
    outcome = _fitting(schema, reading.runs)
    if outcome is None:
        return [truncated_violation() if reply.finish == "length" else parse_violation(reading.reason)]
    if not isinstance(outcome, Accepted):
        return outcome
    rejected = await _rejections(outcome, validators)
    return rejected or Verdict(outcome.tree, reading.repaired or outcome.respelt)


def _fitting(schema: Schema, runs: Sequence[Sequence[Any]]) -> Accepted | list[Violation] | None:
    """The first object that fits, which must be the only one of its run (O-2.54); else the violations of the one that has
    fewest (O-2.56); None without any object."""
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


async def admitted(schema: Schema, data: Any, validators: Validators | None) -> Accepted | list[Violation]:
    """Plain data as a value of the schema: its structure, then its validators (O-2.18)."""
    outcome = validate(schema.shape, data)
    return await _rejections(outcome, validators) or outcome if isinstance(outcome, Accepted) else outcome


async def _rejections(accepted: Accepted, validators: Validators | None) -> list[Violation]:
    if validators is None:
        return []
    return [validator_violation(path, message) for path, message in await validators(accepted.tree)]
