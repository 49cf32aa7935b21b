"""What functions of memory steps may not do: they ask nothing of the host and change nothing (E4509), since they run in the
middle of a commit or a view. The same holds for a method that changes a slot, and for closures that it calls (E4515), since it is
repeated when another writer has changed the slot; and for expressions that compute bounds (E4519).

Hands on `check_step_functions`, `check_stored_changes` and `check_computed_bounds` to `program`, which calls them when all bodies
are typed, and ASKING to `context_declarations`. Calls are followed as far as names lead: through a trait where it has one
implementation. Which calls are effects is said by `_effect_name`, for bounds by `question_name`; `_effects` adds writes of
entries through brackets and the clauses of functions. What only a run knows is refused at run time, but for bounds. `c` is the
state of the check, with the lists that are gone through and the reports. With a cache each of the three raises BodyNeeded
(`Checker.body_of`) where a call leads into a body that this check leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...vm.builtins import METHODS
from ...vm.builtins.modules import built_in_row
from ..decisions import BuiltinCall, MethodTarget, ToolTarget, TraitCall
from ..symbols import FunctionSymbol, Local, SlotAccess
from ..syntax import ast
from .callees import Summaries
from .relations import is_entry, root_of
from .state import Checker

# Kinds of receivers whose methods the machine does by itself, though they are handles.
OWN = ("HashMap", "Ledger", "LedgerQuery", "Task")
# Those whose methods ask: a model, an agent, a server, a memory, an index and so on.
ASKING = frozenset(row.receiver for row in METHODS.values() if row.kind == "handle" and row.receiver not in OWN)
OUTPUT = ("print", "println", "emit", "flush_emits")
# Methods of hashmaps and ledgers that write nothing.
READS = ("get", "has", "keys", "values", "len", "is_empty", "get_many", "query", "find", "require", "scope", "partition", "merge",
         "as_ref", "entries", "identifiers", "from_identifier", "from_key", "from_any_keys", "from_exact_keys")  # fmt: skip


def check_step_functions(c: Checker) -> None:
    """Report E4509 for each function of `c.step_functions` with an effect, at the function."""
    effects = _effects(c, _effect_name, of_entries=True)
    for function in c.step_functions:
        span = function.value.span
        effect = None if c.is_answered(span) else effects.of(function.value, span)
        if effect is not None:
            c.report(
                "E4509", function.value.span, f"a function of a memory step cannot use `{effect}`",
                help="it runs while a turn is stored or shown: compute its result from its argument alone",
            )  # fmt: skip


def check_stored_changes(c: Checker) -> None:
    """Report E4515 for each change of `c.stored_changes`, of slots and of entries of hashmaps, with an effect."""
    effects = _effects(c, _effect_name, of_entries=True)
    for node, method, in_hashmap in c.stored_changes:
        effect = None if c.is_answered(node.span) else _effect_of(c, effects, node, in_hashmap and not c.has_stored_hashmaps)
        if effect is None:
            continue
        what = f"`{method}` changes {'an entry of a hashmap' if in_hashmap else 'a slot'} in place and uses `{effect}`"
        once = in_hashmap and not c.has_stored_hashmaps
        why = "others may write the entry meanwhile" if once else "it may be done more than once"
        place = "h[k]" if in_hashmap else "m.slot"
        help = f"change a copy and write it: `let mut x = {place}; …; {place} = x;`"
        c.report("E4515", node.span, f"{what}: {why}", help=help)


def _effect_of(c: Checker, effects: Summaries[str | None], node: ast.Call | ast.MethodCall, once: bool) -> str | None:
    """Return the name of an effect of the method or of closures that it calls, None for none. Other arguments are
    computed once, before the method. Variables around a closure may be written if the method is called `once`."""
    method = c.called(node.target)
    effect = None if method is None else effects.of_function(method, node.span)
    for argument in node.arguments:
        value = argument.value
        is_function = isinstance(value, ast.PathExpr) and isinstance(value.binding, FunctionSymbol)
        if effect is None and (is_function or isinstance(value, ast.Closure)):
            effect = effects.of(value, value.span) or (None if once else _written_outside(value))
    return effect


def _written_outside(closure: ast.Expr) -> str | None:
    """Return a variable around the closure that it writes, None for none."""
    scopes: list[object] = []
    locals_: list[Local] = []
    for node in ast.walk(closure):
        if isinstance(node, ast.Closure):
            scopes.append(node.scope)
        target = getattr(node, "target", None)
        place = target if isinstance(node, ast.Assign) and isinstance(target, ast.Expr) else None
        if isinstance(node, ast.MethodCall) and isinstance(target, BuiltinCall) and target.mutates:
            place = node.receiver
        elif isinstance(target, (MethodTarget, TraitCall)) and target.function.changes_self:
            place = target.receiver
        while isinstance(place, (ast.FieldAccess, ast.TupleAccess, ast.Index, ast.GroupExpr)):
            place = place.inner if isinstance(place, ast.GroupExpr) else place.receiver
        if isinstance(place, ast.PathExpr) and isinstance(place.binding, Local):
            locals_.append(place.binding)
    return next((local.name for local in locals_ if local.scope not in scopes), None)


def check_computed_bounds(c: Checker) -> None:
    """Report E4519 for each bound of `c.computed_bounds` that asks something: bounds are computed before any memory is used
    (M-2.14)."""
    effects = _effects(c, question_name, of_entries=False)
    for value in c.computed_bounds:
        effect = None if c.is_answered(value.span) else effects.of(value, value.span)
        if effect is not None:
            c.report(
                "E4519", value.span, f"a bound cannot use `{effect}`",
                help="it is computed before the program begins: from constants, configuration and functions of them",
            )  # fmt: skip


def _effects(c: Checker, effect_of_target: Callable[[object], str | None], *, of_entries: bool) -> Summaries[str | None]:
    """Return the summaries of functions by the name of the first forbidden thing that they do, None for none. `effect_of_target`
    gives the name of one that a target of a call is; `of_entries`: writes of entries of hashmaps are some too."""

    def walk(value: ast.Node) -> Iterator[str | FunctionSymbol | None]:
        todo: list[ast.Node | FunctionSymbol] = [value]
        while todo:
            node = todo.pop()
            if isinstance(node, FunctionSymbol):
                yield node
                continue
            target = getattr(node, "target", None)
            effect = effect_of_target(target)
            if effect is None and of_entries and _writes_entry(node):
                effect = "set"
            # A function is followed where it is called, and where its name is used as a value, since it may be called then.
            called = c.called(target)
            if isinstance(node, ast.PathExpr) and isinstance(node.binding, FunctionSymbol):
                called = node.binding
            if effect is None and called is not None and called.declaration.clauses:
                effect = called.declaration.clauses[0].kind
            if effect is not None:
                yield effect
                return
            if called is not None:
                todo.append(called)
            todo.extend(node.children())

    return Summaries(c, walk, lambda effects: next((effect for effect in effects if effect is not None), None))


def _writes_entry(node: ast.Node) -> bool:
    """Return whether a node writes an entry of a hashmap through brackets (O-5.40)."""
    target = getattr(node, "target", None)
    place = target if isinstance(node, ast.Assign) else getattr(target, "receiver", None)
    if isinstance(node, ast.MethodCall) and isinstance(target, BuiltinCall) and target.mutates:
        place = node.receiver
    elif isinstance(target, (MethodTarget, TraitCall)) and not target.function.changes_self:
        place = None
    return isinstance(place, ast.Expr) and is_entry(root_of(place))


def question_name(target: object) -> str | None:
    """Return the name of what is called, for the `target` of a call that asks somebody outside of the machine, such as a model,
    a tool or a memory, or that gives something out, as `print` and `emit` do; None for any other target, and for None."""
    if isinstance(target, ToolTarget):
        return target.function.name
    if isinstance(target, SlotAccess):
        return target.slot.name
    if not isinstance(target, BuiltinCall):
        return None
    asks = target.receiver_kind in ASKING or (not target.receiver_kind and target.name in OUTPUT)
    return target.name if asks else None


def _effect_name(target: object) -> str | None:
    effect = question_name(target)
    if effect is not None or not isinstance(target, BuiltinCall):
        return effect
    row = built_in_row(target.receiver_kind, target.name)
    writes = target.receiver_kind in ("HashMap", "Ledger") and target.name not in READS
    return target.name if writes or (row is not None and row.kind == "effect") else None
