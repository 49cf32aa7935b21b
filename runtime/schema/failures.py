"""Violations as SchemaError data (O-1.120, O-2.29, O-2.47).

Hands on `CallFailure`. Must not know: who validated or why.
"""

from __future__ import annotations

from ..errors import MESSAGE_LENGTH, CallFailure
from .validation import VARIANTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .validation import Violation

KIND = "SchemaError"


def schema_failure(violations: Sequence[Violation], raw_response: str, **origin: Any) -> CallFailure:
    """One failed validation; the first violation gives variant and fields."""
    first = violations[0]
    message = "; ".join(violation.text for violation in violations)[:MESSAGE_LENGTH]
    fields: dict[str, Any] = {
        "raw_response": raw_response,
        "violations": [violation.as_json() for violation in violations],
        "path": first.path,
    }
    if first.path.startswith("$."):
        fields["field"] = first.path.rpartition(".")[2]
    if first.code == "enum":
        fields["allowed"] = first.expected
    else:
        fields["expected"] = first.expected
    fields["actual"] = first.actual
    return CallFailure(KIND, VARIANTS[first.code], message, **fields, **origin)


def retries_exhausted(last: CallFailure, attempts: int, model: str, provider: str) -> CallFailure:
    """`MaxRetriesExceeded`; `last_error` is a CallFailure too. `violations` and `path` stay readable at the top."""
    noun = "attempt" if attempts == 1 else "attempts"
    return CallFailure(
        KIND,
        "MaxRetriesExceeded",
        f"{model}: no valid reply after {attempts} {noun}: {last.message}"[: MESSAGE_LENGTH + len(model) + 2],
        attempts=attempts,
        last_error=last,
        raw_response=last.fields["raw_response"],
        violations=last.fields["violations"],
        path=last.fields["path"],
        model=model,
        provider=provider,
    )
