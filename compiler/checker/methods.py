"""Method calls: declared methods, rows of the built-in table, fields of function type, dynamic methods (L-3.10.3, L-3.7.1, L-6).

Hands on the rule of `MethodCall` to `program`. `method_call` says in which order a name is looked for; what is decided goes to
`node.target` as a record of `decisions`. A built-in method needs only its row in `vm/builtins`, unless its type depends on more
than its signature: then it gets a case in `_built_in`. `c` is the state of the check: mistakes are reported to it by a code
(E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported, which suits every place. Which method of a
trait is meant is decided in `trait_calls`; a help for a method of another language is an entry of `hints/names.py`.
"""

from __future__ import annotations

import re

from ...vm.builtins import Row, lookup, method_names
from ...vm.builtins.models import OF_MODELS_ALONE
from ..decisions import BuiltinCall, CheckAny, DynamicCall, MethodTarget, ToOption, TraitCall
from ..hints import names
from ..hints.names import did_you_mean, listed
from ..hints.types import absent_help
from ..resolver.memories import WORD_OF_METHOD
from ..source import Span
from ..symbols import Local, McpSymbol, MemorySymbol, ModelSymbol
from ..syntax import ast
from ..types import (
    AGENT_BUILDER,
    AGENT_REF,
    ANY,
    FLOAT,
    INT,
    KEYED_MEMORY,
    MCP_REF,
    MEMORY,
    NEVER,
    NIL,
    OPEN,
    STRING,
    TOOL_REF,
    TYPED_STREAM,
    Function,
    Generic,
    Nilable,
    Nominal,
    Type,
    array,
    error,
    result,
)
from .arguments import call_row, everyday_method, infer_all, kind_of, match_arguments
from .calls import check_mutation, formals_of, give_arguments, tool_call, value_call
from .impls import find_method, methods_of, require_visible_method
from .json_shapes import answer_in
from .mcp import resource
from .memory import memory_value
from .memory_attachments import check_allowed
from .memory_calls import check_facts, check_role, keyed_method, misplaced_word, without_key
from .memory_steps import check_topic
from .models import check_settings, settings_are_named
from .operators import field_of
from .prompts import keep_texts_of_closure
from .relations import ERRONEOUS, close, fits, generic, is_memory, is_text, learn, nilable, open_local, root_of
from .schema_calls import items, schema_call
from .signatures import Bindings, signature_of, substitute, unify
from .state import FREE, Checker, Expected, ExpressionRule
from .tools import tool_of, tools_are_listed, tools_fit, with_tools
from .trait_calls import Chosen, bounded_methods, bounded_names, names_through_traits, one_of, trait_methods
from .types import Instance, written_type

AGENTS = (AGENT_REF, AGENT_BUILDER)
UNWRAPPING = ("unwrap", "unwrap_or", "unwrap_or_else", "expect")
# What a derived view has (M-6.21); the run asks `OF_A_VIEW` of `runtime/memory/methods.py`.
VIEW_METHODS = ("messages", "last", "len", "is_empty", "view", "summary", "tokens", "recall", "to_string")


def method_call(c: Checker, node: ast.MethodCall, expected: Expected) -> Type:
    """Return the type of a method call, ERRONEOUS where a mistake leaves none, and set `node.target`. `expected` is what the
    place asks for. E2011 for a method that the type does not have; of agents, models and scopes that others of their kind have
    E4041, of views of a memory E4507; further codes for what single methods take (E2028, E4040 and those of arguments).

    A declared method of the type comes before a built-in one, both before methods of traits, then what every value has
    (`to_string`), and last a field of function type (L-3.10.3). Of Any the method is found at run time.
    """
    if node.memory is not None:  # the resolver has found a chain that makes a memory value
        return memory_value(c, node.memory)
    receiver = _receiver(c, node, expected)
    name = node.name.text
    if isinstance(receiver, Nilable):
        option = _as_option(c, node, receiver)
        if option is not None:
            return _method_of_option(c, node, option, expected)
        receiver = c.narrowed(node.receiver, receiver)
    if name in WORD_OF_METHOD and not (is_memory(receiver) or receiver == KEYED_MEMORY):
        misplaced_word(c, node, receiver)
    # Of Any the method is found at run time.
    if receiver in (ANY, NEVER):
        return _dynamic_method(c, node, receiver)
    if _is_tool_method(c, node, receiver):
        return _tool_method(c, node, expected)
    # Of `T?` only `to_string` may be called: every other method needs the value.
    row = None if isinstance(receiver, Nilable) and name != "to_string" else lookup(kind_of(receiver), name)
    if receiver in AGENTS and name in OF_MODELS_ALONE:
        infer_all(c, node.arguments)
        help = "agents have `execute`, `execute_with_schema`, `with_memory`, `with_context`"
        return c.report("E4041", node.name.span, f"an agent has no method `{name}`", help=help)
    if receiver == KEYED_MEMORY and name != "to_string":
        return keyed_method(c, node)
    # `remember`, `recall` and `neighbors` take words, which `check_facts` reads before arguments are typed.
    if name in WORD_OF_METHOD and is_memory(receiver) and not check_facts(c, node):
        infer_all(c, node.arguments)
        return ERRONEOUS
    declared = find_method(c, receiver, name)
    if declared is not None:
        return _declared_method(c, node, receiver, Chosen(declared), expected)
    if row is not None and row.receiver != "Any":
        return _built_in(c, node, receiver, row, expected)
    through = bounded_methods(c, receiver, name) or trait_methods(c, receiver, name, node.span)
    if through:
        return _trait_method(c, node, receiver, through, expected)
    if row is not None:
        return _built_in(c, node, receiver, row, expected)
    field = field_of(c, receiver, name) if isinstance(receiver, Nominal) else None
    if field is not None and isinstance(field[1], Function):
        return _field_call(c, node)
    return _unknown_method(c, node, receiver)


def _as_option(c: Checker, node: ast.MethodCall, receiver: Nilable) -> Generic | None:
    """Return the Option that a `T?` is converted to for a method of Option (L-6.6.9); None where the method is one of the T that
    the variable is known to hold, or no method of Option."""
    row = lookup("Option", node.name.text)
    if row is None or row.receiver != "Option":
        return None
    whole = c.narrowed(node.receiver, receiver)
    own = whole is not receiver and (find_method(c, whole, row.name) or lookup(kind_of(whole), row.name))
    return None if own else Generic("Option", (receiver.inner,))


def _method_of_option(c: Checker, node: ast.MethodCall, option: Generic, expected: Expected) -> Type:
    """Check a method of Option on a `T?`: the receiver is converted, and an Option that comes back is a `U?` again."""
    node.receiver.coercion = ToOption()
    row = lookup("Option", node.name.text)
    # A function that gives a `U?` is `map`, which flattens it, where `and_then` asks for one that gives an Option.
    if row is not None and row.name == "and_then" and len(node.arguments) == 1:
        wanted = Function(option.arguments, OPEN)
        function_type = c.infer(node.arguments[0].value, Expected(wanted, "E2009", "parameter `f`"))
        if isinstance(function_type, Function) and not generic(function_type.result, "Option"):
            row = lookup("Option", "map")
    assert row is not None
    type_ = _built_in(c, node, option, row, expected)
    inside = generic(type_, "Option")
    if not inside or not isinstance(node.target, BuiltinCall):
        return type_
    node.target.absent_as_nil = True
    return nilable(inside[0])


def _trait_method(c: Checker, node: ast.MethodCall, receiver: Type, offers: list[Chosen], expected: Expected) -> Type:
    chosen = one_of(c, offers, node.name, node.arguments)
    if chosen is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    return _declared_method(c, node, receiver, chosen, expected)


def _receiver(c: Checker, node: ast.MethodCall, expected: Expected) -> Type:
    """Return the receiver's type. It was typed as a place that is written if a method of that name may write; if this one does
    not, `.name` of a Map is what it is when it is read: a value or nil (L-3.7.2)."""
    surroundings = expected if node.name.text in UNWRAPPING else FREE
    receiver = c.infer(node.receiver, answer_in(node.receiver, surroundings))
    field = ast.ungrouped(node.receiver)
    if not (isinstance(field, ast.FieldAccess) and field in c.written_links and generic(field.receiver.type, "Map")):
        return receiver
    declared = find_method(c, receiver, node.name.text)
    if declared is not None:
        return receiver if declared.changes_self else nilable(receiver)
    row = lookup(kind_of(receiver), node.name.text)
    return receiver if row is None or row.mut else nilable(receiver)


def _is_tool_method(c: Checker, node: ast.MethodCall, receiver: Type) -> bool:
    """Return whether a call means a method of a tool; its own methods come before those of traits that it implements
    (L-3.10.3)."""
    name = node.name.text
    tool = tool_of(node.receiver)
    if isinstance(receiver, Nominal) and receiver.kind == "tool":
        # A private method is its own too: it is reported as private, not as unknown.
        own = tool is not None and any(method.name == name for method in tool.methods)
        return own or not (trait_methods(c, receiver, name, node.span) or lookup(kind_of(receiver), name))
    if receiver not in (TOOL_REF, MCP_REF):
        return False
    # A handle in a variable may be that of any server.
    servers = [tool] if tool is not None else c.tool_sources
    declares = any(isinstance(s, McpSymbol) and any(method.name == name for method in s.methods) for s in servers)
    return (receiver == MCP_REF and declares) or lookup(kind_of(receiver), name) is None


def _tool_method(c: Checker, node: ast.MethodCall, expected: Expected) -> Type:
    """Check a method of a tool; if the types do not say of which tool, it is found at run time."""
    tool = tool_of(node.receiver)
    if tool is None:
        return _dynamic_method(c, node, ANY)
    name = node.name.text
    method = next((method for method in tool.methods if method.name == name), None)
    if method is not None:
        return tool_call(c, node, method, node.receiver, node.name, expected)
    infer_all(c, node.arguments)
    methods = [method.name for method in tool.methods if method in tool.arguments]
    help = did_you_mean(name, methods) or listed("methods", methods, like=name)
    if isinstance(tool, McpSymbol):
        meant = did_you_mean(name, [*methods, *method_names("McpRef")])
        help = meant or f'write `{tool.name}.call("{name}", {{ … }})`, or declare `fn {name}(…);` in it'
        return c.report("E2011", node.name.span, f"mcp `{tool.name}` declares no tool `{name}`", help=help)
    return c.report("E2011", node.name.span, f"tool `{tool.name}` has no method `{name}`", help=help)


def _assume_changed(node: ast.MethodCall) -> None:
    """Note that an unknown method may need the `mut` of the variable it is called on, so that W0011 is not reported."""
    root = root_of(node.receiver)
    local = root.binding if isinstance(root, ast.PathExpr) else None
    if isinstance(local, Local) and local.mutable:
        local.changed = True


def _dynamic_method(c: Checker, node: ast.MethodCall, receiver: Type) -> Type:
    infer_all(c, node.arguments)
    names = [a.name.text for a in node.arguments if a.name is not None]
    node.target = DynamicCall([a.value for a in node.arguments], list(range(len(node.arguments))), node.name.text, names)
    node.target.may_change = node.name.text in c.mutating
    _assume_changed(node)
    return receiver


def _declared_method(
    c: Checker, node: ast.MethodCall, receiver: Type, chosen: Chosen, expected: Expected
) -> Type:
    """Check a method of an impl or trait, whose first parameter is the receiver."""
    name, symbol = node.name, chosen.symbol
    # An associated function of the type has the name.
    if not symbol.takes_self:
        infer_all(c, node.arguments)
        help = f"write `{symbol.path}(…)`"
        return c.report("E2011", name.span, f"`{symbol.path}` takes no `self`", help=help)
    require_visible_method(c, symbol, name)
    instance = Instance(c, symbol.path, symbol.all_type_parameters)
    instance.bindings.update(chosen.inside)
    # The receiver may say the type arguments of the impl.
    instance.meet(symbol.parameters[0], receiver)
    if node.type_arguments is not None:
        own = [parameter.name for parameter in symbol.type_parameters]
        instance.explicit(own, [written_type(c, argument) for argument in node.type_arguments], name.span)
    if not fits(receiver, instance.type(symbol.parameters[0])):
        infer_all(c, node.arguments)
        message = f"`{symbol.path}` is a method of `{symbol.parameters[0]}`, not of `{receiver}`"
        return c.report("E2011", name.span, message, help=f"call it on a `{symbol.parameters[0]}`")
    formals = formals_of(symbol)[1:]
    matched = match_arguments(c, symbol.path, formals, node.arguments, name.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals, matched, symbol, instance, expected, name.span)
    if chosen.trait is not None:
        node.target = TraitCall(matched.values, matched.order, symbol, node.receiver, chosen.trait)
    else:
        node.target = MethodTarget(matched.values, matched.order, symbol, node.receiver)
    if symbol.changes_self:
        check_mutation(c, node, node.receiver, symbol.name, name.span)
    return instance.type(symbol.result)


def _field_call(c: Checker, node: ast.MethodCall) -> Type:
    """Check `x.m(…)` with a field m of function type."""
    # The read of the field becomes the callee, so that codegen needs no case of its own.
    field = ast.FieldAccess(span=node.receiver.span.to(node.name.span), receiver=node.receiver, name=node.name)
    return value_call(c, node, field, c.infer(field), node.arguments)


def _unknown_method(c: Checker, node: ast.MethodCall, receiver: Type) -> Type:
    infer_all(c, node.arguments)
    _assume_changed(node)
    help = _join_help(c, node, receiver) or _inside_help(receiver, node.name.text) or _foreign_form_help(c, node, receiver)
    help = help or _method_help(c, receiver, node.name.text, node.span)
    return c.report("E2011", node.name.span, f"`{receiver}` has no method `{node.name.text}`", help=help)


def _join_help(c: Checker, node: ast.MethodCall, receiver: Type) -> str | None:
    """Return the help for `",".join(xs)`, as Python writes it."""
    if node.name.text != "join" or not is_text(receiver) or len(node.arguments) != 1:
        return None
    return f"write `{c.text(node.arguments[0].value)[1:-1]}.join({c.text(node.receiver)[1:-1]})`"


def _foreign_form_help(c: Checker, node: ast.MethodCall, receiver: Type) -> str | None:
    """Return the help for a method of another language, with its receiver and arguments put into the form that it has here."""
    help = names.WRITTEN.get((kind_of(receiver), node.name.text, len(node.arguments)))
    if help is None and node.name.text in names.COPIES and not node.arguments and kind_of(receiver) != "Any":
        help = names.COPIED
    if help is None:
        return None
    whole = {"String": "text", "Array": "xs"}.get(kind_of(receiver), "d")
    values = [c.operand(argument.value, "…") for argument in node.arguments]
    named = {"{x}": c.operand(node.receiver, whole), **dict(zip(("{a}", "{b}"), values, strict=False))}
    return re.sub(r"\{[xab]\}", lambda name: named[name[0]], help)


def _inside_help(receiver: Type, name: str) -> str | None:
    """Return the help for a method of the value inside an optional one, and for every method of a `T?`."""
    # The method exists, but for the value inside.
    inside = generic(receiver, "Option") or generic(receiver, "Result")
    of_inside = inside is not None and lookup(kind_of(inside[0]), name) is not None
    if isinstance(receiver, Nilable):
        return absent_help(receiver)
    return absent_help(receiver) if of_inside else None


def _method_help(c: Checker, receiver: Type, name: str, place: Span) -> str | None:
    """Return the help that names the method of this name in other languages, else the nearest one, else all there are."""
    if isinstance(receiver, Nominal) and field_of(c, receiver, name) is not None:
        return f"`{name}` is a field: drop the `()`"
    if receiver == NIL:
        return "`nil` is what calls without a result give; methods such as `sort` and `push` change the value they are called on"
    through = [*bounded_names(c, receiver), *names_through_traits(c, receiver, place)]
    candidates = list(dict.fromkeys([*through, *method_names(kind_of(receiver)), *methods_of(c, receiver)]))
    known = _bound_help(c, receiver, name) or everyday_method(receiver, name) or did_you_mean(name, candidates)
    return known or absent_help(receiver) or listed("methods", candidates, like=name)


def _bound_help(c: Checker, receiver: Type, name: str) -> str | None:
    """Return the help for a type parameter: the bound that would bring the method."""
    if not (isinstance(receiver, Nominal) and receiver.kind == "parameter" and name in c.traits):
        return None
    bounds = [str(bound) for bound in receiver.facts.bounds]
    return f"bound it: `<{receiver}: {' + '.join([*bounds, c.traits[name][0].name])}>`"


# Rows of the table of built-ins.


def _built_in(c: Checker, node: ast.MethodCall, receiver: Type, row: Row, expected: Expected) -> Type:
    # `execute<T>` is short for `execute_with_schema<T>` (O-2.63).
    typed = lookup(row.receiver, "execute_with_schema") if row.name == "execute" and node.type_arguments is not None else None
    if typed is not None or row.name in ("execute_with_schema", "stream_with_schema"):
        return schema_call(c, node, typed or row)
    if row.name == "resource":
        return resource(c, node, receiver, row, expected)
    if node.type_arguments is not None:
        c.report("E2028", node.name.span, f"`{row.name}` takes no type arguments", help="drop the `<…>`")
    if row.receiver == TYPED_STREAM and row.name == "items":
        return items(c, node, receiver, row)
    # Rows whose result depends on the argument types in a way that a signature cannot say.
    if row.special == "numeric":
        return _numeric(c, node, receiver, row)
    # The table says Array<T>; only the checker knows which T has an order.
    if row.name == "sort" and not _sortable(receiver):
        infer_all(c, node.arguments)
        _assume_changed(node)
        return c.report("E2011", node.name.span, f"`{receiver}` has no method `sort`", help="use `sort_by`")
    if row.name == "with_tools":
        return with_tools(c, node, row)
    if row.name == "with_memory":
        return _with_memory(c, node, row)
    if row.name == "shutdown" and isinstance(node.receiver, ast.PathExpr) and isinstance(node.receiver.binding, ModelSymbol):
        help = "call it on what `spawn()` gives"
        return c.report("E4041", node.name.span, f"`{node.receiver.binding.name}` is declared: it cannot be shut down", help=help)
    if row.name == "with" and row.receiver != "Prompt":
        return _with(c, node, row)
    if row.receiver == "Array":
        keep_texts_of_closure(c, node)
    # Kept for the help of a mismatch: what is put into a variable says its type (`Checker.filled_by`).
    outer, c.filling_call = c.filling_call, node if row.mut else None
    type_, matched = call_row(c, row, receiver, node.arguments, node.name.span, expected)
    c.filling_call = outer
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name, mutates=row.mut)
    if receiver.is_open and open_local(node.receiver) is not None:
        type_ = _learn_from_method(node, row, matched.values, type_)
    if row.mut:
        check_mutation(c, node, node.receiver, row.name, node.name.span)
    if row.name == "context":
        type_ = _with_context(type_)
    if row.receiver == "Memory":
        _memory_method(c, node)
        # A copy of a memory with a context has that context.
        if row.name in ("fork", "branch"):
            type_ = result(receiver, error("MemoryError"))
    if row.name in ("append", "pin") and row.receiver == "Memory":
        check_role(c, node.receiver, matched.values[0], pinned=row.name == "pin")
    if row.name == "observe" and row.receiver == "Memory":
        check_topic(c, node)
    if row.receiver == "HashMap":
        _hashmap_method(c, node, receiver, row, matched.values)
    return type_


def _learn_from_method(node: ast.MethodCall, row: Row, values: list[ast.Expr | None], result: Type) -> Type:
    """Fill the open type of the receiver's variable from the arguments of a method that changes it (L-3.2.8); return the type
    of the result, in which open sides are Any."""
    signature = signature_of(row)
    bindings: Bindings = {}
    if row.mut and signature.receiver is not None:
        for formal, value in zip(signature.parameters, values, strict=False):
            if value is not None and value.type is not None:
                unify(formal.type, value.type, bindings)
        learn(node.receiver, substitute(signature.receiver, bindings))
    return close(result)


def _memory_method(c: Checker, node: ast.MethodCall) -> None:
    """Report a method that a derived view has not (E4507, M-6.21): any outside of VIEW_METHODS, one that reads, too."""
    symbol = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    if isinstance(symbol, MemorySymbol) and symbol.of is not None and node.name.text not in VIEW_METHODS:
        help = f"call it on `{symbol.log.name}`, whose log the view shows"
        c.report("E4507", node.name.span, f"the derived view `{symbol.name}` has no method `{node.name.text}`", help=help)


def _hashmap_method(
    c: Checker, node: ast.MethodCall, receiver: Type, row: Row, arguments: list[ast.Expr | None]
) -> None:
    """Check a method of a HashMap: scopes need String keys (O-5.8); a value of type Any is checked by the store itself, with
    P415 (O-5.13)."""
    entry = generic(receiver, "HashMap")
    if row.name == "scope" and entry and entry[0] not in (ANY, STRING):
        c.report(
            "E4041", node.name.span, f"`{receiver}` has no `scope`: its keys are no Strings",
            help="declare it `HashMap<String, …>`",
        )
    if row.name == "set":
        for argument in arguments:
            if argument is not None and isinstance(argument.coercion, CheckAny):
                argument.coercion = None


def _with_context(result: Type) -> Type:
    """Return the type of `.context(…)` of a Result: an error that has no message of its own becomes a RuntimeError (L-6.6.8)."""
    value, failure = generic(result, "Result") or (ANY, ANY)
    keeps = failure in (ANY, NEVER) or is_text(failure) or (isinstance(failure, Nominal) and failure.kind == "error")
    return result if keeps else Generic("Result", (value, error("RuntimeError")))


def _sortable(receiver: Type) -> bool:
    items = generic(receiver, "Array")
    return items is None or items[0] in (INT, FLOAT, ANY, NEVER) or is_text(items[0]) or items[0] == OPEN


def _numeric(c: Checker, node: ast.MethodCall, receiver: Type, row: Row) -> Type:
    """Check a method of numbers: Int for Ints, Float as soon as one is Float (L-6.2.4, L-6.2.5, L-6.4.17)."""
    items = generic(receiver, "Array")
    if items and items[0] not in (INT, FLOAT, ANY):
        infer_all(c, node.arguments)
        return c.report("E2011", node.name.span, f"`{receiver}` has no method `{row.name}`", help="it adds numbers")
    arguments = node.arguments
    wants_float = len(arguments) == 1 and c.infer(arguments[0].value) == FLOAT
    # `1.max(2.0)`: the row of Float has the same name, and a Float result.
    chosen = lookup("Float", row.name) if wants_float and receiver == INT else row
    type_, matched = call_row(c, chosen or row, receiver, arguments, node.name.span, FREE)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return type_


def _with_memory(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """Check `with_memory(m, auto = true, tokens, meta)`: m is a Memory, a list of them that is not empty, or nil (E4040)."""
    first = next((a for a in node.arguments if a.name is None or a.name.text == "m"), None)
    if first is not None and not _attachable(c, row.name, first.value):
        infer_all(c, node.arguments)
        return ERRONEOUS
    type_, matched = call_row(c, row, None, node.arguments, node.name.span, FREE)
    if matched is None:
        return ERRONEOUS
    if first is not None:
        first.value.coercion = None  # the call itself refuses what is no memory, with P411
        check_allowed(c, node, first.value, matched.values[1])
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return type_


def _attachable(c: Checker, place: str, value: ast.Expr) -> bool:
    """Return whether a value may be attached to a call; E4040 or E4505 if not. `place` names the method or argument."""
    memory = c.infer(value)
    if memory is ERRONEOUS:
        return False
    if memory == KEYED_MEMORY:
        without_key(c, value)
        return False
    # Only a literal can be known to be empty; what is computed the run checks (P411).
    empty = isinstance(value, ast.ArrayExpr) and not value.items
    if not empty and (fits(memory, nilable(MEMORY)) or fits(memory, array(MEMORY)) or memory == ANY):
        return True
    message = f"the list of `{place}` is empty" if empty else f"`{place}` takes a Memory or nil, found `{memory}`"
    c.report("E4040", value.span, message, help="give the name of a memory: `memory log: Memory = Memory::new();`")
    return False


def _with(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """Check `with(temperature: 0.2, memory: m, tools: [A])`: settings by name, memory and tools as the methods `with_memory` and
    `with_tools` take them (O-3.30)."""
    settings = {argument.name.text: argument.value for argument in node.arguments if argument.name is not None}
    memory, tools = settings.get("memory"), settings.get("tools")
    sound = settings_are_named(c, node)
    if memory is not None:
        sound = _attachable(c, "memory", memory) and sound
    if tools is not None:
        sound = tools_are_listed(c, "tools", tools) and sound
    if not sound:
        infer_all(c, node.arguments)
        return ERRONEOUS
    errors = c.error_count
    type_, matched = call_row(c, row, None, node.arguments, node.name.span, FREE)
    if matched is None or c.error_count > errors or (tools is not None and not tools_fit(c, "tools", tools)):
        return ERRONEOUS
    if memory is not None:
        memory.coercion = None  # as for `with_memory`
        check_allowed(c, node, memory, None)
    check_settings(c, row, matched.values, node.receiver)
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return type_


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.MethodCall: method_call}
