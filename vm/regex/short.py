"""Short texts, searched by Python's `re`, where that surely finds the same matches in few steps (L-7.10, G-9.5).

Hands on `ShortTexts`, and `Unfit`, which its constructor raises, to `matcher.py`: one for a pattern of characters, sets,
assertions, groups, repetitions of one character or set, and alternatives without groups. In such a pattern both matchers try the
same choices in the same order, no repetition contains another, and each group takes part in every match. What a search may cost
is reckoned before: a repetition whose characters cannot begin what follows it never has to give one back with success, so only
the others multiply the steps. Where the text is too long, or the sum too large, the matchers of `matcher.py` are asked, whose
time is linear. Sets without regard to case, `\\S` and `\\B` are left to them too, since Python means something else by them, and
so are long sets.
"""

from __future__ import annotations

from ..values.arithmetic import WHITE_SPACE
from .syntax import CharSet, is_blank, is_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .syntax import Node

LONGEST = 512  # characters of a text, and of a set as `re` has it
MOST_STEPS = 100_000  # of one search: a millisecond or less
MOST_NODES = 100  # parts of a pattern
ROUNDED = 16  # the cost is reckoned for lengths that are multiples of this
ASSERTIONS = {
    "start": r"\A", "end": r"\Z", "final end": "$", "line start": "(?m:^)", "line end": "(?m:$)", "word": r"\b",
}  # fmt: skip


class Unfit(Exception):
    """A pattern that is not for Python's `re`."""


class ShortTexts:
    """The search of one pattern. `search` is the method of the compiled pattern; `parts`: the pattern as a list of characters,
    sets, repetitions, assertions and alternatives, without its groups; `first`: the character that each match begins with, ""
    where there is none; `costs`: by length of a text, in rounds, the most steps of a search, with a `first` of one position. The
    constructor raises Unfit."""

    __slots__ = ("search", "parts", "first", "costs")

    def __init__(self, tree: Node) -> None:
        self.parts: list[Node] = []
        source = self._written(tree, self.parts)
        import re

        self.search = re.compile(source).search
        first = self.parts[0] if self.parts else ("empty",)
        self.first = first[1] if first[0] == "char" and type(first[1]) is str else ""
        self.costs: dict[int, int] = {}

    def takes(self, text: str) -> bool:
        """Return whether a search of the text surely takes few steps."""
        rounds = (len(text) + ROUNDED - 1) // ROUNDED
        cost = self.costs.get(rounds)
        if cost is None:
            length = rounds * ROUNDED
            if length > LONGEST:
                return False
            cost = self.costs[rounds] = _cost(self.parts, 0, length) * (1 if self.first else length + 1)
        return (cost * text.count(self.first) if self.first else cost) <= MOST_STEPS

    def texts(self, text: str) -> list[str | None] | None:
        """Return the texts of the first match and of its groups; None when there is none."""
        found = self.search(text)
        return None if found is None else [found[0], *found.groups()]

    def next(self, text: str, at: int) -> list[int] | None:
        """Return the positions of the first match at or after a position, and of its groups; None when there is none."""
        found = self.search(text, at)
        return None if found is None else [position for span in found.regs for position in span]

    # ------------------------------------------------------------ the pattern as Python writes it

    def _written(self, node: Node, parts: list[Node] | None) -> str:
        """Return a node as a pattern of Python, and append what it consists of to `parts`; with None, a group may not be in
        it."""
        word = node[0]
        if word == "empty":
            return ""
        if word == "cat":
            return "".join([self._written(part, parts) for part in node[1]])
        if word == "group" and parts is not None:
            return f"({self._written(node[2], parts)})"
        if parts is not None:
            parts.append(node)
            if len(parts) > MOST_NODES:
                raise Unfit
        if word == "char":
            return _test(node[1])
        if word == "assert" and node[1] in ASSERTIONS:
            return ASSERTIONS[node[1]]
        if word == "repeat" and node[1][0] == "char":
            _, inner, least, most, greedy = node
            return f"{_test(inner[1])}{{{least},{'' if most is None else most}}}{'' if greedy else '?'}"
        if word == "alt" and len(node[1]) <= MOST_NODES:
            return f"(?:{'|'.join([self._written(branch, None) for branch in node[1]])})"
        raise Unfit


def _test(test: Any) -> str:
    """Return a character or set as Python writes it. Raises Unfit."""
    if type(test) is str:
        return _sign(test)
    inside = "".join([_sign(sign) for sign in sorted(test.singles)])
    inside += "".join([f"{_sign(low)}-{_sign(high)}" for low, high in test.ranges])
    for holds, complement in test.classes:
        if holds is is_blank:
            if complement:
                raise Unfit
            inside += "".join([_sign(sign) for sign in WHITE_SPACE])
        else:
            letter = "w" if holds is is_word else "d"
            inside += f"\\{letter.upper() if complement else letter}"
    if test.folds or len(inside) > LONGEST:
        raise Unfit
    if not inside:
        return "(?s:.)" if test.negated else "(?!)"
    return f"[{'^' * test.negated}{inside}]"


def _sign(sign: str) -> str:
    return f"\\{sign}" if sign.isascii() and not sign.isalnum() and sign.isprintable() else sign


# ---------------------------------------------------------------- what a match may cost


def _cost(parts: list[Node], at: int, length: int) -> int:
    """Return the most steps that the parts from `at` on take at one position of a text of so many characters."""
    steps = 1
    for index in reversed(range(at, len(parts))):
        part = parts[index]
        if part[0] == "repeat":
            _, inner, least, most, _ = part
            choices = (length if most is None else min(length, most)) - least + 1
            if choices > 1 and not _is_certain(inner[1], parts, index + 1):
                steps *= choices
            steps += length
        elif part[0] == "alt":
            steps = sum([_alternative_cost(branch, steps, length) for branch in part[1]])
        steps += 1
        if steps > MOST_STEPS:
            return steps
    return steps


def _alternative_cost(branch: Node, behind: int, length: int) -> int:
    """Return the most steps of an alternative and what comes `behind` it, whose cost that is. Its repetitions count as ones that
    may give back."""
    word = branch[0]
    if word == "cat":
        for part in reversed(branch[1]):
            behind = _alternative_cost(part, behind, length)
    elif word == "alt":
        behind = sum([_alternative_cost(part, behind, length) for part in branch[1]])
    elif word == "repeat":
        behind = behind * (length + 1) + length
    return min(behind + 1, MOST_STEPS + 1)


def _is_certain(test: Any, parts: list[Node], at: int) -> bool:
    """Return whether only one number of repetitions of a character or set can be right, as the parts from `at` on, that follow,
    cannot begin with what it takes; so too where nothing follows, which is right at once."""
    for part in parts[at:]:
        if part[0] == "assert":
            return part[1] == "end" or (part[1] == "final end" and not _has(test, "\n"))
        if part[0] not in ("char", "repeat"):
            return False
        following = part[1] if part[0] == "char" else part[1][1]
        if not _is_apart(test, following):
            return False
        if part[0] == "char" or part[2]:
            return True
    return at == len(parts)


def _has(test: Any, sign: str) -> bool:
    return test == sign if type(test) is str else test.has(sign)


def _is_apart(test: Any, other: Any) -> bool:
    """Return whether two characters or sets surely have no character in common."""
    for one, another in ((test, other), (other, test)):
        signs = _signs(one)
        if signs is not None:
            return not any(_has(another, sign) for sign in signs)
    return False


def _signs(test: Any) -> set[str] | None:
    """Return the characters of a set that lists each of them; None for any other."""
    if type(test) is str:
        return {test}
    assert isinstance(test, CharSet)
    return None if test.negated or test.ranges or test.classes else test.singles
