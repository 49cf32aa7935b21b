"""The family of opcodes that push constants and build or take apart values: Options, Results, tuples, structs, enum values,
built-in errors, ranges and what walks over them (V-2.5, V-7.2).

Hands on `EMIT` to `control`, `err` to `calls`, `error_constant` and `extended_path` to `branches`, `mark_payload` and
`payload_text` to `calls` and `intrinsics`, `push_literal` to `control`, `takes_first` to `places`.

A form, registered by `@emit(OPCODE, …)`, takes the emitter `e`, the opcode and its operand. It pops abstract values (a `Value` is
a Python expression with what is known of it) from `e.stack`, pushes those of the results, writes statements to `e.out`, and
returns nothing: it builds no value of the program, and what fails does so when the text runs. An unboxed Option or Result is one
that is only built where somebody wants it whole: a variable has its payload, or `END` for None, the Err of a Result. The path of
an error is the places in the program that it has passed. Names in the text are those of `emitter`, and what is called there is in
`library`; `NONE_VALUE` is the Option None, `HOLDERS` the classes Some, Ok and Err.
"""

from __future__ import annotations

from ..builtins.modules import row_of
from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..values.errors import is_family
from . import kinds
from .emitter import registrar, starred_count
from .facts import MOST_COUNTED, TESTED, Value, slot_of
from .literals import may_be_written, name_of, parts_of
from .text import Branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter, Form
    from .kinds import Kind

EMIT: dict[int, Form] = {}
emit = registrar(EMIT)

# Kinds that only the translator has: what it has built itself is known better than its type. Of a built-in error the word also
# holds the number of the constant that it was made of.
OK: Kind = ("ok", kinds.UNKNOWN)
ERR: Kind = ("err", kinds.UNKNOWN)
FAILURE = "failure "
JUMP, STORE, ITERATE, NEXT, RETURN = (BY_NAME[name].number for name in ("JUMP", "STORE", "ITERATE", "NEXT", "RETURN"))
MOST_FIELDS = 12  # of a struct that is filled slot by slot

# ---------------------------------------------------------------- constants

# By the tag of a constant; in a variant without a payload there is nothing to share.
CONSTANT_KINDS = {im.K_INT: kinds.INT, im.K_FLOAT: kinds.FLOAT, im.K_STRING: kinds.STRING, im.K_VARIANT: kinds.PLAIN}


@emit("CONST")
def constant(e: Emitter, op: Opcode, operand: int) -> None:
    tag, value = e.image.constants[operand]
    if tag == im.K_INT:
        e.push(Value(str(value) if value >= 0 else f"({value})", kinds.INT, low=value, high=value))
        e.stack[-1].certain = True
        return
    # Never the text itself: what a program says is not text that Python runs (G-2.22).
    e.push(Value(e.constant(op, operand), CONSTANT_KINDS.get(tag, kinds.ANY)))
    e.stack[-1].length = len(value) if tag == im.K_STRING else None
    e.stack[-1].certain = tag in (im.K_FLOAT, im.K_STRING)


@emit("INT")
def small_int(e: Emitter, op: Opcode, operand: int) -> None:
    e.push(Value(str(operand), kinds.INT, low=operand, high=operand))
    e.stack[-1].certain = True


SINGLETONS = {
    "NIL": ("None", kinds.NIL), "TRUE": ("True", kinds.BOOL), "FALSE": ("False", kinds.BOOL), "NONE": ("NONE_VALUE", kinds.NONE),
}  # fmt: skip


@emit(*SINGLETONS)
def singleton(e: Emitter, op: Opcode, operand: int) -> None:
    e.push(Value(*SINGLETONS[op.name]))


@emit("HASHMAP", "LEDGER", "TOOL")
def declared(e: Emitter, op: Opcode, operand: int) -> None:
    e.push(Value(e.constant(op, operand)))


# ---------------------------------------------------------------- literals of constants

READERS = frozenset({BY_NAME[name].number for name in ("ITERATE", "INDEX", "INDEX_ARRAY", "LENGTH")})
LOAD, MOVE, LOAD_OWN, CALL_BUILTIN = (BY_NAME[name].number for name in ("LOAD", "MOVE", "LOAD_OWN", "CALL_BUILTIN"))


def push_literal(e: Emitter, start: int, last: int) -> bool:
    """Push the literal of constants that the instructions from `start` to `last` make, which is made once, and return whether
    that was done: not where somebody may be about to write to it, nor for a tuple that is to be taken apart."""
    e.at = last
    parts: list[Kind] = []
    for _, number, operand in e.body.instructions[start : last + 1]:
        parts = with_part(e, OPCODES[number], operand, parts)
    name, kind = name_of(e.body, start, last), parts[0]
    fits = not goes_to_a_local(e) if kind[0] in ("tuple", "plain") else True
    if not fits or (may_be_written(e.body, start, last) and not is_only_read(e, start, last)):
        e.at = start
        return False
    e.push(Value(name, kind))
    e.marked |= {name}
    if kind[0] == "array":
        e.stack[-1].elements, e.stack[-1].elements_marked = f"{name}.items", True
    return True


def with_part(e: Emitter, op: Opcode, operand: int, parts: list[Kind]) -> list[Kind]:
    """Return the kinds of the values of a literal after one of its instructions."""
    if op.name == "CONST":
        tag = e.image.constants[operand][0]
        return [*parts, CONSTANT_KINDS.get(tag, kinds.ANY)]
    if op.name == "INT" or op.name in SINGLETONS:
        return [*parts, kinds.INT if op.name == "INT" else SINGLETONS[op.name][1]]
    count = parts_of(e.image, op.number, operand)
    before, own = parts[: len(parts) - count], parts[len(parts) - count :]
    if op.name == "TUPLE":
        return [*before, e.kinds.tuple(own)]
    if op.name == "VARIANT":
        return [*before, e.kinds.of_type(e.image.constants[operand][1][0])]
    if op.name == "OK":
        return [*before, OK]
    if op.name == "MAP":
        return [*before, e.kinds.container("map", kinds.join(own[::2]), kinds.join(own[1::2]))]
    return [*before, e.kinds.container("array" if op.name == "ARRAY" else "option", kinds.join(own))]


def is_only_read(e: Emitter, start: int, last: int) -> bool:
    """Return whether what the instructions from `start` to `last` make is only read where it goes: walked over, read by position
    or key, or in a local that is not written to."""
    by, position = e.uses.consumer(last, start)
    if by < 0:
        return False
    _, number, operand = e.body.instructions[by]
    if number == STORE:
        loads = e.uses.loads.get(operand, {})
        return all(is_plain_load(e, at) for at in loads)
    return position == 0 and (number in READERS or is_reading_call(e, number, operand))


def is_plain_load(e: Emitter, at: int) -> bool:
    """Return whether a local is loaded to read it, and not to write to it or to let it go."""
    number = e.body.instructions[at][1]
    return number == LOAD or (number == MOVE and e.body.instructions[at + 1][1] in READERS)


def is_reading_call(e: Emitter, number: int, operand: int) -> bool:
    """Return whether an instruction calls a built-in method of Array or Map that does not change it."""
    if number != CALL_BUILTIN:
        return False
    receiver, name = e.image.constants[operand][1]
    row = row_of(receiver, name)
    return receiver in ("Array", "Map") and row is not None and not row.mut


# ---------------------------------------------------------------- building


@emit("SOME")
def some(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    e.allocate("Some", [("value", part.text)], e.kinds.container("option", part.kind))


@emit("WRAP")
def wrap(e: Emitter, op: Opcode, operand: int) -> None:
    """Push the Option of a value that an Option is compared with or set to; it is only built if needed."""
    kind = e.stack[-1].kind
    if kind[0] not in ("int", "string"):
        e.generic(op, operand)
        return
    e.spill(unboxed=False)
    part = e.pop()
    part = part if part.text[0] == "K" else e.bind_fresh(part)  # a local may get another value before it is asked
    e.push_unboxed(f"Some({part.text})", part.text, kinds.MOVED_OPTION, kind)


@emit("OK")
def ok(e: Emitter, op: Opcode, operand: int) -> None:
    e.allocate("Ok", [("value", e.pop().text)], OK)


@emit("ERR")
def err(e: Emitter, op: Opcode, operand: int) -> None:
    part, path = e.pop(), e.error_path()
    if part.kind[0] in kinds.SCALARS:
        e.allocate("Err", [("value", part.text), ("way", path)], ERR)
    elif error_constant(part) >= 0:
        part = e.bind(part)
        e.allocate("Err", [("value", part.text), ("way", extended_path(e, part, path))], ERR)
    else:
        e.push_expression(f"begun({part.text}, {path})", [part], ERR, pure=False)


@emit("ARRAY")
def array(e: Emitter, op: Opcode, operand: int) -> None:
    parts = e.pop_many(operand)
    items = ", ".join([part.text for part in parts])
    empty: Kind = ("array", kinds.EMPTY)
    kind = e.kinds.container("array", kinds.join([part.kind for part in parts])) if parts else empty
    if parts and e.body.instructions[e.at + 1][1] == ITERATE:  # nobody asks for the Array
        e.push_expression(f"Array([{items}])", parts, kind, pure=False)
        e.stack[-1].elements = f"[{items}]"
        return
    e.allocate("Array", [("items", f"[{items}]"), ("shared", "False")], kind)


@emit("MAP")
def map_(e: Emitter, op: Opcode, operand: int) -> None:
    parts = e.stack[len(e.stack) - operand :]
    keys, values = parts[::2], parts[1::2]
    kind: Kind = ("map", kinds.EMPTY)
    if parts:
        kind = e.kinds.container("map", kinds.join([key.kind for key in keys]), kinds.join([value.kind for value in values]))
    if all(key.certain and key.kind[0] in ("string", "int") for key in keys):  # the dict has such a key as it is
        e.pop_many(operand)
        items = ", ".join([f"{key.text}: {value.text}" for key, value in zip(keys, values, strict=True)])
        e.allocate("Map", [("items", f"{{{items}}}"), ("shared", "False")], kind)
        return
    e.generic(op, operand)
    e.stack[-1].kind = kind


@emit("TUPLE")
def tuple_(e: Emitter, op: Opcode, operand: int) -> None:
    parts = e.pop_many(operand)
    kind = e.kinds.tuple([part.kind for part in parts])
    bound = goes_to_a_local(e) or is_asked_for(e)
    if bound:  # where it is taken apart at once, nobody asks for the tuple
        e.stack += parts
        e.spill()
        e.bind_all(e.stack)
        parts = e.pop_many(operand)
    e.push_expression(f"({', '.join([part.text for part in parts])}{',' * (operand == 1)})", parts, kind)
    if bound:
        e.stack[-1].parts = tuple(parts)


def is_asked_for(e: Emitter) -> bool:
    """Return whether the value that is pushed here is what a method of a Set is called with next: that looks at its parts."""
    return e.uses.builtin_at(e.at + 1)[:1] == ("Set",)


def goes_to_a_local(e: Emitter) -> bool:
    """Return whether the value that is pushed here is stored in a local next, perhaps behind the jump that ends an inlined
    function, or returned by a method whose state is lent, which gives the result alone."""
    instructions, at = e.body.instructions, e.at + 1
    if e.lent is not None and instructions[at][1] == RETURN:
        return True
    if instructions[at][1] == JUMP:
        at = instructions[at][2]
    return instructions[at][1] == STORE


@emit("STRUCT")
def struct(e: Emitter, op: Opcode, operand: int) -> None:
    class_ = e.linked(op, operand)
    parts = e.pop_many(starred_count(op, operand, class_))
    name, kind = e.constant(op, operand), e.kinds.of_type(operand)
    if len(parts) > MOST_FIELDS or class_.__slots__ != tuple([f"f{position}" for position in range(len(parts))]):
        e.push_expression(f"{name}({', '.join([part.text for part in parts])})", parts, kind, pure=False)
        return
    slots = [(f"f{position}", part.text) for position, part in enumerate(parts)]
    e.allocate(name, [*slots, ("shared", "False")], kind)


@emit("VARIANT")
def variant(e: Emitter, op: Opcode, operand: int) -> None:
    parts = e.pop_many(starred_count(op, operand, e.linked(op, operand)))
    name = e.constant(op, operand)
    plain = not any(e.kinds.is_marked(part.kind) for part in parts)  # then there is nothing in it to mark
    slots = [
        ("payload", f"({''.join([f'{part.text}, ' for part in parts])})"), ("decl", f"{name}.decl"),
        ("variant", str(e.image.constants[operand][1][1])), ("shared", str(plain)),
    ]  # fmt: skip
    e.allocate("EnumValue", slots, e.kinds.of_type(e.image.constants[operand][1][0]))


@emit("ERROR")
def error(e: Emitter, op: Opcode, operand: int) -> None:
    """Write out the error of a family with its message and nothing else; other errors have the generic form."""
    form = e.linked(op, operand)
    if form.count != 1 or e.stack[-1].kind[0] != "string":
        e.generic(op, operand)
        return
    name = e.constant(op, operand)
    slots = [("message", e.pop().text), ("family", f"{name}.family"), ("variant", f"{name}.variant")]
    e.allocate("ErrorValue", [*slots, ("fields", "{}"), ("way", "()")], (f"{FAILURE}{operand}", kinds.UNKNOWN))


# ---------------------------------------------------------------- built-in errors


def error_constant(value: Value) -> int:
    """Return the number of the constant of a built-in error that this function has made; -1 for any other value."""
    return int(value.kind[0][len(FAILURE) :]) if value.kind[0].startswith(FAILURE) else -1


def extended_path(e: Emitter, error: Value, path: str) -> str:
    """Return the expression of the path of a built-in error that this function has made, with the places of `path` behind those
    it has passed; where `path` is empty the error was made just here and has passed none."""
    if path == "()" or e.out[-1:] == [f"{error.text}.way = ()"]:
        return path
    return f"{path} if not {error.text}.way else longer({error.text}.way, {path})"


@emit("IS")
def is_of_type(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the test of a type, for an error that this function has made with a test of its family first: mostly it is the very
    one that is asked for."""
    descriptor = e.program.descriptors[operand]
    made_of = error_constant(e.stack[-1])
    if made_of < 0 or descriptor[0] != "error" or len(descriptor) != 2:
        e.generic(op, operand)
        return
    if is_family(e.image.constants[made_of][1][0], descriptor[1]):
        e.pop()
        e.push(Value("True", kinds.BOOL))
        return
    e.spill()
    part = e.bind(e.pop())
    name = e.constant(op, operand)
    text = f"({part.text}.family == {name}[1] or {e.here()}op_IS({part.text}, {name}))"
    e.push(Value(text, kinds.BOOL, pure=False, uses=part.uses, depth=1))


@emit("GET_ERROR", "GET_MEMBER")
def get_error_member(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the read of a member; one that every built-in error has stands in a slot."""
    slot = {"message": "message", "kind": "family"}.get(e.image.constants[operand][1])
    made_of = error_constant(e.stack[-1])
    if slot is None or e.stack[-1].kind[0] not in ("error", "") and made_of < 0:
        e.generic(op, operand)
        return
    if made_of >= 0:
        part = e.pop()
        e.push_expression(f"{part.text}.{slot}", [part], kinds.STRING)
        return
    e.spill()
    part = e.bind(e.pop())
    other = f"{e.here()}op_{op.name}({part.text}, {e.constant(op, operand)})"
    text = f"({part.text}.{slot} if type({part.text}) is ErrorValue else {other})"
    e.push(Value(text, kinds.ANY, pure=False, uses=part.uses, depth=1))


# ---------------------------------------------------------------- taking apart


def payload_text(e: Emitter, value: Value) -> tuple[str, bool]:
    """Return (the expression of the payload of an unboxed value, whether that is just the variable with it): what is read out of
    a container and stays there gets the mark of a shared value first."""
    alone = value.kind == kinds.MOVED_OPTION or value.kind[0] == "result" or not e.kinds.is_marked(value.unboxed_kind)
    return str(value.unboxed) if alone else f"shared_payload({value.unboxed})", alone


def mark_payload(e: Emitter, name: str, kind: Kind) -> None:
    """Mark what the variable `name` has as shared, if a write could reach it."""
    e.spill()
    if name not in e.marked:
        e.out += e.marking(name, kind)
        e.marked |= {name}


@emit("UNWRAP")
def unwrap(e: Emitter, op: Opcode, operand: int) -> None:
    if e.stack[-1].unboxed is not None and (e.stack[-1].kind[0] == "option" or e.stack[-1].unboxed in e.facts.absent):
        part = e.pop()
        if part.kind[0] == "result" and e.facts.absent[str(part.unboxed)]:
            e.push(Value(f"{part.unboxed}.value"))
            return
        _, alone = payload_text(e, part)
        if not alone:
            mark_payload(e, str(part.unboxed), part.unboxed_kind)
        e.push(Value(str(part.unboxed), part.unboxed_kind))
        return
    part = e.pop_bound()
    slot = slot_of(part.text)
    variant = part.variant if slot < 0 else e.local(slot).variant  # a test may have told since it was loaded
    if part.kind[0] in ("some", "ok", "err") or variant in TESTED.values():
        kind = kinds.ANY if variant == TESTED["IS_ERR"] else e.kinds.success(part.kind)
        e.push_expression(f"{part.text}.value", [part], kind)
    else:
        holds = f"{part.text} is not NONE_VALUE" if part.kind[0] == "option" else f"type({part.text}) in HOLDERS"
        text = f"({part.text}.value if {holds} else {part.text})"
        e.push_expression(text, [part], e.kinds.inner(part.kind))


@emit("GET_ELEMENT")
def get_element(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    if part.parts:
        e.push(part.parts[operand])
        return
    e.push_expression(f"{part.text}[{operand}]", [part], e.kinds.element(part.kind, operand))


@emit("GET_PAYLOAD")
def get_payload(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    variant = -1 if part.variant is None else part.variant
    e.push_expression(f"{part.text}.payload[{operand}]", [part], e.kinds.payload(part.kind, variant, operand))
    size = e.kinds.payload_size(part.kind, variant)
    if size > 1 and part.is_atom:
        e.stack[-1].payload = part.text, operand, size


# ---------------------------------------------------------------- ranges and iterators


@emit("RANGE")
def range_(e: Emitter, op: Opcode, operand: int) -> None:
    start, end = parts = e.pop_many(2)
    if all(part.certain and part.kind[0] == "int" for part in parts):
        e.push_expression(f"RangeValue({start.text}, {end.text}, {operand == 1})", parts, kinds.PLAIN)
    else:
        e.push_expression(f"RangeValue.checked({start.text}, {end.text}, {operand == 1})", parts, kinds.PLAIN, fails=True)
    e.stack[-1].range = (start, end, operand == 1)


ELEMENTS = {"string": kinds.STRING, "range": kinds.INT}  # kinds of what these are walked over by


@emit("ITERATE")
def iterate(e: Emitter, op: Opcode, operand: int) -> None:
    """Push an iterator, and note in `walked` what is known of its elements."""
    if e.stack[-1].kind[0] == "string" and not e.stack[-1].certain:
        guard_text(e)
    part = e.stack[-1]
    position = len(e.stack) - 1
    word = part.kind[0]
    element = e.kinds.inner(part.kind) if word == "array" else ELEMENTS.get(word, kinds.ANY)
    if word == "map" and part.kind[1] >= 0:
        element = e.kinds.tuple([e.kinds.inner(part.kind, 1), e.kinds.inner(part.kind)])
    e.walked[position] = Value("", element)
    if part.range is not None:
        e.pop()
        e.walked[position] = iterate_range(e, *part.range)
    elif word in ("array", "string"):
        e.pop()
        e.walked[position].elements_marked = bool(part.elements) and part.elements_marked
        e.walked[position].certain = word == "string"
        e.push_expression(f"iter({part.elements or part.text + '.items' * (word == 'array')})", [part], fails=True)
    elif word == "map":
        part = e.pop_bound()
        items = e.list_of(part.text)
        if takes_first(e, e.at):
            e.push_expression(f"first_entry({part.text}, MACHINE)", [part], fails=True)
            return
        test = f"len({items}) < LARGE and TRUE_KEY not in {items} and FALSE_KEY not in {items}"
        other = f"op_ITERATE({part.text}, MACHINE)"
        e.push_expression(f"(iter(list({items}.items())) if {test} else {other})", [part], fails=True)
    else:
        e.generic(op, 0)


def guard_text(e: Emitter) -> None:
    """Leave for the interpreter where what is to be walked over is no String, so that what comes of the walk surely is one."""
    e.spill()
    e.bind_all(e.stack)
    part = e.stack[-1]
    guard = Branch(f"type({part.text}) is not str")
    guard.yes.append(f"{e.site(e.at, e.stack)}raise Deoptimise")
    e.out.append(guard)
    part.certain = True


def takes_first(e: Emitter, at: int) -> bool:
    """Return whether the iterator that ITERATE, the instruction `at`, makes gives its first element alone: no loop comes back to
    it."""
    return e.body.instructions[at + 1][1] == NEXT and at + 1 not in e.uses.targets


def iterate_range(e: Emitter, start: Value, end: Value, inclusive: bool) -> Value:
    """Push an iterator over a range that is not built, and return what is known of its elements."""
    ints = start.kind[0] == end.kind[0] == "int"
    if ints:
        e.push_expression(f"iter(range({start.text}, {end.text}{' + 1' * inclusive}))", [start, end], pure=False)
    else:
        e.push_expression(f"span({start.text}, {end.text}, {inclusive})", [start, end], fails=True)
    low = start.low if start.kind[0] == "int" else None
    last = end.high if end.kind[0] == "int" and end.high is not None else (1 << 63) - 1
    if start.high is not None:
        last = min(last, start.high + MOST_COUNTED)
    element = Value("", kinds.INT, low=low, high=last - 1 + inclusive)
    element.certain = ints  # Python walks over nothing else
    element.upper_bound = "" if inclusive else end.text
    if start.low is not None and start.low == start.high and end.high is not None and end.low == end.high:
        element.length = max(end.high + inclusive - start.low, 0)
    return element
