"""What the translator knows of values at translation time: the domain of its abstract interpretation (V-7.2).

A `Value` is an abstract value: the Python expression that computes a value of the operand stack or of a local, with its kind, its
bounds and what else holds of it. `Facts` is what holds at one point of the program: bounds of locals, elements and results that
variables hold already. The functions at the end are the lattice that the fixpoint over a whole function climbs down: the search
in `functions` for what holds of a local wherever it is read.

Hands on `Value`, NOTHING (a value of which nothing is known) and questions about values (`slot_of`, `variables_of`,
`depth_around`) to all that translates, `canonical_stack` to `control` and `functions`, the type `Limit` to the emitter and
`arithmetic`, `Facts` to the emitter, `branches` and `control`, the lattice (`join_values`, `optimistic`, `confirms`, `improves`)
to `functions`, READING to `control`, MOST_STEP to `arithmetic`, MOST_COUNTED to `values`, and TESTED to both. An opcode that is
in none of the sets KEEPING, ESCAPING and READING is taken to change anything, so a new one needs no entry. Nothing here writes
text or knows the emitter, whose forms read the facts and change them.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from .kinds import ANY, PLAIN, SCALARS, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .kinds import Kind

    # of a local: at least, at most; the number of its variant; what divides it without remainder
    Limit = tuple[int, int | None, int | None, int | None, int | None]

MOST_STEP = 16  # the largest step of a local that is taken for one that counts
MOST_COUNTED = 1 << 60  # further than any run counts in such steps: at ten nanoseconds each it is twenty years away


class Value:
    """An abstract value. `text` is the Python expression, "" where only the rest matters. `kind`: what is known of its type.
    `pure`: it cannot fail, and gives the same as long as the variables in `uses` do. `depth`: parentheses in one another. `low`
    and `high`: the bounds of an Int, both included, None where nothing is known."""

    __slots__ = (
        "text", "kind", "pure", "uses", "depth", "low", "high", "certain", "is_number", "length", "max_length", "elements",
        "range", "upper_bound", "unboxed", "unboxed_kind", "binding", "if_true", "if_false", "less_true", "less_false", "variant",
        "divisor", "zero_test", "remainder_of", "keeps_sign", "increment_of", "asks", "parts",
        "elements_marked", "error", "payload",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        kind: Kind = ANY,
        *,
        pure: bool = True,
        uses: frozenset[str] = frozenset(),
        depth: int = 0,
        low: int | None = None,
        high: int | None = None,
    ) -> None:
        self.text = text
        self.kind = kind
        self.pure = pure
        self.uses = uses
        self.depth = depth
        self.low = low
        self.high = high
        self.certain = False  # it is of its kind whatever the image says of types
        self.is_number = False  # it is an Int, a Float or a Bool, whatever that says
        self.length: int | None = None  # characters of a String constant, or rounds of a walk over constants
        self.max_length: int | None = None  # characters of a String at most
        self.elements = ""  # of an Array that nothing else sees: the expression of its list, for a walk
        self.range: tuple[Value, Value, bool] | None = None  # start, end and inclusiveness of a range that nothing else sees
        self.upper_bound = ""  # of an element of a range: the end of that, which it is less than
        self.unboxed: str | None = None  # of an Option or Result that is not built yet: the variable with its payload or END
        self.unboxed_kind = ANY  # the kind of that payload
        self.binding: tuple[str, str] | None = None  # where the text also assigns a variable: that, and the text without it
        self.if_true: tuple[Limit, ...] = ()  # what a Bool says of locals when it is true
        self.if_false: tuple[Limit, ...] = ()
        self.less_true: tuple[tuple[str, str], ...] = ()  # pairs of locals, the first less than the second
        self.less_false: tuple[tuple[str, str], ...] = ()
        self.variant: int | None = None  # the number of the variant of an enum value
        self.divisor: int | None = None  # what divides an Int without remainder
        self.zero_test: Value | None = None  # of a remainder: a simpler value that is 0 for the same operands
        self.remainder_of = ""  # of such: the local that was divided
        self.keeps_sign = False  # it is not negative where what it is computed from is not
        self.increment_of = ""  # the local that this is one step more than
        self.asks: tuple[str, bool] | None = None  # of a test of what is not built: its variable, and whether true means absent
        self.elements_marked = False  # what an Array that nothing else sees holds is marked as shared; of an element, it is
        self.error: tuple[list[Any], str] | None = None  # of an Option before `ok_or` and `?`: what makes the error, and it
        self.payload: tuple[str, int, int] | None = None  # of a part of a payload: the enum value, an atom; which of how many
        self.parts: tuple[Value, ...] = ()  # of a tuple that was built here: its parts, as atoms

    @property
    def is_atom(self) -> bool:
        """Whether the text is a name or a constant, which may be written more than once."""
        return self.text.isidentifier() or self.text.lstrip("-").isdigit()

    @property
    def name(self) -> str:
        """The name or constant that it is, or the variable that the text also assigns; "" without one."""
        return self.text if self.is_atom else "" if self.binding is None else self.binding[0]

    @property
    def numeric(self) -> bool:
        """Whether Python cannot take it for a sequence: what has bounds was compared or computed."""
        return self.certain or self.is_number or self.low is not None or self.high is not None

    def with_kind(self, kind: Kind) -> Value:
        """Return a copy with another kind."""
        copy = Value(self.text)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.kind = kind
        return copy

    def under_name(self, name: str) -> Value:
        """Return what stays true of the value when it is read from a variable."""
        return Value(name, self.kind, low=self.low, high=self.high).with_certainty_of(self)

    def with_certainty_of(self, other: Value) -> Value:
        """Make this value as certain of its kind as another one that is the same at run time, and return it itself."""
        self.certain, self.is_number = other.certain, other.is_number
        return self


NOTHING = Value("")
# What a test says of an Option or Result: the `variant` of the value where it holds. Variants of enums are natural numbers. What
# is no Some is None (`IS_NONE`) where the kind is that of an Option.
TESTED = {"IS_SOME": -1, "IS_OK": -2, "IS_ERR": -3}
IS_NONE = -4


def slot_of(text: str) -> int:
    """Return the number of the local that an expression is, else -1."""
    return int(text[1:]) if text[:1] == "l" and text[1:].isdigit() else -1


def variables_of(values: Iterable[Value]) -> frozenset[str]:
    """Return the variables that the expressions of some values read."""
    return frozenset().union(*[value.uses for value in values])


def depth_around(values: Iterable[Value]) -> int:
    """Return the depth of an expression with these inside it."""
    return 1 + max([value.depth for value in values], default=0)


def canonical_stack(count: int) -> list[Value]:
    """Return the operand stack where control flow joins: position n is in the variable sn."""
    return [Value(f"s{position}", uses=frozenset({f"s{position}"})) for position in range(count)]


# ---------------------------------------------------------------- opcodes and what they leave true

# After these, facts of elements still hold, and who sees the elements is as before.
KEEPING = frozenset(
    op.number for op in OPCODES if op.name in (
        "CONST", "INT", "NIL", "TRUE", "FALSE", "NONE", "POP", "DUP", "SWAP", "LOAD", "STORE", "LOAD_CELL", "LOAD_OWN",
        "SHARE", "MOVE", "TAKE_FIELD", "TAKE_INDEX", "TAKE_ENTRY", "CALL_BUILTIN",  # their translation changes the facts itself
        "INDEX_OWN", "FIELD_OWN", "SET_FIELD", "SET_INDEX", "ADD", "SUB", "MUL", "DIV", "REM", "NEG", "NOT", "CONCAT", "JOIN",
        "GET_FIELD", "GET_ELEMENT", "GET_PAYLOAD", "INDEX", "INDEX_ARRAY", "LENGTH", "INT_TO_FLOAT", "JUMP", "JUMP_IF",
        "JUMP_UNLESS", "NEXT", "RANGE", "TUPLE", "ARRAY", "STRUCT",
    ) or op.name.endswith(("_INT", "_FLOAT")) or op.name.startswith("IS_") or op.name in ("EQ", "NE", "LT", "LE", "GT", "GE")
)  # fmt: skip
# After these they hold too, but a container may have escaped into another place.
ESCAPING = frozenset({BY_NAME[name].number for name in ("CALL", "SOME", "OK", "ERR", "UNWRAP", "TRY")})
# These write into no container, and only the last two let one escape.
READING = frozenset(
    op.number for op in OPCODES if op.name in (
        "CONST", "INT", "NIL", "TRUE", "FALSE", "NONE", "POP", "DUP", "SWAP", "LOAD", "STORE", "NOT", "GET_FIELD", "GET_ELEMENT",
        "GET_PAYLOAD", "INDEX_ARRAY", "LENGTH", "INT_TO_FLOAT", "JUMP", "JUMP_IF", "JUMP_UNLESS", "UNWRAP", "SHARE",
    ) or op.name.endswith(("_INT", "_FLOAT")) or op.name.startswith("IS_")
)  # fmt: skip


class Facts:
    """What holds at one point of the program.

    `slots`: what is known of locals here beyond what holds everywhere; the text of an entry names the local with the same
    value. `elements`: by array and position (both as texts), or by struct and field, the variable that holds the element
    already, and whether only that array sees it. `unique`: variables of arrays that no other variable sees. `opened`: arrays
    whose list is in a variable and has been made unique, each with the loop that it is promoted in. `variants`: by variable
    with an enum value, the variable with the number of its variant. `spare`: arrays with room for one element more.
    `results`: by an operation on Ints and its operands, the variable with the result (available expressions). `less`: pairs
    of variables, the first less than the second. `absent`: by the variable of an Option or Result that is not built, whether
    it is None or an Err, where a test has told.
    """

    __slots__ = ("slots", "elements", "unique", "opened", "variants", "spare", "results", "less", "absent")

    def __init__(self) -> None:
        self.slots: dict[int, Value] = {}
        self.elements: dict[tuple[str, str], tuple[str, bool]] = {}
        self.unique: frozenset[str] = frozenset()
        self.opened: frozenset[tuple[str, int]] = frozenset()
        self.variants: dict[str, str] = {}
        self.spare: frozenset[str] = frozenset()
        self.results: dict[tuple[str, ...], str] = {}
        self.less: frozenset[tuple[str, str]] = frozenset()
        self.absent: dict[str, bool] = {}

    def copy(self) -> Facts:
        """Return other facts that say the same; a change of one does not change the other."""
        other = Facts()
        other.slots, other.elements, other.unique = self.slots.copy(), self.elements.copy(), self.unique
        other.opened, other.variants, other.spare = self.opened, self.variants.copy(), self.spare
        other.results, other.less, other.absent = self.results.copy(), self.less, self.absent.copy()
        return other

    # ------------------------------------------------------------ across several instructions

    def after_stores(self, stored: Iterable[int]) -> Facts:
        """Return new facts: what still holds after any code that assigns these locals, and no other."""
        other = Facts()
        other.opened = self.opened
        changed = set(stored)
        for slot, value in self.slots.items():
            if slot not in changed:
                lost = value.text != f"l{slot}" and int(value.text[1:]) in changed
                other.slots[slot] = value.under_name(f"l{slot}") if lost or value.parts or value.range else value
        killed = {f"l{slot}" for slot in changed}
        other.less = frozenset([pair for pair in self.less if killed.isdisjoint(pair)])
        return other

    def after_pure_code(self, stored: Iterable[int]) -> Facts:
        """Return new facts: what still holds after code of `READING` opcodes that assigns these locals, and no other."""
        other = self.copy()
        for slot in stored:
            other.kill(f"l{slot}")
        other.escape()
        other.slots = self.after_stores(stored).slots
        for key, (variable, _) in list(other.elements.items()):
            if "s" in (key[0][0], key[1][0], variable[0]):  # a position of the operand stack, which is another one there
                del other.elements[key]
        other.results = {key: name for key, name in other.results.items() if not any(part[0] == "s" for part in (name, *key))}
        return other

    def after(self, number: int) -> None:
        """Forget what may not hold any more once an instruction with this opcode was translated."""
        if number in KEEPING:
            return
        if number in ESCAPING:
            self.escape()
        else:
            self.kill_all_elements()

    # ------------------------------------------------------------ single events

    def kill(self, name: str) -> None:
        """Forget what depends on a variable, since it gets another value."""
        self.unique -= {name}
        self.spare -= {name}
        self.variants.pop(name, None)
        self.absent.pop(name, None)
        self.forget_parts(name)
        self.less = frozenset([pair for pair in self.less if name not in pair])
        self.results = {key: result for key, result in self.results.items() if name != result and name not in key}
        for slot, value in list(self.slots.items()):
            if name in (value.text, f"l{slot}"):
                self.slots[slot] = value.under_name(f"l{slot}")
                if name == f"l{slot}":
                    del self.slots[slot]
        for key, (variable, _) in list(self.elements.items()):
            if name in key or name == variable:
                del self.elements[key]

    def forget_parts(self, name: str) -> None:
        """Forget of tuples and ranges that they have what is in a variable, which gets another value."""
        for slot, value in self.slots.items():
            parts = value.parts if value.range is None else value.range[:2]
            if any(part.text == name for part in parts):
                self.slots[slot] = value.under_name(value.text)

    def kill_elements(self, array: str) -> None:
        """Forget the elements of an array of which one was replaced, at any position. Two elements of elements may belong to one
        array."""
        for key in list(self.elements):
            if key[0] == array or (array[0] != "l" and key[0][0] != "l"):
                del self.elements[key]

    def kill_field(self, field: int) -> None:
        """Forget a field that was assigned in some struct; other variables may hold the same struct."""
        for key in [key for key in self.elements if key[1] == f".f{field}"]:
            del self.elements[key]

    def kill_all_elements(self) -> None:
        """Forget all elements: anything may have been written into any container."""
        self.elements.clear()
        self.unique = self.spare = frozenset()

    def escape(self, array: str | None = None) -> None:
        """Take note that the elements of an array may be seen from another place now; with None, all arrays and their
        elements."""
        if array is None:
            self.unique = frozenset()
        for key, (variable, alone) in list(self.elements.items()):
            if alone and (array is None or key[0] == array):
                self.elements[key] = (variable, False)


# ---------------------------------------------------------------- the lattice of the fixpoint


def join_values(slot: Any, values: list[Value]) -> Value:
    """Return what holds of all values, of which there is at least one, that are stored under one key of the invariants, here
    `slot`. A lower bound is 0, 1 or unknown, so that the chain is finite. A local that only counts in small steps, from a bounded
    start, comes to no overflow."""
    kind = join([value.kind for value in values])
    lows = [-1 if value.low is None else value.low for value in values]
    fixed = [value for value in values if value.increment_of != f"l{slot}"]
    highs = [value.high for value in fixed if value.high is not None]
    low = None if min(lows) < 0 else min(1, *lows)
    high = max(highs, default=None) if len(highs) == len(fixed) else None
    if len(fixed) < len(values):
        high = high + MOST_COUNTED if high is not None and high <= MOST_COUNTED else None
    joined = Value("", kind, low=low, high=high)
    joined.certain, joined.is_number = all(value.certain for value in values), all(value.numeric for value in values)
    return joined


def optimistic(joined: Value, values: list[Value]) -> Value:
    """Return the join, with the assumption that it is never negative where no single value contradicts that."""
    if joined.kind[0] == "int" and joined.low is None and all(
        value.low is None or value.low >= 0 or value.keeps_sign for value in values
    ):
        return Value("", joined.kind, low=0, high=joined.high).with_certainty_of(joined)
    return joined


def confirms(joined: Value | None, assumed: Value) -> bool:
    """Return whether the join of all stores, computed under an assumption, implies it. True without stores (`joined` None): what
    nothing stores is never read."""
    if joined is None:
        return True
    kind = assumed.kind in (ANY, joined.kind) or (assumed.kind[1] == -1 and assumed.kind[0] == joined.kind[0])
    kind = kind or (assumed.kind == PLAIN and joined.kind[0] in SCALARS)
    low = assumed.low is None or (joined.low is not None and joined.low >= assumed.low)
    low = low and assumed.certain <= joined.certain and assumed.is_number <= joined.is_number
    return kind and low and (assumed.high is None or (joined.high is not None and joined.high <= assumed.high))


def improves(value: Value, assumed: Value | None) -> bool:
    """Return whether a value says more than what is assumed."""
    if assumed is None:
        return True
    bounded = (value.low is not None and assumed.low is None) or (value.high is not None and assumed.high is None)
    surer = value.certain > assumed.certain or value.is_number > assumed.is_number
    return bounded or surer or value.kind not in (ANY, assumed.kind)
