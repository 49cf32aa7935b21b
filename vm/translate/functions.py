"""One function, or one loop of it, as Python text (V-7.2).

Hands on `Function`, what the translator knows of a function whatever part of it is asked for. Must not know: machines, where code
is kept.
"""

from __future__ import annotations

import re

from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..link import run_costs
from . import stack as s
from .analysis import LEFT
from .facts import Storage
from .flow import Flow, Unshaped
from .inlining import Body
from .kinds import joint
from .moving import moved, read_after, unnamed
from .parts import Part
from .stack import Entry, canonical_stack
from .text import Branch, printed, stores
from .translator import Translator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis import CallGraph

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
