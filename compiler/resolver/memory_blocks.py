"""Memory blocks: `memory NAME { retain: 500, window: { turns: 20 } }` to the chain of steps that it stands for (M-2.25 to
M-2.29).

Hands on `chain_of_block` to `items`. A field becomes the step of its name, with the same nodes as values, so that checker and
code generation know only chains; `Store.block` keeps the block, for messages. Only the form of a field is checked here, with
reports to `r`, the state of the resolution: what its values may be is the checker's, and for chains and blocks the same. A new
field is a row of STEPS in `vm/memory_steps.py`.
"""

from __future__ import annotations

from ...vm.memory_steps import OF, STEPS, Step, field_rank
from ..hints.names import did_you_mean, listed
from ..source import Span
from ..symbols import BuiltinSymbol
from ..syntax import ast
from .state import Resolver

TOOLS = "tools"  # an argument of `Memory::new` too, so that it can be `false`
NAMES = ("per", "context", "like")
"""Steps whose arguments are names, which their rows do not list."""


def chain_of_block(r: Resolver, node: ast.MemoryBlock) -> ast.Store:
    """Return the memory that a block declares as a chain of steps, in the order in which they act (M-2.29). Fields of a wrong
    form are reported (E2006, E4501 to E4503) and left out; a field of an unknown name becomes a step, which the checker
    reports."""
    entries = sorted(node.entries, key=lambda entry: field_rank(entry.key.text))
    value: ast.Expr = _base(r, node, entries)
    in_base = (OF,) if any(entry.key.text == OF for entry in entries) else (TOOLS,)
    # The context that the type names is attached, unless a field does it.
    context = _context_of(node.type)
    if context is not None and in_base != (OF,) and all(entry.key.text != "context" for entry in entries):
        value = _step(value, ast.Ident(context.span, "context"), [ast.Argument(context.span, None, context)])
    for entry in entries:
        if entry.key.text not in in_base and (arguments := _arguments(r, node, entry)) is not None:
            value = _step(value, entry.key, arguments)
    store = ast.Store(
        node.span, "memory", node.name, node.type or _memory_type(node.name.span), value,
        decorators=node.decorators, public=node.public, doc=node.doc,
    )  # fmt: skip
    store.block = node
    return store


def _memory_type(span: Span) -> ast.NamedType:
    """Return the type of a memory whose block has none: the predeclared one, also where the program has one of that name."""
    type_ = ast.NamedType(span, [ast.Ident(span, "Memory")], None)
    type_.binding = BuiltinSymbol("Memory")
    return type_


def _context_of(type_: ast.TypeExpr | None) -> ast.PathExpr | None:
    """Return C of a written `Memory<C>`, as the step `context` takes it; None for any other type."""
    arguments = type_.arguments if isinstance(type_, ast.NamedType) else None
    argument = arguments[0] if arguments is not None and len(arguments) == 1 else None
    return ast.PathExpr(argument.span, argument.path) if isinstance(argument, ast.NamedType) else None


def _base(r: Resolver, node: ast.MemoryBlock, entries: list[ast.ConfigEntry]) -> ast.Call:
    """Return the constructor: `Memory::of(m)` with the field `of`, else `Memory::new(tools: …)`."""
    view_of = _first(r, entries, OF)
    if view_of is not None:
        return _constructor("of", [ast.Argument(view_of.value.span, None, view_of.value)], view_of.span)
    tools = _first(r, entries, TOOLS)
    flag = [] if tools is None else [ast.Argument(tools.span, tools.key, tools.value)]
    return _constructor("new", flag, node.name.span)


def _first(r: Resolver, entries: list[ast.ConfigEntry], name: str) -> ast.ConfigEntry | None:
    """Return the field of that name; report E4503 for a second one."""
    fields = [entry for entry in entries if entry.key.text == name]
    for entry in fields[1:]:
        message = f"the field `{name}` is written twice"
        r.report("E4503", entry.key.span, message, first=fields[0].key.span, help="remove one of them")
    return fields[0] if fields else None


def _constructor(name: str, arguments: list[ast.Argument], span: Span) -> ast.Call:
    callee = ast.PathExpr(span, [ast.Ident(span, "Memory"), ast.Ident(span, name)])
    callee.binding = BuiltinSymbol(f"Memory::{name}")
    return ast.Call(span, callee, arguments)


def _step(receiver: ast.Expr, name: ast.Ident, arguments: list[ast.Argument]) -> ast.MethodCall:
    last = arguments[-1].span if arguments else name.span
    return ast.MethodCall(name.span.to(last), receiver, name, None, arguments)


# The value of a field: a map has the named arguments of the step, anything else is its one argument without a name.


def _arguments(r: Resolver, node: ast.MemoryBlock, entry: ast.ConfigEntry) -> list[ast.Argument] | None:
    """Return the arguments of the step that a field stands for; None after a report."""
    name, value = entry.key.text, entry.value
    step = STEPS.get(name)
    if name == "from":
        help = f'write what it begins with below: `{node.name.text}.append("user", "…");`'
        r.report("E4501", entry.key.span, "a declared memory begins empty: only a memory value has `from`", help=help)
        return None
    if step is None:
        return []  # the checker knows what was meant
    if isinstance(value, ast.MapExpr):
        return _braced_arguments(r, name, step, value)
    if step.bare is not None and isinstance(value, ast.BoolLiteral) and value.value:
        return []
    if name == "per" and isinstance(value, ast.ArrayExpr):
        parts = [_key_parts(r, step, item) for item in value.items]
        return None if None in parts else [argument for part in parts if part is not None for argument in part]
    if "" not in step.arguments and not step.lead and name not in NAMES:
        message = f"`{name}` has its arguments in braces, by their names"
        if step.bare is not None:
            message = f"`{name}` is `true`, or has its arguments in braces" if step.labels else f"`{name}` is `true`"
        r.report("E2006", value.span, message, help=_example(step))
        return None
    return [ast.Argument(value.span, None, value)]


def _braced_arguments(r: Resolver, name: str, step: Step, value: ast.MapExpr) -> list[ast.Argument] | None:
    """Return the arguments in braces: those of the names of `lead` are the ones without a name."""
    if not step.labels and name != "per":
        message = f"`{name}` has one value, and no arguments in braces"
        r.report("E4502", value.span, message, help=_example(step))
        return None
    arguments: dict[str, ast.Argument] = {}
    for entry in value.entries:
        key = entry.key
        label = key.value if isinstance(key, ast.StringLiteral) else ""
        if label in arguments:
            first = arguments[label].span
            r.report("E4502", key.span, f"the argument `{label}` of `{name}` is given twice", first=first, help="drop one")
            return None
        if not label.isidentifier():
            help = _labels(step, "") or _example(step)
            r.report("E4502", key.span, f"an argument of `{name}` has a word as its name", help=help)
            return None
        if step.labels and label not in step.labels:
            r.report("E4502", key.span, f"`{name}` has no argument `{label}`", help=_labels(step, label))
            return None
        arguments[label] = ast.Argument(entry.span, None if label in step.lead else ast.Ident(key.span, label), entry.value)
    # Arguments without a name come first.
    return [*(arguments.pop(label) for label in step.lead if label in arguments), *arguments.values()]


def _example(step: Step) -> str:
    """Return how the field of a step looks."""
    from ..hints.memory_fields import as_fields  # its patterns are compiled only for a report

    return as_fields(step.example.replace("), .", ") or ."))  # of its two forms


def _labels(step: Step, label: str) -> str | None:
    return did_you_mean(label, step.labels) or listed("arguments", step.labels, like=label)


def _key_parts(r: Resolver, step: Step, item: ast.Expr) -> list[ast.Argument] | None:
    """Return one item of `per: [user, { tenant: "t1" }]` as arguments; None after a report."""
    if not isinstance(item, ast.MapExpr):
        return [ast.Argument(item.span, None, item)]
    if not item.entries:
        r.report("E4502", item.span, "a part of `per` has a name", help=_example(step))
        return None
    return _braced_arguments(r, "per", step, item)
