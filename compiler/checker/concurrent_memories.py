"""One memory attached in two operands that run at once, where its turns exclude each other (W0452, M-5.17).

`Serial` makes the operands run one after the other, `Reject` and `Fork` let one of them fail or leave the log. Functions that an
operand calls are looked through as far as names lead; keys of a keyed memory may differ and are left out. Hands on
`check_concurrent_memories`. Must not know: how operands are typed.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..decisions import FunctionCall, MethodTarget
from ..symbols import MemorySymbol, ModelSymbol
from .context import Checker

CALLS = ("execute", "execute_with_schema", "chat", "stream")
EXCLUDE = {
    "Serial": "they wait for each other", "Reject": "the later one is Err `Conflict`", "Fork": "the later one goes to a branch",
}  # fmt: skip


def check_concurrent_memories(c: Checker) -> None:
    for operands in c.concurrent:
        found: set[MemorySymbol] = set()
        for operand in operands:
            here = dict(_attached(operand))
            for memory in here.keys() & found:
                steps = memory.image_steps
                word = steps.get("on_conflict", "Serial" if "store" in steps else "Append")
                if word in EXCLUDE:
                    message = f"`{memory.name}`, which is `{word}`, is attached in an earlier operand too: {EXCLUDE[word]}"
                    c.report("W0452", here[memory].span, message, help="give each operand a memory of its own, or `Append`")
            found |= here.keys()


def _attached(operand: ast.Node) -> Iterator[tuple[MemorySymbol, ast.Node]]:
    """The memories of the calls in an operand, each at its call there."""
    for at in operand.children():
        seen: set[ast.Node] = set()
        todo: list[ast.Node] = [at]
        while todo:
            node = todo.pop()
            target = getattr(node, "target", None)
            body = target.function.declaration.body if isinstance(target, (FunctionCall, MethodTarget)) else None
            if body is not None and body not in seen:
                seen.add(body)
                todo.append(body)
            if isinstance(node, ast.MethodCall) and node.name.text in CALLS:
                yield from ((memory, at) for memory in _of_call(node))
            todo.extend(node.children())


def _of_call(call: ast.MethodCall) -> list[MemorySymbol]:
    """What `NAME.….with_memory(m).….execute(p)` attaches: the last `with_memory`, else the field of the model."""
    node: ast.Expr = call.receiver
    while isinstance(node, (ast.MethodCall, ast.GroupExpr)):
        if isinstance(node, ast.MethodCall) and node.name.text == "with_memory":
            given = node.arguments[0].value
            return [m.log for item in (given.items if isinstance(given, ast.ArrayExpr) else [given]) for m in _named(item)]
        node = node.receiver if isinstance(node, ast.MethodCall) else node.inner
    who = node.binding if isinstance(node, ast.PathExpr) else None
    return [memory.log for memory in who.memories] if isinstance(who, ModelSymbol) else []


def _named(item: ast.Expr) -> list[MemorySymbol]:
    named = item.binding if isinstance(item, ast.PathExpr) else None
    return [named] if isinstance(named, MemorySymbol) else []

