"""Whether a reply is accepted: extraction, validation, validators (O-2.18 to O-2.29, O-2.40).

Hands on `judge`: a `Verdict` or the violations, and `admitted`. Must not know: attempts, memories.
"""

from __future__ import annotations

from .extraction import extract
from .json_text import JsonRefused
from .validation import (
    Accepted,
    Violation,
    parse_violation,
    truncated_violation,
    validate,
    validator_violation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ..records import Reply
    from .strategy import Schema

    # Runs the validators of a schema on an accepted tree: the messages of those that reject it (O-2.18).
    Validators = Callable[[Any], Awaitable[Sequence[str]]]


class Verdict:
    """An accepted reply: the tree of validation.py, and whether the text had to be repaired."""

    __slots__ = ("tree", "repaired")

    def __init__(self, tree: Any, repaired: bool) -> None:
        self.tree = tree
        self.repaired = repaired


async def judge(schema: Schema, reply: Reply, validators: Validators | None) -> Verdict | list[Violation]:
    """Extraction, validation, validators: the accepted tree or why not."""
    try:
        extracted = extract(reply.text)
    except JsonRefused as refused:
        return [truncated_violation() if reply.finish == "length" else parse_violation(refused.reason)]
    outcome = await admitted(schema, extracted.value, validators)
    return Verdict(outcome.tree, extracted.repaired) if isinstance(outcome, Accepted) else outcome


async def admitted(schema: Schema, data: Any, validators: Validators | None) -> Accepted | list[Violation]:
    """Plain data as a value of the schema: its structure, then its validators (O-2.18)."""
    outcome = validate(schema.shape, data)
    if not isinstance(outcome, Accepted) or validators is None:
        return outcome
    return [validator_violation(message) for message in await validators(outcome.tree)] or outcome
