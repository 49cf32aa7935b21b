"""Whether patterns cover a type, and which arms of a match nothing can reach (L-5.8.12).

Hands on `check_arms` to `control`, for all arms of a `match` (E3001, W0004), `uncovered_value` to `patterns`, for the one pattern
of a `let`, `for` or closure parameter, and MOST_STEPS to `program`. What a single pattern asks of a value is read by
`constructors`; types were checked before, by `patterns`. Reports go to `c`, the state of the check, which also keeps the steps
that are left; the tree is not changed. How long a question may take is said by the constants below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..syntax import ast
from ..types import (
    Type,
)
from .constructors import WILD, Head, Heads, Reading, alternatives, covers, is_loose
from .state import Checker

# The matrix algorithm of Maranget ("Warnings for pattern matching"): rows of patterns are specialised by the constructors of
# their first column, column by column. That may take exponentially many steps (G-5.9), so the steps are counted, and
# `TooInvolved` ends a question that takes too many. Nothing recurses: a row may have as many columns as a tuple has parts.

# Rows visited, columns made and pairs of heads compared for one question, beside STEPS_PER_CHARACTER for each character of its
# patterns.
MOST_STEPS = 40_000
STEPS_PER_CHARACTER = 4
STEPS_TO_NAME_ARMS = 20_000  # of a match, to find after which arm nothing was left for another
CASES_SHOWN = 20  # values that a message names
ARMS_SHOWN = 5  # arms that a help writes
CHARACTERS_SHOWN = 400  # of one value in a message


class TooInvolved(Exception):
    """The patterns overlap in more ways than a question may take steps to visit."""


class Columns(NamedTuple):
    """The patterns of a row that are still to be compared: a linked list, whose ends rows share. `matches_all`: they match
    everything."""

    first: ast.Pattern
    rest: Columns | None
    matches_all: bool


class Types(NamedTuple):
    """The types of the columns, a linked list."""

    first: Type
    rest: Types | None


class Row(NamedTuple):
    """A row of the matrix, from the arm with this number. `covers`: the arm has no guard, so that what it matches is left for
    no later one. `queried`: the question is whether anything is left for this row."""

    arm: int
    columns: Columns | None
    covers: bool
    queried: bool

    @property
    def matches_all(self) -> bool:
        """Return whether the row matches everything that is left."""
        return self.columns is None or self.columns.matches_all


class Way(NamedTuple):
    """How a set of values was reached: the constructor chosen for a column (None: any), and those chosen before it. `blank`:
    the parts of the constructor have no columns of their own, they may be any."""

    head: Head | None
    blank: bool
    before: Way | None


Rows = list[Row]


class Group(NamedTuple):
    """The rows that matter for the values of one constructor, without their first column. `listed`: it is in the list of
    constructors that the type has, so that it counts for covering the type."""

    head: Head
    listed: bool
    rows: Rows


class Search:
    """Questions about rows of patterns over one type; together they may take `steps` steps."""

    __slots__ = ("reading", "type", "steps")

    def __init__(self, reading: Reading, type_: Type, steps: int) -> None:
        self.reading = reading
        self.type = type_
        self.steps = steps

    def spend(self, steps: int) -> None:
        """Count steps; raise TooInvolved when none are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooInvolved

    # What is not covered.

    def missing(self, rows: Rows) -> list[str]:
        """Return values, as text, that no row matches: one of each constructor of the type that is not covered, at most
        CASES_SHOWN and one more; of a type without a list of constructors, as Int, at most one. Raise TooInvolved."""
        # Asked for each constructor by itself, so that the message names one value of each.
        heads = self.reading.heads(self.type)
        if heads is None:
            case = self._uncovered(rows, Types(self.type, None), None)
            return [] if case is None else [case]
        groups, others = self._grouped(self._flat(rows), self.type, heads, every=False)
        cases: list[str] = []
        for head in heads.all:
            left = groups[head.name].rows if head.name in groups else others
            case = None if left is others and others else self._uncovered(left, _typed(head, None), Way(head, False, None))
            cases += [] if case is None else [case]
            if len(cases) > CASES_SHOWN:
                break
        return cases

    def _uncovered(self, rows: Rows, types: Types | None, way: Way | None) -> str | None:
        """Return values that no row matches, as text: the first that the search meets; None if the rows match all."""
        waiting: list[tuple[Rows, Types | None, Way | None]] = [(rows, types, way)]
        known: dict[object, Rows] = {}
        while waiting:
            rows, types, way = waiting.pop()
            self.spend(1 + len(rows))
            # All values of this way are covered.
            if any(row.matches_all for row in rows):
                continue
            if not rows or types is None:
                if types is None or self._has_values(types.first):
                    return _spelled(way, types)
                continue
            state = _state(rows)
            if state not in known:
                known[state] = rows
                waiting.extend(reversed(list(self._ways(self._flat(rows), types, way))))
        return None

    def _has_values(self, type_: Type) -> bool:
        """Return whether the type has values: an enum without variants has none, so that nothing needs to match it."""
        heads = self.reading.heads(type_)
        return heads is None or bool(heads.all)

    def _ways(self, rows: Rows, types: Types, way: Way | None) -> Iterator[tuple[Rows, Types | None, Way | None]]:
        """Yield what is left to be covered, one entry for each constructor that a row asks for in the first column,
        and one for all others."""
        heads = self.reading.heads(types.first)
        groups, others = self._grouped(rows, types.first, heads, every=False)
        if heads is None or not groups:
            yield others, types.rest, Way(None, False, way)
            return
        rest = True  # constructors that no row asks for are left to the same rows
        for head in heads.all:
            if head.name in groups:
                yield groups[head.name].rows, _typed(head, types.rest), Way(head, False, way)
            elif rest and others:
                yield others, types.rest, Way(head, True, way)
                rest = False
            elif rest:
                below = _typed(head, types.rest)
                if below is None or self._has_values(below.first):
                    yield [], below, Way(head, False, way)
                    rest = False

    # Which rows can match nothing.

    def covering(self, rows: Rows) -> dict[int, int]:
        """Return the queried arms that can match nothing, each with an arm after which nothing was left for it. Raise
        TooInvolved."""
        queried = {row.arm for row in rows if row.queried}
        covering: dict[int, int] = {}
        useful: set[int] = set()
        waiting: list[tuple[Rows, Types | None]] = [(rows, Types(self.type, None))]
        known: dict[object, Rows] = {}
        while waiting and len(useful) < len(queried):
            rows, types = waiting.pop()
            self.spend(1 + len(rows))
            rows = _undecided(rows, useful, covering)
            state = _state(rows)
            if not rows or types is None or state in known:
                continue
            known[state] = rows
            heads = self.reading.heads(types.first)
            groups, others = self._grouped(self._flat(rows), types.first, heads, every=True)
            # Constructors without a row of their own are left to the rows that match all.
            if heads is None or sum([group.listed for group in groups.values()]) < len(heads.all):
                waiting.append((others, types.rest))
            waiting.extend([(group.rows, _typed(group.head, types.rest)) for group in groups.values()])
        return {arm: covering[arm] for arm in sorted(queried - useful) if arm in covering}

    # Rows.

    def _flat(self, rows: Rows) -> Rows:
        """Return the rows, with one for each alternative of their first pattern `a | b`."""
        flat: Rows = []
        for row in rows:
            assert row.columns is not None
            first, rest, _ = row.columns
            if not isinstance(first, (ast.OrPattern, ast.BindPattern)):
                flat.append(row)
                continue
            for option in alternatives(first):
                columns = self._columns((option,), rest)
                flat.append(Row(row.arm, columns, row.covers, row.queried))
        return flat

    def _grouped(self, rows: Rows, type_: Type, heads: Heads | None, *, every: bool) -> tuple[dict[object, Group], Rows]:
        """Return the rows that matter for each constructor that some row names, and those that matter for all others, without
        their first column. `every`: also rows that cover no constructor in full, of arrays and of constructors that the type
        does not list."""
        groups: dict[object, Group] = {}
        others: Rows = []
        loose: list[tuple[object, Row]] = []
        for row in rows:
            assert row.columns is not None
            first, rest, _ = row.columns
            if self.reading.matches_all(first):
                shorter = Row(row.arm, rest, row.covers, row.queried)
                others.append(shorter)
                for group in groups.values():
                    self._add(group, shorter)
                continue
            head = self.reading.head_of(first, type_)
            if head is None:  # an array: no other pattern is equal to it
                if every:
                    others.append(Row(row.arm, rest, False, row.queried))
                continue
            listed = heads is not None and head.name in heads.by_name
            if not listed and not every:
                continue
            if head.name not in groups:
                groups[head.name] = self._group(head, listed, others, loose)
            group = groups[head.name]
            # It stands in the group, but covers nothing there.
            narrow = self.reading.is_narrow(first, head)
            columns = self._columns((WILD,) * len(head.parts) if narrow else self.reading.parts(first, head), rest)
            group.rows.append(Row(row.arm, columns, row.covers and not narrow, row.queried))
            if row.covers and not narrow and is_loose(head.name):
                shorter = Row(row.arm, rest, True, False)
                loose.append((head.name, shorter))
                for name, other in groups.items():
                    if other is not group and covers(head.name, name):
                        self._add(other, shorter)
                self.spend(len(groups))
        return groups, others

    def _group(self, head: Head, listed: bool, others: Rows, loose: list[tuple[object, Row]]) -> Group:
        """Return a new group, with the earlier rows that do not name `head` and match values of it all the same."""
        group = Group(head, listed, [])
        before = [*others, *(row for name, row in loose if covers(name, head.name))]
        for row in sorted(before, key=lambda row: row.arm) if loose else before:
            self._add(group, row)
        self.spend(len(loose))
        return group

    def _add(self, group: Group, row: Row) -> None:
        """Add a row that matches every value of the constructor."""
        queried = row.queried and group.listed
        if row.covers or queried:
            columns = self._columns((WILD,) * len(group.head.parts), row.columns)
            group.rows.append(Row(row.arm, columns, row.covers, queried))
        self.spend(1)

    def _columns(self, patterns: Sequence[ast.Pattern], rest: Columns | None) -> Columns | None:
        """Return `rest` with these patterns before it."""
        self.spend(len(patterns))
        for pattern in reversed(patterns):
            rest = Columns(pattern, rest, (rest is None or rest.matches_all) and self.reading.matches_all(pattern))
        return rest

    def row(self, arm: int, pattern: ast.Pattern, *, covers: bool = True, queried: bool = True) -> Row:
        """Return the row of an arm of one pattern. Raise TooInvolved."""
        return Row(arm, self._columns((pattern,), None), covers, queried)


def _state(rows: Rows) -> object:
    """Return what tells a point of a search from others: rows with the same remaining columns share one list. Whoever keeps it
    keeps the rows too: the id of a list that is gone may become that of another."""
    return tuple([(row.arm, row.covers, row.queried, id(row.columns)) for row in rows])


def _typed(head: Head, rest: Types | None) -> Types | None:
    for part in reversed(head.parts):
        rest = Types(part, rest)
    return rest


def _spelled(way: Way | None, types: Types | None) -> str:
    """Return the values of a way as text, as `Some(_)`."""
    texts: list[str] = []  # of the columns, the first one last
    while types is not None:
        texts.append("_")
        types = types.rest
    texts.reverse()
    while way is not None:
        if way.head is None:
            texts.append("_")
        else:
            count = len(way.head.parts)
            inside = ["_"] * count if way.blank else [texts.pop() for _ in range(count)]
            texts.append(_filled(way.head.template, inside))
        way = way.before
    return texts[-1]


def _filled(template: str, parts: list[str]) -> str:
    if not parts:
        return template
    pieces = template.split("{}")
    text = pieces[0] + "".join([part + piece for part, piece in zip(parts, pieces[1:], strict=True)])
    return text if len(text) <= CHARACTERS_SHOWN else f"{text[:CHARACTERS_SHOWN]}…"


def _undecided(rows: Rows, useful: set[int], covering: dict[int, int]) -> Rows:
    """Return the rows that still decide what is left for others, after adding those that are decided to `useful` or `covering`.

    A queried row that comes first can match; one behind a row that matches everything cannot. Rows behind the last undecided one
    decide nothing and are dropped.
    """
    undecided: Rows = []
    last_queried = 0
    first: Row | None = None
    everything: Row | None = None
    for row in rows:
        if everything is not None:
            if row.queried and row.arm != everything.arm:
                covering[row.arm] = max(covering.get(row.arm, 0), everything.arm)
            continue
        if row.queried and row.arm not in useful:
            if first is None or first.arm == row.arm:
                useful.add(row.arm)
            else:
                undecided.append(row)
                last_queried = len(undecided)
                everything = row if row.covers and row.matches_all else None
                continue
        if row.covers:
            first = first or row
            undecided.append(row)
            everything = row if row.matches_all else None
    return undecided[:last_queried]


# Questions.


def _steps(patterns: Sequence[ast.Pattern], left: int) -> int:
    """Return how many steps a question about these patterns may take: some for each character, and at most those that the
    questions before it have left of the program's."""
    return min(MOST_STEPS, left) + STEPS_PER_CHARACTER * sum([p.span.end - p.span.start + 4 for p in patterns])


def _after(left: int, steps: int, search: Search) -> int:
    """Return what is left of the program's steps after a search that might take `steps`."""
    return left - min(left, steps - max(search.steps, 0), MOST_STEPS)


def uncovered_value(c: Checker, pattern: ast.Pattern, type_: Type, *, wraps: bool) -> str | None:
    """Return a value of the type, as text, that the pattern does not match; None if it matches all, and after a report that the
    question takes too many steps (E0114); those it takes are subtracted from `c.match_steps`. Array patterns count as matching
    every length, if their items match all: a wrong length panics (L-5.8.11). `wraps`: a `Some(…)` in the pattern stands on a
    `T?`."""
    steps = _steps([pattern], c.match_steps)
    search = Search(Reading(c, arrays_match=True, wraps=wraps), type_, steps)
    try:
        cases = search.missing([search.row(0, pattern)])
    except TooInvolved:
        report_too_involved(c, pattern)
        return None
    finally:
        c.match_steps = _after(c.match_steps, steps, search)
    return cases[0] if cases else None


def report_too_involved(c: Checker, node: ast.Node) -> None:
    """Report patterns whose question was given up (E0114)."""
    c.report(
        "E0114", node.span, "the patterns overlap in too many ways to tell whether they cover every value",
        help="match fewer values at once: an inner `match` for a part of them, or an arm `_`",
    )


def check_arms(c: Checker, node: ast.Match, subject: Type, *, wraps: bool) -> None:
    """Report values that no unguarded arm matches (E3001), and arms that can match nothing, as earlier ones match all (W0004).
    E0114 where the first question takes too many steps; where the second does, W0004 is left out. What they take is subtracted
    from `c.match_steps` and `c.arm_steps`. `subject` is the type of the value; `wraps`: a `Some(…)` in the patterns stands on a
    `T?`."""
    reading = Reading(c, arrays_match=False, wraps=wraps)
    patterns = [arm.pattern for arm in node.arms]
    steps = _steps(patterns, c.match_steps)
    search = Search(reading, subject, steps)
    try:
        cover = [search.row(number, arm.pattern) for number, arm in enumerate(node.arms) if arm.guard is None]
        missing = search.missing(cover)
    except TooInvolved:
        report_too_involved(c, node.subject)
        missing = []
    c.match_steps = _after(c.match_steps, steps, search)
    if missing:
        listed = ", ".join(f"`{case}`" for case in missing[:CASES_SHOWN])
        more = ", …" if len(missing) > CASES_SHOWN else ""
        c.report("E3001", node.subject.span, f"the match does not cover {listed}{more}", help=_missing_help(missing))
    # A new search with steps of its own: a warning must not cost the error.
    steps = _steps(patterns, c.arm_steps)
    search = Search(reading, subject, steps)
    with suppress(TooInvolved):  # then W0004 is left out: the arms are right, if perhaps useless
        for arm, covering in _covered(search, node):
            c.report(
                "W0004", arm.pattern.span, f"this arm can never match: {c.text(covering.pattern)} covers it",
                first=covering.pattern.span, note="covered by this one", help="remove it, or move it before the other",
            )  # fmt: skip
    c.arm_steps = _after(c.arm_steps, steps, search)


def _missing_help(missing: list[str]) -> str:
    """Return the help: the missing arms as they may be written."""
    named = [f"`{case} => …`" for case in missing[:ARMS_SHOWN] if case not in ("_", "…")]
    if not named:
        return "add an arm `_ => …`"
    more = ", …" if len(missing) > ARMS_SHOWN else ""
    return f"add {'an arm' if len(named) == 1 else 'the arms'} {', '.join(named)}{more} or `_ => …`"


def _covered(search: Search, node: ast.Match) -> Iterator[tuple[ast.MatchArm, ast.MatchArm]]:
    """Yield the arms that can never match, each with the first arm after which nothing was left for it, or a later one where
    finding it takes too many steps. Raise TooInvolved."""
    rows = [search.row(number, arm.pattern, covers=arm.guard is None) for number, arm in enumerate(node.arms)]
    before = search.steps
    for number, last in search.covering(rows).items():
        first = last
        if before - search.steps < STEPS_TO_NAME_ARMS:
            first = _first_covering(search, rows, number, last)
        yield node.arms[number], node.arms[first]


def _first_covering(search: Search, rows: Rows, number: int, last: int) -> int:
    """Return the first arm up to which the arms leave nothing for arm `number`, by bisection; `last` is such an arm."""
    # Only arms without guard cover anything, so the answer is one of them.
    places = [row.arm for row in rows[: last + 1] if row.covers]
    low, high = 0, len(places) - 1
    while low < high:
        middle = (low + high) // 2
        earlier = [row._replace(queried=False) for row in rows[: places[middle] + 1] if row.covers]
        if number in search.covering([*earlier, rows[number]]):
            high = middle
        else:
            low = middle + 1
    return places[low]
