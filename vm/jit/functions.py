"""One function, or one loop of it, as Python text: the whole translation (V-7.2).

An abstract interpretation of the whole function comes first. It finds, as a fixpoint, what holds of each local wherever it is
read. With that, any part of the function is translated. The layers of the package below, from the bottom up:
`library`, `kinds` and `analysis`; `inlining`, `flow`, `text`, `liveness` and `lending`; `facts` and the `emitter`; the families
`arithmetic`, `values`, `places`, `intrinsics` and `calls`; `branches`, `loops` and `control`. Hands on `Function` to the tier,
which compiles the text of a part and runs it; nothing is compiled here.
"""

from __future__ import annotations

import re

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..interp.link import run_costs
from . import kinds
from .analysis import LARGEST, prelude_row
from .calls import prologue
from .control import Structure
from .emitter import Emitter
from .facts import Value, canonical_stack, confirms, improves, join_values, optimistic
from .flow import Flow, Unshaped
from .inlining import Body
from .lending import beginning, changes
from .library import METHOD, Part, suffix
from .literals import literals
from .liveness import LocalUses, hidden_stores, read_after
from .payloads import unpack_payloads
from .text import Branch, Spare, Store, printed, stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis import CallGraph
    from .kinds import Kind
    from .library import Closures

MOST_PASSES = 10  # of the fixpoint
WIDENING = 5  # the first pass whose kinds are joined with those of the one before
MOST_FIRST = 2  # passes before the last that looks for kinds alone
LOCAL = re.compile(r"\bl(\d+)\b")
TEMPORARY = re.compile(r"\bt\d+\b")
CALL = BY_NAME["CALL"].number


class Function:
    """What is known of function `number` of a linked `program`, with its call graph `graph`, before any part of it is translated:
    `image_function`, its record in the image; `body`, its code with what is inlined; `flow`, its blocks; `handlers`, by
    instruction that may throw to one, the start of its handler; `uses`, how its locals are used; `invariants`, what holds of its
    locals; `costs`, the fuel of the straight run from each instruction on; `fuel`, the most that it uses without a loop;
    `suffix`, the end of the names of its parts. Where fuel is counted (`metered`) nothing is inlined. With `closures` (pairs of a
    parameter and the number of a function) it is specialised for calls that give closures of these functions. The constructor and
    the methods that make parts raise Unshaped if it is too large, nested too deeply, or has a jump into a loop or to no construct
    around it, and RecursionError where Python has too little room left for the depth of its blocks."""

    def __init__(
        self, program: Any, graph: CallGraph, number: int, metered: bool, closures: Closures = ()
    ) -> None:
        self.program = program
        self.graph = graph
        self.number = number
        self.metered = metered
        self.image_function = program.image.functions[number]
        if len(program.verified.functions[number].instructions) > LARGEST:
            raise Unshaped("too large")
        self.closures = closures
        self.body = Body(program, graph, number, not metered, closures)
        self.suffix = suffix(closures)
        self.handlers = self.body.handlers
        self.costs = run_costs([OPCODES[opcode].flow for _, opcode, _ in self.body.instructions])
        labels = [self.body.index_of[at] for _, opcode, at in self.body.instructions if OPCODES[opcode].kind is k.LABEL]
        entered = {0, *self.handlers.values(), *labels}
        self.fuel = sum([self.costs[index] for index in entered])  # at most, on a path without loops
        self._bodies: dict[int, tuple[int, frozenset[int]]] = {}  # by index in the function, head and blocks of a loop
        self._loops_known = False
        self.uses = LocalUses(self.body, program.image, len(self.image_function.params))
        self.flow = Flow(self.body, self.handlers)
        self.body.hidden_stores = hidden_stores(self.body)
        self.body.hidden_locals = frozenset([self.body.instructions[at][2] for at in self.body.hidden_stores])
        self.body.literals = literals(self.body, program.image)
        self.invariants = self._invariants()

    def _kinds_of_parameters(self) -> list[Kind]:
        """Return the kinds of the parameters. A method of a built-in type that is written in Concerto has them with the types
        that a closure which it is specialised for says of its own parameters."""
        own = self.uses.kinds
        declared = [own.of_type(kind) for _, kind, _ in self.image_function.params]
        row = prelude_row(self.image_function)
        stated: list[Any] = []
        if row is not None:
            stated = [row.receiver_type, *[parameter.type for parameter in row.parameters]]
        if len(stated) != len(declared):  # none, or an image that has another function under this name
            return declared
        named: dict[str, Kind] = {}
        for position, function in self.closures:
            if stated[position][0] != "fn":
                continue
            for part, (_, kind, _) in zip(stated[position][1], self.program.image.functions[function].params, strict=False):
                if part[0] == "var" and named.get(part[1], kinds.ANY) == kinds.ANY:
                    named[part[1]] = own.of_type(kind)
        return [
            own.stated(type_, named) if kind[0] in ("", "any", type_[0]) else kind
            for kind, type_ in zip(declared, stated, strict=True)
        ]  # fmt: skip

    def _emitter(self, invariants: dict[Any, Value], metered: bool) -> Emitter:
        return Emitter(self.program, self.graph, self.body, self.uses, invariants, metered)

    # ------------------------------------------------------------ the fixpoint

    def _invariants(self) -> dict[Any, Value]:
        """Return what holds of each local wherever it is read: first everything that the stores do not contradict is assumed,
        then less until the stores, translated under the assumptions, confirm them."""
        arguments = {n: Value("", kind) for n, kind in enumerate(self._kinds_of_parameters())}
        assumed: dict[Any, Value] = dict(arguments)
        sound: dict[Any, Value] = {}
        refuted: set[Any] = set()  # those that are not assumed to be never negative
        doubtful: set[Any] = {*arguments}  # those that are not assumed to be certain of their kind
        first = True  # kinds first, of which some only come to light in a second or third pass
        for attempt in range(MOST_PASSES):
            emitter = self._emitter(assumed, False)
            self.uses.kinds.unknown = kinds.UNSTORED if first else kinds.ANY
            Structure(emitter, self.flow, self.costs, surveying=True).statements()
            stored = emitter.stored
            for slot, value in arguments.items():
                stored.setdefault(slot, []).append(value)
            joined = {slot: join_values(slot, values) for slot, values in stored.items()}
            if first:
                unknown = [slot for slot in joined if joined[slot].kind == kinds.UNSTORED]
                first = bool(unknown) and attempt < MOST_FIRST
                for slot in unknown:
                    joined[slot].kind = kinds.ANY
                assumed = {slot: joined[slot] for slot in joined if not (first and slot in unknown)}
                continue
            refuted |= {
                slot for slot, value in assumed.items()
                if slot in joined and value.low is not None and joined[slot].low is None
            }  # fmt: skip
            doubtful |= {slot for slot, value in assumed.items() if value.certain and slot in joined and not joined[slot].certain}
            confirmed = all(confirms(joined.get(slot), assumed[slot]) for slot in assumed)
            if confirmed:
                sound = assumed
            if attempt == MOST_PASSES - 2:  # it takes too long: what is not confirmed by now is not assumed
                refuted |= joined.keys()
                doubtful |= joined.keys()
            refuted |= arguments.keys()
            if attempt >= WIDENING:  # kinds that go to and fro between passes come to what both have in common
                for slot in assumed.keys() & joined.keys():
                    kind = kinds.join([assumed[slot].kind, joined[slot].kind])
                    if kind != joined[slot].kind:
                        joined[slot] = joined[slot].with_kind(kind)
            hopes = {slot: joined[slot] if slot in refuted else optimistic(joined[slot], stored[slot]) for slot in joined}
            for slot in hopes.keys() - doubtful:
                if hopes[slot].kind[0] in kinds.SCALARS and any(value.certain for value in stored[slot]):
                    hopes[slot].certain = True
            if confirmed and not any(improves(value, assumed.get(slot)) for slot, value in hopes.items()):
                break
            assumed = hopes
        return sound

    # ------------------------------------------------------------ parts

    def whole(self) -> Part:
        """Return the function as a part that is entered at its beginning: its text, with the places in the bytecode of its
        lines."""
        metered = self.metered
        emitter = self._emitter(self.invariants, metered)
        entry = emitter.site(0, [])
        statements = self._all_statements(emitter)
        counted = self.graph.counted[self.number]
        tests = ["d < L"] if counted and not self.graph.leaf[self.number] else []
        tests += ["F[0] < LOW"] if metered else []
        beginning: list[Any] = ["n = 0"] if metered else []
        if self.image_function.captures:
            cells = "".join([f"c{cell}, " for cell in range(len(self.image_function.captures))])
            beginning.append(f"{cells}= cells")
        beginning += self._cells_of_closures()
        if tests:
            guard = Branch(" or ".join(tests))
            guard.yes.append(f"{entry}raise Deoptimise")
            beginning.append(guard)
        parameters = [f"l{n}" for n in range(len(self.image_function.params))]
        parameters += ["cells"] * (self.number in self.graph.values) + ["d"] * counted
        name = f"fn{self.number}{self.suffix}"
        return self._part(name, parameters, [*beginning, *prologue(emitter, entry), *statements], emitter)

    def _all_statements(self, emitter: Emitter) -> list[Any]:
        flow = Flow(self.body, self.handlers, threaded=not self.metered)
        return Structure(emitter, flow, self.costs).statements()

    def method(self) -> Part | None:
        """Return the function, a method of a tool, as a part that gets its state by a lease (`lending`), and the handle of the
        tool and the room for calls as any function that a site calls; None for one that does more with the state than that
        allows."""
        emitter = self._emitter(self.invariants, False)
        emitter.lent = {}
        if self.image_function.flags & im.F_INOUT:
            found = changes(self.body, self.uses)
            if found is None:
                return None
            emitter.lent = found
        elif not self.graph.borrows(self.number, 0):
            return None
        entry = emitter.site(0, [])
        statements = self._all_statements(emitter)
        if emitter.noting or self.metered or self.graph.unplaced(self.number):
            return None  # an entry is set in a form that notes nothing
        counted = self.graph.counted[self.number]
        parameters = [*[f"l{n}" for n in range(1, len(self.image_function.params))], "d"]
        opening = beginning(parameters, emitter.lent, entry)
        if counted:
            guard = Branch("d < L")
            guard.yes.append(f"{entry}raise Deoptimise")
            opening += ["d -= 1", guard]
        opening += prologue(emitter, entry)
        return self._part(f"{METHOD}{self.number}", ["this", *parameters, "H"], [*opening, *statements], emitter)

    def loop(self, first: int) -> Part | None:
        """Return a loop, entered at its head, the instruction `first` of the function, with all locals and cells and what the
        operand stack holds; None for one that is not in `loops()`."""
        metered = self.metered
        if first not in self.loops():
            return None
        head, blocks = self._bodies[first]
        depth = self.body.depths[head]
        emitter = self._emitter(self.invariants, metered)
        emitter.stack = canonical_stack(depth)
        entry = emitter.site(head, emitter.stack)
        flow = Flow(self.body, self.handlers, head, blocks, threaded=not metered)
        statements = Structure(emitter, flow, self.costs).statements()
        beginning: list[Any] = [*(["n = 0"] if metered else []), *self._cells_of_closures()]
        parameters = [f"l{n}" for n in range(self.image_function.slots)]
        parameters += [f"s{n}" for n in range(depth)]
        parameters += [f"c{n}" for n in range(self.image_function.cells)]
        parameters += ["d"] * self.graph.counted[self.number]
        return self._part(
            f"u{self.number}_{first}{self.suffix}", parameters, [*beginning, *prologue(emitter, entry), *statements], emitter
        )

    def _cells_of_closures(self) -> list[Any]:
        cells = self.body.closure_cells
        return [f"{''.join([f'c{cell}, ' for cell in own])}= l{position}.cells" for position, own in cells.items() if own]

    def _part(self, name: str, parameters: list[str], statements: list[Any], emitter: Emitter) -> Part:
        unpack_payloads(statements)
        self._drop_dead_stores(statements, emitter)
        source, places = printed(f"def {name}({', '.join(parameters)}):", statements, emitter.read)
        sites = emitter.sites
        if emitter.lent is None:
            places[1] = 0  # the beginning: a value of another kind than the image says may fail on any line (G-3.8)
        return Part(name, self.body.places, source, {line: sites[site] for line, site in places.items()}, self.fuel)

    def _drop_dead_stores(self, statements: list[Any], emitter: Emitter) -> None:
        """Take the stores out of temporaries and hidden locals that neither the text reads, nor the interpreter would where
        control leaves (dead store elimination)."""
        texts: list[str] = []
        found = stores(statements, texts)
        if not found:
            return
        leaving = [site for site in emitter.sites if site.stack is not None]
        texts += [name for site in leaving for name in (*(site.stack or ()), *(site.again or ()))]
        texts += [name for site in emitter.sites for name in site.element or ()]
        named = {name for text in texts for name in TEMPORARY.findall(text)}
        for spare in found:
            if isinstance(spare, Spare) and spare.name not in named:
                spare.text = None
        candidates = [store for store in found if isinstance(store, Store)]
        read = {int(number) for text in texts for number in LOCAL.findall(text)}
        if read.issuperset([store.slot for store in candidates]):
            return
        read |= read_after(self.body, self.flow, {site.index for site in leaving})
        for store in candidates:
            if store.slot not in read:
                store.text = None

    def loops(self) -> dict[int, frozenset[int]]:
        """Return the loops that are worth translating by themselves, those without an instruction that only the interpreter does:
        by the index of their head in the function, the indexes of their blocks."""
        if not self._loops_known:
            self._loops_known = True
            for head in self.flow.loops():
                body = self.flow.blocks[head].body
                indexes = [index for start in body for index in range(start, self.flow.blocks[start].end)]
                if head in self.body.starts and not any(self._is_interpreted(index) for index in indexes):
                    self._bodies[self.body.starts[head]] = head, body
        own = self.body.starts
        return {first: frozenset([own[at] for at in body if at in own]) for first, (_, body) in self._bodies.items()}

    def _is_interpreted(self, index: int) -> bool:
        """Return whether the interpreter does this instruction."""
        _, number, operand = self.body.instructions[index]
        if number == CALL:
            return bool(self.graph.suspends[operand])
        return self.graph.is_interpreted(number, operand)
