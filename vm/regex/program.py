"""From the tree of a pattern to a program of small instructions.

Hands on to the two matchers (`matcher.py`, `automaton.py`) `compile_forward`, `compile_backward` and `Program`, the numbers of
the operations, `Subject` (a text as they see it), its symbols START, END and FINAL_LINE_END, `class_of` and `holds`. An
instruction is (operation, first, second):

    CHAR c | SET set         take one character          SPLIT a b    continue at a, later at b
    JUMP a                   continue at a               SAVE n       the position into slot n
    ASSERT kind              between two characters      MATCH        the end
    ENTER i                  an iteration of loop i begins
    AGAIN i (a, b, end)      its end: as SPLIT if the iteration took a character, else continue at the loop's end
    LOOK (program, ahead, negative, width)               BACKREF n fold

What a pattern means as text is for `syntax.py`, which makes the tree; how instructions are run is for the matchers. Writing a
long program looks whether the run is to stop, so what ends it (P102 for its time, P103 for its memory, or what the host has set:
`values/metering.py`) may come out.

Loops whose body may be empty carry a number; a matcher holds one bit per such loop, set when a character is taken and outside of
the loop. So an empty iteration ends its loop, as in the pattern languages programmers know, and no walk goes in circles.
"""

from __future__ import annotations

from ..values.metering import look
from .syntax import PatternError, is_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .syntax import Node


# CHAR and SET, which matchers meet most, are the lowest.
CHAR, SET, SPLIT, JUMP, SAVE, ASSERT, MATCH, ENTER, AGAIN, LOOK, BACKREF = range(11)
MOST_INSTRUCTIONS = 10_000  # of a pattern, those of its lookarounds included
MOST_LOOPS = 12  # one bit each: an instruction has up to 2**12 loop states, for each of which failures are remembered


class Program:
    """The instructions of one pattern or lookaround, `code`, as this file lists them. `linear`: it has neither lookaround nor
    back references. `loops`: how many loop bits a walk carries. `final`: it has a `$` that also matches before a line end at the
    end of the text. `asserts`: it has any assertion."""

    __slots__ = ("code", "loops", "linear", "final", "asserts")

    def __init__(self, code: list[tuple[int, Any, Any]], loops: int) -> None:
        self.code = code
        self.loops = loops
        operations = {operation for operation, _, _ in code}
        self.linear = not operations & {LOOK, BACKREF}
        self.asserts = ASSERT in operations
        looks = [second[0] for operation, _, second in code if operation == LOOK]
        self.final = (ASSERT, "final end", None) in code or any(look.final for look in looks)

    def first_tests(self) -> list[Any] | None:
        """Return the tests of which a match must pass one with its first character; None when a match may be empty or begin with
        a back reference."""
        tests = []
        visited = set()
        pending = [0]
        while pending:
            at = pending.pop()
            if at in visited:
                continue
            visited.add(at)
            operation, first, second = self.code[at]
            if operation in (MATCH, BACKREF):
                return None
            if operation in (CHAR, SET):
                tests.append(first)
            elif operation == AGAIN:
                pending.extend(second[:2])
            else:
                pending.extend({SPLIT: (first, second), JUMP: (first,)}.get(operation, (at + 1,)))
        return tests


def compile_forward(tree: Node) -> Program:
    """Return the program that takes the characters of a match from first to last and keeps the positions of groups. Raises
    PatternError when it would be too large or have too many loops, and for a look-behind without a fixed width."""
    writer = Writer(backward=False)
    writer.emit(SAVE, 0)
    writer.write(tree)
    writer.emit(SAVE, 1)
    writer.emit(MATCH)
    return Program(writer.code, writer.loops)


def compile_backward(tree: Node) -> Program:
    """Return a program that takes the characters of a match from last to first; it keeps no positions. The tree has neither
    lookaround nor back references. Raises PatternError as `compile_forward`."""
    writer = Writer(backward=True)
    writer.write(tree)
    writer.emit(MATCH)
    return Program(writer.code, writer.loops)


def nullable(node: Node) -> bool:
    """Return whether the node may match without a character."""
    kind = node[0]
    if kind == "char":
        return False
    if kind == "cat":
        return all(map(nullable, node[1]))
    if kind == "alt":
        return any(map(nullable, node[1]))
    if kind == "repeat":
        return node[2] == 0 or nullable(node[1])
    return nullable(node[2]) if kind == "group" else True


def width_of(node: Node) -> int | None:
    """Return the number of characters that every match of the node takes, None when they may differ, as with a back reference."""
    kind = node[0]
    if kind == "char":
        return 1
    if kind == "cat":
        widths = [width_of(part) for part in node[1]]
        return None if None in widths else sum(width for width in widths if width)
    if kind == "alt":
        widths = [width_of(part) for part in node[1]]
        return widths[0] if len(set(widths)) == 1 else None
    if kind == "repeat":
        inner = width_of(node[1])
        if inner == 0 or node[3] == 0:
            return 0
        return None if inner is None or node[2] != node[3] else inner * node[2]
    if kind == "group":
        return width_of(node[2])
    return None if kind == "backref" else 0


class Writer:
    """Writes one program, by Thompson's construction: each node of the tree becomes instructions that go on behind their last
    one. `backward`: the program reads from the end of a match to its start. `code`: the instructions so far; `loops`: how many
    loops may have an empty body; `written`: how many instructions the pattern has so far, those of its lookarounds included. What
    writes raises PatternError where these or the loops are too many, and for a look-behind without a fixed width, and what ends
    the run."""

    __slots__ = ("code", "backward", "loops", "written")

    def __init__(self, backward: bool, written: int = 0) -> None:
        self.code: list[tuple[int, Any, Any]] = []
        self.backward = backward
        self.loops = 0
        self.written = written

    def emit(self, operation: int, first: Any = None, second: Any = None) -> int:
        """Append an instruction and return its index. Raises PatternError beyond MOST_INSTRUCTIONS of the pattern."""
        if self.written >= MOST_INSTRUCTIONS:
            raise PatternError("the pattern is too large", 0)
        self.written += 1
        self.code.append((operation, first, second))
        return len(self.code) - 1

    def here(self) -> int:
        """Return the index of the next instruction."""
        return len(self.code)

    def write(self, node: Node) -> None:
        """Append the instructions of a node. A node without any may stand in many repetitions, so this looks whether the run is
        to end."""
        look()
        kind = node[0]
        if kind == "char":
            self.emit(CHAR if type(node[1]) is str else SET, node[1])
        elif kind == "cat":
            for part in reversed(node[1]) if self.backward else node[1]:
                self.write(part)
        elif kind == "alt":
            self.alternatives(node[1])
        elif kind == "repeat":
            self.repeat(*node[1:])
        elif kind == "group":
            self.group(node[1], node[2])
        elif kind == "assert":
            self.emit(ASSERT, node[1])
        elif kind == "look":
            self.look(*node[1:])
        elif kind == "backref":
            self.emit(BACKREF, node[1], node[2])

    def alternatives(self, parts: list[Node]) -> None:
        """Write the parts so that an earlier one is tried first."""
        jumps = []
        for part in parts[:-1]:
            split = self.emit(SPLIT)
            self.write(part)
            jumps.append(self.emit(JUMP))
            self.code[split] = (SPLIT, split + 1, self.here())
        self.write(parts[-1])
        for jump in jumps:
            self.code[jump] = (JUMP, self.here(), None)

    def group(self, number: int, node: Node) -> None:
        """Write a group, with its positions in the slots 2 * `number` and the next, unless the program is a backward one."""
        if self.backward:
            self.write(node)
            return
        self.emit(SAVE, 2 * number)
        self.write(node)
        self.emit(SAVE, 2 * number + 1)

    def look(self, ahead: bool, negative: bool, node: Node) -> None:
        """Write a lookaround, whose program is run for itself. Raises PatternError for a look-behind without a fixed width."""
        width = 0 if ahead else width_of(node)
        if width is None:
            raise PatternError("look-behind needs a fixed width", 0)
        inner = Writer(backward=False, written=self.written)
        inner.write(node)
        inner.emit(MATCH)
        self.written = inner.written
        self.emit(LOOK, None, (Program(inner.code, inner.loops), ahead, negative, width))

    # ------------------------------------------------------------ repetition

    def repeat(self, node: Node, least: int, most: int | None, greedy: bool) -> None:
        """Write at least `least` and at most `most` (None: any number of) matches, as many as possible if `greedy`."""
        empty = nullable(node)
        # `x+` is one copy of x with a jump back; other lower bounds are that many copies
        fewer = least - 1 if most is None and least and not empty else least
        for _ in range(fewer):
            before = self.here()
            self.write(node)
            if self.here() == before:  # no instruction: further copies would add none
                break
        if most is not None:
            self.optional(node, most - least, greedy, empty)
        elif empty:
            self.loop(node, greedy)
        elif least:
            self.at_least_once(node, greedy)
        else:
            self.any_number(node, greedy)

    def split(self, at: int, inner: int, end: int, greedy: bool) -> None:
        """Set the instruction `at` to a choice of `inner` and `end`, the first tried first if `greedy`, else the second."""
        self.code[at] = (SPLIT, inner, end) if greedy else (SPLIT, end, inner)

    def any_number(self, node: Node, greedy: bool) -> None:
        """Write any number of matches of a node that takes a character."""
        head = self.emit(SPLIT)
        self.write(node)
        self.emit(JUMP, head)
        self.split(head, head + 1, self.here(), greedy)

    def at_least_once(self, node: Node, greedy: bool) -> None:
        """Write one or more matches of a node that takes a character."""
        start = self.here()
        self.write(node)
        end = self.emit(SPLIT)
        self.split(end, start, end + 1, greedy)

    def new_loop(self) -> int:
        """Return the number of a loop whose body may be empty. Raises PatternError beyond MOST_LOOPS."""
        self.loops += 1
        if self.loops > MOST_LOOPS:
            raise PatternError(f"more than {MOST_LOOPS} repetitions of what may be empty", 0)
        return self.loops - 1

    def again(self, number: int, start: int, end: int, greedy: bool) -> tuple[int, int, Any]:
        """Return the instruction at the end of loop `number`, whose next iteration begins at `start`."""
        return (AGAIN, number, (start, end, end) if greedy else (end, start, end))

    def loop(self, node: Node, greedy: bool) -> None:
        """Write any number of matches of a node that may be empty."""
        number = self.new_loop()
        head = self.emit(SPLIT)
        self.emit(ENTER, number)
        self.write(node)
        last = self.emit(AGAIN)
        self.split(head, head + 1, last + 1, greedy)
        self.code[last] = self.again(number, head + 1, last + 1, greedy)

    def optional(self, node: Node, times: int, greedy: bool, empty: bool) -> None:
        """Write up to `times` further matches, each inside the one before; `empty`: the node may match without a character."""
        if not times:
            return
        number = self.new_loop() if empty and times > 1 else -1
        splits = []
        ends = []
        for remaining in range(times, 0, -1):
            if number < 0 or remaining == times:
                splits.append(self.emit(SPLIT))
            is_last = remaining == 1
            if number >= 0 and not is_last:
                self.emit(ENTER, number)
            self.write(node)
            if number >= 0 and not is_last:
                ends.append(self.emit(AGAIN))
        for split in splits:
            self.split(split, split + 1, self.here(), greedy)
        for last in ends:
            self.code[last] = self.again(number, last + 1, self.here(), greedy)


# ----------------------------------------------------------------
# A text as matchers see it: characters by position and what assertions ask about them.
#
# A matcher whose pattern has a `$` for the end of the text sees a line end in last place as a symbol of its own, so what
# follows a character never has to be looked up.

# Symbols that are no characters, and classes of symbols.
START, END, FINAL_LINE_END = -1, -2, -3
LINE_END, WORD, OTHER = -4, -5, -6


def class_of(symbol: Any) -> int:
    """Return the class of a character; a symbol beyond the characters is its own class."""
    if type(symbol) is int:
        return symbol
    if symbol == "\n":
        return LINE_END
    return WORD if is_word(symbol) else OTHER


class Subject:
    """A text as matchers read it; `body`: the part of it that is read as characters. `final`: the pattern has a `$` that also
    matches before a line end at the end of the text."""

    __slots__ = ("text", "body")

    def __init__(self, text: str, final: bool) -> None:
        self.text = text
        self.body = text[:-1] if final and text.endswith("\n") else text

    def symbol(self, at: int) -> Any:
        """Return the symbol at a position, from just before the text (-1) to just behind it."""
        if 0 <= at < len(self.body):
            return self.body[at]
        if at < 0:
            return START
        return FINAL_LINE_END if at < len(self.text) else END

    def holds(self, kind: str, at: int) -> bool:
        """Return whether an assertion holds before position `at`, from 0 to the length of the text."""
        return holds(kind, class_of(self.symbol(at - 1)), class_of(self.symbol(at)))


def holds(kind: str, left: int, right: int) -> bool:
    """Return whether an assertion holds between symbols of two classes. `kind` is a word of an `assert` node of `syntax.py`:
    "start", "end", "final end", "line start", "line end", "word" or "no word"."""
    if kind == "start":
        return left == START
    if kind == "end":
        return right == END
    if kind == "final end":
        return right in (END, FINAL_LINE_END)
    if kind == "line start":
        return left in (START, LINE_END, FINAL_LINE_END)
    if kind == "line end":
        return right in (END, LINE_END, FINAL_LINE_END)
    return ((left == WORD) != (right == WORD)) == (kind == "word")
