"""Who may attach a memory, and which memories are attached in operands that run at once.

Hands on `check_allowed` to `methods`, `refuse_attaching` to `models` and `tools`, which report what `.allow(…)` forbids as far as
names tell it (E4510, M-4.16), and `check_concurrent_memories` to `program`, which warns of turns that exclude each other (W0452,
M-5.17). What only a run knows is refused or ordered there. Findings are reported to `c`, the state of the check; only
`check_concurrent_memories` raises, BodyNeeded. Symbols and tree are read and not changed; the steps of all memories must have
been read (`memory.check_memory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from ..symbols import (
    AgentSymbol,
    FunctionSymbol,
    MemorySymbol,
    ModelSymbol,
)
from ..syntax import ast
from .callees import Summaries
from .memory_steps import in_its_form
from .state import Checker

# Who may attach a memory: `.allow(read: […], write: […])` (M-4.16). What only a run knows is refused at run time.


def check_allowed(c: Checker, node: ast.MethodCall, attached: ast.Expr, auto: ast.Expr | None) -> None:
    """Check `NAME.….with_memory(m, auto: …)` where model or agent and memories are names (E4510). `auto` is None where it is left
    out: the last memory is then written, as with `true`."""
    attaching: ast.Expr = node.receiver
    while isinstance(attaching, (ast.MethodCall, ast.GroupExpr)):
        attaching = attaching.receiver if isinstance(attaching, ast.MethodCall) else attaching.inner
    who = attaching.binding if isinstance(attaching, ast.PathExpr) else None
    if not isinstance(who, (ModelSymbol, AgentSymbol)):
        return
    writes = auto is None or (isinstance(auto, ast.BoolLiteral) and auto.value)  # else only a run knows
    items = attached.items if isinstance(attached, ast.ArrayExpr) else [attached]
    for number, item in enumerate(items):
        memory = item.binding if isinstance(item, ast.PathExpr) else None
        if isinstance(memory, MemorySymbol):
            refuse_attaching(c, item, who, memory, writes=writes and number == len(items) - 1)


def refuse_attaching(
    c: Checker, at: ast.Expr, who: ModelSymbol | AgentSymbol, memory: MemorySymbol, *, writes: bool
) -> None:
    """Report E4510 for a model or agent that `allow` does not name, or names as a reader only where it `writes`. A view is
    attached as the memory that it is of."""
    base = memory.log
    allow = (base.steps or {}).get("allow")
    if allow is None or not {"allow_read", "allow_write"} & allow.keys():
        return
    writers, readers = allow.get("allow_write", []), allow.get("allow_read", [])
    if who in writers or (not writes and who in readers):
        return
    if who in readers:
        c.report("E4510", at.span, f"`{who.name}` may only read `{base.name}`", help="attach it with `auto: false`")
    else:
        help = in_its_form(base, f"name it: .allow(write: [{who.name}])")
        c.report("E4510", at.span, f"`{base.name}` does not allow `{who.name}`", help=help)


# One memory attached in two operands that run at once, where its turns exclude each other (W0452, M-5.17): `Serial` makes the
# operands run one after the other, `Reject` and `Fork` let one of them fail or leave the log. Functions that an operand calls
# are followed as far as names lead; keys of a keyed memory may differ and are left out.

CALLS = ("execute", "execute_with_schema", "chat", "stream")
EXCLUDE = {
    "Serial": "they wait for each other", "Reject": "the later one is Err `Conflict`", "Fork": "the later one goes to a branch",
}  # fmt: skip


def check_concurrent_memories(c: Checker) -> None:
    """Report W0452 for memories whose turns exclude each other and that are attached in two operands that run at once, at most
    SHARED_SHOWN of them at one operand. Raise BodyNeeded, with a cache, where a call leads into a body that this check leaves
    out."""
    memories: list[MemorySymbol] = []
    attached = _attached(c, memories)
    for operands in c.concurrent:
        earlier = 0
        for operand in operands:
            if c.is_answered(operand.span):
                continue
            parts = [(part, attached.of(part, operand.span)) for part in operand.children()]
            own = reduce(or_, [mask for _, mask in parts], 0)
            for number in list(_bits(own & earlier))[:SHARED_SHOWN]:
                memory = memories[number]
                message = f"`{memory.name}`, which is `{_word(memory)}`, is attached in an earlier operand too: "
                place = next(part for part, mask in reversed(parts) if mask >> number & 1)
                help = "give each operand a memory of its own, or `Append`"
                c.report("W0452", place.span, message + EXCLUDE[_word(memory)], help=help)
            earlier |= own


SHARED_SHOWN = 10  # memories of one operand that are reported


def _word(memory: MemorySymbol) -> str:
    steps = memory.image_steps
    return steps.get("on_conflict", "Serial" if "store" in steps else "Append")  # type: ignore[no-any-return]


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _attached(c: Checker, memories: list[MemorySymbol]) -> Summaries[int]:
    """Return the summaries of functions by the memories that their calls attach, as a set of bits: the places in `memories`,
    which this fills with those whose turns exclude each other."""
    numbers: dict[MemorySymbol, int] = {}

    def walk(value: ast.Node) -> Iterator[int | FunctionSymbol]:
        todo: list[ast.Node] = [value]
        while todo:
            node = todo.pop()
            called = c.called(getattr(node, "target", None))
            if called is not None:
                yield called
            if isinstance(node, ast.MethodCall) and node.name.text in CALLS:
                for memory in _of_call(node):
                    if memory not in numbers and _word(memory) in EXCLUDE:
                        numbers[memory] = len(memories)
                        memories.append(memory)
                    yield 1 << numbers[memory] if memory in numbers else 0
            todo.extend(node.children())

    return Summaries(c, walk, lambda masks: reduce(or_, masks, 0))


def _of_call(call: ast.MethodCall) -> list[MemorySymbol]:
    """Return what `NAME.….with_memory(m).….execute(p)` attaches: the memories of the last `with_memory` or `with(memory: m)`,
    else those of the model's field."""
    node: ast.Expr = call.receiver
    while isinstance(node, (ast.MethodCall, ast.GroupExpr)):
        attached = _attached_by(node) if isinstance(node, ast.MethodCall) else None
        if attached is not None:
            items = attached.items if isinstance(attached, ast.ArrayExpr) else [attached]
            return [memory.log for item in items for memory in _named(item)]
        node = node.receiver if isinstance(node, ast.MethodCall) else node.inner
    who = node.binding if isinstance(node, ast.PathExpr) else None
    return [memory.log for memory in who.memories] if isinstance(who, ModelSymbol) else []


def _attached_by(call: ast.MethodCall) -> ast.Expr | None:
    if call.name.text == "with_memory":
        return call.arguments[0].value if call.arguments else None
    named = (one.value for one in call.arguments if one.name is not None and one.name.text == "memory")
    return next(named, None) if call.name.text == "with" else None


def _named(item: ast.Expr) -> list[MemorySymbol]:
    named = item.binding if isinstance(item, ast.PathExpr) else None
    return [named] if isinstance(named, MemorySymbol) else []
