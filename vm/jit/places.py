"""The family of opcodes that move values between the operand stack, variables, cells, fields and elements (V-5.7, V-7.2).

Containers are copied on write: a value in a second place carries the mark `shared`, and who writes makes its own copy first. The
facts of the emitter say where that test can be left out, and which elements a variable holds already. Hands on `EMIT` and
`append_in_place` to `control`, `copier` to `loops`, `map_key` to `calls` and `intrinsics`, and to the latter also LONGEST and
what guards and writes elements of Arrays and Maps: `guard_key`, `checks_at_push`, `make_list_unique`, `room_test` and
`set_map_entry`.

A form, registered by `@emit(OPCODE, …)`, takes the emitter `e`, the opcode and its operand. It pops abstract values (a `Value` is
a Python expression with what is known of it) from `e.stack`, pushes those of the results, writes statements to `e.out`, and
returns nothing: it moves no value of the program, and what fails does so when the text runs. In the text `lN` is local N, `cN` a
cell, `aN` the list of the Array or the dict of the Map in local N (the other names are those of `emitter`, what is called there
is in `library`), `KEEP` whether panics show locals, so that what moves on has to stay as it is, `MARKED` the classes whose values
are marked by setting `shared`, `PLAIN` those without a mark, `BEHIND` a position behind every end, `END` no entry, `M` the most
elements of a container, `Q` the most characters that are surely allowed. Unique is what no other place holds.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME
from . import kinds
from .emitter import MOST_PARTS, registrar
from .facts import IS_NONE, Value, slot_of, variables_of
from .kinds import CONTAINERS
from .lending import ENTERS
from .liveness import WRITTEN
from .text import Branch, Compound, Store, keep
from .values import takes_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter, Form
    from .kinds import Kind

EMIT: dict[int, Form] = {}
emit = registrar(EMIT)

ITERATE, IS_SOME, JUMP_UNLESS, UNWRAP = (BY_NAME[name].number for name in ("ITERATE", "IS_SOME", "JUMP_UNLESS", "UNWRAP"))
LOADS = frozenset({BY_NAME["LOAD"].number, BY_NAME["MOVE"].number})
LONGEST = 1 << 40  # more elements than any container holds

# ---------------------------------------------------------------- the operand stack


@emit("POP")
def pop(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    if not part.pure and part.unboxed is None:
        e.statement(part.text)


@emit("DUP")
def dup(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop() if e.stack[-1].unboxed is not None else e.pop_bound()
    e.push(part)
    e.push(part)


@emit("SWAP")
def swap(e: Emitter, op: Opcode, operand: int) -> None:
    if not (e.stack[-1].pure or e.stack[-2].pure):
        e.spill()
    e.stack[-1], e.stack[-2] = e.stack[-2], e.stack[-1]


@emit("DROP")
def drop(e: Emitter, op: Opcode, operand: int) -> None:
    if operand:
        e.spill()
        e.pop_many(operand)


@emit("SLIDE")
def slide(e: Emitter, op: Opcode, operand: int) -> None:
    if operand:
        e.spill()
        top = e.pop()
        e.pop_many(operand)
        e.push(top)


# ---------------------------------------------------------------- locals and cells


@emit("LOAD")
def load(e: Emitter, op: Opcode, operand: int) -> None:
    e.push(known_none(e, e.local(operand)))


def known_none(e: Emitter, part: Value) -> Value:
    """Return a value that was loaded, or the constant None for an Option of which a test has told that it is None."""
    absent = part.variant == IS_NONE if part.unboxed is None else e.facts.absent.get(part.unboxed, False)
    return Value("NONE_VALUE", kinds.NONE) if absent and part.kind[0] == "option" else part


@emit("MOVE")
def move(e: Emitter, op: Opcode, operand: int) -> None:
    """Push a local that no mark is needed for, unless a panic is to show it as it is now, which is none without a name."""
    part = known_none(e, e.local(operand))
    if part.unboxed is not None:
        share_unboxed(e, part, "KEEP")
    elif operand in e.body.hidden_locals:
        e.facts.escape()
    elif e.kinds.is_marked(part.kind) and part.text not in e.marked:
        e.facts.escape()
        shown = Branch("KEEP")
        shown.yes.append(f"l{operand}.shared = True" if part.kind[0] in CONTAINERS else f"share(l{operand})")
        e.out.append(shown)
    e.push(part)


@emit("STORE")
def store(e: Emitter, op: Opcode, operand: int) -> None:
    name = f"l{operand}"
    part = e.pop()
    e.record_store(operand, part)
    if part.text == name:
        return
    e.preserve(name)
    e.assign(operand, part)
    if e.at in e.range_stores:
        if not part.pure:
            e.statement(part.text)
        return
    e.marked = e.marked | {name} if part.text in e.marked else e.marked - {name}
    if part.unboxed is not None and e.at in e.body.hidden_stores:
        e.spill()
        if part.kind == kinds.OPTION and e.kinds.is_marked(part.unboxed_kind) and not is_taken_at_once(e, operand):
            e.mark_if_there(part.unboxed, part.unboxed_kind)  # the container that has it too may be written before it is taken
        e.out.append(Store(operand, part.text))
    elif not part.pure:
        e.statement(f"{name} = {part.text}")
    elif e.at in e.body.hidden_stores:
        e.out.append(Store(operand, part.text, part.payload))
    else:
        e.out.append(f"{name} = {part.text}")


def is_taken_at_once(e: Emitter, slot: int) -> bool:
    """Return whether the Option that is stored here is asked next whether it is there, and then taken apart."""
    following = e.body.instructions[e.at + 1 : e.at + 6]
    numbers = [number for _, number, _ in following]
    loads = [at for at in (0, 3) if numbers[at:] and numbers[at] in LOADS and following[at][2] == slot]
    return loads == [0, 3] and (numbers[1:3], numbers[4:]) == ([IS_SOME, JUMP_UNLESS], [UNWRAP])


def append_in_place(e: Emitter, slot: int) -> bool:
    """Write CONCAT, STORE as one operation, if the left operand is the local `slot` itself, and return whether that was done:
    CPython extends such a text where it lies, so that a loop of these is linear."""
    left, right = e.stack[-2:]
    name = f"l{slot}"
    if left.text != name or name in right.uses:
        return False
    right = e.pop_bound()
    e.pop()
    e.preserve(name)
    e.spill()
    e.marked -= {name}
    e.record_store(slot, Value("", kinds.STRING))
    e.facts.kill(name)
    more = right.length or right.max_length
    check = Branch(f"len({name}) + {f'len({right.text})' if more is None else more} > Q")
    check.yes.append(f"{e.here()}check_concat({name}, {right.text})")
    e.out += [check, f"{name} += {right.text}"]
    return True


@emit("NEW_CELL")
def new_cell(e: Emitter, op: Opcode, operand: int) -> None:
    e.preserve(f"c{operand}")
    e.statement(f"c{operand} = Cell()")


@emit("LOAD_CELL")
def load_cell(e: Emitter, op: Opcode, operand: int) -> None:
    kind = e.kinds.of_type(e.uses.cell_types[operand]) if operand in e.uses.cell_types else kinds.ANY
    e.push(Value(f"c{operand}.value", kind, pure=False, uses=frozenset({f"c{operand}"})))


@emit("STORE_CELL")
def store_cell(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    e.statement(f"c{operand}.value = {part.text}")


@emit("CLOSURE")
def closure(e: Emitter, op: Opcode, operand: int) -> None:
    own = e.body.places[e.at][1].cells
    cells = [f"c{own[cell]}" for cell in e.image.functions[operand].captures]
    text = f"Closure({e.constant(op, operand)}, ({''.join([f'{cell}, ' for cell in cells])}))"
    e.push(Value(text, kinds.PLAIN, uses=frozenset(cells), depth=1))


# ---------------------------------------------------------------- sharing and owning


@emit("SHARE")
def share(e: Emitter, op: Opcode, operand: int) -> None:
    """Mark the top as shared, unless it has no mark or needs none, since the callee only reads it."""
    if e.at in e.body.borrowed_shares:
        return
    part = e.stack[-1]
    if not e.kinds.is_marked(part.kind) or part.text in e.marked or is_copied_to_walk(e, part):
        return
    if part.unboxed is not None:
        share_unboxed(e, part, "")
        return
    if not part.is_atom:
        e.spill()
        e.stack[-1] = e.bind(e.stack[-1])
    part = e.pop()
    name = part.text
    e.facts.escape()
    e.marked |= {name}
    marks = e.marks(name, part.kind)
    if marks:
        for mark in marks:
            e.statement(mark)
        e.push(part)
        return
    other = f"type({name}) is not int and (w := type({name})) is not str and w not in PLAIN"  # most values are one of the two
    test = Branch(f"not {name}.shared" if part.kind[0] == "enum" else other)
    if part.kind[0] == "enum":
        test.yes.append(f"share({name})")
    else:
        whole = Branch("w in MARKED")
        whole.yes.append(f"{name}.shared = True")
        whole.no.append(f"share({name})")
        test.yes.append(whole)
    e.spill()
    e.out.append(test)
    e.push(part)


@emit("LOAD_OWN")
def load_own(e: Emitter, op: Opcode, operand: int) -> None:
    name = f"l{operand}"
    kind = e.local(operand).kind
    if e.uses.loads.get(operand, {}).get(e.at) != WRITTEN:
        e.record_element(name, kinds.ANY)
    if checks_at_push(e, name, e.uses.consumer(e.at)[0]):
        e.facts.escape(name)
    elif name not in e.facts.unique and not (e.lent is not None and operand == 0):  # what is lent is never shared
        if (name, e.lists.get(name)) not in e.facts.opened:
            e.preserve(name)
        if name in e.lists:
            make_list_unique(e, operand)
        else:
            make_unique(e, name, kind)
        e.facts.escape(name)
        e.facts.unique |= {name} if kind[0] in CONTAINERS else frozenset()
    e.push(e.local(operand))


def is_copied_to_walk(e: Emitter, part: Value) -> bool:
    """Return whether a Map is only walked over next: that is done over a copy of its entries, in which no write can reach what
    is inside a value, or of which the first is taken before any write."""
    walks = e.body.instructions[e.at + 1][1] == ITERATE and part.kind[0] == "map"
    return walks and (takes_first(e, e.at + 1) or not e.kinds.is_marked(e.kinds.inner(part.kind)))


def share_unboxed(e: Emitter, part: Value, condition: str) -> None:
    """Mark the payload of an Option or Result that is not built, where the expression `condition` holds. One that was read out of
    a container and stays there is marked where it is taken (`payload_text`), a scalar never."""
    if part.kind == kinds.OPTION or (not e.kinds.is_marked(part.unboxed_kind) and part.kind[0] == "option"):
        return
    e.facts.escape()
    test = Branch(" and ".join(filter(None, [condition, f"type({part.unboxed}) not in PLAIN"])))
    test.yes.append(f"share({part.unboxed})")
    e.spill(unboxed=False)
    e.out.append(test)


def make_unique(e: Emitter, name: str, kind: Kind) -> None:
    """Copy the container in a variable if it is shared. A value of another kind is left for the write to refuse."""
    e.spill()
    e.marked -= {name}
    if kind[0] in CONTAINERS:
        test = Branch(f"{name}.shared")
        test.yes.append(f"{name} = {copier(e, kind)}({name})")
        e.out.append(test)
    else:
        attempt, test = Compound("try:", "except AttributeError:"), Branch(f"{name}.shared")
        test.yes.append(f"{name} = own({name})")
        attempt.body.append(test)
        attempt.otherwise.append("pass")
        e.out.append(attempt)


def copier(e: Emitter, kind: Kind) -> str:
    """Return the name of the function that copies a container of a kind: `own_plain` for an Array of values without a mark, else
    `own`."""
    return "own_plain" if kind[0] == "array" and not e.kinds.is_marked(e.kinds.inner(kind)) else "own"


def make_list_unique(e: Emitter, slot: int) -> None:
    """Do as `make_unique` for the Array or Map in local `slot`, whose list or dict is in a variable throughout a loop: only the
    first write in the loop tests."""
    name = f"l{slot}"
    key = (name, e.lists[name])
    if key in e.facts.opened:
        return
    e.facts.opened |= {key}
    e.spill()
    e.marked -= {name}
    first, test = Branch(f"b{slot} is None"), Branch(f"l{slot}.shared")
    test.yes.append(f"l{slot} = {copier(e, e.local(slot).kind)}(l{slot})")
    first.yes += [test, f"a{slot} = b{slot} = l{slot}.items"]
    e.out.append(first)


def checks_at_push(e: Emitter, name: str, consumer: int) -> bool:
    """Return whether the test for sharing is left to the push of an element by the instruction `consumer`: where the loop knows
    before whether there is room, one flag says both."""
    known = name in e.facts.unique or (name, e.lists.get(name)) in e.facts.opened
    return not known and consumer in e.room_tested.get(name, ()) and e.uses.builtin_at(consumer) == ("Array", "push")


@emit("CELL_OWN")
def cell_own(e: Emitter, op: Opcode, operand: int) -> None:
    name = e.temporary()
    e.statement(f"{name} = c{operand}.value")
    copied = Branch(f"type({name}) not in MARKED or {name}.shared")
    copied.yes.append(f"{name} = own_cell(c{operand})")
    e.out.append(copied)
    e.push(Value(name))


@emit("LENGTH")
def length(e: Emitter, op: Opcode, operand: int) -> None:
    word = e.stack[-1].kind[0]
    if word not in ("", "string", "array", "map"):
        e.generic(op, operand)
        return
    part = e.pop_bound()
    quick = f"len({part.text})" if word == "string" else f"len({e.list_of(part.text)})"
    if not word:
        quick = f"{quick} if type({part.text}) is Array else op_LENGTH({part.text})"
    e.push_expression(f"({quick})", [part], kinds.INT, fails=True, pure=False)
    e.stack[-1].low, e.stack[-1].high = 0, LONGEST if word else None


# ---------------------------------------------------------------- fields


@emit("GET_FIELD")
def get_field(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    kind = e.kinds.field(part.kind, operand)
    name, _ = e.facts.elements.get((part.name, f".f{operand}"), ("", False))
    if name:
        e.read.add(name)
        e.push_variable(name, kind)
        return
    e.push_expression(f"{part.text}.f{operand}", [part], kind, pure=False)


@emit("TAKE_FIELD")
def take_field(e: Emitter, op: Opcode, operand: int) -> None:
    """Push a field that moves on, if nothing else holds its struct."""
    part = e.pop_bound()
    kind = e.kinds.field(part.kind, operand)
    if not e.kinds.is_marked(kind):
        e.push_expression(f"{part.text}.f{operand}", [part], kind, pure=False)
        return
    name = e.temporary()
    e.statement(f"{e.here()}{name} = {part.text}.f{operand}")
    test = Branch(f"{part.text}.shared or KEEP")
    test.yes.append(f"{name}.shared = True" if kind[0] in CONTAINERS else f"share({name})")
    e.out.append(test)
    e.facts.escape()
    e.push(Value(name, kind))


@emit("FIELD_OWN")
def field_own(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop_bound()
    name = e.temporary()
    kind = e.kinds.field(part.kind, operand)
    e.statement(f"{e.here()}{name} = {part.text}.f{operand}")
    test = Branch(f"{name}.shared" if kind[0] in CONTAINERS else f"is_shared({name})")
    test.yes.append(f"{name} = {part.text}.f{operand} = own({name})")
    e.out.append(test)
    e.facts.kill_field(operand)
    if part.text == "l0" and e.lent is not None and e.lent[operand] == ENTERS:
        e.noting[name] = operand
    e.push(Value(name, kind))


@emit("SET_FIELD")
def set_field(e: Emitter, op: Opcode, operand: int) -> None:
    value, part = e.pop_many(2)
    if not part.is_atom:
        e.push(value)
        part = e.spilled(part)
        value = e.pop()
    if value.kind[0] not in kinds.SCALARS:
        e.statement(f"{e.here()}{part.text}.f{operand} = {value.text}")
        e.facts.kill_field(operand)
        return
    name, text = value.text, value.text
    if not value.is_atom:
        name = e.temporary()
        text = f"({keep(name)}{value.text})"
    e.statement(f"{e.here()}{part.text}.f{operand} = {text}")
    e.facts.kill_field(operand)
    if name.isidentifier():
        e.facts.elements[part.text, f".f{operand}"] = (name, False)


# ---------------------------------------------------------------- elements of Arrays


def element(e: Emitter, array: Value, index: Value) -> str:
    """Return the expression of an element, in which a position outside of the array becomes P004; array and index are atoms."""
    place = e.element_site(array.text, index.text)
    return f"{place}{e.list_of(array.text)}[{subscript(index)}]"


def subscript(index: Value) -> str:
    """Return the expression of a position as Python takes it: a negative one would count from the end, so it becomes one behind
    every end."""
    natural = index.low is not None and index.low >= 0
    return index.text if natural else f"{index.text} if {index.text} >= 0 else BEHIND"


def note_in_bounds(e: Emitter, index: Value) -> None:
    """Note that a position which has raised no panic is one of an array."""
    slot = slot_of(index.text)
    if slot >= 0:
        e.refine([(slot, 0, LONGEST, None, None)])
        e.facts.slots[slot].kind = kinds.INT


@emit("INDEX_ARRAY")
def index_array(e: Emitter, op: Opcode, operand: int) -> None:
    index = e.pop()
    if not index.is_atom:
        index = bind_index(e, index)
    array = e.pop()
    kind = e.kinds.inner(array.kind)
    name, _ = e.facts.elements.get((array.text, index.text), ("", False))
    if name:
        e.read.add(name)
        e.push_variable(name, kind)
    elif array.is_atom:
        text = f"({element(e, array, index)})"
        e.push(Value(text, kind, pure=False, uses=variables_of([array, index]), depth=array.depth + 1))
        again = index.text[0] != "t" or index.text in e.facts.results.values()
        if slot_of(array.text) in e.uses.repeated and again:
            keep_element(e, array.text, index.text)
    else:
        text = f"({e.element_site('x', index.text)}(x := {array.text}).items[{subscript(index)}])"
        e.push(Value(text, kind, pure=False, uses=variables_of([array, index]), depth=array.depth + 1))
    note_in_bounds(e, index)


def bind_index(e: Emitter, index: Value) -> Value:
    """Return a position as an atom; the same sum of locals has the same one."""
    key = (index.text, *sorted(index.uses))
    name = e.facts.results.get(key)
    if name is not None and index.pure:
        return Value(name, kinds.INT, uses=frozenset({name}), low=index.low, high=index.high)
    bound = e.spilled(index)
    if index.pure and index.uses:
        e.facts.results[key] = bound.text
    return bound


def keep_element(e: Emitter, array: str, index: str) -> None:
    """Let the expression on top assign the element to a variable too, for the next read."""
    value, name = e.stack[-1], e.temporary()
    value.binding = (name, value.text)
    value.text = f"({keep(name)}{value.text})"
    value.uses |= {name}
    e.facts.elements[array, index] = (name, False)


@emit("INDEX")
def index(e: Emitter, op: Opcode, operand: int) -> None:
    part, position = e.stack[-2:]
    if part.kind[0] == "array" and position.kind[0] == "int":
        index_array(e, op, operand)
    elif part.kind[0] == "string" and position.kind[0] == "int":
        part, position = e.pop_two_bound()
        inside = f"{part.text}[{position.text}] if 0 <= {position.text} < len({part.text})"
        text = f"({inside} else {e.here()}op_INDEX({part.text}, {position.text}))"
        e.push(Value(text, kinds.STRING, pure=False, uses=variables_of([part, position]), depth=1))
    elif part.kind[0] == "map":
        if position.kind[0] in ("string", "int"):
            guard_key(e, 1)
        part, key = e.pop_two_bound()
        entry = f"(x := {e.list_of(part.text)}.get({map_key(key)}, END))"
        place = "" if map_key(key) == key.text else e.here()  # of a key that is none
        text = f"({place}x if {entry} is not END else {e.here()}key_not_found({key.text}))"
        e.push(Value(text, e.kinds.inner(part.kind), pure=False, uses=variables_of([part, key]), depth=1))
    elif part.kind[0] == "string" and not position.is_atom and position.range is not None and not position.range[2]:
        slice_of_text(e)
    elif part.kind[0] in ("", "array") and not position.is_atom and position.range is not None and not position.range[2]:
        part, position = e.pop_many(2)
        assert position.range is not None
        start, end = position.range[:2]
        e.facts.escape()  # what the slice holds is marked
        e.push_expression(f"slice_at({part.text}, {start.text}, {end.text})", [part, start, end], part.kind, fails=True)
    elif part.kind[0] == "bytes" and position.kind[0] == "int":
        index_by_classes(e, op.name, "bytes", "0 <= {1} < len({0})", "{0}[{1}]", "int")
        e.stack[-1].kind = kinds.INT
    elif part.kind[0] in ("", "array") and position.kind[0] in ("", "int"):
        index_by_classes(e, op.name, "Array", "0 <= {1} < len({0}.items)", "{0}.items[{1}]", "int")
    elif part.kind[0] == "" and position.kind[0] == "string":
        index_by_classes(e, op.name, "Map", "(x := {0}.items.get({1}, END)) is not END", "x", "str")
    else:
        e.generic(op, operand)


def index_by_classes(e: Emitter, name: str, holder: str, inside: str, element: str, class_: str) -> None:
    """Write the read of an element of what is perhaps no Array or Map (`holder`), or at what is perhaps no position or key of
    class `class_`: where it is, and the test `inside` holds, it is `element`; else the opcode `name` finds it."""
    part, position = e.pop_two_bound()
    tests = [f"type({part.text}) is {holder}"] if part.kind[0] in ("", "bytes") else []
    tests += [] if position.certain else [f"type({position.text}) is {class_}"]
    tests.append(inside.format(part.text, position.text))
    more = ", MACHINE" if name == "TAKE_INDEX" else ""
    other = f"{e.here()}op_{name}({part.text}, {position.text}{more})"
    text = f"({element.format(part.text, position.text)} if {' and '.join(tests)} else {other})"
    e.push(Value(text, e.kinds.inner(part.kind), pure=False, uses=variables_of([part, position]), depth=1))


def slice_of_text(e: Emitter) -> None:
    """Write `s[a..b]` without the Range: Python clamps bounds in the same way, if none is negative; an open one is None."""
    part, position = e.pop_many(2)
    assert position.range is not None
    bounds = position.range[:2]
    start, end = [bound.text for bound in bounds]
    natural = [bound.kind[0] == "int" and bound.low is not None and bound.low >= 0 for bound in bounds]
    certain = all(is_natural or bound.text == "None" for is_natural, bound in zip(natural, bounds, strict=True))
    text = f"({part.text}[{start}:{end}])" if certain else f"text_slice({part.text}, {start}, {end})"
    e.push_expression(text, [part, *bounds], kinds.STRING, fails=True)


@emit("TAKE_INDEX")
def take_index(e: Emitter, op: Opcode, operand: int) -> None:
    """Push an element that moves on, if nothing else holds its container."""
    if e.stack[-2].kind[0] not in ("array", "map"):
        e.generic(op, operand)
        e.facts.escape()
        return
    position = e.pop_bound()
    part = e.pop_bound()
    e.stack += [part, position]
    index(e, op, operand)
    value = e.pop()
    kind, value = value.kind, value if value.text.isidentifier() else e.spilled(value)
    if e.kinds.is_marked(kind):
        e.spill()
        test = Branch(f"{part.text}.shared or KEEP")
        test.yes.append(f"{value.text}.shared = True" if kind[0] in CONTAINERS else f"share({value.text})")
        e.out.append(test)
        e.facts.escape()
    e.push(value)


@emit("INDEX_OWN")
def index_own(e: Emitter, op: Opcode, operand: int) -> None:
    part, index = e.stack[-2:]
    kind = e.kinds.inner(part.kind)
    if kind[0] in ("array", "map"):
        e.record_element(part.text, (kind[0], kinds.UNKNOWN), index.kind)
    name, alone = e.facts.elements.get((part.text, index.text), ("", False))
    if alone:  # there is nothing to do, so nothing has to be spilled
        e.pop_many(2)
        e.read.add(name)
        e.push_variable(name, kind)
        return
    index = e.pop_bound()
    part = e.pop_bound()
    e.spill()
    if part.kind[0] == "array" and index.kind[0] == "int":
        name = make_element_unique(e, part, index, kind)
    elif part.kind[0] == "map" and kind[0] in CONTAINERS:
        name = make_entry_unique(e, part, index)
    else:
        name = e.temporary()
        e.out.append(f"{e.here()}{name} = op_INDEX_OWN({part.text}, {index.text})")
        e.facts.kill_elements(part.text)
    e.push_variable(name, kind)


def make_entry_unique(e: Emitter, part: Value, key: Value) -> str:
    """Make the container in an entry of a Map one that only the Map sees, and return a variable with it."""
    name = e.temporary()
    items = e.list_of(part.text)
    e.out.append(f"{e.here()}{name} = {items}.get({map_key(key)}, END)")
    absent, copied = Branch(f"{name} is END"), Branch(f"{name}.shared")
    absent.yes.append(f"{e.here()}key_not_found({key.text})")
    copied.yes.append(f"{name} = {items}[{map_key(key)}] = own({name})")
    e.out += [absent, copied]
    e.facts.kill_elements(part.text)
    return name


def make_element_unique(e: Emitter, part: Value, index: Value, kind: Kind) -> str:
    """Make an element one that only its array sees, and return the variable with it. Where a copy replaces the element, the
    variables that may hold the same one get it too."""
    key = (part.text, index.text)
    name, _ = e.facts.elements.get(key, ("", False))
    if name:
        e.read.add(name)
    else:
        name = e.temporary()
        e.out.append(f"{name} = ({element(e, part, index)})")
    # A field that a variable holds is the same in the copy of its struct, so facts of fields need no new value.
    known = [(place, other) for place, (other, _) in e.facts.elements.items() if place[1][0] != "."]
    aliases = [(other, *place) for place, other in known if place != key and may_alias(place[0], part.text)]
    branch = Branch(f"{name}.shared")
    for variable in [name, *[other for other, _, _ in aliases]]:
        e.preserve(variable)
        e.marked -= {variable}
    branch.yes.append(f"{name} = {e.list_of(part.text)}[{index.text}] = own({name})")
    branch.yes += [f"{other} = {e.list_of(array)}[{position}]" for other, array, position in aliases]
    attempt = Compound("try:", "except AttributeError:")
    attempt.body.append(branch)
    attempt.otherwise.append("pass")
    if kind[0] not in ("tuple", *kinds.SCALARS):  # these have no mark
        e.out.append(branch if kind[0] in CONTAINERS else attempt)
    e.facts.escape(name)
    if kind[0] in CONTAINERS:
        e.facts.elements[key] = (name, True)
    note_in_bounds(e, index)
    return name


def may_alias(array: str, other: str) -> bool:
    """Return whether two variables may hold the same array: locals hold their own, others may hold elements of one."""
    return array == other or (array[0] != "l" and other[0] != "l")


@emit("SET_INDEX")
def set_index(e: Emitter, op: Opcode, operand: int) -> None:
    value, part, index = e.stack[-3:]
    e.record_element(part.text, value.kind, index.kind)
    if part.kind[0] == "map":
        guard_key(e, 1)
        set_map_entry(e)
    elif part.kind[0] == "array" and index.kind[0] == "" and index.is_atom:
        set_at_unknown_index(e)
    elif part.kind[0] not in CONTAINERS and index.kind[0] == "int":
        set_in_unknown_container(e)
    elif part.kind[0] != "array" or index.kind[0] != "int":
        e.generic(op, operand)
    else:
        index = e.pop_bound()
        part = e.pop_bound()
        value = e.pop()
        e.statement(f"{element(e, part, index)} = {value.text}")
        e.facts.kill_elements(part.text)
        note_in_bounds(e, index)


@emit("SET_ELEMENT")
def set_element(e: Emitter, op: Opcode, operand: int) -> None:
    """Push a tuple with another element, which is put together of its parts where it is known to have few."""
    kind = e.stack[-1].kind
    count = len(e.kinds.descriptor(kind[1])[1]) if kind[0] in ("tuple", "plain") and kind[1] >= 0 else 0
    position = e.program.resolve_operand(op, operand)
    if not 0 <= position < count <= MOST_PARTS:
        e.generic(op, operand)
        e.stack[-1].kind = kinds.UNSTORED if kind == kinds.UNSTORED else kinds.ANY
        return
    whole = e.pop_bound()
    value = e.pop()
    if value.kind != e.kinds.element(kind, position):
        kind = e.kinds.tuple([value.kind if at == position else e.kinds.element(kind, at) for at in range(count)])
    parts = [value.text if each == position else f"{whole.text}[{each}]" for each in range(count)]
    e.push_expression(f"({', '.join(parts)}{',' * (count == 1)})", [value, whole], kind, pure=False)


def set_at_unknown_index(e: Emitter) -> None:
    """Write an element at a position that is perhaps no Int."""
    e.spill()
    index, part = e.pop(), e.pop_bound()
    value = e.pop()
    plain = Branch(f"type({index.text}) is int and {index.text} >= 0")
    e.facts.kill_elements(part.text)
    plain.yes.append(f"{e.element_site(part.text, index.text)}{e.list_of(part.text)}[{index.text}] = {value.text}")
    plain.no.append(f"{e.here()}op_SET_INDEX({value.text}, {part.text}, {index.text})")
    e.out.append(plain)


def set_in_unknown_container(e: Emitter) -> None:
    """Write an element of what is perhaps no Array at a position."""
    e.spill()
    index, part = e.pop_bound(), e.pop_bound()
    value = e.pop()
    known = Branch(f"type({part.text}) is Array and 0 <= {index.text} < len({part.text}.items)")
    e.facts.kill_all_elements()
    known.yes.append(f"{part.text}.items[{index.text}] = {value.text}")
    known.no.append(f"{e.here()}op_SET_INDEX({value.text}, {part.text}, {index.text})")
    e.out.append(known)


# ---------------------------------------------------------------- entries of Maps


def guard_key(e: Emitter, depth: int) -> None:
    """Guard a local that is to be a key, `depth` positions from the top: where it is of another kind than the image says,
    deoptimise. What follows need not ask again."""
    key = e.stack[-depth]
    slot, class_ = slot_of(key.text), {"string": "str", "int": "int"}.get(key.kind[0])
    if key.certain or slot < 0 or class_ is None:
        return
    e.spill()
    guard = Branch(f"type({key.text}) is not {class_}")
    guard.yes.append(f"{e.site(e.at, e.stack)}raise Deoptimise")
    e.out.append(guard)
    key.certain = e.stack[-depth].certain = True
    known = e.facts.slots.get(slot)
    e.facts.slots[slot] = key.under_name(key.text)
    if known is not None:
        e.facts.slots[slot].variant, e.facts.slots[slot].divisor = known.variant, known.divisor


def map_key(key: Value) -> str:
    """Return the expression of what the dict of a Map has for a key that is an atom: a String or an Int as it is, others
    encoded."""
    if key.certain and key.kind[0] in ("string", "int"):
        return key.text
    return f"{key.text} if type({key.text}) is {'int' if key.kind[0] == 'int' else 'str'} else key_of({key.text})"


def set_map_entry(e: Emitter) -> None:
    """Pop value, Map and key, the key on top, and write the store of the entry; a key that has to be encoded, or a Map without
    room, goes the long way (`map_store`, which raises P103 for the second)."""
    e.spill()
    key, part = e.pop_bound(), e.pop_bound()
    value = e.pop()
    class_ = "int" if key.kind[0] == "int" else "str"
    test = room_test(e, part.text)
    known = key.certain and key.kind[0] in ("string", "int")
    room = Branch(test if known else f"({test}) and type({key.text}) is {class_}")
    if part.text in e.noting:
        note, items = f"z{e.noting.pop(part.text)}.append", e.list_of(part.text)
        room.yes.append(f"{note}(({key.text}, {items}.get({key.text}, END)))")
        room.no.append(f"{e.here()}{note}((x := key_of({key.text}), {items}.get(x, END)))")
    room.yes.append(f"{e.list_of(part.text)}[{key.text}] = {value.text}")
    room.no.append(f"{e.here()}map_store({part.text}, {key.text}, {value.text})")
    e.out.append(room)


def room_test(e: Emitter, array: str) -> str:
    """Return the text of the test whether an Array or Map can take one element more."""
    test = f"len({e.list_of(array)}) < M"
    return f"m{array[1:]} or {test}" if e.at in e.room_tested.get(array, ()) else test
