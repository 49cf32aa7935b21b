"""Expressions of a wanted type.

Hands on `Expressions` to `statements`. `sited` says that the type is expected where the expression stands, so that forms without
a type of their own may stand there (L-3.2.4, L-3.3). A new form of a type is a row in its `of_…` method, of a form for every type
a case of `control`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declared import Declared
from .tree import ANY, BOOL, FLOAT, INT, NIL, STRING, Block, Expr, Stmt, Type, type_text
from .values import DOT, ENUM, KEYS, PAYLOAD, VARIANTS, Var

COMPARABLE = [INT, FLOAT, STRING]


class Expressions(Declared):
    """Chooses expressions at random; each method returns one of the wanted type. Those with `| None` return None where they have
    no form for it, and another is chosen. `of_int` and so on are the operations that give a type, `arms` the patterns that test
    one."""

    def expr(self, t: Type, sited: bool = False) -> Expr:
        """Return an expression of type `t`; deeper ones get rarer."""
        expression = self._expr(t, sited)
        expression.open |= sited
        return expression

    def _expr(self, t: Type, sited: bool) -> Expr:
        self.depth += 1
        try:
            if t[0] == "Fn" or self.depth > 5 or self.chance(0.12 * self.depth):
                return self.leaf(t, sited)
            if sited and self.chance(0.08) and (converted := self.converted(t)):
                return converted
            expression = self.control(t, sited) if self.chance(0.25) else self.use(t) if self.chance(0.2) else None
            return expression or self.operation(t) or self.leaf(t, sited)
        finally:
            self.depth -= 1

    def leaf(self, t: Type, sited: bool) -> Expr:
        """Return a name in scope, a literal, or for a function type a closure."""
        known = self.visible(t)
        if known and self.chance(0.7):
            return Expr(t, self.pick(known).name)
        if t[0] == "Fn":
            return self.closure(t)
        return self.literal(t, sited)

    def converted(self, t: Type) -> Expr | None:
        """Return a value of another type that converts where `t` is expected (L-3.3.4 to L-3.3.6)."""
        if t == FLOAT:
            return Expr(t, self.leaf(INT, False)) if self.chance(0.5) else self.fill(t, "($ + $)", INT, INT)
        if t[0] == "Option" and t[1][0] not in ("Option", "Nilable"):
            return Expr(t, "nil") if self.chance(0.2) else Expr(t, self.leaf(t[1], False))
        if t[0] == "Nilable":
            return Expr(t, self.leaf(t[1], False))
        return None

    def receiver(self, t: Type) -> Expr:
        """Return an expression that a method may be called on."""
        known = self.visible(t)
        if known and self.chance(0.7):
            return Expr(t, self.pick(known).name)
        return Expr(t, "(", self.expr(t), ")")

    def operation(self, t: Type) -> Expr | None:
        """Return an operation that gives type `t`."""
        builder: Callable[[], Expr | None] = {
            "Int": self.of_int, "Float": self.of_float, "String": self.of_string, "Bool": self.of_bool,
            "Array": lambda: self.of_array(t),
            "Map": lambda: self.of_map(t), "Option": lambda: self.of_option(t), "Result": lambda: self.of_result(t),
            "Nilable": lambda: self.of_nilable(t), "Tuple": lambda: self.of_tuple(t), "Struct": lambda: self.of_struct(t),
        }.get(t[0], lambda: None)  # fmt: skip
        return builder()

    def fill(self, t: Type, template: str, *types: Any) -> Expr:
        """Return the expression of a template, in which `@` stands for a receiver, `$` for an operand and `#` for an argument.
        `types` are theirs, in order: a type, an expression to take as it is, or ("Plain", parameters, result) for a closure whose
        result is inferred."""
        rest, parts, word = list(types), [], ""
        for c in template:
            if c in "@$#":
                wanted = rest.pop(0)
                part = self.filled(c, wanted)
                parts += [word, part]
                word = ""
            else:
                word += c
        return Expr(t, *parts, word)

    def filled(self, how: str, wanted: Any) -> Expr:
        """Return the part that stands for `@`, `$` or `#`, as `how` says."""
        if isinstance(wanted, Expr):
            return wanted
        if wanted[0] == "Plain":
            return self.closure(("Fn", *wanted[1:]), plain=True)
        return self.receiver(wanted) if how == "@" else self.expr(wanted, how == "#")

    # ------------------------------------------------------------ scalars

    def of_int(self) -> Expr | None:
        xs = ("Array", self.scalar())
        row = self.pick([
            ("($ + $)", INT, INT), ("($ - $)", INT, INT), ("($ * $)", INT, INT), ("($ + $)", INT, INT), ("(-@)", INT),
            ("($ / @)", INT, Expr(INT, self.pick(["2", "3", "-1", "-7", "10"]))),
            ("($ % @)", INT, Expr(INT, self.pick(["2", "3", "-3", "-1"]))),
            ("(@ ** @)", INT, Expr(INT, self.pick(["0", "1", "2", "3"]))), ("@.min(#)", INT, INT), ("@.max(#)", INT, INT),
            ("@.len()", STRING), ("@.len()", xs), ("len($)", xs), ("len($)", STRING), ("@.sum()", ("Array", INT)),
            ("@.len()", ("Map", STRING, INT)), ("($ as Int)", FLOAT), ("($ as Int)", BOOL),
            ("@.parse_int().unwrap_or(#)", STRING, INT),
            ("@.floor()", FLOAT), ("@.ceil()", FLOAT), ("@.round()", FLOAT), ("(@.index_of(#) ?? $)", STRING, STRING, INT),
            ("(@.index_of(#) ?? $)", xs, xs[1], INT), ("@.abs()", INT), ("($..$).len()", INT, INT), ("@.to_int()", FLOAT),
            ("@.reduce(#, #)", ("Array", INT), INT, ("Fn", (INT, INT), INT)),
        ])  # fmt: skip
        return self.fill(INT, *row)

    def of_float(self) -> Expr | None:
        row = self.pick([
            ("($ + $)", FLOAT, FLOAT), ("($ - $)", FLOAT, INT), ("($ * $)", INT, FLOAT), ("($ / $)", FLOAT, FLOAT),
            ("($ % $)", FLOAT, FLOAT),
            ("(@ ** $)", FLOAT, FLOAT), ("(-@)", FLOAT), ("($ as Float)", INT), ("@.to_float()", INT), ("@.sqrt()", INT),
            ("@.sqrt()", FLOAT),
            ("@.abs()", FLOAT), ("@.sum()", ("Array", FLOAT)), ("@.parse_float().unwrap_or(#)", STRING, FLOAT),
            ("@.reduce($, #)", ("Array", FLOAT), FLOAT, ("Fn", (FLOAT, FLOAT), FLOAT)),
            ("@.y", ("Struct", "P")), ("(@ ?? $)", ("Nilable", FLOAT), FLOAT),
        ])  # fmt: skip
        return self.fill(FLOAT, *row)

    def of_string(self) -> Expr | None:
        if self.chance(0.35):
            return Expr(
                STRING, '"', self.pick(["", "é", "<", "\\n", "$"]), "${", self.hole(), "}", self.pick(["", "😀", ">"]), '"'
            )
        strings = ("Array", STRING)
        row = self.pick([
            ("($ + $)", STRING, STRING), ("@.to_upper()", STRING), ("@.to_lower()", STRING), ("@.trim()", STRING),
            ("@.reverse()", STRING),
            ("@.repeat(@)", STRING, Expr(INT, self.pick(["0", "1", "2", "3", "-1"]))),
            ("@.replace(@, #)", STRING, self.text_part(), STRING),
            ("@.substring(#, #)", STRING, INT, INT), ("@[@]", STRING, self.range_expr()), ("@.join(#)", strings, STRING),
            ("@.join()", strings),
            ("@.to_string()", self.type(1)), ("typeof($)", self.type(1)), ("($ as String)", self.scalar()),
            ("@.trim_end()", STRING),
            ("(@.get(#) ?? $)", STRING, INT, STRING), ("@.chars().join(#)", STRING, STRING), ("@.trim_start()", STRING),
        ])  # fmt: skip
        return self.fill(STRING, *row)

    def text_part(self) -> Expr:
        """Return the literal of a short text, for what another text may have in it."""
        return Expr(STRING, self.pick(['"a"', '"😀"', '","', '"ab"']))

    def hole(self) -> Expr:
        """Return an expression of any type, for a `${…}` in a text."""
        return self.expr(self.type(2))

    def range_expr(self) -> Expr:
        """Return a Range with ends that may be open: literals, or an expression of an Int for the start."""
        t = ("Range",)
        start, end = self.pick(["", "0", "1", "-2", "9"]), self.pick(["", "1", "2", "3", "99", "-1"])
        inclusive = end != "" and self.chance(0.3)
        if self.chance(0.3):
            return self.fill(t, f"$..{end}", INT)
        return Expr(t, start + ("..=" if inclusive else "..") + end)

    def of_bool(self) -> Expr | None:
        t, o, s = self.type(1), self.pick(COMPARABLE), self.scalar()
        array, mapping = ("Array", t), ("Map", STRING, self.scalar())
        row = self.pick([
            ("($ == $)", t, t), ("($ != $)", t, t), (f"($ {self.pick(['<', '>', '<=', '>='])} $)", o, o),
            ("($ < $)", INT, FLOAT),
            ("($ == $)", INT, FLOAT), ("($ && $)", BOOL, BOOL), ("($ || $)", BOOL, BOOL), ("(!@)", BOOL),
            ("@.contains(#)", STRING, STRING),
            ("@.contains(#)", array, t), ("@.is_empty()", array), ("@.has(#)", mapping, STRING), ("@.is_some()", ("Option", t)),
            ("@.is_ok()", ("Result", t, STRING)), ("@.starts_with(#)", STRING, STRING), ("@.any(#)", array, ("Fn", (t,), BOOL)),
            ("@.all(#)", array, ("Fn", (t,), BOOL)), ("($ as Bool)", t), ("($..=$).contains(#)", INT, INT, INT),
            ("@.ends_with(#)", STRING, STRING),
            ("($ == nil)", ("Nilable", self.scalar())), ("(@ == nil)", ("Option", t)), ("(@ != $)", ("Option", s), s),
            ("(@ == @)", ("Nilable", s), ("Option", s)),
        ])  # fmt: skip
        return self.fill(BOOL, *row)

    # ------------------------------------------------------------ containers

    def of_array(self, t: Type) -> Expr | None:
        e, s = t[1], self.scalar()
        rows: list[tuple[Any, ...]] = [
            ("[$]", e), ("[$, $]", e, e), ("@.filter(#)", t, ("Fn", (e,), BOOL)), ("@.concat(#)", t, t),
            ("@.slice(#, #)", t, INT, INT),
            ("@[@]", t, self.range_expr()), ("@.map(@)", ("Array", s), ("Plain", (s,), e)),
            ("@.flat_map(@)", ("Array", s), ("Plain", (s,), t)),
        ]  # fmt: skip
        if e == INT:
            rows += [
                ("@.to_array()", Expr(("Range",), "(" + self.pick(["0..3", "-1..=1", "2..2", "3..1", "..3"]) + ")")),
                ("(@..@).rev()", *self.small_ends()),
            ]
            rows += [("(@..@).step_by(@)", *self.small_ends(), Expr(INT, self.pick(["1", "2", "3"])))]
        if e == STRING:
            rows += [
                ("@.chars()", STRING),
                ("@.split(@)", STRING, self.text_part()),
                ("@.lines()", STRING),
                ('@.split("")', STRING),
            ]
            rows += [("@.keys()", ("Map", STRING, s))]
        if e[0] == "Tuple" and len(e) == 3:
            rows += [("@.zip($)", ("Array", e[1]), ("Array", e[2]))] * 2
            rows += [("@.enumerate()", ("Array", e[2]))] * (3 if e[1] == INT else 0)
            rows += [("@.entries()", ("Map", e[1], e[2]))] * (2 if e[1] in (STRING, INT) else 0)
        rows += [("@.values()", ("Map", INT, e))]
        return self.fill(t, *self.pick(rows))

    def small_ends(self) -> tuple[Expr, Expr]:
        """Return the ends of a range that is short or empty, as literals."""
        return Expr(INT, self.pick(["0", "1", "-2"])), Expr(INT, self.pick(["2", "4", "0"]))

    def of_map(self, t: Type) -> Expr | None:
        rows: list[tuple[Any, ...]] = [("@.merge(#)", t, t)]
        if t[1] == STRING:
            rows += [("{(@): $, (@): $}", STRING, t[2], STRING, t[2])]
        return self.fill(t, *self.pick(rows))

    def of_option(self, t: Type) -> Expr | None:
        e = t[1]
        rows: list[tuple[Any, ...]] = [
            ("Some($)", e), ("@.get(#)", ("Array", e), INT), ("@.first()", ("Array", e)), ("@.last()", ("Array", e)),
            ("@.find(#)", ("Array", e), ("Fn", (e,), BOOL)), ("@.get(#)", ("Map", STRING, e), STRING),
            ("@.filter(#)", t, ("Fn", (e,), BOOL)),
            ("@.or(#)", t, t), ("@.ok()", ("Result", e, STRING)), ("@.map(@)", ("Option", INT), ("Plain", (INT,), e)),
            ("@.and_then(@)", ("Option", INT), ("Plain", (INT,), t)),
        ]  # fmt: skip
        if e == INT:
            rows += [("@.index_of(#)", STRING, STRING)]
        return self.fill(t, *self.pick(rows))

    def of_result(self, t: Type) -> Expr | None:
        e, f = t[1], t[2]
        rows: list[tuple[Any, ...]] = [
            ("@.ok_or(#)", ("Option", e), f), ("@.map(@)", ("Result", INT, f), ("Plain", (INT,), e)),
            ("@.map_err(@)", ("Result", e, INT), ("Plain", (INT,), f)),
        ]  # fmt: skip
        return self.fill(t, *self.pick(rows))

    def of_nilable(self, t: Type) -> Expr | None:
        if t[1] in (INT, STRING) and self.chance(0.6):
            return self.fill(t, "@." + self.pick(["a", "b", "zz"]), ("Map", STRING, t[1]))
        if self.chance(0.3):
            rows = [("@.map(@)", ("Nilable", INT), ("Plain", (INT,), t[1])), ("@.filter(#)", t, ("Fn", (t[1],), BOOL)),
                    ("@.or(#)", t, ("Option", t[1]))]  # fmt: skip
            return self.fill(t, *self.pick(rows))
        converted = t[1] in (INT, FLOAT, STRING, BOOL) and self.chance(0.3)
        return self.annotated(Expr(t, self.expr(("Option", t[1]) if converted else t[1], True)))

    def of_tuple(self, t: Type) -> Expr | None:
        template = "(" + ", ".join("$" * (len(t) - 1)) + (",)" if len(t) == 2 else ")")
        return self.fill(t, template, *t[1:])

    def of_struct(self, t: Type) -> Expr | None:
        if t == DOT:
            return self.fill(t, "geo::Dot { x: # }", INT)
        if t[1] == "P":
            return self.fill(
                t, *self.pick([("P { x: #, y: # }", INT, FLOAT), ("P { y: #, x: # }", FLOAT, INT), ("P { x: #, ..@ }", INT, t)])
            )
        return self.fill(t, "Q { p: #, o: # }", ("Struct", "P"), ("Option", INT))

    # ------------------------------------------------------------ closures, calls

    def closure(self, t: Type, plain: bool = False) -> Expr:
        """Return a closure of a function type. `plain`: its result is no coercion site, as where a method infers it."""
        names = [self.fresh("p") for _ in t[1]]
        saved, loops, in_try, result = self.vars, self.loops, self.in_try, self.result
        self.vars = [*self.vars, *(Var(n, p, False) for n, p in zip(names, t[1], strict=True))]
        self.loops, self.in_try, self.result = [], False, None
        typed = self.chance(0.5)
        heads = ", ".join(f"{n}: {type_text(p)}" if typed else n for n, p in zip(names, t[1], strict=True))
        told = typed and (plain or self.chance(0.5))
        body = self.ending(t[2]) if told and t[2][0] == "Result" else self.expr(t[2], not plain)
        if self.chance(0.3):
            body = Expr(t[2], Block(self.side_effects(), body))
        self.vars, self.loops, self.in_try, self.result = saved, loops, in_try, result
        if not told:
            return Expr(t, f"|{heads}| ", body)
        return Expr(t, f"|{heads}| -> {type_text(t[2])} ", body if isinstance(body.parts[0], Block) else Block([], body))

    def ending(self, t: Type) -> Expr:
        """Return an expression for the end of what returns the Result type `t`: a Result, or what is wrapped there (L-3.3.19)."""
        if t[1][0] == "Result" or self.chance(0.4):
            return self.expr(t, True)
        if self.chance(0.3):
            return Expr(t, "if (", self.expr(BOOL), ") ", Block([], self.ending(t)), " else ", Block([], self.ending(t)))
        return Expr(t, self.expr(t[1]))

    def side_effects(self) -> list[Stmt]:
        """Return a statement for the inside of a closure or branch: it may change a variable that it captured, or emit."""
        counters = [v for v in self.all_visible() if v.mutable and v.type in (INT, ("Array", INT))]
        if counters and self.chance(0.7):
            v = self.pick(counters)
            return [Stmt(f"{v.name} += 1;" if v.type == INT else f"{v.name}.push({self.int_text()});")]
        return [Stmt('emit("c", ', self.expr(self.scalar()), ");")]

    def call(self, t: Type) -> Expr | None:
        """Return a call that gives `t`, of a function declared before or of one in a variable; None where none gives it."""
        known = [f for f in self.functions if f[2] == t]
        if known:
            name, parameters, _ = self.pick(known)
            if len(parameters) == 1 and self.chance(0.2):
                return self.fill(t, f"($ |> {name}())", parameters[0])
            return self.fill(t, f"{name}({', '.join('#' * len(parameters))})", *parameters)
        values = [v for v in self.all_visible() if v.type[0] == "Fn" and v.type[2] == t]
        if values:
            v = self.pick(values)
            return self.fill(t, f"{v.name}({', '.join('#' * len(v.type[1]))})", *v.type[1])
        return None

    # ------------------------------------------------------------ control

    def control(self, t: Type, sited: bool) -> Expr | None:
        """Return a form that may have any type, such as a branch, a block or a call; None where it cannot stand here."""
        match self.random.randrange(14):
            case 0 | 1:
                return Expr(t, "if (", self.expr(BOOL), ") ", self.tail(t, sited), " else ", self.tail(t, sited))
            case 2 | 3:
                return self.match(t, sited)
            case 4:
                return Expr(t, "({ let w = ", *self.scoped("w", self.scalar(), lambda: self.expr(t, sited)), " })")
            case 5:
                # No type is expected of what `break` gives (L-3.2.4).
                return Expr(t, "(loop { break ", self.expr(t), " })") if not self.loops else None
            case 6:
                if t in (INT, STRING) and self.chance(0.5):
                    return self.narrowed(t)
                return self.fill(t, "(@ ?? $)", ("Option", t), t)
            case 7:
                return self.try_catch(t, sited)
            case 8 | 9:
                return self.call(t)
            case 10:
                return self.fill(t, "@." + str(self.random.randrange(2)), self.pair(t))
            case 11:
                return (
                    self.fill(t, "@[@]", ("Array", t), Expr(INT, "0"))
                    if self.chance(0.4)
                    else self.fill(t, "@.unwrap_or(#)", ("Option", t), t)
                )
            case 12:
                return self.fill(
                    t,
                    "[$, $][$ % 2]" if self.chance(0.1) else "[$, $][@.abs() % 2]",
                    t,
                    t,
                    Expr(INT, self.pick(["1", "2", "(-3)"])),
                )
            case _:
                return self.field(t)

    def pair(self, t: Type) -> Expr:
        """Return a tuple of two expressions of type `t`."""
        return Expr(("Tuple", t, t), "(", self.expr(t), ", ", self.expr(t), ")")

    def scoped(self, name: str, type_: Type, make: Callable[[], Expr]) -> list[Any]:
        """Return the parts of a value of `type_`, and of what `make` returns while `name` is in scope for it."""
        first = self.expr(type_)
        saved = self.vars
        self.vars = [*self.vars, Var(name, type_, False)]
        body = make()
        self.vars = saved
        return [first, "; ", body]

    def tail(self, t: Type, sited: bool) -> Block:
        """Return a block that ends in an expression of type `t`."""
        return Block(self.side_effects() if self.chance(0.1) else [], self.expr(t, sited))

    def field(self, t: Type) -> Expr | None:
        """Return a field of a struct, of type `t`; None where no struct has one."""
        rows = {
            INT: ("Struct", "P", "x"),
            ("Option", INT): ("Struct", "Q", "o"),
            ("Struct", "P"): ("Struct", "Q", "p"),
            ("Array", STRING): ("Struct", "P", "tags"),
        }
        return self.fill(t, f"@.{rows[t][2]}", rows[t][:2]) if t in rows else None

    def try_catch(self, t: Type, sited: bool) -> Expr:
        """Return a `try` whose body and handlers give `t`; the body may throw a String or an Int."""
        saved, self.in_try = self.in_try, True
        error = self.pick([STRING, INT])
        body: list[Any] = [Stmt("if (", self.expr(BOOL), ") { throw ", self.expr(error), "; }")] if self.chance(0.5) else []
        value = self.fill(t, "(@?)", self.fallible(t, error)) if self.chance(0.6) else self.expr(t, sited)
        self.in_try = saved
        if self.chance(0.4):
            name = self.fresh("e")
            caught = [Stmt(f'emit("ce", [typeof({name}), "${{{name}}}"]);')]
            return Expr(t, "try ", Block(body, value), f" catch {name} ", Block(caught, self.expr(t, sited)))
        if error == STRING and self.chance(0.5):
            return Expr(
                t,
                "try ",
                Block(body, value),
                " catch String(_) ",
                Block([], self.expr(t, sited)),
                " catch ",
                Block([], self.expr(t, sited)),
            )
        return Expr(t, "try ", Block(body, value), " catch ", Block([], self.expr(t, sited)))

    def fallible(self, t: Type, error: Type) -> Type:
        """Return a type of which `?` gives `t`: a Result, or for an Array or tuple one of Results (L-3.12.10)."""
        if t[0] == "Array" and self.chance(0.5):
            return ("Array", ("Result", t[1], error))
        if t[0] == "Tuple" and self.chance(0.5):
            certain = self.random.randrange(1, len(t))
            results = [i == certain or e[0] == "Result" or self.chance(0.4) for i, e in enumerate(t)]
            return ("Tuple", *(("Result", e, error) if results[i] else e for i, e in enumerate(t) if i))
        return ("Result", t, error)

    def narrowed(self, t: Type) -> Expr:
        """Return a block in which a condition says that a variable holds a value (L-3.3.18)."""
        name = self.fresh("q")
        form = self.pick([
            f"if {name} != nil {{ {name} + $ }} else {{ $ }}", f"if {name} == nil {{ $ }} else {{ {name} + $ }}",
            f"if {name}.is_some() && {name} != $ {{ {name} + {name} }} else {{ {name}.unwrap_or($) }}",
            f"match {name} {{ nil => $, _ => {name} + $ }}", f"match {name} {{ Some(v) => v + $, None => $ }}",
        ])  # fmt: skip
        return self.fill(t, f"({{ let {name} = @; {form} }})", ("Nilable", t), t, t)

    def match(self, t: Type, sited: bool) -> Expr:
        """Return a match of a subject of a random type, whose arms give `t`; the last one is `_`."""
        subject = self.pick([INT, STRING, BOOL, ENUM, PAYLOAD, PAYLOAD, ("Box", INT), ("Option", self.scalar()),
                             ("Result", self.scalar(), STRING),
        ("Tuple", INT, STRING),
                             ("Array", INT), ("Nilable", INT), FLOAT, ("Struct", "P"),
                             ("Option", ("Tuple", INT, INT))])  # fmt: skip
        arms: list[Any] = []
        for pattern, bound in self.arms(subject):
            saved = self.vars
            self.vars = [*self.vars, *(Var(n, b, False) for n, b in bound)]
            guard = [" if (", self.expr(BOOL), ")"] if self.chance(0.2) else []
            arms.append(Stmt(pattern, *guard, " => ", self.expr(t, sited), ","))
            self.vars = saved
        arms.append(Stmt("_ => ", self.expr(t, sited), ",", required=True))
        return Expr(t, "match (", self.expr(subject), ") ", Block(arms))

    def arms(self, t: Type) -> list[tuple[str, list[tuple[str, Type]]]]:
        """Return some refutable patterns of a type, each with the names and types that it binds."""
        n = self.fresh("m")
        k = self.int_text()
        rows: dict[str, list[tuple[str, list[tuple[str, Type]]]]] = {
            "Int": [(k, []), ("-1 | 1 | 2", []), ("0..5", []), (f"{n} @ 1..=3", [(n, INT)]), ("..-1", []),
            (f"{n} @ (0 | 7)", [(n, INT)]), ("9223372036854775807..", [])],
            "Float": [("0.0", []), ("..0.5", []), (f"{n} @ 1.0..=2.5", [(n, FLOAT)]), ("2.25..", [])],
            "String": [('"a"', []), ('"" | "b"', []), (f'{n} @ ("k" | "😀a")', [(n, STRING)])],
            "Bool": [("true", []), ("false", [])],
            "Enum": [("E::" + v, []) for v in VARIANTS] + [("E::A | E::C", [])],
            "Box": [(f"Box {{ v: {n}, .. }}", [(n, INT)]), (f"Box {{ n: 0, v: 1 | {k} }}", [])],
            "Nilable": [(self.pick(["nil", "None"]), []), ("1 | 2", []), (f"Some({n})", [(n, INT)]), ("Some(0..5) | None", [])],
            "Struct": [("P { x: 1, .. }", []), (f"P {{ x: {n}, tags: [], .. }}", [(n, INT)]),
            (f"P {{ x: 0..5, tags: [{n}, ..], y: _ }}", [(n, STRING)])],
            "Array": [("[]", []), (f"[{n}]", [(n, INT)]), (f"[{n}, ..]", [(n, INT)]), (f"[1, ..{n}]", [(n, t)]),
            (f"[_, ..{n}, _]", [(n, t)]), ("[0 | 1, 2 | 3, ..]", [])],
            "Tuple": [(f'({n}, "a")', [(n, INT)]), (f'(1, {n}) | (2, {n})', [(n, STRING)]), (f"(0..9, {n})", [(n, STRING)])],
        }  # fmt: skip
        if t == PAYLOAD:
            rows["Enum"] = [("F::U", []), (f"F::V({n})", [(n, INT)]), (f'F::W("a", {n})', [(n, ("Array", INT))]),
            (f"F::W({n}, [] | [_, ..])", [(n, STRING)]), (f"F::X {{ a: {n}, .. }}", [(n, INT)]),
            (f"F::V({n}) | F::X {{ a: {n}, b: _ }}", [(n, INT)])]  # fmt: skip
        if t[0] == "Option":
            inner = (
                [(f"Some({p})", b) for p, b in self.arms(t[1])]
                if t[1][0] != "Tuple"
                else [(f"Some(({n}, 1) | (1, {n}))", [(n, INT)]), ("Some((_, 0))", [])]
            )
            rows["Option"] = [(self.pick(["nil", "None"]), []), (f"Some({n})", [(n, t[1])]), *inner[:2]]
        if t[0] == "Result":
            rows["Result"] = [(f"Ok({n})", [(n, t[1])]), (f"Err({n})", [(n, STRING)]), ('Err("a" | "b")', [])]
        if t[0] == "Enum" and self.chance(0.5):  # variants by their bare names (L-5.8.14)
            rows["Enum"] = [(pattern.replace(f"{t[1]}::", ""), bound) for pattern, bound in rows["Enum"]]
        return self.random.sample(rows[t[0]], self.pick([1, 2]) if len(rows[t[0]]) > 1 else 1)


__all__ = ["ANY", "KEYS", "NIL", "Expressions"]
