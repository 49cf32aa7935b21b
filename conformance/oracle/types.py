"""Static types as far as evaluation depends on them: assignability, join, and the conversions at coercion sites (L-3.3, L-3.4).

A type is a tuple: its head, then its arguments. `Var` stands for one that is still open (L-3.2.2, L-3.2.6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .values import Err, Fn, Opt, Panic, Struct, Unit, descends, kind_of

Type = Any  # a tuple or a Var
Conversion = Callable[[Any], Any] | None


class NotClaimed(Exception):
    """The oracle does not know what this program means."""


class Var:
    """A type that is still open; `bound` once it is known."""

    def __init__(self) -> None:
        self.bound: Type | None = None


INT, FLOAT, STRING, BOOL, NIL = ("Int",), ("Float",), ("String",), ("Bool",), ("Nil",)
ANY, NEVER, RANGE = ("Any",), ("Never",), ("Range",)
SIMPLE = {t[0]: t for t in (INT, FLOAT, STRING, BOOL, NIL, ANY, RANGE)}
ARITY = {"Array": 1, "Map": 2, "Option": 1, "Result": 2}


def prune(t: Type) -> Type:
    while isinstance(t, Var) and t.bound is not None:
        t = t.bound
    return t


def closed(t: Type) -> Type:
    """With every open part turned into Any: what a `let` keeps (L-3.2.2)."""
    t = prune(t)
    if isinstance(t, Var):
        t.bound = ANY
        return ANY
    if t[0] == "Fn":
        return ("Fn", tuple(closed(p) for p in t[1]), closed(t[2]))
    if t[0] in ("Struct", "Enum", "Error", "Union"):
        return t
    return (t[0], *(closed(p) for p in t[1:]))


def parts(t: Type) -> tuple[Type, ...]:
    """The component types of a structural type."""
    if t[0] == "Fn":
        return (*t[1], t[2])
    return () if t[0] in ("Struct", "Enum", "Error", "Union") else t[1:]


def to_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


def convert(a: Type, b: Type, line: int) -> Conversion:
    """What a value of type `a` undergoes where `b` is expected (L-3.3); None if nothing."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        if a is not b:
            first, second = (a, b) if isinstance(a, Var) else (b, a)
            first.bound = second
        return None
    if a in (b, NEVER) or b == ANY:
        return None
    if a == ANY:
        return lambda value: checked(value, b, line)
    if (a, b) == (INT, FLOAT):
        return to_float
    if b[0] == "Nilable":
        return _to_nilable(a, b, line)
    if b[0] == "Option":
        return _to_option(a, b, line)
    if a[0] == "Error" and b[0] == "Error" or a[0] == "Union" and b == STRING or b[0] == "Union":
        return None
    if a[0] != b[0] or len(parts(a)) != len(parts(b)) or a[0] in ("Struct", "Enum"):
        raise NotClaimed(f"{show(a)} where {show(b)} is expected")
    if a[0] == "Fn":
        for x, y in zip(b[1], a[1], strict=True):
            _plain(x, y, line)
        if prune(b[2]) != NIL:
            _plain(a[2], b[2], line)
        return None
    for x, y in zip(parts(a), parts(b), strict=True):
        _plain(x, y, line)
    return None


def _plain(a: Type, b: Type, line: int) -> None:
    """L-3.3.9, L-3.3.10: components convert in no way, or Any is involved."""
    if prune(a) != ANY and convert(a, b, line) is not None:
        raise NotClaimed(f"components of {show(a)} and {show(b)}")


def _to_nilable(a: Type, b: Type, line: int) -> Conversion:
    if a == NIL:
        return None
    inner = convert(a[1] if a[0] == "Nilable" else a, b[1], line)
    return None if inner is None else lambda value: None if value is None else inner(value)


def _to_option(a: Type, b: Type, line: int) -> Conversion:
    if a == NIL:
        return lambda value: Opt(False)
    if a[0] == "Option" and fits(a[1], b[1]):
        return None
    if a[0] == "Nilable":
        raise NotClaimed("a nilable value where an Option is expected")
    inner = convert(a, b[1], line)
    return lambda value: Opt(True, value if inner is None else inner(value))


def fits(a: Type, b: Type) -> bool:
    """a → b without conversion."""
    a, b = prune(a), prune(b)
    try:
        return a == ANY or convert(a, b, 0) is None
    except NotClaimed:
        return False


def has_kind(value: Any, t: Type) -> bool:
    """Shallow test of a value's kind (L-3.3.3), and of its type in patterns and catch clauses."""
    t = prune(t)
    head = t[0]
    if head == "Any":
        return True
    if head == "Nilable":
        return value is None or has_kind(value, t[1])
    if head == "Struct":
        return isinstance(value, Struct) and value.name == t[1]
    if head == "Enum":
        return isinstance(value, Unit) and value.enum == t[1]
    if head == "Error":
        return isinstance(value, Err) and descends(value.family, t[1])
    if head == "Union":
        raise NotClaimed("a dynamic value where a string union is expected")
    if head == "Fn":
        return isinstance(value, Fn)
    return bool(kind_of(value) == head)


def checked(value: Any, t: Type, line: int) -> Any:
    """A dynamic value where `t` is expected (L-3.3.3)."""
    if prune(t) in (FLOAT, ("Nilable", FLOAT)) and type(value) is int:
        return float(value)
    if not has_kind(value, t):
        raise Panic("P007", f"expected {show(t)}, found {kind_of(value)}", line)
    return value


def join(a: Type, b: Type) -> Type:
    """L-3.4.1."""
    a, b = prune(a), prune(b)
    if isinstance(a, Var) or isinstance(b, Var):
        convert(a, b, 0)
        return prune(a)
    if a == b or b == NEVER:
        return a
    if a == NEVER:
        return b
    if ANY in (a, b):
        return ANY
    if {a, b} == {INT, FLOAT}:
        return FLOAT
    if NIL in (a, b) or "Nilable" in (a[0], b[0]):
        plain = [t[1] if t[0] == "Nilable" else t for t in (a, b) if t != NIL]
        return ("Nilable", plain[0] if len(plain) == 1 else join(plain[0], plain[1]))
    if a[0] == b[0] == "Error":
        return ("Error", next(f for f in _ancestors(a[1]) if descends(b[1], f)))
    if {a[0], b[0]} <= {"Union", "String"}:
        return STRING
    if a[0] == b[0] and a[0] in ("Array", "Map", "Option", "Result", "Tuple") and len(a) == len(b):
        joined = (a[0], *(join(x, y) for x, y in zip(a[1:], b[1:], strict=True)))
        if fits(a, joined) and fits(b, joined):
            return joined
    raise NotClaimed(f"no join of {show(a)} and {show(b)}")


def _ancestors(family: str) -> list[str]:
    return [family] + [f for f in ("SchemaError", "AgentError", "Error") if f != family and descends(family, f)]


def substitute(t: Type, names: dict[str, Type]) -> Type:
    """With the type parameters `names` (heads `Param`) replaced."""
    t = prune(t)
    if isinstance(t, Var):
        return t
    if t[0] == "Param":
        return names[t[1]]
    if t[0] == "Fn":
        return ("Fn", tuple(substitute(p, names) for p in t[1]), substitute(t[2], names))
    return t if not parts(t) else (t[0], *(substitute(p, names) for p in t[1:]))


def inside(t: Type | None, head: str) -> Type | None:
    """The expected type as a literal of kind `head` sees it: without `?` and Option around it (L-3.2.4)."""
    t = prune(t)
    while isinstance(t, tuple) and t[0] != head and t[0] in ("Nilable", "Option"):
        t = prune(t[1])
    return t if isinstance(t, tuple) else None


def show(t: Type) -> str:
    t = prune(t)
    if isinstance(t, Var):
        return "_"
    return f"{t[0]}<{', '.join(map(show, parts(t)))}>" if parts(t) else str(t[1] if t[0] in ("Struct", "Enum", "Error") else t[0])
