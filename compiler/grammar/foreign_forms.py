"""Types, loops and declarations written as in other languages, told by a few tokens around a syntax error (L-2.6.8).

Hands on one rule per kind, for the list of helps. Must not know: messages, other rules.
"""

from __future__ import annotations

from .error_place import ErrorPlace

LITERAL_LIMIT = 20  # tokens of `Literal["a", …]` that are looked at


def of_a_type(place: ErrorPlace, expected: set[str]) -> str | None:
    """`T[]`, `[T]` and `Literal["a", "b"]`."""
    if place.kind() != "LBRACKET" or "INT" in expected or "PLUS" in expected:
        return None
    if place.word_before() == "Literal":
        return f"write the strings with `|` between them: `{_alternatives(place)}`"
    if place.word_before() and place.kind(1) == "RBRACKET":
        return f"write `Array<{place.word_before()}>`"
    if "FNTYPE" in expected:
        inner = place.text(1) if place.kind(1) == "IDENT" and place.kind(2) == "RBRACKET" else "T"
        return f"write `Array<{inner}>`"
    return None


def _alternatives(place: ErrorPlace) -> str:
    strings = []
    for ahead in range(1, LITERAL_LIMIT):
        if place.kind(ahead) == "STRING":
            strings.append(place.text(ahead))
        elif place.kind(ahead) != "COMMA":
            break
    return " | ".join(strings) or '"a" | "b"'


def of_a_loop(place: ErrorPlace, expected: set[str]) -> str | None:
    """`for` as JavaScript writes it."""
    kind = place.kind()
    if kind in ("LET", "CONST") and place.before(1) == "LPAREN" and place.before(2) == "FOR":
        return _over(place.text(1)) if place.text(2) in ("of", "in") else "write `for i in 0..n { … }`"
    if kind == "EQ" and place.before(2) == "LPAREN" and place.before(3) == "FOR":
        return "write `for i in 0..n { … }`"
    if kind == "IN" and place.before(2) == "LPAREN" and place.before(3) == "FOR":
        return f"a `for` has no brackets: {_over(place.word_before()).removeprefix('write ')}"
    if kind == "AWAIT" and place.before(1) == "FOR":
        return f"a `for` waits for the items of a stream by itself: {_over('x').removeprefix('write ')}"
    if kind == "IDENT" and place.text() == "of" and "IN" in expected:
        return _over(place.word_before() or "x")
    return None


def _over(name: str) -> str:
    return f"write `for {name} in xs {{ … }}`"


def of_a_declaration(place: ErrorPlace, expected: set[str]) -> str | None:
    """`model M = …` and a field of a tool without its type."""
    if place.kind() != "EQ" or place.before(1) != "IDENT":
        return None
    if "LBRACE" in expected and place.before(2).startswith("K_"):
        return f"leave out the `=`: `{place.text(-2)} {place.word_before()} {{ … }}`"
    if expected == {"COLON"} and place.before(2) != "CONST":
        return f"write `{place.word_before()}: T = …`, with its type for T"
    return None


def of_a_test(place: ErrorPlace, expected: set[str]) -> str | None:
    """`x is None`."""
    if place.kind() != "IDENT" or place.text() != "is" or place.before(1) not in ("IDENT", "RPAREN", "RBRACKET"):
        return None
    negated = place.text(1) == "not"
    return "write `x != nil`, or `x.is_some()` of an Option" if negated else "write `x == nil`, or `x.is_none()` of an Option"
