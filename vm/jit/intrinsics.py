"""Calls of built-in methods: the family of CALL_BUILTIN and TAKE_ENTRY, and the intrinsics, which translated code writes out
(V-7.2).

A row of a table gives the text for receiver and arguments; it means what the body in vm/builtins means for values of the declared
types. `{items}` is the storage of the receiver, `{body}` the body itself for what the short form does not cover, `{room}` the
characters of a constant last argument and one more, `{value}` the payload of the receiver, `{kept}` and `{other}` the elements of
`x` and of the last argument, `{kept_values}` the values of the Map `x`, marked where they need that, `{is_key}` the test that the
last argument is a key as it is. In it `Q` characters are surely not too many for a String of the run, `M` is the most elements
that a container has, `LARGE` as many as are counted, `BN` the body of the built-in in constant N, `END` an absent entry,
`NONE_VALUE` the Option None, `w` and `x` are variables for the moment; other names are those of `emitter`, and what is called is
in `library`. Hands on `EMIT` to `control`. A method that is to be written out as an expression gets a row of `INTRINSICS`, or of
`UNBOXED` if it gives an Option or the Result of an Int. One that is a statement, takes its parts from the stack itself, or
unwraps what was not built is a case of `call_builtin`. Any other is a call of its body. Functions here take the emitter `e`; they
pop abstract values (a `Value` is a Python expression with what is known of it) from `e.stack`, push the result, write statements
to `e.out`, and compute nothing of the program.
"""

from __future__ import annotations

from ..builtins.modules import row_of
from ..bytecode.opcodes import BY_NAME
from ..record import record
from . import kinds
from .arithmetic import CLASSES, note_presence
from .emitter import MOST_PARTS, registrar
from .facts import TESTED, Value, slot_of
from .places import LONGEST, checks_at_push, guard_key, make_list_unique, map_key, room_test, set_map_entry
from .text import KEEP, MARK, Branch
from .values import mark_payload, payload_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter, Form
    from .kinds import Kind
    from .text import Statement

EMIT: dict[int, Form] = {}
emit = registrar(EMIT)

TRY = BY_NAME["TRY"].number


@record
class Intrinsic:
    """A row. `text`: the expression of the result, where `{0}` is the receiver, `{1}` and so on are the arguments. `named`: the
    parts become atoms (names or constants), since the text has one of them twice. `fails`: the text may raise a panic.
    `is_length`: it gives an Int from 0 to LONGEST. `needs`: for which parts the row holds; for others `otherwise` is tried.
    `elements`: the text of the list alone, for a walk over the Array. `marks`: what the Array holds of the parts is marked as
    shared, so that who walks over it need not do that. `moves`: the payload is taken out of its container."""

    text: str
    named: bool = False
    fails: bool = True
    is_length: bool = False
    needs: Callable[[list[Value]], bool] | None = None
    otherwise: Intrinsic | None = None
    elements: str = ""
    marks: bool = False
    moves: bool = False

    def fitting(self, parts: list[Value]) -> Intrinsic | None:
        """Return this row, or the next one that holds for the parts; None without one."""
        if self.needs is None or self.needs(parts):
            return self
        return None if self.otherwise is None else self.otherwise.fitting(parts)


def listing(text: str, test: str = "") -> Intrinsic:
    """Return the row of a method that gives an Array of what it reads out of its receiver, not of a large one: of the list
    `text`, where `test` holds too."""
    short = f"{text} if len((x := {{0}}).items) < LARGE{test} else {{body}}"
    arguments = "(x, {1})" if "{1}" in test else "(x)"
    return Intrinsic(
        f"Array({text}) if len((x := {{0}}).items) < LARGE{test} else {{body}}{arguments}", named=True,
        elements=f"{short}{arguments}.items", marks=True,
    )  # fmt: skip


# The tests of `needs`: of the kinds of the parts, the receiver first, they return whether the row holds, `all_of` such a test.
# `length` is known of constant Strings only.


def all_of(word: str) -> Callable[[list[Value]], bool]:
    return lambda parts: all(part.kind[0] == word for part in parts)


def case_mapping(method: str) -> Intrinsic:
    """Return the row of a method of Python's str whose result may be longer than its receiver, for a short one; the body looks at
    the run within a long text."""
    return Intrinsic(f"w if len(x := {{0}}) < LARGE and len(w := x.{method}()) <= Q else {{body}}(x)")


def greater_or_less(order: str) -> Intrinsic:
    """Return the row of `max` or `min` of Ints. Their arguments may be Floats (L-6.2)."""
    text = f"{{0}} if {{0}} {order} {{1}} else {{1}}"
    return Intrinsic(
        text, named=True, fails=False, needs=all_of("int"),
        otherwise=Intrinsic(f"({text}) if type({{0}}) is int and type({{1}}) is int else {{body}}({{0}}, {{1}})", named=True),
    )  # fmt: skip


def constant_separator(parts: list[Value]) -> bool:
    return bool(parts[1].length)


def string_argument(parts: list[Value]) -> bool:
    return parts[1].kind[0] == "string"


def constant_replacement(parts: list[Value]) -> bool:
    return parts[1].is_atom and parts[1].kind[0] == "string" and parts[2].length is not None


def int_arguments(parts: list[Value]) -> bool:
    return all(part.kind[0] == "int" for part in parts[1:])


def int_atoms(parts: list[Value]) -> bool:
    return int_arguments(parts) and all(part.is_atom for part in parts[1:])


def natural_arguments(parts: list[Value]) -> bool:
    return int_atoms(parts) and all(part.low is not None and part.low >= 0 for part in parts[1:])


def unencoded_key(parts: list[Value]) -> bool:
    """Return whether the dict of the Map has this key as it is."""
    return parts[1].certain and parts[1].kind[0] in ("string", "int")


PLAIN_KEYS = " and TRUE_KEY not in x.items and FALSE_KEY not in x.items"  # a key that is a Bool has another value in its place
INTRINSICS: dict[tuple[str, str], Intrinsic] = {
    ("Array", "len"): Intrinsic("len({items})", is_length=True),
    ("Array", "enumerate"): listing("list(enumerate({kept}))"),
    ("Array", "zip"): listing("list(zip({kept}, {other}))", " and type({1}) is Array and len({1}.items) < LARGE"),
    ("Array", "concat"): listing("{kept} + {other}", " and type({1}) is Array and len({1}.items) < LARGE <= M // 2"),
    ("Array", "contains"): Intrinsic(
        "{1} in {items} if type({1}) is str and len({items}) < LARGE else {body}({0}, {1})", named=True
    ),
    ("Array", "join"): Intrinsic(
        "{1}.join({items}) if len({items}) < LARGE and STRINGS.issuperset(map(type, {items})) and "
        "sum(map(len, {items})) + len({1}) * len({items}) < LARGE <= Q else {body}({0}, {1})", named=True, needs=string_argument,
    ),
    ("Map", "delete"): Intrinsic("{items}.pop({1} if type({1}) is str else key_of({1}), END) is not END", named=True),
    ("Set", "contains"): Intrinsic(
        "{1} in {items} if {is_key} else {body}({0}, {1})", named=True
    ),
    ("Set", "insert"): Intrinsic(
        "len({items}) < ({items}.setdefault({1}, {1}), len({items}))[1] if {is_key} and len({items}) < M else {body}({0}, {1})",
        named=True,
    ),
    ("Set", "remove"): Intrinsic("{items}.pop({1}, END) is not END if {is_key} else {body}({0}, {1})", named=True),
    ("Set", "len"): Intrinsic("len({items})", is_length=True),
    ("Set", "is_empty"): Intrinsic("not {items}"),
    ("Queue", "len"): Intrinsic("len({items})", is_length=True),
    ("Queue", "is_empty"): Intrinsic("not {items}"),
    ("Queue", "enqueue"): Intrinsic("{items}.append({1}) if len({items}) < M else {body}({0}, {1})", named=True),
    ("Stack", "len"): Intrinsic("len({items})", is_length=True),
    ("Stack", "is_empty"): Intrinsic("not {items}"),
    ("Stack", "push"): Intrinsic("{items}.append({1}) if len({items}) < M else {body}({0}, {1})", named=True),
    ("Map", "entries"): listing("list(zip(x.items, {kept_values}))", PLAIN_KEYS),
    ("Map", "keys"): listing("list(x.items)", PLAIN_KEYS),
    ("Map", "values"): listing("list({kept_values})"),
    ("Array", "is_empty"): Intrinsic("not {items}"),
    ("Option", "is_some"): Intrinsic("{0} is not NONE_VALUE", fails=False),
    ("Option", "is_none"): Intrinsic("{0} is NONE_VALUE", fails=False),
    ("Option", "unwrap"): Intrinsic("{value} if {0} is not NONE_VALUE else {body}({0})", named=True),
    ("Option", "unwrap_or"): Intrinsic("{value} if {0} is not NONE_VALUE else {1}", named=True),
    ("Option", "ok_or"): Intrinsic("Ok({value}) if {0} is not NONE_VALUE else Err({1})", named=True),
    ("Result", "is_ok"): Intrinsic("type({0}) is Ok", fails=False),
    ("Result", "is_err"): Intrinsic("type({0}) is Err", fails=False),
    ("Result", "unwrap"): Intrinsic("{value} if type({0}) is Ok else {body}({0})", named=True),
    ("Result", "unwrap_or"): Intrinsic("{value} if type({0}) is Ok else {body}({0}, {1})", named=True),
    ("Float", "sqrt"): Intrinsic("sqrt({0}) if {0} >= 0 else NAN", named=True, fails=False, needs=all_of("float")),
    ("Int", "max"): greater_or_less(">="),
    ("Int", "min"): greater_or_less("<="),
    ("Int", "abs"): Intrinsic(
        "{0} if {0} >= 0 else -{0} if {0} > -1073741824 else {body}({0})", named=True, needs=all_of("int")
    ),
    ("Int", "to_float"): Intrinsic("float({0})", fails=False, needs=all_of("int")),
    ("String", "contains"): Intrinsic("{1} in {0}", named=True, fails=False, needs=all_of("string")),
    ("String", "starts_with"): Intrinsic("{0}.startswith({1})", fails=False, needs=all_of("string")),
    ("String", "ends_with"): Intrinsic("{0}.endswith({1})", fails=False, needs=all_of("string")),
    ("Map", "has"): Intrinsic(
        "{1} in {items}", named=True, fails=False, needs=unencoded_key,
        otherwise=Intrinsic("({1} if type({1}) is str else key_of({1})) in {items}", named=True),
    ),
    ("Map", "len"): Intrinsic("len({items})", is_length=True),
    ("String", "len"): Intrinsic("len({})", is_length=True),
    ("String", "is_empty"): Intrinsic("not {0}", fails=False),
    ("String", "trim"): Intrinsic("{0}.strip(WHITE_SPACE)"),
    ("String", "trim_start"): Intrinsic("{0}.lstrip(WHITE_SPACE)"),
    ("String", "trim_end"): Intrinsic("{0}.rstrip(WHITE_SPACE)"),
    ("String", "to_lower"): case_mapping("lower"),
    ("String", "to_lowercase"): case_mapping("lower"),
    ("String", "to_upper"): case_mapping("upper"),
    ("String", "to_uppercase"): case_mapping("upper"),
    ("String", "split"): Intrinsic(
        "Array(x.split({1})) if len(x := {0}) < M else {body}(x, {1})", needs=constant_separator,
        elements="x.split({1}) if len(x := {0}) < M else {body}(x, {1}).items",
    ),
    ("String", "replace"): Intrinsic(
        "x.replace({1}, {2}) if (len(x := {0}) + 1) * {room} <= Q else {body}(x, {1}, {2})", needs=constant_replacement
    ),
    ("String", "repeat"): Intrinsic(
        "{0} * {1} if len({0}) * {1} < LARGE <= Q else {body}({0}, {1})", named=True,
        needs=lambda parts: parts[0].kind[0] == "string" and parts[1].kind[0] == "int",
    ),
    ("String", "substring"): Intrinsic(
        "{0}[{1}:{2}]", needs=natural_arguments, otherwise=Intrinsic(
            "(x[{1}:{2}] if {1} >= 0 and {2} >= 0 else {body}(x, {1}, {2})) if (x := {0}) else EMPTY", needs=int_atoms
        )
    ),
    ("String", "chars"): Intrinsic(
        "Array(list(x)) if len(x := {0}) <= M else {body}(x)", elements="list(x) if len(x := {0}) <= M else {body}(x).items"
    ),
}  # fmt: skip

# Methods that give an Option: the text gives its payload or END. The one that gives a Result: its Int or the Err. Neither is
# built where only the payload is asked for (scalar replacement).
UNBOXED: dict[tuple[str, str], Intrinsic] = {
    ("String", "get"): Intrinsic("{0}[{1}] if 0 <= {1} < len({0}) else END", named=True, needs=int_arguments),
    ("String", "index_of"): Intrinsic("w if (w := {0}.find({1})) >= 0 else END", needs=all_of("string")),
    ("String", "parse_int"): Intrinsic(
        "int({0}) if len({0}) < 18 and {0}.isdecimal() and {0}.isascii() else int_of({body}({0}))", named=True,
        needs=all_of("string"),
    ),
    ("Array", "get"): Intrinsic("{items}[{1}] if 0 <= {1} < len({items}) else END", named=True, needs=int_arguments),
    ("Array", "first"): Intrinsic("{items}[0] if {items} else END", named=True),
    ("Array", "last"): Intrinsic("{items}[-1] if {items} else END", named=True),
    ("Queue", "peek"): Intrinsic("{items}[0] if {items} else END", named=True),
    ("Queue", "dequeue"): Intrinsic("{items}.popleft() if {items} else END", named=True, moves=True),
    ("Stack", "peek"): Intrinsic("{items}[-1] if {items} else END", named=True),
    ("Stack", "pop"): Intrinsic("{items}.pop() if {items} else END", named=True, moves=True),
}  # fmt: skip
UNWRAPPING = frozenset({("Option", "unwrap"), ("Option", "unwrap_or"), ("Option", "ok_or"), ("Result", "unwrap_or")})
# What an Option or Result that is not built is asked, and whether that is true of None and of an Err.
ASKING = {("Option", "is_some"): False, ("Option", "is_none"): True, ("Result", "is_ok"): False, ("Result", "is_err"): True}
KEYED = {"get": 1, "has": 1, "set": 2}  # methods of Map with a key, and where that lies on the stack
SCALAR_RECEIVERS = frozenset({"String", "Int", "Float", "Bool"})
# These neither change nor mark an element of an Array or field of a struct that is there already: facts of elements still hold
# behind them.
MARKING = {method for method, row in INTRINSICS.items() if row.marks}
HARMLESS = (INTRINSICS.keys() - MARKING) | UNWRAPPING | {("Array", "push"), ("Map", "set")}

# ---------------------------------------------------------------- the opcode


@emit("CALL_BUILTIN")
def call_builtin(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the call of the built-in that the constant `operand` names, in the shortest form that there is for its parts."""
    method: tuple[str, str] = tuple(e.image.constants[operand][1])
    receiver, name = method
    count = e.program.constants[operand][1]
    if receiver == "Map" and name in KEYED:
        guard_key(e, KEYED[name])
    if method in WITHOUT_PARTS:
        WITHOUT_PARTS[method](e)
        return
    if receiver not in SCALAR_RECEIVERS and method not in HARMLESS:
        e.facts.kill_all_elements()
    row = row_of(receiver, name)
    if e.metered and row is not None and row.linear:
        call_charging(e, operand, count, row)
        return
    parts = e.pop_many(count)
    kind = result_kind(e, row, parts)
    if method == ("Array", "push"):
        array_push(e, parts)
    elif method == ("Map", "set"):
        e.record_element(parts[0].text, parts[2].kind, parts[1].kind)
        e.stack += [parts[2], parts[0], parts[1]]
        set_map_entry(e)
        e.push(Value("None", kinds.NIL))
    elif method in UNBOXED and UNBOXED[method].fitting(parts) is not None:
        call_unboxed(e, UNBOXED[method], parts, kind, operand)
    elif method == ("Option", "unwrap") and parts[0].kind[0] == "option":
        unwrap_option(e, operand, parts[0], kind)
    elif method in UNWRAPPING and parts[0].unboxed is not None:
        unwrap_unboxed(e, operand, parts, name)
    elif method in ASKING and parts[0].unboxed is not None and parts[0].kind[0] == receiver.lower():
        e.push_test(parts[0], ASKING[method])
    else:
        call_method(e, INTRINSICS.get(method), parts, kind, operand)
        if receiver == "Option" and name in ("is_some", "is_none") and parts[0].kind[0] == "option":
            note_presence(e.stack[-1], parts[0], name == "is_none")


def result_kind(e: Emitter, row: Any, parts: list[Value]) -> Kind:
    """Return the kind of what a built-in gives, by its row in vm/builtins; ANY for one without a row and for one that is
    `numeric`, apart from the smaller or larger of two Ints."""
    if row is None or row.special == "numeric":
        picks = row is not None and row.name in ("min", "max") and row.receiver == "Int" and parts[1].kind[0] == "int"
        return kinds.INT if picks else kinds.ANY
    return e.kinds.result(row.result, row.receiver_type, parts[0].kind if parts else kinds.ANY)


def call_method(e: Emitter, form: Intrinsic | None, parts: list[Value], kind: Kind, operand: int) -> None:
    """Push a call of a built-in, or the expansion of its intrinsic `form`, where it has one that holds for the parts."""
    form = None if form is None else form.fitting(parts)
    if form is None:
        e.push_expression(f"B{operand}({', '.join([part.text for part in parts])})", parts, kind, fails=True)
        return
    if form.named:
        parts = bind_parts(e, parts)
    e.push_expression(f"({expansion(e, form.text, parts, operand, kind)})", parts, kind, fails=form.fails, pure=False)
    if form.elements:
        e.stack[-1].elements = f"({e.here()}{expansion(e, form.elements, parts, operand, kind)})"
    e.stack[-1].elements_marked = form.marks
    if form.is_length:
        e.stack[-1].low, e.stack[-1].high = 0, LONGEST


def expansion(e: Emitter, text: str, parts: list[Value], operand: int, kind: Kind) -> str:
    """Return the text of a row for these parts, whose result is of a kind; `operand` is that of CALL_BUILTIN."""
    texts = [part.text for part in parts]
    room = (parts[-1].length or 0) + 1
    marked = e.kinds.is_marked(kind if kind[0] != "result" else e.kinds.inner(parts[0].kind))
    value = f"shared_payload({texts[0]}.value)" if marked else f"{texts[0]}.value"
    return text.format(
        *texts, items=e.list_of(texts[0]), body=f"B{operand}", room=room, value=value, kept=kept(e, "x.items", parts[0]),
        other=kept(e, f"{texts[-1]}.items", parts[-1]), kept_values=kept(e, "x.items.values()", parts[0]),
        is_key=key_test(e, parts[-1]),
    )  # fmt: skip


def key_test(e: Emitter, value: Value) -> str:
    """Return the text of the test that the dict of a Set has a value, an atom, as it is: that it is a String, an Int, or a tuple
    of a few of these (`set_key`). A tuple that was built here is asked for its parts, of any other its kind tells which to look
    at."""
    parts = value.parts or [Value(f"{value.text}[{at}]", part) for at, part in enumerate(e.kinds.parts(value.kind))]
    if any(part.kind[0] not in ("string", "int") for part in parts) or not 0 < len(parts) <= MOST_PARTS:
        return f"(type({value.text}) is str or type({value.text}) is int)"
    tests = [] if value.parts else [f"type({value.text}) is tuple and len({value.text}) == {len(parts)}"]
    tests += [CLASSES[part.kind[0]].format(part.text) for part in parts if not part.certain]
    return " and ".join(tests) or "True"


def kept(e: Emitter, text: str, holder: Value) -> str:
    """Return the text of what is read out of a container and stays there: marked as shared, if a write could reach it."""
    return f"share_all({text})" if e.kinds.is_marked(e.kinds.inner(holder.kind)) else text


def call_charging(e: Emitter, operand: int, count: int, row: Any) -> None:
    """Write the call of a built-in that charges fuel by the size of what it works on (G-6.6): where too little is left, the
    interpreter calls it instead."""
    before = e.stack_before()
    parts = e.pop_many(count)
    kind = result_kind(e, row, parts)
    e.pay()
    e.call(f"B{operand}({', '.join([part.text for part in parts])})", kind)
    e.sites[-1].again = before


def bind_parts(e: Emitter, parts: list[Value]) -> list[Value]:
    """Return parts that were popped, as atoms."""
    for part in parts:
        e.push(part)
    e.spill()
    return [e.bind(part) for part in e.pop_many(len(parts))]


# ---------------------------------------------------------------- Options and Results that are not built


def call_unboxed(e: Emitter, form: Intrinsic, parts: list[Value], kind: Kind, operand: int) -> None:
    """Write a row of UNBOXED for these parts, and push the Option or Result, of kind `kind`, that is only built if needed."""
    parts = bind_parts(e, parts)
    name = e.temporary()
    e.statement(f"{e.here()}{name} = {expansion(e, form.text, parts, operand, kind)}")
    if kind[0] == "result":
        e.push_unboxed(f"result_of({name})", name, ("result", kinds.UNKNOWN), kinds.INT)
    else:
        push_option(e, name, e.kinds.inner(kind), form.moves)


def push_option(e: Emitter, name: str, payload: Kind, moves: bool = False) -> None:
    """Push the Option, which is only built if needed, of what the variable `name` has, END for None; a container keeps that too,
    unless it `moves`."""
    if moves:
        e.push_unboxed(f"option_of_moved({name})", name, kinds.MOVED_OPTION, payload)
        return
    text = f"(Some({name}) if {name} is not END else NONE_VALUE)"
    if e.kinds.is_marked(payload):
        text = f"option_of{'_container' * (payload[0] in kinds.CONTAINERS)}({name})"
    e.push_unboxed(text, name, kinds.OPTION, payload)


def unwrap_option(e: Emitter, operand: int, part: Value, kind: Kind) -> None:
    """Push the payload of an Option, without a test where one has told that it is there. The body of the built-in `operand`
    raises the panic of a None."""
    e.spill(unboxed=False)
    part = part if part.unboxed is not None else e.bind(part)
    name = part.unboxed
    known = part.variant == TESTED["IS_SOME"] if name is None else e.facts.absent.get(name) is False
    if not known:
        absent = Branch(f"{part.text} is NONE_VALUE" if name is None else f"{name} is END")
        absent.yes.append(f"{e.here()}B{operand}(NONE_VALUE)")
        e.out.append(absent)
    moves = name is not None and payload_text(e, part)[1]
    if name is None:
        name = e.temporary()
        e.out.append(f"{name} = {part.text}.value")
    else:
        kind = part.unboxed_kind
    if e.kinds.is_marked(kind) and (not moves or part.is_atom):  # a variable may be asked once more
        mark_payload(e, name, kind)
    e.push_variable(name, kind)


def unwrap_unboxed(e: Emitter, operand: int, parts: list[Value], method: str) -> None:
    """Push the result of `unwrap`, or of `unwrap_or` or `ok_or` with another value, for an Option or Result that was not
    built."""
    option, name = parts[0], str(parts[0].unboxed)
    alone = payload_text(e, option)[1]
    if alone and option.is_atom and e.kinds.is_marked(option.unboxed_kind):  # a variable that may be asked once more
        alone = False
    kind = option.unboxed_kind
    other = e.spilled(parts[1]) if len(parts) == 2 else None
    if other is not None and method == "ok_or":
        ok_or_unboxed(e, option, alone, other)
        return
    if not alone:
        e.spill()
        e.mark_if_there(name, kind)
    if other is None:
        known = e.facts.absent.get(name) is False
        text = name if known else f"({name} if {name} is not END else B{operand}(NONE_VALUE))"
        e.push_expression(text, [], kind, fails=not known, pure=False)
        return
    same = kind if kind == other.kind else kinds.PLAIN if {kind[0], other.kind[0]} <= kinds.SCALARS else kinds.ANY
    absent = f"type({name}) is Err" if option.kind[0] == "result" else f"{name} is END"
    e.push_expression(f"({other.text} if {absent} else {name})", [other], same, pure=False)


def ok_or_unboxed(e: Emitter, option: Value, alone: bool, other: Value) -> None:
    """Push the Result of `ok_or`, which is only built if needed where its payload is surely no Result itself; where a `?` takes
    it apart, the Option, with the error. `alone`: nothing else has the payload."""
    name, kind = str(option.unboxed), option.unboxed_kind
    making = taken_back(e, other.text)
    if e.body.instructions[e.at + 1][1] == TRY and e.at + 1 not in e.uses.targets and alone == payload_text(e, option)[1]:
        e.push_unboxed(f"option_of({name})", name, option.kind, kind)
        e.stack[-1].error = making, other.text
        return
    result = e.temporary()
    e.spill()
    there, before = Branch(f"{name} is not END"), e.out
    e.out = there.yes
    if not alone:
        mark_payload(e, name, kind)
    unclear = kind[0] in ("", "result", "ok", "err")
    e.out.append(f"{e.here()}{result} = Ok({name})" if unclear else f"{result} = {name}")
    there.no += [*making, f"{result} = Err({other.text})"]
    e.out = before
    e.out.append(there)
    if unclear:
        e.push(Value(result, ("result", kinds.UNKNOWN)))
    else:
        e.push_unboxed(f"result_of({result})", result, ("result", kinds.UNKNOWN), kind)


def taken_back(e: Emitter, name: str) -> list[Statement]:
    """Take the statements that have just made a new object in the variable `name` out of the text, and return them: they cannot
    fail, so that they may stand where it is needed. None are taken where they are not the last ones."""
    for count, statement in enumerate(reversed(e.out), 1):
        if not isinstance(statement, str) or MARK in statement or KEEP in statement:
            break
        if statement.startswith(f"{name} = new") and name[0] == "t":
            making = e.out[-count:]
            del e.out[-count:]
            return making
        if not statement.startswith(f"{name}."):
            break
    return []


def map_get(e: Emitter) -> None:
    """Pop a key and a Map, and push the Option of the value, which is only built if needed."""
    table, key = e.pop_two_bound()
    name = e.temporary()
    e.statement(f"{e.here()}{name} = {e.list_of(table.text)}.get({map_key(key)}, END)")
    push_option(e, name, e.kinds.inner(table.kind))


@emit("TAKE_ENTRY")
def take_entry(e: Emitter, op: Opcode, operand: int) -> None:
    """Write `get` of a Map whose value moves on, if nothing else holds the Map."""
    guard_key(e, 1)
    table, key = e.pop_two_bound()
    name = e.temporary()
    e.statement(f"{e.here()}{name} = {e.list_of(table.text)}.get({map_key(key)}, END)")
    test = Branch(f"{table.text}.shared or KEEP")
    test.yes.append(f"share({name})")
    e.out.append(test)
    e.facts.escape()
    e.push_unboxed(f"option_of_moved({name})", name, kinds.MOVED_OPTION, e.kinds.inner(table.kind))


def array_pop(e: Emitter) -> None:
    """Pop an Array that only one variable sees, and push the Option of the element taken off, which is only built if needed."""
    e.spill()
    array = e.bind(e.pop())
    name = e.temporary()
    items = e.list_of(array.text)
    e.statement(f"{e.here()}{name} = {items}.pop() if {items} else END")
    e.facts.kill_elements(array.text)
    e.facts.spare |= {array.text} & e.lists.keys()
    e.push_unboxed(f"option_of_moved({name})", name, kinds.MOVED_OPTION, e.kinds.inner(array.kind))


WITHOUT_PARTS = {("Map", "get"): map_get, ("Array", "pop"): array_pop}  # methods that take their parts from the stack themselves


def array_push(e: Emitter, parts: list[Value]) -> None:
    """Write Array.push as a statement, and push nil: CPython has a form of its own for a call of `append` whose result nobody
    takes."""
    e.record_element(parts[0].text, parts[1].kind)
    array, value = bind_parts(e, parts)
    items = e.list_of(array.text)
    append = f"{e.here()}{items}.append({value.text})"
    room = Branch(room_test(e, array.text))
    room.yes.append(append)
    room.no.append(f"{e.here()}collection_too_long()")
    if checks_at_push(e, array.text, e.at):
        e.preserve(array.text)
        tested = Branch(f"m{array.text[1:]}")
        tested.yes.append(append)
        before, e.out = e.out, tested.no
        make_list_unique(e, slot_of(array.text))
        e.out = before
        room.condition = f"len({items}) < M"
        tested.no.append(room)
        room = tested
    e.out += [append] if array.text in e.facts.spare else [room]
    e.facts.spare = frozenset()
    e.push(Value("None", kinds.NIL))
