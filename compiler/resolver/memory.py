"""The initialiser of a memory, and chains that make memory values: the capitalised words among the arguments of steps are no
names (M-2.6, M-2.18).

Must not know: which words there are.
"""

from __future__ import annotations

from ...vm.builtins import lookup
from .. import ast
from ..symbols import BuiltinSymbol, MemorySymbol, MemoryValue
from .field_values import visit_step
from .names import find, find_item
from .state import Resolver

WORD_OF_METHOD = {"remember": "tier", "recall": "from", "neighbors": "direction"}
"""Methods of memories with the argument that takes words."""
WORD_STEPS = ("roles", "pin", "only", "redact", "on_failure", "on_conflict", "refresh", "on")
WORD_ARGUMENTS = ("inject", "role", "every", "refresh_on", "from")


CONSTRUCTORS = ("new", "from")
LONGEST_CHAIN = 256  # links, as the parser has it


def is_step(call: ast.MethodCall) -> bool:
    """Whether a call in a chain that makes a value is a step: what is written as a method of a memory is none."""
    name = call.name.text
    unnamed = sum(argument.name is None for argument in call.arguments)
    match name:
        case "tokens" | "summary":  # these five are both
            return bool(call.arguments)
        case "recall":
            return unnamed == 0
        case "pin":
            return unnamed < 2
        case "view":
            return any(argument.name is not None and argument.name.text == "with" for argument in call.arguments)
    return lookup("Memory", name) is None


def memory_value(r: Resolver, node: ast.Call | ast.MethodCall) -> bool:
    """Whether a chain in an expression makes a memory value; if so what it is made from is declared (M-2.18)."""
    at: ast.Expr = node
    for _ in range(LONGEST_CHAIN):
        if not isinstance(at, ast.MethodCall) or not is_step(at):
            break
        at = at.receiver
    if not isinstance(at, ast.Call) or not _constructs(r, at.callee):
        return False
    place = ast.Ident(span=at.callee.span, text=r.memory_name())
    written = ast.NamedType(span=at.callee.span, path=[place], arguments=None)
    declaration = ast.Store(span=node.span, kind="memory", name=place, type=written, value=node)
    node.memory = MemorySymbol(place.text, declaration, None, home=r.at, value=MemoryValue(at))
    r.module.add(node.memory, node.span)
    memory_chain(r, node)
    return True


def _constructs(r: Resolver, callee: ast.Expr) -> bool:
    if not isinstance(callee, ast.PathExpr) or len(callee.segments) != 2 or callee.member is not None:
        return False
    owner, constructor = callee.segments
    found = find(r, owner) if constructor.text in CONSTRUCTORS else None
    return isinstance(found, BuiltinSymbol) and found.name in ("Memory", "MemoryRef")


def memory_chain(r: Resolver, value: ast.Expr) -> None:
    while isinstance(value, ast.MethodCall):
        for type_ in value.type_arguments or ():
            r.visit(type_)
        if value.name.text == "context":
            _context(r, value)
        else:
            for argument in value.arguments:
                if value.name.text != "per" or argument.name is not None:  # the names of key parts name nothing
                    _argument(r, argument, value.name.text)
        value = value.receiver
    if isinstance(value, ast.Call):
        r.visit(value.callee)
        for argument in value.arguments:
            r.visit(argument.value)
    else:
        r.visit(value)


def _context(r: Resolver, step: ast.MethodCall) -> None:
    """The name of a context is no value; the checker reports one that is missing (E4508)."""
    for argument in step.arguments:
        value = argument.value
        if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
            value.binding = find_item(r, value.segments[0])
        else:
            r.visit(value)


def _argument(r: Resolver, argument: ast.Argument, step: str) -> None:
    takes_words = step in WORD_STEPS if argument.name is None else argument.name.text in WORD_ARGUMENTS
    value = argument.value
    items = value.items if isinstance(value, ast.ArrayExpr) else [value]
    if step == "allow" and argument.name is not None and argument.name.text == "facts":
        for item in items:
            if not is_bare(item):  # the name of a slot, or a tier (M-10.35)
                r.visit(item)
        return
    if takes_words and all(is_word(item) for item in items):
        return
    visit_step(r, step if argument.name is None else "", value)


def tier_words(r: Resolver, method: str, argument: ast.Argument) -> None:
    """Capitalised words that nothing in scope has the name of become what they say (M-10.5)."""
    if argument.name is None or argument.name.text != WORD_OF_METHOD[method]:
        return
    value = argument.value
    if isinstance(value, ast.ArrayExpr):
        value.items = [_tier_word(r, item) for item in value.items]
    else:
        argument.value = _tier_word(r, value)


def _tier_word(r: Resolver, value: ast.Expr) -> ast.Expr:
    if not is_word(value) or not isinstance(value, ast.PathExpr) or find(r, value.segments[0]) is not None:
        return value
    return ast.StringLiteral(span=value.span, value=value.segments[0].text, word=True)


def is_word(value: ast.Expr) -> bool:
    """A bare capitalised name."""
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.segments[0].text[:1].isupper()


def is_bare(value: ast.Expr) -> bool:
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None
