"""Static types as far as evaluation depends on them: assignability, join, coercions and casts (L-3.3 to L-3.5).

A type is a tuple: its head, then its arguments. The head is a word, or the declaration (`Item`, `Param`) of a named
type, or the set of a union of literals; a function type is `("Function", result, *parameters)`. `Var` stands for a type
that is still open (L-3.2.2, L-3.2.6).
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .values import (NONE, OPTION, PARENTS, RESULT, Arr, Case, Map, Panic, Rec, Tup, ancestors, display, head_of,
    is_good, mismatch, parse_float, parse_int, saturated, some, stop)  # fmt: skip

Type = Any  # a tuple or a Var


class NotClaimed(Exception):
    """The oracle does not know what this program means."""


def claimed(condition: Any, reason: str) -> None:
    if not condition:
        raise NotClaimed(reason)


class Var:
    """A type that is still open; `bound` once it is known."""

    bound: Any = None


class Param:
    """A type parameter, rigid inside the body that declares it."""

    def __init__(self, name: str, node: Any = None) -> None:
        self.name, self.bounds = name, getattr(node, "bounds", [])


INT, FLOAT, STRING, BOOL, NIL = ("Int",), ("Float",), ("String",), ("Bool",), ("Nil",)
ANY, NEVER, RANGE, ERROR = ("Any",), ("Never",), ("Range",), ("Error",)
STRUCTURAL = {"From": 1, "Tuple": -1, "Array": 1, "Map": 2, "Option": 1, "Result": 2, "Set": 1, "Queue": 1, "Stack": 1}
PLAIN = {"Int", "Float", "String", "Bool", "Nil", "Any", "Never", "Range", "Number", *PARENTS}


def prune(t: Type) -> Type:
    while isinstance(t, Var) and t.bound is not None:
        t = t.bound
    return t


def substitute(t: Type, names: dict[Any, Type], instead: Type | None = None) -> Type:
    """With types for the type parameters, and perhaps one instead of what is open."""
    t = prune(t)
    if isinstance(t, Var):
        t.bound = instead
        return instead or t
    return names[t[0]] if t[0] in names else (t[0], *[substitute(p, names, instead) for p in t[1:]])


def closed(t: Type) -> Type:
    """With every open part turned into Any: what a `let` keeps (L-3.2.2)."""
    return substitute(t, {}, ANY)


def known(t: Type | None) -> Type | None:
    """An expected type; None where it is still open."""
    t = prune(t)
    return None if isinstance(t, Var) else t


def inside(t: Type | None, head: Any) -> Type | None:
    """The expected type as a literal of kind `head` sees it, without `?` and Option around it (L-3.2.4), or None."""
    t = known(t)
    while t and t[0] != head and t[0] in ("Nilable", "Option"):
        t = known(t[1])
    return t if t and t[0] in (head, "Any") else None


def to_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


def convert(a: Type, b: Type) -> Callable[[Any], Any] | None:
    """What a value of type `a` undergoes where `b` is expected (L-3.3); None if nothing. Open parts become known."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        first, second = (a, b) if isinstance(a, Var) else (b, a)
        first.bound = None if first is second else second
        return None
    if a in (b, NEVER) or b == ANY:
        return None
    if a == ANY:
        return lambda value: checked(value, b)
    if (a, b) == (INT, FLOAT):
        return to_float
    if b[0] == "Nilable" and a[0] != "Nilable":
        return None if a == NIL else convert(a, b[1])
    if b[0] == "Option" and not (a[0] == "Option" and (prune(a[1]) == ANY or convert(a[1], b[1]) is None)):
        inner = convert(a, b[1]) if a != NIL else None
        return lambda value: NONE if a == NIL else some(inner(value) if inner else value)
    if a[0] == b[0] and b != ("Function", NIL):
        inners = [convert(x, y) for x, y in zip(a[1:], b[1:], strict=False)]
        if a[0] == "Nilable" and (inner := inners[0]):
            return lambda value: None if value is None else inner(value)
    return None


def has_kind(value: Any, t: Type) -> bool:
    """Shallow test of a value's kind: L-3.3.3, patterns, catch clauses."""
    t = prune(t)
    head = t[0]
    if isinstance(head, Param) or head == "Any":
        return True
    if head == "Nilable":
        return value is None or has_kind(value, t[1])
    if isinstance(head, frozenset):
        return type(value) is str and value in head
    by_impl = not isinstance(head, str) and served(head, value) is not None
    return by_impl or head in ancestors(head_of(value))


def served(trait: Any, value: Any) -> Any:
    """The head under which a trait has an impl for a value; that of an error family serves those below (L-3.10.2)."""
    return next((head for head in ancestors(head_of(value)) if head in trait.impls), None)


def checked(value: Any, t: Type) -> Any:
    """A dynamic value where `t` is expected (L-3.3.3)."""
    value = to_float(value) if prune(t) in (FLOAT, ("Nilable", FLOAT)) else value
    return value if has_kind(value, t) else stop(mismatch(show(t), value))


def join(a: Type, b: Type) -> Type:
    """L-3.4.1."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        convert(a, b)
        return prune(a)
    if a == b or NEVER in (a, b):
        return b if a == NEVER else a
    if ANY in (a, b) or {a, b} == {INT, FLOAT}:
        return ANY if ANY in (a, b) else FLOAT
    if NIL in (a, b) or "Nilable" in (a[0], b[0]):
        plain = [t[1] if t[0] == "Nilable" else t for t in (a, b) if t != NIL]
        return ("Nilable", join(plain[0], plain[-1]))
    if a[0] in PARENTS and b[0] in PARENTS:
        return a if a[0] in ancestors(b[0]) else join((PARENTS[a[0]],), b)
    if all(t == STRING or isinstance(t[0], frozenset) for t in (a, b)):
        return STRING
    if a[0] == b[0] in STRUCTURAL and len(a) == len(b):
        return (a[0], *map(join, a[1:], b[1:]))
    return ERROR if a[0] in PARENTS or b[0] in PARENTS else ANY  # of raised errors (L-3.12.6)


def joined(types: Iterable[Type]) -> Type:
    return functools.reduce(join, types, NEVER)


def show(t: Type) -> str:
    t = known(t) or ("_",)
    head, inner = getattr(t[0], "name", t[0]), ", ".join(map(show, t[1:]))
    return f"{head}<{inner}>" if inner else head


# ---------------------------------------------------------------- values rebuilt by a type

MAYBE_FALSE = (bool, type(None), int, float, str, Arr, Map, Tup)


def cast(value: Any, t: Type) -> Any:
    """L-3.5.1 to L-3.5.6."""
    t = prune(t)
    if t == STRING:
        return display(value)
    if t == BOOL:
        is_case = isinstance(value, Case) and value.item in (OPTION, RESULT)
        return is_good(value) if is_case else type(value) not in MAYBE_FALSE or bool(value)
    if t in (INT, FLOAT) and type(value) is str:
        parsed = (parse_int if t == INT else parse_float)(value)
        value = parsed.payload[0] if is_good(parsed) else value
    elif t == INT and type(value) in (float, bool):
        value = saturated(value)
    return deep(value, t)


def deep(value: Any, t: Type, json: bool = False) -> Any:
    """Checked through all elements and fields, Int to Float where asked (L-3.5.6); `json`: what a JSON text held."""
    t = prune(t)
    head, value = t[0], opened(value, t) if json else to_float(value) if t == FLOAT else value
    if not has_kind(value, t) or head == "Tuple" and len(value) != len(t) - 1:
        claimed(not json, "the text of a mismatch")
        raise Panic("P008", f"cannot cast {display(value)} to {show(t)}")
    if head == "Nilable":
        return None if value is None else deep(value, t[1], json)
    if head == "Map":
        return Map({(k, deep(key, t[1], json)): deep(v, t[2], json) for (k, key), v in value.items()})
    if head in ("Tuple", "Array", "Set", "Queue", "Stack"):
        types = t[1:] if head == "Tuple" else t[1:] * len(value)
        return type(value)(deep(v, part, json) for v, part in zip(value, types, strict=True))
    if head in ("Option", "Result"):
        part = t[2 if value.variant == "Err" else 1]
        return value._replace(payload=value.payload and (deep(value.payload[0], part, json),))
    if isinstance(value, Rec) and value.item is head:
        return Rec(value.item, {name: deep(value.fields[name], part, json) for name, part in head.parts(t).items()})
    return value


def opened(value: Any, t: Type) -> Any:
    """A JSON value as a `t`, its parts still JSON (L-7.1.2)."""
    head = t[0]
    is_enum = getattr(head, "variants", None)
    claimed(head not in ("Set", "Queue", "Stack", "Result") and not is_enum, f"parse_as of {show(t)}")
    if not isinstance(head, str) and isinstance(value, Map):
        types, defaults = head.parts(t), {f.name.text: f.default for f in head.node.fields or []}
        for name in [name for name in types if (str, name) not in value]:
            claimed(defaults[name] is None and prune(types[name])[0] in ("Option", "Nilable"), "parse_as with defaults")
        return Rec(head, {name: value.get((str, name)) for name in types})
    if head == "Tuple" and type(value) is Arr:
        return Tup(value)
    return to_float(value) if t == FLOAT else value if head != "Option" else NONE if value is None else some(value)
