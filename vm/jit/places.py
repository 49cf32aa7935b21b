"""Opcodes that read and write variables, fields and elements (V-5.7), as Python statements.

Hands on `Places`. Must not know: control flow, calls, fuel.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME
from . import facts as s
from .analysis import WHOLES
from .facts import Entry, slot_of
from .text import Branch, Loop, Store, keeping
from .values import CONTAINERS, NOTHING, Expressions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .facts import Kind, Limit
    from .flow import Flow
    from .inlining import Body


class Places(Expressions):
    """`known`: an entry with what holds, per local everywhere in the function, and per block and position of the stack.
    `stored`: what is stored in each."""

    def __init__(self, program: Any, known: dict[Any, Entry]) -> None:
        super().__init__(program)
        self.known = known
        self.unmarked: set[int] = set()  # SHARE that marks nothing
        self.moved: set[int] = set()
        self.unnamed: set[int] = set()  # STORE of hidden locals
        self.advancing: set[int] = set()  # STORE that a walk does
        self.stored: dict[Any, list[Entry]] = {}
        self.marked: frozenset[str] = frozenset()  # variables whose value is marked as shared, or needs no mark

    # ------------------------------------------------------------ the operand stack

    def op_POP(self, operand: int) -> None:
        part = self.pop()
        if not part.pure and part.raw is None:
            self.statement(part.text)

    def op_DUP(self, operand: int) -> None:
        part = self.pop() if self.stack[-1].raw is not None else self.pop_named()
        self.push(part)
        self.push(part)

    def op_SWAP(self, operand: int) -> None:
        if not (self.stack[-1].pure or self.stack[-2].pure):
            self.settle()
        self.stack[-1], self.stack[-2] = self.stack[-2], self.stack[-1]

    def op_DROP(self, operand: int) -> None:
        if operand:
            self.settle()
            self.taken(operand)

    def op_SLIDE(self, operand: int) -> None:
        if operand:
            self.settle()
            top = self.pop()
            self.taken(operand)
            self.push(top)

    # ------------------------------------------------------------ locals

    def op_LOAD(self, operand: int) -> None:
        self.push(self.local(operand))

    def local(self, slot: int) -> Entry:
        fact = self.facts.slots.get(slot)
        name = f"l{slot}" if fact is None else fact.text
        if name != f"l{slot}":
            slot = int(name[1:])
            fact = self.facts.slots.get(slot)
        known = fact or self.known.get(slot, NOTHING)
        found = Entry(name, known.kind, uses=frozenset({name}), low=known.low, high=known.high)
        if fact is not None:
            found.variant, found.divisor = fact.variant, fact.divisor
        return found.certain(known)

    def store(self, slot: Any, part: Entry) -> None:
        self.stored.setdefault(slot, []).append(part)

    def assigned_here(self, slot: int, part: Entry) -> None:
        """What is known of a local from now on: of its value, and what holds of it everywhere."""
        name = f"l{slot}"
        everywhere = self.known.get(slot, NOTHING)
        open_kind = part.kind[0] not in s.SCALARS  # what is in a container may change in kind
        kind = everywhere.kind if open_kind and everywhere.kind[0] == part.kind[0] else part.kind
        kind = (kind[0], -1) if open_kind and kind is part.kind and kind[0] in ("array", "map") else kind
        low = max([known for known in (part.low, everywhere.low) if known is not None], default=None)
        high = min([known for known in (part.high, everywhere.high) if known is not None], default=None)
        same = not open_kind and slot_of(part.text) >= 0
        self.facts.changed(name)
        kind = everywhere.kind if kind == s.ANY else kind
        found = Entry(part.text if same else name, kind, low=low, high=high).certain(part)
        if kind == everywhere.kind:
            found.sure, found.number = found.sure or everywhere.sure, found.number or everywhere.number
        self.facts.slots[slot] = found

    def learn(self, limits: Iterable[Limit]) -> None:
        """Bounds of locals that hold on this path."""
        for slot, low, high, variant, divisor in limits:
            now = self.local(slot)
            now.variant = now.variant if variant is None else variant
            now.divisor = now.divisor if divisor is None else divisor
            if low is not None and (now.low is None or now.low < low):
                now.low = low
            if high is not None and (now.high is None or now.high > high):
                now.high = high
            self.facts.slots[slot] = now

    def op_STORE(self, operand: int) -> None:
        name = f"l{operand}"
        part = self.pop()
        self.store(operand, part)
        if part.text == name:
            return
        self.forget(name)
        self.assigned_here(operand, part)
        if self.at in self.advancing:
            if not part.pure:
                self.statement(part.text)
            return
        self.marked = self.marked | {name} if part.text in self.marked else self.marked - {name}
        if not part.pure:
            self.statement(f"{name} = {part.text}")
        elif self.at in self.unnamed:
            self.out.append(Store(operand, part.text))
        else:
            self.out.append(f"{name} = {part.text}")

    def store_concat(self, operand: int) -> bool:
        """CONCAT, STORE: a local that grows is extended where it lies, so that a loop of these is linear."""
        left, right = self.stack[-2:]
        name = f"l{operand}"
        if left.text != name or name in right.uses:
            return False
        right = self.pop_named()
        self.pop()
        self.forget(name)
        self.settle()
        self.marked -= {name}
        self.store(operand, Entry("", s.STRING))
        self.facts.changed(name)
        more = right.length or right.most
        check = Branch(f"len({name}) + {f'len({right.text})' if more is None else more} > Q")
        check.yes.append(f"{self.here()}check_concat({name}, {right.text})")
        self.out += [check, f"{name} += {right.text}"]
        return True

    # ------------------------------------------------------------ cells

    def op_NEW_CELL(self, operand: int) -> None:
        self.statement(f"c{operand} = Cell()")

    def op_LOAD_CELL(self, operand: int) -> None:
        self.push(Entry(f"c{operand}.value", pure=False, uses=frozenset({f"c{operand}"})))

    def op_STORE_CELL(self, operand: int) -> None:
        part = self.pop()
        self.statement(f"c{operand}.value = {part.text}")

    def op_CLOSURE(self, operand: int) -> None:
        cells = "".join([f"c{cell}, " for cell in self.image.functions[operand].captures])
        self.push(Entry(f"Closure({self.constant(BY_NAME['CLOSURE'], operand)}, ({cells}))", s.PLAIN, pure=False))

    # ------------------------------------------------------------ sharing and owning

    def op_SHARE(self, operand: int) -> None:
        if self.at in self.unmarked:
            return
        part = self.pop()
        if part.kind[0] in s.SCALARS or part.text in self.marked:
            self.push(part)
            return
        self.push(part)
        if not part.simple:
            self.settle()
            part = self.named(self.pop())
        else:
            self.pop()
        self.facts.shown()
        if self.at in self.moved and part.kind[0] in WHOLES:
            kept = Branch("KEEP")  # the old place is shown when the run ends in a panic
            kept.yes.append(f"{part.text}.shared = True")
            self.settle()
            self.out.append(kept)
            self.push(part)
            return
        self.marked |= {part.text}
        if part.kind[0] in CONTAINERS:
            self.statement(f"{part.text}.shared = True")
            self.push(part)
            return
        name = part.text  # most values are of one of these two kinds
        other = f"type({name}) is not int and (w := type({name})) is not str and w not in PLAIN"
        test = Branch(f"not {part.text}.shared" if part.kind[0] == "enum" else other)
        test.yes.append(f"share({part.text})")
        self.settle()
        self.out.append(test)
        self.push(part)

    def own(self, name: str, kind: Kind) -> None:
        """`name`, a variable, holds a container that only it sees; another kind of value is left to whoever writes it to
        refuse."""
        self.settle()
        self.marked -= {name}
        if kind[0] in CONTAINERS:
            test = Branch(f"{name}.shared")
            test.yes.append(f"{name} = {self.copying(kind)}({name})")
            self.out.append(test)
        else:
            self.out.append(f"{name} = owned({name})")

    def copying(self, kind: Kind) -> str:
        """What copies a container of a kind."""
        return "own_plain" if kind[0] == "array" and self.inner(kind)[0] in s.SCALARS else "own"

    def op_LOAD_OWN(self, operand: int) -> None:
        name = f"l{operand}"
        kind = self.local(operand).kind
        if self.storage.uses.get(operand, {}).get(self.at) != 2:
            self.put(name, s.ANY)
        if self.asks_later(name, self.storage.consumer(self.at)[0]):
            self.facts.shown(name)
        elif name not in self.facts.owned:
            if (name, self.lists.get(name)) not in self.facts.opened:
                self.forget(name)
            if name in self.lists:
                self.own_list(operand)
            else:
                self.own(name, kind)
            self.facts.shown(name)
            self.facts.owned |= {name} if kind[0] in CONTAINERS else frozenset()
        self.push(self.local(operand))

    def asks_later(self, name: str, by: int) -> bool:
        """Whether the push of an element asks whether its array is shared: only if the loop has not found out that it is not."""
        asked = name in self.facts.owned or (name, self.lists.get(name)) in self.facts.opened
        return not asked and by in self.roomy.get(name, ()) and self.storage.called(by) == ("Array", "push")

    def own_list(self, slot: int) -> None:
        """The same for an array whose list is in a variable: the first write in the loop asks, for all of them."""
        name = f"l{slot}"
        key = (name, self.lists[name])
        if key in self.facts.opened:
            return
        self.facts.opened |= {key}
        self.settle()
        self.marked -= {name}
        first, test = Branch(f"b{slot} is None"), Branch(f"l{slot}.shared")
        test.yes.append(f"l{slot} = {self.copying(self.local(slot).kind)}(l{slot})")
        first.yes += [test, f"a{slot} = b{slot} = l{slot}.items"]
        self.out.append(first)

    def op_CELL_OWN(self, operand: int) -> None:
        name = self.temporary()
        self.statement(f"{name} = own_cell(c{operand})")
        self.push(Entry(name))

    def op_FIELD_OWN(self, operand: int) -> None:
        part = self.pop_named()
        name = self.temporary()
        kind = self.kinds.field(part.kind, operand)
        self.statement(f"{self.here()}{name} = {part.text}.f{operand}")
        test = Branch(f"{name}.shared" if kind[0] in CONTAINERS else f"shared_mark({name})")
        test.yes.append(f"{name} = {part.text}.f{operand} = own({name})")
        self.out.append(test)
        self.facts.replaced(operand)
        self.push(Entry(name, kind))

    def op_INDEX_OWN(self, operand: int) -> None:
        part, index = self.stack[-2:]
        kind = self.inner(part.kind)
        if kind[0] in ("array", "map"):
            self.put(part.text, (kind[0], -1), index.kind)
        name, alone = self.facts.elements.get((part.text, index.text), ("", False))
        if alone:  # nothing to do, so what is pending may wait
            self.taken(2)
            self.read.add(name)
            self.push(Entry(name, kind, pure=False, uses=frozenset({name})))
            return
        index = self.pop_named()
        part = self.pop_named()
        self.settle()
        if part.kind[0] == "array" and index.kind[0] == "int":
            name = self.own_element(part, index, kind)
        else:
            name = self.temporary()
            self.out.append(f"{self.here()}{name} = op_INDEX_OWN({part.text}, {index.text})")
            self.facts.written(part.text)
        self.push(Entry(name, kind, pure=False, uses=frozenset({name})))

    def own_element(self, part: Entry, index: Entry, kind: Kind) -> str:
        """The variable with an element that only its array sees. Where a copy replaces it, those that may be the same follow."""
        key = (part.text, index.text)
        name, _ = self.facts.elements.get(key, ("", False))
        if name:
            self.read.add(name)
        else:
            name = self.temporary()
            self.out.append(f"{name} = ({self.element(part, index)})")
        known = self.facts.elements.items()
        others = [(other, *place) for place, (other, _) in known if place != key and may_be(place[0], part.text)]
        branch = Branch(f"{name}.shared")
        for variable in [name, *[other for other, _, _ in others]]:
            self.forget(variable)
            self.marked -= {variable}
        branch.yes.append(f"{name} = {self.items(part.text)}[{index.text}] = own({name})")
        branch.yes += [f"{other} = {self.items(array)}[{position}]" for other, array, position in others]
        attempt = Loop("try:", "except AttributeError:")
        attempt.body.append(branch)
        attempt.otherwise.append("pass")
        self.out.append(branch if kind[0] in CONTAINERS else attempt)
        self.facts.shown(name)
        if kind[0] in CONTAINERS:
            self.facts.elements[key] = (name, True)
        self.reached(index)
        return name

    # ------------------------------------------------------------ writing

    def op_SET_FIELD(self, operand: int) -> None:
        value, part = self.taken(2)
        if not part.simple:
            self.push(value)
            self.push(part)
            self.settle()
            value, part = self.taken(2)
            part = self.named(part)
        if value.kind[0] not in s.SCALARS:
            self.statement(f"{self.here()}{part.text}.f{operand} = {value.text}")
            self.facts.replaced(operand)
            return
        name, text = value.text, value.text
        if not value.simple:
            name = self.temporary()
            text = f"({keeping(name)}{value.text})"
        self.statement(f"{self.here()}{part.text}.f{operand} = {text}")
        self.facts.replaced(operand)
        if name.isidentifier():
            self.facts.elements[part.text, f".f{operand}"] = (name, False)

    def put(self, array: str, kind: Kind, key: Kind = s.ANY) -> None:
        """An element is put into a local Array or Map."""
        if slot_of(array) >= 0:
            self.store(("element", slot_of(array)), Entry("", kind))
            self.store(("key", slot_of(array)), Entry("", key))

    def op_SET_INDEX(self, operand: int) -> None:
        self.put(self.stack[-2].text, self.stack[-3].kind, self.stack[-1].kind)
        if self.stack[-2].kind[0] == "map":
            self.certify_key(1)
            self.set_entry()
            return
        if self.stack[-2].kind[0] == "array" and self.stack[-1].kind[0] == "" and self.stack[-1].simple:
            self.set_unknown()
            return
        if self.stack[-2].kind[0] != "array" or self.stack[-1].kind[0] != "int":
            self.generic(BY_NAME["SET_INDEX"], operand)
            return
        index = self.pop_named()
        part = self.pop_named()
        value = self.pop()
        self.statement(f"{self.element(part, index)} = {value.text}")
        self.facts.written(part.text)
        self.reached(index)

    def set_unknown(self) -> None:
        """An element at a position of which it is not known here that it is an Int."""
        self.settle()
        index, part = self.pop(), self.pop_named()
        value = self.pop()
        plain = Branch(f"type({index.text}) is int and {index.text} >= 0")
        self.facts.written(part.text)
        plain.yes.append(f"{self.at_element(part.text, index.text)}{self.items(part.text)}[{index.text}] = {value.text}")
        plain.no.append(f"{self.here()}op_SET_INDEX({value.text}, {part.text}, {index.text})")
        self.out.append(plain)

    def set_entry(self) -> None:
        """A Map under a key that needs no encoding."""
        self.settle()
        key, part = self.pop_named(), self.pop_named()
        value = self.pop()
        word = "int" if key.kind[0] == "int" else "str"
        items = self.items(part.text)
        test = self.room_in(part.text)
        known = key.sure and key.kind[0] in ("string", "int")
        room = Branch(test if known else f"({test}) and type({key.text}) is {word}")
        room.yes.append(f"{items}[{key.text}] = {value.text}")
        room.no.append(f"{self.here()}map_store({part.text}, {key.text}, {value.text})")
        self.out.append(room)


def may_be(array: str, other: str) -> bool:
    """Whether two variables may hold the same array: locals hold their own, others may hold elements of one."""
    return array == other or (array[0] != "l" and other[0] != "l")


# ----------------------------------------------------------------
# Values that need no mark as shared because their first place is gone: the local is not read again (V-5.7); and what is
# read later at all.
#
# Hands on `moved`, `unnamed` and `read_after`.

LOAD, LOAD_OWN, STORE, SHARE, JUMP = (BY_NAME[name].number for name in ("LOAD", "LOAD_OWN", "STORE", "SHARE", "JUMP"))
# What these give is new, or has its mark.
ALONE = frozenset({BY_NAME[name].number for name in ("SHARE", "CALL", "ARRAY", "MAP", "STRUCT")})


def moved(body: Body, flow: Flow) -> set[int]:
    """SHARE of a local that is not read again: its value goes on to another local, or as an argument. A method found at run time
    asks for the mark of its receiver."""
    live = lives(body, flow)
    found = set()
    seen_twice = _unsure(body, flow)
    for start, block in flow.blocks.items():
        after = _after(flow, start, live)
        for at in range(start + 1, block.end):
            (_, loaded, slot), (_, number, _) = body.instructions[at - 1 : at + 1]
            placed = at in body.arguments or (at + 1 < block.end and body.instructions[at + 1][1] == STORE)
            if number == SHARE and loaded == LOAD and placed and slot not in seen_twice:
                read, written = _used(body.instructions[at + 1 : block.end])
                if slot not in read and (slot in written or slot not in after):
                    found.add(at)
    return found


def unnamed(body: Body) -> set[int]:
    """STORE of locals without a name: those that the compiler has made for itself, which no panic shows."""
    names = body.program.image.names
    named: dict[int, set[int]] = {}
    found = set()
    for at, (_, number, slot) in enumerate(body.instructions):
        if number == STORE:
            inlined = body.places[at][1]
            if inlined.function not in named:
                rows = names[inlined.function] if names else []
                named[inlined.function] = {place for _, place, _, _ in rows}
            if slot - inlined.slot not in named[inlined.function]:
                found.add(at)
    return found


def read_after(body: Body, flow: Flow, places: set[int]) -> set[int]:
    """The locals that are read from some of these instructions on, or from the one behind, before they are assigned."""
    live = lives(body, flow)
    found: set[int] = set()
    for start, block in flow.blocks.items():
        after = set(_after(flow, start, live))
        for at in reversed(range(start, block.end)):
            if at in places:
                found |= after
            _, number, slot = body.instructions[at]
            if number in (LOAD, LOAD_OWN):
                after.add(slot)
            elif number == STORE:
                after.discard(slot)
            if at in places:
                found |= after
    return found


def lives(body: Body, flow: Flow) -> dict[int, frozenset[int]]:
    """By block, the locals that are read from its beginning on before they are assigned."""
    reads: dict[int, frozenset[int]] = {}
    writes: dict[int, frozenset[int]] = {}
    for start, block in flow.blocks.items():
        reads[start], writes[start] = _used(body.instructions[start : block.end])
    live: dict[int, frozenset[int]] = dict.fromkeys(flow.blocks, frozenset())
    pending = list(flow.blocks)
    while pending:
        start = pending.pop()
        after = _after(flow, start, live)
        before = reads[start] | (after - writes[start])
        if before != live[start]:
            live[start] = before
            pending += flow.blocks[start].preds
    return live


def _unsure(body: Body, flow: Flow) -> set[int]:
    """Locals whose value may lie in another place without a mark, as a part of what a pattern takes apart and `self` do."""
    function = body.program.image.functions[body.root.function]
    borrowed = {0} if "::" in function.name or function.flags & im.F_METHOD else set()
    return borrowed | {
        slot
        for start, block in flow.blocks.items()
        for at in range(start, block.end)
        for _, number, slot in [body.instructions[at]]
        if number == STORE and not _alone(body, flow, start, at)
    }


def _alone(body: Body, flow: Flow, start: int, at: int) -> bool:
    """Whether nothing else holds what is on the stack before an instruction; a return of an inlined function is a jump to it."""
    if at > start:
        return body.instructions[at - 1][1] in ALONE
    for block in [flow.blocks[pred] for pred in flow.blocks[start].preds]:
        made, last = body.instructions[max(block.start, block.end - 2)][1], body.instructions[block.end - 1][1]
        if last != JUMP or made not in ALONE:
            return False
    return True


def _after(flow: Flow, start: int, live: dict[int, frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*[live[target] for target, _ in flow.blocks[start].succs if target in live])


def _used(instructions: list[tuple[int, int, int]]) -> tuple[frozenset[int], frozenset[int]]:
    """The locals that a straight run reads before it assigns them, and those that it assigns."""
    read: set[int] = set()
    written: set[int] = set()
    for _, number, slot in instructions:
        if number in (LOAD, LOAD_OWN) and slot not in written:
            read.add(slot)
        elif number == STORE:
            written.add(slot)
    return frozenset(read), frozenset(written)
