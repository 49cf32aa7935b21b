"""Opcodes that read and write variables, fields and elements (V-5.7), as Python statements.

Hands on `Places`. Must not know: control flow, calls, fuel.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME
from . import stack as s
from .expressions import Expressions
from .stack import Entry
from .text import Branch, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .stack import Kind

NOTHING = Entry("")
CONTAINERS = frozenset({"array", "map", "struct", "schema", "set", "queue", "stack"})


class Places(Expressions):
    """`known`: an entry with what holds, per local everywhere in the function, and per block and position of the stack.
    `stored`: what is stored in each."""

    def __init__(self, program: Any, known: dict[Any, Entry]) -> None:
        super().__init__(program)
        self.known = known
        self.unmarked: set[int] = set()  # SHARE that marks nothing
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
        known = self.known.get(slot, NOTHING)
        name = f"l{slot}"
        return Entry(name, known.kind, uses=frozenset({name}), low=known.low, high=known.high)

    def store(self, slot: Any, part: Entry) -> None:
        self.stored.setdefault(slot, []).append(part)

    def op_STORE(self, operand: int) -> None:
        name = f"l{operand}"
        part = self.pop()
        self.store(operand, part)
        if part.text == name:
            return
        self.forget(name)
        self.marked = self.marked | {name} if part.text in self.marked else self.marked - {name}
        if part.pure:
            self.out.append(f"{name} = {part.text}")
        else:
            self.statement(f"{name} = {part.text}")

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
        check = Branch(f"(len({name}) + len({right.text})) * 4 > limits.surely")
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
        self.marked |= {part.text}
        if part.kind[0] in CONTAINERS:
            self.statement(f"{part.text}.shared = True")
            self.push(part)
            return
        test = Branch(f"not {part.text}.shared" if part.kind[0] == "enum" else f"type({part.text}) not in PLAIN")
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
            test.yes.append(f"{name} = own({name})")
            self.out.append(test)
        else:
            self.out.append(f"{name} = owned({name})")

    def op_LOAD_OWN(self, operand: int) -> None:
        name = f"l{operand}"
        self.forget(name)
        self.own(name, self.known.get(operand, NOTHING).kind)
        self.push(self.local(operand))

    def op_CELL_OWN(self, operand: int) -> None:
        name = self.temporary()
        self.statement(f"{name} = own_cell(c{operand})")
        self.push(Entry(name))

    def op_FIELD_OWN(self, operand: int) -> None:
        part = self.pop_named()
        name = self.temporary()
        self.statement(f"{name} = {part.text}.f{operand}")
        test = Branch(f"shared_mark({name})")
        test.yes.append(f"{name} = {part.text}.f{operand} = own({name})")
        self.out.append(test)
        self.push(Entry(name))

    def op_INDEX_OWN(self, operand: int) -> None:
        index = self.pop_named()
        part = self.pop_named()
        name = self.temporary()
        self.settle()
        kind = self.inner(part.kind, 1)
        if part.kind[0] == "array" and index.kind[0] == "int":
            self.out.append(f"{name} = ({self.element(part, index)})")
            branch = Branch(f"{name}.shared")
            branch.yes.append(f"{name} = {part.text}.items[{index.text}] = own({name})")
            attempt = Loop("try:", "except AttributeError:")
            attempt.body.append(branch)
            attempt.otherwise.append("pass")
            self.out.append(branch if kind[0] in CONTAINERS else attempt)
        else:
            self.out.append(f"{self.here()}{name} = op_INDEX_OWN({part.text}, {index.text})")
        self.push(Entry(name, kind))

    # ------------------------------------------------------------ writing

    def op_SET_FIELD(self, operand: int) -> None:
        value, part = self.taken(2)
        if not part.simple or not value.pure:
            self.push(value)
            self.push(part)
            self.settle()
            value, part = self.taken(2)
            part = self.named(part)
        self.statement(f"{self.here()}{part.text}.f{operand} = {value.text}")

    def op_SET_INDEX(self, operand: int) -> None:
        if self.stack[-2].kind[0] == "map":
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
        if not value.pure:
            self.push(value)
            self.settle()
            value = self.pop()
        self.settle()
        self.out.append(f"{self.element(part, index)} = {value.text}")

    def set_unknown(self) -> None:
        """An element at a position of which it is not known here that it is an Int."""
        self.settle()
        index, part = self.pop(), self.pop_named()
        value = self.pop()
        plain = Branch(f"type({index.text}) is int and {index.text} >= 0")
        plain.yes.append(f"{self.at_element(part.text, index.text)}{part.text}.items[{index.text}] = {value.text}")
        plain.no.append(f"{self.here()}op_SET_INDEX({value.text}, {part.text}, {index.text})")
        self.out.append(plain)

    def set_entry(self) -> None:
        """A Map under a key that needs no encoding."""
        self.settle()
        key, part = self.pop_named(), self.pop_named()
        value = self.pop()
        known = key.kind[0] in ("string", "int")
        room = Branch(f"len({part.text}.items) < limits.items" + ("" if known else f" and type({key.text}) is str"))
        room.yes.append(f"{part.text}.items[{key.text}] = {value.text}")
        room.no.append(f"{self.here()}map_store({part.text}, {key.text}, {value.text})")
        self.out.append(room)
