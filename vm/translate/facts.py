"""What holds on the path that control is on: of locals, and of elements that variables hold (V-7.2).

Hands on `Facts`, and `Storage`, the uses of arrays that let their lists be kept in variables. Must not know: Python text,
opcodes' meaning.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from .kinds import Kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .flow import Flow
    from .inlining import Body
    from .stack import Entry

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
