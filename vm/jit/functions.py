"""One function, or one loop of it, as Python text (V-7.2).

Hands on `Function`, what the translator knows of a function whatever part of it is asked for. Must not know: machines, where code
is kept.
"""

from __future__ import annotations

import re

from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..interp.link import run_costs
from . import facts as s
from .analysis import LEFT
from .control import Loops
from .facts import Entry, Facts, Storage, canonical_stack, joint
from .flow import Flow, Unshaped
from .inlining import Body
from .library import Part
from .places import moved, read_after, unnamed
from .text import END, MARK, Branch, printed, stores
from .values import METHODS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .analysis import CallGraph
    from .facts import Limit


# ----------------------------------------------------------------
# The instructions of a function, one after the other: what `Loops` leaves open (V-7.2).
#
# Hands on `Translator`. `?`, conditions and walks end here in statements; conditions that follow each other become one.

PLACE = MARK + END + "0123456789"  # what stands before a text that may fail
BRANCHES = frozenset({BY_NAME["JUMP_IF"].number, BY_NAME["JUMP_UNLESS"].number})
# What takes a value apart or asks for its class, and where it lies on the stack: CPython warns of such a form around a constant.
PARTING = {
    BY_NAME[name].number: 1 for name in (
        "GET_ELEMENT", "IS_NIL", "IS_SOME", "IS_OK", "IS_ERR", "IS_ABSENT", "IS_VARIANT", "UNWRAP", "TRY", "POP_TRY",
    )
} | {BY_NAME[name].number: 2 for name in ("INDEX", "INDEX_ARRAY", "INDEX_OWN")}  # fmt: skip
LITERALS = frozenset({"True", "False", "None"})
CONCAT, STORE, ITERATE = (BY_NAME[name].number for name in ("CONCAT", "STORE", "ITERATE"))


class Translator(Loops):
    """`surveying`: nothing is left to the interpreter, since all stores of the function are to be seen."""

    def __init__(
        self, program: Any, graph: CallGraph, body: Body, known: dict[Any, Entry], storage: Storage, metered: bool
    ) -> None:
        super().__init__(program, graph, body, known, metered)
        self.kept = body.kept
        self.facts = Facts()
        self.lists = {}
        self.roomy = {}
        self.storage = storage
        self.kinds = storage.kinds
        self.known = storage.filled(known)
        self.walked = {}
        self.surveying = False
        self.trying = False

    # ------------------------------------------------------------ operations

    def step(self, at: int) -> int:
        following = self.instructions[at + 1] if at + 1 not in self.flow.blocks else (0, 0, 0)
        if at != self.skip and self.instructions[at][1] == CONCAT and following[1] == STORE:
            self.at = at
            if self.store_concat(following[2]):
                return at + 2
        return super().step(at)

    def declared(self) -> None:
        """The top of the stack is an argument or the result of an inlined function: its type is known."""
        declared = self.body.typed.get(self.at)
        if declared is not None and self.stack[-1].kind == s.ANY:
            self.stack[-1] = self.stack[-1].of_kind(self.kind_of_type(declared))

    def operation(self, number: int, operand: int) -> None:
        self.declared()
        op = OPCODES[number]
        if number in PARTING:
            self.stack[-PARTING[number]] = self.identified(self.stack[-PARTING[number]])
        if op.flow == "raise":
            getattr(self, f"op_{op.name}_out")()
        elif number == ITERATE:
            self.iterate(op)
        elif self.surveying and number in LEFT:
            self.unknown(op, operand)
        elif METHODS[number] is not None or hasattr(self, f"op_{op.name}"):
            getattr(self, f"op_{op.name}")(operand)
        else:
            self.generic(op, operand)
        self.facts.after(number)

    def identified(self, entry: Entry) -> Entry:
        """The same value, under the name of a variable if it is a constant."""
        constant = entry.text in LITERALS or entry.text.strip("(-)").isdigit()
        return self.named_anew(entry) if constant else entry

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
        inner = s.STRING if part.kind[0] == "string" else self.inner(part.kind) if part.kind[0] == "array" else s.ANY
        if part.kind[0] == "map" and part.kind[1] >= 0:
            inner = self.kinds.tuple([self.kinds.inner(part.kind, 1), self.kinds.inner(part.kind)])
        self.walked[position] = Entry("", inner)
        if part.bounds is None and part.kind[0] in ("array", "string"):
            self.pop()
            walked = part.listed or f"{part.text}{'.items' * (part.kind[0] == 'array')}"
            self.give(f"iter({walked})", [part], fails=True)
            return
        if part.bounds is None:
            self.generic(op, 0)
            return
        start, end, inclusive = part.bounds
        self.pop()
        if start.kind[0] == end.kind[0] == "int":
            self.give(f"iter(range({start.text}, {end.text}{' + 1' * inclusive}))", [start, end])
            self.stack[-1].pure = False
        else:
            self.give(f"span({start.text}, {end.text}, {inclusive})", [start, end], fails=True)
        low = start.low if start.kind[0] == "int" else None
        last = end.high if end.kind[0] == "int" and end.high is not None else (1 << 63) - 1
        if start.high is not None:
            last = min(last, start.high + s.COUNTED)
        self.walked[position] = Entry("", s.INT, low=low, high=last - 1 + inclusive)
        self.walked[position].sure = start.kind[0] == end.kind[0] == "int"  # Python walks over nothing else
        self.walked[position].below = "" if inclusive else end.text
        if start.low is not None and start.low == start.high and end.high is not None and end.low == end.high:
            self.walked[position].length = max(end.high + inclusive - start.low, 0)

    # ------------------------------------------------------------ ends of blocks

    def terminator(self, start: int, last: int, name: str, succs: list[tuple[int, bool]]) -> None:
        if name == "JUMP":
            self.declared()
            self.go(succs[0][0], start, True)
        elif name in ("JUMP_IF", "JUMP_UNLESS"):
            condition, yes, no = self.condition(last, succs)
            condition, yes, no, merged, known = self.widened(start, condition, yes, no)
            self.ends.update(dict.fromkeys(merged, self.ends[start]))
            self.settle(raw=False)
            self.split(start, condition.text, yes, no, known)
        elif name == "NEXT":
            self.next_element(start, succs)
        elif name in ("TRY", "POP_TRY"):
            self.tried(start, last, name, succs)
        elif name == "THROW" and succs:
            error = self.pop()
            self.to_handler(start, last, self.marked_error(last, error), succs[0])
        elif name == "THROW":
            self.op_THROW_out()
        else:
            getattr(self, f"op_{name}")(self.instructions[last][2])

    def split(
        self, start: int, condition: str, yes: tuple[int, bool], no: tuple[int, bool], known: tuple[Facts, Facts]
    ) -> None:
        branch = Branch(condition)
        before, stack, marked = self.out, list(self.stack), self.marked
        self.out, self.facts = branch.yes, known[0]
        self.go(yes[0], start, yes[1])
        self.out, self.stack, self.marked, self.facts = branch.no, list(stack), marked, known[1]
        self.go(no[0], start, no[1])
        self.out = before
        if not self.decided(branch):
            self.out.append(branch)

    def decided(self, branch: Branch) -> bool:
        """`option ?? other` right behind the text that gives END for None: that gives the other value instead."""
        last = self.out[-1] if self.out else None
        name = branch.condition.removeprefix("(").removesuffix(" is END)")
        yes, no = branch.yes, branch.no
        if not (name.isidentifier() and isinstance(last, str) and yes and len(yes) == len(no) and yes[:-1] == no[:-1]):
            return False
        place, assigned, text = last.rpartition(f"{name} = ")
        (target, _, other), value = str(yes[-1]).partition(" = "), str(no[-1])
        plain = other.isidentifier() or other.isdigit()
        if place.strip(PLACE) or not assigned or not plain or value != f"{target} = {name}" or not text.endswith(("END", "END)")):
            return False
        if text.count("END") > 1 or any(target in str(earlier) for earlier in yes[:-1]):
            return False
        self.out[-1:] = [f"{place}{target} = {text.rpartition('END')[0]}{other}{')' * text.endswith(')')}", *yes[:-1]]
        return True

    def condition(self, last: int, succs: list[tuple[int, bool]]) -> tuple[Entry, tuple[int, bool], tuple[int, bool]]:
        """The condition, and where control goes when it holds and when not."""
        self.at = last
        part = self.pop()
        if part.kind[0] != "bool":
            if not part.simple:
                self.push(part)
                self.settle()
                part = self.named(self.pop())
            part = self.identified(part)
            text = f"({part.text} is True or {part.text} is not False and ({self.here()}not_a_bool({part.text})))"
            part = Entry(text, s.BOOL, pure=False, uses=part.uses, deep=part.deep + 1)
        if OPCODES[self.instructions[last][1]].name == "JUMP_UNLESS":
            return part, succs[0], succs[1]
        return part, succs[1], succs[0]

    def widened(
        self, start: int, condition: Entry, yes: tuple[int, bool], no: tuple[int, bool]
    ) -> tuple[Entry, tuple[int, bool], tuple[int, bool], list[int], tuple[Facts, Facts]]:
        """The condition joined with those of the blocks that it leads to, as long as these do nothing but compare; and what is
        known when it holds, and when not."""
        merged: list[int] = []
        known = (
            self.learned(self.facts, condition.if_true, condition.less_true),
            self.learned(self.facts, condition.if_false, condition.less_false),
        )
        while not self.metered:
            for target, other, holds in ((no[0], yes[0], False), (yes[0], no[0], True)):
                found = self.only_condition(target, {start, *merged}, known[not holds])
                if found is None:
                    continue
                second, then, otherwise, after = found
                if other in (then[0], otherwise[0]) and then[0] != otherwise[0]:
                    straight = (then[0] == other) != holds
                    text = second.text if straight else f"(not {second.text})"
                    text = f"({condition.text} {'and' if holds else 'or'} {text})"
                    uses, deep = condition.uses | second.uses, max(condition.deep, second.deep) + 1
                    condition = Entry(text, s.BOOL, pure=False, uses=uses, deep=deep)
                    if straight == holds:
                        after = self.learned(after, second.if_true, second.less_true)
                    else:
                        after = self.learned(after, second.if_false, second.less_false)
                    if holds:
                        yes = then if straight else otherwise
                        known = after, self.facts.copy()
                    else:
                        no = otherwise if straight else then
                        known = self.facts.copy(), after
                    merged.append(target)
                    break
            else:
                break
            if condition.deep > s.DEEPEST_STACK:
                break
        return condition, yes, no, merged, known

    def learned(self, facts: Facts, limits: tuple[Limit, ...], less: tuple[tuple[str, str], ...]) -> Facts:
        """These facts, and bounds that hold too."""
        before, self.facts = self.facts, facts.copy()
        self.learn(limits)
        self.facts.less |= frozenset(less)
        found, self.facts = self.facts, before
        return found

    def only_condition(
        self, target: int, sources: set[int], known: Facts
    ) -> tuple[Entry, tuple[int, bool], tuple[int, bool], Facts] | None:
        """The condition of a block that does nothing else and is reached from `sources` alone, and what is known behind it."""
        block = self.flow.blocks.get(target)
        if block is None or block.body or block.leaves or not sources.issuperset(block.preds) or len(block.preds) != 1:
            return None
        last = block.end - 1
        if self.instructions[last][1] not in BRANCHES:
            return None
        kept = (self.out, list(self.stack), self.temporaries, len(self.sites), self.stored, self.at, self.marked, self.facts)
        self.out, self.stored, self.facts = [], {}, known.copy()
        at = target
        while at < last:
            at = self.step(at)
        found = None
        if at == last and self.stack:
            found = (*self.condition(last, block.succs), self.facts)
        same = len(self.stack) == len(kept[1]) and all(a is b for a, b in zip(self.stack, kept[1], strict=True))
        failed = bool(self.out) or not same
        self.out, self.stack, self.stored, self.at, self.marked, self.facts = kept[0], kept[1], *kept[4:]
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
        if not any(len(self.flow.blocks[t].preds) == 1 for t, _ in block.succs if t in self.flow.blocks):
            return []
        kept = (self.out, list(self.stack), self.temporaries, len(self.sites), self.stored, self.at, self.marked, self.facts)
        self.out, self.stored, self.facts = [], {}, self.facts.copy()
        at = start
        while at < last:
            at = self.step(at)
        merged: list[int] = []
        if at == last:
            condition, yes, no = self.condition(last, block.succs)
            merged = self.widened(start, condition, yes, no)[3]
        self.out, self.stack, self.temporaries = kept[0], kept[1], kept[2]
        self.stored, self.at, self.marked, self.facts = kept[4:]
        del self.sites[kept[3] :]
        return merged

    def next_element(self, start: int, succs: list[tuple[int, bool]]) -> None:
        """NEXT where it is not the head of a loop."""
        self.settle()
        name = self.temporary()
        self.out.append(f"{name} = next({self.stack[-1].text}, END)")
        branch = Branch(f"{name} is END")
        before, stack, marked, facts = self.out, list(self.stack), self.marked, self.facts.copy()
        self.out = branch.yes
        self.pop()
        self.go(succs[1][0], start, True)
        self.out, self.stack, self.marked, self.facts = branch.no, [*stack, Entry(name)], marked, facts
        self.go(succs[0][0], start)
        self.out = before
        self.out.append(branch)

    def tried(self, start: int, last: int, name: str, succs: list[tuple[int, bool]]) -> None:
        """`?`, or a statement's value, inside `try`."""
        part = self.pop_named()
        self.settle()
        good = f"type({part.text}) is Ok or type({part.text}) is Some" if name == "TRY" else f"type({part.text}) is not Err"
        branch = Branch(good)
        before, stack, marked, facts = self.out, list(self.stack), self.marked, self.facts.copy()
        self.out = branch.yes
        if name == "TRY":
            value = self.temporary()
            self.out.append(f"{value} = {part.text}.value")
            self.push(Entry(value, self.held(part.kind)))
        self.go(succs[0][0], start)
        self.out, self.stack, self.marked, self.facts = branch.no, list(stack), marked, facts
        error = self.temporary()
        self.at = last  # what follows when it went well has moved it
        made = self.left_as(part) if last in self.body.wraps else f"caught({part.text}, {self.way_here()})"
        self.out.append(f"{self.here()}{error} = {made}")
        self.to_handler(start, last, Entry(error), succs[1])
        self.out = before
        self.out.append(branch)

    def marked_error(self, last: int, error: Entry) -> Entry:
        """What is thrown to a handler of this function: an error knows its way then."""
        here = self.body.way(last)
        if error.kind[0] in s.SCALARS:
            return error
        error = self.named(error)
        if here != "()" and self.failure(error) >= 0:
            made = f"{error.text}.way = {self.way_with(error, here)}"
            self.out[-1:] = [made] if self.out[-1:] == [f"{error.text}.way = ()"] else [*self.out[-1:], made]
        elif here != "()":
            self.out.append(f"thrown({error.text}, {here})")
        return error

    def to_handler(self, start: int, last: int, error: Entry, target: tuple[int, bool]) -> None:
        if not error.pure:
            self.push(error)
            self.settle()
            error = self.pop()
        else:
            self.settle()
        del self.stack[self.kept[last] :]
        self.push(error)
        self.go(target[0], start, True)


# ----------------------------------------------------------------

LARGEST = 4000  # instructions of a function that is translated
MOST_PASSES = 8
LOCAL = re.compile(r"\bl(\d+)\b")
CALL = BY_NAME["CALL"].number


class Function:
    """What is known of a function before any of it is translated: `facts`, its code with what is inlined, `known` about its
    locals. Where fuel is counted nothing is inlined."""

    def __init__(self, program: Any, graph: CallGraph, number: int, metered: bool) -> None:
        self.program = program
        self.graph = graph
        self.number = number
        self.metered = metered
        self.image_function = program.image.functions[number]
        if len(program.verified.functions[number].instructions) > LARGEST:
            raise Unshaped("too large")
        self.facts = Body(program, graph, number, not metered)
        self.handlers = self.facts.handlers
        flows = [OPCODES[opcode].flow for _, opcode, _ in self.facts.instructions]
        self.costs = run_costs(flows)
        entered = {0, *self.handlers.values(), *self._targets()}
        self.fuel = sum([self.costs[index] for index in entered])  # at most, on a path without loops
        self._bodies: dict[int, tuple[int, frozenset[int]]] = {}  # of loops
        self._sought = False
        self.storage = Storage(self.facts, program.image, len(self.image_function.params))
        self.known = self._survey()

    def _targets(self) -> list[int]:
        found = self.facts.instructions
        return [self.facts.index_of[operand] for _, number, operand in found if OPCODES[number].kind is k.LABEL]

    def _translator(self, known: dict[Any, Entry], metered: bool) -> Translator:
        return Translator(self.program, self.graph, self.facts, known, self.storage, metered)

    def leaves(self, index: int) -> bool:
        """Whether the interpreter does this instruction."""
        _, number, operand = self.facts.instructions[index]
        if number == CALL:
            return bool(self.graph.suspends[operand])
        return number in LEFT

    # ------------------------------------------------------------ what is known of locals

    def _survey(self) -> dict[Any, Entry]:
        """What holds of each local wherever it is read: first as much as the stores do not speak against, then less until they
        bear it out."""
        arguments = {n: self._parameter(kind) for n, (_, kind, _) in enumerate(self.image_function.params)}
        flow = Flow(self.facts, self.handlers, lambda index: False)
        self.flow = flow
        self.facts.moved, self.facts.unnamed = moved(self.facts, flow), unnamed(self.facts)
        known: dict[Any, Entry] = {}
        sound: dict[Any, Entry] = {}
        refuted: set[Any] = set()
        doubtful: set[Any] = {*arguments}
        for attempt in range(MOST_PASSES):
            translator = self._translator(known, False)
            translator.surveying = True
            translator.shape(flow, self.costs)
            stored = translator.stored
            for slot, entry in arguments.items():
                stored.setdefault(slot, []).append(entry)
            found = {slot: meet(slot, entries) for slot, entries in stored.items()}
            assumed = [slot for slot, entry in known.items() if slot in found and entry.low is not None]
            refuted |= {slot for slot in assumed if found[slot].low is None}
            doubtful |= {slot for slot, entry in known.items() if entry.sure and slot in found and not found[slot].sure}
            settled = all(agrees(known[slot], found.get(slot)) for slot in known)
            if settled:
                sound = known
            if attempt == MOST_PASSES - 2:
                refuted |= found.keys()  # it takes too long: what is not sure by now is not hoped for
                doubtful |= found.keys()
            refuted |= arguments.keys()
            hoped = {slot: found[slot] if slot in refuted else hopeful(found[slot], stored[slot]) for slot in found}
            for slot in hoped.keys() - doubtful:
                if hoped[slot].kind[0] in s.SCALARS and any(entry.sure for entry in stored[slot]):
                    hoped[slot].sure = True  # as long as nothing speaks against it
            if attempt < 1:
                known = found  # kinds first: what is hoped for goes by them
                continue
            if settled and not any(better(entry, known.get(slot)) for slot, entry in hoped.items()):
                break
            known = hoped
        return sound

    def _parameter(self, number: int) -> Entry:
        return Entry("", self.storage.kinds.of_type(number))

    # ------------------------------------------------------------ parts

    def whole(self) -> Part:
        """The function from its beginning."""
        metered = self.metered
        flow = Flow(self.facts, self.handlers, self.leaves, threaded=not metered)
        translator = self._translator(self.known, metered)
        translator.stack = []
        entry = translator.place(0, [])
        body = translator.shape(flow, self.costs)
        counted_calls = self.graph.counted[self.number]
        guards = ["d < L"] if counted_calls and not self.graph.leaf[self.number] else []
        guards += ["F[0] < LOW"] if metered else []
        beginning: list[Any] = ["n = 0"] if metered else []
        if self.image_function.captures:
            cells = "".join([f"c{cell}, " for cell in range(len(self.image_function.captures))])
            beginning.append(f"{cells}= cells")
        if guards:
            guard = Branch(" or ".join(guards))
            guard.yes.append(f"{entry}raise Leave")
            beginning.append(guard)
        beginning += translator.beginning(entry)
        parameters = [f"l{n}" for n in range(len(self.image_function.params))]
        parameters += ["cells"] * (self.number in self.graph.values) + ["d"] * counted_calls
        return self._part(f"fn{self.number}", parameters, [*beginning, *body], translator)

    def loop(self, first: int) -> Part | None:
        """A loop, entered at its head, the instruction `first` of the function, with all locals, cells and what the operand stack
        holds."""
        metered = self.metered
        if first not in self.loops():
            return None
        head, body = self._bodies[first]
        flow = Flow(self.facts, self.handlers, self.leaves, head, body, threaded=not metered)
        translator = self._translator(self.known, metered)
        translator.stack = canonical_stack(self.facts.depths[head])
        entry = translator.place(head, translator.stack)
        statements = translator.shape(flow, self.costs)
        beginning: list[Any] = ["n = 0"] if metered else []
        beginning += translator.beginning(entry)
        parameters = [f"l{n}" for n in range(self.image_function.slots)]
        parameters += [f"s{n}" for n in range(self.facts.depths[head])]
        parameters += [f"c{n}" for n in range(self.image_function.cells)]
        if self.graph.counted[self.number]:
            parameters.append("d")
        return self._part(f"u{self.number}_{first}", parameters, [*beginning, *statements], translator)

    def _part(self, name: str, parameters: list[str], statements: list[Any], translator: Translator) -> Part:
        self._omit_stores(statements, translator)
        source, places = printed(f"def {name}({', '.join(parameters)}):", statements, translator.read)
        sites = translator.sites
        places[1] = 0  # the beginning: a value of another kind than the image says may fail on any line (G-3.8)
        return Part(name, self.facts.places, source, {line: sites[site] for line, site in places.items()}, self.fuel)

    def _omit_stores(self, statements: list[Any], translator: Translator) -> None:
        """Hidden locals that neither the text reads nor the interpreter would where control leaves are not assigned."""
        texts: list[str] = []
        found = stores(statements, texts)
        if not found:
            return
        leaving = [site for site in translator.sites if site.stack is not None]
        texts += [name for site in leaving for name in (*(site.stack or ()), *(site.again or ()))]
        texts += [name for site in translator.sites for name in site.element or ()]
        read = {int(number) for text in texts for number in LOCAL.findall(text)}
        if read.issuperset([store.slot for store in found]):
            return
        read |= read_after(self.facts, self.flow, {site.index for site in leaving})
        for store in found:
            if store.slot not in read:
                store.text = None

    def loops(self) -> dict[int, frozenset[int]]:
        """The loops that are worth translating by themselves: those that the interpreter is not needed in. By the index of their
        head in the function, with those of their blocks."""
        if not self._sought:
            self._sought = True
            flow = Flow(self.facts, self.handlers, lambda index: False)
            for head in flow.loops():
                body = flow.blocks[head].body
                indexes = [index for start in body for index in range(start, flow.blocks[start].end)]
                if head in self.facts.starts and not any(self.leaves(index) for index in indexes):
                    self._bodies[self.facts.starts[head]] = head, body
        own = self.facts.starts
        return {first: frozenset([own[at] for at in body if at in own]) for first, (_, body) in self._bodies.items()}


def meet(slot: Any, entries: list[Entry]) -> Entry:
    """What holds of all that is stored in a local. One that only counts, in small steps and from far off, does not come to the
    end."""
    kind = joint([entry.kind for entry in entries])
    lows = [-1 if entry.low is None else entry.low for entry in entries]
    fixed = [entry for entry in entries if entry.counts != f"l{slot}"]
    highs = [entry.high for entry in fixed if entry.high is not None]
    low = None if min(lows) < 0 else min(1, *lows)  # nothing between, so that this comes to an end
    high = max(highs, default=None) if len(highs) == len(fixed) else None
    if len(fixed) < len(entries):
        high = high + s.COUNTED if high is not None and high <= s.COUNTED else None
    found = Entry("", kind, low=low, high=high)
    found.sure, found.number = all(entry.sure for entry in entries), all(entry.numeric for entry in entries)
    return found


def hopeful(found: Entry, entries: list[Entry]) -> Entry:
    """The same, where nothing speaks against it that it is never negative."""
    if found.kind[0] == "int" and found.low is None and all(
        entry.low is None or entry.low >= 0 or entry.hope for entry in entries
    ):
        return Entry("", found.kind, low=0, high=found.high).certain(found)
    return found


def agrees(assumed: Entry, found: Entry | None) -> bool:
    """Whether all stores, under the assumption, bear it out. What nothing stores is never read."""
    if found is None:
        return True
    kind = assumed.kind in (s.ANY, found.kind) or (assumed.kind[1] == -1 and assumed.kind[0] == found.kind[0])
    kind = kind or (assumed.kind == s.PLAIN and found.kind[0] in s.SCALARS)
    low = assumed.low is None or (found.low is not None and found.low >= assumed.low)
    low = low and assumed.sure <= found.sure and assumed.number <= found.number
    return kind and low and (assumed.high is None or (found.high is not None and found.high <= assumed.high))


def better(found: Entry, assumed: Entry | None) -> bool:
    if assumed is None:
        return True
    bounded = (found.low is not None and assumed.low is None) or (found.high is not None and assumed.high is None)
    surer = found.sure > assumed.sure or found.number > assumed.number
    return bounded or surer or found.kind not in (s.ANY, assumed.kind)
