"""Statements, functions and whole programs. Everything terminates: loops walk something small, functions call earlier ones.

Hands on `generate` to `generate.py` and to tests. A new statement is a method of `Statements` and a row in `statement`, with how
often it is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declared import declarations
from .expressions import Expressions
from .tree import BOOL, FLOAT, INT, NIL, STRING, Block, Expr, Stmt, Type, program_text, type_text
from .values import KEYS, Base, Var


class Statements(Expressions):
    """Chooses statements at random. Each method for one returns it with those that belong to it, or an empty list where it cannot
    stand; what a statement declares is in scope behind it."""

    def block(self, size: int, extra: list[Var] | None = None, result: Callable[[], Expr] | None = None) -> Block:
        """Return a block of `size` statements, with `extra` variables in scope in it; `result` makes the expression that it ends
        in."""
        saved = self.vars
        self.vars = [*self.vars, *(extra or [])]
        block = Block([s for _ in range(size) for s in self.statement()])
        block.result = result and result()
        self.vars = saved
        return block

    def statement(self) -> list[Stmt]:
        """Return one statement, or a few that belong together."""
        self.depth += 1
        try:
            options: list[tuple[int, Callable[[], list[Stmt]]]] = [
                (22, self.let), (18, self.emit), (14, self.assign), (12, self.change), (6, self.branch), (7, self.loop),
                (4, self.try_statement),
                (3, self.leave), (4, self.destructure), (5, self.let_function), (3, self.dynamic), (2,
                self.match_statement), (2, self.alias), (2, self.closures), (2, self.families), (2, self.round_trip),
                (3, self.open_let),
            ]  # fmt: skip
            if self.depth > 4:
                options = options[:4]
            choice = self.random.choices([m for _, m in options], [w for w, _ in options])[0]
            return choice() or self.emit()
        finally:
            self.depth -= 1

    # ------------------------------------------------------------ variables

    def let(self) -> list[Stmt]:
        type_, mutable = self.type(2), self.chance(0.6)
        name = self.fresh()
        annotated = self.chance(0.6)
        value = self.expr(type_, annotated)
        head = f"let {'mut ' * mutable}{name}" + (f": {type_text(type_)}" if annotated else "")
        self.vars = [*self.vars, Var(name, type_, mutable)]
        return [Stmt(f"{head} = ", value, ";")]

    def open_let(self) -> list[Stmt]:
        """Return a variable whose type its first use says (L-3.2.8), and that use."""
        name, e, s = self.fresh("n"), self.type(1), self.scalar()
        key = self.pick([STRING, INT])
        value = self.expr(e)
        rows: list[tuple[Type, str, list[Any]]] = [
            (("Array", e), "[]", [f"{name}.push(", value, ");"]), (("Array", e), "[]", [f"{name}.insert(0, ", value, ");"]),
            (("Array", e), "[]", [f"{name} = [", value, "];"]),
            (("Map", key, e), "{}", [f"{name}[{self.key(key)}] = ", value, ";"]),
            (("Map", key, e), "{}", [f"{name}.set({self.key(key)}, ", value, ");"]),
            (("Option", e), "None", [f"{name} = Some(", value, ");"]),
            (("Set", s), "Set::new()", [f"{name}.insert(", self.expr(s), ");"]),
            (("Stack", s), "Stack::new()", [f"{name}.push(", self.expr(s), ");"]),
            (("Queue", s), "Queue::new()", [f"{name}.enqueue(", self.expr(s), ");"]),
        ]  # fmt: skip
        type_, start, use = self.pick(rows)
        before = [Stmt(f'emit("n", "${{{name}}}");')] if self.chance(0.3) else []
        self.vars = [*self.vars, Var(name, type_, True)]
        return [Stmt(f"let mut {name} = {start};", required=True), *before, Stmt(*use, required=True)]

    def alias(self) -> list[Stmt]:
        """Return a second name for a container, then a change through one of the two (L-5.5.2)."""
        known = [v for v in self.all_visible() if v.type[0] in ("Array", "Map", "Tuple", "Struct", "Option")]
        if not known:
            return []
        v, name = self.pick(known), self.fresh("a")
        self.vars = [*self.vars, Var(name, v.type, True)]
        wrapped = self.chance(0.3)
        statements = [Stmt(f"let mut {name} = {v.name};")]
        if wrapped:
            self.vars = [*self.vars, Var(name + "w", ("Array", v.type), True)]
            statements.append(Stmt(f"let mut {name}w = [{name}, {v.name}];"))
        return [*statements, *self.change(), Stmt(f'emit("alias", ["${{{name}}}", "${{{v.name}}}"]);')]

    def let_function(self) -> list[Stmt]:
        t = ("Fn", tuple(self.scalar() for _ in range(self.random.randrange(3))), self.type(1))
        name = self.fresh("f")
        value = self.closure(t)
        self.vars = [*self.vars, Var(name, t, False)]
        return [Stmt(f"let {name}: {type_text(t)} = ", value, ";")]

    def destructure(self) -> list[Stmt]:
        a, b = self.fresh("d"), self.fresh("d")
        t, u = self.scalar(), self.type(1)
        rows: list[tuple[str, Type, list[Var]]] = [
            (f"({a}, mut {b})", ("Tuple", t, u), [Var(a, t, False), Var(b, u, True)]),
            (f"({a}, ({b}, _))", ("Tuple", t, ("Tuple", u, INT)), [Var(a, t, False), Var(b, u, False)]),
            (f"P {{ x: {a}, tags: mut {b}, .. }}", ("Struct", "P"), [Var(a, INT, False), Var(b, ("Array", STRING), True)]),
            (f"[..{a}]", ("Array", u), [Var(a, ("Array", u), False)]),
        ]  # fmt: skip
        pattern, type_, variables = self.pick(rows)
        value = self.expr(type_)
        self.vars = [*self.vars, *variables]
        return [Stmt(f"let {pattern} = ", value, ";")]

    def place(self) -> tuple[str, Type] | None:
        """Return a place rooted in a mutable variable, a few steps deep, and its type; None without such a variable."""
        roots = [v for v in self.all_visible() if v.mutable]
        if not roots:
            return None
        v = self.pick(roots)
        text, t = v.name, v.type
        while t[0] in ("Array", "Map", "Tuple", "Struct", "Box") and self.chance(0.6):
            text, t = self.step(text, t)
        return text, t

    def step(self, text: str, t: Type) -> tuple[str, Type]:
        """Return a place one step inside of `text`, a place of type `t`, and its type."""
        if t[0] == "Array":
            return f"{text}[{self.pick(['0', '0', '0', '1', '2'])}]", t[1]
        if t[0] == "Map":
            return (
                f"{text}.{self.pick(['a', 'b', 'k'])}" if t[1] == STRING and self.chance(0.3) else f"{text}[{self.key(t[1])}]"
            ), t[2]
        if t[0] == "Tuple":
            i = self.random.randrange(len(t) - 1)
            return f"{text}.{i}", t[1 + i]
        if t[0] == "Box":
            return (f"{text}.v", t[1]) if self.chance(0.7) else (f"{text}.n", INT)
        fields: dict[str, list[tuple[str, Type]]] = {
            "P": [("x", INT), ("y", FLOAT), ("tags", ("Array", STRING))], "Q": [("p", ("Struct", "P")), ("o", ("Option", INT))],
            "geo::Dot": [("x", INT), ("m", ("Map", STRING, INT))],
        }  # fmt: skip
        name, type_ = self.pick(fields[t[1]])
        return f"{text}.{name}", type_

    def assign(self) -> list[Stmt]:
        place = self.place()
        if place is None:
            return []
        text, t = place
        if t[0] == "Result" and self.in_try:  # whether L-5.12.2 holds for an assignment is not settled
            return []
        if t == INT and self.chance(0.6):
            return [Stmt(f"{text} {self.pick(['+=', '-=', '+='])} ", self.modest(INT), ";")]
        if t == FLOAT and self.chance(0.5):
            return [Stmt(f"{text} {self.pick(['+=', '-=', '*=', '/='])} ", self.modest(FLOAT), ";")]
        if t == STRING and self.chance(0.5):
            return [Stmt(f"{text} += ", self.literal(STRING, False), ";")]
        return [Stmt(f"{text} = ", self.modest(t), ";")]

    def modest(self, t: Type) -> Expr:
        """Return an expression of a type. In a loop a value may not be made of itself twice, or it would double every round."""
        if self.loops and t not in (INT, FLOAT, BOOL):
            return self.literal(t, True)
        return self.expr(t, True)

    def change(self) -> list[Stmt]:
        """Return a call of a *mut* method on a place."""
        place = self.place()
        if place is None:
            return []
        text, t = place
        e = t[-1]
        if t[0] not in ("Array", "Map"):
            row: list[Any] = self.method_change(t)
            if not row:
                return []
        elif t[0] == "Map":
            key = Expr(t[1], self.key(t[1]))
            row = self.pick([[".set(", key, ", ", self.modest(e), ")"], [".delete(", key, ")"], [".clear()"]])
        else:
            row = self.pick([[".push(", self.modest(e), ")"], [".push(", self.modest(e), ")"], [".pop()"],
            [".insert(0, ", self.modest(e), ")"], [".reverse()"],
                             [".sort()"] if e in (INT, FLOAT, STRING) else [".reverse()"],
                             [".remove(0)"] if self.chance(0.2) else [".clear()"],
                             [".sort_by(|q, r| r - q)"] if e == INT and self.chance(0.2) else [".push(", self.modest(e),
                             ")"]])  # fmt: skip
        if self.chance(0.3):
            return [Stmt(f'emit("m", {text}', *row, ");")]
        return [Stmt("let _ = " if self.chance(0.2) else "", text, *row, ";")]

    # ------------------------------------------------------------ effects

    def emit(self) -> list[Stmt]:
        known = self.all_visible()
        if known and self.chance(0.6):
            v = self.pick(known)
            shown = f'"${{{v.name}}}"' if v.type[0] == "Fn" or self.chance(0.4) else v.name
            return [Stmt(f'emit("{self.pick("ou")}", {shown});')]
        if self.chance(0.2):
            return [Stmt('emit("s", "', self.pick(["", "${1}"]), "${", self.expr(self.type(2)), '}");')]
        return [Stmt('emit("e", ', self.expr(self.type(2), self.chance(0.1)), ");")]

    def dynamic(self) -> list[Stmt]:
        """Return a value behind Any and uses of it (L-3.7.1)."""
        t = self.pick([INT, FLOAT, STRING, ("Array", INT), ("Map", STRING, INT), ("Struct", "P"), ("Tuple", INT, STRING)])
        name = self.fresh("y")
        statements = [Stmt(f"let mut {name}: Any = ", self.expr(t), ";")]
        uses = {
            "Int": [
                f"({name} + 1.5)",
                f"({name} * 2)",
                f"({name} < 3.0)",
                f"({name} == 1.0)",
                f"-{name}",
                f"{name}.abs()",
                f'("n" + {name})',
            ],
            "Float": [f"({name} - 1)", f"{name}.floor()", f"({name} as Int)", f"({name} >= 0)"],
            "String": [f"({name} + 1)", f"{name}.len()", f"{name}[0..1]", f"({name} as String)", f"{name}.chars()"],
            "Array": [
                f"{name}.map(|q| q * 2)",
                f"{name}.len()",
                f"{name}[..1]",
                f"{name}.push(2.5)",
                f"{name}.pop()",
                f"{name}.sum()",
                f"{name}.join()",
            ],
            "Map": [f"{name}.a", f"{name}.keys()", f'{name}.has("a")', f'{name}.delete("a")', f'{name}.set("n", nil)'],
            "Struct": [f"{name}.x", f"{name}.tags.len()", f"{name}.zz", f"({name}.y == 1)"],
            "Tuple": [f"{name}.0", f"{name}[1]", f"{name}.len()"],
        }[t[0]]
        return statements + [Stmt(f'emit("y", {use});') for use in self.random.sample(uses, 2)] + [Stmt(f'emit("y", {name});')]

    def leave(self) -> list[Stmt]:
        """Return `break`, `continue`, `return` or `throw` under a condition."""
        ways: list[Any] = []
        for label in self.loops:
            word = f" '{label}" if label else ""
            ways += [[f"break{word};"], [f"continue{word};"]] if label or label is self.loops[-1] else []
        if self.result is not None:
            ends = self.ending if self.result[0] == "Result" else lambda t: self.expr(t, True)
            ways.append(["return ", ends(self.result), ";"] if self.result != NIL else ["return;"])
        if self.in_try or self.result is not None and self.result[0] == "Result" and self.result[2] == STRING:
            ways.append(["throw ", self.expr(STRING), ";"])
        return [Stmt("if (", self.expr(BOOL), ") { ", *self.pick(ways), " }")] if ways else []

    def branch(self) -> list[Stmt]:
        parts: list[Any] = ["if (", self.expr(BOOL), ") ", self.block(2)]
        return [Stmt(*parts, *([" else ", self.block(2)] if self.chance(0.4) else []))]

    def match_statement(self) -> list[Stmt]:
        t = self.pick([INT, STRING, ("Option", self.scalar()), ("Array", INT)])
        subject = self.expr(t)
        arms = [Stmt(p, " => ", self.block(1, [Var(n, b, False) for n, b in bound]), ",") for p, bound in self.arms(t)]
        return [Stmt("match (", subject, ") ", Block([*arms, Stmt("_ => ", self.block(1), required=True)]))]

    def loop(self) -> list[Stmt]:
        if len(self.loops) >= 2:
            return []
        label = self.fresh("l") if self.chance(0.3) else None
        head = f"'{label}: " if label else ""
        name = self.fresh("i")
        kind = self.random.randrange(6)
        saved, self.loops = self.loops, [*self.loops, label]
        if kind == 0:
            statements = [Stmt(f"let mut {name} = 0;", required=True), self.counted(head, name)]
        else:
            iterable, type_, pattern = self.iterable(name)
            bound = [Var(n, b, False) for n, b in type_]
            body = self.block(self.pick([1, 2, 3]), bound)
            self.loops = saved
            iterable_code = iterable if isinstance(iterable, str) else self.expr(iterable)
            statements = [Stmt(f"{head}for {pattern} in ", "(", iterable_code, ") ", body)]
        self.loops = saved
        return statements

    def counted(self, head: str, name: str) -> Stmt:
        """Return a loop that counts the variable `name` up to 3; `head` is its label."""
        body = self.block(2, [Var(name, INT, False)])
        body.statements.insert(0, Stmt(f"{name} += 1;", required=True))
        if self.chance(0.5):
            return Stmt(f"{head}while {name} < 3 ", body)
        body.statements.insert(1, Stmt(f"if {name} > 3 {{ break; }}", required=True))
        return Stmt(f"{head}loop ", body)

    def iterable(self, name: str) -> tuple[Any, list[tuple[str, Type]], str]:
        """Return what a loop walks, a text or the type of an expression; the names that its pattern binds, with their types; and
        the pattern, made of `name`."""
        u, s = name + "b", self.scalar()
        return self.pick([
            (self.pick(["0..3", "1..=2", "3..1", "-1..1", "9223372036854775806..", "0..0"]), [(name, INT)], name),
            (("Array", s), [(name, s)], name), (("Map", STRING, s), [(name, STRING), (u, s)], f"({name}, {u})"),
            (("Array", ("Tuple", INT, s)), [(name, INT), (u, s)], f"({name}, {u})"), ('"a😀é"', [(name, STRING)], name),
            (("Tuple", s, s), [(name, s)], name),
        ])  # fmt: skip

    def try_statement(self) -> list[Stmt]:
        saved, self.in_try = self.in_try, True
        thrown = self.chance(0.5)
        body = self.block(2, [], (lambda: self.expr(("Result", INT, STRING))) if thrown else None)
        if body.result is not None:
            body.statements.append(Stmt(body.result, ";"))
            body.result = None
        self.in_try = saved
        name = self.fresh("e")
        first = [" catch String(", name, ") ", self.block(1, [Var(name, STRING, False)])] if self.chance(0.6) else []
        if self.chance(0.4):
            last = self.fresh("e")
            first += [f" catch {last} ", self.block(1)]
            first[-1].statements.insert(0, Stmt(f'emit("ce", [typeof({last}), "${{{last}}}"]);'))
            return [Stmt("try ", body, *first)]
        return [Stmt("try ", body, *first, " catch ", self.block(1))]

    def closures(self) -> list[Stmt]:
        """Return closures made in a loop: each round has its own variables (L-5.9.3)."""
        fs, i, k = self.fresh("fs"), self.fresh("i"), self.fresh("k")
        saved, first = self.vars, self.expr(INT)
        self.vars = [*self.vars, Var(i, INT, False), Var(k, INT, True)]
        body = Block([Stmt(f"let mut {k} = ", first, ";"), Stmt(f"{fs}.push(|| ", Block([Stmt(f"{k} = {k} % 99 + {i};")],
        self.expr(INT)), ");"), *self.statement()])  # fmt: skip
        self.vars = saved
        calls = self.pick([f"[{fs}.map(|f| f()), {fs}.map(|f| f())]", f"{fs}[1]()"])
        return [Stmt(f"let mut {fs}: Array<fn() -> Int> = [];"), Stmt(f"for {i} in 0..3 ", body), Stmt(f'emit("fs", {calls});')]

    def families(self) -> list[Stmt]:
        """Return built-in errors: thrown, propagated, caught by family, inside each other."""
        e, n = self.fresh("e"), self.fresh("n")
        ways = [
            [f"let {n} = ", self.receiver(STRING), f'.parse_int()?;\nemit("pi", {n});'],
            ["if (", self.expr(BOOL), ') { throw RuntimeError::new("r"); }'], ["throw ", self.expr(STRING), ";"],
            ["json::parse(", self.expr(STRING, True), ")?;"],
            [f"let {n} = std::fs::read_file(", self.path(), f')?;\nemit("rf", {n});'],
            ["std::fs::write_file(", self.path(), ", ", self.expr(STRING, True), ")?;"],
            [f"let {n} = std::env::require(", self.variable(), f')?;\nemit("rv", {n});'],
            ["(try { throw ", self.expr(INT), '; } catch Int(q) { throw "${q}"; });'],
        ]  # fmt: skip
        body = Block([Stmt(*self.pick(ways)), *([Stmt(*self.pick(ways))] if self.chance(0.4) else [])])
        clauses = [
            [f' catch ParseError({e}) {{ emit("f", [{e}.kind, {e}.input]); }}'],
            [f' catch Error({e}) {{ emit("f", {e}.kind); }}'],
            [f' catch FsError({e}) {{ emit("f", [{e}.variant, {e}.path, {e}.flag]); }}'],
            [f' catch EnvError({e}) {{ emit("f", [{e}.variant, {e}.name, {e}.flag]); }}'],
            [f' catch RuntimeError({e}) {{ emit("f", {e}.message); }}'], [f' catch String({e}) {{ emit("f", {e}); }}'],
        ]  # fmt: skip
        chosen = [part for clause in self.random.sample(clauses, self.pick([1, 2])) for part in clause]
        last = self.pick([f"Any({e})", e])
        return [Stmt("try ", body, *chosen, f' catch {last} {{ emit("f", typeof({e})); }}')]

    def round_trip(self) -> list[Stmt]:
        """Return statements that turn a value into JSON and back, behind Any."""
        name = self.fresh("j")
        statements = [Stmt(f"let {name} = json::parse(json::stringify(", self.expr(self.type(2)), ")).unwrap();")]
        return [*statements, Stmt(f'emit("j", {name});'), Stmt(f'emit("j", "${{{name}}} ${{typeof({name})}}");')]

    # ------------------------------------------------------------ functions, programs

    def function(self) -> Stmt:
        """Return a function that later ones and `main` may call."""
        name = self.fresh("g")
        parameters = [self.type(1) for _ in range(self.random.randrange(4))]
        result = self.pick([self.type(2), self.scalar(), ("Result", self.scalar(), STRING)])
        names = [self.fresh("p") for _ in parameters]
        self.vars = [Var(n, p, False) for n, p in zip(names, parameters, strict=True)]
        self.result, self.loops, self.in_try = result, [], False
        body = self.block(self.random.randrange(4), [], lambda: self.function_end(result))
        self.vars, self.result = [], None
        self.functions.append((name, parameters, result))
        heads = ", ".join(f"{n}: {type_text(p)}" for n, p in zip(names, parameters, strict=True))
        return Stmt(f"fn {name}({heads}) -> {type_text(result)} ", body)

    def function_end(self, result: Type) -> Expr:
        """Return what a function of a result type ends in: of a Result now and then `?`, in an Ok or wrapped (L-3.3.19)."""
        if result[0] != "Result":
            return self.expr(result, True)
        if self.chance(0.5):
            return self.ending(result)
        template = "(@?)" if result[1][0] != "Result" and self.chance(0.5) else "Ok((@?))"
        return self.fill(result, template, self.fallible(result[1], result[2]))

    def recursion(self) -> Stmt:
        """Return a recursive function of limited depth that later ones and `main` may call."""
        t = self.scalar()
        name, saved = self.fresh("g"), self.vars
        self.vars = [Var("n", INT, False), Var("acc", t, False)]
        step = self.expr(t, True) if t in (INT, FLOAT, BOOL) else self.literal(t, True)
        self.vars = saved
        self.functions.append((name, [("Bool",), t], t))
        written = type_text(t)
        outer = f"fn {name}(deep: Bool, acc: {written}) -> {written} {{ r{name}(if deep {{ 4 }} else {{ 1 }}, acc) }}\n"
        inner = f"fn r{name}(n: Int, acc: {written}) -> {written} {{ if n <= 0 {{ acc }} else {{ r{name}(n - 1, "
        return Stmt(outer + inner, step, ") } }")

    def program(self) -> list[Stmt]:
        """Return the items of a program: the declarations that it needs, functions, and `main`, which shows its last
        variables."""
        items: list[Stmt] = []
        for _ in range(self.random.randrange(4)):
            items.append(self.recursion() if self.chance(0.2) else self.function())
        self.vars, self.result, self.loops = [], NIL, []
        rows = [s for _ in range(self.pick([2, 4, 6, 9, 14, 22])) for s in self.statement()]
        for v in self.all_visible()[-6:]:
            rows.append(Stmt(f'emit("end", "${{{v.name}}}");'))
        items.append(Stmt("fn main() ", Block(rows), required=True))
        return [*declarations(program_text(items)), *items]


def generate(seed: int) -> list[Stmt]:
    """Return the items of the program of a seed: the first of its tries that has 5 to 200 lines, else the hundredth."""
    for attempt in range(100):
        items = Statements(f"{seed}/{attempt}").program()
        if 5 <= program_text(items).count("\n") <= 200:
            break
    return items


__all__ = ["BOOL", "KEYS", "Base", "generate", "program_text"]
