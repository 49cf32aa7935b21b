"""Calls of methods of memories in the checker: roles and facts, initialisation statements, and the methods of keyed memories.

Hands on `check_role`, `check_facts`, `misplaced_word` and `keyed_method` to `methods`, `check_init` to `program`, and
`without_key` to `methods`, `models` and `tools`. These are the rules that the signatures in `vm/builtins/memories.py` cannot say:
which words and numbers a fact may have, which roles a message, by which key parts a memory with `.per(…)` is used. What is wrong
is reported to `c`, the state of the check, by a code (E…, W…), never raised; ERRONEOUS is the type of what was reported. How a
memory is declared is the matter of `memory`. Nothing is remembered here: that is for the run.
"""

from __future__ import annotations

from ...vm.builtins import lookup
from ...vm.memory_steps import DIRECTIONS, FACT_TIERS, SOURCES
from ..decisions import BuiltinCall, DynamicCall
from ..hints.names import did_you_mean, listed
from ..resolver.memories import WORD_OF_METHOD
from ..symbols import (
    MemorySymbol,
    ModuleSymbol,
)
from ..syntax import ast
from ..types import ANY, INT, KEYED_MEMORY, LEDGER, MEMORY, NEVER, NIL, STRING, Type, array, error, map_, result
from .arguments import call_row, infer_all
from .config import quiet_fold
from .context_declarations import one_memory
from .memory_bounds import known_word
from .memory_steps import in_its_form
from .outside import outside_functions
from .relations import ERRONEOUS, generic, is_memory, is_text
from .state import FREE, Checker, Expected

# Calls of `remember`, `recall` and `neighbors` of a memory (M-10.5 to M-10.7).

WORDS = {"remember": FACT_TIERS, "recall": SOURCES, "neighbors": DIRECTIONS}
SHARES = ("confidence", "min_confidence")


def _items(argument: ast.Argument) -> list[ast.Expr]:
    return argument.value.items if isinstance(argument.value, ast.ArrayExpr) else [argument.value]


def misplaced_word(c: Checker, node: ast.MethodCall, receiver: Type) -> None:
    """Report a word such as `Session` in a call of anything but a memory: nothing has that name (E1001). What is behind Any may
    be a memory, so there the words that a memory takes are legal."""
    legal = WORDS[node.name.text] if receiver in (ANY, NEVER) else ()
    for argument in node.arguments:
        for item in _items(argument):
            if isinstance(item, ast.StringLiteral) and item.word and item.value not in legal:
                help = did_you_mean(item.value, legal) or "only methods of a memory take such words"
                c.report("E1001", item.span, f"unknown name `{item.value}`", help=help)


def check_facts(c: Checker, node: ast.MethodCall) -> bool:
    """Return whether the words and constant confidences in a call of one of WORD_OF_METHOD are legal; report those that are not
    (E4502, E4507, E4004)."""
    legal = True
    for argument in node.arguments:
        label = argument.name.text if argument.name is not None else ""
        if label == WORD_OF_METHOD[node.name.text]:
            for item in _items(argument):
                legal = _tier(c, node, label, item) and legal
        elif label in SHARES and not _may_be_share(quiet_fold(c, argument.value)):
            c.report("E4004", argument.value.span, f"`{label}` is a number from 0 to 1", help="write it as `0.5`")
            legal = False
    return legal


def _may_be_share(known: object) -> bool:
    """Return whether a value is from 0 to 1, or no constant number (whose type is checked with the other arguments)."""
    return type(known) not in (int, float) or 0 <= known <= 1  # type: ignore[operator]


def _tier(c: Checker, node: ast.MethodCall, label: str, value: ast.Expr) -> bool:
    word = known_word(c, label, WORDS[node.name.text], value)
    if word is None:
        return False
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    if word == "Persistent" and isinstance(memory, MemorySymbol) and "store" not in (memory.log.steps or {}):
        c.report(
            "E4507", value.span, f"a persistent fact needs a store, which `{memory.name}` lacks",
            help=in_its_form(memory, 'add `.store("durable")` to the memory'),
        )  # fmt: skip
        return False
    return True


# Roles of messages, and initialisation statements (O-3.4, O-0.7, M-2.10).

ROLES = ("user", "assistant", "system")
INIT_METHODS = ("append", "pin", "remember")


def check_role(c: Checker, memory: ast.Expr, role: ast.Expr | None, *, pinned: bool = False) -> None:
    """Report a literal role other than user, assistant and system (E4042, O-3.4), and warn of a system message that a bounded
    memory will lose, unless it is `pinned` (W0451). `role` is the argument, None for one that is left out."""
    role = role and ast.ungrouped(role)
    if not isinstance(role, ast.StringLiteral):
        return
    if role.value not in ROLES:
        c.report("E4042", role.span, f'unknown role "{role.value}"', help='use "user", "assistant" or "system"')
    symbol = memory.binding if isinstance(memory, ast.PathExpr) else None
    if role.value == "system" and not pinned and isinstance(symbol, MemorySymbol) and _can_evict_system(symbol):
        c.report(
            "W0451", role.span, f"the bounded memory `{symbol.name}` can evict this system message",
            help="pin it, or keep it in the model's `system_prompt`",
        )  # fmt: skip


def _can_evict_system(symbol: MemorySymbol) -> bool:
    retain, pin = ((symbol.steps or {}).get(step, {}) for step in ("retain", "pin"))
    return bool(retain) and "System" not in pin.get("pin_roles", ())


def check_init(c: Checker, statement: ast.InitStatement, home: ModuleSymbol) -> None:
    """Check an initialisation statement, such as `NAME.append(…);` at module level, where NAME is a memory, hashmap or ledger
    of the same module `home` (O-0.7, M-2.10): of a memory one of INIT_METHODS, of the others any method. E4501 for any other
    statement, and what the call itself reports."""
    with outside_functions(c, statement, NIL):
        _init_call(c, statement.call, home)


def _init_call(c: Checker, call: ast.MethodCall, home: ModuleSymbol) -> None:
    receiver = call.receiver
    owner = c.infer(receiver)
    is_store = owner == LEDGER or generic(owner, "HashMap") is not None
    if owner is ERRONEOUS:
        infer_all(c, call.arguments)
    elif not is_memory(owner) and owner != KEYED_MEMORY and not is_store:
        c.report(
            "E4501", receiver.span, "an initialisation statement calls a method of a memory, hashmap or ledger",
            help="put it in `fn main() { … }`",
        )
        infer_all(c, call.arguments)
    elif isinstance(receiver, ast.PathExpr) and receiver.binding.home is not home:
        help = "write the statement where the memory is declared"
        what = "store" if is_store else "memory"
        c.report("E4501", receiver.span, f"the {what} `{receiver.segments[-1].text}` belongs to another module", help=help)
        infer_all(c, call.arguments)
    elif call.name.text not in INIT_METHODS and not is_store:
        c.report(
            "E4501", call.name.span, f"an initialisation statement cannot call `{call.name.text}`", help="use `append`"
        )
        infer_all(c, call.arguments)
    elif owner == KEYED_MEMORY:
        _keyed_init(c, call)
    else:
        c.infer(call, Expected(used=False))


def _keyed_init(c: Checker, call: ast.MethodCall) -> None:
    """Check a statement for every key of the memory; it runs when a key is first opened."""
    row = lookup("Memory", call.name.text)
    assert row is not None
    if row.name == "remember" and not check_facts(c, call):
        return infer_all(c, call.arguments)
    _, matched = call_row(c, row, None, call.arguments, call.name.span, FREE)
    if matched is not None:
        call.target = BuiltinCall(matched.values, matched.order, "Memory", row.name)
        if row.name != "remember":
            check_role(c, call.receiver, matched.values[0], pinned=row.name == "pin")


# Memories with `.per(…)` have the methods `key`, `keys` and `erase`, and no others (M-7.3, M-7.4).

METHODS = ("key", "keys", "erase")
RESULTS: dict[str, Type] = {
    "key": MEMORY, "keys": array(map_(STRING, ANY)), "erase": result(INT, error("MemoryError")),
}  # fmt: skip


def keyed_method(c: Checker, node: ast.MethodCall) -> Type:
    """Return the type of a call of a method of a keyed memory, ERRONEOUS after a report (E4505, E2009), and set `node.target`.
    Its key parts are known where the receiver is the name of the declaration."""
    name = node.name.text
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else None
    if name not in METHODS:
        infer_all(c, node.arguments)
        return without_key(c, node.receiver, did_you_mean(name, METHODS))
    if not _named_keys(c, node, keys):
        return ERRONEOUS
    names = [argument.name.text for argument in node.arguments if argument.name is not None]
    if name == "key" and keys is not None and set(names) != set(keys):
        missing = listed("missing", [key for key in keys if key not in names])
        return c.report("E4505", node.name.span, f"`key` gives each of {', '.join(keys)}", help=missing)
    values: list[ast.Expr | None] = [argument.value for argument in node.arguments]
    node.target = DynamicCall(values, list(range(len(values))), name, names)
    return one_memory(memory) if name == "key" and isinstance(memory, MemorySymbol) else RESULTS[name]


def _named_keys(c: Checker, node: ast.MethodCall, keys: list[str] | None) -> bool:
    """Return whether each argument is named like a key part and holds a String or an Int, and the method `keys` has none; report
    what is wrong (E4505, E2009). `keys` are the key parts, None where they are not known."""
    if node.name.text == "keys" and node.arguments:
        infer_all(c, node.arguments)
        way = f"write `{c.operand(node.receiver, 'm')}.keys()`: the Map of each key; `.filter(|key| …)` keeps some of them"
        c.report("E4505", node.arguments[0].span, "`keys` takes no arguments", help=way)
        return False
    legal = True
    labels: set[str] = set()
    for number, argument in enumerate(node.arguments):
        type_ = c.infer(argument.value)
        label = argument.name.text if argument.name is not None else None
        if label is None or label in labels or (keys is not None and label not in keys):
            help = listed("key parts", keys) if keys else None
            if label is None and keys is not None and len(keys) > len(labels):
                help = f"write `{[key for key in keys if key not in labels][0]}: {c.text(argument.value)[1:-1]}`"
            what = f"has no key part `{label}`" if label is not None and label not in labels else "names each argument once"
            c.report("E4505", argument.span, f"`{node.name.text}` {what}", help=help)
            infer_all(c, node.arguments[number + 1 :])
            return False
        elif not (type_ in (INT, ANY) or is_text(type_) or type_ is ERRONEOUS):
            what = f"expected `String` or `Int` for the key part `{label}`, found `{type_}`"
            c.report("E2009", argument.value.span, what, help="a text or a number tells one key from another: `.to_string()`")
            legal = False
        labels.add(label or "")
    return legal


def without_key(c: Checker, at: ast.Expr, help: str | None = None) -> Type:
    """Report E4505 for a keyed memory that is used as if it were one log; return ERRONEOUS."""
    memory = at.binding if isinstance(at, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else []
    example = f".key({', '.join(f'{key}: …' for key in keys) or '…'})"
    return c.report("E4505", at.span, "a memory with `.per(…)` is used by its keys", help=help or f"write `{example}`")
