"""Translate the last instruction of a block: conditions, `?` and throws to a handler, the step of an iterator outside of a `for`
(V-7.2).

Hands `end_block` (of blocks that do not simply fall through) and `merged_conditions` on to `control`, `condition_at` to `loops`.
Conditions that follow each other become one Python expression with `and` and `or`, and what a condition says of locals, as
`l2 < 10` does, is a fact on its paths. Code with fuel (`metered`) joins none: each block charges for itself. Nothing here may
change what the interpreter would do; a case it cannot translate stays a branch.

`s` is the `Structure` of `control`, which walks through the blocks: its `emitter` has the operand stack of abstract values (a
`Value` is a Python expression with what is known of it), the `facts` about locals on this path, and `out`, the list that
statements are written to. A block is named by the index of its first instruction. `s.go` translates what comes next, and raises
Unshaped where that is nested too deeply or a jump leads to no construct around it; so does what calls it here. A single opcode
within a block is translated by its family, not here. Names in the text are those of `emitter`, and what is called there is in
`library`; `END` is an absent payload or the end of a walk, `NONE_VALUE` the Option None.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from . import kinds
from .calls import opened_by_try, propagated_error, take_payload
from .emitter import DEEPEST_EXPRESSION
from .facts import Value
from .text import END, MARK, Branch
from .values import error_constant, extended_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .control import Structure
    from .facts import Facts

    Successor = tuple[int, bool]  # a block, and whether control jumps there
    Condition = tuple[Value, Successor, Successor]  # and where control goes when it holds, and when not

CONDITIONAL = frozenset({BY_NAME["JUMP_IF"].number, BY_NAME["JUMP_UNLESS"].number})
CERTAIN = frozenset({"True", "False"})
SITE = MARK + END + "0123456789"  # the characters of the mark that tells which instruction a statement belongs to, if it fails


def end_block(s: Structure, start: int, last: int) -> None:
    """Translate the instruction `last`, which ends the block `start`, and all that comes after it in the same construct. Raises
    Unshaped as `Structure.statements`."""
    e = s.emitter
    op = OPCODES[s.instructions[last][1]]
    succs = s.flow.blocks[start].succs
    if op.name == "JUMP":
        e.declare_type()
        s.go(succs[0][0], start, True)
    elif op.number in CONDITIONAL:
        branch_on_condition(s, start, last)
    elif op.name == "NEXT":
        next_element(s, start)
    elif op.name in ("TRY", "POP_TRY"):
        try_in_handler(s, start, last, op.name)
    elif op.name == "THROW" and succs:
        throw_to_handler(s, start, last, error_with_path(s, last, e.pop()), succs[0])
    else:
        s.emit(op, s.instructions[last][2])


# ---------------------------------------------------------------- conditions


def branch_on_condition(s: Structure, start: int, last: int) -> None:
    """Write the `if` for the conditional jump `last` at the end of block `start`, with the code of both paths in it."""
    e = s.emitter
    condition, yes, no = condition_at(s, last, s.flow.blocks[start].succs)
    condition, yes, no, merged, facts = joined_conditions(s, start, condition, yes, no)
    s.ends.update(dict.fromkeys(merged, s.ends[start]))
    s.stacks.update(dict.fromkeys(merged, e.stack))
    e.spill(unboxed=False)
    if condition.text in CERTAIN:  # an earlier test has told: the other path is never taken
        holds = condition.text == "True"
        e.facts = facts[not holds]
        target, jumps = yes if holds else no
        s.go(target, start, jumps)
        return
    branch = Branch(condition.text)
    before, stack, marked = e.out, list(e.stack), e.marked
    e.out, e.facts = branch.yes, facts[0]
    s.go(yes[0], start, yes[1])
    e.out, e.stack, e.marked, e.facts = branch.no, list(stack), marked, facts[1]
    s.go(no[0], start, no[1])
    e.out = before
    if not fold_default(s, branch):
        e.out.append(branch)


def condition_at(s: Structure, last: int, succs: list[Successor]) -> Condition:
    """Pop the condition on top of the stack, before the conditional jump `last`, and return it as a Bool, with where control goes
    when it holds, and when not; `succs` are the successors of its block, the next instruction first. Code for a condition of
    another kind raises P007 when it runs."""
    e = s.emitter
    e.at = last
    part = e.pop()
    if part.kind[0] != "bool":
        if not part.is_atom:
            part = e.spilled(part)
        part = e.bind_literal(part)
        text = f"({part.text} is True or {part.text} is not False and ({e.here()}not_a_bool({part.text})))"
        part = Value(text, kinds.BOOL, pure=False, uses=part.uses, depth=part.depth + 1)
    if OPCODES[s.instructions[last][1]].name == "JUMP_UNLESS":
        return part, succs[0], succs[1]
    return part, succs[1], succs[0]


def joined_conditions(
    s: Structure, start: int, condition: Value, yes: Successor, no: Successor
) -> tuple[Value, Successor, Successor, list[int], tuple[Facts, Facts]]:
    """Join the condition at the end of block `start` with those of the blocks that it leads to, as long as these do nothing but
    compare.

    Return five things: the joined condition, where control goes when it holds, where when it does not, the numbers of the blocks
    that it took in, and the facts on the two paths (first those when it holds)."""
    e = s.emitter
    merged: list[int] = []
    facts = (
        e.refined(e.facts, condition, True),
        e.refined(e.facts, condition, False),
    )
    while not e.metered:
        for target, other, holds in ((no[0], yes[0], False), (yes[0], no[0], True)):
            following = pure_condition(s, target, {start, *merged}, facts[not holds])
            if following is None:
                continue
            second, then, otherwise, after = following
            if other in (then[0], otherwise[0]) and then[0] != otherwise[0]:
                straight = (then[0] == other) != holds
                text = second.text if straight else f"(not {second.text})"
                text = f"({condition.text} {'and' if holds else 'or'} {text})"
                uses, depth = condition.uses | second.uses, max(condition.depth, second.depth) + 1
                condition = Value(text, kinds.BOOL, pure=False, uses=uses, depth=depth)
                after = e.refined(after, second, straight == holds)
                if holds:
                    yes = then if straight else otherwise
                    facts = after, e.facts.copy()
                else:
                    no = otherwise if straight else then
                    facts = e.facts.copy(), after
                merged.append(target)
                break
        else:
            break
        if condition.depth > DEEPEST_EXPRESSION:
            break
    return condition, yes, no, merged, facts


def pure_condition(
    s: Structure, target: int, sources: set[int], facts: Facts
) -> tuple[Value, Successor, Successor, Facts] | None:
    """Return the condition of a block that does nothing else and is reached from `sources` alone, and the facts behind it; None
    for any other block, where the trial leaves no trace."""
    e = s.emitter
    block = s.flow.blocks.get(target)
    if block is None or block.body or not sources.issuperset(block.preds) or len(block.preds) != 1:
        return None
    last = block.end - 1
    if s.instructions[last][1] not in CONDITIONAL:
        return None
    before = Checkpoint(s)
    e.out, e.stored, e.facts = [], {}, facts.copy()
    following = None
    if s.steps(target, last) == last and e.stack:
        following = (*condition_at(s, last, block.succs), e.facts)
    same = len(e.stack) == len(before.stack) and all(a is b for a, b in zip(e.stack, before.stack, strict=True))
    failed = bool(e.out) or not same
    before.restore(s, names=failed)
    return None if failed else following


def merged_conditions(s: Structure, start: int) -> list[int]:
    """Return the blocks whose conditions become part of the condition that a block ends in, [] for none: found by a trial of the
    block."""
    e, flow = s.emitter, s.flow
    block = flow.blocks[start]
    last = block.end - 1
    if e.metered or s.instructions[last][1] not in CONDITIONAL:
        return []
    if not any(len(flow.blocks[target].preds) == 1 for target, _ in block.succs if target in flow.blocks):
        return []
    before = Checkpoint(s)
    e.out, e.stored, e.facts = [], {}, e.facts.copy()
    merged: list[int] = []
    if s.steps(start, last) == last:
        merged = joined_conditions(s, start, *condition_at(s, last, block.succs))[3]
    before.restore(s, names=True)
    return merged


class Checkpoint:
    """The state of the emitter before a trial, which `restore` brings back: its attributes of these names; `sites` is how many it
    had."""

    __slots__ = ("out", "stack", "temporaries", "sites", "stored", "at", "marked", "facts")

    def __init__(self, s: Structure) -> None:
        e = s.emitter
        self.out, self.stack, self.temporaries, self.sites = e.out, list(e.stack), e.temporaries, len(e.sites)
        self.stored, self.at, self.marked, self.facts = e.stored, e.at, e.marked, e.facts

    def restore(self, s: Structure, names: bool) -> None:
        """Go back to it; with `names`, the temporaries and sites of the trial are free again."""
        e = s.emitter
        e.out, e.stack, e.stored, e.at, e.marked, e.facts = self.out, self.stack, self.stored, self.at, self.marked, self.facts
        if names:
            e.temporaries = self.temporaries
            del e.sites[self.sites :]


def fold_default(s: Structure, branch: Branch) -> bool:
    """Write `option ?? other` without a branch: where the statement before gives END for an absent value, and the branch only
    puts `other` in place of END, let that statement give `other` itself. Return whether it was done.

    This looks at texts that `intrinsics` and `calls` wrote: `NAME = … END` or `NAME = (… END)`, with one END, in front of the
    branch on `NAME is END`. Any other text is left alone."""
    e = s.emitter
    last = e.out[-1] if e.out else None
    name = branch.condition.removeprefix("(").removesuffix(" is END)")
    yes, no = branch.yes, branch.no
    if not (name.isidentifier() and isinstance(last, str) and yes and len(yes) == len(no) and yes[:-1] == no[:-1]):
        return False
    place, assigned, text = last.rpartition(f"{name} = ")
    (target, _, other), value = str(yes[-1]).partition(" = "), str(no[-1])
    atom = other.isidentifier() or other.isdigit()
    if place.strip(SITE) or not assigned or not atom or value != f"{target} = {name}" or not text.endswith(("END", "END)")):
        return False
    if text.count("END") > 1 or any(target in str(earlier) for earlier in yes[:-1]):
        return False
    e.out[-1:] = [f"{place}{target} = {text.rpartition('END')[0]}{other}{')' * text.endswith(')')}", *yes[:-1]]
    return True


# ---------------------------------------------------------------- iterators


def next_element(s: Structure, start: int) -> None:
    """Translate NEXT, at the end of block `start`, where it is not the head of a loop: one path has the next element on the
    stack, the other has lost the iterator."""
    e = s.emitter
    succs = s.flow.blocks[start].succs
    e.spill()
    name = e.temporary()
    e.out.append(f"{name} = next({e.stack[-1].text}, END)")
    branch = Branch(f"{name} is END")
    before, stack, marked, facts = e.out, list(e.stack), e.marked, e.facts.copy()
    e.out = branch.yes
    e.pop()
    s.go(succs[1][0], start, True)
    e.out, e.stack, e.marked, e.facts = branch.no, [*stack, Value(name)], marked, facts
    s.go(succs[0][0], start)
    e.out = before
    e.out.append(branch)


# ---------------------------------------------------------------- errors that a handler of the function takes


def try_in_handler(s: Structure, start: int, last: int, name: str) -> None:
    """Translate the opcode `name` at the end of block `start`: TRY, a `?` inside `try`, or POP_TRY, the end of a statement there,
    whose Err goes to the handler."""
    e = s.emitter
    succs = s.flow.blocks[start].succs
    if name == "TRY":
        part, good, payload = opened_by_try(e)
    else:
        part = e.pop_bound()
        good, payload = f"type({part.text}) is not Err", part
    e.spill()
    branch = Branch(good)
    before, stack, marked, facts = e.out, list(e.stack), e.marked, e.facts.copy()
    e.out = branch.yes
    if name == "TRY":
        take_payload(e, part, payload)
    s.go(succs[0][0], start)
    e.out, e.stack, e.marked, e.facts = branch.no, list(stack), marked, facts
    error = e.temporary()
    e.at = last  # the path on which it went well has moved it
    whole = "NONE_VALUE" if part.kind[0] == "option" else part.text if part.unboxed is None else part.unboxed
    if part.error is not None:
        e.out += part.error[0]
        whole = f"Err({part.error[1]})"
    caught = propagated_error(e, part) if last in e.body.keeps_none else f"error_for_handler({whole}, {e.error_path()})"
    e.out.append(f"{e.here()}{error} = {caught}")
    throw_to_handler(s, start, last, Value(error), succs[1])
    e.out = before
    e.out.append(branch)


def error_with_path(s: Structure, last: int, error: Value) -> Value:
    """Return what the instruction `last` throws to a handler of this function: an error has the path to it then."""
    e = s.emitter
    path = e.body.error_path(last)
    if error.kind[0] in kinds.SCALARS:
        return error
    error = e.spilled(error)
    if path != "()" and error_constant(error) >= 0:
        extended = f"{error.text}.way = {extended_path(e, error, path)}"
        e.out[-1:] = [extended] if e.out[-1:] == [f"{error.text}.way = ()"] else [*e.out[-1:], extended]
    elif path != "()":
        e.out.append(f"thrown({error.text}, {path})")
    return error


def throw_to_handler(s: Structure, start: int, last: int, error: Value, handler: Successor) -> None:
    """Go to a handler with an error on the stack, above what the handler keeps."""
    e = s.emitter
    if not error.pure:
        error = e.spilled(error)
    else:
        e.spill()
    del e.stack[e.body.handler_depths[last] :]
    e.push(error)
    s.go(handler[0], start, True)
