"""Names in patterns (L-5.8.2), in slots of contexts, in steps of memories and in the fields of declarations."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...vm.builtins import lookup
from ...vm.memory_steps import EVICT, WORD_ARGUMENTS, WORD_STEPS
from ..fields import FIELD_WORDS
from ..symbols import BuiltinSymbol, ConstSymbol, Local, MemorySymbol, MemoryValue, VariantSymbol
from ..syntax import ast
from ..types import ANY
from .names import find, find_item
from .paths import literal_head, resolve_path
from .state import ErroneousSymbol, Handler, Resolver

# ----------------------------------------------------------------
# Names in patterns: new locals, or the constants and variants a pattern tests for (L-5.8.2).

# Names one pattern binds so far. `reuse` holds what an earlier alternative of an or-pattern bound.
Names = dict[str, Local]


def bind_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    """Declares the names of a whole pattern in the present scope."""
    _bind(r, pattern, {}, {})


def _bind(r: Resolver, pattern: ast.Pattern, names: Names, reuse: Names) -> None:
    match pattern:
        case ast.BindPattern():
            _bind_name(r, pattern, names, reuse)
        case ast.PathPattern():
            pattern.binding = resolve_path(r, pattern.path)
        case ast.TupleStructPattern():
            pattern.binding = literal_head(r, pattern.path)
            _bind_all(r, pattern.items, names, reuse)
        case ast.StructPattern():
            pattern.binding = literal_head(r, pattern.path)
            for entry in pattern.fields:
                _bind_field(r, entry, names, reuse)
        case ast.TuplePattern() | ast.ArrayPattern():
            _bind_all(r, pattern.items, names, reuse)
        case ast.RestPattern() if pattern.name is not None:
            pattern.binding = _declare(r, pattern.name, pattern, False, names, reuse)
        case ast.OrPattern():
            _bind_alternatives(r, pattern, names, reuse)


def _bind_all(r: Resolver, patterns: list[ast.Pattern], names: Names, reuse: Names) -> None:
    for pattern in patterns:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _bind_name(r: Resolver, pattern: ast.BindPattern, names: Names, reuse: Names) -> None:
    if not pattern.mutable and pattern.inner is None:
        symbol = find(r, pattern.name)
        if isinstance(symbol, (ConstSymbol, VariantSymbol)) or (isinstance(symbol, BuiltinSymbol) and symbol.name == "None"):
            pattern.constant = symbol
            return
    if pattern.inner is not None:
        r.nesting.call(_bind, r, pattern.inner, names, reuse)
    pattern.binding = _declare(r, pattern.name, pattern, pattern.mutable, names, reuse)


def _bind_field(r: Resolver, entry: ast.FieldPattern, names: Names, reuse: Names) -> None:
    pattern = entry.pattern
    if entry.shorthand and isinstance(pattern, ast.BindPattern):
        pattern.binding = _declare(r, pattern.name, pattern, pattern.mutable, names, reuse)
    else:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _declare(
    r: Resolver, name: ast.Ident, place: ast.Node, mutable: bool, names: Names, reuse: Names
) -> Local | None:
    if name.text == "_":
        return None
    if name.text in names:
        first = names[name.text].declared_at
        r.report(
            "E3005", name.span, f"`{name.text}` is bound twice in this pattern", first=first.span if first else None
        , help="rename one of them and compare in a guard: `if a == b`")
        return names[name.text]
    local = reuse.get(name.text) or r.declare(name.text, place, mutable)
    names[name.text] = local
    return local


def _bind_alternatives(r: Resolver, pattern: ast.OrPattern, names: Names, reuse: Names) -> None:
    outer = dict(names)
    pool = dict(reuse)
    sets: list[set[str]] = []
    for alternative in pattern.alternatives:
        mine = dict(outer)
        r.nesting.call(_bind, r, alternative, mine, pool)
        sets.append(set(mine) - set(outer))
        pool.update(mine)
        names.update(mine)
    missing = {name for mine in sets for name in mine if not all(name in other for other in sets)}
    if missing:
        listed = ", ".join(f"`{name}`" for name in sorted(missing))
        r.report(
            "E3004", pattern.span, f"not every alternative binds {listed}",
            help="bind the same names in each, or write an arm for each",
        )


def visit_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    bind_pattern(r, pattern)


HANDLERS: dict[type[ast.Node], Handler] = dict.fromkeys(
    (
        ast.BindPattern, ast.PathPattern, ast.TupleStructPattern, ast.StructPattern, ast.TuplePattern, ast.ArrayPattern,
        ast.RestPattern, ast.OrPattern, ast.WildcardPattern, ast.LiteralPattern, ast.RangePattern,
    ),
    visit_pattern,
)  # fmt: skip


# ----------------------------------------------------------------
# Values of fields that are Strings of known words, written without quotes (L-4.1.5).
#
# Hands on `visit_field`, and `visit_step` for steps of memories that take names of tables.


def visit_field(r: Resolver, name: str, value: ast.Expr) -> None:
    """The value of a field, or of the fields of an object that is one."""
    if isinstance(value, ast.MapExpr):
        for entry in value.entries:
            if isinstance(entry.key, ast.StringLiteral):
                visit_field(r, entry.key.value, entry.value)
            else:
                r.visit(entry)
    elif name == "tools" and isinstance(value, ast.ArrayExpr):
        for item in value.items:
            _visit_named(r, item, "tool")
    elif name == "memory":
        for item in value.items if isinstance(value, ast.ArrayExpr) else [value]:
            _visit_named(r, item, "memory")
    else:
        _visit(r, name, value, FIELD_WORDS.get(name, ()))


def _visit_named(r: Resolver, value: ast.Expr, what: str) -> None:
    """A value that names a declaration: E4003 where there is none (O-1.40, O-1.42)."""
    is_name = isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None
    if isinstance(value, ast.PathExpr) and is_name and find(r, value.segments[0]) is None:
        name = value.segments[0]
        value.binding = ErroneousSymbol(name.text)
        r.unknown_name(name, "E4003", what)
    else:
        r.visit(value)


def visit_step(r: Resolver, step: str, value: ast.Expr) -> None:
    """An argument of `store` or `embed` without a name."""
    tables = r.project.memory_tables
    _visit(r, step, value, {"store": tables.stores, "embed": tables.embedders}.get(step, ()))


def _visit(r: Resolver, name: str, value: ast.Expr, words: Collection[str]) -> None:
    """One of the words is a name only if something in scope has it."""
    if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
        bare = value.segments[0]
        if bare.text in words and find(r, bare) is None:
            value.binding = ErroneousSymbol(bare.text)
            help = f'`{name}` takes a String: write `"{bare.text}"` in quotes'
            r.report("E1001", bare.span, f"undefined name `{bare.text}`", help=help)
            return
    r.visit(value)


# ----------------------------------------------------------------
# The initialiser of a memory, and chains that make memory values: the capitalised words among the arguments of steps are no
# names (M-2.6, M-2.18).

WORD_OF_METHOD = {"remember": "tier", "recall": "from", "neighbors": "direction"}
"""Methods of memories with the argument that takes words."""
CONSTRUCTORS = ("new", "from")
LONGEST_CHAIN = 256  # links, as the parser has it


def is_step(call: ast.MethodCall) -> bool:
    """Whether a call in a chain that makes a value is a step: what is written as a method of a memory is none."""
    name = call.name.text
    unnamed = sum(argument.name is None for argument in call.arguments)
    match name:
        case "tokens" | "summary":  # these five are both
            return bool(call.arguments)
        case "view":
            return any(argument.name is not None and argument.name.text == "with" for argument in call.arguments)
        case "recall":
            return unnamed == 0
        case "pin":
            return unnamed < 2
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
            for place, argument in enumerate(value.arguments):
                if value.name.text != "per" or argument.name is not None:  # the names of key parts name nothing
                    _argument(r, argument, value.name.text, place)
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


def _argument(r: Resolver, argument: ast.Argument, step: str, place: int) -> None:
    label = argument.name.text if argument.name is not None else ""
    value = argument.value
    items = value.items if isinstance(value, ast.ArrayExpr) else [value]
    takes_words = label in WORD_ARGUMENTS if label else step in WORD_STEPS and (step, place) != ("on", 1)
    if label == "every" and isinstance(value, ast.PathExpr) and is_bare(value):
        takes_words = value.segments[0].text == EVICT  # any other name is one of a constant
    if step == "allow" and label == "facts":
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


# ----------------------------------------------------------------
# Clauses `needs` and `reads` of a function (M-10.3, M-10.4): what they load at entry is held in hidden variables, which
# closures
# capture like any other.
#
# Hands on `clauses`, `held_slot` and `held_slots`.


def clauses(r: Resolver, node: ast.Function) -> None:
    """One hidden variable for each slot; `m` is what the name means where the clause stands."""
    for clause in node.clauses:
        if node.body is None:
            message = f"`{clause.kind}` stands at a function without a body"
            r.report("E4506", clause.span, message, help="write it where the body is")
            continue
        for ref in clause.slots:
            ref.kind = clause.kind
            _load(r, ref)


def _load(r: Resolver, ref: ast.SlotRef) -> None:
    assert r.function is not None
    at = (ref.owner.text, ref.slot.text)
    first = r.function.slots.get(at)
    if first is not None:
        r.report("E4506", ref.span, f"`{'.'.join(at)}` is listed twice", help="remove one of them", first=first.span)
        return
    ref.binding = find(r, ref.owner)
    if isinstance(ref.binding, Local):
        ref.binding.read = True
    ref.local = Local(".".join(at), ANY, True, r.function, declared_at=ref, read=True, changed=True)
    r.function.locals.append(ref.local)
    r.function.slots[at] = ref


def held_slot(r: Resolver, node: ast.FieldAccess) -> None:
    """Marks `m.slot` that a clause of the function around it has loaded."""
    owner = _name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = next(_held(r, owner, node.name.text), None)


def held_slots(r: Resolver, node: ast.MethodCall) -> None:
    """Marks a write by name, which the function sees (M-10.4)."""
    owner = _name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = list(_held(r, owner))


def _name(receiver: ast.Expr) -> ast.Ident | None:
    while isinstance(receiver, ast.GroupExpr):
        receiver = receiver.inner
    single = isinstance(receiver, ast.PathExpr) and len(receiver.segments) == 1 and receiver.member is None
    return receiver.segments[0] if single and isinstance(receiver, ast.PathExpr) else None


def _held(r: Resolver, owner: ast.Ident, slot: str | None = None) -> Iterator[ast.SlotRef]:
    """Those of the memory that this name means here; one slot, or all."""
    at = r.function
    while at is not None:
        for (memory, name), ref in at.slots.items():
            if memory == owner.text and slot in (None, name) and find(r, owner) is ref.binding:
                if at is not r.function:
                    ref.local.captured = True
                yield ref
        at = at.parent
