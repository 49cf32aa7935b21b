"""Calls of `remember`, `recall` and `neighbors` of a memory: their words, constants of a confidence (M-10.5 to M-10.7).

Hands on `check_facts`, `misplaced_word`. Must not know: how facts are kept.
"""

from __future__ import annotations

from ...vm.bytecode.memory_steps import DIRECTIONS, SOURCES, TIERS
from .. import ast
from ..resolver.memory import WORD_OF_METHOD
from ..symbols import MemorySymbol
from .context import Checker
from .memory_words import known_word

WORDS = {"remember": TIERS, "recall": SOURCES, "neighbors": DIRECTIONS}
SHARES = ("confidence", "min_confidence")


def _items(argument: ast.Argument) -> list[ast.Expr]:
    return argument.value.items if isinstance(argument.value, ast.ArrayExpr) else [argument.value]


def misplaced_word(c: Checker, node: ast.MethodCall) -> None:
    """A tier where no memory is asked: nothing has that name."""
    for argument in node.arguments:
        for item in _items(argument):
            if isinstance(item, ast.StringLiteral) and item.word:
                c.report("E1001", item.span, f"unknown name `{item.value}`", help="only methods of a memory take such words")


def check_facts(c: Checker, node: ast.MethodCall) -> bool:
    """False after a report."""
    legal = True
    for argument in node.arguments:
        label = argument.name.text if argument.name is not None else ""
        if label == WORD_OF_METHOD[node.name.text]:
            for item in _items(argument):
                legal = _tier(c, node, label, item) and legal
        elif label in SHARES and isinstance(argument.value, (ast.IntLiteral, ast.FloatLiteral)) and argument.value.value > 1:
            c.report("E4004", argument.value.span, f"`{label}` is a number from 0 to 1", help="write it as `0.5`")
            legal = False
    return legal


def _tier(c: Checker, node: ast.MethodCall, label: str, value: ast.Expr) -> bool:
    word = known_word(c, label, WORDS[node.name.text], value)
    if word is None:
        return False
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    if word == "Persistent" and isinstance(memory, MemorySymbol) and "store" not in (memory.log.steps or {}):
        c.report(
            "E4507", value.span, f"a persistent fact needs a store, which `{memory.name}` lacks",
            help='add `.store("durable")` to the memory',
        )  # fmt: skip
        return False
    return True
