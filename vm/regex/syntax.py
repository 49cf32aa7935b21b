"""The syntax of patterns (L-7.10.5): text to a tree.

Hands on `parse_pattern`, `fold`, `CharSet` (which it joins into sets of first characters, by `add_all`) and `Answers` to
`matcher.py`, `is_word` and `PatternError` to `program.py`, `CharSet`, `is_word` and `is_blank` to `short.py`, the type `Node` to
these three, `PatternError` also to the built-ins of `std::regex`. Nodes are tuples:

    ("empty",)  ("char", test)  ("cat", [node, …])  ("alt", [node, …])  ("repeat", node, least, most or None, greedy)
    ("group", number, node)  ("assert", kind)  ("look", ahead, negative, node)  ("backref", number, fold)

A test is a one-character String or a `CharSet`. A new escape or class of characters is a row of the tables below, a new kind of
group a case of `Parser.extension`; what a new node does stands in `program.py`. No text is searched here. The kinds of `assert`
are "start", "end", "final end", "line start", "line end", "word" and "no word"; `fold` says whether case is disregarded.
"""

from __future__ import annotations

from bisect import bisect_right

from ..record import record
from ..values.arithmetic import WHITE_SPACE
from ..values.metering import LARGE, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Node = tuple[Any, ...]

MOST_PARTS = 50_000  # signs, classes and other parts of one pattern; `program.py` bounds its instructions
MOST_REPEATS = 1000  # in a quantifier such as `{3,7}`
MOST_DIGITS = 1000  # of a number
MOST_NESTING = 50  # groups in one another
MOST_GROUPS = 200  # that capture
MOST_ANSWERS = 65_536  # that the sets of characters of a pattern keep
FLAGS = "ims"
HEX = frozenset("0123456789abcdefABCDEF")
DIGITS = frozenset("0123456789")
CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}
ASSERTIONS = {"A": "start", "Z": "end", "z": "end", "b": "word", "B": "no word"}
LOOKS = {"=": (True, False), "!": (True, True), "<=": (False, False), "<!": (False, True)}


class PatternError(Exception):
    """A text that is no pattern, or one beyond a limit. `reason`: the text of what is wrong; `at`: the offset from 0, in
    characters, of the part that cannot stand there, 0 where the whole is refused."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason, at)
        self.reason = reason
        self.at = at


def fold(sign: str) -> str:
    """Return the one character that stands for all that differ from `sign`, one character, in case only."""
    folded = sign.casefold()
    if len(folded) != 1:
        folded = sign.lower()
    return folded if len(folded) == 1 else sign


def is_word(sign: str) -> bool:
    """Return whether a character is of the class `w`: a letter or digit of any script, or `_`."""
    return sign.isalnum() or sign == "_"


def is_blank(sign: str) -> bool:
    """Return whether a character is of the class `s`: white space."""
    return sign in WHITE_SPACE


CLASSES: dict[str, Callable[[str], bool]] = {"d": str.isdecimal, "w": is_word, "s": is_blank}


class Answers:
    """What the sets of a pattern have answered, by character, one dict for each set (`of_sets`): `count` answers in all."""

    __slots__ = ("count", "of_sets")

    def __init__(self) -> None:
        self.count = 0
        self.of_sets: list[dict[str, bool]] = []

    def of_new_set(self) -> dict[str, bool]:
        """Return the empty dict of the answers of one more set, which that set fills."""
        answers: dict[str, bool] = {}
        self.of_sets.append(answers)
        return answers

    def make_room(self) -> None:
        """Count an answer that is about to be kept. At MOST_ANSWERS all are dropped."""
        if self.count >= MOST_ANSWERS:
            for answers in self.of_sets:
                answers.clear()
            self.count = 0
        self.count += 1


class CharSet:
    """A set of characters: single ones, ranges (lowest, highest), classes (test, whether its complement is meant). `negated`: the
    others are meant; `folds`: without regard to case. Its answers are kept; `kept` counts those of all sets of the pattern.
    `lows` and `highs`: the ranges in order, apart from one another, from the first question on."""

    __slots__ = ("singles", "ranges", "classes", "negated", "folds", "kept", "answers", "lows", "highs")

    def __init__(self, kept: Answers, negated: bool = False, folds: bool = False) -> None:
        self.singles: set[str] = set()
        self.ranges: list[tuple[str, str]] = []
        self.classes: list[tuple[Callable[[str], bool], bool]] = []
        self.negated = negated
        self.folds = folds
        self.kept = kept
        self.answers = kept.of_new_set()
        self.lows: list[str] = []
        self.highs: list[str] = []

    def add_class(self, letter: str) -> None:
        """Add the class `d`, `w` or `s`, or for a capital letter its complement."""
        one = (CLASSES[letter.lower()], letter.isupper())
        if one not in self.classes:
            self.classes.append(one)

    def add_all(self, other: CharSet) -> None:
        """Add what belongs to another set, as negated and as folding as this one; neither is negated."""
        self.singles |= other.singles
        self.ranges += other.ranges
        self.classes += [one for one in other.classes if one not in self.classes]

    def has(self, sign: str) -> bool:
        """Return whether a character belongs to the set, which is whole by now."""
        answer = self.answers.get(sign)
        if answer is None:
            self.kept.make_room()
            answer = self.answers[sign] = self._asks(sign) != self.negated
        return answer

    def _asks(self, sign: str) -> bool:
        if not self.folds:
            return self._lists(sign)
        return any(map(self._lists, {sign, fold(sign), sign.lower(), sign.upper(), fold(sign).upper()}))

    def _lists(self, sign: str) -> bool:
        if len(sign) != 1:  # an upper case of several characters
            return False
        if sign in self.singles or (self.ranges and self._in_range(sign)):
            return True
        return any(holds(sign) != complement for holds, complement in self.classes)

    def _in_range(self, sign: str) -> bool:
        if not self.lows:
            for low, high in sorted(self.ranges):
                if self.highs and low <= self.highs[-1]:
                    self.highs[-1] = max(high, self.highs[-1])
                else:
                    self.lows.append(low)
                    self.highs.append(high)
        at = bisect_right(self.lows, sign)
        return at > 0 and sign <= self.highs[at - 1]


@record
class Pattern:
    """A parsed pattern: its tree, how many groups it has, the numbers, from 1, of those with a name, and what its sets of
    characters keep."""

    tree: Node
    groups: int
    names: dict[str, int]
    answers: Answers


def parse_pattern(source: str) -> Pattern:
    """Return the parsed pattern. Raises PatternError for text that is no pattern, or one beyond a limit of this file; with a long
    text also what ends the run (P102 for its time, P103 for its memory, or what the host has set: `values/metering.py`)."""
    parser = Parser(source)
    parser.global_flags()
    tree = parser.alternatives()
    if parser.at < len(source):
        parser.fail("unmatched `)`")
    return Pattern(tree, parser.groups, parser.names, parser.answers)


class Parser:
    """Recursive descent: a method reads the part that it is named after, goes behind it and returns its node or text, or what its
    docstring says. It raises PatternError, and with a long `source` what ends the run. `flags`: those in force where the parser
    stands; `groups`: how many capture so far, `names` the numbers of those with a name, `open` those that are not yet closed;
    `nesting`: the groups around the place; `parts`: those that `count` has counted; `answers`: what the sets of characters keep;
    `at`: the offset of the next sign."""

    __slots__ = ("source", "at", "flags", "groups", "names", "open", "nesting", "parts", "answers")

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = 0
        self.names: dict[str, int] = {}
        self.open: set[int] = set()
        self.nesting = 0
        self.parts = 0
        self.answers = Answers()

    def count(self) -> None:
        """Count another part of the pattern against the limit."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            self.fail("the pattern is too large", 0)
        if self.parts % LARGE == 0:
            look()

    # ------------------------------------------------------------ signs

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Raise PatternError for the part at an offset, by default the next sign."""
        raise PatternError(reason, self.at if at is None else at)

    def peek(self) -> str:
        """Return the next sign, empty at the end."""
        return self.source[self.at : self.at + 1]

    def accept(self, text: str) -> bool:
        """Go behind `text` and return True if it stands here, else False."""
        if not self.source.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def until(self, closing: str, what: str) -> str:
        """Return the text before the next `closing`, one sign, and go behind that; `what` names the beginning in the error."""
        end = self.source.find(closing, self.at)
        if end < 0:
            self.fail(f"missing `{closing}` after {what}")
        name = self.source[self.at : end]
        self.at = end + 1
        return name

    # ------------------------------------------------------------ structure

    def global_flags(self) -> None:
        """Read `(?im)` at the very beginning, and further ones behind it."""
        while self.source.startswith("(?", self.at):
            self.count()
            end = self.at + 2
            while self.source[end : end + 1] in tuple(FLAGS):
                end += 1
            if end == self.at + 2 or self.source[end : end + 1] != ")":
                return
            self.flags |= set(self.source[self.at + 2 : end])
            self.at = end + 1

    def alternatives(self) -> Node:
        branches = [self.sequence()]
        while self.accept("|"):
            self.count()
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else ("alt", branches)

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            self.count()
            items.append(self.repeated())
        return items[0] if len(items) == 1 else ("cat", items) if items else ("empty",)

    def repeated(self) -> Node:
        start = self.at
        node = self.atom()
        bounds = self.bounds()
        if bounds is None:
            return node
        if node[0] == "assert" and self.source[start] != "(":
            self.fail("nothing to repeat", start)
        greedy = not self.accept("?")
        again = self.at
        if self.bounds() is not None:
            self.fail("a repetition of a repetition needs a group", again)
        return ("repeat", node, *bounds, greedy)

    def bounds(self) -> tuple[int, int | None] | None:
        """Read a quantifier and return its least and most (None for no bound); None when none stands here. A brace that begins
        no quantifier is a character."""
        for sign, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(sign):
                return limits
        start = self.at
        if not self.accept("{"):
            return None
        least = self.digits()
        most = self.digits() if self.accept(",") else least
        if not self.accept("}") or self.source[start : self.at] == "{}":
            self.at = start
            return None
        return self.counted(start, int(least or 0), int(most) if most else None)

    def counted(self, start: int, least: int, most: int | None) -> tuple[int, int | None]:
        if max(least, most or 0) > MOST_REPEATS:
            self.fail(f"more than {MOST_REPEATS} repetitions", start)
        if most is not None and most < least:
            self.fail("the least number of repetitions is above the most", start)
        return least, most

    def digits(self) -> str:
        start = self.at
        while self.peek() in DIGITS and self.at - start < MOST_DIGITS:
            self.at += 1
        return self.source[start : self.at]

    # ------------------------------------------------------------ atoms

    def atom(self) -> Node:
        sign = self.peek()
        if sign in ("*", "+", "?") or (sign == "{" and self.is_quantifier()):
            self.fail("nothing to repeat")
        self.at += 1
        if sign == "(":
            return self.group()
        if sign == "[":
            return ("char", self.char_set())
        if sign == ".":
            return ("char", self.any_char())
        if sign == "^":
            return ("assert", "line start" if "m" in self.flags else "start")
        if sign == "$":
            return ("assert", "line end" if "m" in self.flags else "final end")
        return self.escape() if sign == "\\" else self.literal(sign)

    def is_quantifier(self) -> bool:
        start = self.at
        is_one = self.bounds() is not None
        self.at = start
        return is_one

    def literal(self, sign: str) -> Node:
        if "i" not in self.flags or (sign.lower() == sign.upper() == fold(sign)):
            return ("char", sign)
        test = CharSet(self.answers, folds=True)
        test.singles.update((sign, fold(sign)))
        return ("char", test)

    def any_char(self) -> CharSet:
        test = CharSet(self.answers, negated=True)
        if "s" not in self.flags:
            test.singles.add("\n")
        return test

    def escape(self) -> Node:
        """Read what stands behind a backslash outside of a class."""
        sign = self.peek()
        if sign in ASSERTIONS:
            self.at += 1
            return ("assert", ASSERTIONS[sign])
        if sign.lower() in CLASSES:
            self.at += 1
            test = CharSet(self.answers)
            test.add_class(sign)
            return ("char", test)
        if sign in DIGITS and sign != "0":
            start = self.at - 1
            return self.backref(int(self.digits()), start)
        return self.literal(self.escaped_char())

    def escaped_char(self) -> str:
        """Return the character that an escape stands for."""
        start = self.at - 1
        sign = self.peek()
        self.at += 1
        if sign in CONTROLS:
            return CONTROLS[sign]
        if sign in HEX_LENGTHS:
            return self.code_point(start, sign)
        if not sign:
            self.fail("nothing after `\\`", start)
        if sign.isascii() and sign.isalnum():
            self.fail(f"unknown escape `\\{sign}`", start)
        return sign

    def code_point(self, start: int, letter: str) -> str:
        if letter == "u" and self.accept("{"):
            digits = self.until("}", "`\\u{`")
        else:
            digits = self.source[self.at : self.at + HEX_LENGTHS[letter]]
            self.at += HEX_LENGTHS[letter]
            if len(digits) < HEX_LENGTHS[letter]:
                digits = ""
        if not digits or len(digits) > 8 or not HEX.issuperset(digits) or int(digits, 16) > 0x10FFFF:
            self.fail("escape of no character", start)
        return chr(int(digits, 16))

    def backref(self, number: int, start: int) -> Node:
        if number > self.groups:
            self.fail(f"no group {number} before this back reference", start)
        if number in self.open:
            self.fail(f"group {number} is still open here", start)
        return ("backref", number, "i" in self.flags)

    # ------------------------------------------------------------ classes

    def char_set(self) -> CharSet:
        start = self.at - 1
        test = CharSet(self.answers, self.accept("^"), "i" in self.flags)
        first = True
        while first or self.peek() != "]":
            if not self.peek():
                self.fail("missing `]`", start)
            first = False
            self.count()
            self.class_item(test)
        self.at += 1
        return test

    def class_item(self, test: CharSet) -> None:
        start = self.at
        low = self.class_char(test)
        if self.peek() != "-" or self.source[self.at + 1 : self.at + 2] in ("]", ""):
            if low:
                test.singles.update((low, fold(low)) if test.folds else low)
            return
        self.at += 1
        high = self.class_char(test)
        if not low or not high or high < low:
            self.fail("a range that is none", start)
        test.ranges.append((low, high))

    def class_char(self, test: CharSet) -> str:
        """Return one character of a class; empty for an escape of a class of characters, which is added at once."""
        if not self.accept("\\"):
            self.at += 1
            return self.source[self.at - 1]
        sign = self.peek()
        if sign and sign.lower() in CLASSES:
            self.at += 1
            test.add_class(sign)
            return ""
        if sign == "b":
            self.at += 1
            return "\b"
        return self.escaped_char()

    # ------------------------------------------------------------ groups

    def group(self) -> Node:
        start = self.at - 1
        self.nesting += 1
        if self.nesting > MOST_NESTING:
            self.fail(f"groups nested deeper than {MOST_NESTING}", start)
        outer = self.flags
        node = self.extension(start) if self.accept("?") else self.capture(start, "")
        self.flags = outer
        self.nesting -= 1
        return node

    def inside(self, start: int) -> Node:
        """Read the rest of a group up to its bracket."""
        node = self.alternatives()
        if not self.accept(")"):
            self.fail("missing `)`", start)
        return node

    def capture(self, start: int, name: str) -> Node:
        self.groups += 1
        number = self.groups
        if number > MOST_GROUPS:
            self.fail(f"more than {MOST_GROUPS} groups", start)
        if name:
            self.names[name] = number
        self.open.add(number)
        node = self.inside(start)
        self.open.discard(number)
        return ("group", number, node)

    def extension(self, start: int) -> Node:
        """Read what begins with `(?`."""
        if self.accept(":"):
            return self.inside(start)
        if self.accept("P<"):
            return self.capture(start, self.new_name(start))
        if self.accept("P="):
            name = self.until(")", "the name")
            if name not in self.names:
                self.fail(f"no group `{name}` before this back reference", start)
            return self.backref(self.names[name], start)
        for sign, (ahead, negative) in LOOKS.items():
            if self.accept(sign):
                return ("look", ahead, negative, self.inside(start))
        return self.scoped_flags(start)

    def new_name(self, start: int) -> str:
        name = self.until(">", "the name")
        if not name.isidentifier():
            self.fail(f"`{name}` is no name", start)
        if name in self.names:
            self.fail(f"two groups named `{name}`", start)
        return name

    def scoped_flags(self, start: int) -> Node:
        """Read `(?i:…)`."""
        end = self.at
        while self.source[end : end + 1] in tuple(FLAGS):
            end += 1
        if end > self.at and self.source[end : end + 1] == ":":
            self.flags |= set(self.source[self.at : end])
            self.at = end + 1
            return self.inside(start)
        if end > self.at and self.source[end : end + 1] == ")":
            self.fail("flags for the whole pattern stand at its beginning", start)
        self.fail("unknown kind of group; a named one is written `(?P<name>…)`", start)
