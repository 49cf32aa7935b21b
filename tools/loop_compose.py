"""The lines of the loop for a run of opcodes, made from the functions that say what each of them does.

Hands on to `gen_loop.py` `Meaning`, `Library` and `Run`, whose `body` returns the lines, and LOOP_NAMES, the variables of the
loop; `Library` and `Run` to `choose_runs.py` too. The functions are put behind one another, with a stack of expressions between
them: what a run pushes and takes again never reaches the operand stack, since a push and a pop cost more than the dispatch that a
run saves. Reads of locals and fields wait until somebody needs them, and are made before the next write. Where an opcode moves to
another instruction, the run is left, with the operand stack as it is there.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Mapping

from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.opcodes import BY_NAME, Opcode
from loop_tree import MARKS, Line

NOT_PUSHED, SLICE_ENDS = "NOTHING", "SUSPENDED"  # what a function of the template returns beside values
# of the loop's variables (vm/interp/template.py), those that have another name in the loop
RENAMED = {"stack": "st"}
FROM_CONTEXT = {"locals_": "locs", "cells": "cells", "machine": "machine"}
LOOP_NAMES = {
    "machine", "task", "ins", "locs", "cells", "code", "st", "tos", "frames", "limit", "debt", "fuel", "arg", "op", *MARKS,
    "error", "back",
}  # fmt: skip
# Calls that neither write anything nor fail, so that they may wait
HARMLESS = {"type", "len", "isinstance", "getattr"}
MAY_WAIT = (
    ast.Name, ast.Constant, ast.Subscript, ast.Attribute, ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Tuple,
    ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
READS = (ast.Subscript, ast.Attribute, ast.Call)
# Opcodes that give a number or fail, of whatever values (vm/interp/ops.py)
NUMERIC = {"ADD_INT", "SUB_INT", "MUL_INT", "DIV_INT", "REM_INT"}


LEFT_CALL = re.compile(r"\bloop\.\w+\(")  # of a method of `Loop`, whose text does not stand in its place


class Meaning:
    """What one opcode does: the values it takes, deepest first, and its function. `context` are the parameters that are no
    values, `group` is the one that takes a counted number of them, None for none; `row` is None for an opcode of linked code
    only."""

    def __init__(self, name: str, function: ast.FunctionDef) -> None:
        self.name = name
        self.row: Opcode | None = BY_NAME.get(name)
        self.function = function
        self.parameters = [a.arg for a in function.args.args]
        context = (*FROM_CONTEXT, "operand", "loop")
        self.takes = [p for p in self.parameters if p not in context]
        self.context = [p for p in self.parameters if p in context]
        self.group = next((p for p in self.takes if self.row is not None and f"{p}*" in self.row.pops), None)

    @property
    def fits(self) -> bool:
        """Whether the parameters are the left side of the stack effect, then what else there is."""
        takes = self.takes if self.row is None else [p.rstrip("*") for p in self.row.pops]
        return self.parameters == [*takes, *self.context]

    def needs_operand(self, count: str) -> bool:
        """Return whether the lines read the operand. `count`: the size of its group, "" where only the operand says it."""
        return "operand" in self.context or (self.group is not None and not count)


def is_truth(value: ast.expr) -> bool:
    """Return whether an expression gives a Bool for certain."""
    if isinstance(value, ast.BoolOp):
        return all(map(is_truth, value.values))
    return isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))


def is_plain(value: ast.expr) -> bool:
    """Return whether an expression is a name or a constant, which costs nothing to repeat."""
    return isinstance(value, (ast.Name, ast.Constant))


def is_read(value: ast.expr) -> bool:
    """Return whether an expression depends on what a write may change."""
    return any(isinstance(node, READS) for node in ast.walk(value))


def may_wait(value: ast.expr) -> bool:
    """Return whether an expression can be evaluated later, or never."""
    return all(isinstance(node, MAY_WAIT) or called(node) in HARMLESS for node in ast.walk(value))


def called(node: ast.AST | None) -> str:
    """Return the name of the function that an expression calls; "" for another expression."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def uses(name: str, nodes: list[ast.stmt] | list[ast.expr]) -> int:
    """Return how often a name is read."""
    return sum(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for node in nodes for n in ast.walk(node)
    )


def assigned(nodes: list[ast.stmt]) -> dict[str, None]:
    """Return the names that statements assign, in their order, as keys."""
    walked = (n for node in nodes for n in ast.walk(node))
    return {n.id: None for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}


def may_write(statements: list[ast.stmt], raises: Callable[[str], bool]) -> bool:
    """Return whether statements may change more than their own variables, and go on."""
    for node in (n for statement in statements for n in ast.walk(statement)):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Call) and called(node) not in HARMLESS and not raises(called(node)):
            return True
    return False


class Substitution(ast.NodeTransformer):
    """Puts expressions in the places of names, and the loop's variables in the places of the attributes of its parameter, which
    `loop` names."""

    def __init__(self, values: Mapping[str, ast.expr], loop: str = "loop") -> None:
        self.values = values
        self.loop = loop

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id)
        if value is None:
            return node
        if isinstance(node.ctx, ast.Load):
            return copy.deepcopy(value)
        assert isinstance(value, ast.Name)
        return ast.Name(value.id, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.loop:
            return ast.Name(RENAMED.get(node.attr, node.attr), node.ctx)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == self.loop:
            node.args = [self.visit(a) for a in node.args]
            node.func = ast.Name(f"loop.{function.attr}", ast.Load())  # until the text of the method stands here
            return node
        self.generic_visit(node)
        spread = [a.value.elts if isinstance(a, ast.Starred) and isinstance(a.value, ast.List) else [a] for a in node.args]
        node.args = [argument for part in spread for argument in part]
        return node


class Truths(ast.NodeTransformer):
    """Replaces comparisons of the Bool `name` with True and False by what they come to."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        right = node.comparators[0]
        if not (isinstance(node.left, ast.Name) and node.left.id == self.name and isinstance(right, ast.Constant)):
            return node
        return node.left if isinstance(node.ops[0], ast.Is) is right.value else ast.UnaryOp(ast.Not(), node.left)


class Products(ast.NodeTransformer):
    """Takes back the comparison of two factors that are `numbers` for certain: it keeps texts from being repeated."""

    def __init__(self, numbers: set[str]) -> None:
        self.numbers = numbers

    def visit_If(self, node: ast.If) -> ast.stmt:
        names = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        return ast.Pass() if names <= self.numbers and all(map(is_docstring, node.body)) and not node.orelse else node


class Floats(ast.NodeTransformer):
    """Takes back `+ -0.0` behind, and `* 1.0` within, what is a Float for certain, as one of `names` is: they are there to fail
    for other values, or to make Floats of Ints, which the operation does by itself then."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = node.left, node.right
        if isinstance(node.op, ast.Add) and ast.unparse(right) == "-0.0" and is_float(left, self.names):
            return left
        if not (isinstance(node.op, ast.Mult) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult)):
            return node
        if ast.unparse(left.right) == "1.0" and (is_float(left.left, self.names) or is_float(right, self.names)):
            return ast.BinOp(left.left, node.op, right)
        return node


def is_float(value: ast.expr, names: set[str]) -> bool:
    """Return whether an expression gives a Float or fails, where `names` are Floats: of a sum, difference or product, one part is
    enough."""
    if isinstance(value, ast.BinOp):
        certain = is_float(value.left, names) or is_float(value.right, names)
        return certain and isinstance(value.op, (ast.Add, ast.Sub, ast.Mult))
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and is_float(value.operand, names)
    return (isinstance(value, ast.Constant) and type(value.value) is float) or (isinstance(value, ast.Name) and value.id in names)


class Library:
    """The functions that runs are made of: those of opcodes, by name, and others whose text may stand for their call. `raises`
    says whether a function of this name never returns; `sizes` gives the size of a counted group, by the kind of the operand;
    `reserved`: names that have a meaning of their own in these functions."""

    def __init__(
        self, meanings: dict[str, Meaning], inlined: dict[str, ast.FunctionDef], raises: Callable[[str], bool],
        sizes: Mapping[k.OperandKind, ast.Lambda], reserved: set[str],
    ) -> None:  # fmt: skip
        self.meanings = meanings
        self.inlined = inlined
        self.raises = raises
        self.sizes = sizes
        self.reserved = reserved

    def ends(self, statements: list[ast.stmt]) -> bool:
        """Return whether statements never come to their end."""
        if not statements:
            return False
        last = statements[-1]
        if isinstance(last, ast.If):
            return self.ends(last.body) and self.ends(last.orelse)
        return isinstance(last, (ast.Return, ast.Raise)) or self.is_raising_call(last)

    def is_raising_call(self, statement: ast.stmt) -> bool:
        """Return whether a statement is the call of a function that never returns."""
        return isinstance(statement, (ast.Expr, ast.Return)) and self.raises(called(statement.value))

    def inlined_call(self, value: ast.expr | None) -> ast.FunctionDef | None:
        """Return the function whose text stands for a call, None for any other expression."""
        return self.inlined.get(called(value))


Results = list[ast.expr] | None  # what a path pushes; None: it does not come to its end


class Run:
    """The lines of one run, as they are written. A name of a run is that of an opcode, with `/n` where its group has n values.
    The constructor, as `body`, raises AssertionError for opcodes that cannot stand behind one another, and `body` for functions
    in forms that it cannot take (vm/interp/template.py)."""

    def __init__(self, library: Library, names: tuple[str, ...]) -> None:
        self.library = library
        self.names = names
        self.lines: list[Line] = []
        self.indent = 0
        self.values: list[ast.expr] = []  # what is pushed and not yet on the operand stack
        self.taken = False  # whether `tos` is used up
        self.moved = False  # whether the path has gone to another instruction
        self.at = 0
        self.used = LOOP_NAMES | library.reserved
        self.floats: set[str] = set()  # names of what is a Float for certain
        self.numbers: set[str] = set()  # names of what is a number for certain
        # the machine looks whether the next node is a `?`, and the linker puts CONCAT and STORE together before anything else
        assert len(names) == 1 or (names[0] != "TRY" and "CONCAT" not in names), f"{names} is no run"
        held = [i for i, name in enumerate(names) if self.meaning(name).needs_operand(name.partition("/")[2])]
        self.operands = {i: "arg" if len(held) == 1 else f"o{i}" for i in held}  # by the index of its opcode
        self.used.update(self.operands.values())

    def meaning(self, name: str) -> Meaning:
        """Return the meaning of an opcode of the run."""
        return self.library.meanings[name.partition("/")[0]]

    def body(self) -> list[Line]:
        """Write all lines and return them. Raise AssertionError where the opcodes cannot stand behind one another."""
        if len(self.operands) > 1:
            self.say(f"{', '.join(self.operands.values())} = arg")
        for at, name in enumerate(self.names):
            self.at = at
            results = self.opcode(name)
            if results is None:
                assert at == len(self.names) - 1, f"{name} cannot stand within {self.names}"
                return self.lines
            for result in results:
                self.values.append(result if may_wait(result) else self.keep(result, "value"))
                if name in NUMERIC and isinstance(self.values[-1], ast.Name):
                    self.numbers.add(self.values[-1].id)
        raise AssertionError(f"{self.names} does not end")

    # ------------------------------------------------------------ lines

    def say(self, text: str) -> None:
        """Add a line. Raise AssertionError for a call of a method of `Loop`, which the generated loop does not have."""
        assert not LEFT_CALL.search(text), f"{self.names[self.at]}: a method of Loop is called within `{text.strip()}`"
        self.lines.append((self.indent, text, None if self.moved else self.at))

    def write(self, statement: ast.stmt) -> None:
        """Add the lines of a statement. Raise AssertionError for a `return` in it, which would end the whole loop."""
        assert not any(isinstance(node, ast.Return) for node in ast.walk(statement)), (
            f"{self.names[self.at]}: a `return` stands where the generator cannot take it"
        )
        for line in ast.unparse(ast.fix_missing_locations(statement)).splitlines():
            self.say(line)

    def fork(self) -> Run:
        """Return a run that goes on from here on a path of its own, one level deeper; its lines are apart."""
        other = copy.copy(self)
        other.lines, other.values, other.indent = [], list(self.values), self.indent + 1
        return other

    def fresh(self, name: str) -> str:
        """Return a name like this that the run has not used yet; `_` stays."""
        if name == "_":
            return name
        number, free_name = 1, name
        while free_name in self.used:
            number += 1
            free_name = f"{name}{number}"
        self.used.add(free_name)
        return free_name

    def keep(self, value: ast.expr, name: str) -> ast.Name:
        """Add a line that evaluates a value here, and return the name for it."""
        free_name = self.fresh(name)
        self.say(f"{free_name} = {ast.unparse(value)}")
        if is_float(value, self.floats):
            self.floats.add(free_name)
        if self.is_number(value):
            self.numbers.add(free_name)
        return ast.Name(free_name, ast.Load())

    def is_number(self, value: ast.expr) -> bool:
        """Return whether an expression gives a number or fails."""
        return is_float(value, self.floats) or (isinstance(value, ast.Name) and value.id in self.numbers)

    # ------------------------------------------------------------ the stack of expressions

    def take(self, name: str) -> ast.expr:
        """Return the topmost value, which is then off the stack of expressions, or else off the operand stack."""
        if self.values:
            return self.values.pop()
        if self.taken:
            return self.keep(ast.parse("st.pop()", mode="eval").body, name)
        self.taken = True
        return ast.Name("tos", ast.Load())

    def settle(self) -> None:
        """Read what waits, before a write."""
        self.values = [self.keep(value, "value") if is_read(value) else value for value in self.values]

    def restore(self) -> None:
        """Add the lines that bring the operand stack to what it is here."""
        for text in [*([] if self.taken or not self.values else ["tos"]), *map(ast.unparse, self.values[:-1])]:
            self.say(f"st.append({text})")
        if self.values:
            top = ast.unparse(self.values[-1])
            if top != "tos":
                self.say(f"tos = {top}")
        elif self.taken:
            self.say("tos = st.pop()")

    def group(self, meaning: Meaning, count: str, needed: bool) -> ast.expr:
        """Return the counted values as an expression: of a known number, or as many as the operand says. They are off the stack
        then; unless they are `needed`, they are only dropped."""
        assert meaning.row is not None and meaning.group is not None
        if count:
            parts = [self.take("value") for _ in range(int(count))]
            return ast.List(parts[::-1], ast.Load())
        if not self.taken:
            self.say("st.append(tos)")
        for value in self.values:
            self.say(f"st.append({ast.unparse(value)})")
        self.values, self.taken = [], True
        size = self.library.sizes[meaning.row.kind]
        operand = ast.Name(self.operands[self.at], ast.Load())
        number = ast.unparse(Substitution({size.args.args[0].arg: operand}).visit(copy.deepcopy(size.body)))
        group = self.fresh(meaning.group)
        if needed:
            self.say(f"{group} = st[len(st) - {number}:]")
        self.say(f"del st[len(st) - {number}:]")
        return ast.Name(group, ast.Load())

    # ------------------------------------------------------------ one opcode

    def opcode(self, name: str) -> Results:
        """Write the lines of one opcode; return what it pushes, None if it does not come to its end."""
        meaning = self.meaning(name)
        body = [copy.deepcopy(s) for s in meaning.function.body if not is_docstring(s)]
        values: dict[str, ast.expr] = {
            key: ast.Name(loop_name, ast.Load()) for key, loop_name in FROM_CONTEXT.items() if key in meaning.context
        }
        if "operand" in meaning.context:
            values["operand"] = ast.Name(self.operands[self.at], ast.Load())
        count = name.partition("/")[2]
        bound: dict[str, ast.expr] = {}
        for parameter in reversed(meaning.takes):
            if parameter == meaning.group:
                bound[parameter] = self.group(meaning, count, uses(parameter, body) > 0)
            else:
                bound[parameter] = self.take(parameter)
        if may_write(body, self.library.raises):
            self.settle()
        return self.bind(body, {p: bound[p] for p in meaning.takes}, values)

    def bind(self, body: list[ast.stmt], bound: dict[str, ast.expr], values: dict[str, ast.expr]) -> Results:
        """Write a body with `bound` expressions for its parameters, which get names where they are used more than once or too
        late; `values` stand for its other names, and are added to. Return as `opcode`."""
        changed = assigned(body)
        products = Products({p for p, value in bound.items() if self.is_number(value)} - {*changed})
        body = [s for s in map(products.visit, body) if not is_docstring(s)]
        for parameter, value in bound.items():
            if is_truth(value) and parameter not in changed:
                body = without_repeats([Truths(parameter).visit(s) for s in body], self.library)
            number, first = uses(parameter, body), uses(parameter, first_of(body))
            exclusive = isinstance(value, ast.Name) and not any(uses(value.id, [other]) for other in self.values)
            if parameter in changed:
                plain = exclusive
            else:
                plain = is_plain(value) or (number <= 1 and (first == number or not is_read(value)))
            values[parameter] = kept = value if plain else self.keep(value, parameter)
            if parameter in changed and isinstance(kept, ast.Name):
                self.floats.discard(kept.id)
                self.numbers.discard(kept.id)
        for local in changed:
            if local not in values:
                values[local] = ast.Name(self.fresh(local), ast.Load())
        return self.block([Floats(self.floats).visit(Substitution(values).visit(s)) for s in body])

    def block(self, statements: list[ast.stmt]) -> Results:
        """Write statements whose names are those of the loop; return as `opcode`."""
        if not statements:
            return self.exit([])
        first, rest = statements[0], statements[1:]
        if self.library.is_raising_call(first) or isinstance(first, ast.Raise):
            self.write(ast.Expr(first.value) if isinstance(first, ast.Return) and first.value is not None else first)
            return None
        if isinstance(first, ast.Return):
            return self.result(first.value)
        if isinstance(first, (ast.Expr, ast.Assign)) and (function := self.library.inlined_call(first.value)) is not None:
            return self.inline(first, function, rest)
        if isinstance(first, ast.If):
            return self.branch(first, rest)
        if isinstance(first, ast.For) and self.library.ends(first.body):
            return self.walk(first, rest)
        self.write(first)
        self.moved = self.moved or "ins" in assigned([first])
        return self.block(rest)

    def result(self, value: ast.expr | None) -> Results:
        """Write a `return` of a value; return as `opcode`."""
        if isinstance(value, ast.Name) and value.id == SLICE_ENDS:
            assert self.at == len(self.names) - 1, f"{self.names[self.at]} cannot stand within {self.names}"
            self.restore()
            for line in ("task.state = (ins, locs, cells, code, tos)", "machine.fuel += fuel", "return"):
                self.say(line)
            return None
        if value is None or (isinstance(value, ast.Name) and value.id == NOT_PUSHED):
            return self.exit([])
        function = self.library.inlined_call(value)
        if function is not None:
            assert isinstance(value, ast.Call)
            return self.inlined_body(function, value, [])
        row = self.meaning(self.names[self.at]).row
        if row is not None and len(row.pushes) == 2:
            assert isinstance(value, ast.Tuple)
            return self.exit(value.elts)
        return self.exit([value])

    def exit(self, results: list[ast.expr]) -> Results:
        """Write the end of a path: of the opcode, if others follow, else of the run. Return as `opcode`."""
        if not self.moved and self.at < len(self.names) - 1:
            return results
        self.values += results
        self.restore()
        self.say("continue")
        return None

    def inline(self, statement: ast.Expr | ast.Assign, function: ast.FunctionDef, rest: list[ast.stmt]) -> Results:
        """Write the text of a function for a statement that calls it, then the rest; return as `opcode`."""
        assert isinstance(statement.value, ast.Call)
        if isinstance(statement, ast.Expr):
            return self.inlined_body(function, statement.value, rest)
        last = function.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        assign = ast.Assign(statement.targets, last.value)
        return self.inlined_body(function, statement.value, rest, [*function.body[:-1], assign])

    def inlined_body(
        self, function: ast.FunctionDef, call: ast.Call, rest: list[ast.stmt], body: list[ast.stmt] | None = None
    ) -> Results:
        """Write the text of a function, or `body` in place of it, with what a call hands over, then the rest; return as
        `opcode`."""
        parameters = [a.arg for a in function.args.args]
        loop = parameters.pop(0) if parameters[0] == "self" else ""
        statements = [copy.deepcopy(s) for s in (function.body if body is None else body) if not is_docstring(s)]
        bound = dict(zip(parameters, call.args, strict=True))
        bindings: dict[str, ast.expr] = {}
        targets = assigned(body[-1:]) if body else {}  # of the caller
        for parameter, value in bound.items():
            if not is_plain(value) and not (isinstance(value, ast.Tuple) and not value.elts) and uses(parameter, statements) > 1:
                bindings[parameter] = self.keep(value, parameter)
            else:
                bindings[parameter] = value
        for local in assigned(statements):
            if local not in bindings and local not in targets:
                bindings[local] = ast.Name(self.fresh(local), ast.Load())
        return self.block([*(Substitution(bindings, loop).visit(s) for s in statements), *rest])

    def branch(self, statement: ast.If, rest: list[ast.stmt]) -> Results:
        """Write an `if` and the rest, which stands in both branches if one of them leaves; return as `opcode`."""
        one, other = statement.body, statement.orelse
        if not has_exit([*one, *other], self.library):
            self.write(statement)
            return self.block(rest)
        one = one if self.library.ends(one) else [*one, *copy.deepcopy(rest)]
        other = other if other and self.library.ends(other) else [*other, *rest]
        test = statement.test
        first, second = self.fork(), self.fork()
        first_results = first.block(copy.deepcopy(one))
        if first_results is None:
            self.say(f"if {ast.unparse(test)}:")
            self.lines += first.lines
            return self.block(other)
        second_results = second.block(copy.deepcopy(other))
        if second_results is None:
            self.say(f"if {ast.unparse(opposite(test))}:")
            self.lines += second.lines
            return self.block(one)
        assert len(first_results) == len(second_results)
        names = [ast.Name(self.fresh("value"), ast.Load()) for _ in first_results]
        for path, results in ((first, first_results), (second, second_results)):
            for name, result in zip(names, results, strict=True):
                path.say(f"{name.id} = {ast.unparse(result)}")
        self.say(f"if {ast.unparse(test)}:")
        self.lines += first.lines
        self.say("else:")
        self.lines += second.lines
        return list(names)

    def walk(self, statement: ast.For, rest: list[ast.stmt]) -> Results:
        """Write `for x in y: return …`, which takes the first element, or the rest if there is none; return as `opcode`."""
        assert isinstance(statement.body[0], ast.Return)
        empty = self.fork()
        results = empty.block(rest)
        assert results is None, "a walk that goes on without an element"
        for line in (f"for {ast.unparse(statement.target)} in {ast.unparse(statement.iter)}:", "    break", "else:"):
            self.say(line)
        self.lines += empty.lines
        return self.result(statement.body[0].value)


def first_of(body: list[ast.stmt]) -> list[ast.expr]:
    """Return what a body evaluates before anything else, as a list of at most one expression."""
    first = body[0] if body else None
    if isinstance(first, ast.If):
        return [first.test]
    if isinstance(first, ast.For):
        return [first.iter]
    if isinstance(first, (ast.Return, ast.Assign, ast.Expr)) and first.value is not None:
        return [first.value]
    return []


def without_repeats(body: list[ast.stmt], library: Library) -> list[ast.stmt]:
    """Return the body without a test that has been made just before and did not come back."""
    statements: list[ast.stmt] = []
    for statement in body:
        last = statements[-1] if statements else None
        alike = isinstance(statement, ast.If) and isinstance(last, ast.If) and ast.dump(last.test) == ast.dump(statement.test)
        if not (alike and isinstance(last, ast.If) and library.ends(last.body)):
            statements.append(statement)
    return statements


def opposite(test: ast.expr) -> ast.expr:
    """Return the negation of a test."""
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)


def has_exit(statements: list[ast.stmt], library: Library) -> bool:
    """Return whether statements may leave the opcode, or hold a call whose text stands for it."""
    return any(
        isinstance(n, (ast.Return, ast.Raise)) or (isinstance(n, ast.stmt) and library.is_raising_call(n))
        or (isinstance(n, ast.Expr) and library.inlined_call(n.value) is not None)
        for s in statements for n in ast.walk(s)
    )  # fmt: skip


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing: a docstring, or `pass`."""
    inert = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return inert or isinstance(statement, ast.Pass)
