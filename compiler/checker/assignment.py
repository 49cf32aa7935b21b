"""Definite assignment of `let x: T;` (L-3.13.3).

Hands on `check_assignments`, which `declaration_checks` and, for stages of pipelines, `functions` call for functions that have
such a variable, after their body was typed, and `check_deferred`, by which `outside` has the rest checked. A forward data-flow
analysis over the tree: E2037 for a use before an assignment, E2038 for a second assignment of an immutable variable. Of types it
looks only at `never`, which ends a path, and at ERRONEOUS, that of what was reported: a variable of that type is not reported as
unassigned. A new form that branches or loops is a row of _RULES. Mistakes are reported to `c`, the state of the check, and not
raised; no type is inferred here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..symbols import FunctionSymbol, Local
from ..syntax import ast
from ..types import NEVER
from .relations import ERRONEOUS
from .state import SPINES, Checker


@dataclass(slots=True)
class Flow:
    """What is known at one point of the function. `sure`: variables assigned on every path to it; `maybe`: on some path;
    `dead`: no path leads to it."""

    sure: set[Local] = field(default_factory=set)
    maybe: set[Local] = field(default_factory=set)
    dead: bool = False

    def copy(self) -> Flow:
        """Return a copy that a branch may change."""
        return Flow(set(self.sure), set(self.maybe), self.dead)


def merge(flows: Iterable[Flow]) -> Flow:
    """Return what is known where several paths meet; those that do not come there are left out. If none does, it is `dead`."""
    alive = [flow for flow in flows if not flow.dead]
    if not alive:
        return Flow(dead=True)
    return Flow(set.intersection(*(f.sure for f in alive)), set.union(*(f.maybe for f in alive)))


class Walk:
    """The walk over one function, in the order of evaluation; `flow` is what is known at the present point. For each loop around
    it, innermost last, `breaks` and `continues` collect what is known at these statements, and `labels` has its label. `silent`
    counts the loops being walked for the first time, without reports; `closures` the closures and tasks around; `reported` are
    the variables that were reported. `thrown`: for each `try` around, innermost last, the variables that may be assigned where an
    error leaves its body; `fresh`: those assigned of which that was not yet noted."""

    __slots__ = ("checker", "flow", "breaks", "continues", "labels", "silent", "reported", "closures", "thrown", "fresh")

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.flow = Flow()
        self.breaks: list[list[Flow]] = []
        self.continues: list[list[Flow]] = []
        self.labels: list[str | None] = []
        self.silent = 0
        self.reported: set[Local] = set()
        self.closures = 0
        self.thrown: list[set[Local]] = []
        self.fresh: list[Local] = []

    def visit(self, node: ast.Node | None) -> None:
        """Walk over a node."""
        if node is not None:
            self.checker.nesting.call(self._visit, node)

    def _visit(self, node: ast.Node) -> None:
        chain: list[ast.Node] = []
        # Left-deep chains are walked in a loop, as in `Checker.infer`.
        while type(node) in SPINES:
            chain.append(node)
            node = getattr(node, SPINES[type(node)])
        self._dispatch(node)
        for link in reversed(chain):
            self._after_spine(link)
            self._end(link)

    def _dispatch(self, node: ast.Node) -> None:
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(self, node)
        else:
            for child in node.children():
                self.visit(child)
        self._end(node)

    def _end(self, node: ast.Node) -> None:
        if isinstance(node, _RAISERS) or node in self.checker.leaving:
            self.note_error()
        if isinstance(node, ast.Expr) and node.type == NEVER:
            self.flow.dead = True

    def _after_spine(self, node: ast.Node) -> None:
        """Walk over what a form of the spine evaluates after its first child."""
        match node:
            case ast.Binary(operator="&&" | "||" | "??"):
                before = self.flow.copy()
                self.visit(node.right)
                self.flow = merge([before, self.flow])
            case ast.Binary():
                self.visit(node.right)
            case ast.Index():
                self.visit(node.index)
            case ast.Call() if node.tasks is not None:
                self.all(node.tasks)
            case ast.Call() | ast.MethodCall():
                self.all(argument.value for argument in node.arguments)
            case ast.Pipe():
                self._applied(node)

    def _applied(self, node: ast.Pipe) -> None:
        call = node.applied
        while isinstance(call, (ast.Propagate, ast.Await)):
            call = call.operand
        if isinstance(call, ast.Call):
            self.visit(call.callee)
        elif isinstance(call, ast.MethodCall):
            self.visit(call.receiver)
        self.all(a.value for a in getattr(call, "arguments", ()) if a.value is not node.left)

    def all(self, nodes: Iterable[ast.Node | None]) -> None:
        """Walk over nodes that are evaluated one after the other."""
        for node in nodes:
            self.visit(node)

    def report(self, code: str, local: Local, node: ast.Node, message: str, help: str) -> None:
        """Report a variable once, and not in the first walk over a loop."""
        if not self.silent and local not in self.reported:
            self.reported.add(local)
            self.checker.report(code, node.span, message, help=help)

    # Variables.

    def read(self, node: ast.PathExpr) -> None:
        """Report the use of a deferred variable that may have no value yet (E2037)."""
        local = node.binding
        if not (isinstance(local, Local) and local.deferred) or local.type is ERRONEOUS:
            return
        if local not in self.flow.sure and not self.flow.dead:
            path = "on some path before this" if local in self.flow.maybe else "before this"
            self.report("E2037", local, node, f"`{local.name}` is not assigned {path}", "assign it on every path")

    def assign(self, node: ast.Assign) -> None:
        """Note an assignment of a deferred variable; report a second one of an immutable variable (E2038). Of any other target
        only walk over both sides."""
        target = ast.ungrouped(node.target)
        local = target.binding if isinstance(target, ast.PathExpr) else None
        if not (isinstance(local, Local) and local.deferred):
            self.visit(target)
            self.visit(node.value)
            return
        if node.operator != "=":
            self.visit(target)
        self.visit(node.value)
        # A closure may run several times: each assignment in it may be a second one; `x += 1` always is.
        again = (local in self.flow.maybe or self.closures or node.operator != "=") and not self.flow.dead
        if again and not local.mutable:
            self.report("E2038", local, node, f"`{local.name}` may be assigned already", f"declare it `let mut {local.name}: …;`")
        self.flow.sure.add(local)
        self.flow.maybe.add(local)
        if self.thrown:
            self.fresh.append(local)

    def let(self, node: ast.Let) -> None:
        """Walk over the initialiser, and note that the variable has no value yet, also in the next round of a loop."""
        self.visit(node.value)
        local = node.pattern.binding if isinstance(node.pattern, ast.BindPattern) else None
        if isinstance(local, Local):
            self.flow.sure.discard(local)
            self.flow.maybe.discard(local)

    def await_(self, node: ast.Await) -> None:
        """Walk over the operands, each a task if there are several."""
        self.all(node.tasks if node.tasks is not None else [node.operand])

    def task(self, node: ast.Spawn | ast.AsyncBlock) -> None:
        """Walk over the body of the task."""
        self.visit(node.task)

    def parallel_for(self, node: ast.ParallelFor) -> None:
        """Walk over the iterable and the limit, then the body as a task."""
        self.all([node.iterable, node.limit, node.task])

    def closure(self, node: ast.Closure | ast.TaskBody) -> None:
        """Walk over a body that runs at any time later, or never: what it assigns may be assigned afterwards, but is not sure."""
        before = self.flow.copy()
        loops, (self.breaks, self.continues, self.labels) = (self.breaks, self.continues, self.labels), ([], [], [])
        self.closures += 1
        self.visit(node.body)
        self.closures -= 1
        self.breaks, self.continues, self.labels = loops
        self.flow = Flow(before.sure, before.maybe | self.flow.maybe, before.dead)

    # Branches.

    def if_(self, node: ast.If) -> None:
        """Walk over a chain of `else if` in a loop."""
        ends: list[Flow] = []
        at: ast.Expr | None = node
        while isinstance(at, ast.If):
            self.visit(at.condition)
            before = self.flow.copy()
            self.visit(at.then)
            ends.append(self.flow)
            self.flow = before
            at = at.otherwise
        self.visit(at)
        self.flow = merge([*ends, self.flow])

    def match(self, node: ast.Match) -> None:
        """Walk over the arms, of which one is taken; the guards of those before may have run."""
        self.visit(node.subject)
        ends: list[Flow] = []
        untaken = self.flow
        for arm in node.arms:
            self.flow = untaken.copy()
            if arm.guard is not None:
                self.visit(arm.guard)
                # Where the pattern does not fit, the guard does not run.
                untaken = merge([untaken, self.flow])
            self.visit(arm.body)
            ends.append(self.flow)
        self.flow = merge(ends)

    def try_(self, node: ast.Try) -> None:
        """Walk over the body and the clauses: an error may have left the body before any of its assignments."""
        before = self.flow.copy()
        self.thrown.append(set())
        self.visit(node.body)
        thrown = self.thrown.pop()
        ends = [self.flow]
        maybe = before.maybe | self.flow.maybe | thrown
        for clause in node.catches:
            self.flow = Flow(set(before.sure), set(maybe), before.dead)
            self.visit(clause.body)
            ends.append(self.flow)
        if not node.catches:
            ends = [Flow(set(before.sure), maybe, before.dead)]
        self.flow = merge(ends)
        if self.thrown:
            self.fresh += thrown
            # What no clause catches leaves the `try` around too.
            if all(clause.type is not None for clause in node.catches):
                self.thrown[-1] |= thrown

    def note_error(self) -> None:
        """Note that an error may leave here: a clause around begins with what may be assigned now."""
        if self.thrown and self.fresh and not self.flow.dead:
            maybe = self.flow.maybe
            self.thrown[-1].update([local for local in self.fresh if local in maybe])
            self.fresh = [local for local in self.fresh if local not in maybe]

    # Loops.

    def for_(self, node: ast.For) -> None:
        """Walk over a `for`, whose body may run not at all."""
        self.visit(node.iterable)

        def round() -> None:
            self.visit(node.body)
            if node.iterable in self.checker.leaving:  # of a stream: what comes next may be an error
                self.note_error()

        self._loop(node, round, ends=True)

    def while_(self, node: ast.While) -> None:
        """Walk over a `while`, whose condition is evaluated once more after each round."""
        self.visit(node.condition)
        self._loop(node, lambda: self.all([node.body, node.condition]), ends=True)

    def loop(self, node: ast.Loop) -> None:
        """Walk over a `loop`, which only its `break`s leave."""
        self._loop(node, lambda: self.visit(node.body), ends=False)

    def _loop(self, node: ast.For | ast.While | ast.Loop, body: Callable[[], None], ends: bool) -> None:
        """Walk over the body of a loop twice: first, silently, to learn what a round may have assigned before the next. In a
        silent walk the loops inside are walked once, so that nested loops do not cost twice as much at each level."""
        before = self.flow.copy()
        for last in (True,) if self.silent else (False, True):
            self.breaks.append([])
            self.continues.append([])
            self.labels.append(None if node.label is None else node.label.text)
            self.silent += not last
            body()
            self.silent -= not last
            breaks = self.breaks.pop()
            # What holds at the head of the next round: at first entry, at the end of the body, or at `continue`.
            again = merge([before, self.flow, *self.continues.pop()])
            self.labels.pop()
            if not last:
                self.flow = Flow(set(before.sure), again.maybe, before.dead)
        self.flow = merge([*breaks, *([Flow(before.sure, again.maybe, before.dead)] if ends else [])])

    def break_(self, node: ast.Break) -> None:
        """Note what is known where the loop is left."""
        self.visit(node.value)
        self._leave(node.label, self.breaks)

    def continue_(self, node: ast.Continue) -> None:
        """Note what is known where the next round begins."""
        self._leave(node.label, self.continues)

    def _leave(self, to: ast.Ident | None, frames: list[list[Flow]]) -> None:
        for flows, label in zip(reversed(frames), reversed(self.labels), strict=True):
            if to is None or label == to.text:
                flows.append(self.flow.copy())
                break
        self.flow.dead = True


_RAISERS = (ast.Propagate, ast.Throw, ast.Cast)

_RULES: dict[type[ast.Node], Callable[[Walk, Any], None]] = {
    ast.PathExpr: Walk.read,
    ast.Assign: Walk.assign,
    ast.Let: Walk.let,
    ast.Closure: Walk.closure,
    ast.TaskBody: Walk.closure,
    ast.Await: Walk.await_,
    ast.Spawn: Walk.task,
    ast.AsyncBlock: Walk.task,
    ast.ParallelFor: Walk.parallel_for,
    ast.If: Walk.if_,
    ast.Match: Walk.match,
    ast.Try: Walk.try_,
    ast.For: Walk.for_,
    ast.While: Walk.while_,
    ast.Loop: Walk.loop,
    ast.Break: Walk.break_,
    ast.Continue: Walk.continue_,
    **dict.fromkeys((ast.NamedType, ast.NilableType, ast.ItemStmt), lambda walk, node: None),
}


def check_assignments(c: Checker, symbol: FunctionSymbol) -> None:
    """Check the deferred variables of a function whose body and defaults were typed, as `check_deferred` does."""
    for parameter in symbol.declaration.parameters:
        check_deferred(c, parameter.default)
    check_deferred(c, symbol.declaration.body)


def check_deferred(c: Checker, node: ast.Node | None) -> None:
    """Check the deferred variables of what is computed by itself and was typed, and report a use before an assignment and a
    second assignment (E2037, E2038). The tree is not changed."""
    Walk(c).visit(node)
