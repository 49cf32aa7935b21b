"""What holds on the path that control is on: of locals, and of elements that variables hold (V-7.2).

Hands on `Facts`, and `Storage`, the uses of arrays that let their lists be kept in variables. Must not know: Python text,
opcodes' meaning.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from .library import Site
from .text import mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .flow import Flow
    from .inlining import Body
    from .text import Statement


# ----------------------------------------------------------------
# The operand stack of the bytecode at translation time: texts of expressions in place of values.
#
# An entry that may fail, or depends on what a statement could change, is settled into a temporary before any statement is
# written, so
# that all happens in the order of the bytecode. Hands on `Entry`, `Kind`, `Writer`.

if TYPE_CHECKING:
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
DEEPEST_STACK = 24  # parentheses around one another


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
        if entry.deep > DEEPEST_STACK:
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


# ----------------------------------------------------------------
# Kinds of values at translation time: those of the image's types, and of containers that a function makes (V-7.2).
#
# A kind is the word of a type descriptor and its number: in the image, behind these for what only a function knows of, -1
# where nothing is known inside, `EMPTY` for an Array or Map that nothing was put into yet. Nothing trusts a kind: what is done
# for it gives a panic for values of another (V-2.6). Hands on `Kinds`.

EMPTY = -3
DEEPEST = 3  # containers in one another whose kinds are told apart
WORDS = frozenset({"int", "float", "string", "bool", "nil"})
HOLDING = {"array": 1, "option": 1, "nilable": 1, "map": 2}  # where the type of what a container holds stands


class Kinds:
    def __init__(self, image: Any) -> None:
        self.types = image.types
        self.made: list[list[Any]] = []
        self.numbers: dict[Any, int] = {}

    def descriptor(self, number: int) -> Any:
        known = len(self.types)
        return self.types[number] if number < known else self.made[number - known]

    def of_type(self, number: int) -> Kind:
        descriptor = self.descriptor(number)
        return (descriptor[0], -1) if len(descriptor) == 1 else (descriptor[0], number)

    def number(self, kind: Kind) -> int:
        """The number that stands for a kind inside another."""
        return kind[1] if kind[1] >= 0 else self._made((kind[0],))

    def _made(self, key: tuple[Any, ...]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.types) + len(self.made)
            self.made.append([list(part) if isinstance(part, tuple) else part for part in key])
        return self.numbers[key]

    def _depth(self, kind: Kind) -> int:
        known = len(self.types)
        if kind[1] < known:
            return 0
        parts = self.made[kind[1] - known][1:]
        inner = [number for part in parts for number in (part if isinstance(part, list) else [part])]
        return 1 + max([self._depth(self.of_type(number)) for number in inner], default=0)

    def holding(self, word: str, *inner: Kind) -> Kind:
        """A container of declared kind that holds values of these kinds."""
        if any(self._depth(kind) >= DEEPEST for kind in inner) or all(kind == ANY for kind in inner):
            return (word, -1)
        return (word, self._made((word, *[self.number(kind) for kind in inner])))

    def tuple(self, parts: Iterable[Kind]) -> Kind:
        parts = list(parts)
        word = "plain" if all(kind[0] in SCALARS for kind in parts) else "tuple"
        if any(self._depth(kind) >= DEEPEST for kind in parts):
            return (word, -1)
        return (word, self._made((word, tuple([self.number(kind) for kind in parts]))))

    def inner(self, kind: Kind, position: int = 0) -> Kind:
        """The kind of what a container holds."""
        if kind[1] < 0 or kind[0] not in HOLDING:
            return ANY
        return self.of_type(self.descriptor(kind[1])[position or HOLDING[kind[0]]])

    def element(self, kind: Kind, position: int) -> Kind:
        """The kind of a part of a tuple."""
        if kind[0] in ("tuple", "plain") and kind[1] >= 0:
            parts = self.descriptor(kind[1])[1]
            return self.of_type(parts[position]) if position < len(parts) else ANY
        return PLAIN if kind[0] == "plain" else ANY

    def field(self, kind: Kind, position: int) -> Kind:
        if kind[0] in ("struct", "schema") and kind[1] >= 0:
            fields = self.descriptor(kind[1])[2]
            return self.of_type(fields[position][1]) if position < len(fields) else ANY
        return ANY

    def payload(self, kind: Kind, variant: int, position: int) -> Kind:
        """The kind of a part of an enum value of a variant."""
        if kind[0] != "enum" or kind[1] < 0 or variant >= len(self.descriptor(kind[1])[2]):
            return ANY
        parts = self.descriptor(kind[1])[2][variant][1]
        return self.of_type(parts[position]) if position < len(parts) else ANY

    def result(self, descriptor: Any, receiver: Any, kind: Kind) -> Kind:
        """What a built-in method gives, by its signature, on a receiver of that kind."""
        word = descriptor[0]
        if word in WORDS:
            return (str(word), -1)
        if word in ("array", "option"):
            return self.holding(word, self.result(descriptor[1], receiver, kind))
        if word == "var" and receiver is not None and receiver[0] in HOLDING and receiver[HOLDING[receiver[0]]] == descriptor:
            return self.inner(kind)
        return (word, -1) if word in ("map", "result") else ANY

    def filled(self, kind: Kind, put: Kind, key: Kind) -> Kind:
        """The kind of an Array or Map that elements of a kind, under keys of a kind, were put into, too."""
        if kind[1] == -1:
            return kind
        inner = put if kind[1] == EMPTY else joint([self.inner(kind), put])
        if kind[0] == "array":
            return self.holding("array", inner)
        return self.holding("map", key if kind[1] == EMPTY else joint([self.inner(kind, 1), key]), inner)


def joint(kinds: Iterable[Kind]) -> Kind:
    """What holds of values of any of these kinds."""
    found = set(kinds)
    if len(found) > 1 and len({word for word, _ in found}) == 1:
        found.discard((next(iter(found))[0], EMPTY))
    if len(found) == 1:
        return found.pop()
    words = {word for word, _ in found}
    if len(words) == 1:
        return (words.pop(), -1)
    return PLAIN if words <= SCALARS else ANY


# ----------------------------------------------------------------

LOAD, LOAD_OWN, STORE, SWAP, CALL_BUILTIN = (
    BY_NAME[name].number for name in ("LOAD", "LOAD_OWN", "STORE", "SWAP", "CALL_BUILTIN")
)  # fmt: skip
# Opcodes, and the operand that is read or written in place: no other variable sees the array then.
READS = {BY_NAME[name].number: 0 for name in ("INDEX_ARRAY", "INDEX", "LENGTH")}
WRITES = {BY_NAME["SET_INDEX"].number: 1, BY_NAME["INDEX_OWN"].number: 0}
READ_BY = frozenset({("Array", "len"), ("Array", "is_empty"), ("Map", "len"), ("Map", "has"), ("Map", "get")})
WRITTEN_BY = frozenset({("Array", "push"), ("Array", "pop"), ("Map", "set")})
INDEXING = frozenset({BY_NAME[name].number for name in ("INDEX_ARRAY", "INDEX", "INDEX_OWN")})
# After these what is known of elements still holds, and who sees them.
KEEPING = frozenset(
    op.number for op in OPCODES if op.name in (
        "CONST", "INT", "NIL", "TRUE", "FALSE", "NONE", "POP", "DUP", "SWAP", "LOAD", "STORE", "LOAD_CELL", "LOAD_OWN",
        "SHARE", "CALL_BUILTIN",  # these say so themselves
        "INDEX_OWN", "FIELD_OWN", "SET_FIELD", "SET_INDEX", "ADD", "SUB", "MUL", "DIV", "REM", "NEG", "NOT", "CONCAT", "JOIN",
        "GET_FIELD", "GET_ELEMENT", "GET_PAYLOAD", "INDEX", "INDEX_ARRAY", "LENGTH", "INT_TO_FLOAT", "JUMP", "JUMP_IF",
        "JUMP_UNLESS", "NEXT", "RANGE", "TUPLE", "ARRAY", "STRUCT",
    ) or op.name.endswith(("_INT", "_FLOAT")) or op.name.startswith("IS_") or op.name in ("EQ", "NE", "LT", "LE", "GT", "GE")
)  # fmt: skip
# After these it holds too, but others may see the elements.
SHOWING = frozenset({BY_NAME[name].number for name in ("CALL", "SOME", "OK", "ERR", "UNWRAP", "TRY")})


# These do not change a container, and only the last two let anything else see it.
QUIET = frozenset(
    op.number for op in OPCODES if op.name in (
        "CONST", "INT", "NIL", "TRUE", "FALSE", "NONE", "POP", "DUP", "SWAP", "LOAD", "STORE", "NOT", "GET_FIELD", "GET_ELEMENT",
        "GET_PAYLOAD", "INDEX_ARRAY", "LENGTH", "INT_TO_FLOAT", "JUMP", "JUMP_IF", "JUMP_UNLESS", "UNWRAP", "SHARE",
    ) or op.name.endswith(("_INT", "_FLOAT")) or op.name.startswith("IS_")
)  # fmt: skip


class Facts:
    """`slots`: what is known of locals here, beside what holds everywhere; its text is the local with the same value.
    `elements`: by array and position, both as texts, the variable with the element and whether nothing else sees it; by struct
    and field too, where that holds a scalar. `owned`: variables of arrays that nothing else sees. `opened`: arrays with a list in
    a variable that a write has asked about already, and the loop that it is kept in. `variants`: by variable with an enum value,
    the variable with its variant. `spare`: arrays with room for one element more. `results`: by an operation on Ints and its
    variables, the variable with its result. `less`: pairs of variables of which the first is less than the second."""

    __slots__ = ("slots", "elements", "owned", "opened", "variants", "spare", "results", "less")

    def __init__(self) -> None:
        self.slots: dict[int, Entry] = {}
        self.elements: dict[tuple[str, str], tuple[str, bool]] = {}
        self.owned: frozenset[str] = frozenset()
        self.opened: frozenset[tuple[str, int]] = frozenset()
        self.variants: dict[str, str] = {}
        self.spare: frozenset[str] = frozenset()
        self.results: dict[tuple[str, ...], str] = {}
        self.less: frozenset[tuple[str, str]] = frozenset()

    def copy(self) -> Facts:
        other = Facts()
        other.slots, other.elements, other.owned = self.slots.copy(), self.elements.copy(), self.owned
        other.opened, other.variants, other.spare = self.opened, self.variants.copy(), self.spare
        other.results, other.less = self.results.copy(), self.less
        return other

    def limited(self, stored: Iterable[int]) -> Facts:
        """What still holds of locals when these were assigned."""
        other = Facts()
        other.opened = self.opened
        changed = set(stored)
        for slot, entry in self.slots.items():
            if slot not in changed:
                lost = entry.text != f"l{slot}" and int(entry.text[1:]) in changed
                other.slots[slot] = entry.renamed(f"l{slot}") if lost else entry
        gone = {f"l{slot}" for slot in changed}
        other.less = frozenset([pair for pair in self.less if gone.isdisjoint(pair)])
        return other

    def kept(self, stored: Iterable[int]) -> Facts:
        """The same where nothing else was done than to compute, and to assign these."""
        other = self.copy()
        for slot in stored:
            other.changed(f"l{slot}")
        other.shown()
        other.slots = self.limited(stored).slots
        for key, (variable, _) in list(other.elements.items()):
            if "s" in (key[0][0], key[1][0], variable[0]):  # the operand stack is another one
                del other.elements[key]
        other.results = {key: name for key, name in other.results.items() if not any(part[0] == "s" for part in (name, *key))}
        return other

    def changed(self, name: str) -> None:
        """A variable has another value."""
        self.owned -= {name}
        self.spare -= {name}
        self.variants.pop(name, None)
        self.less = frozenset([pair for pair in self.less if name not in pair])
        self.results = {key: found for key, found in self.results.items() if name != found and name not in key}
        for slot, entry in list(self.slots.items()):
            if name in (entry.text, f"l{slot}"):
                self.slots[slot] = entry.renamed(f"l{slot}")
                if name == f"l{slot}":
                    del self.slots[slot]
        for key, (variable, _) in list(self.elements.items()):
            if name in key or name == variable:
                del self.elements[key]

    def written(self, array: str) -> None:
        """An element of an array was replaced, by a position that may be any. Elements of elements may be of one array."""
        for key in list(self.elements):
            if key[0] == array or (array[0] != "l" and key[0][0] != "l"):
                del self.elements[key]

    def replaced(self, field: int) -> None:
        """A field of a struct was assigned; variables may hold the same one."""
        for key in [key for key in self.elements if key[1] == f".f{field}"]:
            del self.elements[key]

    def shown(self, array: str | None = None) -> None:
        """Others may see the elements: of an array, or of all, and these arrays too."""
        if array is None:
            self.owned = frozenset()
        for key, (variable, alone) in list(self.elements.items()):
            if alone and (array is None or key[0] == array):
                self.elements[key] = (variable, False)

    def after(self, number: int) -> None:
        """An instruction was done that says nothing of elements by itself."""
        if number in KEEPING:
            return
        if number in SHOWING:
            self.shown()
        else:
            self.forgotten()

    def forgotten(self) -> None:
        """Anything may have been done to elements."""
        self.elements.clear()
        self.owned = self.spare = frozenset()


class Storage:
    """`uses`: by local, the instructions that load it, and whether they do so for a read in place (1), a write in place (2) or
    anything else (0). `repeated`: locals of which more than one element is read or written. `parameters`: those that are never
    assigned."""

    def __init__(self, facts: Body, image: Any, parameters: int) -> None:
        self.kinds = Kinds(image)
        self.parameters = frozenset(range(parameters))
        self.instructions = facts.instructions
        self.depths = facts.depths
        self.image = image
        self.targets = {
            facts.index_of[operand] for _, number, operand in facts.instructions if OPCODES[number].kind is k.LABEL
        }
        self.uses: dict[int, dict[int, int]] = {}
        indexed: dict[int, int] = {}
        for at, (_, number, operand) in enumerate(facts.instructions):
            if number == STORE:
                self.parameters -= {operand}
            elif number in (LOAD, LOAD_OWN) and self.depths[at] >= 0:
                by, position = self.consumer(at)
                self.uses.setdefault(operand, {})[at] = self.use(number, by, position)
                if by >= 0 and facts.instructions[by][1] in INDEXING and position == 0:
                    indexed[operand] = indexed.get(operand, 0) + 1
        self.repeated = frozenset(slot for slot, count in indexed.items() if count > 1)

    def filled(self, known: dict[Any, Entry]) -> dict[Any, Entry]:
        """What is known of locals, Arrays with what is put into them; a parameter's type says that already."""
        found = known.copy()
        for slot, entry in known.items():
            if entry.kind[0] in ("array", "map") and slot not in self.parameters and ("element", slot) in known:
                found[slot] = entry.renamed("")
                found[slot].kind = self.kinds.filled(entry.kind, known["element", slot].kind, known["key", slot].kind)
        return found

    def consumer(self, at: int) -> tuple[int, int]:
        """The instruction that pops what one pushes, and as which operand; -1 if paths part before."""
        place = self.depths[at]
        for by in range(at + 1, len(self.instructions) - 1):
            op = OPCODES[self.instructions[by][1]]
            if by in self.targets or op.flow in ("jump", "stop") or self.depths[by + 1] < 0:
                break
            depth = self.depths[by]
            if op.number == SWAP and depth - place <= 2:
                place = 2 * depth - 3 - place
                continue
            pops = depth - self.depths[by + 1] + len(op.pushes)
            if depth - pops <= place:
                return by, place - (depth - pops)
            if op.flow != "next":
                break
        return -1, 0

    def use(self, number: int, by: int, position: int) -> int:
        if by < 0:
            return 0
        consumer = self.instructions[by][1]
        if consumer == CALL_BUILTIN and position == 0:
            called = self.called(by)
            if called in READ_BY:
                return 2 if number == LOAD_OWN else 1
            return 2 if called in WRITTEN_BY and number == LOAD_OWN else 0
        if number == LOAD_OWN:
            return 2 if WRITES.get(consumer) == position else 0
        return 1 if READS.get(consumer) == position else 0

    def growing(self, flow: Flow, body: frozenset[int], slot: int, word: str) -> frozenset[int]:
        """The instructions of these blocks that may put an element more into a local's Array or Map."""
        found: set[int] = set()
        for at, use in self.uses.get(slot, {}).items():
            by = self.consumer(at)[0] if use == 2 else -1
            inside = by >= 0 and any(start <= at < flow.blocks[start].end for start in body)
            if inside and (word == "map" or self.called(by) == ("Array", "push")):
                found.add(by)
        return frozenset(found)

    def called(self, at: int) -> tuple[str, ...]:
        """The built-in that an instruction calls, () for any other."""
        _, number, operand = self.instructions[at]
        if number != CALL_BUILTIN:
            return ()
        kind, value = self.image.constants[operand]
        return tuple(value) if kind == im.K_BUILTIN else ()

    def kept(self, flow: Flow, body: frozenset[int]) -> dict[int, bool]:
        """The locals whose list may stay in a variable throughout a loop, and whether it writes them: they are not
        assigned in it, and seen by nothing else."""
        found: dict[int, bool] = {}
        refused: set[int] = set()
        for start in body:
            for at in range(start, flow.blocks[start].end):
                _, number, operand = self.instructions[at]
                if number == STORE:
                    refused.add(operand)
                elif number in (LOAD, LOAD_OWN):
                    use = self.uses.get(operand, {}).get(at, 0)
                    if not use:
                        refused.add(operand)
                    found[operand] = found.get(operand, False) or use == 2
        return {slot: written for slot, written in sorted(found.items()) if slot not in refused}
