"""Help texts for a value of the wrong type (L-4.4.1).

Pure. Must not know: where the value stands.
"""

from __future__ import annotations

from ..types import FLOAT, INT, STRING, Function, Generic, Nilable, Type, Union


def explain(found: Type, wanted: Type) -> str | None:
    """What usually helps when `found` stands where `wanted` is expected."""
    match found, wanted:
        case Generic(name="Result"), _ if found.arguments[0] == wanted:
            return "use `?`, or `match` on the Result"
        case Generic(name="Option"), _ if found.arguments[0] == wanted:
            return "use `?`, `??` with a default, or `match`"
        case Nilable(), _ if found.inner == wanted:
            return "use `??` with a default, or `match`"
        case _, Generic(name="Result") if wanted.arguments[0] == found:
            return "wrap it: `Ok(…)`"
        case _, Union():
            return f"cast it: `as {wanted}`" if found == STRING else None
        case Function(), _ if found.result == wanted:
            return "call it: `()`"
    if wanted == STRING:
        return "convert it: `.to_string()` or `${…}`"
    if wanted == INT and found in (FLOAT, STRING):
        return "cast it: `as Int`"
    if wanted == FLOAT and found == STRING:
        return "cast it: `as Float`"
    return None
