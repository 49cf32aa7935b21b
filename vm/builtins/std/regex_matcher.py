"""Patterns ready for use: search, in time linear in the text where the pattern allows it (G-9.5).

Hands on `compile_pattern` and `Regex`. The automaton finds where a match stands; the backtracker then finds its groups
between the two ends. Patterns with lookaround or back references go to the backtracker alone, under its budget.
"""

from __future__ import annotations

from ...values.metering import STRIDE, look
from .regex_automaton import Automaton
from .regex_backtracker import Backtracker
from .regex_program import compile_backward, compile_forward
from .regex_syntax import parse_pattern
from .regex_text import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_REMEMBERED = 64
# How many times over the automaton may read a text for all matches, before the memory of failures takes over.
MOST_READINGS = 8
LEAST_WORK = 4096
# The step budget of patterns with lookaround or back references (G-9.5).
LEAST_STEPS = 100_000
STEPS_PER_CHARACTER = 16

_remembered: dict[str, Regex] = {}


def compile_pattern(source: str) -> Regex:
    """PatternError for text that is no pattern; recent patterns are remembered."""
    regex = _remembered.pop(source, None) or Regex(source)
    _remembered[source] = regex
    if len(_remembered) > MOST_REMEMBERED:
        del _remembered[next(iter(_remembered))]
    return regex


class Regex:
    """A compiled pattern. A match is its list of slots: start, end, then start and end of each group."""

    __slots__ = ("groups", "names", "program", "forward", "backward", "first")

    def __init__(self, source: str) -> None:
        pattern = parse_pattern(source)
        self.groups = pattern.groups
        self.names = pattern.names
        self.program = compile_forward(pattern.tree)
        self.first = self.program.first_tests()
        if self.program.linear:
            self.forward = Automaton(self.program)
            self.backward = Automaton(compile_backward(pattern.tree), backward=True)

    def is_match(self, text: str) -> bool:
        if self.program.linear:
            return self.forward.finds(self.subject(text))
        return self.find(text) is not None

    def find(self, text: str) -> list[int] | None:
        """The first match."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[list[int]]:
        """The matches from left to right, not overlapping; behind an empty one the search begins a character later."""
        search = Linear(self, text) if self.program.linear else Budgeted(self, text)
        at = 0
        while at <= len(text):
            found = search.next(at)
            if found is None:
                return
            yield found
            at = found[1] + (found[0] == found[1])

    def subject(self, text: str) -> Subject:
        return Subject(text, self.program.final)

    def slots(self) -> list[int]:
        return [-1] * (2 * self.groups + 2)

    def may_begin(self, sign: str) -> bool:
        return self.first is None or any(test == sign if type(test) is str else test.has(sign) for test in self.first)


class Budgeted:
    """The search of the backtracker: each start in turn. What it may spend grows with the characters behind it, so a
    long text is no reason to fail, but one place is. With `memory`, failures are remembered from one start to the next
    instead."""

    __slots__ = ("regex", "text", "furthest", "backtracker")

    def __init__(self, regex: Regex, text: str, memory: bool = False) -> None:
        self.regex = regex
        self.text = text
        self.furthest = 0
        self.backtracker = Backtracker(regex.program, regex.subject(text), regex.slots(), memory, LEAST_STEPS)

    def next(self, at: int) -> list[int] | None:
        text = self.text
        for start in range(at, len(text) + 1):
            if start % STRIDE == 0:
                look()
            self.backtracker.steps += STEPS_PER_CHARACTER * (start - self.furthest)
            self.furthest = start
            if self.regex.first is not None and (start == len(text) or not self.regex.may_begin(text[start])):
                continue
            if self.backtracker.match_at(start) >= 0:
                return self.backtracker.slots.copy()
        return None


class Linear:
    """The search of the automaton. A text on which each match needs a look far ahead would be read over and over; when
    that shows, a search that remembers its failures takes over."""

    __slots__ = ("regex", "subject", "work", "other")

    def __init__(self, regex: Regex, text: str) -> None:
        self.regex = regex
        self.subject = regex.subject(text)
        self.work = 0
        self.other: Budgeted | None = None

    def next(self, at: int) -> list[int] | None:
        if self.other is None and self.work > LEAST_WORK + MOST_READINGS * len(self.subject.text):
            self.other = Budgeted(self.regex, self.subject.text, memory=True)
        if self.other is not None:
            return self.other.next(at)
        forward = self.regex.forward
        end = forward.end_of_first(self.subject, at)
        if end < 0:
            return None
        start = self.regex.backward.start_of(self.subject, end, at)
        self.work += forward.read_to - start
        return self.with_groups(start, end) if self.regex.groups else [start, end]

    def with_groups(self, start: int, end: int) -> list[int]:
        """The groups of the match from `start` to `end`: no better walk leads beyond its end, so none need look there."""
        inner = Backtracker(self.regex.program, self.subject, self.regex.slots(), memory=True)
        inner.limit = end
        found = inner.match_at(start)
        assert found == end
        return inner.slots
