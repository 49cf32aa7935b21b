"""Rules of the verifier about code: each instruction by itself, and what flows through a function (V102 to V120, V125, V126).

Hands on to `verify.py`: `check_operands`, which also returns the stack effect of each instruction, and `StackMap`, the depths of
the stack; to linker and translated tier: `unplaced_returns` (L-5.11.3). The first breach raises ImageError with the code of its
rule; nothing in the image is changed. A new kind of operand needs its check in `_RULES`, or in `_BY_KIND` if it means something
within one function only; one that is a constant also a row of `_KINDS_OF_CONSTANT`, one that says how many values are popped a
row of `_COUNTS`.
"""

from __future__ import annotations

from heapq import heappop, heappush

from . import image as i
from . import image as im
from . import opcodes as p
from . import operands as k
from .image import Function, is_identifier
from .opcodes import BY_NAME, OPCODES, READ_SLOT, WRITE_SLOT, Opcode
from .rules import MOST_VISITS, Code, Scope, place, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .rules import Effect
    from .verify import Verified


# ----------------------------------------------------------------
# Rules about one instruction by itself: its operand is inside its table and of its kind (V102 to V109, V119, V120).

if TYPE_CHECKING:
    Breach = tuple[str, str]  # rule, reason
    LocalRule = Callable[[Scope, i.Function, Code, int, int], Iterable[Breach]]

_KINDS_OF_CONSTANT: dict[str, tuple[int, ...]] = {
    k.CONST.name: (i.K_INT, i.K_FLOAT, i.K_STRING, i.K_VARIANT),
    k.VARIANT.name: (i.K_VARIANT,),
    k.METHOD.name: (i.K_METHOD,),
    k.BUILTIN.name: (i.K_BUILTIN,),
    k.HOST.name: (i.K_BUILTIN,),
    k.ERROR.name: (i.K_ERROR,),
    k.NAME.name: (i.K_STRING,),
    k.CONFIG.name: (i.K_CONFIG,),
}
_RANGE = BY_NAME["RANGE"].number
_PARALLEL = BY_NAME["PARALLEL"].number


def check_operands(scope: Scope, function: i.Function, code: Code) -> list[Effect]:
    """Return the stack effect of each instruction, with the values of counted groups: (values popped, values pushed, role of the
    opcode, whether it ends a block). Raises ImageError V102 to V109, V119, V120 or V125. Adds effects that hold in the whole
    image to `scope.effects`."""
    stack_effects = []
    effects, slots, offsets = scope.effects, function.slots, code.index_of
    for _, number, operand in code.instructions:
        effect = _WITHOUT_OPERAND[number]
        if effect is None:
            form = _FORM[number]
            if form == _ANYWHERE:
                effect = effects.get((number, operand))
            elif operand < slots if form == _SLOT else form == _LABEL and operand in offsets:
                effect = _UNCOUNTED[number]
            if effect is None:
                effect = _checked(scope, function, code, number, operand)
        stack_effects.append(effect)
    return stack_effects


def _checked(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Effect:
    """Return the stack effect of an instruction that keeps all rules. What holds in every function is checked once per image."""
    pair = (number, operand)
    local_rule = _LOCAL_RULES[number]
    if local_rule is not None:
        _refuse(local_rule(scope, function, code, number, operand), function, code, pair)
    if p.SUSPENDS[number] and not function.flags & i.F_SUSPENDS:
        _refuse((("V120", "it may suspend, its function does not say so"),), function, code, pair)
    if pair not in scope.effects:
        kind = OPCODES[number].kind.name
        if local_rule is None and kind != k.NONE.name:
            _refuse(_RULES[kind](scope, number, operand), function, code, pair)
        count = _COUNTS[kind](scope, operand) if p.STARRED[number] else 0
        scope.effects[pair] = _effect(number, count)
    return scope.effects[pair]


def _effect(number: int, count: int) -> Effect:
    return p.POPS[number] + count, p.PUSHES[number], p.ROLE[number], p.ENDS_BLOCK[number]


_UNCOUNTED = tuple(_effect(op.number, 0) for op in OPCODES)
# The stack effects of opcodes for which there is nothing to check.
_WITHOUT_OPERAND = tuple(
    _effect(op.number, 0) if op.kind is k.NONE and not p.SUSPENDS[op.number] else None for op in OPCODES
)
# What is enough to check of an operand at first: that the function has the slot, that an instruction starts at the label, that
# the same pair was right elsewhere in the image; else the whole of `_checked`. Nearly all instructions end here, which keeps
# verification cheap.
_SLOT, _LABEL, _ANYWHERE, _WHOLE = range(4)


def _form(op: Opcode) -> int:
    if op.kind is k.LOCAL or op.kind is k.LABEL:
        return _SLOT if op.kind is k.LOCAL else _LABEL
    return _WHOLE if p.SUSPENDS[op.number] or op.kind.name in _BY_KIND else _ANYWHERE


def _refuse(breaches: Iterable[Breach], function: i.Function, code: Code, pair: tuple[int, int]) -> None:
    for rule, reason in breaches:
        refuse(rule, where(function, code, *pair), reason)


def where(function: i.Function, code: Code, number: int, operand: int) -> str:
    """Return the place for `refuse` of the first instruction with this opcode number and operand, of which there must be one."""
    at = next(offset for offset, *rest in code.instructions if rest == [number, operand])
    return describe(function, at, number, operand)


def describe(function: i.Function, at: int, number: int, operand: int) -> str:
    """Return the place for `refuse` of an instruction at offset `at`: its function, offset, name and operand."""
    op = OPCODES[number]
    return place(function, f"offset {at}, {op.name}{'' if op.kind is k.NONE else f' {operand}'}")


# ---------------------------------------------------------------- operand kinds that mean the same in every function


def _rule(number: int) -> str:
    """Return the code of the rule that an operand breaks which is none of its kind."""
    return OPCODES[number].kind.rule


def _count(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand % 2 and "entries*" in OPCODES[number].pops:
        yield _rule(number), "keys and values come in pairs"
    if number == _RANGE and operand > 1:
        yield _rule(number), "the operand is 0 or 1"


def _constant(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    kind = OPCODES[number].kind.name
    if operand >= len(scope.kinds):
        yield _rule(number), f"there are {len(scope.kinds)} constants"
    elif scope.kinds[operand] not in _KINDS_OF_CONSTANT[kind]:
        yield _rule(number), f"constant {operand} is no {kind}"
    else:
        yield from _content(scope, number, operand)


def _content(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    kind, value = OPCODES[number].kind.name, scope.image.constants[operand][1]
    if kind == k.NAME.name and not is_identifier(value):
        yield "V125", f"{value!r} is no member name"
    if kind == k.CONST.name and scope.kinds[operand] == i.K_VARIANT and scope.payload(operand):
        yield "V119", f"constant {operand} is a variant with a payload"
    if kind == k.BUILTIN.name and tuple(value) not in scope.builtins:
        yield _rule(number), f"there is no built-in {'.'.join(part for part in value if part)}"
    if kind == k.HOST.name and tuple(value) not in scope.performed:
        yield _rule(number), f"the host performs no {'::'.join(part for part in value if part)}"


def _type(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["types"]:
        yield _rule(number), f"there are {scope.sizes['types']} types"
    elif p.STARRED[number] and scope.fields[operand] is None:
        yield _rule(number), f"type {operand} has no fields"


def _field(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.most_fields:
        yield _rule(number), f"no type has more than {scope.most_fields} fields"


def _declaration(scope: Scope, number: int, operand: int) -> Iterator[Breach]:
    table = OPCODES[number].kind.table
    if operand >= scope.sizes[table]:
        yield _rule(number), f"there are {scope.sizes[table]} {table}"


_RULES: dict[str, Callable[[Scope, int, int], Iterator[Breach]]] = {
    k.COUNT.name: _count,
    k.CONST.name: _constant,
    k.VARIANT.name: _constant,
    k.METHOD.name: _constant,
    k.BUILTIN.name: _constant,
    k.HOST.name: _constant,
    k.ERROR.name: _constant,
    k.NAME.name: _constant,
    k.CONFIG.name: _constant,
    k.TYPE.name: _type,
    k.FIELD.name: _field,
    k.MODEL.name: _declaration,
    k.AGENT.name: _declaration,
    k.MEMORY.name: _declaration,
    k.HASHMAP.name: _declaration,
    k.LEDGER.name: _declaration,
    k.PIPELINE.name: _declaration,
    k.SCHEMA.name: _declaration,
    k.TOOL.name: _declaration,
    k.MCP.name: _declaration,
    k.EMBEDDER.name: _declaration,
    k.INDEX.name: _declaration,
    k.EXTERN.name: _declaration,
}


# ---------------------------------------------------------------- operand kinds that mean something within one function


def _slot(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand < function.slots else ((_rule(number), f"the function has {function.slots} locals"),)


def _cell(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand < function.cells else ((_rule(number), f"the function has {function.cells} cells"),)


def _label(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterable[Breach]:
    return () if operand in code.index_of else ((_rule(number), "no instruction starts there"),)


def _function(scope: Scope, function: i.Function, code: Code, number: int, operand: int) -> Iterator[Breach]:
    if operand >= scope.sizes["functions"]:
        yield _rule(number), f"there are {scope.sizes['functions']} functions"
        return
    callee = scope.image.functions[operand]
    if p.ROLE[number] != p.CAPTURE and callee.captures:
        yield "V105", f"`{callee.name}` captures cells, so it is called through a closure only"
    elif scope.captured[operand] > function.cells:
        yield "V105", f"`{callee.name}` captures a cell that the function has not"
    if number == _PARALLEL and len(callee.params) != 1:
        yield "V119", f"`{callee.name}` takes {len(callee.params)} parameters, an element is one"
    if callee.flags & i.F_SUSPENDS and not function.flags & i.F_SUSPENDS:
        yield "V120", f"`{callee.name}` may suspend, the function that names it does not say so"


_BY_KIND: dict[str, LocalRule] = {
    k.LOCAL.name: _slot,
    k.CELL.name: _cell,
    k.LABEL.name: _label,
    k.FUNCTION.name: _function,
}
_LOCAL_RULES = tuple(_BY_KIND.get(op.kind.name) for op in OPCODES)
_FORM = tuple(_form(op) for op in OPCODES)


# ---------------------------------------------------------------- what a counted group counts


def _arguments_of_function(scope: Scope, operand: int) -> int:
    return scope.parameters[operand] if operand < len(scope.parameters) else 0


def _arguments_of_constant(scope: Scope, operand: int) -> int:
    """Return how many values a constant's counted group has: the payload of a variant, arguments of a method, of a built-in with
    its receiver, message and fields of an error."""
    if operand >= len(scope.kinds):
        return 0
    kind, value = scope.image.constants[operand]
    if kind == i.K_VARIANT:
        return scope.payload(operand)
    if kind == i.K_METHOD:
        return int(value[1])
    if kind == i.K_BUILTIN:
        return scope.builtins.get(tuple(value)) or scope.performed.get(tuple(value), 0)
    return len(value) - 1 if kind == i.K_ERROR else 0


def _fields_of_type(scope: Scope, operand: int) -> int:
    return scope.fields[operand] or 0 if operand < len(scope.fields) else 0


def _arguments_of_extern(scope: Scope, operand: int) -> int:
    return _arguments_of_function(scope, scope.image.externs[operand].function) if operand < scope.sizes["externs"] else 0


_COUNTS: dict[str, Callable[[Scope, int], int]] = {
    k.COUNT.name: lambda scope, operand: operand,
    k.VARIANT.name: _arguments_of_constant,
    k.FUNCTION.name: _arguments_of_function,
    k.METHOD.name: _arguments_of_constant,
    k.BUILTIN.name: _arguments_of_constant,
    k.HOST.name: _arguments_of_constant,
    k.ERROR.name: _arguments_of_constant,
    k.TYPE.name: _fields_of_type,
    k.EXTERN.name: _arguments_of_extern,
}


# ----------------------------------------------------------------
# Rules about paths: what the stack, the locals and the cells hold before each instruction (V110 to V117, V126).
#
# `StackMap` makes one pass over the reachable blocks of a function, forward through a worklist. Handlers and snapshots rely on
# the depths found here and on nothing else (G-4.2).

if TYPE_CHECKING:
    # Stack depth; then bit masks: stack positions with iterators, assigned locals, assigned cells.
    State = tuple[int, int, int, int]


class StackMap:
    """The pass over one function. `depths`: the depth of the stack before each instruction, -1 where control never arrives;
    `iterators`: bit masks of the stack positions with iterators; `handlers`: as in `FunctionFacts`; `leads`: 1 where a block
    begins. `effects`: of each instruction, on the stack; `states`: by index of a block's first instruction, what holds before it;
    `visits`: how often it was visited; `pending`, `queued`: the blocks to be visited. This is abstract interpretation as in the
    JVM's verifier: a block is visited again while a path brings a smaller set of assigned locals or cells, at most MOST_VISITS
    times."""

    __slots__ = (
        "scope", "function", "program", "index_of", "effects", "depths", "iterators", "leads", "handlers", "states",
        "visits", "pending", "queued",
    )  # fmt: skip

    def __init__(self, scope: Scope, function: Function, code: Code, effects: list[Effect]) -> None:
        self.scope = scope
        self.function = function
        self.program = code.instructions
        self.index_of = code.index_of
        self.effects = effects
        self.depths = [-1] * len(self.program)
        self.iterators = [0] * len(self.program)
        self.handlers = self._innermost_handlers()
        self.leads = self._leads()
        self.states: dict[int, State] = {}
        self.visits: dict[int, int] = {}
        self.pending: list[int] = []  # a heap of block leaders, and the same as a set
        self.queued: set[int] = set()

    def _leads(self) -> bytearray:
        """Return 1 at each index that begins a block: the first, targets of jumps and handlers, what follows the end of a block;
        and 1 behind the last."""
        leads = bytearray(len(self.program) + 1)
        leads[0] = leads[-1] = 1
        ends_block, jumps = p.ENDS_BLOCK, p.JUMPS
        for index, (_, number, operand) in enumerate(self.program):
            if ends_block[number]:
                leads[index + 1] = 1
                if jumps[number] and operand in self.index_of:
                    leads[self.index_of[operand]] = 1
        for handler in self.function.handlers:
            leads[self.index_of.get(handler[2], 0)] = 1
        return leads

    def leaders(self) -> list[int]:
        """Return the indexes that begin a block, in order."""
        return [index for index, leads in enumerate(self.leads[:-1]) if leads]

    def _innermost_handlers(self) -> dict[int, tuple[int, int]]:
        """Return (target index, depth) of the innermost handler by instruction index, for the instructions inside a range that
        may throw. Instructions and ranges are both in order of offset, so one sweep over them is enough."""
        handlers: dict[int, tuple[int, int]] = {}
        coming = sorted(enumerate(self.function.handlers), key=lambda item: (-item[1][0], item[1][1], item[0]))
        around: list[list[int]] = []  # ranges that hold the instruction, innermost last
        for index, (offset, number, _) in enumerate(self.program if coming else ()):
            while coming and coming[-1][1][0] <= offset:
                around.append(coming.pop()[1])
            while around and around[-1][1] <= offset:
                around.pop()
            if around and p.THROWS[number] and around[-1][2] in self.index_of:
                handlers[index] = (self.index_of[around[-1][2]], around[-1][3])
        return handlers

    def run(self) -> None:
        """Make the pass, which fills `depths` and `iterators`. Raises ImageError V110 to V117 or V126."""
        function = self.function
        if not self.program or p.FALLS_THROUGH[self.program[-1][1]]:
            at = self.program[-1][0] if self.program else 0
            refuse("V110", f"function `{function.name}`, offset {at}", "nothing stands behind the last instruction")
        if self.program:
            self._arrive(0, (0, 0, (1 << len(function.params)) - 1, (1 << len(function.captures)) - 1), 0)
        while self.pending:
            leader = heappop(self.pending)
            self.queued.discard(leader)
            self.visits[leader] = visits = self.visits.get(leader, 0) + 1
            if visits > MOST_VISITS:
                self._refuse("V126", leader, f"it is visited more than {MOST_VISITS} times")
                return
            self._block(leader)

    def _refuse(self, rule: str, index: int, reason: str) -> None:
        at, number, operand = self.program[index]
        refuse(rule, describe(self.function, at, number, operand), reason)

    # ---------------------------------------------------------------- where paths join

    def _arrive(self, index: int, state: State, source: int) -> None:
        """Merge a state into that of a block: only what all ways in have assigned stays assigned. Refuses V113, V114."""
        earlier = self.states.get(index)
        if earlier is None:
            merged = state
        elif earlier == state:
            return
        else:
            if earlier[0] != state[0]:
                self._refuse("V113", source, f"depth {state[0]} meets depth {earlier[0]}")
            if earlier[1] != state[1]:
                self._refuse("V114", source, "a value meets an iterator")
            merged = (earlier[0], earlier[1], earlier[2] & state[2], earlier[3] & state[3])
            if merged == earlier:
                return
        self.states[index] = merged
        if index not in self.queued:
            self.queued.add(index)
            heappush(self.pending, index)

    def _throw(self, index: int, state: State, below: int) -> None:
        """Send control to the handler in range, with the stack cut to its depth and the error pushed. Refuses V117."""
        target, depth = self.handlers[index]
        if below < depth:
            self._refuse("V117", index, f"the handler expects depth {depth}, {below} is left")
        self._arrive(target, (depth + 1, state[1] & ((1 << depth) - 1), state[2], state[3]), index)

    # ---------------------------------------------------------------- along a block

    def _block(self, index: int) -> None:
        """Follow one block from its leader to its end, and merge its last state into all successors."""
        effects, depths, iterators, leads = self.effects, self.depths, self.iterators, self.leads
        program, declared, handlers = self.program, self.function.stack, self.handlers
        depth, kinds, slots, cells = self.states[index]
        while True:
            popped, pushed, role, ends = effects[index]
            depths[index] = depth
            if kinds:  # bit masks of iterators; nearly always 0
                iterators[index] = kinds
            below = depth - popped
            if below < 0:
                self._refuse("V111", index, f"it pops {popped} of {depth} values")
                below = 0
            if handlers and index in handlers:
                self._throw(index, (depth, kinds, slots, cells), below)
            depth = below + pushed
            if depth > declared:
                self._refuse("V112", index, f"depth {depth}, declared {declared}")
            if role > WRITE_SLOT:
                kinds, cells = self._effect(index, role, below, kinds, cells)
            else:
                if role == READ_SLOT:
                    if not slots >> program[index][2] & 1:
                        self._refuse("V115", index, f"local {program[index][2]} may be unassigned")
                elif role == WRITE_SLOT:
                    slots |= 1 << program[index][2]
                if kinds and kinds >> below:
                    self._refuse("V116", index, "it pops an iterator")
                    kinds &= (1 << below) - 1
            if ends:
                self._leave(index, (depth, kinds, slots, cells), below)
                return
            index += 1
            if leads[index]:
                if index < len(program):
                    self._arrive(index, (depth, kinds, slots, cells), index - 1)
                return

    def _effect(self, index: int, role: int, below: int, kinds: int, cells: int) -> tuple[int, int]:
        """Return kinds of the stack and existing cells behind an instruction that leaves the lowest `below` values of the stack
        alone."""
        _, number, operand = self.program[index]
        above, kinds = kinds >> below, kinds & ((1 << below) - 1)
        if role == p.WALK:
            if above != 1:
                self._refuse("V116", index, "the top of the stack is no iterator")
            return kinds | 1 << below, cells
        if role == p.MIXED:
            if p.PUSHES[number] and above >> max(0, self.depths[index] - below - 1):
                self._refuse("V116", index, "the value to keep is an iterator")
            return kinds, cells
        if above:
            self._refuse("V116", index, "it pops an iterator")
        if role == p.BEGIN_WALK:
            return kinds | 1 << below, cells
        if role == p.MAKE_CELL:
            return kinds, cells | 1 << operand
        if role == p.CAPTURE:
            self._capture(index, cells)
        elif not cells >> operand & 1:
            self._refuse("V115", index, f"cell {operand} may not exist yet")
        return kinds, cells

    def _capture(self, index: int, cells: int) -> None:
        operand = self.program[index][2]
        missing = self.scope.captures(operand) & ~cells
        if missing:
            cell = next(cell for cell in self.scope.image.functions[operand].captures if missing >> cell & 1)
            self._refuse("V115", index, f"captured cell {cell} may not exist yet")

    def _leave(self, index: int, state: State, below: int) -> None:
        """Go on at the end of a block: to its jump, the instruction behind it, or nowhere at the end of the function."""
        _, number, operand = self.program[index]
        if p.JUMPS[number] and operand in self.index_of:
            jumped = state
            if p.ROLE[number] == p.WALK:  # the jump of NEXT drops the iterator
                jumped = (below, state[1] & ((1 << below) - 1), state[2], state[3])
            self._arrive(self.index_of[operand], jumped, index)
        if p.FALLS_THROUGH[number] and index + 1 < len(self.program):
            self._arrive(index + 1, state, index)
        if p.RETURNS[number] and below:
            self._refuse("V113", index, f"{below + 1} values are on the stack")


# ----------------------------------------------------------------
# Which returns of a function may give an Err that no instruction of the program made (L-5.11.3).

RETURN, CALL, JUMP, SETTLE, SLIDE, OK, ERR = (
    BY_NAME[name].number for name in ("RETURN", "CALL", "JUMP", "SETTLE", "SLIDE", "OK", "ERR")
)


def unplaced_returns(verified: Verified, number: int) -> set[int]:
    """Return the indexes, among the instructions, of the RETURNs of function `number` that may return an Err without a place;
    none for a function whose result is no Result, or that is hidden. Left out are those that return an Ok, an Err made in this
    function, or the Result of another function of the program that is not hidden, whose own RETURN has set the place."""
    image = verified.image
    function = image.functions[number]
    if image.types[function.result][0] != "result" or function.flags & im.F_HIDDEN:
        return set()
    facts = verified.functions[number]
    jumps: dict[int, list[int]] = {}  # to an instruction, from others
    for index, (_, opcode, operand) in enumerate(facts.instructions):
        if OPCODES[opcode].kind is k.LABEL:
            jumps.setdefault(facts.index_of[operand], []).append(index)
    handled = {facts.index_of[target] for _, _, target, _ in function.handlers}

    def placed(index: int) -> bool:
        """Return whether the value on the stack before an instruction surely needs no place: a walk backwards over all paths."""
        pending, visited = [index], set()
        while pending:
            at = pending.pop()
            if at in visited:
                continue
            visited.add(at)
            if at in handled or at == 0:
                return False
            falls = OPCODES[facts.instructions[at - 1][1]].flow not in ("jump", "stop")
            for source in [*([at - 1] if falls else []), *jumps.get(at, ())]:
                opcode, operand = facts.instructions[source][1:]
                if opcode in (JUMP, SETTLE, SLIDE):
                    pending.append(source)
                elif facts.depths[source] >= 0 and opcode not in (OK, ERR) and not (opcode == CALL and places_errors(operand)):
                    return False
        return True

    def places_errors(callee: int) -> bool:
        called = image.functions[callee]
        return image.types[called.result][0] == "result" and not called.flags & im.F_HIDDEN

    reached = [i for i, (_, opcode, _) in enumerate(facts.instructions) if opcode == RETURN and facts.depths[i] >= 0]
    return {index for index in reached if not placed(index)}
