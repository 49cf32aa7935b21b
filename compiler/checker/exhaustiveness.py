"""Whether patterns cover a type, and which arms nothing can reach (L-5.8.12, W0004).

Rows of patterns are told apart by the constructors of their first column, over and over. That may take exponentially many steps
(G-5.9), so the steps are counted, and `TooInvolved` ends a question that takes too many. Nothing recurses: a row may have
as many columns as a tuple has parts. Hands on `uncovered` and `check_arms`. Must not know: how patterns are typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from .. import ast
from ..types import Type
from .constructors import WILD, Head, Heads, Reading, alternatives, covers, is_loose
from .context import Checker

MOST_STEPS = 40_000  # rows looked at for one question, beside PER_LETTER for each letter of its patterns
PER_LETTER = 4
TO_NAME_ARMS = 20_000  # of a match, to tell after which arm nothing was left for another
CASES_SHOWN = 20
ARMS_SHOWN = 5
LETTERS_SHOWN = 400


class TooInvolved(Exception):
    """The patterns overlap in more ways than are looked at."""


class Columns(NamedTuple):
    """The patterns of a row that are still to be looked at, a list whose ends rows share; `matches_all`: they ask nothing."""

    first: ast.Pattern
    rest: Columns | None
    matches_all: bool


class Types(NamedTuple):
    """The types of the columns."""

    first: Type
    rest: Types | None


class Row(NamedTuple):
    """`covers`: the arm has no guard, so that what it matches is left for no later one. `asked`: whether something is left for
    the row is to be told."""

    arm: int
    columns: Columns | None
    covers: bool
    asked: bool

    @property
    def matches_all(self) -> bool:
        return self.columns is None or self.columns.matches_all


class Way(NamedTuple):
    """How a set of values was reached: the constructor of a column (None: any), and of those before it. `blank`: the parts of the
    constructor have no columns of their own, they may be any."""

    head: Head | None
    blank: bool
    before: Way | None


Rows = list[Row]


class Group(NamedTuple):
    """What rows ask of the values of one constructor. `listed`: the type has it in its list, so that it counts."""

    head: Head
    listed: bool
    rows: Rows


class Search:
    """Questions about rows of patterns over one type; together they take at most `steps`."""

    __slots__ = ("reading", "type", "steps")

    def __init__(self, reading: Reading, type_: Type, steps: int) -> None:
        self.reading = reading
        self.type = type_
        self.steps = steps

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooInvolved

    # ------------------------------------------------------------ what is not covered

    def missing(self, rows: Rows) -> list[str]:
        """Values, as text, that no row matches: one of each constructor of the type, the first CASES_SHOWN and one more."""
        heads = self.reading.heads(self.type)
        if heads is None:
            found = self._uncovered(rows, Types(self.type, None), None)
            return [] if found is None else [found]
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
        """Values that no row matches, the first that are met."""
        waiting: list[tuple[Rows, Types | None, Way | None]] = [(rows, types, way)]
        known: set[object] = set()
        while waiting:
            rows, types, way = waiting.pop()
            self.spend(1 + len(rows))
            if any(row.matches_all for row in rows):
                continue
            if not rows or types is None:
                if types is None or self._has_values(types.first):
                    return _spelled(way, types)
                continue
            state = _state(rows)
            if state not in known:
                known.add(state)
                waiting.extend(reversed(list(self._ways(self._flat(rows), types, way))))
        return None

    def _has_values(self, type_: Type) -> bool:
        """Nothing needs to match an enum without variants."""
        heads = self.reading.heads(type_)
        return heads is None or bool(heads.all)

    def _ways(self, rows: Rows, types: Types, way: Way | None) -> Iterator[tuple[Rows, Types | None, Way | None]]:
        """What is left to be covered, by the constructors of the first column."""
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

    # ------------------------------------------------------------ which rows are left nothing

    def covering(self, rows: Rows) -> dict[int, int]:
        """The arms that are asked for and left nothing, each with one after which nothing was left."""
        asked = {row.arm for row in rows if row.asked}
        covering: dict[int, int] = {}
        useful: set[int] = set()
        waiting: list[tuple[Rows, Types | None]] = [(rows, Types(self.type, None))]
        known: set[object] = set()
        while waiting and len(useful) < len(asked):
            rows, types = waiting.pop()
            self.spend(1 + len(rows))
            rows = _undecided(rows, useful, covering)
            state = _state(rows)
            if not rows or types is None or state in known:
                continue
            known.add(state)
            heads = self.reading.heads(types.first)
            groups, others = self._grouped(self._flat(rows), types.first, heads, every=True)
            if heads is None or sum([group.listed for group in groups.values()]) < len(heads.all):
                waiting.append((others, types.rest))
            waiting.extend([(group.rows, _typed(group.head, types.rest)) for group in groups.values()])
        return {arm: covering[arm] for arm in sorted(asked - useful) if arm in covering}

    # ------------------------------------------------------------ rows

    def _flat(self, rows: Rows) -> Rows:
        """The rows with one for each alternative of their first pattern."""
        flat: Rows = []
        for row in rows:
            assert row.columns is not None
            first, rest, _ = row.columns
            if not isinstance(first, (ast.OrPattern, ast.BindPattern)):
                flat.append(row)
                continue
            for option in alternatives(first):
                columns = self._columns((option,), rest)
                flat.append(Row(row.arm, columns, row.covers, row.asked))
        return flat

    def _grouped(self, rows: Rows, type_: Type, heads: Heads | None, *, every: bool) -> tuple[dict[object, Group], Rows]:
        """The rows that matter for each constructor that some row asks for, and those that matter for all others, without their
        first column. `every`: also for what covers nothing in full: constructors that the type does not list, arrays."""
        groups: dict[object, Group] = {}
        others: Rows = []
        loose: list[tuple[object, Row]] = []
        for row in rows:
            assert row.columns is not None
            first, rest, _ = row.columns
            if self.reading.matches_all(first):
                shorter = Row(row.arm, rest, row.covers, row.asked)
                others.append(shorter)
                for group in groups.values():
                    self._add(group, shorter)
                continue
            head = self.reading.head_of(first, type_)
            if head is None:  # an array: no other pattern is equal to it
                if every:
                    others.append(Row(row.arm, rest, False, row.asked))
                continue
            listed = heads is not None and head.name in heads.by_name
            if not listed and not every:
                continue
            if head.name not in groups:
                groups[head.name] = self._group(head, listed, others, loose)
            group = groups[head.name]
            narrow = self.reading.is_narrow(first)
            columns = self._columns((WILD,) * len(head.parts) if narrow else self.reading.parts(first, head), rest)
            group.rows.append(Row(row.arm, columns, row.covers and not narrow, row.asked))
            if row.covers and not narrow and is_loose(head.name):
                shorter = Row(row.arm, rest, True, False)
                loose.append((head.name, shorter))
                for name, other in groups.items():
                    if other is not group and covers(head.name, name):
                        self._add(other, shorter)
                self.spend(len(groups))
        return groups, others

    def _group(self, head: Head, listed: bool, others: Rows, loose: list[tuple[object, Row]]) -> Group:
        """A new group, with the rows before that do not ask for `head` and match values of it all the same."""
        group = Group(head, listed, [])
        before = [*others, *(row for name, row in loose if covers(name, head.name))]
        for row in sorted(before, key=lambda row: row.arm) if loose else before:
            self._add(group, row)
        self.spend(len(loose))
        return group

    def _add(self, group: Group, row: Row) -> None:
        """A row that matches every value of the constructor."""
        asked = row.asked and group.listed
        if row.covers or asked:
            columns = self._columns((WILD,) * len(group.head.parts), row.columns)
            group.rows.append(Row(row.arm, columns, row.covers, asked))
        self.spend(1)

    def _columns(self, patterns: Sequence[ast.Pattern], rest: Columns | None) -> Columns | None:
        """`rest` with these before it."""
        self.spend(len(patterns))
        for pattern in reversed(patterns):
            rest = Columns(pattern, rest, (rest is None or rest.matches_all) and self.reading.matches_all(pattern))
        return rest

    def row(self, arm: int, pattern: ast.Pattern, *, covers: bool = True, asked: bool = True) -> Row:
        return Row(arm, self._columns((pattern,), None), covers, asked)


def _state(rows: Rows) -> object:
    """What tells a point of a search from others: rows share what is left of them."""
    return tuple([(row.arm, row.covers, row.asked, id(row.columns)) for row in rows])


def _typed(head: Head, rest: Types | None) -> Types | None:
    for part in reversed(head.parts):
        rest = Types(part, rest)
    return rest


def _spelled(way: Way | None, types: Types | None) -> str:
    """The values of a way as text."""
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
            texts.append(_filled(way.head.shown, inside))
        way = way.before
    return texts[-1]


def _filled(shown: str, parts: list[str]) -> str:
    if not parts:
        return shown
    pieces = shown.split("{}")
    text = pieces[0] + "".join([part + piece for part, piece in zip(parts, pieces[1:], strict=True)])
    return text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}…"


def _undecided(rows: Rows, useful: set[int], covering: dict[int, int]) -> Rows:
    """The rows that decide what is left for others, after noting those of which it is known."""
    kept: Rows = []
    wanted = 0
    first: Row | None = None
    everything: Row | None = None
    for row in rows:
        if everything is not None:
            if row.asked and row.arm != everything.arm:
                covering[row.arm] = max(covering.get(row.arm, 0), everything.arm)
            continue
        if row.asked and row.arm not in useful:
            if first is None or first.arm == row.arm:
                useful.add(row.arm)
            else:
                kept.append(row)
                wanted = len(kept)
                everything = row if row.covers and row.matches_all else None
                continue
        if row.covers:
            first = first or row
            kept.append(row)
            everything = row if row.matches_all else None
    return kept[:wanted]


# ---------------------------------------------------------------- questions


def _steps(c: Checker, patterns: Sequence[ast.Pattern]) -> int:
    """How many steps a question about these patterns may take; all of a program share those it takes beyond its length."""
    return min(MOST_STEPS, c.match_steps) + PER_LETTER * sum([p.span.end - p.span.start + 4 for p in patterns])


def uncovered(c: Checker, pattern: ast.Pattern, type_: Type) -> str | None:
    """A value of the type, as text, that the pattern does not match; arrays count as matched."""
    search = Search(Reading(c, arrays_match=True), type_, _steps(c, [pattern]))
    try:
        cases = search.missing([search.row(0, pattern)])
    except TooInvolved:
        too_involved(c, pattern)
        return None
    return cases[0] if cases else None


def too_involved(c: Checker, node: ast.Node) -> None:
    c.report(
        "E0114", node.span, "the patterns overlap in too many ways to tell whether they cover every value",
        help="match fewer values at once: an inner `match` for a part of them, or an arm `_`",
    )


def check_arms(c: Checker, node: ast.Match, subject: Type) -> None:
    """E3001 for what no unguarded arm matches, W0004 for arms that earlier ones leave nothing to."""
    reading = Reading(c, arrays_match=False)
    patterns = [arm.pattern for arm in node.arms]
    steps = _steps(c, patterns)
    search = Search(reading, subject, steps)
    try:
        cover = [search.row(number, arm.pattern) for number, arm in enumerate(node.arms) if arm.guard is None]
        missing = search.missing(cover)
    except TooInvolved:
        too_involved(c, node.subject)
        missing = []
    c.match_steps -= min(c.match_steps, steps - max(search.steps, 0), MOST_STEPS)
    if missing:
        listed = ", ".join(f"`{case}`" for case in missing[:CASES_SHOWN])
        more = ", …" if len(missing) > CASES_SHOWN else ""
        c.report("E3001", node.subject.span, f"the match does not cover {listed}{more}", help=_missing_help(missing))
    search = Search(reading, subject, _steps(c, patterns))
    with suppress(TooInvolved):  # nothing is said then: the arms are right, if perhaps in vain
        for arm, covering in _covered(search, node):
            c.report(
                "W0004", arm.pattern.span, f"this arm can never match: {c.text(covering.pattern)} covers it",
                first=covering.pattern.span, note="covered by this one", help="remove it, or move it before the other",
            )  # fmt: skip


def _missing_help(missing: list[str]) -> str:
    """The arms that are missing, as they may be written."""
    named = [f"`{case} => …`" for case in missing[:ARMS_SHOWN] if case not in ("_", "…")]
    if not named:
        return "add an arm `_ => …`"
    more = ", …" if len(missing) > ARMS_SHOWN else ""
    return f"add {'an arm' if len(named) == 1 else 'the arms'} {', '.join(named)}{more} or `_ => …`"


def _covered(search: Search, node: ast.Match) -> Iterator[tuple[ast.MatchArm, ast.MatchArm]]:
    """The arms that can never match, each with the first after which nothing was left for it."""
    rows = [search.row(number, arm.pattern, covers=arm.guard is None) for number, arm in enumerate(node.arms)]
    before = search.steps
    for number, last in search.covering(rows).items():
        first = last
        if before - search.steps < TO_NAME_ARMS:
            first = _first_covering(search, rows, number, last)
        yield node.arms[number], node.arms[first]


def _first_covering(search: Search, rows: Rows, number: int, last: int) -> int:
    """The arm up to which those before `number` leave nothing for it; `last` is one."""
    places = [row.arm for row in rows[: last + 1] if row.covers]
    low, high = 0, len(places) - 1
    while low < high:
        middle = (low + high) // 2
        some = [row._replace(asked=False) for row in rows[: places[middle] + 1] if row.covers]
        if number in search.covering([*some, rows[number]]):
            high = middle
        else:
            low = middle + 1
    return places[low]
