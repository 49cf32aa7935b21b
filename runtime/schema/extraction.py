"""Finds the JSON objects in a reply's text that may be the answer (O-2.40, O-2.54 to O-2.57), in time linear in the text.

The answer is the whole text as JSON; else an object that stands in it, never a part of one that is cut off or damaged. Hands on
`read`, which returns a `Reading`, to `acceptance.py`, where the schema then chooses among the objects, and to
`journal/border.py`; `extract`, which chooses without a schema, is for measurements and tests. Text between bracket pairs is
prose. A pair is read where it begins and passed over as a whole, so a bracket, a fence or a tag in one of its strings means
nothing. How a pair is read, with the liberties that models take, is `lenient_json.py`. `re` is loaded with the first reply that
is not plain JSON.
"""

from __future__ import annotations

from .lenient_json import BYTE_ORDER_MARK, CLOSING, STRINGS, WHITE_SPACE, JsonRefused, LenientReader, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern
    from typing import Any


# To the next brace outside of strings. A pair with no other inside is passed over whole, since half of the braces of a long reply
# are theirs.
_NO_BRACE = r'[^"{}]++|"(?:[^"\\]++|\\.)*+"'
_TO_BRACE = rf"(?:{_NO_BRACE}|\{{(?:{_NO_BRACE})*+\}})*+([{{}}])"
_TO_BRACKET = r'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\]]'
_TO_BRACKET_PAST_ALL_STRINGS = rf"(?:[^\"'“”„‘’{{}}\[\]]++|(?<=\w)['’]|{STRINGS})*+[{{}}\[\]]"
_TO_ANY_BRACKET = r"[^{}\[\]]*+[{}\[\]]"
_OBJECT_BEGINS = r'\{[ \t\r\n]*+["}]'
# Everything up to a comma that has only white space before the next closing bracket, or to the end; and such a comma. Commas in
# strings mean nothing; a string without end goes to the end.
_UP_TO_TRAILING_COMMA = r'((?:[^",]++|"(?:[^"\\]++|\\.?)*+(?:"|\Z)|,(?![ \t\r\n]*+[}\]]))++),?|,'

COST_OF_A_FAILURE = 100  # in characters read
MAX_BRACKETS = 1_000_000  # looked at in what cannot be read; then nothing more is


class Pair:
    """A bracket pair. `end` is the offset in characters behind it, None when it is never closed. `value` is its JSON, None when
    it cannot be read; then `reason` says which bound it breaks, empty when it is the grammar."""

    __slots__ = ("end", "value", "reason")

    def __init__(self, end: int | None, value: Any = None, reason: str = "") -> None:
        self.end = end
        self.value = value
        self.reason = reason


class BracketPairs:
    """The bracket pairs of one text: where each ends, and its JSON (O-2.40, O-2.55).

    They must be asked for from left to right, each behind the one before: then all together take time linear in the text."""

    __slots__ = ("text", "_patterns", "_reader", "_spent", "_brackets")

    def __init__(self, text: str) -> None:
        self.text = text
        self._patterns = _compiled_pairs()
        self._reader = LenientReader(text)
        self._spent = 0  # characters that the quick way has looked at in vain
        self._brackets = 0  # brackets counted in pairs that cannot be read

    def pair(self, start: int) -> Pair:
        """Return the pair whose opening bracket stands at the offset `start`."""
        return self._plain_object(start) or self._any_pair(start)

    def _plain_object(self, start: int) -> Pair | None:
        """The quick way, for JSON whose only fault may be commas before closing brackets. It never reads a pair differently
        from the other way, and is given up when it has cost as much as the text is long: so the time stays linear."""
        if self._spent > len(self.text) or not self._patterns.object_begins.match(self.text, start):
            return None
        end = self._closing_brace(start)
        if end is not None:
            piece = self.text[start:end]
            for attempt in (str, without_trailing_commas):
                try:
                    return Pair(end, parse_json(attempt(piece)))
                except JsonRefused:
                    continue
        self._spent += (end or len(self.text)) - start + COST_OF_A_FAILURE
        return None

    def _closing_brace(self, start: int) -> int | None:
        step = self._patterns.to_brace
        at, depth = start + 1, 1
        while depth:
            mark = step.match(self.text, at)
            if mark is None:
                return None
            depth += 1 if mark.group(1) == "{" else -1
            at = mark.end()
        return at

    def _any_pair(self, start: int) -> Pair:
        rewritten = self._reader.rewritten(start)
        if rewritten.json is None:
            return Pair(self._end_of_unreadable(rewritten.end, rewritten.open))
        try:
            return Pair(rewritten.end, parse_json(rewritten.json))
        except JsonRefused as refused:
            return Pair(rewritten.end, None, "" if refused.reason.startswith("unexpected") else refused.reason)

    def _end_of_unreadable(self, at: int, open_brackets: list[str]) -> int | None:
        """Return where the brackets that are open at `at` are closed, None if nowhere. It is counted without strings, with some
        and with all kinds of them, and the last of the three ends counts: an unreadable pair does not tell which kind it
        has."""
        ends = [self._matching(pattern, at, open_brackets) for pattern in self._patterns.to_bracket]
        return None if None in ends else max(end for end in ends if end is not None)

    def _matching(self, pattern: Pattern[str], at: int, open_brackets: list[str]) -> int | None:
        """Return where the open brackets are closed; None when a bracket is missing or closes one of another kind."""
        still_open = list(open_brackets)
        while still_open:
            mark = pattern.match(self.text, at)
            self._brackets += 1
            if mark is None or self._brackets > MAX_BRACKETS:
                return None
            at = mark.end()
            bracket = self.text[at - 1]
            if bracket in CLOSING:
                still_open.append(bracket)
            elif CLOSING[still_open.pop()] != bracket:
                return None
        return at


def without_trailing_commas(text: str) -> str:
    """Return a text without those commas before `}` or `]` that stand outside of strings."""
    return "".join(_compiled_pairs().trailing_comma.findall(text))


class _PairPatterns:
    __slots__ = ("to_brace", "to_bracket", "object_begins", "trailing_comma")

    def __init__(self) -> None:
        import re

        self.to_brace = re.compile(_TO_BRACE, re.DOTALL)
        patterns = (_TO_ANY_BRACKET, _TO_BRACKET, _TO_BRACKET_PAST_ALL_STRINGS)
        self.to_bracket = [re.compile(pattern, re.DOTALL) for pattern in patterns]
        self.object_begins = re.compile(_OBJECT_BEGINS)
        self.trailing_comma = re.compile(_UP_TO_TRAILING_COMMA, re.DOTALL)


_pair_patterns: _PairPatterns | None = None


def _compiled_pairs() -> _PairPatterns:
    global _pair_patterns
    if _pair_patterns is None:
        _pair_patterns = _PairPatterns()
    return _pair_patterns


if TYPE_CHECKING:
    Object = dict[str, Any]

SPACE = WHITE_SPACE + BYTE_ORDER_MARK
MAX_PAIRS = 1000  # in prose; a reply that has more of them is no reply in prose
QUOTES = "\"'“”’"

# What counts in prose. A lone bracket or tag in back quotes is spoken of, not opened.
_MARK = r"""
    `(?:[{}\[\]]|</?\w++[^<>`\n]{0,100}>)`
  | (?P<bracket>[{}\[\]])
  | <(?P<end>/?)(?P<tag>think|thinking|thought|reasoning)\b[^<>\n]{0,100}>
  | (?P<indent>^[ \t]*+)?(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n`{\[<]*+)
"""
# A member of an object: where this follows a pair, the pair is a member too, of an object that lost its brackets.
_MEMBER = r"""[ \t\r\n]*+,[ \t\r\n]*+(?:"[^"\n]{0,200}+"|'[^'\n]{0,200}+'|[\w$-]{1,200}+)[ \t]*+:"""
# What may stand between the items of a list.
_BETWEEN_ITEMS = r"[\s,;|]*+(?:(?:[-*•]|[0-9]{1,9}+[.)])\s*+)?+"
_END_OF_THINKING = r"</(?P<tag>think|thinking|thought|reasoning)>"


class Extracted:
    """The likeliest object of a text, and whether more was needed than reading the whole text as JSON (`repaired`)."""

    __slots__ = ("value", "repaired")

    def __init__(self, value: Object, repaired: bool) -> None:
        self.value = value
        self.repaired = repaired


class Reading:
    """What a text holds.

    `runs` may be the answer, the likeliest first. A run is a list of objects that nothing but signs of a list separates, seldom
    more than one. `repaired` says that reading the whole text as JSON gave no object. `reason` says why `runs` is empty, and
    means nothing where it is not; `unclosed` that the text ends inside a pair or a thought."""

    __slots__ = ("runs", "repaired", "reason", "unclosed")

    def __init__(self, runs: list[list[Object]], repaired: bool, reason: str = "", unclosed: bool = False) -> None:
        self.runs = runs
        self.repaired = repaired
        self.reason = reason
        self.unclosed = unclosed


def read(text: str) -> Reading:
    """Return the objects that may be the answer in the text of a reply. It raises nothing: without an object `runs` is empty."""
    whole = text.strip(SPACE)
    try:
        value = parse_json(whole)
    except JsonRefused as refused:
        reason = refused.reason
    else:
        if isinstance(value, dict):
            return Reading([[value]], repaired=False)
        inner = _object_in_string(value)
        if inner is not None:
            return Reading([[inner]], repaired=True)
        reason = "the value is not an object"
    prose = _Prose(whole)
    prose.scan()
    if not whole:
        reason = "the text is empty"
    elif whole[0] not in "{[":
        reason = "unexpected end of text" if prose.unclosed else "no JSON object in the text"
    return Reading(prose.runs(), True, prose.reason or reason, prose.unclosed)


def extract(text: str) -> Extracted:
    """Return the likeliest object of a text. Raises JsonRefused, with the most telling reason, when there is none."""
    reading = read(text)
    if not reading.runs:
        raise JsonRefused(reading.reason)
    return Extracted(reading.runs[0][0], reading.repaired)


def _object_in_string(value: Any) -> Object | None:
    """Return the object in a JSON string: some models encode their answer twice."""
    if not isinstance(value, str):
        return None
    try:
        inner = parse_json(value)
    except JsonRefused:
        return None
    return inner if isinstance(inner, dict) else None


class _Candidate:
    __slots__ = ("value", "end", "leads", "run")

    def __init__(self, value: Object, end: int, leads: bool, run: tuple[bool, int]) -> None:
        self.value = value
        self.end = end
        self.leads = leads  # whether the text, or a fenced block, begins with it
        self.run = run  # False when its run begins a fenced block, and the number of the run: they sort in this order


def _resembles_data(pair: str) -> bool:
    """Whether an unreadable pair looks like data, not like a word or a remark in brackets."""
    return "{" in pair and (":" in pair or '"' in pair or "'" in pair)


def _holds_members(value: Any) -> bool:
    """Whether an object is a member of an object in it: then a bracket too many may have closed the inner one too early."""
    if isinstance(value, dict):
        return any(isinstance(item, dict) or _holds_members(item) for item in value.values())
    return isinstance(value, list) and any(map(_holds_members, value))


class _Prose:
    """Reads the text around the pairs, from left to right. `candidates` are the objects that may be the answer so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.patterns = _compiled()
        self.pairs = BracketPairs(text)
        self.at = 0
        self.candidates: list[_Candidate] = []
        self.fence = ""
        self.block_begins = False  # nothing stands behind the opening fence yet
        self.block_from = 0  # number of the first candidate in this block, or since the last block
        self.run = (True, 0)
        self.run_from = 0  # number of the first candidate in this run
        self.spoilt = False  # a pair of the run cannot be read: its other objects are no answer either
        self.doubtful = False  # something in this block is unreadable, or has lost a bracket
        self.unclosed = False
        self.count = 0  # of pairs so far
        self.reason = ""

    def runs(self) -> list[list[Object]]:
        """Return the runs: those that begin a fenced block first, empty objects last, since `{}` in prose is seldom the
        answer."""
        runs: dict[tuple[bool, int], list[Object]] = {}
        for candidate in self.candidates:
            runs.setdefault(candidate.run, []).append(candidate.value)
        return sorted((runs[run] for run in sorted(runs)), key=lambda values: not any(values))

    def scan(self) -> None:
        """Read the whole text."""
        while not self.unclosed:
            mark = self.patterns.mark.search(self.text, self.at)
            if mark is None:
                break
            between = self.text[self.at : mark.start()]
            if not self.patterns.between_items.fullmatch(between):
                self._end_run()
            begins_block = self.block_begins and not between.strip(SPACE)
            self.block_begins = False
            bracket = mark["bracket"]
            self.at = mark.end()
            if bracket is not None:
                if bracket in CLOSING:
                    self._pair(mark.start(), between, begins_block)
                else:
                    self._stray(mark.start())
            elif mark["tag"] is not None:
                self._tag(mark)
            else:
                self._end_run()
                if mark["fence"] is not None:
                    self._fence(mark)
        self._end_run()

    # ------------------------------------------------------------ pairs

    def _pair(self, start: int, between: str, begins_block: bool) -> None:
        self.count += 1
        if self.count > MAX_PAIRS:
            self.reason = f"more than {MAX_PAIRS} pairs of brackets in prose"
            self.at = len(self.text)
            self.candidates.clear()
            self.run_from = 0
            return
        pair = self.pairs.pair(start)
        if pair.end is None:
            self.unclosed = self.spoilt = True
            return
        self.at = pair.end
        value = pair.value
        self.reason = self.reason or pair.reason
        while type(value) is list and len(value) == 1:
            value = value[0]
        before = between.rstrip(SPACE)
        if type(value) is dict and not self._is_member(start, pair.end, before):
            if begins_block and len(self.candidates) == self.run_from:
                self.run = (False, self.run[1])
            self.candidates.append(_Candidate(value, pair.end, start == 0 or begins_block, self.run))
        elif type(value) is list and any(type(item) is dict for item in value):
            self.reason = f"a list of {len(value)} values, not one object"
            self.spoilt = True
        elif type(value) is dict or (value is None and _resembles_data(self.text[start : pair.end])):
            self.spoilt = self.doubtful = True

    def _is_member(self, start: int, end: int, before: str) -> bool:
        """Whether an object is a part of something that has lost a bracket, or stands in a string: `"sub": {…}`, `…], {…}`,
        `{…}, "key": …`, `{…}"`."""
        if before.endswith(":") and len(before) > 1 and before[:-1].rstrip(SPACE)[-1:] in QUOTES:
            return True
        if before.endswith(",") and self.doubtful:
            return True
        behind = self.text[end : end + 1]
        if behind and behind in QUOTES and self.text[start - 1 : start] != behind:
            return True
        return self.patterns.member.match(self.text, end) is not None

    def _stray(self, at: int) -> None:
        """A closing bracket that nothing opened: what stands before it may be part of something that lost its beginning, or may
        have been closed too early."""
        last = self.candidates[-1] if len(self.candidates) > self.block_from and not self.doubtful else None
        if last is not None and last.leads and not self.text[last.end : at].strip(SPACE) and not _holds_members(last.value):
            return  # one too many behind the answer
        self.doubtful = True
        del self.candidates[self.block_from :]
        self.run_from = min(self.run_from, len(self.candidates))

    def _end_run(self) -> None:
        if self.spoilt:
            del self.candidates[self.run_from :]
        self.run = (True, self.run[1] + 1)
        self.run_from = len(self.candidates)
        self.spoilt = False

    # ------------------------------------------------------------ tags and fences

    def _tag(self, mark: Match[str]) -> None:
        """Pass over thinking. Where its opening tag is not in the text, all before its closing tag is thinking."""
        if mark["end"]:
            self.candidates.clear()
            self.fence = ""
            self.block_from = self.run_from = 0
            self.spoilt = self.doubtful = False
            return
        end = self.patterns.end_of_thinking.search(self.text, self.at)
        while end is not None and end["tag"].lower() != mark["tag"].lower():
            end = self.patterns.end_of_thinking.search(self.text, end.end())
        if end is None:
            self.candidates.clear()
            self.unclosed = True
        else:
            self.at = end.end()

    def _fence(self, mark: Match[str]) -> None:
        """Begin or end a fenced block: it ends with the fence that began it, the last one with the text."""
        if self.fence:
            if not mark["fence"].startswith(self.fence):
                return
            self.fence = ""
        elif mark["indent"] is None:
            return  # in the middle of a line it begins no block
        else:
            self.fence = mark["fence"]
            self.block_begins = True
        self.block_from, self.doubtful = len(self.candidates), False


class _Patterns:
    __slots__ = ("mark", "member", "between_items", "end_of_thinking")

    def __init__(self) -> None:
        import re

        self.mark = re.compile(_MARK, re.MULTILINE | re.VERBOSE | re.IGNORECASE)
        self.member = re.compile(_MEMBER)
        self.between_items = re.compile(_BETWEEN_ITEMS)
        self.end_of_thinking = re.compile(_END_OF_THINKING, re.IGNORECASE)


_patterns: _Patterns | None = None


def _compiled() -> _Patterns:
    global _patterns
    if _patterns is None:
        _patterns = _Patterns()
    return _patterns
