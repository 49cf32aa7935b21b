"""Types and literals, biased to boundaries; the names in scope.

Hands on `Base`, on which `declared`, `expressions` and `statements` build, `Var`, and the tables of types that programs declare.
A new literal is a word in one of the lists at the top; a new kind of type is a case of `type` and of `_literal`.
"""

from __future__ import annotations

import random
from typing import Any

from .tree import BOOL, FLOAT, INT, STRING, Expr, Type, type_text

SMALL = ["0", "1", "2", "3", "5", "7", "-1", "-2", "10", "100"]
EXTREME = [
    "9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807", "9007199254740993",
    "4611686018427387904", "3037000500", "-9007199254740993", "2147483648", "0x7fff_ffff", "0b1010",
]  # fmt: skip
FLOATS = ["0.0", "1.0", "0.5", "-1.5", "2.25", "100.0", "-0.0", "3.75"]
EXTREME_FLOATS = [
    "1e300",
    "-1e300",
    "5e-324",
    "9007199254740992.0",
    "9223372036854775808.0",
    "0.1",
    "1e21",
    "1.5e-7",
    "(0.0 / 0.0)",
    "(1.0 / 0)",
]
STRINGS = ['"a"', '"b"', '"ab"', '""', '"x,y"', '"k"', '" 7 "', '"12"']
EXTREME_STRINGS = [
    '"😀a"', '"é😀"', '"\\u{10FFFF}"', '"a\\u{301}b"', '"ß"', '"a\\nb\\r\\nc"', '"\\"q\\\\"', '"$ {x}"', "'é\"'", 'r#"r\\n${"#',
    '"\\u{2003}t "', '"-9223372036854775808"', '"1e3"', '"İI"',
]  # fmt: skip
KEYS = ["a", "b", "k", "é"]
STRUCTS: dict[str, list[tuple[str, Type, str | None]]] = {
    "P": [("x", INT, None), ("y", FLOAT, "1"), ("tags", ("Array", STRING), "[]")],
    "geo::Dot": [("x", INT, None), ("m", ("Map", STRING, INT), "{}")],
    "Q": [("p", ("Struct", "P"), None), ("o", ("Option", INT), "3"), ("n", ("Nilable", STRING), "nil")],
}
ENUM, PAYLOAD, DOT = ("Enum", "E"), ("Enum", "F"), ("Struct", "geo::Dot")
VARIANTS = ["A", "B", "C"]


class Var:
    """A variable in scope."""

    def __init__(self, name: str, type_: Type, mutable: bool) -> None:
        self.name, self.type, self.mutable = name, type_, mutable


class Base:
    """The source of chance, the names in scope, and what the place allows. `functions` are name, parameter types and result of
    those that may be called; `loops` the labels of the loops around, None for one without; `result` that of the function around;
    `in_try` says whether a `throw` is caught; `depth` counts the expressions and statements around."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.vars: list[Var] = []
        self.functions: list[tuple[str, list[Type], Type]] = []
        self.count = 0
        self.loops: list[str | None] = []
        self.result: Type | None = None  # of the function that statements stand in
        self.in_try = False
        self.depth = 0

    def chance(self, p: float) -> bool:
        """Return true with the probability `p`."""
        return self.random.random() < p

    def pick(self, options: Any) -> Any:
        """Return one of the options."""
        return self.random.choice(options)

    def fresh(self, prefix: str = "v") -> str:
        """Return a new name, or, for variables, now and then one that shadows another."""
        if prefix == "v" and self.vars and self.chance(0.12):
            return self.pick(self.vars).name
        self.count += 1
        return f"{prefix}{self.count}"

    def visible(self, type_: Type) -> list[Var]:
        """Return the variables in scope of exactly this type."""
        seen: dict[str, Var] = {v.name: v for v in self.vars}
        return [v for v in seen.values() if v.type == type_]

    def all_visible(self) -> list[Var]:
        """Return the variables in scope."""
        return list({v.name: v for v in self.vars}.values())

    # ------------------------------------------------------------ types

    def scalar(self) -> Type:
        """Return a random type without parts."""
        return self.pick([INT, INT, INT, FLOAT, STRING, STRING, BOOL])

    def type(self, depth: int = 2) -> Type:
        """Return a random type, nested at most `depth` levels."""
        if depth == 0 or self.chance(0.45):
            return self.scalar()
        inner = depth - 1
        match self.random.randrange(12):
            case 0 | 1 | 2:
                return ("Array", self.type(inner))
            case 3 | 4:
                return ("Map", self.pick([STRING, STRING, INT, BOOL]), self.type(inner))
            case 5:
                return ("Tuple", *(self.type(inner) for _ in range(self.pick([1, 2, 2, 3]))))
            case 6:
                return ("Option", self.type(inner))
            case 7:
                return ("Result", self.type(inner), self.pick([STRING, STRING, INT]))
            case 8:
                return self.pick([("Struct", "P"), ("Struct", "P"), ("Struct", "Q"), DOT, ENUM])
            case 9:
                return self.pick([PAYLOAD, PAYLOAD, ("Box", self.type(inner))])
            case 10:
                return (self.pick(["Set", "Set", "Queue", "Stack"]), self.scalar())
        return ("Nilable", self.scalar())

    # ------------------------------------------------------------ literals

    def int_text(self) -> str:
        """Return the text of an Int literal, now and then of an extreme one."""
        return self.pick(EXTREME) if self.chance(0.08) else self.pick(SMALL)

    def literal(self, t: Type, sited: bool) -> Expr:
        """Return a small expression of a type. `sited`: the type is expected there, so open forms are legal."""
        literal = self._literal(t, sited)
        literal.open = sited
        return literal

    def _literal(self, t: Type, sited: bool) -> Expr:
        match t[0]:
            case "Int":
                return Expr(t, self.int_text())
            case "Float":
                return Expr(t, self.pick(EXTREME_FLOATS) if self.chance(0.15) else self.pick(FLOATS))
            case "String":
                return Expr(t, self.pick(EXTREME_STRINGS) if self.chance(0.3) else self.pick(STRINGS))
            case "Bool":
                return Expr(t, self.pick(["true", "false"]))
            case "Array":
                return self.sequence(t, "[", [t[1]] * (self.random.randrange(4) if sited else self.pick([1, 2, 3])), "]", sited)
            case "Tuple":
                return self.sequence(t, "(", list(t[1:]), ",)" if len(t) == 2 else ")", sited)
            case "Map":
                return self.map_literal(t, sited)
            case "Struct":
                return self.struct_literal(t)
            case "Enum":
                return Expr(t, "E::" + self.pick(VARIANTS)) if t == ENUM else self.payload_literal(t)
            case "Box":
                return Expr(t, "Box { v: ", self.literal(t[1], sited), " }")
            case "Set":
                return Expr(t, "Set::from(", self.literal(("Array", t[1]), False), ")")
            case "Queue" | "Stack":
                return Expr(t, f"{type_text(t)}::new()")
            case "Option":
                return Expr(t, "None") if sited and self.chance(0.3) else Expr(t, "Some(", self.literal(t[1], sited), ")")
            case "Result":
                return self.result_literal(t, sited)
            case "Nilable":
                expression = Expr(t, "nil") if self.chance(0.4) else Expr(t, self.literal(t[1], True))
                return expression if sited else self.annotated(expression)
        raise ValueError(t)

    def payload_literal(self, t: Type) -> Expr:
        number = self.literal(INT, True)
        rows = [["F::U"], ["F::V(", number, ")"], ["F::W(", self.literal(STRING, True), ", [])"], ["F::X { a: ", number, " }"]]
        return Expr(t, *self.pick(rows))

    def sequence(self, t: Type, start: str, types: list[Type], end: str, sited: bool) -> Expr:
        """Return an expression of type `t`: literals of `types`, with commas, between the texts `start` and `end`."""
        parts: list[Any] = [start]
        for i, each in enumerate(types):
            parts += [", "] * (i > 0) + [self.literal(each, sited)]
        return Expr(t, *parts, end)

    def key(self, t: Type) -> str:
        """Return the text of a map key of a type."""
        return (
            '"' + self.pick(KEYS) + '"'
            if t == STRING
            else self.pick(["0", "1", "-1", "9"])
            if t == INT
            else self.pick(["true", "false"])
        )

    def map_literal(self, t: Type, sited: bool) -> Expr:
        keys = list(dict.fromkeys(self.key(t[1]) for _ in range(self.random.randrange(4) if sited else self.pick([1, 2, 3]))))
        parts: list[Any] = ["{"]
        for i, key in enumerate(keys):
            parts += [", "] * (i > 0) + [f"({key}): " if key[0] == "-" else f"{key}: ", self.literal(t[2], sited)]
        if not keys:  # `{}` alone is a block in some places
            return Expr(t, "({})")
        return Expr(t, *parts, "}")

    def struct_literal(self, t: Type) -> Expr:
        parts: list[Any] = [f"{t[1]} {{"]
        rows = [f for f in STRUCTS[t[1]] if f[2] is None or self.chance(0.5)]
        self.random.shuffle(rows)
        for i, (name, type_, _) in enumerate(rows):
            parts += [", "] * (i > 0) + [f"{name}: ", self.literal(type_, True)]
        return Expr(t, *parts, "}")

    def result_literal(self, t: Type, sited: bool) -> Expr:
        good = self.chance(0.6)
        expression = Expr(t, "Ok(" if good else "Err(", self.literal(t[1 if good else 2], True), ")")
        return expression if sited else self.annotated(expression)

    def annotated(self, expression: Expr) -> Expr:
        """Return an expression for a place where no type is expected: a block that states its type."""
        return Expr(expression.type, f"({{ let z: {type_text(expression.type)} = ", expression, "; z })")
