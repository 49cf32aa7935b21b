"""Loops as Python's `for` and `while`: what is hoisted in front of them, the look at the stop flag, and where they go on
(V-7.2).

A `for` walks an iterator, or a range in place of a loop that counts. Hoisted out of a loop are the lists of arrays that it only
reads and writes by position, the test whether such an array is shared, and the test whether there is room for what all rounds
push. Hands on `counting_loops` and `translate_loop` to `control`. What is inside a loop is translated by `control`, through the
`Structure` `s`: its `emitter` has the operand stack of abstract values and the list `out` that statements are written to.

In the text `lN` is local N, `sN` position N of the operand stack, `vN` the element of the walk by the iterator there, `aN` the
list of the Array or the dict of the Map in local N, `bN` the same once it is known to be unshared, else None, `mN` whether it is
unshared and has room, `S` the stop flag, `M` the most elements of a container, `F[0]` the fuel left, below `LOW` of which the
interpreter goes on, `n` what is counted of it and not paid, `WALKS` the classes of iterators that tell how many elements are
left; other names are those of `emitter`.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..record import record
from .branches import condition_at
from .facts import Value, slot_of
from .flow import STORES
from .liveness import WRITTEN
from .places import copier
from .text import Branch, Compound, Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .control import Scope, Structure
    from .flow import Flow

LOAD, STORE, INT, CONST, ADD_INT, LT_INT, LE_INT, JUMP, JUMP_UNLESS, NEXT, ITERATE = (
    BY_NAME[name].number for name in (
        "LOAD", "STORE", "INT", "CONST", "ADD_INT", "LT_INT", "LE_INT", "JUMP", "JUMP_UNLESS", "NEXT", "ITERATE",
    )
)  # fmt: skip
CALLING = frozenset(op.number for op in OPCODES if op.name.startswith("CALL") and op.name != "CALL_BUILTIN")
MOST_ROUNDS = 100  # of a walk over constants that is done before the stop flag is looked at again

# ---------------------------------------------------------------- induction variables


@record
class Induction:
    """The variable of a loop `while i < n { …; i += k; }` in which nothing else assigns `i`, `n` or `k`: the local `slot`
    grows by the number `step`, or by the local `step` where it is not `fixed`; the instruction `advance` stores it.
    `inclusive`: it comes to the limit too."""

    slot: int
    step: int
    fixed: bool
    advance: int
    inclusive: bool


def counting_loops(flow: Flow, image: Any) -> dict[int, Induction]:
    """Return, by head, the loops of the form of `Induction`, whatever the sign of the step. A loop with `continue` has a second
    way back to its head, without a step, and is left out. So is one that may end before the limit: it often does so after a few
    rounds, which a range is too dear for."""
    loops: dict[int, Induction] = {}
    for head in flow.loops():
        block = flow.blocks[head]
        tails = [start for start in block.body if any(target == head for target, _ in flow.blocks[start].succs)]
        out = [start for start in block.body for target, _ in flow.blocks[start].succs if target not in block.body]
        if block.end != head + 4 or len(tails) != 1 or tails[0] == head or out != [head]:
            continue
        end = flow.blocks[tails[0]].end
        if end - tails[0] >= 5:
            loop = _induction(flow.code.instructions, image, head, end)
            spans = [flow.code.instructions[start : flow.blocks[start].end] for start in block.body]
            assigned = [operand for span in spans for _, number, operand in span if number in STORES]
            if loop is not None and assigned.count(loop[0].slot) == 1 and loop[1].isdisjoint(assigned):
                loops[head] = loop[0]
    return loops


def _induction(
    instructions: list[tuple[int, int, int]], image: Any, head: int, end: int
) -> tuple[Induction, set[int]] | None:
    """Return the variable of a loop whose condition begins at `head` and whose step ends before `end`, and the locals that have
    to stay as they are."""
    (_, first, slot), (_, second, limit), (_, test, _), (_, branch, _) = instructions[head : head + 4]
    (_, loaded, again), (_, by, step), (_, add, _), (_, stored, to), (_, jump, _) = instructions[end - 5 : end]
    if (first, branch, loaded, add, stored, jump) != (LOAD, JUMP_UNLESS, LOAD, ADD_INT, STORE, JUMP):
        return None
    if not slot == again == to or test not in (LT_INT, LE_INT) or second not in (LOAD, INT, CONST) or by not in (LOAD, INT):
        return None
    if second == CONST and image.constants[limit][0] != im.K_INT:
        return None
    invariant = {operand for number, operand in ((second, limit), (by, step)) if number == LOAD}
    return Induction(slot, step, by == INT, end - 2, test == LE_INT), invariant


# ---------------------------------------------------------------- the three forms of a loop


def translate_loop(s: Structure, start: int, inside: list[int]) -> None:
    """Translate the loop with the head `start`, the blocks `inside` that stand behind the construct of its head, and where
    control goes from the loop. Raises Unshaped as `Structure.statements`."""
    e = s.emitter
    scope = s.open_loop(start)
    lists, room_tested, hoisted, payments = e.lists, e.room_tested, s.hoisted, e.payments
    iterator = s.flow.code.depths[start] - 1
    promote_lists(s, start)
    walks, counts = s.instructions[start][1] == NEXT, counts_up(s, start)
    if walks:
        hoist_room(s, start, iterator)
    if walks or counts:
        hoist_uniqueness(s, start, iterator if walks else -1)
    statement = Compound(f"for v{iterator} in s{iterator}:" if walks else "while True:")
    before, e.out = e.out, statement.body
    if walks:
        walk_iterator(s, start, statement, inside, iterator)
    elif counts:
        walk_range(s, start, scope, statement, inside)
    else:
        s.enter(start)
        poll(s, start, start)
        s.construct(start, inside)
    if e.payments > payments:  # rounds that pay for themselves count up to nothing: the head asks in each what is left
        s.paying[start].condition += " or F[0] < LOW"
    e.out = before
    e.out.append(statement)
    s.scopes.pop()
    e.lists, e.room_tested, s.hoisted = lists, room_tested, hoisted
    if walks:
        end_walk(s, scope, statement)
    leave_loop(s, scope)


def counts_up(s: Structure, start: int) -> bool:
    """Return whether a loop is one that counts, in steps that are known to be positive."""
    e = s.emitter
    loop = s.counting.get(start)
    if loop is None:
        return False
    s.enter(start)
    step = None if loop.fixed else e.local(loop.step)
    least = loop.step if step is None else step.low
    return e.local(loop.slot).kind[0] == "int" and least is not None and least > 0


def walk_range(s: Structure, start: int, scope: Scope, statement: Compound, inside: list[int]) -> None:
    """Write the body of a loop that counts. The range ends where the condition does; the step behind the last round is then still
    to be made."""
    e = s.emitter
    loop, last = s.counting[start], start + 3
    s.open(inside)
    s.enter(start)
    s.steps(start, start + 2)
    limit, name = e.stack[-1].text, f"l{loop.slot}"
    step = str(loop.step) if loop.fixed else f"l{loop.step}"
    statement.head = f"for {name} in range({name}, {limit}{' + 1' * loop.inclusive}, {step}):"
    s.step(start + 2)
    s.ends[start] = e.facts.copy()
    e.facts.opened |= s.hoisted
    condition, yes, no = condition_at(s, last, s.flow.blocks[start].succs)
    facts = e.refined(e.facts, condition, True)
    poll(s, start, start)
    e.facts = facts
    e.range_stores |= {loop.advance}
    s.go(yes[0], start, yes[1])
    s.close(inside)
    e.out = statement.otherwise
    s.enter(start)
    s.record_stack(no[0])
    ahead, line = Branch(condition.text), Line()
    ahead.yes.append(f"{name} = {name} + {step}")
    e.out += [ahead, line]
    scope.exits.setdefault(no[0], []).append(line)


def walk_iterator(s: Structure, start: int, statement: Compound, inside: list[int], iterator: int) -> None:
    """Write the body of a `for` over the iterator at a stack position. A local that is assigned first becomes the variable of the
    `for`."""
    e = s.emitter
    s.open(inside)
    s.enter(start)
    s.ends[start] = e.facts.copy()
    e.facts.opened |= s.hoisted
    following = start + 1
    block = s.flow.blocks.get(following)
    alone = block is not None and not s.flow.is_merge(following) and not block.body
    _, number, slot = s.instructions[following]
    element = e.walked.get(iterator)
    if element is None:  # the loop is entered here, with an iterator that the interpreter has made
        element = e.invariants.get(("walked", start)) or Value("", e.kinds.unknown)
    e.record_store(("walked", start), element)
    if block is not None and alone and number == STORE and following + 1 < block.end:
        statement.head = f"for l{slot} in s{iterator}:"
        e.record_store(slot, element)
        e.assign(slot, element)
        refine_below_end(s, start, slot, element)
        s.skip = following
        poll(s, following + 1, start, iterator)
        s.go(following, start)
    else:
        e.stack.append(Value(f"v{iterator}", element.kind, low=element.low, high=element.high))
        if element.elements_marked:
            e.marked |= {f"v{iterator}"}
        poll(s, following, start, iterator)
        s.go(s.flow.blocks[start].succs[0][0], start)
    s.close(inside)


def refine_below_end(s: Structure, start: int, slot: int, element: Value) -> None:
    """Note that the element of a range is less than its end, as long as neither is assigned."""
    e = s.emitter
    end = slot_of(element.upper_bound)
    body = s.flow.blocks[start].body
    if end >= 0 and s.instructions[start - 1][1] == ITERATE and not any(end in s.flow.stored(block) for block in body):
        e.facts.less |= {(f"l{slot}", element.upper_bound)}
        if element.low is not None:
            e.refine([(end, element.low + 1, None, None, None)])


def end_walk(s: Structure, scope: Scope, statement: Compound) -> None:
    """Write where a `for` goes on when its iterator has no more elements."""
    e = s.emitter
    target = s.flow.blocks[scope.target].succs[1][0]
    line = Line()
    before, e.out = e.out, statement.otherwise
    e.charge(s.costs[target])
    s.enter(scope.target)
    e.pop()
    s.record_stack(target)
    e.out.append(line)
    e.out = before
    scope.exits.setdefault(target, []).append(line)


def leave_loop(s: Structure, scope: Scope) -> None:
    """Behind a loop, go on to where its exits lead; with several of them, `g` says which."""
    e = s.emitter
    targets = sorted(scope.exits)
    if len(targets) == 1:
        s.enter(targets[0])
        s.jump(targets[0])
        return
    s.uses_g = s.uses_g or bool(targets)
    before, choices = e.out, []
    for target in targets:
        for line in scope.exits[target]:
            line.text = f"g = {target + 1}"
        choice = Branch(f"g == {target + 1}")
        e.out = choice.yes
        e.out.append("g = 0")
        s.enter(target)
        s.jump(target)
        choices.append(choice)
    for choice, following in zip(choices, choices[1:], strict=False):
        choice.no.append(following)
    e.out = before
    e.out += choices[:1]


# ---------------------------------------------------------------- in front of a loop


def promote_lists(s: Structure, start: int) -> None:
    """Put the lists of arrays that may stay there into variables for all of a loop."""
    e = s.emitter
    outer = e.lists
    s.enter(start)
    for slot, written in e.uses.promotable(s.flow, s.flow.blocks[start].body).items():
        if f"l{slot}" not in outer and e.local(slot).kind[0] in ("array", "map"):
            e.lists = {**e.lists, f"l{slot}": start}
            e.out.append(f"a{slot} = l{slot}.items")
            if written:
                e.out.append(f"b{slot} = None")


def hoist_room(s: Structure, start: int, iterator: int) -> None:
    """Before a walk whose length Python can tell: test whether an array is not shared, and has room for what the rounds put
    in. An array that a loop inside puts something into is left to that."""
    e, flow = s.emitter, s.flow
    body = flow.blocks[start].body
    nested = [flow.blocks[head].body for head in flow.loops() if head in body and head != start]
    own = body.difference(*nested)
    for slot, written in e.uses.promotable(flow, body).items():
        word = e.local(slot).kind[0]
        inside = any(e.uses.growth_sites(flow, inner, slot, word) for inner in nested)
        growing = e.uses.growth_sites(flow, own, slot, word)
        if written and growing and not inside and f"l{slot}" in e.lists:
            e.room_tested = {**e.room_tested, f"l{slot}": growing}
            times = f"{len(growing)} * " if len(growing) > 1 else ""
            room = f"len(a{slot}) + {times}s{iterator}.__length_hint__() <= M"
            e.out.append(f"m{slot} = not l{slot}.shared and type(s{iterator}) in WALKS and {room}")


def hoist_uniqueness(s: Structure, start: int, iterator: int) -> None:
    """Make an array that every round writes to unique before the loop, if the loop has a round. `iterator`: of a walk, its stack
    position; else -1."""
    e, flow = s.emitter, s.flow
    always = [block for block in flow.blocks[start].body if in_every_round(s, start, block)]
    s.hoisted = frozenset()
    for name, loop in e.lists.items():
        slot = slot_of(name)
        written = [at for at, use in e.uses.loads.get(slot, {}).items() if use == WRITTEN]
        every = any(block <= at < flow.blocks[block].end for at in written for block in always)
        if every and name not in e.room_tested and (name, loop) not in e.facts.opened:
            some = round_test(s, start, iterator)
            test, copied = Branch(f"b{slot} is None and (not {name}.shared or {some})"), Branch(f"{name}.shared")
            copied.yes.append(f"{name} = {copier(e, e.local(slot).kind)}({name})")
            test.yes += [copied, f"a{slot} = b{slot} = {name}.items"]
            e.out.append(test)
            s.hoisted |= {(name, loop)}


def round_test(s: Structure, start: int, iterator: int) -> str:
    """Return the text of the test whether a loop has a round; of an iterator that cannot tell, it is true."""
    if iterator >= 0:
        return f"type(s{iterator}) not in WALKS or s{iterator}.__length_hint__()"
    s.steps(start, start + 2)
    limit, variable = s.emitter.pop(), s.emitter.pop()
    return f"{variable.text} {'<=' if s.counting[start].inclusive else '<'} {limit.text}"


def in_every_round(s: Structure, start: int, block: int) -> bool:
    """Return whether each way through the body of a loop comes to a block: it dominates all that go back to the head."""
    loop = s.flow.blocks[start]
    return all(s.flow.dominates(block, tail) for tail in loop.preds if tail in loop.body)


# ---------------------------------------------------------------- the stop flag


def poll(s: Structure, index: int, start: int, iterator: int = -1) -> None:
    """At the head of a loop, look at the stop flag and at the fuel that was counted, unless the loop needs no look; where the
    flag is set or little fuel is left, control leaves for the interpreter, which goes on at `index`."""
    e = s.emitter
    if not e.metered and needs_no_poll(s, start, iterator):
        return
    site = f"{e.site(index, e.stack)}raise Deoptimise"
    stop = Branch("S")
    stop.yes.append(site)
    if e.metered:
        paying = Branch("n > 4096")
        paying.yes += ["F[0] -= n", "n = 0"]
        low = Branch("F[0] < LOW")
        low.yes.append(site)
        paying.yes.append(low)
        s.paying[start] = paying
        e.out.append(paying)
    e.out.append(stop)


def needs_no_poll(s: Structure, start: int, iterator: int) -> bool:
    """Return whether a loop need not look at the stop flag: a loop inside, which every round comes to, does, or it is soon
    over."""
    e, blocks = s.emitter, s.flow.blocks
    body = blocks[start].body
    inner = [head for head in s.flow.loops() if head in body and head != start]
    rounds = e.walked[iterator].length if iterator in e.walked and s.instructions[start - 1][1] == ITERATE else None
    if rounds is not None and rounds <= MOST_ROUNDS and not inner:
        return CALLING.isdisjoint(s.flow.numbers(set(body)))
    whiles = [head for head in inner if s.instructions[head][1] != NEXT and head not in s.counting]
    return any(in_every_round(s, start, head) and not needs_no_poll(s, head, -1) for head in whiles)
