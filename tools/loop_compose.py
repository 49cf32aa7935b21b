"""Bodies for runs of opcodes that one node stands for, made from what each opcode does to a stack of expressions.

What a run pushes and takes again never reaches the operand stack: a push and a pop cost more than the dispatch that a run saves.
Reads of locals and fields wait until somebody needs them, and are made before the next write. A conditional jump leaves in the
middle, with the stack as it is there. Where an opcode fails that is not the last which may, `ins` is set back to the node behind
it, so that a panic has its position. Hands on `composed`. Must not know: which runs there are.
"""

from __future__ import annotations

from collections.abc import Callable

COMPARISONS = {"LT_INT": "<", "LE_INT": "<=", "GT_INT": ">", "GE_INT": ">=", "EQ_INT": "==", "NE_INT": "!="}
CHECKED = {"ADD_INT": "+", "SUB_INT": "-", "MUL_INT": "*"}
# the sign, and the form for operands of which neither is a Float for certain: it gives one or fails (vm/interp/ops.py)
FLOATS = {"ADD_FLOAT": ("+", "{} + {} + -0.0"), "SUB_FLOAT": ("-", "{} - {} + -0.0"), "MUL_FLOAT": ("*", "{} * 1.0 * {}")}
DIVISIONS = {"DIV_INT": ("//", "int_div"), "REM_INT": ("%", "int_rem")}
KINDS = {"IS_SOME": "Some", "IS_OK": "Ok", "IS_ERR": "Err"}
WITHOUT_OPERAND = {
    *COMPARISONS, *CHECKED, *FLOATS, *DIVISIONS, *KINDS, "POP", "DUP", "SWAP", "NOT", "IS_NIL", "IS_ABSENT", "UNWRAP",
    "SHARE", "INDEX_ARRAY", "INDEX_OWN", "SET_INDEX", "OK", "SOME", "RETURN",
}  # fmt: skip
LAST = ("JUMP", "RETURN")


class Value:
    """`text` of an expression; `late`: it reads what a write may change; `truth`: it is a Bool for certain; `plain`: a name;
    `number`, `floating`: it is a number, or a Float, whatever the image says of types."""

    def __init__(
        self, text: str, *, late: bool = False, truth: bool = False, plain: bool = False, number: bool = False,
        floating: bool = False,
    ) -> None:  # fmt: skip
        self.text = text
        self.late = late
        self.truth = truth
        self.plain = plain
        self.number = number
        self.floating = floating


class Run:
    """The body of one run, as it is written."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.taken = 0  # values of the operand stack that the run has used; `tos` is the first of them
        self.made = 0
        self.at = 0
        self.faults: list[tuple[int, int]] = []  # the line before which a failure is to be placed, and the opcode
        self.calls: list[tuple[int, int]] = []  # the line that fails or does not, and the opcode
        self.operands = {i: f"o{i}" for i, name in enumerate(names) if name not in WITHOUT_OPERAND}

    # ------------------------------------------------------------ the stack of expressions

    def take(self) -> Value:
        if self.values:
            return self.values.pop()
        self.taken += 1
        return Value("tos", plain=True) if self.taken == 1 else self.keep("pop()")

    def name(self, value: Value) -> str:
        """A name for it, for uses beyond one."""
        return value.text if value.plain else self.keep(value.text).text

    def keep(self, text: str) -> Value:
        """Evaluate now."""
        self.made += 1
        self.say(f"v{self.made} = {text}")
        return Value(f"v{self.made}", plain=True)

    def give(self, text: str, **known: bool) -> None:
        self.values.append(Value(text, **known))

    def settle(self) -> None:
        """Before a write: what waits is read."""
        self.values = [self.keep(value.text) if value.late else value for value in self.values]

    def say(self, *lines: str) -> None:
        self.lines += lines

    def may_fail(self, indent: str) -> None:
        """Behind this comes what raises on behalf of this opcode, always."""
        self.faults.append((len(self.lines), self.at))
        self.say(indent)

    def perhaps(self, indent: str, call: str) -> None:
        """What raises on behalf of this opcode, or does not: the place is looked for only when it has."""
        self.calls.append((len(self.lines), self.at))
        self.say(indent + call)

    def stack(self) -> list[str]:
        """What brings the operand stack to what it is here."""
        texts = [value.text for value in self.values]
        pushes = [f"push({text})" for text in ([] if self.taken else ["tos"]) + texts[:-1]]
        if texts:
            return [*pushes, *([f"tos = {texts[-1]}"] if texts[-1] != "tos" else [])]
        return ["tos = pop()"] if self.taken else []

    def operand(self) -> str:
        return self.operands[self.at]

    def jump(self) -> list[str]:
        return [f"ins, cost = {self.operand()}", "fuel -= cost", "if fuel < 0:", "    fuel = machine.refill(fuel)", "continue"]

    # ------------------------------------------------------------ the whole

    def body(self) -> tuple[int, str]:
        """The opcode that a failure without another place belongs to, and the text."""
        for at, name in enumerate(self.names):
            self.at = at
            self.step(name)
        if self.names[-1] not in LAST:
            self.say(*self.stack(), "continue")
        last = max((at for _, at in [*self.faults, *self.calls]), default=0)
        for line, at in self.faults:
            self.lines[line] = self.lines[line] + self.place(at) if at != last else ""
        for line, at in self.calls:
            if at != last:
                self.lines[line] = guarded(self.lines[line], self.place(at))
        unpacked = ", ".join(self.operands.values()) + ("," if len(self.operands) == 1 else "")
        first = [f"{unpacked} = arg"] if self.operands else []
        return last, "\n".join([*first, *(line for line in self.lines if line.strip())]) + "\n"

    def place(self, at: int) -> str:
        return f"ins = node_before(code, ins, {len(self.names) - at - 1})"

    def step(self, name: str) -> None:
        if name in COMPARISONS:
            self.binary(COMPARISONS[name], truth=True)
        elif name in FLOATS:
            self.floating(*FLOATS[name])
        elif name in CHECKED:
            self.checked(CHECKED[name])
        elif name in DIVISIONS:
            self.division(*DIVISIONS[name])
        elif name in KINDS:
            self.give(f"(type({self.take().text}) is {KINDS[name]})", truth=True)
        else:
            OTHERS[name](self)

    def binary(self, sign: str, truth: bool = False) -> None:
        right, left = self.take(), self.take()
        self.give(f"({left.text} {sign} {right.text})", late=left.late or right.late, truth=truth)

    def floating(self, sign: str, otherwise: str) -> None:
        right, left = self.take(), self.take()
        form = f"{{}} {sign} {{}}" if left.floating or right.floating else otherwise
        self.give(f"({form.format(left.text, right.text)})", late=left.late or right.late, floating=True, number=True)

    def checked(self, sign: str) -> None:
        right, left = self.take(), self.take()
        text = f"{left.text} {sign} {right.text}"
        if sign == "*" and not (left.number and right.number):  # Python would repeat a text (vm/interp/ops.py)
            two, one = self.name(right), self.name(left)
            text = f"{one} * {two} if {one} < {two} else {one} * {two}"
        made = self.keep(text).text
        self.say(f"if ({made} > 0x3FFFFFFF or {made} < -0x3FFFFFFF) and not INT_MIN <= {made} <= INT_MAX:")
        self.may_fail("    ")
        self.say(f"    overflow({sign!r})")
        self.give(made, plain=True, number=True)

    def division(self, sign: str, function: str) -> None:
        right, left = self.name(self.take()), self.name(self.take())
        self.say(f"if {left} >= 0 and {right} > 0:")
        made = self.keep_in("    ", f"{left} {sign} {right}")
        self.say("else:")
        self.perhaps("    ", f"{made} = {function}({left}, {right})")
        self.give(made, plain=True, number=True)

    def keep_in(self, indent: str, text: str) -> str:
        self.made += 1
        self.say(f"{indent}v{self.made} = {text}")
        return f"v{self.made}"

    def leave(self, condition: str) -> None:
        """Out of the run where the condition holds."""
        self.say(f"if {condition}:", *(f"    {line}" for line in [*self.stack(), *self.jump()]))

    def branch(self, on: bool) -> None:
        value = self.take()
        if value.truth:
            self.leave(value.text if on else f"not {value.text}")
            return
        tested = self.name(value)
        self.say(f"if {tested} is {on}:", *(f"    {line}" for line in [*self.stack(), *self.jump()]))
        self.say(f"if {tested} is not {not on}:")
        self.may_fail("    ")
        self.say(f"    raise not_bool({tested})")

    def own(self, place: str, store: str) -> str:
        """The value of a place that a write goes through."""
        made = self.keep(place).text
        self.say("try:", f"    if {made}.shared:", f"        {made} = own({made})", f"        {store.format(made)}")
        self.say("except AttributeError:", "    pass")
        return made


def guarded(line: str, place: str) -> str:
    """The line, and where it has failed before that goes on."""
    indent = line[: len(line) - len(line.lstrip())]
    lines = ["try:", f"    {line.lstrip()}", "except BaseException:", f"    {place}", "    raise"]
    return "\n".join(indent + each for each in lines)


def composed(names: tuple[str, ...]) -> tuple[int, str]:
    return Run(names).body()


# ---------------------------------------------------------------- what single opcodes do


def _store(run: Run) -> None:
    value = run.take()
    run.settle()
    run.say(f"locs[{run.operand()}] = {value.text}")


def _store_cell(run: Run) -> None:
    value = run.take()
    run.settle()
    run.say(f"cells[{run.operand()}].value = {value.text}")


def _dup(run: Run) -> None:
    name = run.name(run.take())
    run.give(name, plain=True)
    run.give(name, plain=True)


def _swap(run: Run) -> None:
    top, below = run.take(), run.take()
    run.values += [top, below]


def _not(run: Run) -> None:
    value = run.take()
    name = value.text if value.truth else run.name(value)
    if not value.truth:
        run.say(f"if {name} is not True and {name} is not False:")
        run.may_fail("    ")
        run.say(f"    raise not_bool({name})")
    run.give(f"(not {name})", late=value.truth and value.late, truth=True)


def _next(run: Run) -> None:
    """At the head of a loop only: the iterator stays on the stack."""
    assert run.at == 0
    run.made += 1
    run.say(f"for v{run.made} in tos:", "    break", "else:", "    tos = pop()", *(f"    {line}" for line in run.jump()))
    run.give(f"v{run.made}", plain=True)


def _share(run: Run) -> None:
    name = run.name(run.take())
    run.say(f"if type({name}) not in PLAIN:", f"    share({name})")
    run.give(name, plain=True)


def _index_array(run: Run) -> None:
    index = run.name(run.take())
    items = run.keep(f"{run.take().text}.items").text
    run.say(f"if {index} < 0:")
    run.may_fail("    ")
    run.say(f"    index_out_of_range({index}, len({items}))", "try:")
    made = run.keep_in("    ", f"{items}[{index}]")
    run.say("except IndexError:")
    run.may_fail("    ")
    run.say(f"    index_out_of_range({index}, len({items}))")
    run.give(made, plain=True)


def _get_field(run: Run) -> None:
    run.give(f"getattr({run.take().text}, {run.operand()})", late=True)


def _get_element(run: Run) -> None:
    value = run.take()
    run.give(f"{value.text}[{run.operand()}]", late=value.late)


def _get_payload(run: Run) -> None:
    value = run.take()
    run.give(f"{value.text}.payload[{run.operand()}]", late=value.late)


def _is_variant(run: Run) -> None:
    name, wanted = run.name(run.take()), run.operand()
    text = f"(type({name}) is EnumValue and {name}.decl is {wanted}.decl and {name}.variant == {wanted}.variant)"
    run.give(text, truth=True)


def _is_absent(run: Run) -> None:
    name = run.name(run.take())
    run.give(f"({name} is None or {name} is NONE_VALUE)", truth=True)


def _unwrap(run: Run) -> None:
    name = run.name(run.take())
    run.values.append(run.keep(f"{name}.value if type({name}) in (Some, Ok, Err) else {name}"))


def _load_own(run: Run) -> None:
    run.settle()
    place = f"locs[{run.operand()}]"
    run.give(run.own(place, place + " = {}"), plain=True)


def _index_own(run: Run) -> None:
    index, object = run.name(run.take()), run.name(run.take())
    run.settle()
    run.say(f"if type({object}) is Array and type({index}) is int and 0 <= {index} < len({object}.items):")
    made = run.keep_in("    ", f"{object}.items[{index}]")
    run.say("else:")
    run.perhaps("    ", f"{made} = index_place({object}, {index})")
    store = f"{object}.items[{index} if type({object}) is Array else key_of({index})] = {made}"
    run.say("try:", f"    if {made}.shared:", f"        {made} = own({made})", f"        {store}")
    run.say("except AttributeError:", "    pass")
    run.give(made, plain=True)


def _set_field(run: Run) -> None:
    object, value = run.name(run.take()), run.take()
    run.settle()
    run.say(f"if not isinstance({object}, Struct):")
    run.may_fail("    ")
    run.say('    raise Panic("P007", "expected a struct in a field assignment")')
    run.say(f"setattr({object}, {run.operand()}, {value.text})")


def _set_index(run: Run) -> None:
    index, object, value = run.name(run.take()), run.name(run.take()), run.name(run.take())
    run.settle()
    run.say(f"if type({object}) is Array and type({index}) is int and 0 <= {index} < len({object}.items):")
    run.say(f"    {object}.items[{index}] = {value}", "else:")
    run.perhaps("    ", f"write_element({object}, {index}, {value})")


def _return(run: Run) -> None:
    run.say(*run.stack(), "ins, locs, cells, code = pop_frame()", "continue")


OTHERS: dict[str, Callable[[Run], None]] = {
    "LOAD": lambda run: run.give(f"locs[{run.operand()}]", late=True),
    "CONST": lambda run: run.give(run.operand(), plain=True),
    "LOAD_CELL": lambda run: run.give(f"cells[{run.operand()}].value", late=True),
    "POP": lambda run: run.take() and None,
    "OK": lambda run: run.values.append(run.keep(f"Ok({run.take().text})")),
    "SOME": lambda run: run.values.append(run.keep(f"Some({run.take().text})")),
    "IS_NIL": lambda run: run.give(f"({run.take().text} is None)", truth=True),
    "JUMP": lambda run: run.say(*run.stack(), *run.jump()),
    "JUMP_IF": lambda run: run.branch(True),
    "JUMP_UNLESS": lambda run: run.branch(False),
    "STORE": _store, "STORE_CELL": _store_cell, "DUP": _dup, "SWAP": _swap, "NOT": _not, "NEXT": _next, "SHARE": _share,
    "INDEX_ARRAY": _index_array, "GET_FIELD": _get_field, "GET_ELEMENT": _get_element, "GET_PAYLOAD": _get_payload,
    "IS_VARIANT": _is_variant, "IS_ABSENT": _is_absent, "UNWRAP": _unwrap, "LOAD_OWN": _load_own, "INDEX_OWN": _index_own,
    "SET_FIELD": _set_field, "SET_INDEX": _set_index, "RETURN": _return,
}  # fmt: skip
