"""Blocks, statements, branches, loops (L-2.4, L-5.7).

Hands on RULES, the rules of these forms, to `program`, and `element_type` to `functions`. A block is typed
statement by statement; `never` is the type of what does not come to its end, which makes the rest unreachable. Patterns are in
`patterns`, errors in `propagation`. A new form is a row of RULES, or a case of `_statement` if it has no value. A rule takes the
state of the check `c`, a node and what its place asks for (`Expected`), and returns the type of the node. Mistakes are reported
to `c` by a code (E…; W… for a warning), and not raised; ERRONEOUS is the type of what was reported, which suits every place.
"""

from __future__ import annotations

from ..decisions import BuiltinCall
from ..hints.names import did_you_mean
from ..hints.types import ITERABLE, absent_help, condition_help
from ..source import Span
from ..symbols import Local
from ..syntax import ast
from ..types import (
    ANY,
    BOOL,
    BYTES,
    CHUNK,
    HOST_STREAM,
    INT,
    ITEM_STREAM,
    LEDGER,
    LEDGER_ENTRY,
    NEVER,
    NIL,
    RANGE,
    STREAM,
    STRING,
    TYPED_STREAM,
    Generic,
    Nilable,
    Tuple,
    Type,
    error,
    is_stream,
    of_host,
)
from .exhaustiveness import check_arms
from .json_shapes import answer_in
from .lets import close_results, closed_type, described, name_of
from .mocks import mock
from .narrowing import forget, implied, implied_behind, learn_present, optional
from .patterns import bind_irrefutable, check_pattern, is_some, matches_nil_only
from .prompts import keep_text, keep_texts_of
from .propagation import check_discarded, leave, warn_uncaught_value
from .relations import (
    ERRONEOUS,
    MISMATCH,
    close,
    close_variable,
    convert,
    generic,
    gives_nothing,
    is_memory,
    is_text,
    join_all,
    keyed,
)
from .state import DISCARD, FREE, Checker, Expected, ExpressionRule, LoopFrame, Raise
from .types import partial_type, written_type

BLOCK_LIKE = (ast.Block, ast.If, ast.Match, ast.Try)


# Blocks and statements.


def block(c: Checker, node: ast.Block, expected: Expected) -> Type:
    """Return the type of a block: that of its last expression, Nil without one, `never` if a statement does not come to its
    end."""
    diverged = False
    warned = False
    known: list[Local] = []
    for statement in node.statements:
        if diverged and not warned and not isinstance(statement, (ast.EmptyStmt, ast.ItemStmt)):
            warned = warn_unreachable(c, statement.span)
        # The rest is checked too: its mistakes are mistakes, though it never runs.
        diverged = _statement(c, statement) or diverged
        # Behind `if x == nil { return; }` x holds a value.
        if isinstance(statement, ast.ExprStmt) and isinstance(statement.expr, ast.If):
            known += learn_present(c, implied_behind(statement.expr))
    if node.result is None:
        forget(c, known)
        return NEVER if diverged else NIL
    if diverged and not warned:
        warn_unreachable(c, node.result.span)
    type_ = tail(c, node.result, expected)
    forget(c, known)
    return NEVER if diverged else type_


def warn_unreachable(c: Checker, span: Span) -> bool:
    """Warn of code that is never reached (W0005); return True, as a block warns once."""
    c.report(
        "W0005", span, "this code is never reached",
        help="remove it, or move it before the `return`, `throw`, `break` or endless loop",
    )
    return True


def tail(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Return the type of the last expression of a block or branch, whose value is that of the form; Nil or `never` where it is
    thrown away, as `expected.used` says."""
    if expected.used:
        return c.tail(node, expected)
    return discard(c, node)


def discard(c: Checker, node: ast.Expr) -> Type:
    """Check an expression whose value is thrown away; return Nil or `never`. A Result among them is reported by `propagation`."""
    type_ = c.infer(node, DISCARD)
    inner = ast.ungrouped(node)
    if not isinstance(inner, (ast.Assign, *BLOCK_LIKE)) or (isinstance(inner, ast.Try) and not inner.catches):
        check_discarded(c, inner, type_)
    return NEVER if type_ == NEVER else NIL


def _statement(c: Checker, node: ast.Stmt) -> bool:
    """Check a statement; return whether it never comes to its end."""
    if isinstance(node, ast.ExprStmt):
        return discard(c, node.expr) == NEVER
    if isinstance(node, ast.Let):
        return let(c, node)
    if isinstance(node, ast.Mock):
        mock(c, node)
    return False


def let(c: Checker, node: ast.Let) -> bool:
    """Check a `let` and bind its variables; return whether its value never comes to its end, False without a value. E2004 for a
    type that nothing says, E2001 for a value of another one. Warns of a value that a `catch` never sees, of a change that gives
    nothing and of a closure whose parameter is Any (W0017, W0024, W0025)."""
    diverges = _let(c, node)
    if node.value is not None:
        keep_text(c, node)
        warn_uncaught_value(c, node)
    return diverges


def _let(c: Checker, node: ast.Let) -> bool:
    annotated = None if node.type is None else written_type(c, node.type)
    if node.value is None:
        if annotated is None:
            c.report(
                "E2004", node.pattern.span, f"the type of {described(node.pattern)} is not known",
                help=f"write `let {name_of(node.pattern)}: T;`",
            )  # fmt: skip
        # From here on the function needs the walk of `assignment`.
        c.deferring = True
        bind_irrefutable(c, node.pattern, annotated or ERRONEOUS)
        return False
    if annotated is not None:
        type_ = c.value(node.value, Expected(annotated, place=described(node.pattern)))
        bind_irrefutable(c, node.pattern, annotated)
        return type_ == NEVER
    type_ = c.infer(node.value)
    if type_ == NIL:
        _warn_changed_in_place(c, node)
    _warn_parameters_are_any(c, node.value)
    if _left_open(c, node, type_):
        return False
    bind_irrefutable(c, node.pattern, closed_type(c, node, type_))
    return type_ == NEVER


def _warn_changed_in_place(c: Checker, node: ast.Let) -> None:
    """Warn of `let ys = xs.sort();`, which binds nil: what was sorted is `xs` (W0024, L-4.7.23)."""
    value = node.value
    if isinstance(value, ast.MethodCall) and isinstance(value.target, BuiltinCall) and value.target.mutates:
        whole = c.operand(value.receiver, "the value")
        message = f"{described(node.pattern)} is nil: `{value.name.text}` changes `{whole}` and gives nothing"
        copy = f"let mut {name_of(node.pattern)} = {whole};"
        help = f"write `{c.text(value)[1:-1]};` and go on with `{whole}`; for a copy first `{copy}`"
        c.report("W0024", node.span, message, help=help)


def _warn_parameters_are_any(c: Checker, value: ast.Expr) -> None:
    """Warn of `let f = |x| x + 1;`, whose parameter is Any, so that `f("a")` is found only by the run (W0025, L-4.7.24)."""
    closure = ast.ungrouped(value)
    if not isinstance(closure, ast.Closure) or closure.function_form:
        return
    for parameter in closure.parameters:
        name = parameter.name.text
        if parameter.type is None and parameter.pattern is None and not name.startswith("_"):
            message = f"nothing says the type of `{name}`: it is Any, and what is done with it is checked only when it runs"
            c.report("W0025", parameter.name.span, message, help=f"write its type: `|{name}: T|`")


# Types whose open side the first use of a variable says.
OPEN_UNTIL_USED = ("Array", "Map", "Set", "Stack", "Queue", "Option")


def _left_open(c: Checker, node: ast.Let, type_: Type) -> bool:
    """Bind a variable for a collection or Option with an open side, whose type its first use says (L-3.2.8); return whether it
    is one."""
    has_open_side = isinstance(type_, Generic) and type_.name in OPEN_UNTIL_USED and type_.is_open
    if not (has_open_side and isinstance(node.pattern, ast.BindPattern) and node.pattern.constant is None):
        return False
    bind_irrefutable(c, node.pattern, type_)
    local = node.pattern.binding
    if not isinstance(local, Local):
        return False
    local.type, local.learned = type_, True  # the pattern has closed the type
    c.open_lets.append((node, local))
    return True


# Branches.


def condition(c: Checker, node: ast.Expr) -> None:
    """Check a condition: a Bool, or Any, which is checked at run time; report any other type (E2003, L-3.6.13)."""
    bool_ = Expected(BOOL, "E2003")
    # `if (await emit(…))?`: the answer of the host has to be a Bool.
    asks = isinstance(node, ast.Propagate) and answer_in(node.operand, bool_).type is not None
    actual = c.narrowed(node, c.infer(node, bool_ if asks else FREE))
    if actual not in (BOOL, ANY, NEVER):
        help = "compare with `==`" if isinstance(node, ast.Assign) and node.operator == "=" else condition_help(actual)
        c.report("E2003", node.span, f"a condition is a `Bool`, found `{actual}`", help=help)


def if_(c: Checker, node: ast.If, expected: Expected) -> Type:
    """Return the type of an `if`: the join of its branches, Nil without `else`, Nil or `never` where it is thrown away; ERRONEOUS
    after a report of branches that disagree or give no value. A chain of `else if` is walked in a loop, so that its length needs
    no recursion."""
    chain: list[ast.If] = []
    branches: list[tuple[ast.Expr, Type]] = []
    known: list[Local] = []  # variables that hold a value, since the conditions so far are false
    at: ast.Expr | None = node
    while isinstance(at, ast.If):
        chain.append(at)
        condition(c, at.condition)
        inside = learn_present(c, implied(at.condition, True))
        branches.append((at.then, _branch(c, at.then, expected, at.otherwise is not None)))
        forget(c, inside)
        known += learn_present(c, implied(at.condition, False))
        at = at.otherwise
    if at is not None:
        branches.append((at, tail(c, at, expected)))
    forget(c, known)
    type_ = _without_else(c, chain, branches, expected) if at is None else _join_arms(c, branches, expected)
    # The inner links are expressions too: codegen asks their types.
    for link in chain[1:]:
        link.type = type_
    return type_


def _branch(c: Checker, node: ast.Block, expected: Expected, has_else: bool) -> Type:
    return tail(c, node, expected if has_else or not expected.used else FREE)


def _join_arms(c: Checker, branches: list[tuple[ast.Expr, Type]], expected: Expected) -> Type:
    if not expected.used:
        return NEVER if all(t == NEVER for _, t in branches) else NIL
    if expected.concrete:
        return join_all([t for _, t in branches]) or ERRONEOUS
    return c.join_branches(branches)


def _without_else(
    c: Checker, chain: list[ast.If], branches: list[tuple[ast.Expr, Type]], expected: Expected
) -> Type:
    """Return the type of an `if` without `else`, which is Nil: a branch may have another value only where it is thrown away
    (E2021, L-3.2.7)."""
    if not expected.used:
        return NIL
    wanted = expected.type
    # At the end of a body the better message is that a path gives no value.
    if expected.code == "E2023" and wanted is not None and convert(NIL, wanted) is MISMATCH and not gives_nothing(wanted):
        return c.report_missing_value(chain[0], wanted)
    for node, type_ in branches:
        if type_ not in (NIL, NEVER) and type_ is not ERRONEOUS:
            return c.report(
                "E2021", node.span, f"the branches disagree: `{type_}` and `Nil` without `else`", help="add an `else`"
            )
    return NIL


def match_(c: Checker, node: ast.Match, expected: Expected) -> Type:
    """Return the type of a `match`: the join of its arms, Nil or `never` where it is thrown away, `never` too for a subject that
    never comes to its end. Behind an arm `nil` without guard the value is no longer optional."""
    subject = close_variable(node.subject, c.infer(node.subject))
    remaining = subject
    branches: list[tuple[ast.Expr, Type]] = []
    sound = subject is not ERRONEOUS and subject != NEVER
    wraps = False
    known: list[Local] = []
    for arm in node.arms:
        errors, before = c.error_count, c.some_of_nilable
        check_pattern(c, arm.pattern, subject if is_some(arm.pattern) else remaining)
        sound = sound and c.error_count == errors
        wraps = wraps or c.some_of_nilable > before
        inside: list[Local] = []
        behind = remaining
        if arm.guard is not None:
            condition(c, arm.guard)
            inside = learn_present(c, implied(arm.guard, True))
        elif isinstance(remaining, Nilable) and matches_nil_only(arm.pattern, remaining):
            behind = remaining.inner
        branches.append((arm.body, tail(c, arm.body, expected)))
        forget(c, inside)
        # The arms behind `nil` see the value without it, so that `v => …` binds a T.
        if behind is not remaining:
            remaining = behind
            local = optional(node.subject)
            known += learn_present(c, [] if local is None else [local])
    forget(c, known)
    if sound:
        # Patterns with errors say nothing about what is covered.
        check_arms(c, node, subject, wraps=wraps)
    return NEVER if subject == NEVER else _join_arms(c, branches, expected)


# Loops.


def element_type(c: Checker, iterable: ast.Expr, type_: Type) -> Type:
    """Return the type of what a `for` over a value of this type binds (L-5.7.4 to L-5.7.10); ERRONEOUS after a report (E2015) if
    it cannot be iterated."""
    if isinstance(type_, Generic) and type_.name in ("Array", "Set", "Queue", "Stack"):
        return close(type_.arguments[0])
    if isinstance(type_, Tuple):
        return join_all(list(type_.items)) or ANY
    entry = keyed(type_)
    if entry:
        return Tuple(tuple(map(close, entry)))
    if is_text(type_):
        return STRING
    if type_ in (RANGE, BYTES):
        return INT
    if type_ == STREAM:
        return CHUNK
    if isinstance(type_, Generic) and type_.name in (ITEM_STREAM, HOST_STREAM):
        return type_.arguments[0]
    if isinstance(type_, Generic) and type_.name == TYPED_STREAM:
        return partial_type(c, type_.arguments[0], iterable)
    if type_ == LEDGER:
        return LEDGER_ENTRY
    if type_ in (ANY, NEVER):
        return type_
    counted = f"write a range: `0..{c.text(iterable)[1:-1]}`"
    listed = f"write `{c.text(iterable)[1:-1]}.messages()`"
    otherwise = counted if type_ == INT else listed if is_memory(type_) else f"a `for` goes through {ITERABLE}"
    if generic(type_, "Index") is not None:
        otherwise = f"an index is searched: `for (document, score) in {c.text(iterable)[1:-1]}.search(…)?`"
    help = absent_help(type_) or otherwise
    return c.report("E2015", iterable.span, f"`{type_}` cannot be iterated", help=help)


def for_(c: Checker, node: ast.For, expected: Expected) -> Type:
    """Return the type of a `for`: the join of Nil and the values of its `break`s; ERRONEOUS after a report that they have none
    (E2021), as for all loops. E2015 for what cannot be iterated."""
    type_ = c.narrowed(node.iterable, c.infer(node.iterable))
    if is_stream(type_):  # a failure in mid-stream leaves as by `?` (O-1.73)
        node.failure = leave(c, Raise(node.iterable, error("HostError" if of_host(type_) else "AgentError"), "?"))
    bind_irrefutable(c, node.pattern, element_type(c, node.iterable, type_))
    keep_texts_of(c, node.iterable, node.pattern)
    return _repeat(c, node, "for", node.body)


def while_(c: Checker, node: ast.While, expected: Expected) -> Type:
    """Return the type of a `while`: the join of Nil and the values of its `break`s."""
    condition(c, node.condition)
    inside = learn_present(c, implied(node.condition, True))
    type_ = _repeat(c, node, "while", node.body)
    forget(c, inside)
    return type_


def loop(c: Checker, node: ast.Loop, expected: Expected) -> Type:
    """Return the type of a `loop`: the join of the values of its `break`s, `never` without any `break`."""
    return _repeat(c, node, "loop", node.body)


def _repeat(c: Checker, node: ast.For | ast.While | ast.Loop, kind: str, body: ast.Block) -> Type:
    frame = LoopFrame(kind, None if node.label is None else node.label.text)
    c.loops.append(frame)
    c.infer(body, DISCARD)
    c.loops.pop()
    return _loop_value(c, node, frame)


def _loop_value(c: Checker, node: ast.Expr, frame: LoopFrame) -> Type:
    """Return the type of a loop: `loop` has the value of its breaks; `for` and `while` have it or nil (L-5.7.2)."""
    # Only `return`, `throw` or a panic ends it.
    if frame.kind == "loop" and not frame.breaks:
        return NEVER
    types = [type_ for _, type_ in frame.breaks]
    valued = [(value, type_) for value, type_ in frame.breaks if value is not None]
    joined = join_all(types if frame.kind == "loop" else [NIL, *types])
    if joined is None:
        # The last `break` is the one reported: the ones before agreed until then.
        wanted = join_all([type_ for _, type_ in valued[:-1]]) or ANY
        return c.report(
            "E2021", valued[-1][0].span if valued else node.span,
            f"the values of `break` disagree: `{wanted}` and `{valued[-1][1] if valued else NIL}`",
            help="give every `break` of the loop a value of one type",
        )  # fmt: skip
    for value, type_ in valued:
        c.coerce(value, type_, Expected(joined, "E2021"))
    return joined


def break_(c: Checker, node: ast.Break, expected: Expected) -> Type:
    """Add the value of a `break` to its loop; return `never`, ERRONEOUS after a report (E3009, E3010, E4050)."""
    frame = _loop_of(c, "break", node.label, node.span)
    type_ = NIL if node.value is None else c.infer(node.value)
    if frame is None:
        return ERRONEOUS
    frame.breaks.append((node.value, close_results(type_)))
    return NEVER


def continue_(c: Checker, node: ast.Continue, expected: Expected) -> Type:
    """Return `never`; ERRONEOUS after a report, as for `break`."""
    return ERRONEOUS if _loop_of(c, "continue", node.label, node.span) is None else NEVER


def _loop_of(c: Checker, word: str, label: ast.Ident | None, span: Span) -> LoopFrame | None:
    """Return the loop that a `break` or `continue` leaves; None after a report: no loop, unknown label, or a task between
    (E4050)."""
    if label is not None:
        frame = next((f for f in reversed(c.loops) if f.label == label.text), None)
        if frame is None:
            labels = [f.label for f in c.loops if f.label]
            c.report("E3010", label.span, f"unknown label `{label.text}`", help=did_you_mean(label.text, labels))
            return None
        barrier = next((f for f in c.loops[c.loops.index(frame) :] if f.kind in TASKS), None)
        if barrier is not None:
            _report_leaving_task(c, word, span, barrier)
        return frame if barrier is None else None
    # Without a label the innermost frame counts, be it a loop or a task.
    barrier = c.loops[-1] if c.loops and c.loops[-1].kind in TASKS else None
    if barrier is not None and (barrier.kind == "parallel" or any(f.kind not in TASKS for f in c.loops)):
        _report_leaving_task(c, word, span, barrier)
        return None
    if not c.loops or barrier is not None:
        c.report("E3009", span, f"`{word}` outside a loop", help="use `return` to leave the function")
        return None
    return c.loops[-1]


def _report_leaving_task(c: Checker, word: str, span: Span, barrier: LoopFrame) -> None:
    c.report("E4050", span, f"`{word}` cannot leave {TASKS[barrier.kind]}", help="each task runs to its end")


# Kinds of the frames of tasks, with the words for each in messages.
TASKS = {
    "parallel": "the body of `parallel for`", "await": "an operand of `await`", "race": "an operand of `race`", "spawn": "a task",
    "listen": "a handler of `listen`",
}  # fmt: skip

RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Block: block,
    ast.If: if_,
    ast.Match: match_,
    ast.For: for_,
    ast.While: while_,
    ast.Loop: loop,
    ast.Break: break_,
    ast.Continue: continue_,
}
