"""One function, or one loop of it, as Python text (V-7.2).

Hands on `Function`, what the translator knows of a function whatever part of it is asked for, and `Part`, a translated part: source,
and what each of its lines stands for. Must not know: machines, where code is kept.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..bytecode.pictures import THROWS
from ..link import run_costs
from . import stack as s
from .analysis import LEFT
from .blocks import Shaper
from .expressions import METHODS, counted
from .flow import Flow, Unshaped
from .stack import Entry, canonical_stack
from .text import Branch, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .analysis import CallGraph
    from .stack import Site

LARGEST = 4000  # instructions of a function that is translated
MOST_PASSES = 4
BRANCHES = frozenset({BY_NAME["JUMP_IF"].number, BY_NAME["JUMP_UNLESS"].number})
METHOD_CALLS = frozenset({BY_NAME[name].number for name in ("CALL_METHOD", "CALL_INOUT", "CHANGES_SELF")})
CALL, CONCAT, STORE = (BY_NAME[name].number for name in ("CALL", "CONCAT", "STORE"))


class Part:
    """`head`: index of the first instruction; `source` defines one Python function; `sites` by line of it; `fuel`: the most that it uses without a loop."""

    __slots__ = ("name", "function", "head", "source", "sites", "fuel", "code")

    def __init__(self, name: str, function: int, head: int, source: str, sites: dict[int, Site], fuel: int) -> None:
        self.name = name
        self.function = function
        self.head = head
        self.source = source
        self.sites = sites
        self.fuel = fuel
        self.code: Any = None


class Translator(Shaper):
    """`surveying`: nothing is left to the interpreter, since all stores of the function are to be seen."""

    def __init__(self, program: Any, graph: CallGraph, function: Function, known: dict[Any, Entry], metered: bool) -> None:
        super().__init__(program, graph, function.number, known, metered)
        self.owner = function
        self.walked = {}
        self.surveying = False
        self.trying = False

    # ------------------------------------------------------------ operations

    def step(self, at: int) -> int:
        if at != self.skip and self.instructions[at][1] == CONCAT and self.instructions[at + 1][1] == STORE:
            self.at = at
            if at + 1 < len(self.instructions) and at + 1 not in self.flow.blocks and self.store_concat(self.instructions[at + 1][2]):
                return at + 2
        return super().step(at)

    def operation(self, number: int, operand: int) -> None:
        op = OPCODES[number]
        if op.flow == "raise":
            getattr(self, f"op_{op.name}_out")()
        elif number == BY_NAME["ITERATE"].number:
            self.iterate(op)
        elif METHODS[number] is not None or hasattr(self, f"op_{op.name}"):
            getattr(self, f"op_{op.name}")(operand)
        elif self.surveying:
            self.unknown(op, operand)
        else:
            self.generic(op, operand)

    def unknown(self, op: Opcode, operand: int) -> None:
        """An instruction that only the interpreter does, as far as the stack goes."""
        depths = self.flow.facts.depths
        self.settle()
        self.taken(len(self.stack) - depths[self.at + 1] + len(op.pushes))
        for _ in op.pushes:
            self.push(Entry(self.temporary()))

    def iterate(self, op: Opcode) -> None:
        part = self.stack[-1]
        position = len(self.stack) - 1
        self.walked[position] = Entry("", self.inner(part.kind, 1) if part.kind[0] == "array" else s.ANY)
        if part.bounds is None:
            self.generic(op, 0)
            return
        start, end, inclusive = part.bounds
        self.pop()
        text = f"span({start.text}, {end.text}, {inclusive})"
        self.give(text, [start, end], s.ANY, fails=True)
        self.walked[position] = Entry("", s.INT, low=start.low if start.kind[0] == "int" else None, high=(1 << 63) - 2 + inclusive)

    # ------------------------------------------------------------ ends of blocks

    def terminator(self, start: int, last: int, name: str, succs: list[tuple[int, bool]]) -> None:
        if name == "JUMP":
            self.go(succs[0][0], start, True)
        elif name in ("JUMP_IF", "JUMP_UNLESS"):
            condition, yes, no = self.condition(last, succs)
            condition, yes, no, _ = self.widened(start, condition, yes, no)
            self.settle()
            self.split(start, condition.text, yes, no)
        elif name == "NEXT":
            self.next_element(start, succs)
        elif name in ("TRY", "POP_TRY"):
            self.tried(start, last, name, succs)
        elif name == "THROW" and succs:
            error = self.pop()
            self.to_handler(start, last, error, succs[0])
        elif name == "THROW":
            self.op_THROW_out()
        else:
            getattr(self, f"op_{name}")(self.instructions[last][2])

    def split(self, start: int, condition: str, yes: tuple[int, bool], no: tuple[int, bool]) -> None:
        branch = Branch(condition)
        before, stack = self.out, list(self.stack)
        self.out = branch.yes
        self.go(yes[0], start, yes[1])
        self.out, self.stack = branch.no, list(stack)
        self.go(no[0], start, no[1])
        self.out = before
        self.out.append(branch)

    def condition(self, last: int, succs: list[tuple[int, bool]]) -> tuple[Entry, tuple[int, bool], tuple[int, bool]]:
        """The condition, and where control goes when it holds and when not."""
        self.at = last
        part = self.pop()
        if part.kind[0] != "bool":
            if not part.simple:
                self.push(part)
                self.settle()
                part = self.named(self.pop())
            text = f"({part.text} is True or {part.text} is not False and ({self.here()}not_a_bool({part.text})))"
            part = Entry(text, s.BOOL, pure=False, uses=part.uses, deep=part.deep + 1)
        if OPCODES[self.instructions[last][1]].name == "JUMP_UNLESS":
            return part, succs[0], succs[1]
        return part, succs[1], succs[0]

    def widened(
        self, start: int, condition: Entry, yes: tuple[int, bool], no: tuple[int, bool]
    ) -> tuple[Entry, tuple[int, bool], tuple[int, bool], list[int]]:
        """The condition joined with those of the blocks that it leads to, as long as these do nothing but compare."""
        merged: list[int] = []
        while not self.metered:
            for target, other, holds in ((no[0], yes[0], False), (yes[0], no[0], True)):
                found = self.only_condition(target, {start, *merged})
                if found is None:
                    continue
                second, then, otherwise = found
                if other in (then[0], otherwise[0]) and then[0] != otherwise[0]:
                    straight = (then[0] == other) != holds
                    text = second.text if straight else f"(not {second.text})"
                    text = f"({condition.text} {'and' if holds else 'or'} {text})"
                    uses, deep = condition.uses | second.uses, max(condition.deep, second.deep) + 1
                    condition = Entry(text, s.BOOL, pure=False, uses=uses, deep=deep)
                    if holds:
                        yes = then if straight else otherwise
                    else:
                        no = otherwise if straight else then
                    merged.append(target)
                    break
            else:
                return condition, yes, no, merged
            if condition.deep > s.DEEPEST:
                return condition, yes, no, merged
        return condition, yes, no, merged

    def only_condition(self, target: int, sources: set[int]) -> tuple[Entry, tuple[int, bool], tuple[int, bool]] | None:
        """The condition of a block that does nothing else and is reached from `sources` alone."""
        block = self.flow.blocks.get(target)
        if block is None or block.body or block.leaves or not sources.issuperset(block.preds) or len(block.preds) != 1:
            return None
        last = block.end - 1
        if self.instructions[last][1] not in BRANCHES:
            return None
        kept = (self.out, list(self.stack), self.temporaries, len(self.sites), self.stored, self.at)
        self.out, self.stored = [], {}
        at = target
        while at < last:
            at = self.step(at)
        found = None
        if at == last and self.stack:
            found = self.condition(last, block.succs)
        same = len(self.stack) == len(kept[1]) and all([a is b for a, b in zip(self.stack, kept[1], strict=True)])
        failed = bool(self.out) or not same
        self.out, self.stack, self.stored, self.at = kept[0], kept[1], kept[4], kept[5]
        if failed:
            self.temporaries = kept[2]
            del self.sites[kept[3] :]
            return None
        return found

    def combined(self, start: int) -> list[int]:
        block = self.flow.blocks[start]
        last = block.end - 1
        if self.metered or block.leaves or self.instructions[last][1] not in BRANCHES:
            return []
        if not any([len(self.flow.blocks[t].preds) == 1 for t, _ in block.succs if t in self.flow.blocks]):
            return []
        kept = (self.out, list(self.stack), self.temporaries, len(self.sites), self.stored, self.at)
        self.out, self.stored = [], {}
        at = start
        while at < last:
            at = self.step(at)
        merged: list[int] = []
        if at == last:
            condition, yes, no = self.condition(last, block.succs)
            merged = self.widened(start, condition, yes, no)[3]
        self.out, self.stack, self.temporaries, self.stored, self.at = kept[0], kept[1], kept[2], kept[4], kept[5]
        del self.sites[kept[3] :]
        return merged

    def next_element(self, start: int, succs: list[tuple[int, bool]]) -> None:
        """NEXT where it is not the head of a loop."""
        self.settle()
        name = self.temporary()
        self.out.append(f"{name} = next({self.stack[-1].text}, END)")
        branch = Branch(f"{name} is END")
        before, stack = self.out, list(self.stack)
        self.out = branch.yes
        self.pop()
        self.go(succs[1][0], start, True)
        self.out, self.stack = branch.no, [*stack, Entry(name)]
        self.go(succs[0][0], start)
        self.out = before
        self.out.append(branch)

    def tried(self, start: int, last: int, name: str, succs: list[tuple[int, bool]]) -> None:
        """`?`, or a statement's value, inside `try`."""
        part = self.pop_named()
        self.settle()
        good = f"type({part.text}) is Ok or type({part.text}) is Some" if name == "TRY" else f"type({part.text}) is not Err"
        branch = Branch(good)
        before, stack = self.out, list(self.stack)
        self.out = branch.yes
        if name == "TRY":
            value = self.temporary()
            self.out.append(f"{value} = {part.text}.value")
            self.push(Entry(value, self.held(part.kind)))
        self.go(succs[0][0], start)
        self.out, self.stack = branch.no, list(stack)
        error = self.temporary()
        self.out.append(f"{self.here()}{error} = caught({part.text})")
        self.to_handler(start, last, Entry(error), succs[1])
        self.out = before
        self.out.append(branch)

    def to_handler(self, start: int, last: int, error: Entry, target: tuple[int, bool]) -> None:
        if not error.pure:
            self.push(error)
            self.settle()
            error = self.pop()
        else:
            self.settle()
        del self.stack[self.owner.kept[last] :]
        self.push(error)
        self.go(target[0], start, True)


class Function:
    """What is known of a function before any of it is translated: `facts` of the verifier, `handlers` (instruction: handler), `kept`
    stack depths of these, `known` about its locals."""

    def __init__(self, program: Any, graph: CallGraph, number: int) -> None:
        self.program = program
        self.graph = graph
        self.number = number
        self.image_function = program.image.functions[number]
        self.facts = program.verified.functions[number]
        self.handlers: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        for index, (offset, opcode, _) in enumerate(self.facts.instructions):
            if THROWS[opcode]:
                self._find_handler(index, offset)
        flows = [OPCODES[opcode].flow for _, opcode, _ in self.facts.instructions]
        self.costs = run_costs(flows)
        self.fuel = sum([self.costs[index] for index in {0, *self.handlers.values(), *self._targets()}])  # on a path without loops
        if len(flows) > LARGEST:
            raise Unshaped("too large")
        self.known = self._survey()

    def _targets(self) -> list[int]:
        found = self.facts.instructions
        return [self.facts.index_of[operand] for _, number, operand in found if OPCODES[number].kind is k.LABEL]

    def _find_handler(self, index: int, offset: int) -> None:
        for start, end, target, kept in self.image_function.handlers:
            if start <= offset < end:
                self.handlers[index] = self.facts.index_of[target]
                self.kept[index] = kept
                return

    def leaves(self, index: int) -> bool:
        """Whether the interpreter does this instruction."""
        _, number, operand = self.facts.instructions[index]
        if number == CALL:
            return self.graph.suspends[operand]
        return number in LEFT or number in METHOD_CALLS

    # ------------------------------------------------------------ what is known of locals

    def _survey(self) -> dict[Any, Entry]:
        """What holds of each local wherever it is read: first as much as the stores make likely, then less until it is true."""
        arguments = {n: self._parameter(kind) for n, (_, kind, _) in enumerate(self.image_function.params)}
        flow = Flow(self.facts, self.handlers, lambda index: False)
        known: dict[Any, Entry] = {}
        sound: dict[Any, Entry] = {}
        for attempt in range(MOST_PASSES):
            translator = Translator(self.program, self.graph, self, known, False)
            translator.surveying = True
            translator.shape(flow, self.costs)
            found = {}
            for slot, entries in translator.stored.items():
                found[slot] = meet([*entries, *([arguments[slot]] if slot in arguments else [])], attempt == 0)
            for slot, entry in arguments.items():
                found.setdefault(slot, entry)
            if attempt and all([agrees(known[slot], found.get(slot)) for slot in known]):
                sound = known
                if not any([better(entry, known.get(slot)) for slot, entry in found.items()]):
                    break
            known = found
        return sound

    def _parameter(self, number: int) -> Entry:
        return Entry("", (self.program.image.types[number][0], number))

    # ------------------------------------------------------------ parts

    def whole(self, metered: bool) -> Part:
        """The function from its beginning."""
        flow = Flow(self.facts, self.handlers, self.leaves, threaded=not metered)
        translator = Translator(self.program, self.graph, self, self.known, metered)
        translator.stack = []
        entry = translator.place(0, [])
        body = translator.shape(flow, self.costs)
        counted_calls = self.graph.counted[self.number]
        guards = (["d < 1", "S"] if counted_calls else []) + (["F[0] < LOW"] if metered else [])
        beginning: list[Any] = ["n = 0"] if metered else []
        if self.image_function.captures:
            cells = "".join([f"c{cell}, " for cell in range(len(self.image_function.captures))])
            beginning.append(f"{cells}= cells")
        if guards:
            guard = Branch(" or ".join(guards))
            guard.yes.append(f"{entry}raise Leave")
            beginning.append(guard)
        parameters = [f"l{n}" for n in range(len(self.image_function.params))]
        parameters += ["cells"] * (self.number in self.graph.values) + ["d"] * counted_calls
        return self._part(f"fn{self.number}", 0, parameters, [*beginning, *body], translator.sites)

    def loop(self, head: int, body: frozenset[int], metered: bool) -> Part:
        """A loop, entered at its head with all locals, cells and what the operand stack holds."""
        flow = Flow(self.facts, self.handlers, self.leaves, head, body, threaded=not metered)
        translator = Translator(self.program, self.graph, self, self.known, metered)
        translator.stack = canonical_stack(self.facts.depths[head])
        statements = translator.shape(flow, self.costs)
        beginning = ["n = 0"] if metered else []
        parameters = [f"l{n}" for n in range(self.image_function.slots)]
        parameters += [f"s{n}" for n in range(self.facts.depths[head])]
        parameters += [f"c{n}" for n in range(self.image_function.cells)]
        if self.graph.counted[self.number]:
            parameters.append("d")
        return self._part(f"u{self.number}_{head}", head, parameters, [*beginning, *statements], translator.sites)

    def _part(self, name: str, head: int, parameters: list[str], statements: list[Any], sites: list[Site]) -> Part:
        source, places = printed(f"def {name}({', '.join(parameters)}):", statements)
        return Part(name, self.number, head, source, {line: sites[site] for line, site in places.items()}, self.fuel)

    def loops(self) -> dict[int, frozenset[int]]:
        """The loops that are worth translating by themselves: the outermost that the interpreter is not needed in."""
        try:
            flow = Flow(self.facts, self.handlers, lambda index: False)
        except Unshaped:
            return {}
        found: dict[int, frozenset[int]] = {}
        for head in flow.loops():
            body = flow.blocks[head].body
            inner = any([head in other for other in found.values()])
            indexes = [index for start in body for index in range(start, flow.blocks[start].end)]
            if not inner and not any([self.leaves(index) for index in indexes]):
                found[head] = body
        return found


def meet(entries: list[Entry], hopeful: bool) -> Entry:
    """What holds of all of them. `hopeful`: what is not known of the bounds is left to be found wrong."""
    kinds = {entry.kind for entry in entries}
    if len(kinds) == 1:
        kind = kinds.pop()
    else:
        words = {word for word, _ in kinds}
        kind = (words.pop(), -1) if len(words) == 1 else s.PLAIN if words <= s.SCALARS else s.ANY
    lows = [entry.low for entry in entries]
    if hopeful:
        low = 0 if kind[0] == "int" and all([known is None or known >= 0 for known in lows]) and any([known is not None for known in lows]) else None
    else:
        low = 0 if all([known is not None and known >= 0 for known in lows]) else None
    return Entry("", kind, low=low)


def agrees(assumed: Entry, found: Entry | None) -> bool:
    """Whether all stores, under the assumption, bear it out. What nothing stores is never read."""
    if found is None:
        return True
    kind = assumed.kind in (s.ANY, found.kind) or (assumed.kind[1] < 0 and assumed.kind[0] == found.kind[0])
    return kind and (assumed.low is None or (found.low is not None and found.low >= assumed.low))


def better(found: Entry, assumed: Entry | None) -> bool:
    return assumed is None or (found.kind != s.ANY and found.kind != assumed.kind) or (found.low is not None and assumed.low is None)


__all__ = ["Function", "Part", "counted"]
