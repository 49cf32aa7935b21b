"""The emitter: what one translation writes, and what it knows at the place it has come to (V-7.2).

The operand stack of the bytecode is kept at translation time: abstract values in place of values. An expression that may
fail, or that depends on what a statement could change, is spilled into a temporary before a statement is written, so that
everything happens in the order of the bytecode. A function is translated several times: `functions` assumes what holds of each
local (`invariants`), and translates until the stores that the emitter records confirm the assumptions; that search is called the
fixpoint.

The functions that translate single opcodes stand in families (`arithmetic`, `values`, `places`, `intrinsics`, `calls`); each
takes the emitter, the opcode and the operand, and is a row of the table `EMIT` of its family. An opcode without a row has the
generic form, a call of its function in vm/interp/ops.py. What ends a block is in `branches`. Nothing is compiled or run here.

Names in the text: `lN` is local N, `cN` a cell, `sN` position N of the operand stack where control flow joins, `tN` a temporary,
`aN` the list of the Array or the dict of the Map in local N, `bN` the same once a loop has made the container unique, None
before, `mN` whether a walk may add to it without a test, `eN`, `hN`, `jN` and `kN_A` what was computed in front of all loops
(`calls.prologue`), `vN` the element of the walk by the iterator in position N, `cells` the parameter with the cells of a function
value, `g` which of several places behind a join a path goes to, `w`, `x` and `r` variables for the moment. `KOPCODE_OPERAND` is a
linked operand, `newOPCODE_OPERAND` what makes an empty instance of such a class, `CN_FIRST_LAST` the literal of constants that
these instructions of function N make, `TKOPCODE_OPERAND` the Python functions of a call site, by the class of the receiver, `BN`
the body of the built-in in constant N, `W_N_M` the path of an error by instruction M of function N, with further pairs for
further places, `op_NAME` the function of an opcode; `fnN` is the translation of function N, `uN_M` that of its loop with the head
M, with what they are specialised for behind it. `d` is how many calls may still nest, `F[0]` the fuel left (instructions that the
run may still do), `n` what is counted of it and not paid, `raise Deoptimise` the way to the interpreter. Other names are those of
`library.NAMES` and of the globals of `tier.Tier`. An atom is a name or a constant; a site is a place in the bytecode that a line
stands for.

Hands on `Emitter` to `functions`, which makes one for each translation, to `control`, whose `Structure` writes by it, and to the
families; `registrar` and `Form` to the families, `starred_count` to `values`; `DEEPEST_EXPRESSION` to `branches`,
`MOST_PARTS` to `places`.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME
from . import kinds
from .facts import NOTHING, Facts, Value, depth_around, slot_of, variables_of
from .library import Site
from .text import Branch, Spare, mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .analysis import CallGraph
    from .facts import Limit
    from .inlining import Body
    from .kinds import Kind
    from .liveness import LocalUses
    from .text import Statement

    Form = Callable[["Emitter", Opcode, int], None]

DEEPEST_EXPRESSION = 24  # parentheses in one another
MOST_PARTS = 4  # of a tuple whose parts are written out
LITERALS = frozenset({"True", "False", "None"})
# What a generic opcode gives, where it always gives the same kind.
RESULTS: dict[str, Kind] = {
    "JOIN": kinds.STRING, "EQ": kinds.BOOL, "NE": kinds.BOOL, "LT": kinds.BOOL, "LE": kinds.BOOL, "GT": kinds.BOOL,
    "GE": kinds.BOOL, "IS": kinds.BOOL, "IS_ERROR": kinds.BOOL, "NOT": kinds.BOOL, "LENGTH": kinds.INT, "NEG_INT": kinds.INT,
    "MAP": kinds.MAP, "RANGE": kinds.PLAIN, "CLOSURE": kinds.PLAIN,
}  # fmt: skip


def registrar(rows: dict[int, Form]) -> Callable[..., Callable[[Form], Form]]:
    """Return the decorator of a family: `@emit(NAME, …)` enters a function in `rows` under the number of each opcode of these
    names, and returns it."""

    def emit(*names: str) -> Callable[[Form], Form]:
        def register(form: Form) -> Form:
            rows.update(dict.fromkeys([BY_NAME[name].number for name in names], form))
            return form

        return register

    return emit


def starred_count(op: Opcode, operand: int, linked: Any) -> int:
    """Return how many values the starred name in the stack effect of an opcode stands for that `generic` or a form writes: of no
    call; `linked` is the linked operand."""
    if op.name == "STRUCT":
        return len(linked.decl.fields)
    if op.name == "ERROR":
        return int(linked.count)
    if op.name == "VARIANT":
        return int(linked.decl.variants[linked.variant].arity)
    return operand


class Emitter:
    """The writer of one translation. `program`: the linked one, `image`: that of it, `graph`: its call graph, `body`: the code
    that is translated, `function`: the number of the outermost function in it, `uses`: how its locals are used, `kinds`: the
    kinds of its types, `stack`: the operand stack here, `facts`: what holds here. `sites`: what the marks in the text stand for,
    by their numbers; `temporaries`: how many variables `t1`, `t2`, … have been named. `invariants`: what holds everywhere in the
    function, under these keys: of a local its slot, of the stack (start of a block, position), of what a local Array or Map holds
    ("element", slot) and ("key", slot), of what a walk gives ("walked", head of the loop). `metered`: fuel is counted (V-6.7),
    in the variable `n` until it is paid; otherwise loops only look at the stop flag."""

    def __init__(
        self, program: Any, graph: CallGraph, body: Body, uses: LocalUses, invariants: dict[Any, Value], metered: bool
    ) -> None:
        self.program = program
        self.image = program.image
        self.graph = graph
        self.body = body
        self.uses = uses
        self.kinds = uses.kinds
        self.invariants = uses.with_contents(invariants)
        self.metered = metered
        self.function = body.root.function
        self.out: list[Statement] = []  # where statements are written to
        self.sites: list[Site] = []
        self.at = 0  # the instruction that is translated
        self.temporaries = 0
        self.payments = 0  # how often fuel has been paid: behind that a count of it says nothing about the rounds of a loop
        self.stack: list[Value] = []
        self.facts = Facts()
        self.marked: frozenset[str] = frozenset()  # variables whose value is marked as shared, or needs no mark
        self.stored: dict[Any, list[Value]] = {}  # what is stored, under the keys of `invariants`, for the fixpoint
        self.read: set[str] = set()  # variables that keep the value of an expression and are read again
        self.walked: dict[int, Value] = {}  # by stack position of an iterator, its elements
        # Loops hoist these out of their bodies.
        self.loop_code: frozenset[int] = frozenset()  # the instructions in loops
        self.lists: dict[str, int] = {}  # arrays whose list is in a variable throughout a loop, and the head of that
        self.room_tested: dict[str, frozenset[int]] = {}  # by array: pushes whose room the loop has tested before it
        self.range_stores: set[int] = set()  # STORE instructions that Python's `for … in range(…)` does itself
        self.hoisted_callees: set[tuple[int, int]] = set()  # parameters that a loop calls, with the number of arguments
        self.hoisted_stores: set[int] = set()  # declared hashmaps
        self.hoisted_depths: set[int] = set()  # calls that inlined functions around a call in a loop take of the limit on nesting
        # Of a method of a tool that is called with a lease (`lending`): what it does with the fields of its state, None in any
        # other translation; by variable with a Map of which it notes what is set, the field.
        self.lent: dict[int, int] | None = None
        self.noting: dict[str, int] = {}

    # ------------------------------------------------------------ places in the bytecode

    def site(self, index: int, stack: list[Value] | None = None) -> str:
        """Return the mark, text that begins a line which stands for the instruction `index`. With a stack, control may leave
        there, and the entries become names or constants, since the frame of the interpreter takes them over."""
        if stack is not None:
            self.bind_all(stack)
        self.sites.append(Site(index, None if stack is None else tuple([value.text for value in stack])))
        return mark(len(self.sites) - 1)

    def here(self) -> str:
        """Return the mark of what may fail in the instruction that is translated."""
        return self.site(self.at)

    def element_site(self, array: str, index: str) -> str:
        """Return the mark of a read or write by position, which Python's own test of the position guards."""
        self.sites.append(Site(self.at, None, (array, index)))
        return mark(len(self.sites) - 1)

    def in_loop(self) -> bool:
        """Return whether the instruction that is translated stands in a loop."""
        return self.at in self.loop_code

    def error_path(self) -> str:
        """Return the expression of the path that an error takes by this instruction (the places it passes)."""
        return self.body.error_path(self.at)

    # ------------------------------------------------------------ the operand stack

    def push(self, value: Value) -> None:
        """Push a value, in a temporary if its expression is nested too deeply."""
        self.stack.append(value)
        if value.depth > DEEPEST_EXPRESSION:
            self.spill()
            self.stack[-1] = self.bind(self.stack[-1])

    def push_expression(
        self, text: str, parts: list[Value], kind: Kind = kinds.ANY, *, fails: bool = False, pure: bool = True
    ) -> None:
        """Push an expression, the Python text `text`, that contains `parts`. One that fails gets a line of its own; without
        `pure` a statement that is written later may change what it gives."""
        if fails:
            text = f"({self.here()}{text})"
        repeatable = not fails and all(part.pure for part in parts)
        self.push(Value(text, kind, pure=repeatable, uses=variables_of(parts), depth=depth_around(parts)))
        self.stack[-1].pure &= pure

    def push_variable(self, name: str, kind: Kind) -> None:
        """Push what a temporary holds already, which a later statement may assign again."""
        self.push(Value(name, kind, pure=False, uses=frozenset({name})))

    def push_unboxed(self, text: str, name: str, kind: Kind, payload: Kind) -> None:
        """Push an Option or Result that is only built, by `text`, where somebody wants it whole: the variable `name` holds its
        payload, or END or the Err."""
        self.push(Value(text, kind, pure=False, uses=frozenset({name}), depth=1))
        self.stack[-1].unboxed, self.stack[-1].unboxed_kind = name, payload

    def push_test(self, part: Value, absent: bool) -> None:
        """Push the test whether an Option or Result that is not built is None or an Err (`absent`), or not; the answer, where an
        earlier test has told."""
        assert part.unboxed is not None
        known = self.facts.absent.get(part.unboxed)
        if known is not None:
            self.push(Value(str(known == absent), kinds.BOOL))
            return
        test = f"type({part.unboxed}) is" if part.kind[0] == "result" else f"{part.unboxed} is"
        other = "Err" if part.kind[0] == "result" else "END"
        self.push(Value(f"({test}{' not' * (not absent)} {other})", kinds.BOOL))
        self.stack[-1].asks = part.unboxed, absent

    def pop(self) -> Value:
        """Pop the top value and return it; its text may be written once."""
        return self.stack.pop()

    def pop_bound(self) -> Value:
        """Pop a value that may be written more than once."""
        top = self.stack.pop()
        if top.is_atom:
            return top
        self.spill()
        return self.bind(top)

    def pop_two_bound(self) -> tuple[Value, Value]:
        """Pop two such values, the deeper one first; everything that may fail happens before."""
        self.spill()
        top, below = self.bind(self.pop()), self.bind(self.pop())
        return below, top

    def pop_many(self, count: int) -> list[Value]:
        """Pop `count` values, the deepest first."""
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def spilled(self, value: Value) -> Value:
        """Return, as an atom, a value that was popped; it is computed behind all that the stack below it still has to compute."""
        self.push(value)
        self.spill()
        return self.bind(self.pop())

    def bind(self, value: Value) -> Value:
        """Return the same value as an atom, which may be written more than once."""
        return value if value.is_atom else self.bind_fresh(value)

    def bind_fresh(self, value: Value) -> Value:
        """Return the same value in a variable of its own."""
        if value.binding is not None:
            name, text = value.binding
            self.out.append(f"{name} = {text}")
            bound = value.under_name(name)
            bound.pure, bound.uses = False, frozenset({name})
            return bound
        name = self.temporary()
        if value.unboxed is None:
            self.out.append(f"{name} = {value.text}")
        else:
            self._keep_payload(value)
            self.out.append(Spare(name, value.text))
        bound = value.under_name(name)
        bound.max_length = value.max_length
        bound.unboxed, bound.unboxed_kind = value.unboxed, value.unboxed_kind  # the payload is still beside what holds it
        bound.parts = value.parts
        return bound

    def _keep_payload(self, value: Value) -> None:
        """Mark what an Option that is not built has read out of a container that keeps it: the container may be written before
        the Option is taken apart."""
        if value.kind == kinds.OPTION and self.kinds.is_marked(value.unboxed_kind):
            self.mark_if_there(str(value.unboxed), value.unboxed_kind)

    def mark_if_there(self, name: str, kind: Kind) -> None:
        """Mark what a variable has as shared, unless that is END."""
        if name not in self.marked:
            there = Branch(f"{name} is not END")
            there.yes += self.marking(name, kind)
            self.out.append(there)
            self.marked |= {name}

    def bind_all(self, stack: list[Value]) -> None:
        """Replace every value in `stack` by the same one as an atom."""
        for position, value in enumerate(stack):
            stack[position] = self.bind(value)

    def bind_literal(self, value: Value) -> Value:
        """Return the same value, in a variable if it is a constant: CPython warns of some forms around a literal."""
        literal = value.text in LITERALS or value.text.strip("(-)").isdigit()
        return self.bind_fresh(value) if literal else value

    def spill(self, unboxed: bool = True) -> None:
        """Compute everything on the stack that is not pure now, into temporaries. Without `unboxed`, an Option that is not built
        yet may wait for the test whether it is there."""
        for position, value in enumerate(self.stack):
            if not value.pure and (unboxed or value.unboxed is None):
                self.stack[position] = self.bind(value)

    def preserve(self, name: str) -> None:
        """Keep the old value for what on the stack depends on a variable that is about to change."""
        self.facts.forget_parts(name)
        if any(name in value.uses and not value.pure and not value.is_atom for value in self.stack):
            self.spill()
        for position, value in enumerate(self.stack):
            if name in value.uses:
                copy = self.temporary()
                self.out.append(f"{copy} = {value.text}")
                self.stack[position] = value.under_name(copy)

    def canonicalise(self, kept: Sequence[int] = ()) -> None:
        """Bring the stack into the form it has where control flow joins: position n in the variable sn, apart from positions that
        a local has, by `kept` (`Structure.kept_locals`)."""
        if sum([not value.pure for value in self.stack]) > 1:
            self.spill()
        for position, value in enumerate(self.stack):
            name = f"s{position}"
            if value.text == name or (position < len(kept) and kept[position] >= 0):
                continue
            for later in range(position + 1, len(self.stack)):
                if name in self.stack[later].uses or self.stack[later].text == name:
                    self.stack[later] = self.bind_fresh(self.stack[later])
            self.out.append(f"{name} = {value.text}")
            self.stack[position] = Value(name, value.kind, uses=frozenset({name}), low=value.low)

    def declare_type(self) -> None:
        """Give the top of the stack its declared type, where it is an argument or the result of an inlined function."""
        declared = self.body.declared_types.get(self.at)
        if declared is not None and self.stack[-1].kind == kinds.ANY:
            self.stack[-1] = self.stack[-1].with_kind(self.kinds.of_type(declared))

    # ------------------------------------------------------------ statements

    def temporary(self) -> str:
        """Return a name that is not used yet."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def statement(self, text: str) -> None:
        """Write a statement with effects, behind everything that the stack still has to compute."""
        self.spill()
        self.out.append(text)

    def allocate(self, name: str, slots: list[tuple[str, str]], kind: Kind) -> None:
        """Push a new instance of the class with the global name `name`; `slots` has the text for each of its slots. It is made
        empty and filled, which costs a third less than a call of the class."""
        new = self.temporary()
        self.spill(unboxed=False)  # nothing is written that an Option which is not built could tell
        self.out.append(f"{new} = new{name.removeprefix('K')}()")
        self.out += [f"{new}.{slot} = {text}" for slot, text in slots]
        self.push(Value(new, kind))

    def call(self, text: str, kind: Kind) -> None:
        """Write a call whose callee may deoptimise, and push its result: the frame of this function then goes on behind it."""
        name = self.temporary()
        self.out.append(f"{self.site(self.at, self.stack)}{name} = {text}")
        self.push(Value(name, kind))

    def stack_before(self) -> tuple[str, ...]:
        """Return the operand stack as atoms, for a call that the interpreter does from the beginning where it deoptimises."""
        self.spill()
        self.bind_all(self.stack)
        return tuple([value.text for value in self.stack])

    def deoptimise(self, index: int | None = None) -> None:
        """Hand the frame over to the interpreter, which goes on with the instruction `index`, by default this one."""
        self.spill()
        self.out.append(f"{self.site(self.at if index is None else index, self.stack)}raise Deoptimise")

    def charge(self, cost: int) -> None:
        """Count `cost` instructions that follow as fuel, where fuel is counted."""
        if self.metered:
            self.out.append(f"n += {cost}")

    def pay(self, cost: int = 0) -> None:
        """Pay the fuel that was counted so far, and `cost`, before control goes elsewhere."""
        if self.metered:
            self.payments += 1
            self.out.append(f"F[0] -= n + {cost}" if cost else "F[0] -= n")
            self.out.append("n = 0")

    def marks(self, name: str, kind: Kind) -> list[str]:
        """Return the statements that mark what a variable has as shared: a container, or the containers that a short tuple
        holds; [] where the kind does not tell."""
        if kind[0] in kinds.CONTAINERS:
            return [f"{name}.shared = True"]
        if kind[0] != "tuple" or kind[1] < 0 or len(self.kinds.descriptor(kind[1])[1]) > MOST_PARTS:
            return []
        parts = [(at, self.kinds.element(kind, at)) for at in range(len(self.kinds.descriptor(kind[1])[1]))]
        marked = [(at, part[0]) for at, part in parts if self.kinds.is_marked(part)]
        whole = all(word in kinds.CONTAINERS for _, word in marked)
        return [f"{name}[{at}].shared = True" for at, _ in marked] if whole else []

    def marking(self, name: str, kind: Kind) -> list[Statement]:
        """Return the statements that mark what a variable has, a value of this kind, as shared."""
        known: list[Statement] = [*self.marks(name, kind)]
        if known:
            return known
        test, whole = Branch(f"(w := type({name})) not in PLAIN"), Branch("w in MARKED")
        whole.yes.append(f"{name}.shared = True")
        whole.no.append(f"share({name})")
        test.yes.append(whole)
        return [test]

    # ------------------------------------------------------------ operands and the generic form

    def linked(self, op: Opcode, operand: int) -> Any:
        """Return what the linker has made of an operand, such as a class of a struct or a call site."""
        return self.program.resolve_operand(op, operand)

    def constant(self, op: Opcode, operand: int) -> str:
        """Return the global name of a linked operand."""
        return f"K{op.number}_{operand}"

    def generic(self, op: Opcode, operand: int) -> None:
        """Pop what an opcode takes, write a call of its function in vm/interp/ops.py, and push what that gives, if the opcode
        pushes anything."""
        linked = self.linked(op, operand) if op.kind.name != "none" else None
        single = len(op.pops) - op.starred
        count = starred_count(op, operand, linked) if op.starred else 0
        parts = self.pop_many(single + count)
        arguments = [part.text for part in parts]
        if op.starred:
            arguments = [f"[{', '.join(arguments[:count])}]", *arguments[count:]]
        if op.kind.name != "none" and op.name not in ("ARRAY", "JOIN", "TUPLE", "MAP"):
            arguments.append(self.constant(op, operand))
        if op.name in ("ITERATE", "TAKE_INDEX"):
            arguments.append("MACHINE")
        text = f"op_{op.name}({', '.join(arguments)})"
        if len(op.pushes) == 2:
            below, top = self.temporary(), self.temporary()
            self.statement(f"{self.here()}{below}, {top} = {text}")
            self.push(Value(below))
            self.push(Value(top))
        elif op.pushes:
            self.push_expression(text, parts, RESULTS.get(op.name, kinds.ANY), fails=True)
        else:
            self.statement(f"{self.here()}{text}")

    # ------------------------------------------------------------ what is known of locals

    def local(self, slot: int) -> Value:
        """Return the value of a local here, by the name of the first local that holds it."""
        fact = self.facts.slots.get(slot)
        name = f"l{slot}" if fact is None else fact.text
        if name != f"l{slot}":
            slot = int(name[1:])
            fact = self.facts.slots.get(slot)
        known = fact or self.invariants.get(slot, NOTHING)
        value = known.under_name(name)
        if fact is None and slot not in self.invariants:
            value.kind = self.kinds.unknown
        value.uses = frozenset({name})
        if fact is not None:
            value.variant, value.divisor = fact.variant, fact.divisor
            value.unboxed, value.unboxed_kind, value.parts = fact.unboxed, fact.unboxed_kind, fact.parts
            value.range = fact.range
        return value

    def record_store(self, key: Any, value: Value) -> None:
        """Note for the fixpoint that a value is stored, under a key of `invariants`."""
        if value.unboxed is not None and value.kind[0] == "option":
            value = Value("", self.kinds.container("option", value.unboxed_kind))
        self.stored.setdefault(key, []).append(value)

    def record_element(self, array: str, kind: Kind, key: Kind = kinds.ANY) -> None:
        """Note for the fixpoint that an element of a kind is put into a local Array or Map, under a key of the kind `key`."""
        if slot_of(array) >= 0:
            self.record_store(("element", slot_of(array)), Value("", kind))
            self.record_store(("key", slot_of(array)), Value("", key))

    def assign(self, slot: int, value: Value) -> None:
        """Change the facts for a local that is assigned: what is known of the value, and what holds of the local everywhere."""
        name = f"l{slot}"
        everywhere = self.invariants.get(slot, NOTHING)
        open_kind = value.kind[0] not in kinds.SCALARS  # what is in a container may change in kind
        kind = value.kind
        if open_kind and everywhere.kind[0] == kind[0]:
            kind = everywhere.kind
        elif kind[0] in ("array", "map") and (slot in self.invariants or self.kinds.unknown != kinds.UNSTORED):
            kind = (kind[0], kinds.UNKNOWN)
        low = max([bound for bound in (value.low, everywhere.low) if bound is not None], default=None)
        high = min([bound for bound in (value.high, everywhere.high) if bound is not None], default=None)
        same = not open_kind and slot_of(value.text) >= 0
        self.facts.kill(name)
        kind = value.kind if value.unboxed is not None else everywhere.kind if kind == kinds.ANY else kind
        fact = Value(value.text if same else name, kind, low=low, high=high).with_certainty_of(value)
        if kind == everywhere.kind:
            fact.certain, fact.is_number = fact.certain or everywhere.certain, fact.is_number or everywhere.is_number
        fact.unboxed, fact.unboxed_kind = value.unboxed, value.unboxed_kind
        if all(part.text != name for part in value.parts):
            fact.parts = value.parts
        if value.range is not None and all(part.is_atom and part.text != name for part in value.range[:2]):
            fact.range = value.range
        self.facts.slots[slot] = fact

    def refine(self, limits: Iterable[Limit]) -> None:
        """Add limits of locals that hold on this path."""
        for slot, low, high, variant, divisor in limits:
            value = self.local(slot)
            value.variant = value.variant if variant is None else variant
            value.divisor = value.divisor if divisor is None else divisor
            if low is not None and (value.low is None or value.low < low):
                value.low = low
            if high is not None and (value.high is None or value.high > high):
                value.high = high
            self.facts.slots[slot] = value

    def refined(self, facts: Facts, condition: Value, holds: bool) -> Facts:
        """Return a copy of some facts with what a condition says where it `holds`, or where it does not."""
        before, self.facts = self.facts, facts.copy()
        self.refine(condition.if_true if holds else condition.if_false)
        self.facts.less |= frozenset(condition.less_true if holds else condition.less_false)
        if condition.asks is not None:
            name, absent = condition.asks
            self.facts.absent[name] = absent == holds
        refined, self.facts = self.facts, before
        return refined

    def list_of(self, array: str) -> str:
        """Return the expression of the list of an Array or the dict of a Map in a variable."""
        return f"a{array[1:]}" if array in self.lists else f"{array}.items"
