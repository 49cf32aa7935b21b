"""Methods of tools that translated code calls one after another, without asking each time for the state (V-6.8).

The state is lent to translated code for as long as it runs, and a method keeps in its own variables what is to be put back if it
fails: the fields that it sets, the length of an Array that it only adds to, what a Map had at the keys that it sets, and of any
other container that it writes a copy, if that is small. Here is found which of these a method needs, and written how it begins;
how the state was before a call that failed, `library.state_before` tells. Hands on `changes` and `beginning` to `functions`,
ENTERS to `places`. Nothing is run here.
"""

from __future__ import annotations

from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..values.undo import SMALL
from .text import Branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .inlining import Body
    from .liveness import LocalUses
    from .text import Statement

# What a method does with a field of its state: it sets it, sets an entry of the Map in it last of all, only adds to the Array in
# it, only sets entries of the Map in it, or anything else to the container in it.
SETS, ENDS, ADDS, ENTERS, WRITES = range(5)
LOAD, LOAD_OWN, GET_FIELD, SET_FIELD, TAKE_FIELD, FIELD_OWN, SET_INDEX, TUPLE, RETURN = (
    BY_NAME[name].number for name in (
        "LOAD", "LOAD_OWN", "GET_FIELD", "SET_FIELD", "TAKE_FIELD", "FIELD_OWN", "SET_INDEX", "TUPLE", "RETURN",
    )
)  # fmt: skip
CONTAINERS = frozenset({"array", "map", "set", "stack"})
# What two different uses of one field come to, where that is not WRITES.
JOINED = {frozenset({SETS, ADDS}): ADDS, frozenset({SETS, ENDS}): ENDS, frozenset({ENDS, ENTERS}): ENTERS}
# Nothing fails in these, and nothing is written.
HARMLESS = frozenset(
    BY_NAME[name].number for name in (
        "INT", "CONST", "NIL", "TRUE", "FALSE", "NONE", "POP", "LOAD", "GET_FIELD", "OK", "SOME", "TUPLE",
    )
)  # fmt: skip


def changes(body: Body, uses: LocalUses) -> dict[int, int] | None:
    """Return what a method with `mut self`, whose code is `body` and whose locals have these `uses`, does with the fields of its
    state, by position; None where it may do anything else with the state than read and write its fields and give it back, or
    where it writes into a field as into a container, which is none."""
    image, instructions = uses.image, uses.instructions
    state = image.types[image.functions[body.root.function].params[0][1]]
    if state[0] != "struct":
        return None
    targets = uses.targets | set(body.handlers.values())
    found: dict[int, int] = {}
    for at, (_, opcode, operand) in enumerate(instructions):
        if opcode == RETURN and not _gives_state(uses, at, targets):
            return None
        if OPCODES[opcode].kind is not k.LOCAL or operand != 0 or uses.depths[at] < 0:
            continue
        _, then, field = instructions[at + 1]
        if opcode == LOAD and (then == GET_FIELD or _is_given(uses, at)):
            continue
        known = opcode == LOAD_OWN and then in (SET_FIELD, FIELD_OWN) or opcode == LOAD and then == TAKE_FIELD
        if not known or at + 1 in targets:
            return None
        word = image.types[state[2][field][1]][0]
        if then == FIELD_OWN and word not in CONTAINERS:
            return None
        if then == TAKE_FIELD and word not in CONTAINERS:
            continue
        what = SETS if then == SET_FIELD else WRITES if then == TAKE_FIELD else _write(uses, at + 1, word)
        before = found.setdefault(field, what)
        if before != what:
            found[field] = JOINED.get(frozenset({before, what}), WRITES)
    return found


def _write(uses: LocalUses, at: int, word: str) -> int:
    """Return what is done with the container that the instruction `at` takes out of the state for writing; the one before it has
    loaded the state."""
    consumer, position = uses.consumer(at, at - 1)
    if consumer < 0:
        return WRITES
    built_in = uses.builtin_at(consumer)
    if word == "array" and position == 0 and built_in == ("Array", "push"):
        return ADDS
    is_set = uses.instructions[consumer][1] == SET_INDEX and position == 1
    is_set = is_set or (position == 0 and built_in == ("Map", "set"))
    if word != "map" or not is_set:
        return WRITES
    return ENDS if _is_last(uses, consumer) else ENTERS


def _is_last(uses: LocalUses, at: int) -> bool:
    """Return whether nothing can fail or leave behind the instruction `at`, up to the end of the method."""
    for behind in range(at + 1, len(uses.instructions)):
        number = uses.instructions[behind][1]
        if number not in HARMLESS or behind in uses.targets:
            return number == RETURN and behind not in uses.targets
    return False


def _is_given(uses: LocalUses, at: int) -> bool:
    """Return whether the state that is loaded by the instruction `at` is given back at once."""
    return [number for _, number, _ in uses.instructions[at + 1 : at + 3]] == [TUPLE, RETURN]


def _gives_state(uses: LocalUses, at: int, targets: set[int]) -> bool:
    """Return whether the RETURN `at` gives back a pair of a result and the state, and nothing jumps between its instructions."""
    if uses.depths[at] < 0:
        return True
    pair = [(number, operand) for _, number, operand in uses.instructions[max(at - 2, 0) : at]]
    return pair == [(LOAD, 0), (TUPLE, 2)] and targets.isdisjoint((at - 1, at))


# ---------------------------------------------------------------- the text
#
# In the text `this` is the handle of the tool, `H` the lease by which the method has its state (`tier.Lease`), `R[0]` how many
# calls may still be made before the host is to perform one, and of the field N: `oN` its value before, `yN` the length of the
# Array in it, `zN` the keys of the Map that were set with what was there, `qN` a copy of what the container held.


def beginning(parameters: list[str], found: dict[int, int], entry: str) -> list[Statement]:
    """Return the statements that begin a call: those before the mark `entry` leave no trace if the call goes the long way, which
    is that of a state with a large container, of another tool, and of a call that the host is to perform. `parameters`: those
    behind the state; `found`: what `changes` gives."""
    long_way = f"return H.call({', '.join(['this', *parameters])})"
    other = Branch("this is not H.tool")
    other.yes.append(long_way)
    statements: list[Statement] = [other, "l0 = H.state"]
    for field, what in sorted(found.items()):
        statements.append(f"o{field} = l0.f{field}")
        if what == WRITES:
            large = Branch(f"len(o{field}.items) > {SMALL}")
            large.yes.append(long_way)
            statements.append(large)
    ended = Branch("(w := R[0]) < 1")
    ended.yes.append("leave_to_host()")
    statements.append(ended)
    notes = {ADDS: "y{0} = len(o{0}.items)", ENTERS: "z{0} = []", WRITES: "q{0} = o{0}.items.copy()"}
    statements += [notes[what].format(field) for field, what in sorted(found.items()) if what in notes]
    statements.append(f"{entry}R[0] = w - 1")
    return statements
