"""Declarations that programs may use, and expressions and changes that use them: generics, impls, enums, modules, the library.

Hands on `Declared` to `expressions`, and `declarations` to `statements`. A row of an expression is a template with the types of
its parts, as `Expressions.fill` takes it. A new declaration is a row of DECLARATIONS, with rows in the method of each type that
it gives.
"""

from __future__ import annotations

import re
from typing import Any

from .tree import BOOL, FLOAT, INT, NIL, STRING, Expr, Stmt, Type, type_text
from .values import DOT, ENUM, PAYLOAD, Base

# The word by which a program is known to use a declaration, and its text.
DECLARATIONS = [
    ("P", "struct P { x: Int, y: Float = 1, tags: Array<String> = [] }"),
    ("Q", "struct Q { p: P, o: Option<Int> = 3, n: String? = nil }"),
    ("E", "enum E { A, B, C }"),
    ("F", "enum F { U, V(Int), W(String, Array<Int>), X { a: Int, b: Float = 1 } }"),
    ("Box", "struct Box<T> { v: T, n: Int = LIMIT - 3 }"),
    ("LIMIT", "const LIMIT: Int = 1 + 2;"),
    ("Row", "type Row<T> = Array<T>;"),
    ("bump|tag|total|origin|moved", """impl P {
    fn bump(mut self, by: Int = 1) -> Int { self.x += by; self.x }
    fn tag(mut self, t: String) { self.tags.push(t); }
    fn total(self) -> Int { self.tags.len() + self.x % 1000 }
    fn origin() -> P { P { x: 0 } }
    fn moved(self, by: Int) -> Self { Self { x: by, ..self } }
}"""),
    ("size|grow|name_of", """impl F {
    fn size(self) -> Int {
        match self {
            Self::U => 0,
            F::V(n) => n % 10,
            F::W(s, xs) if s == "a" => xs.len() - 1,
            F::W(s, xs) => s.len() + xs.len(),
            F::X { a, .. } => a % 7,
        }
    }
    fn grow(mut self, by: Int) -> Bool {
        self = match self {
            F::V(n) => F::V(n + by),
            F::X { a, b } => F::X { b: b * 2, a },
            other => other,
        };
        self == F::U
    }
}"""),
    ("Box", """impl<T> Box<T> {
    fn new(v: T) -> Self { Self { v } }
    fn get(self) -> T { self.v }
    fn put(mut self, v: T) -> T {
        let old = self.v;
        self.v = v;
        self.n += 1;
        old
    }
    fn map<U>(self, f: fn(T) -> U) -> Box<U> { Box { v: f(self.v), n: self.n } }
}"""),
    ("id", "fn id<T>(x: T) -> T { x }"),
    ("swapped", "fn swapped<A, B>(a: A, b: B) -> (B, A) { (b, a) }"),
    ("first_of", "fn first_of<T>(xs: Row<T>, otherwise: T) -> T { xs.first() ?? otherwise }"),
    ("twice", "fn twice<T>(x: T, f: fn(T) -> T) -> T { f(f(x)) }"),
    ("choose", "fn choose<T>(c: Bool, x: T, otherwise: T) -> T { if c { x } else { otherwise } }"),
    ("scaled", "fn scaled(a: Int, b: Int = a % 3, c: Float = b) -> Float { a * c + b }"),
    ("geo", """mod geo {
    pub struct Dot { pub x: Int, pub m: Map<String, Int> = {} }
    impl Dot {
        pub fn left(mut self) -> Self { self.x = self.x % 100 - 1; self }
    }
    pub const SCALE: Float = 2.5;
    fn secret(n: Int) -> Int { n / 2 }
    pub mod deep { pub fn half(n: Int) -> Int { super::secret(n) } }
}"""),
    ("half", "use geo::deep::*;"),
    ("math|fmt|json", "use std::{math, fmt, json};"),
    ("Set|Queue|Stack", "use std::collections::{Set, Queue, Stack};"),
]  # fmt: skip


def declarations(text: str) -> list[Stmt]:
    """Return the declarations that a program text needs, directly or through each other."""
    needed: set[int] = set()
    while True:
        rows = {
            i for i, (word, _) in enumerate(DECLARATIONS)
            if re.search(rf"\b(?:{word})\b", text + "".join(DECLARATIONS[k][1] for k in needed))
        }  # fmt: skip
        if rows == needed:
            return [Stmt(DECLARATIONS[i][1]) for i in sorted(needed)]
        needed = rows


class Declared(Base):
    """Expressions that go through a declaration or the library. `_int`, `_box` and so on return the rows for the types of these
    names; `fill` and `modest` come from the classes made of this one."""

    def use(self, t: Type) -> Expr | None:
        """Return an expression of the type that goes through a declaration or the library."""
        written = type_text(t)
        rows: list[tuple[Any, ...]] = [
            ("id($)", t), ("@.get()", ("Box", t)), ("@.v", ("Box", t)), ("first_of(@, $)", ("Array", t), t),
            ("swapped($, $).0", self.scalar(), t), ("twice($, #)", t, ("Fn", (t,), t)), ("choose($, $, $)", BOOL, t, t),
            ("choose($, otherwise: $, x: $)", BOOL, t, t), (f"Box<{written}>::new(#).get()", t), (f"id<{written}>(#)", t),
            ("@.map(@).v", ("Box", INT), ("Plain", (INT,), t)),
        ]  # fmt: skip
        if t[0] in ("Nilable", "Option"):  # what is expected of the result does not say which of several types is meant
            rows = [(re.sub(r"^(id|first_of|twice|choose)\(", rf"\1<{written}>(", template), *types) for template, *types in rows]
        own = getattr(self, "_" + t[0].lower(), None)
        if own is not None and self.chance(0.75):
            rows = own(t)
        template, *types = self.pick(rows)
        return self.fill(t, template, *types)  # type: ignore[attr-defined, no-any-return]

    def path(self) -> Expr:
        """Return the path of a file: one that `generate.py` puts in the folder of a program, one outside of it, or none at
        all."""
        names = ["in/a.txt", "in", "in/w", "in/./w", "in/../b", "b", "in/a.txt/c", "../x", "", "."]
        return Expr(STRING, f'"{self.pick(names)}"')

    def variable(self) -> Expr:
        """Return the name of an environment variable, set or not, permitted or not."""
        return Expr(STRING, f'"{self.pick(["A", "A_TOKEN", "UNSET", "A", "DENIED"])}"')

    def variant(self) -> Any:
        """Return what `E::parse` may be given: the name of a variant, another text, or the type of any text."""
        texts = [Expr(STRING, text) for text in ('"A"', '"C"', '"E::B"', '"a"', '""')]
        return self.pick([*texts, STRING])

    def _int(self, t: Type) -> list[tuple[Any, ...]]:
        s = self.scalar()
        return [
            ("@.total()", ("Struct", "P")), ("@.size()", PAYLOAD), ("LIMIT",), ("geo::deep::half(#)", INT), ("half($)", INT),
            ("math::abs($)", INT), ("math::min($, $)", INT, INT), ("math::clamp($, 0, 9)", INT), ("@.len()", ("Set", s)),
            ("@.n", ("Box", s)), ("@.x", DOT), ("math::round($)", FLOAT), ("@.len()", ("Queue", s)),
            ("@.moved(#).x", ("Struct", "P"), INT),
            ("math::pow($, 2)", INT), ("@.len()", ("Stack", INT)), ("math::random_int(7, 8)",),
            ("std::crypto::random_bytes(@).len()", Expr(INT, self.pick(["0", "3", "-1"]))), ("std::crypto::uuid().len()",),
            ("std::fs::file_size(@).unwrap_or(#)", self.path(), INT), ("std::prompt::count_tokens(#)", STRING),
            ("std::time::measure(#).0", ("Fn", (), INT)),
        ]  # fmt: skip

    def _float(self, t: Type) -> list[tuple[Any, ...]]:
        return [
            ("math::abs($)", FLOAT), ("math::sqrt($)", FLOAT), ("math::max($, $)", INT, FLOAT), ("geo::SCALE",),
            ("scaled(#)", INT),
            ("math::pow($, $)", FLOAT, INT), ("scaled(#, #)", INT, INT), ("scaled(c: #, a: #)", FLOAT, INT),
            ("math::clamp($, 0.5, $)", FLOAT, Expr(INT, "7")),
        ]  # fmt: skip

    def _string(self, t: Type) -> list[tuple[Any, ...]]:
        width = Expr(INT, self.pick(["0", "3", "9", "-1"]))
        return [
            ("fmt::pad_left(#, @)", STRING, width), ("fmt::pad_right(#, @, ch: #)", STRING, width, STRING),
            ("fmt::truncate(#, @)", STRING, width), ("json::stringify($)", self.type(2)), ("fmt::indent(#, 2)", STRING),
            ("typeof(E::parse(#))", self.variant()), ('fmt::format("{}-{}", [$])', self.type(1)),
            ("json::stringify_pretty($)", self.type(2)),
            ("std::string::to_upper(#)", STRING), ("std::fs::read_file(@).unwrap_or(#)", self.path(), STRING),
            ("(std::env::get(@) ?? $)", self.variable(), STRING), ('(std::env::all()["A_TOKEN"])',), ("std::time::now()",),
            ("std::prompt::from_file(@).unwrap_or(#)", self.path(), STRING),
            ("std::string::join(#, @)", ("Array", STRING), Expr(STRING, '"+"')), ("typeof($)", self.type(2)),
        ]  # fmt: skip

    def _bool(self, t: Type) -> list[tuple[Any, ...]]:
        s = self.scalar()
        return [
            ("@.contains(#)", ("Set", s), s), ("json::is_valid(#)", STRING), ("@.is_empty()", ("Queue", s)),
            ("(@ == @)", PAYLOAD, PAYLOAD), ("std::fs::exists(@)", self.path()), ("std::http::get(#).is_err()", STRING),
            ("std::fs::write_file(@, #).is_ok()", self.path(), STRING), ("std::env::has(@)", self.variable()),
            ("std::fs::append_file(@, #).is_ok()", self.path(), STRING), ("std::fs::remove_file(@).is_ok()", self.path()),
            ("(E::parse(#) == nil)", self.variant()), ("(E::parse(#) != $)", self.variant(), ENUM),
            ("(@ == @)", ("Set", s), ("Set", s)), ("(@ != @)", ("Box", s), ("Box", s)), ("(@ == @)", DOT, DOT),
        ]  # fmt: skip

    def _array(self, t: Type) -> list[tuple[Any, ...]]:
        e = t[1]
        sets = ("Set", e)
        return [
            ("Set::from($).to_array()", t), ("@.to_array()", sets), ("@.union(#).to_array()", sets, sets),
            ("@.intersection(#).to_array()", sets, sets), ("@.difference(#).to_array()", sets, sets),
            ("@.to_array()", ("Stack", e)),
            ("@.rest().to_array()", ("Queue", e)), ("@.map(id)", t),
        ]  # fmt: skip

    def _option(self, t: Type) -> list[tuple[Any, ...]]:
        return [("@.peek()", ("Queue", t[1])), ("@.peek()", ("Stack", t[1])), ("@.map(id)", t), ("Some(@)", t[1])]

    def _tuple(self, t: Type) -> list[tuple[Any, ...]]:
        return [("swapped($, $)", t[2], t[1])] if len(t) == 3 else [("id($)", t)]

    def _struct(self, t: Type) -> list[tuple[Any, ...]]:
        if t == DOT:
            return [("({ let mut w = @; w.left() })", DOT), ("geo::Dot { x: # }", INT), ("geo::Dot { x: #, ..@ }", INT, DOT)]
        return [("P::origin()",), ("@.moved(#)", t, INT)] if t[1] == "P" else [("id($)", t)]

    def _enum(self, t: Type) -> list[tuple[Any, ...]]:
        rows: list[Any] = [("F::V(#)", INT), ("F::W(#, #)", STRING, ("Array", INT)), ("F::X { a: # }", INT)]
        rows.append(("F::X { b: #, a: # }", FLOAT, INT))
        return [("id($)", t), ("(E::parse(#) ?? $)", self.variant(), t)] if t == ENUM else [*rows, ("[$].map(F::V)[0]", INT)]

    def _box(self, t: Type) -> list[tuple[Any, ...]]:
        written = type_text(t[1])
        return [
            ("Box { v: $ }", t[1]), ("@.map(@)", ("Box", INT), ("Plain", (INT,), t[1])), (f"Box<{written}>::new(#)", t[1]),
            (f"Box<{written}> {{ n: #, v: # }}", INT, t[1]),
        ]  # fmt: skip

    def _set(self, t: Type) -> list[tuple[Any, ...]]:
        return [("Set::from($)", ("Array", t[1])), ("@.union(#)", t, t), ("@.difference(#)", t, t)]

    def _queue(self, t: Type) -> list[tuple[Any, ...]]:
        return [("@.rest()", t), ("id($)", t)]

    _stack = _queue

    def method_change(self, t: Type) -> list[Any]:
        """Return the call of a *mut* method, or of one with `mut self`, as the parts of the text after the place; an empty list
        for a type without one."""
        e = t[-1]

        def argument(wanted: Type) -> Any:
            return self.modest(wanted)  # type: ignore[attr-defined]

        rows: dict[str, list[list[Any]]] = {
            "Set": [[".insert(", argument, e, ")"], [".remove(", argument, e, ")"]],
            "Queue": [[".enqueue(", argument, e, ")"], [".dequeue()"]], "Stack": [[".push(", argument, e, ")"], [".pop()"]],
            "Box": [[".put(", argument, e, ")"]],
        }  # fmt: skip
        if t == ("Struct", "P"):
            row = self.pick([[".bump()"], [".bump(by: ", argument, INT, ")"], [".tag(", argument, STRING, ")"]])
        elif t == DOT:
            row = [".left()"]
        elif t == PAYLOAD:
            row = [".grow(", argument, INT, ")"]
        else:
            row = self.pick(rows[t[0]]) if t[0] in rows else []
        at = row.index(argument) if argument in row else -1
        return row if at < 0 else [*row[:at], argument(row[at + 1]), *row[at + 2 :]]


__all__ = ["NIL", "Declared", "declarations"]
