"""Help for memories, hashmaps and ledgers that are declared without their type or value (L-2.6.8).

Must not know: how parsing goes on after an error.
"""

from __future__ import annotations

from .error_place import ErrorPlace

FORMS = {
    "K_MEMORY": "memory {}: Memory = Memory::new();",
    "K_HASHMAP": "hashmap {}: HashMap<String, Int> = HashMap::new();",
    "K_LEDGER": "ledger {}: Ledger = Ledger::new();",
}
LONGEST = 40  # tokens of a type


def of_a_store(place: ErrorPlace, expected: set[str]) -> str | None:
    """At `=` without a type before it, or at `;` without a value."""
    if place.kind() not in ("EQ", "SEMI"):
        return None
    for back in range(1, min(place.row, LONGEST) + 1):
        kind = place.before(back)
        if kind in FORMS and place.before(back - 1) == "IDENT":
            return f"write `{FORMS[kind].format(place.text(1 - back))}`"
        if kind in ("SEMI", "LBRACE", "RBRACE", "EQ"):
            return None
    return None
