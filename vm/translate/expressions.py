"""Opcodes that make a value from values, as Python expressions (V-2.5, V-7.2).

What has a short form stands here; everything else is a call of its function in vm/ops.py. `Expressions` hands on one method
per opcode that has a form of its own, and `generic` for the rest. Must not know: control flow, fuel.
"""

from __future__ import annotations

from ..builtins.table import row_of
from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from . import stack as s
from .intrinsics import HARMLESS, INTRINSICS, OPTIONS, UNWRAPPING
from .making import Making
from .stack import Entry, joined, slot_of
from .text import Branch, keeping

KEYED = {"get": 1, "has": 1, "set": 2}  # methods of Map with a key, and where that lies on the stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .facts import Storage
    from .intrinsics import Intrinsic
    from .stack import Kind, Limit

MOVED: Kind = ("option", -2)  # of what was taken out of an Array
NOTHING = Entry("")
CONTAINERS = frozenset({"array", "map", "struct", "schema", "set", "queue", "stack"})
LONGEST = 1 << 40  # more than any container holds
SCALAR_RECEIVERS = frozenset({"String", "Int", "Float", "Bool"})


class Expressions(Making):
    """`lists`: arrays whose list is in a variable throughout a loop, and the head of that. `roomy`: by array, the instructions
    that put an element into it of which a loop knows before whether there is room. `storage`: uses of locals."""

    storage: Storage
    lists: dict[str, int]
    roomy: dict[str, frozenset[int]]
    metered: bool

    # ------------------------------------------------------------ constants

    def op_CONST(self, operand: int) -> None:
        kind, value = self.image.constants[operand]
        if kind == im.K_INT:
            text = str(value) if value >= 0 else f"({value})"
            self.push(Entry(text, s.INT, low=value, high=value))
            self.stack[-1].sure = True
        else:  # never the text itself: what a program says is not text that Python runs (G-2.22)
            kinds = {im.K_FLOAT: s.FLOAT, im.K_STRING: s.STRING}
            plain = kind == im.K_VARIANT  # without a payload there is nothing in it to share
            self.push(Entry(self.constant(BY_NAME["CONST"], operand), s.PLAIN if plain else kinds.get(kind, s.ANY)))
            self.stack[-1].length = len(value) if kind == im.K_STRING else None
            self.stack[-1].sure = kind in kinds

    def op_INT(self, operand: int) -> None:
        self.push(Entry(str(operand), s.INT, low=operand, high=operand))
        self.stack[-1].sure = True

    def op_NIL(self, operand: int) -> None:
        self.push(Entry("None", s.NIL))

    def op_TRUE(self, operand: int) -> None:
        self.push(Entry("True", s.BOOL))

    def op_FALSE(self, operand: int) -> None:
        self.push(Entry("False", s.BOOL))

    def op_NONE(self, operand: int) -> None:
        self.push(Entry("NONE_VALUE", s.PLAIN))

    # ------------------------------------------------------------ parts and ranges

    def op_UNWRAP(self, operand: int) -> None:
        if self.stack[-1].raw is not None and self.stack[-1].kind[0] == "option":
            part = self.pop()
            alone = part.kind == MOVED or part.inside[0] in s.SCALARS
            self.push(Entry(str(part.raw) if alone else f"taken_out({part.raw})", part.inside, pure=alone))
            return
        part = self.pop_named()
        if part.kind[0] in ("some", "ok", "err"):
            self.give(f"{part.text}.value", [part])
        else:
            text = f"({part.text}.value if type({part.text}) in HOLDERS else {part.text})"
            self.give(text, [part], self.inner(part.kind))

    def op_RANGE(self, operand: int) -> None:
        start, end = parts = self.taken(2)
        self.give(f"RangeValue.checked({start.text}, {end.text}, {operand == 1})", parts, s.PLAIN, fails=True)
        self.stack[-1].bounds = (start, end, operand == 1)

    # ------------------------------------------------------------ reading parts

    def op_GET_FIELD(self, operand: int) -> None:
        part = self.pop()
        kind = self.kinds.field(part.kind, operand)
        found = self.facts.elements.get((part.name, f".f{operand}"))
        if found is not None:
            self.read.add(found[0])
            self.push(Entry(found[0], kind, pure=False, uses=frozenset({found[0]})))
            return
        self.give(f"{part.text}.f{operand}", [part], kind)
        self.stack[-1].pure = False  # a write may come between

    def op_GET_ELEMENT(self, operand: int) -> None:
        part = self.pop()
        self.give(f"{part.text}[{operand}]", [part], self.kinds.element(part.kind, operand))

    def op_GET_PAYLOAD(self, operand: int) -> None:
        part = self.pop()
        kind = s.ANY if part.variant is None else self.kinds.payload(part.kind, part.variant, operand)
        self.give(f"{part.text}.payload[{operand}]", [part], kind)

    def element(self, array: Entry, index: Entry) -> str:
        """An element of an array by position, both under names, or P004."""
        place = self.at_element(array.text, index.text)
        return f"{place}{self.items(array.text)}[{self.position(index)}]"

    def items(self, array: str) -> str:
        """The list of an array."""
        return f"a{array[1:]}" if array in self.lists else f"{array}.items"

    def reached(self, index: Entry) -> None:
        """A position that was not refused is one of an array."""
        slot = slot_of(index.text)
        if slot >= 0:
            self.learn([(slot, 0, LONGEST, None, None)])
            self.facts.slots[slot].kind = s.INT

    def learn(self, limits: Iterable[Limit]) -> None:
        raise NotImplementedError

    def position(self, index: Entry) -> str:
        """A position as Python takes it: what is negative is behind every end."""
        natural = index.low is not None and index.low >= 0
        return index.text if natural else f"{index.text} if {index.text} >= 0 else BEHIND"

    def op_INDEX_ARRAY(self, operand: int) -> None:
        index = self.pop()
        if not index.simple:
            index = self.position_named(index)
        array = self.pop()
        kind = self.inner(array.kind)
        found = self.facts.elements.get((array.text, index.text))
        if found is not None:
            self.read.add(found[0])
            self.push(Entry(found[0], kind, pure=False, uses=frozenset({found[0]})))
        elif array.simple:
            text = f"({self.element(array, index)})"
            self.push(Entry(text, kind, pure=False, uses=joined([array, index]), deep=array.deep + 1))
            again = index.text[0] != "t" or index.text in self.facts.results.values()
            if slot_of(array.text) in self.storage.repeated and again:
                self.keep_element(array.text, index.text)
        else:
            text = f"({self.at_element('x', index.text)}(x := {array.text}).items[{self.position(index)}])"
            self.push(Entry(text, kind, pure=False, uses=joined([array, index]), deep=array.deep + 1))
        self.reached(index)

    def position_named(self, index: Entry) -> Entry:
        """A position under a name; the same sum of locals has the same one."""
        key = (index.text, *sorted(index.uses))
        found = self.facts.results.get(key)
        if found is not None and index.pure:
            return Entry(found, s.INT, uses=frozenset({found}), low=index.low, high=index.high)
        self.push(index)
        self.settle()
        named = self.named(self.pop())
        if index.pure and index.uses:
            self.facts.results[key] = named.text
        return named

    def keep_element(self, array: str, index: str) -> None:
        """The element on top goes into a variable too, for the next read."""
        entry, name = self.stack[-1], self.temporary()
        entry.bare = (name, entry.text)
        entry.text = f"({keeping(name)}{entry.text})"
        entry.uses |= {name}
        self.facts.elements[array, index] = (name, False)

    def op_INDEX(self, operand: int) -> None:
        part, index = self.stack[-2:]
        if part.kind[0] == "array" and index.kind[0] == "int":
            self.op_INDEX_ARRAY(operand)
        elif part.kind[0] == "map" and index.kind[0] in ("string", "int"):
            self.certify_key(1)
            self.settle()
            key, part = self.named(self.pop()), self.named(self.pop())
            found = f"(x := {self.items(part.text)}.get({self.key(key)}, END))"
            text = f"(x if {found} is not END else {self.here()}key_not_found({key.text}))"
            self.push(Entry(text, self.inner(part.kind), pure=False, uses=joined([part, key]), deep=1))
        else:
            self.generic(BY_NAME["INDEX"], operand)

    # ------------------------------------------------------------ built-ins

    def op_CALL_BUILTIN(self, operand: int) -> None:
        receiver, name = self.image.constants[operand][1]
        count = self.program.constants[operand][1]
        if receiver == "Map" and name in KEYED:
            self.certify_key(KEYED[name])
        if (receiver, name) in (("Map", "get"), ("Array", "pop")):
            self.looked_up() if name == "get" else self.popped()
            return
        if receiver not in SCALAR_RECEIVERS and (receiver, name) not in HARMLESS:
            self.facts.forgotten()
        if self.metered and self.charges(receiver, name):
            self.called_again(operand, count, receiver, name)
            return
        parts = self.taken(count)
        kind = self.builtin_kind(receiver, name, parts)
        if (receiver, name) == ("Array", "push"):
            self.pushed(parts)
            return
        if (receiver, name) == ("Map", "set"):
            self.stack += [parts[2], parts[0], parts[1]]
            self.set_entry()
            self.push(Entry("None", s.NIL))
            return
        if (receiver, name) in OPTIONS and self.optional(OPTIONS[receiver, name], parts, kind, operand):
            return
        if (receiver, name) in UNWRAPPING and parts[0].raw is not None:
            self.unwrapped(operand, parts)
            return
        form = INTRINSICS.get((receiver, name))
        form = None if form is None else form.fitting(parts)
        if form is not None:
            if form.named:
                parts = self._named_all(parts)
            self.give(f"({self.written_out(form, parts, operand)})", parts, kind, fails=form.fails)
            self.stack[-1].pure = False
            if form.listed:
                self.stack[-1].listed = f"({self.here()}{self.written_out(form, parts, operand, form.listed)})"
            if form.low is not None:
                self.stack[-1].low, self.stack[-1].high = form.low, LONGEST
            return
        self.give(f"B{operand}({', '.join([part.text for part in parts])})", parts, kind, fails=True)

    def charges(self, receiver: str, name: str) -> bool:
        """Whether the built-in charges fuel by the size of what it works on (G-6.6)."""
        row = row_of(receiver, name)
        return row is not None and row.linear

    def called_again(self, operand: int, count: int, receiver: str, name: str) -> None:
        raise NotImplementedError

    def written_out(self, form: Intrinsic, parts: list[Entry], operand: int, text: str = "") -> str:
        texts = [part.text for part in parts]
        room = (parts[-1].length or 0) + 1
        return (text or form.text).format(*texts, items=self.items(texts[0]), body=f"B{operand}", room=room)

    def optional(self, form: Intrinsic, parts: list[Entry], kind: Kind, operand: int) -> bool:
        """A method that gives an Option or Result, of which none is made unless it is wanted."""
        if form.needs is not None and not form.needs(parts):
            return False
        parts = self._named_all(parts)
        name = self.temporary()
        self.statement(f"{self.here()}{name} = {self.written_out(form, parts, operand)}")
        made, word = ("numbered", "result") if kind[0] == "result" else ("found", "option")
        self.push(Entry(f"{made}({name})", (word, -1), pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, s.INT if word == "result" else self.inner(kind)
        return True

    def unwrapped(self, operand: int, parts: list[Entry]) -> None:
        """`unwrap`, or `unwrap_or` with another value, of an Option or Result that was not made."""
        raw, kind = str(parts[0].raw), parts[0].inside
        value = raw if parts[0].kind == MOVED or kind[0] in s.SCALARS else f"taken_out({raw})"
        if len(parts) == 1:
            self.give(f"({value} if {raw} is not END else B{operand}(NONE_VALUE))", [], kind, fails=True)
            return
        self.push(parts[1])
        self.settle()
        other = self.named(self.pop())
        same = kind if kind == other.kind else s.PLAIN if {kind[0], other.kind[0]} <= s.SCALARS else s.ANY
        none = f"type({raw}) is Err" if parts[0].kind[0] == "result" else f"{raw} is END"
        self.give(f"({other.text} if {none} else {value})", [other], same, fails=value != raw)

    def certify_key(self, depth: int) -> None:
        """A local that is to be a key, so deep on the stack, is looked at once: where it is of another kind than the image says,
        the interpreter goes on."""
        entry = self.stack[-depth]
        slot, word = slot_of(entry.text), {"string": "str", "int": "int"}.get(entry.kind[0])
        if entry.sure or slot < 0 or word is None:
            return
        self.settle()
        other = Branch(f"type({entry.text}) is not {word}")
        other.yes.append(f"{self.place(self.at, self.stack)}raise Leave")
        self.out.append(other)
        entry.sure = self.stack[-depth].sure = True
        known = self.facts.slots.get(slot)
        self.facts.slots[slot] = Entry(entry.text, entry.kind, low=entry.low, high=entry.high).certain(entry)
        if known is not None:
            self.facts.slots[slot].variant, self.facts.slots[slot].divisor = known.variant, known.divisor

    def key(self, key: Entry) -> str:
        """What a Map has for a key, which has a name. A String or an Int is it itself."""
        if key.sure and key.kind[0] in ("string", "int"):
            return key.text
        return f"{key.text} if type({key.text}) is {'int' if key.kind[0] == 'int' else 'str'} else key_of({key.text})"

    def looked_up(self) -> None:
        """Map.get: as long as it is only asked whether it is there, no Option is made of what was found."""
        self.settle()
        key, table = self.named(self.pop()), self.named(self.pop())
        name = self.temporary()
        items = self.items(table.text)
        found = f"{items}.get({self.key(key)}, END)"
        self.statement(f"{self.here()}{name} = {found}")
        self.push(Entry(f"found({name})", pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, self.inner(table.kind)
        self.stack[-1].kind = ("option", -1)

    def popped(self) -> None:
        """Array.pop, in the same way; what was in the Array is in no other place then."""
        self.settle()
        array = self.named(self.pop())
        name = self.temporary()
        items = self.items(array.text)
        self.statement(f"{self.here()}{name} = {items}.pop() if {items} else END")
        self.facts.written(array.text)
        self.facts.spare |= {array.text} & self.lists.keys()
        self.push(Entry(f"popped({name})", MOVED, pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, self.inner(array.kind)

    def pushed(self, parts: list[Entry]) -> None:
        """Array.push as a statement: CPython has a form of its own for a call of `append` whose result nobody takes."""
        self.put(parts[0].text, parts[1].kind)
        array, value = self._named_all(parts)
        items = self.items(array.text)
        append = f"{self.here()}{items}.append({value.text})"
        room = Branch(self.room_in(array.text))
        room.yes.append(append)
        room.no.append(f"{self.here()}collection_too_long()")
        if self.asks_later(array.text, self.at):
            self.forget(array.text)
            quick = Branch(f"m{array.text[1:]}")
            quick.yes.append(append)
            before, self.out = self.out, quick.no
            self.own_list(slot_of(array.text))
            self.out = before
            room.condition = f"len({items}) < M"
            quick.no.append(room)
            room = quick
        self.out += [append] if array.text in self.facts.spare else [room]
        self.facts.spare = frozenset()
        self.push(Entry("None", s.NIL))

    def room_in(self, array: str) -> str:
        """Whether an Array or Map can take one element more."""
        test = f"len({self.items(array)}) < M"
        return f"m{array[1:]} or {test}" if self.at in self.roomy.get(array, ()) else test

    def asks_later(self, name: str, by: int) -> bool:
        raise NotImplementedError

    def own_list(self, slot: int) -> None:
        raise NotImplementedError

    def set_entry(self) -> None:
        raise NotImplementedError

    def put(self, array: str, kind: Kind, key: Kind = s.ANY) -> None:
        raise NotImplementedError

    def _named_all(self, parts: list[Entry]) -> list[Entry]:
        for part in parts:
            self.push(part)
        self.settle()
        return [self.named(part) for part in self.taken(len(parts))]

    def builtin_kind(self, receiver: str, name: str, parts: list[Entry]) -> Kind:
        row = row_of(receiver, name)
        if row is None or row.special == "numeric":
            return s.ANY
        return self.kinds.result(row.result, row.receiver_type, parts[0].kind if parts else s.ANY)


METHODS = {op.number: getattr(Expressions, f"op_{op.name}", None) for op in OPCODES}
