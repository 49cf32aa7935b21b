"""The operand stack of the bytecode at translation time: texts of expressions in place of values.

An entry that may fail, or depends on what a statement could change, is settled into a temporary before any statement is
written, so
that all happens in the order of the bytecode. Hands on `Entry`, `Kind`, `Writer`. Must not know: opcodes, control flow.
"""

from __future__ import annotations

from .parts import Site
from .text import mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .text import Statement

    # word of a type descriptor, and its number in the image, -1 where it has none
    Kind = tuple[str, int]
    # of a local: at least, at most; which variant of its enum; what divides it
    Limit = tuple[int, int | None, int | None, int | None, int | None]

ANY: Kind = ("", -1)
INT: Kind = ("int", -1)
FLOAT: Kind = ("float", -1)
STRING: Kind = ("string", -1)
BOOL: Kind = ("bool", -1)
NIL: Kind = ("nil", -1)
PLAIN: Kind = ("plain", -1)
ARRAY: Kind = ("array", -1)
MAP: Kind = ("map", -1)
SCALARS = frozenset({"int", "float", "string", "bool", "nil", "plain"})
STEP = 16  # the largest step of a local that counts,
COUNTED = 1 << 60  # and further than any run counts in such steps: at ten nanoseconds each it is twenty years away
DEEPEST = 24  # parentheses around one another


class Entry:
    """`pure`: it cannot fail, and gives the same as long as the variables in `uses` do. `low`: what is known of an Int: it is
    at least that. `high`: at most."""

    __slots__ = (
        "text", "kind", "pure", "uses", "deep", "low", "high", "bounds", "length", "raw", "inside", "bare", "if_true", "if_false",
        "counts", "most", "hope", "variant", "divisor", "zero", "rest_of", "less_true", "less_false", "below", "listed",
        "sure", "number",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        kind: Kind = ANY,
        *,
        pure: bool = True,
        uses: frozenset[str] = frozenset(),
        deep: int = 0,
        low: int | None = None,
        high: int | None = None,
    ) -> None:
        self.text = text
        self.kind = kind
        self.pure = pure
        self.uses = uses
        self.deep = deep
        self.low = low
        self.high = high
        self.sure = False  # it is of its kind whatever the image says of types
        self.number = False  # it is an Int, a Float or a Bool, whatever that says
        self.length: int | None = None  # of a String constant, or of a range of constants
        self.listed = ""  # of an Array that nothing else sees: its elements, for a walk
        self.below = ""  # of an element of a range: its end
        self.raw: str | None = None  # of what Map.get gives: the variable with the value or END
        self.inside = ANY  # the kind of that value
        self.bounds: tuple[Entry, Entry, bool] | None = None  # of a range that nothing else sees
        self.bare: tuple[str, str] | None = None  # where the text puts a value into a variable: that, and the text without it
        self.if_true: tuple[Limit, ...] = ()  # what follows for locals from a Bool
        self.if_false: tuple[Limit, ...] = ()
        self.less_true: tuple[tuple[str, str], ...] = ()  # pairs of locals, the first less than the second
        self.less_false: tuple[tuple[str, str], ...] = ()
        self.variant: int | None = None  # of an enum value
        self.divisor: int | None = None  # an Int that leaves no rest
        self.zero: Entry | None = None  # of a rest: what is 0 where that is
        self.rest_of = ""  # of such: the local that was divided
        self.hope = False  # it is not negative either where what it is made from is not
        self.most: int | None = None  # characters of a String at most
        self.counts = ""  # the local that this is one step more than

    @property
    def simple(self) -> bool:
        """A name or a constant: it may be written more than once."""
        return self.text.isidentifier() or self.text.lstrip("-").isdigit()


    @property
    def name(self) -> str:
        """The name or constant that it is, or the variable that it is put into; "" without one."""
        return self.text if self.simple else "" if self.bare is None else self.bare[0]

    def of_kind(self, kind: Kind) -> Entry:
        """The same value, of which more is known."""
        found = Entry(self.text)
        for name in self.__slots__:
            setattr(found, name, getattr(self, name))
        found.kind = kind
        return found

    def renamed(self, text: str) -> Entry:
        """What is known of it, of another variable."""
        return Entry(text, self.kind, low=self.low, high=self.high).certain(self)

    def certain(self, other: Entry) -> Entry:
        """It is the same value as another entry."""
        self.sure, self.number = other.sure, other.number
        return self

    @property
    def numeric(self) -> bool:
        """Whether Python cannot take it for a sequence: what has bounds was compared or computed."""
        return self.sure or self.number or self.low is not None or self.high is not None


class Writer:
    """`out`: the statements being written; `stack`: the operand stack of this function; `at`: the instruction."""

    def __init__(self) -> None:
        self.out: list[Statement] = []
        self.stack: list[Entry] = []
        self.sites: list[Site] = []
        self.at = 0
        self.temporaries = 0
        self.read: set[str] = set()  # variables for elements that are read again

    # ------------------------------------------------------------ places

    def place(self, index: int, stack: list[Entry] | None = None) -> str:
        """The mark of a place; with a stack where control may leave, whose entries get names that the frame will have."""
        if stack is not None:
            self.name_all(stack)
        self.sites.append(Site(index, None if stack is None else tuple([entry.text for entry in stack])))
        return mark(len(self.sites) - 1)

    def name_all(self, stack: list[Entry]) -> None:
        for position, entry in enumerate(stack):
            if not entry.simple:
                stack[position] = self.named_anew(entry)

    def here(self) -> str:
        return self.place(self.at)

    def at_element(self, array: str, index: str) -> str:
        """The mark of a read or write by position, which Python's own test of the position guards."""
        self.sites.append(Site(self.at, None, (array, index)))
        return mark(len(self.sites) - 1)

    # ------------------------------------------------------------ entries

    def push(self, entry: Entry) -> None:
        self.stack.append(entry)
        if entry.deep > DEEPEST:
            self.settle()
            self.stack[-1] = self.named(self.stack[-1])

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def named(self, entry: Entry) -> Entry:
        """The same value under a name, so that it can be written more than once."""
        if entry.simple:
            return entry
        return self.named_anew(entry)

    def pop(self) -> Entry:
        return self.stack.pop()

    def pop_named(self) -> Entry:
        """The top under a name."""
        if self.stack[-1].simple:
            return self.stack.pop()
        top = self.stack.pop()
        self.settle()
        return self.named(top)

    def taken(self, count: int) -> list[Entry]:
        """The `count` entries on top, deepest first."""
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def settle(self, raw: bool = True) -> None:
        """Everything on the stack that is not pure happens now; what a Map gave may wait for the test whether it is there."""
        for position, entry in enumerate(self.stack):
            if not entry.pure and (raw or entry.raw is None):
                self.stack[position] = self.named(entry)

    def forget(self, name: str) -> None:
        """A variable changes: what depends on it gets its old value."""
        if any(name in entry.uses and not entry.pure and not entry.simple for entry in self.stack):
            self.settle()
        for position, entry in enumerate(self.stack):
            if name in entry.uses:
                copy = self.temporary()
                self.out.append(f"{copy} = {entry.text}")
                self.stack[position] = Entry(copy, entry.kind, low=entry.low, high=entry.high).certain(entry)

    def named_anew(self, entry: Entry) -> Entry:
        if entry.bare is not None:
            name, text = entry.bare
            self.out.append(f"{name} = {text}")
            return Entry(name, entry.kind, pure=False, uses=frozenset({name}), low=entry.low, high=entry.high).certain(entry)
        name = self.temporary()
        self.out.append(f"{name} = {entry.text}")
        found = Entry(name, entry.kind, low=entry.low, high=entry.high).certain(entry)
        found.most = entry.most
        return found

    def statement(self, text: str) -> None:
        """A statement with effects."""
        self.settle()
        self.out.append(text)

    def canonical(self) -> None:
        """The stack as it is where control flow joins: position n in the variable sn."""
        if sum([not entry.pure for entry in self.stack]) > 1:
            self.settle()
        for position, entry in enumerate(self.stack):
            name = f"s{position}"
            if entry.text == name:
                continue
            for later in range(position + 1, len(self.stack)):
                if name in self.stack[later].uses or self.stack[later].text == name:
                    self.stack[later] = self.named_anew(self.stack[later])
            self.out.append(f"{name} = {entry.text}")
            self.stack[position] = Entry(name, entry.kind, uses=frozenset({name}), low=entry.low)


def slot_of(text: str) -> int:
    """The local that a text is, else -1."""
    return int(text[1:]) if text[:1] == "l" and text[1:].isdigit() else -1


def joined(entries: Iterable[Entry]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for entry in entries:
        found |= entry.uses
    return found


def depth(entries: Iterable[Entry]) -> int:
    return 1 + max([entry.deep for entry in entries], default=0)


def canonical_stack(count: int) -> list[Entry]:
    return [Entry(f"s{position}", uses=frozenset({f"s{position}"})) for position in range(count)]
