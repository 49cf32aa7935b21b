"""Names in what is written about memories: chains that make memory values, arguments of steps, and the clauses of functions.

Hands on `declare_memory_value`, `visit_memory_chain`, `replace_words`, `declare_clauses`, `bind_slot_read` and `bind_slot_writes`
to `items` and `expressions`; `WORD_OF_METHOD` to `expressions` and, in the checker, to `methods` and `memory_calls`, and
`is_word` and `is_bare` to what checks the steps of memories. `r` is the state of the resolution, to which what is wrong is
reported. A step is a call in the chain that declares a memory, a slot a named value of its context, a clause the `needs` or
`reads` of a function, which loads slots at entry. Which steps take words is said by their rows (`vm/memory_steps.py`); whether a
word is a legal one, and which slots there are, the checker decides (`checker/memory_steps.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...vm.builtins import lookup
from ...vm.memory_steps import EVICT, WORD_ARGUMENTS, WORD_STEPS
from ..symbols import BuiltinSymbol, Local, MemorySymbol, MemoryValue
from ..syntax import ast
from ..types import ANY
from .names import find, find_item
from .paths import visit_step
from .state import Resolver

WORD_OF_METHOD = {"remember": "tier", "recall": "from", "neighbors": "direction"}
"""Methods of memories with the argument that takes words."""
CONSTRUCTORS = ("new", "from")
LONGEST_CHAIN = 256  # links, as the parser has it

# Chains: the capitalised words among the arguments of steps are no names (M-2.6, M-2.18).


def is_step(call: ast.MethodCall) -> bool:
    """Return whether a call in a chain that makes a memory value is a step; a call of a method that memories have is none."""
    name = call.name.text
    unnamed = sum(argument.name is None for argument in call.arguments)
    named = {argument.name.text for argument in call.arguments if argument.name is not None}
    match name:
        # These five are names of a step and of a method: their arguments tell which one is written.
        case "tokens" | "summary":
            return bool(call.arguments)
        case "view":
            return "with" in named
        case "recall":
            return unnamed == 0 and "query" not in named
        case "pin":
            return unnamed < 2 and named.isdisjoint(("role", "content"))
    return lookup("Memory", name) is None


def declare_memory_value(r: Resolver, node: ast.Call | ast.MethodCall) -> bool:
    """Return whether an expression is a chain that makes a memory value; if so, set `node.memory` and resolve the chain (M-2.18).
    A chain of more than LONGEST_CHAIN steps is none.

    The symbol has a declaration of its own, as a declared memory has, so that the checker treats both alike.
    """
    link: ast.Expr = node
    for _ in range(LONGEST_CHAIN):
        if not isinstance(link, ast.MethodCall) or not is_step(link):
            break
        link = link.receiver
    if not isinstance(link, ast.Call) or not _constructs_memory(r, link.callee):
        return False
    name = ast.Ident(span=link.callee.span, text=r.memory_name())
    type_ = ast.NamedType(span=link.callee.span, path=[name], arguments=None)
    declaration = ast.Store(span=node.span, kind="memory", name=name, type=type_, value=node)
    node.memory = MemorySymbol(name.text, declaration, None, home=r.at, value=MemoryValue(link))
    r.module.add(node.memory, node.span)
    visit_memory_chain(r, node)
    return True


def _constructs_memory(r: Resolver, callee: ast.Expr) -> bool:
    if not isinstance(callee, ast.PathExpr) or len(callee.segments) != 2 or callee.member is not None:
        return False
    owner, constructor = callee.segments
    symbol = find(r, owner) if constructor.text in CONSTRUCTORS else None
    return isinstance(symbol, BuiltinSymbol) and symbol.name in ("Memory", "MemoryRef")


def visit_memory_chain(r: Resolver, value: ast.Expr) -> None:
    """Resolve the names in the steps of a memory, from the last step to the constructor; in arguments that take words capitalised
    ones, in quotes too, become bare names that denote nothing, and names of stores and embedders become Strings."""
    while isinstance(value, ast.MethodCall):
        for type_ in value.type_arguments or ():
            r.visit(type_)
        if value.name.text == "context":
            _visit_context_step(r, value)
        else:
            for position, argument in enumerate(value.arguments):
                if value.name.text != "per" or argument.name is not None:  # the names of key parts name nothing
                    _visit_step_argument(r, argument, value.name.text, position)
        value = value.receiver
    if isinstance(value, ast.Call):
        if not isinstance(value.callee, ast.PathExpr) or value.callee.binding is None:  # that of a block is bound already
            r.visit(value.callee)
        for argument in value.arguments:
            r.visit(argument.value)
    else:
        r.visit(value)


def _visit_context_step(r: Resolver, step: ast.MethodCall) -> None:
    """Resolve `.context(C)`: the name of a context is no value; the checker reports one that is missing (E4508)."""
    for argument in step.arguments:
        value = argument.value
        if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
            value.binding = find_item(r, value.segments[0])
        else:
            r.visit(value)


def _visit_step_argument(r: Resolver, argument: ast.Argument, step: str, position: int) -> None:
    label = argument.name.text if argument.name is not None else ""
    value = argument.value
    items = value.items if isinstance(value, ast.ArrayExpr) else [value]
    # The second argument of `on` is the handler, which may be a name.
    takes_words = label in WORD_ARGUMENTS if label else step in WORD_STEPS and (step, position) != ("on", 1)
    if label == "every" and isinstance(value, ast.PathExpr) and is_bare(value):
        takes_words = value.segments[0].text == EVICT  # any other name is one of a constant
    elif label == "every" and isinstance(value, ast.StringLiteral):
        takes_words = value.value == EVICT  # any other text is a duration
    if step == "allow" and label == "facts":
        for item in items:
            if not is_bare(item):  # the name of a slot, or a tier (M-10.35)
                r.visit(item)
        return
    if takes_words:
        if isinstance(value, ast.ArrayExpr):
            value.items = items = [_text_as_word(item) for item in items]
        else:
            argument.value = _text_as_word(value)
            items = [argument.value]
        if all(is_word(item) for item in items):
            return
    argument.value = visit_step(r, step if argument.name is None else "", argument.value)


def _text_as_word(value: ast.Expr) -> ast.Expr:
    """Return the bare word for a capitalised word in quotes, any other expression as it is."""
    if isinstance(value, ast.StringLiteral) and value.value[:1].isupper() and value.value.isidentifier():
        return ast.PathExpr(value.span, [ast.Ident(value.span, value.value)])
    return value


def replace_words(r: Resolver, method: str, argument: ast.Argument) -> None:
    """Turn capitalised words in an argument of a memory's method into texts, if nothing in scope has their name (M-10.5). Only
    the argument of the name that WORD_OF_METHOD has for `method` is changed; KeyError for a method that is not in it."""
    if argument.name is None or argument.name.text != WORD_OF_METHOD[method]:
        return
    value = argument.value
    if isinstance(value, ast.ArrayExpr):
        value.items = [_word_as_text(r, item) for item in value.items]
    else:
        argument.value = _word_as_text(r, value)


def _word_as_text(r: Resolver, value: ast.Expr) -> ast.Expr:
    if not is_word(value) or not isinstance(value, ast.PathExpr) or find(r, value.segments[0]) is not None:
        return value
    return ast.StringLiteral(span=value.span, value=value.segments[0].text, word=True)


def is_word(value: ast.Expr) -> bool:
    """Return whether an expression is a bare capitalised name."""
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.segments[0].text[:1].isupper()


def is_bare(value: ast.Expr) -> bool:
    """Return whether an expression is one name without a path."""
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None


# Clauses `needs` and `reads` of a function (M-10.3, M-10.4): what they load at entry stands in hidden variables. Those are locals
# like any other, so that closures capture them by the usual rule.


def declare_clauses(r: Resolver, node: ast.Function) -> None:
    """Declare one hidden variable for each slot that the clauses of a function load; E4506 for a slot listed twice, and for a
    clause of a function without a body.

    The memory is what its name means where the clause stands, before the body declares anything.
    """
    for clause in node.clauses:
        if node.body is None:
            message = f"`{clause.kind}` stands at a function without a body"
            r.report("E4506", clause.span, message, help="write it where the body is")
            continue
        for ref in clause.slots:
            ref.kind = clause.kind
            _declare_slot(r, ref)


def _declare_slot(r: Resolver, ref: ast.SlotRef) -> None:
    assert r.function is not None
    key = (ref.owner.text, ref.slot.text)
    first = r.function.slots.get(key)
    if first is not None:
        r.report("E4506", ref.span, f"`{'.'.join(key)}` is listed twice", help="remove one of them", first=first.span)
        return
    ref.binding = find(r, ref.owner)
    if isinstance(ref.binding, Local):
        ref.binding.read = True
    ref.local = Local(".".join(key), ANY, True, r.function, declared_at=ref, read=True, changed=True)
    r.function.locals.append(ref.local)
    r.function.slots[key] = ref


def bind_slot_read(r: Resolver, node: ast.FieldAccess) -> None:
    """Set `node.held` to the slot that `m.slot` reads, if a clause of a function around it has loaded that slot; to None if none
    has."""
    owner = _single_name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = next(_loaded_slots(r, owner, node.name.text), None)


def bind_slot_writes(r: Resolver, node: ast.MethodCall) -> None:
    """Set `node.held` to the list of all loaded slots of the memory, if the receiver is one name: a method that writes a slot by
    its name may change any (M-10.4)."""
    owner = _single_name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = list(_loaded_slots(r, owner))


def _single_name(receiver: ast.Expr) -> ast.Ident | None:
    receiver = ast.ungrouped(receiver)
    single = isinstance(receiver, ast.PathExpr) and len(receiver.segments) == 1 and receiver.member is None
    return receiver.segments[0] if single and isinstance(receiver, ast.PathExpr) else None


def _loaded_slots(r: Resolver, owner: ast.Ident, slot: str | None = None) -> Iterator[ast.SlotRef]:
    """Yield the loaded slots of the memory that `owner` names here: the one called `slot`, or all."""
    function = r.function
    while function is not None:
        for (memory, name), ref in function.slots.items():
            # The same name may mean another memory here than at the clause: a local can shadow it.
            if memory == owner.text and slot in (None, name) and find(r, owner) is ref.binding:
                if function is not r.function:
                    ref.local.captured = True
                yield ref
        function = function.parent
