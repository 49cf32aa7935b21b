"""Contexts: slots by tier, the memories that have them, and clauses `needs` and `reads` (M-10.2 to M-10.4).

Hands on `declare_contexts` and `check_stored_names` to `program`; `check_context`, `check_fixed_slots`, `old_name` and
`check_old_names` to `declaration_checks`, the latter two also to `schemas`; `check_clauses` to `functions`; `slot_member`,
`slot_in` and `refuse_change` to `operators`, `slot_in` also to `calls`; `memory_type` (what the name of a memory has) to
`expressions`; `one_memory` and `check_context_step` to the checks of memories; and `slots_of` to the language server. The
declaration is `context C { session { mut task: String } }`: a slot is a typed value that a memory keeps beside its messages, a
tier (`persistent`, `session`, `ephemeral`) says how long. A rule about all slots goes into `_declare_slot`. `c` is the state of
the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was
reported, which suits every place. What a slot holds is for the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..decisions import BuiltinCall
from ..hints.names import did_you_mean, listed
from ..source import Span
from ..symbols import ContextSymbol, FunctionSymbol, Local, MemorySymbol, Slot, SlotAccess, Symbol
from ..syntax import ast
from ..types import KEYED_MEMORY, MEMORY, Generic, Nominal, Type, error, memory_of, option
from .declarations import at_module_level
from .decorators import Checked, check_decorators
from .json_shapes import without_shape
from .memory_effects import ASKING
from .propagation import leave
from .relations import ERRONEOUS, generic, root_of
from .state import Checker, Expected, Raise
from .types import written_type

# Names that stored things had before: `@was("old")` of slots and fields, `.was("old")` of memories (M-7.8, M-8.23, M-8.24).


def old_name(checked: Checked) -> str | None:
    """Return the earlier name that `@was` gives among the checked decorators of a slot or field; None without it."""
    name = dict(checked).get("was", {}).get("name")
    return name if isinstance(name, str) else None


def check_old_names(c: Checker, what: str, owner: str, named: Sequence[tuple[ast.Ident, str | None]]) -> None:
    """Report earlier names that two slots or fields of one owner claim, or that one of them has now (E4517). `named`: each
    with its earlier name; `what`: slot or field, for the message."""
    present = {name.text: name.span for name, _ in named}
    claimed: dict[str, Span] = {}
    for name, was in named:
        if was is None:
            continue
        if was in present:
            message = f"`{was}` is a {what} of `{owner}`: what is stored under that name is its own"
            c.report("E4517", name.span, message, first=present[was], help=f"remove `@was` of `{name.text}`, or that {what}")
        elif was in claimed:
            message = f"two {what}s of `{owner}` claim what is stored as `{was}`"
            c.report("E4517", name.span, message, first=claimed[was], help="remove one `@was`")
        # The first claim counts, for the next message.
        claimed.setdefault(was, name.span)


def check_stored_names(c: Checker, memories: Sequence[MemorySymbol]) -> None:
    """Report stored names that two memories claim, and a memory that claims its own present name (E4516): what is stored under
    one name belongs to one memory."""
    # Views store nothing, and a memory with `was` has given up its own old name.
    own = {symbol.name: symbol for symbol in memories if symbol.of is None and symbol.stored_as is None}
    claimed: dict[str, MemorySymbol] = {}
    for symbol in memories:
        was = symbol.stored_as
        if was is None:
            continue
        other = own.get(was) or claimed.get(was)
        at = symbol.declaration.name.span
        if was == symbol.name:
            c.report("E4516", at, f"`{was}` is the name of this memory now", help="name the one before, or drop `was`")
        elif other is not None:
            message = f"the memories `{other.name}` and `{symbol.name}` claim what is stored as `{was}`"
            c.report("E4516", at, message, first=other.declaration.name.span, help="drop one `was`, or rename the other memory")
        claimed.setdefault(was, symbol)


# Declarations.

MISSING = error("MissingContextError")


def declare_contexts(c: Checker, symbols: list[Symbol]) -> None:
    """Set the slots of every context with their types, before any body is checked. A name that stands twice and a type without
    JSON shape are reported (E1003, E2044)."""
    for symbol in symbols:
        if isinstance(symbol, ContextSymbol):
            for tier in symbol.declaration.tiers:
                for node in tier.slots:
                    _declare_slot(c, symbol, tier.kind, node)


def _declare_slot(c: Checker, symbol: ContextSymbol, tier: str, node: ast.Slot) -> None:
    name = node.name.text
    if name in symbol.slots:
        first = symbol.slots[name].declaration.name.span
        message = f"the slot `{name}` of `{symbol.name}` is declared twice"
        c.report("E1003", node.name.span, message, first=first, help="rename one of them")
        return
    slot = symbol.slots[name] = Slot(name, tier, node.mutable, node, written_type(c, node.type))
    if slot.type is not ERRONEOUS and (offending := without_shape(c, slot.type)) is not None and offending is not ERRONEOUS:
        c.report("E2044", node.type.span, f"`{offending}` has no JSON shape", help="a slot holds plain data, which can be stored")


def check_context(c: Checker, symbol: ContextSymbol) -> None:
    """Check the decorators and the defaults of the slots of a context, and set their earlier names (`Slot.was`, None without
    one); a wrong `@was` is reported (E4517), another decorator (E4001, E4009), and a default of another type (E2001) or one that
    throws or returns (E3012)."""
    for slot in symbol.slots.values():
        slot.was = old_name(check_decorators(c, slot.declaration.decorators, "slot"))
        if slot.declaration.default is not None:
            at_module_level(c, slot.declaration.default, Expected(slot.type, place=f"slot `{slot.name}`"))
    check_old_names(c, "slot", symbol.name, [(slot.declaration.name, slot.was) for slot in symbol.slots.values()])


def memory_type(symbol: MemorySymbol) -> Type:
    """Return the type of a memory's name; the memory must have been checked."""
    return KEYED_MEMORY if symbol.keys else one_memory(symbol)


def one_memory(symbol: MemorySymbol) -> Type:
    """Return the type of one log of a memory: of a keyed one what `.key(…)` returns."""
    return MEMORY if symbol.context is None else memory_of(symbol.context.type)


def check_context_step(c: Checker, node: ast.MethodCall) -> ContextSymbol | None:
    """Return the context that the step `.context(C)` names; None after a report (E4508)."""
    value = node.arguments[0].value if len(node.arguments) == 1 and node.arguments[0].name is None else None
    if isinstance(value, ast.PathExpr) and isinstance(value.binding, ContextSymbol):
        return value.binding
    at = value.span if value is not None else node.name.span
    name = value.segments[-1].text if isinstance(value, ast.PathExpr) else ""
    help = did_you_mean(name, list(c.contexts)) or "declare it: `context C { session { mut task: String } }`"
    c.report("E4508", at, f"unknown context `{name}`" if name else "`context` takes the name of a context", help=help)
    return None


# Slots.


def slots_of(c: Checker, type_: Type | None) -> dict[str, Slot] | None:
    """Return the slots of a memory type by name; None for a type that is no memory with a context."""
    inner = generic(type_, "Memory")
    context = c.contexts.get(inner[0].unique_name) if inner and isinstance(inner[0], Nominal) else None
    return None if context is None else context.slots


def slot_member(c: Checker, node: ast.FieldAccess, receiver: Generic) -> Type:
    """Return the type of `m.slot` and set `node.target`: an Option unless the slot has a default or a clause `needs` it;
    ERRONEOUS after a report (E2010) for an unknown slot, and for one whose type was reported."""
    slots = slots_of(c, receiver) or {}
    slot = slots.get(node.name.text)
    if slot is None:
        help = did_you_mean(node.name.text, list(slots)) or listed("slots", list(slots), like=node.name.text)
        return c.report("E2010", node.name.span, f"`{receiver}` has no slot `{node.name.text}`", help=help)
    ref = node.held
    loaded = ref.local if ref is not None and ref.found is slot else None
    needed = loaded is not None and ref.kind == "needs"
    node.target = SlotAccess(slot, loaded, needed)
    if slot.type is ERRONEOUS:
        return ERRONEOUS
    return slot.type if needed or slot.declaration.default is not None else option(slot.type)


def slot_in(place: ast.Expr) -> ast.FieldAccess | None:
    """Return the slot access that a chain of `.field`, `.N` and `[index]` begins with, or None; the chain must have been
    typed."""
    root = root_of(place, lambda part: isinstance(part, ast.FieldAccess) and isinstance(part.target, SlotAccess))
    return root if isinstance(root, ast.FieldAccess) else None


# Clauses.


def check_clauses(c: Checker, symbol: FunctionSymbol) -> None:
    """Check the clauses `needs` and `reads` of a function, whose parameters have their types (M-10.3, M-10.4): each names a slot;
    one that is missing at run time leaves a function with `needs` as an error, for which it returns a Result (E4506; E2042 and
    E3012 to E3015 as `leave`). Warn of `needs` for a slot with a default (W0458). Set the slot in each reference, the type of its
    variable, and `failure` of a clause."""
    for clause in symbol.declaration.clauses:
        for ref in clause.slots:
            if ref.local is not None:
                _check_reference(c, ref)
                if clause.kind == "needs" and ref.found is not None and ref.found.declaration.default is not None:
                    message = f"`{ref.slot.text}` has a default, so that it is never missing"
                    c.report("W0458", ref.span, message, help="drop the default in its context, or write `reads`")
        if clause.kind == "needs":
            _check_needs(c, symbol, clause)


def _check_reference(c: Checker, ref: ast.SlotRef) -> None:
    binding = ref.binding
    type_ = binding.type if isinstance(binding, Local) else _memory_type_of(binding)
    slots = slots_of(c, type_)
    ref.found = (slots or {}).get(ref.slot.text)
    if ref.found is not None:
        # An Option also for `needs`: a later `forget` may take the value away again.
        ref.local.type = option(ref.found.type)
        return
    if type_ is ERRONEOUS:
        return
    if slots is None:
        what = f"`{ref.owner.text}` is no memory with a context"
        help = "name a memory declared with `.context(C)`, or a parameter of type `Memory<C>`"
    else:
        what = f"`{ref.owner.text}` has no slot `{ref.slot.text}`"
        near = did_you_mean(ref.slot.text, list(slots)) or listed("slots", list(slots), like=ref.slot.text)
        help = near or "its context declares none"
    c.report("E4506", ref.span, what, help=help)


def _memory_type_of(binding: Symbol | None) -> Type | None:
    # Every memory is checked before any body is.
    return memory_type(binding) if isinstance(binding, MemorySymbol) else None


def _check_needs(c: Checker, symbol: FunctionSymbol, clause: ast.Clause) -> None:
    # `main` and tests take every error.
    if c.function_target.accepts_all:
        return
    if generic(symbol.result, "Result"):
        clause.failure = leave(c, Raise(clause, MISSING, "?"))
    elif symbol.result is not ERRONEOUS:
        c.report(
            "E4506", clause.span, f"a function with `needs` returns a Result, `{symbol.name}` returns `{symbol.result}`",
            help="declare `-> Result<…, Error>`, or use `reads`",
        )  # fmt: skip


# Slots without `mut`: written once, never changed (M-10.2, M-10.37). What only the run knows is the panic P453.


def refuse_change(c: Checker, slot: ast.FieldAccess, place: ast.Expr, by: str) -> None:
    """Report a change of what a slot without `mut` holds (E4524), at `place`; nothing for a `mut` slot. `slot` was typed; `by`
    says what changes it."""
    access = slot.target
    assert isinstance(access, SlotAccess)
    if not access.slot.mutable:
        help = f"declare it `mut {access.slot.name}: …` in its context, or give the whole value in its one assignment"
        c.report("E4524", place.span, f"{by} changes the slot `{access.slot.name}`, which is written once", help=help)


def check_fixed_slots(c: Checker, body: ast.Node | None) -> None:
    """Report a second assignment of a slot without `mut` in one block, if nothing between the two may take the first value
    away (E4524)."""
    if body is None or not c.contexts:
        return
    for node in ast.walk(body):
        if isinstance(node, ast.Block):
            _check_block(c, node)


def _check_block(c: Checker, block: ast.Block) -> None:
    written: dict[tuple[object, str], ast.Assign] = {}
    for statement in block.children():
        assigned = _fixed_slot_assignment(statement)
        # A value that may be gone can be assigned again.
        if _may_forget(statement):
            written.clear()
        if assigned is None:
            continue
        at, node = assigned
        first = written.setdefault(at, node)
        if first is not node:
            message = f"the slot `{at[1]}` has its value already: it is written once"
            help = f"declare it `mut {at[1]}: …` in its context, or remove one of the two"
            c.report("E4524", node.target.span, message, first=first.target.span, help=help)


def _fixed_slot_assignment(statement: ast.Node) -> tuple[tuple[object, str], ast.Assign] | None:
    """Return an assignment to a slot without `mut` of a memory that a name stands for, with memory and slot as its key; None
    for every other statement."""
    node = statement.expr if isinstance(statement, ast.ExprStmt) else statement
    if not isinstance(node, ast.Assign) or node.operator != "=":
        return None
    target = ast.ungrouped(node.target)
    if not isinstance(target, ast.FieldAccess) or not isinstance(target.target, SlotAccess) or target.target.slot.mutable:
        return None
    memory = target.receiver.binding if isinstance(target.receiver, ast.PathExpr) else None
    return None if memory is None else ((memory, target.target.slot.name), node)


def _may_forget(statement: ast.Node) -> bool:
    """Return whether a statement calls anything that may take a value out of a slot: `forget`, `load`, the end of a turn, code
    of the program."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Call, ast.MethodCall, ast.Pipe)):
            target = getattr(node, "target", None)
            if not isinstance(target, BuiltinCall) or target.receiver_kind in ASKING:
                return True
    return False
