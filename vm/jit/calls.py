"""Opcodes that call, return and raise, as Python statements.

A call that control may leave for the interpreter stands alone on its line, with what the operand stack holds beneath it in
variables:
its `Site` says how the frame of the caller goes on (V-7.3). Hands on `Calls`. Must not know: how blocks are put into loops and
branches.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from . import facts as s
from .facts import Entry
from .places import Places
from .text import Branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis import CallGraph
    from .facts import Kind
    from .inlining import Body
    from .text import Statement


# ----------------------------------------------------------------
# Methods of declared hashmaps that translated code writes out (O-5.2 to O-5.4): which, and how a store is named.

HANDLE = f"K{BY_NAME['HASHMAP'].number}_"
# Each with the number of its arguments.
WRITTEN_OUT = {"get": 1, "has": 1, "len": 0, "is_empty": 0, "set": 2, "delete": 1}


def hashmap_of(text: str) -> int:
    """The number of the hashmap that an expression names, else -1."""
    return int(text[len(HANDLE) :]) if text.startswith(HANDLE) else -1


def class_test(part: Entry, kind: Kind) -> str | None:
    """What makes sure that a value is of the class that a store holds: "" where it is, None where other classes may be."""
    if kind[0] not in ("int", "string"):
        return None
    return "" if part.sure and part.kind[0] == kind[0] else f"type({part.text}) is {'int' if kind[0] == 'int' else 'str'}"


def store_text(name: str) -> str:
    """A session may go on with the stores of another one, so that each use looks its store up."""
    return f"MACHINE.stores.hashmaps[{name!r}]"


# ----------------------------------------------------------------

class Calls(Places):
    """`metered`: fuel is counted (V-6.7), in `n` until it is paid; else only the stop flag is looked at."""

    def __init__(self, program: Any, graph: CallGraph, body: Body, known: dict[Any, Entry], metered: bool) -> None:
        super().__init__(program, known)
        self.graph = graph
        self.body = body
        self.unmarked, self.moved, self.unnamed = body.unmarked, body.moved, body.unnamed
        self.function = body.root.function
        self.metered = metered
        self.lookups: set[tuple[int, int]] = set()  # parameters that a loop calls, with the number of arguments
        self.hashmaps: set[int] = set()  # those that loops use
        self.rooms: set[int] = set()  # how many calls less may nest in a call of a loop

    def way_here(self) -> str:
        return self.body.way(self.at)

    # ------------------------------------------------------------ fuel

    def charge(self, cost: int) -> None:
        if self.metered:
            self.out.append(f"n += {cost}")

    def pay(self, cost: int = 0) -> None:
        """What was counted so far, and `cost`, is paid: before control goes elsewhere."""
        if self.metered:
            self.out.append(f"F[0] -= n + {cost}" if cost else "F[0] -= n")
            self.out.append("n = 0")

    def leave(self, index: int | None = None) -> None:
        """Control leaves for the interpreter, which goes on with the instruction."""
        self.settle()
        self.out.append(f"{self.place(self.at if index is None else index, self.stack)}raise Leave")

    # ------------------------------------------------------------ calls

    def called(self, text: str, kind: Kind) -> None:
        """A statement whose callee may leave: the frame of this function then goes on behind the call."""
        name = self.temporary()
        self.out.append(f"{self.place(self.at, self.stack)}{name} = {text}")
        self.push(Entry(name, kind))

    def room(self) -> str:
        """The number of calls that may nest in the one here; inlined functions have taken theirs."""
        around = self.body.places[self.at][1].around
        taken = sum([self.graph.counted[inlined.function] for inlined in around])
        if not self.repeated():
            return f"d - {taken}"
        self.rooms.add(taken)
        return f"e{taken}"

    def repeated(self) -> bool:
        """Whether the instruction is in a loop."""
        raise NotImplementedError

    def op_CALL(self, operand: int) -> None:
        code = self.program.codes[operand]
        if self.metered:
            self.settle()  # where an argument fails, the callee has cost nothing
        parts = self.taken(code.argc)
        self.settle()
        arguments = [part.text for part in parts]
        if operand in self.graph.values:
            arguments.append("()")
        if self.graph.counted[operand]:
            arguments.append(self.room() if self.graph.counted[self.function] else "D")
        self.pay(self.graph.cost(operand))
        self.called(f"fn{operand}({', '.join(arguments)})", self.kind_of_type(self.image.functions[operand].result))

    def op_CALL_VALUE(self, operand: int) -> None:
        self.settle()
        self.name_all(self.stack)
        closure = self.stack[len(self.stack) - operand - 1]
        name = self.callee(closure, operand)
        if self.metered:
            self.out += [f"F[0] -= n + {closure.text}.function.cost", "n = 0"]
        parts = self.taken(operand)
        self.pop()
        cells = f"j{name[1:].partition('_')[0]}" if name[0] == "k" else f"{closure.text}.cells"
        arguments = [*[part.text for part in parts], cells, self.room()]  # who calls a value is counted
        self.called(f"{name}({', '.join(arguments)})", s.ANY)

    def op_CALL_METHOD(self, operand: int) -> None:
        site = self.program.constants[operand]
        number = hashmap_of(self.stack[-1 - site.argc].text)
        if number >= 0 and WRITTEN_OUT.get(site.name) == site.argc and not site.names and not site.trait:
            self.of_hashmap(site.name, number)
        else:
            self.call_by_name("call_method", "CALL_METHOD", operand)

    def op_HASHMAP(self, operand: int) -> None:
        self.push(Entry(self.constant(BY_NAME["HASHMAP"], operand)))

    def of_hashmap(self, name: str, number: int) -> None:
        """A method of a declared hashmap."""
        if name in ("set", "delete"):
            self.written_to_store(name, number)
            return
        store = self.store_of(number)
        if name in ("len", "is_empty"):
            self.pop()
            self.give(f"{'len(' if name == 'len' else '(not '}{store}.items)", [], s.INT if name == "len" else s.BOOL, fails=True)
            return
        self.settle()
        key = self.named(self.pop())
        self.pop()
        if name == "has":
            self.give(f"({self.key(key)}) in {store}.items", [key], s.BOOL, fails=True)
            return
        found = self.temporary()
        self.statement(f"{self.here()}{found} = {store}.items.get({self.key(key)}, END)")
        self.push(Entry(f"found({found})", ("option", -1), pure=False, uses=frozenset({found}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = found, self.kind_of_type(self.image.hashmaps[number].value)

    def store_of(self, number: int) -> str:
        """The store of a hashmap; no slice puts another in its place, so loops look it up before they begin."""
        if not self.repeated():
            return store_text(self.image.hashmaps[number].name)
        self.hashmaps.add(number)
        return f"h{number}"

    def written_to_store(self, name: str, number: int) -> None:
        """`set` and `delete` of values of the very classes, where nobody is to be told and there is no file, are written out;
        where the call leaves, the interpreter calls the method from the beginning."""
        self.settle()
        self.name_all(self.stack)
        again = tuple([entry.text for entry in self.stack])
        _, key, *value = self.taken(WRITTEN_OUT[name] + 1)
        self.pay()
        store, result = self.store_of(number), self.temporary()
        declared = [self.image.hashmaps[number].key, self.image.hashmaps[number].value]
        wanted = [class_test(part, self.kind_of_type(type_)) for part, type_ in zip([key, *value], declared, strict=False)]
        arguments = ", ".join([store, key.text, *[part.text for part in value]])
        called = f"{'put_in_store' if name == 'set' else 'drop_from_store'}({arguments})"
        direct = f"{store}.items.pop({key.text}, END) is not END" if name == "delete" else ""
        plain: list[Statement] = [f"{self.here()}{result} = {direct}"] if direct else [
            f"{self.here()}{store}.items[{key.text}] = {value[0].text}", f"{result} = None"
        ]
        place = self.place(self.at, self.stack)
        self.sites[-1].again = again
        if None in wanted:
            self.out.append(f"{place}{result} = {called}")
        else:
            quiet = Branch(" and ".join([*filter(None, wanted), f"not {store}.watchers and {store}.path is None"]))
            quiet.yes += plain
            quiet.no.append(f"{place}{result} = {called}")
            self.out.append(quiet)
        self.push(Entry(result, s.BOOL if direct else s.NIL))

    def op_CALL_INOUT(self, operand: int) -> None:
        self.call_by_name("call_inout", "CALL_INOUT", operand)

    def call_by_name(self, way: str, op: str, operand: int) -> None:
        """A method that is found when the receiver is there; the interpreter calls what may suspend."""
        self.settle()
        self.name_all(self.stack)
        again = tuple([entry.text for entry in self.stack])
        receiver, *parts = self.taken(self.program.constants[operand].argc + 1)
        self.pay()
        arguments = ", ".join([part.text for part in parts])
        name = self.constant(BY_NAME[op], operand)
        self.called(f"{way}({receiver.text}, {name}, [{arguments}], {self.room()})", s.ANY)
        self.sites[-1].again = again

    def called_again(self, operand: int, count: int, receiver: str, name: str) -> None:
        """A built-in that charges fuel: where too little is left, the interpreter calls it, before it has done anything."""
        self.settle()
        self.name_all(self.stack)
        again = tuple([entry.text for entry in self.stack])
        parts = self.taken(count)
        kind = self.builtin_kind(receiver, name, parts)
        self.pay()
        self.called(f"B{operand}({', '.join([part.text for part in parts])})", kind)
        self.sites[-1].again = again

    def op_CHANGES_SELF(self, operand: int) -> None:
        part = self.pop()
        method = self.constant(BY_NAME["CHANGES_SELF"], operand)
        self.give(f"changes_self(MACHINE, {part.text}, {method})", [part], s.BOOL, fails=True)

    def callee(self, closure: Entry, count: int) -> str:
        """The variable with the Python function of a function value; without one the interpreter calls. A parameter that is never
        assigned and is called in a loop is looked up before it."""
        slot = closure.text[1:] if closure.text[0] == "l" else ""
        parameter = slot.isdigit() and int(slot) < len(self.image.functions[self.function].params)
        if parameter and not self.assigned(int(slot)) and self.repeated():
            self.lookups.add((int(slot), count))
            return f"k{slot}_{count}"
        name = self.temporary()
        self.out += self.looked_up_callee(name, closure.text, count, self.place(self.at, self.stack))
        return name

    def looked_up_callee(self, name: str, closure: str, count: int, place: str) -> list[Statement]:
        fits = f"type({closure}) is Closure and {closure}.function.argc == {count}"
        unknown = Branch(f"{name} is None")
        unknown.yes.append(f"{place}raise Leave")
        return [f"{name} = FN[{closure}.function] if {fits} else None", unknown]

    def beginning(self, place: str) -> list[Statement]:
        """What loops need and does not change in them; the interpreter goes on at the beginning where it has to call."""
        found: list[Statement] = [f"e{taken} = d - {taken}" for taken in sorted(self.rooms)]
        found += [f"h{number} = {store_text(self.image.hashmaps[number].name)}" for number in sorted(self.hashmaps)]
        for slot, count in sorted(self.lookups):
            found += self.looked_up_callee(f"k{slot}_{count}", f"l{slot}", count, place)
            found.append(f"j{slot} = l{slot}.cells")
        return found

    def assigned(self, slot: int) -> bool:
        instructions = self.graph.facts[self.function].instructions
        return any(OPCODES[number].name in ("STORE", "LOAD_OWN") and operand == slot for _, number, operand in instructions)

    # ------------------------------------------------------------ ends

    def returned(self, text: str) -> None:
        self.settle()
        if self.metered:
            self.out += [f"{self.here()}r = {text}", "F[0] -= n", "return r"]
        else:
            self.out.append(f"{self.here()}return {text}")

    def op_RETURN(self, operand: int) -> None:
        if self.body.places[self.at][0] in self.graph.unplaced(self.function):
            part = self.pop_named()
            branch = Branch(f"type({part.text}) is Err")
            branch.yes.append(f"marked({part.text}, {self.way_here()})")
            self.out.append(branch)
            self.push(part)
        self.returned(self.pop().text)

    def op_FAIL_MATCH(self, operand: int) -> None:
        part = self.pop()
        self.statement(f"{self.here()}raise no_arm({part.text})")

    def op_FAIL_LENGTH(self, operand: int) -> None:
        part = self.pop()
        self.statement(f"{self.here()}raise wrong_length({operand}, {part.text})")

    def thrown(self, error: str) -> None:
        """Out of the function with what it gives, where no handler is in range."""
        self.stack.clear()
        self.returned(error)

    def _thrown_if(self, condition: str, error: str) -> None:
        """Behind it the operand stack is as before."""
        kept = list(self.stack)
        branch = Branch(condition)
        before, self.out = self.out, branch.yes
        self.thrown(error)
        self.out = before
        self.out.append(branch)
        self.stack = kept

    def op_TRY_out(self) -> None:
        """`?` without a handler: Err and None leave the function."""
        part = self.pop_named()
        self.settle()
        self._thrown_if(
            f"type({part.text}) is not Ok and type({part.text}) is not Some", f"({self.here()}{self.left_as(part)})"
        )
        name = self.temporary()
        self.out.append(f"{name} = {part.text}.value")
        self.push(Entry(name, self.held(part.kind)))

    def left_as(self, part: Entry) -> str:
        """What a function gives whose `?` has met Err or None."""
        return f"{'none_or_err' if self.body.wraps[self.at] else 'err_of'}({part.text}, {self.way_here()})"

    def held(self, kind: Kind) -> Kind:
        """What an Ok or Some of a declared type holds."""
        if kind[0] in ("result", "option") and kind[1] >= 0:
            return self.kind_of_type(self.kinds.descriptor(kind[1])[1])
        return s.ANY

    def op_POP_TRY_out(self) -> None:
        part = self.pop_named()
        self.settle()
        self._thrown_if(f"type({part.text}) is Err", f"err_of({part.text}, {self.way_here()})")

    def op_THROW_out(self) -> None:
        part = self.pop()
        self.stack.clear()
        self.push(part)
        self.op_ERR(0)
        self.thrown(self.pop().text)
