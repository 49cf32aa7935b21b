"""The generator of one function body: its emitter, its variables, and how code for an expression is asked for.

Hands on `Generator`. The other files of this folder register their functions with `value_of` and `effect_of` for classes of
nodes. `value` pushes an expression's value, `effect` runs it and keeps nothing, `bound` pushes a value that is about to live in
another place, `operand` pushes one that is only read. Also hands on what decides about sharing (`root_of`, `is_entry`,
`changes_receiver`, `may_alias`, `is_plain`), `static_type`, and `LoopContext` to `statements`. To push is to write the code that
leaves a value on the operand stack when it runs. A container that two places hold is marked as shared (the instruction SHARE), so
that a write copies it first (V-5.7); where that mark is left out, a write would show in the other place. Which instructions an
expression becomes is not decided here; those of conversions and variables are. What the generators raise, RecursionError and
TooLong (`constants`), passes through to the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...vm.builtins import lookup
from ...vm.builtins.modules import built_in_row
from ...vm.bytecode.opcodes import BY_NAME
from ...vm.record import field, record
from .. import decisions, symbols
from .. import types as t
from ..source import Span
from ..syntax import ast
from .emitter import CellRef, Emitter, Label
from .module import Module

# The next functions answer one question: a value waits on the operand stack while another expression runs; can that expression
# write into the place where the value was read?

# Stands for what any hashmap holds, where code generation asks which variable a place belongs to.
ENTRY = symbols.Local("", t.ANY, True, symbols.FunctionScope(None), captured=True)


def is_entry(expr: ast.Expr) -> bool:
    """Return whether an expression is `h[k]` of a hashmap (O-5.40)."""
    if not isinstance(expr, ast.Index):
        return False
    holder = static_type(expr.receiver)
    return isinstance(holder, t.Generic) and holder.name == "HashMap"


def root_of(expr: ast.Expr) -> symbols.Local | None:
    """Return the variable that a chain of fields, elements and indexes begins with (L-5.5.1), for a slot of a memory or an entry
    of a hashmap the variable that stands for it; None for other expressions."""
    while isinstance(expr, (ast.FieldAccess, ast.TupleAccess, ast.Index, ast.GroupExpr)):
        if isinstance(expr, ast.FieldAccess) and isinstance(expr.target, symbols.SlotAccess):
            return expr.target.slot.root
        if is_entry(expr):
            return ENTRY
        expr = expr.inner if isinstance(expr, ast.GroupExpr) else expr.receiver
    return expr.binding if isinstance(expr, ast.PathExpr) and isinstance(expr.binding, symbols.Local) else None


def may_write(expr: ast.Expr, root: symbols.Local | None) -> bool:
    """Return whether evaluating `expr` can write into `root`; without a root the value may stand in any variable. A wrong
    True costs one copy at the next write; a wrong False would change a value that waits on the operand stack."""
    for node in ast.walk(expr):
        if isinstance(node, ast.Assign):
            written = root_of(node.target)
            if root is None or written is root or (written is ENTRY and root.captured):
                return True  # an entry may have watchers
        if isinstance(node, (ast.Call, ast.MethodCall)) and _call_may_write(node, root):
            return True
        if isinstance(node, (ast.Await, ast.ParallelFor)) and (root is None or root.captured):
            return True  # other tasks run meanwhile
    return False


def _call_may_write(node: ast.Call | ast.MethodCall, root: symbols.Local | None) -> bool:
    """Return whether a call can write into the root: a *mut* method on it or, where closures hold the root, anything that
    may call one."""
    reachable = root is None or root.captured
    target = node.target
    changes = isinstance(target, (decisions.MethodTarget, decisions.TraitCall)) and target.function.changes_self
    if changes and (root is None or root_of(target.receiver) is root):
        return True
    if isinstance(node, ast.MethodCall) and changes_receiver(node) and (root is None or root_of(node.receiver) is root):
        return True
    return reachable and _runs_user_code(target)


def changes_receiver(node: ast.MethodCall) -> bool:
    """Return whether a call is of a *mut* method, or of one found at run time that may turn out to be one."""
    if isinstance(node.target, decisions.DynamicCall):
        return node.target.may_change
    if isinstance(node.target, (decisions.MethodTarget, decisions.TraitCall)):
        return node.target.function.changes_self
    row = lookup(node.target.receiver_kind, node.target.name) if isinstance(node.target, decisions.BuiltinCall) else None
    return row is not None and row.mut


_WITHOUT_USER_CODE = (
    decisions.BuiltinCall, decisions.ConstructorCall, decisions.ErrorCall, decisions.RecordCall, decisions.VariantCall,
)  # fmt: skip


def _runs_user_code(target: decisions.CallTarget | None) -> bool:
    """Return whether code of the program may run during a call: that which is called, watchers of a hashmap, and other tasks
    while the host works on an effect."""
    if isinstance(target, decisions.BuiltinCall):
        row = built_in_row(target.receiver_kind, target.name)
        return row is not None and (bool(row.source) or row.kind in ("handle", "effect"))
    return not isinstance(target, _WITHOUT_USER_CODE)


Handler = Callable[["Generator", Any], None]
# By class of node, what pushes its value, and a shorter form without one; filled when the other files are imported.
VALUES: dict[type[ast.Node], Handler] = {}
EFFECTS: dict[type[ast.Node], Handler] = {}


def value_of(*classes: type[ast.Node]) -> Callable[[Handler], Handler]:
    """Return a decorator that registers the function which pushes the value of these nodes."""

    def register(handler: Handler) -> Handler:
        VALUES.update(dict.fromkeys(classes, handler))
        return handler

    return register


def effect_of(*classes: type[ast.Node]) -> Callable[[Handler], Handler]:
    """Return a decorator that registers a shorter form for nodes whose value nobody uses."""

    def register(handler: Handler) -> Handler:
        EFFECTS.update(dict.fromkeys(classes, handler))
        return handler

    return register


@record
class LoopContext:
    """A loop being generated: where break and continue go, and the depths of the operand stack, in values, that they restore."""

    label: str | None  # None without one
    exit: Label  # where break goes, with the value if one is wanted
    again: Label  # where continue goes
    depth: int  # before the loop
    inner: int  # at the head, with its iterator
    wants_value: bool
    stream: int | None = None  # the slot of the Stream it walks


@record
class Generator:
    """Generates the code of one function. `slots` has the numbers of its locals, `cells` those of variables that closures share;
    `parent` is the generator of the enclosing function, for captured ones; `scope` may be None for code outside of functions.
    `loops` are those around what is generated now, innermost last; `in_try`: it stands in the body of a `try`."""

    module: Module
    scope: symbols.FunctionScope | None
    parent: Generator | None = None
    emitter: Emitter = field(factory=Emitter)
    slots: dict[symbols.Local, int] = field(factory=dict)
    cells: dict[symbols.Local, CellRef] = field(factory=dict)
    loops: list[LoopContext] = field(factory=list)
    in_try: bool = False
    file: str = ""  # the one that the function stands in: that of its first place
    receiver: symbols.Local | None = None  # `self` of a method with `mut self`, which leaves together with the result
    caller_self: symbols.Local | None = None  # a plain `self`, which still stands in a place of the caller
    value_slots: dict[ast.Expr, int] = field(factory=dict)  # of what is evaluated already, as arguments of `spawn`

    # ------------------------------------------------------------ expressions

    def value(self, expr: ast.Expr) -> None:
        """Push the value of `expr`, converted as the place where it stands requires. An expression of `value_slots` is loaded
        from there and not evaluated again. KeyError for a class of node that nobody has registered."""
        e = self.emitter
        # Reached again inside the call that a pipe was rewritten to, or in a task.
        if expr in self.value_slots:
            e.reload(self.value_slots[expr])
            return
        depth, outer = e.depth, e.names.enter()
        self.at(expr.span)
        self.module.nesting.call(VALUES[type(expr)], self, expr)
        if e.code and e.code[-1][0] in _READING and is_plain(expr.type):
            e.is_plain()
        # A `return` or `break` inside leaves a depth that means nothing here.
        e.depth = depth + 1
        e.names.leave(outer, len(e.code))
        if expr.coercion is not None:
            self.at(expr.span)
            self.coerce(expr.coercion)

    def effect(self, expr: ast.Expr) -> None:
        """Run `expr` for its effects; nothing stays on the stack."""
        e = self.emitter
        depth, outer = e.depth, e.names.enter()
        self.at(expr.span)
        handler = EFFECTS.get(type(expr))
        if handler is not None:
            self.module.nesting.call(handler, self, expr)
        else:
            self.value(expr)
            e.emit("POP")
        e.depth = depth
        e.names.leave(outer, len(e.code))

    def bound(self, expr: ast.Expr) -> None:
        """Push a value that will live in a new place. One that may live elsewhere already is marked shared (V-5.7)."""
        self.value(expr)
        if may_alias(expr) and not is_plain(static_type(expr)):
            self.emitter.emit("SHARE")

    def operand(self, expr: ast.Expr, later: Sequence[ast.Expr]) -> None:
        """Push a value that is only read, after `later` has run: what those write must not show in it (L-5.7.1)."""
        self.value(expr)
        if not may_alias(expr) or is_plain(static_type(expr)):
            return
        root = root_of(expr)
        if any(may_write(other, root) for other in later):
            self.emitter.emit("SHARE")

    def operands(self, exprs: Sequence[ast.Expr]) -> None:
        """Push values that are read together, after the last one is evaluated."""
        for position, expr in enumerate(exprs):
            self.operand(expr, exprs[position + 1 :])

    def coerce(self, coercion: Any) -> None:
        """Emit what converts the value on top of the stack as a record of `decisions`, one of `Coercion`, says."""
        e = self.emitter
        if isinstance(coercion, decisions.ToFloat):
            e.emit("INT_TO_FLOAT")
        elif isinstance(coercion, decisions.CheckAny):
            e.emit("CHECK", self.module.pool.type(coercion.target))
        elif isinstance(coercion, decisions.ToOption):
            # `Int` to `Option<Float>`: first the value, then the wrapping.
            if coercion.inner is not None:
                self.coerce(coercion.inner)
            e.emit("WRAP")
        elif isinstance(coercion, decisions.ToOk):
            if coercion.inner is not None:
                self.coerce(coercion.inner)
            e.emit("OK")
        elif isinstance(coercion, decisions.FromOption):
            self._from_option()
        elif isinstance(coercion, decisions.ToPrompt):
            self.module.prompt_from_text(e)
        elif isinstance(coercion, decisions.ToError):
            e.emit("ERROR", self.module.pool.error("RuntimeError", None, []), 1)
        elif isinstance(coercion, decisions.ToMessage):
            e.emit("GET_ERROR", self.module.pool.string("message"))
        elif isinstance(coercion, decisions.ErrToMessage):
            self._message_of_err()
        elif isinstance(coercion, decisions.ThroughFrom):
            e.emit("SHARE")
            e.emit("CALL", self.module.functions[coercion.function], 1)

    def _message_of_err(self) -> None:
        """Replace the error in the Result on the stack, if it holds one, by its message."""
        e = self.emitter
        depth = e.depth
        is_ok = Label()
        e.emit("DUP")
        e.emit("IS_ERR")
        e.jump("JUMP_UNLESS", is_ok)
        e.emit("DUP")
        e.emit("UNWRAP")
        self.coerce(decisions.ToMessage())
        e.emit("ERR_FROM")  # with the way it came (L-5.11.3)
        e.mark(is_ok, depth)

    def _from_option(self) -> None:
        """Replace Some(v) on the stack by v, None by nil."""
        e = self.emitter
        depth = e.depth
        absent, end = Label(), Label()
        e.emit("DUP")
        e.emit("IS_SOME")
        e.jump("JUMP_UNLESS", absent)
        e.emit("UNWRAP")
        e.jump("JUMP", end)
        e.mark(absent, depth)
        e.emit("POP")
        e.emit("NIL")
        e.mark(end, depth)

    def leave(self) -> None:
        """Emit the return of the value on top of the stack, together with a `mut self`, after the tasks that were started here
        have ended (O-6.14)."""
        e = self.emitter
        if self.scope is not None and self.scope.spawns:
            e.emit("SETTLE")
        if e.depth > 1:
            e.emit("SLIDE", e.depth - 1, e.depth - 1)
        if self.receiver is not None:
            self.load(self.receiver)
            # In a cell closures may still hold it.
            if self.receiver not in self.slots:
                e.emit("SHARE")
            e.emit("TUPLE", 2, 2)
        e.emit("RETURN")

    def at(self, span: Span) -> None:
        """Give the instructions to come this place in the source."""
        self.emitter.span = span
        self.file = self.file or span.file

    # ------------------------------------------------------------ variables

    def declare(self, local: symbols.Local) -> None:
        """Begin the life of a variable. A captured one gets a fresh cell, so that each round of a loop has its own."""
        if local.captured:
            if local not in self.cells:
                self.cells[local] = self.emitter.own_cell()
            self.emitter.emit("NEW_CELL", self.cells[local])
            self.emitter.names.declare(local, self.cells[local])
        # A slot is given out once: a loop's next round writes over the last value.
        elif local not in self.slots:
            self.slots[local] = self.emitter.slot()
            self.emitter.names.declare(local, self.slots[local])

    def load(self, local: symbols.Local) -> None:
        """Push the value of a variable."""
        if local in self.slots:
            self.emitter.emit("LOAD", self.slots[local])
        else:
            self.emitter.emit("LOAD_CELL", self.cell(local))

    def store(self, local: symbols.Local) -> None:
        """Store the value on the stack into a variable."""
        if local in self.slots:
            self.emitter.emit("STORE", self.slots[local])
        else:
            self.emitter.emit("STORE_CELL", self.cell(local))
        self.emitter.names.assign(local, len(self.emitter.code))

    def load_own(self, local: symbols.Local) -> None:
        """Push the value of a variable, ready to be written: a shared one is copied first."""
        if local in self.slots:
            self.emitter.emit("LOAD_OWN", self.slots[local])
        else:
            self.emitter.emit("CELL_OWN", self.cell(local))

    def cell(self, local: symbols.Local) -> CellRef:
        """Return the cell of a captured variable: taken over from the enclosing function where it belongs to one, else its own,
        which is made where it has none yet."""
        if local not in self.cells:
            if self.parent is None or local.scope is self.scope:
                # assigned later on every path: the checker saw to it
                self.cells[local] = self.emitter.own_cell()
                self.emitter.emit("NEW_CELL", self.cells[local])
            else:
                self.cells[local] = self.emitter.capture(self.parent.cell(local))
                self.emitter.names.captured(local, self.cells[local])
        return self.cells[local]

    def bind(self, local: symbols.Local) -> None:
        """Declare a variable and store the value on the stack into it."""
        self.declare(local)
        self.store(local)


# These push what stands in a place.
_READING = frozenset(
    BY_NAME[name].number
    for name in ("LOAD", "LOAD_CELL", "GET_FIELD", "GET_ELEMENT", "GET_PAYLOAD", "GET_MEMBER", "INDEX", "INDEX_ARRAY", "UNWRAP")
)

# Simple types whose values have no part that can be written.
PLAIN = {
    "Int", "Float", "String", "Bool", "Nil", "Range", "Bytes", "never", "ModelRef", "ModelBuilder", "AgentRef", "AgentBuilder",
    "Memory", "KeyedMemory", "SchemaRef", "Ledger", "LedgerQuery", "ToolRef", "McpRef", "EmbedderRef",
}  # fmt: skip


def is_plain(type_: t.Type | None, within: set[int] | None = None) -> bool:
    """Return whether no value of this type has anything inside that a write could reach, so that it never needs to be
    marked shared. `within`: the enums that are being looked at, which hold the type."""
    if isinstance(type_, t.Simple):
        return type_.name in PLAIN
    if isinstance(type_, t.Nilable):
        return is_plain(type_.inner, within)
    if isinstance(type_, t.Tuple):
        return all(is_plain(item, within) for item in type_.items)
    if isinstance(type_, t.Generic):
        # Wrappers have no parts that could be written; what they wrap may have.
        inside = type_.name in ("Option", "Result", "Task") and all(is_plain(part, within) for part in type_.arguments)
        return inside or type_.name in ("HashMap", "Index", "PipelineRef", "Memory")
    if isinstance(type_, t.Nominal):
        return type_.kind == "error" or type_.plain or _is_plain_enum(type_.facts, within)
    return isinstance(type_, (t.Union, t.Function))


def _is_plain_enum(facts: t.Facts, within: set[int] | None) -> bool:
    """Return whether the variants of an enum of the program hold nothing that a write could reach; one that holds itself does not
    for that reason. What has the type of a parameter may be anything: type arguments do not exist at run time."""
    if facts.never_written is None:
        if within is not None and id(facts) in within:
            return True
        seen = set() if within is None else within
        seen.add(id(facts))
        found = bool(facts.payload) and all(is_plain(part, seen) for part in facts.payload)
        if within is not None:  # the answer may hang on an enum around it, which is not known yet
            return found
        facts.never_written = found
    return facts.never_written


def static_type(expr: ast.Expr) -> t.Type | None:
    """Return the type of an expression after its coercion. What becomes a Prompt, a RuntimeError of a text, or a Result with a
    message, has the type before; what becomes an Option, the Option of the type before. None for what is no value, such as the T
    of `T.m`."""
    coercion = expr.coercion
    if isinstance(coercion, decisions.ToFloat):
        return t.FLOAT
    if isinstance(coercion, (decisions.CheckAny, decisions.FromOption, decisions.ToOk)):
        return coercion.target
    if isinstance(coercion, decisions.ToOption):
        return t.option(expr.type)
    if isinstance(coercion, decisions.ThroughFrom):
        return coercion.function.result
    if isinstance(coercion, decisions.ToMessage):
        return t.STRING
    type_: t.Type | None = expr.type
    return type_


_FRESH = (
    ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral, ast.NilLiteral, ast.Interpolation, ast.ArrayExpr,
    ast.MapExpr, ast.TupleExpr, ast.StructExpr, ast.RangeExpr, ast.Unary, ast.Call, ast.MethodCall, ast.Closure,
)  # fmt: skip


def may_alias(expr: ast.Expr) -> bool:
    """Return whether the value may live in a place already. Results of calls and literals do not."""
    if isinstance(expr, (ast.GroupExpr,)):
        return may_alias(expr.inner)
    if isinstance(expr, ast.Binary):
        return expr.operator == "??"
    if isinstance(expr, (ast.Propagate, ast.Await)):
        return may_alias(expr.operand)
    if isinstance(expr, ast.Pipe):
        return False
    return not isinstance(expr, _FRESH)
