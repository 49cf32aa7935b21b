"""Opcodes that make a value from values, as Python expressions (V-2.5, V-7.2).

What has a short form stands here; everything else is a call of its function in vm/interp/ops.py. `Expressions` hands on one
method per opcode that has a form of its own, and `generic` for the rest. Must not know: control flow, fuel.
"""

from __future__ import annotations

from ..builtins.modules import row_of
from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..values.errors import is_family
from . import facts as s
from .arithmetic import Arithmetic
from .facts import EMPTY, Entry, joined, joint, slot_of
from .forms import counted
from .text import Branch, keeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .facts import Kind, Limit, Storage


# ----------------------------------------------------------------
# Built-in methods that translated code writes out instead of calling them.
#
# A row gives the text for receiver and arguments; it means what the body in vm/builtins means for values of the declared types.
# `named`: every part is a name or a constant, since it is written twice; `needs`: for which parts the row holds. `{items}` is
# the
# storage of the receiver, `{body}` the body itself for what the short form does not cover, `{room}` the characters of a
# constant
# argument and one more; `Q` and `M` are as of a `Tier`. `listed`: the elements alone, for a walk over the Array.


class Intrinsic:
    __slots__ = ("text", "named", "fails", "low", "needs", "otherwise", "listed")

    def __init__(
        self,
        text: str,
        *,
        named: bool = False,
        fails: bool = True,
        low: int | None = None,
        needs: Callable[[list[Entry]], bool] | None = None,
        otherwise: Intrinsic | None = None,
        listed: str = "",
    ) -> None:
        self.text = text
        self.named = named
        self.fails = fails
        self.low = low
        self.needs = needs
        self.otherwise = otherwise
        self.listed = listed

    def fitting(self, parts: list[Entry]) -> Intrinsic | None:
        """This row, or the next one that holds for the parts."""
        if self.needs is None or self.needs(parts):
            return self
        return None if self.otherwise is None else self.otherwise.fitting(parts)


def texts(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "string" for part in parts)


def mapped(word: str) -> Intrinsic:
    """A case mapping, whose result is looked at for its size."""
    return Intrinsic(f"w if len(w := {{0}}.{word}()) <= Q else join(EMPTY, [w])")


def splits(parts: list[Entry]) -> bool:
    return bool(parts[1].length)


def replaces(parts: list[Entry]) -> bool:
    return parts[1].simple and parts[1].kind[0] == "string" and parts[2].length is not None


def slices(parts: list[Entry]) -> bool:
    return all(part.simple and part.kind[0] == "int" for part in parts[1:])


def naturals(parts: list[Entry]) -> bool:
    return slices(parts) and all(part.low is not None and part.low >= 0 for part in parts[1:])


def floats(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "float" for part in parts)


def numbers(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "int" for part in parts)


def keyed(parts: list[Entry]) -> bool:
    """A key that is in the Map as it is."""
    return parts[1].sure and parts[1].kind[0] in ("string", "int")


INTRINSICS: dict[tuple[str, str], Intrinsic] = {
    ("Array", "len"): Intrinsic("len({items})", low=0),
    ("Array", "is_empty"): Intrinsic("not {items}"),
    ("Float", "sqrt"): Intrinsic("sqrt({0}) if {0} >= 0 else NAN", named=True, fails=False, needs=floats),
    ("Int", "to_float"): Intrinsic("float({0})", fails=False, needs=numbers),
    ("String", "contains"): Intrinsic("{1} in {0}", named=True, fails=False, needs=texts),
    ("String", "starts_with"): Intrinsic("{0}.startswith({1})", fails=False, needs=texts),
    ("String", "ends_with"): Intrinsic("{0}.endswith({1})", fails=False, needs=texts),
    ("Map", "has"): Intrinsic(
        "{1} in {items}", named=True, fails=False, needs=keyed,
        otherwise=Intrinsic("({1} if type({1}) is str else key_of({1})) in {items}", named=True),
    ),
    ("Map", "len"): Intrinsic("len({items})", low=0),
    ("String", "len"): Intrinsic("len({})", low=0),
    ("String", "is_empty"): Intrinsic("not {0}", fails=False),
    ("String", "trim"): Intrinsic("{0}.strip(WHITE_SPACE)"),
    ("String", "trim_start"): Intrinsic("{0}.lstrip(WHITE_SPACE)"),
    ("String", "trim_end"): Intrinsic("{0}.rstrip(WHITE_SPACE)"),
    ("String", "to_lower"): mapped("lower"),
    ("String", "to_lowercase"): mapped("lower"),
    ("String", "to_upper"): mapped("upper"),
    ("String", "to_uppercase"): mapped("upper"),
    ("String", "split"): Intrinsic(
        "Array(x.split({1})) if len(x := {0}) < M else {body}(x, {1})", needs=splits,
        listed="x.split({1}) if len(x := {0}) < M else {body}(x, {1}).items",
    ),
    ("String", "replace"): Intrinsic(
        "x.replace({1}, {2}) if (len(x := {0}) + 1) * {room} <= Q else {body}(x, {1}, {2})", needs=replaces
    ),
    ("String", "substring"): Intrinsic(
        "{0}[{1}:{2}]", needs=naturals, otherwise=Intrinsic(
            "(x[{1}:{2}] if {1} >= 0 and {2} >= 0 else {body}(x, {1}, {2})) if (x := {0}) else EMPTY", needs=slices
        )
    ),
    ("String", "chars"): Intrinsic(
        "Array(list(x)) if len(x := {0}) <= M else {body}(x)", listed="list(x) if len(x := {0}) <= M else {body}(x).items"
    ),
}  # fmt: skip

# Those that give an Option, as what it holds or END, and one that gives a Result, as its Int or Err: neither is made where only
# the value is asked for.
OPTIONS: dict[tuple[str, str], Intrinsic] = {
    ("String", "get"): Intrinsic("{0}[{1}] if 0 <= {1} < len({0}) else END", named=True, needs=slices),
    ("String", "index_of"): Intrinsic("w if (w := {0}.find({1})) >= 0 else END", needs=texts),
    ("String", "parse_int"): Intrinsic(
        "int({0}) if len({0}) < 18 and {0}.isdecimal() and {0}.isascii() else number({body}({0}))", named=True, needs=texts
    ),
    ("Array", "get"): Intrinsic("{items}[{1}] if 0 <= {1} < len({items}) else END", named=True, needs=slices),
    ("Array", "first"): Intrinsic("{items}[0] if {items} else END", named=True),
    ("Array", "last"): Intrinsic("{items}[-1] if {items} else END", named=True),
}
UNWRAPPING = frozenset({("Option", "unwrap"), ("Option", "unwrap_or"), ("Result", "unwrap_or")})
HARMLESS = INTRINSICS.keys() | UNWRAPPING | {("Array", "push"), ("Map", "set")}  # they change no elements that are there


# ----------------------------------------------------------------
# Opcodes that make a value around values, as Python statements (V-7.2).
#
# An instance is made empty and its slots are filled, which costs a third less than a call of its class. Hands on `Making`.

FAILURE = "failure "
MOST_FIELDS = 12  # of a struct that is made slot by slot


class Making(Arithmetic):
    """Of what is made here more is known than its type: "ok", "err", and of a built-in error the constant it is made of."""

    def made(self, name: str, slots: list[tuple[str, str]], kind: Kind) -> None:
        """A new instance of a class, by the text for each of its slots, on the stack."""
        new = self.temporary()
        self.statement(f"{new} = new{name.removeprefix('K')}()")
        self.out += [f"{new}.{slot} = {text}" for slot, text in slots]
        self.push(Entry(new, kind))

    def op_SOME(self, operand: int) -> None:
        self.made("Some", [("value", self.pop().text)], s.ANY)

    def op_OK(self, operand: int) -> None:
        self.made("Ok", [("value", self.pop().text)], ("ok", -1))

    def way_here(self) -> str:
        """The name of the way that an error goes by this instruction."""
        raise NotImplementedError

    def op_ERR(self, operand: int) -> None:
        part, here = self.pop(), self.way_here()
        if part.kind[0] in s.SCALARS:
            self.made("Err", [("value", part.text), ("way", here)], ("err", -1))
        elif self.failure(part) >= 0:
            part = self.named(part)
            self.made("Err", [("value", part.text), ("way", self.way_with(part, here))], ("err", -1))
        else:
            self.give(f"begun({part.text}, {here})", [part], ("err", -1))
            self.stack[-1].pure = False

    def op_ARRAY(self, operand: int) -> None:
        parts = self.taken(operand)
        items = ", ".join([part.text for part in parts])
        kind = self.kinds.holding("array", joint([part.kind for part in parts])) if parts else ("array", EMPTY)
        self.made("Array", [("items", f"[{items}]"), ("shared", "False")], kind)

    def op_MAP(self, operand: int) -> None:
        self.generic(BY_NAME["MAP"], operand)
        self.stack[-1].kind = ("map", EMPTY) if operand == 0 else s.MAP

    def op_TUPLE(self, operand: int) -> None:
        parts = self.taken(operand)
        kind = self.kinds.tuple([part.kind for part in parts])
        self.give(f"({', '.join([part.text for part in parts])}{',' * (operand == 1)})", parts, kind)

    def op_STRUCT(self, operand: int) -> None:
        op = BY_NAME["STRUCT"]
        made = self.resolved(op, operand)
        parts = self.taken(counted(op, operand, made))
        name = self.constant(op, operand)
        if len(parts) > MOST_FIELDS or made.__slots__ != tuple([f"f{position}" for position in range(len(parts))]):
            self.give(f"{name}({', '.join([part.text for part in parts])})", parts, self.kind_of_type(operand))
            self.stack[-1].pure = False
            return
        slots = [(f"f{position}", part.text) for position, part in enumerate(parts)]
        self.made(name, [*slots, ("shared", "False")], self.kind_of_type(operand))

    def op_VARIANT(self, operand: int) -> None:
        op = BY_NAME["VARIANT"]
        parts = self.taken(counted(op, operand, self.resolved(op, operand)))
        name = self.constant(op, operand)
        plain = all(part.kind[0] in s.SCALARS for part in parts)  # then there is nothing in it to mark
        slots = [
            ("payload", f"({''.join([f'{part.text}, ' for part in parts])})"), ("decl", f"{name}.decl"),
            ("variant", str(self.image.constants[operand][1][1])), ("shared", str(plain)),
        ]  # fmt: skip
        self.made("EnumValue", slots, self.kind_of_type(self.image.constants[operand][1][0]))

    def op_ERROR(self, operand: int) -> None:
        """An error of a family with its message and nothing else."""
        op = BY_NAME["ERROR"]
        form = self.resolved(op, operand)
        if form.count != 1 or self.stack[-1].kind[0] != "string":
            self.generic(op, operand)
            return
        name = self.constant(op, operand)
        slots = [("message", self.pop().text), ("family", f"{name}.family"), ("variant", f"{name}.variant")]
        self.made("ErrorValue", [*slots, ("fields", "{}"), ("way", "()")], (f"{FAILURE}{operand}", -1))

    def way_with(self, error: Entry, here: str) -> str:
        """The way of a built-in error that was made here, with the places that it passes now."""
        if here == "()" or self.out[-1:] == [f"{error.text}.way = ()"]:
            return here
        return f"{here} if not {error.text}.way else longer({error.text}.way, {here})"

    # ------------------------------------------------------------ errors taken apart

    def failure(self, entry: Entry) -> int:
        """The constant of a built-in error that was made here; -1 for what was not."""
        return int(entry.kind[0][len(FAILURE) :]) if entry.kind[0].startswith(FAILURE) else -1

    def op_IS(self, operand: int) -> None:
        """Most errors that are asked for are of the very family."""
        op = BY_NAME["IS"]
        descriptor = self.program.descriptors[operand]
        made = self.failure(self.stack[-1])
        if made < 0 or descriptor[0] != "error" or len(descriptor) != 2:
            self.generic(op, operand)
            return
        if is_family(self.image.constants[made][1][0], descriptor[1]):
            self.pop()
            self.push(Entry("True", s.BOOL))
            return
        self.settle()
        part = self.named(self.pop())
        name = self.constant(op, operand)
        text = f"({part.text}.family == {name}[1] or {self.here()}op_IS({part.text}, {name}))"
        self.push(Entry(text, s.BOOL, pure=False, uses=part.uses, deep=1))

    def op_GET_ERROR(self, operand: int) -> None:
        self.error_member("GET_ERROR", operand)

    def op_GET_MEMBER(self, operand: int) -> None:
        self.error_member("GET_MEMBER", operand)

    def error_member(self, op: str, operand: int) -> None:
        """A member that every built-in error has stands in a slot."""
        slot = {"message": "message", "kind": "family"}.get(self.image.constants[operand][1])
        made = self.failure(self.stack[-1])
        if slot is None or self.stack[-1].kind[0] not in ("error", "") and made < 0:
            self.generic(BY_NAME[op], operand)
            return
        if made >= 0:
            part = self.pop()
            self.give(f"{part.text}.{slot}", [part], s.STRING)
            return
        self.settle()
        part = self.named(self.pop())
        other = f"{self.here()}op_{op}({part.text}, {self.constant(BY_NAME[op], operand)})"
        text = f"({part.text}.{slot} if type({part.text}) is ErrorValue else {other})"
        self.push(Entry(text, s.ANY, pure=False, uses=part.uses, deep=1))


# ----------------------------------------------------------------

KEYED = {"get": 1, "has": 1, "set": 2}  # methods of Map with a key, and where that lies on the stack


MOVED: Kind = ("option", -2)  # of what was taken out of an Array
NOTHING = Entry("")
CONTAINERS = frozenset({"array", "map", "struct", "schema", "set", "queue", "stack"})
LONGEST = 1 << 40  # more than any container holds
SCALAR_RECEIVERS = frozenset({"String", "Int", "Float", "Bool"})


class Expressions(Making):
    """`lists`: arrays whose list is in a variable throughout a loop, and the head of that. `roomy`: by array, the instructions
    that put an element into it of which a loop knows before whether there is room. `storage`: uses of locals."""

    storage: Storage
    lists: dict[str, int]
    roomy: dict[str, frozenset[int]]
    metered: bool

    # ------------------------------------------------------------ constants

    def op_CONST(self, operand: int) -> None:
        kind, value = self.image.constants[operand]
        if kind == im.K_INT:
            text = str(value) if value >= 0 else f"({value})"
            self.push(Entry(text, s.INT, low=value, high=value))
            self.stack[-1].sure = True
        else:  # never the text itself: what a program says is not text that Python runs (G-2.22)
            kinds = {im.K_FLOAT: s.FLOAT, im.K_STRING: s.STRING}
            plain = kind == im.K_VARIANT  # without a payload there is nothing in it to share
            self.push(Entry(self.constant(BY_NAME["CONST"], operand), s.PLAIN if plain else kinds.get(kind, s.ANY)))
            self.stack[-1].length = len(value) if kind == im.K_STRING else None
            self.stack[-1].sure = kind in kinds

    def op_INT(self, operand: int) -> None:
        self.push(Entry(str(operand), s.INT, low=operand, high=operand))
        self.stack[-1].sure = True

    def op_NIL(self, operand: int) -> None:
        self.push(Entry("None", s.NIL))

    def op_TRUE(self, operand: int) -> None:
        self.push(Entry("True", s.BOOL))

    def op_FALSE(self, operand: int) -> None:
        self.push(Entry("False", s.BOOL))

    def op_NONE(self, operand: int) -> None:
        self.push(Entry("NONE_VALUE", s.PLAIN))

    # ------------------------------------------------------------ parts and ranges

    def op_UNWRAP(self, operand: int) -> None:
        if self.stack[-1].raw is not None and self.stack[-1].kind[0] == "option":
            part = self.pop()
            alone = part.kind == MOVED or part.inside[0] in s.SCALARS
            self.push(Entry(str(part.raw) if alone else f"taken_out({part.raw})", part.inside, pure=alone))
            return
        part = self.pop_named()
        if part.kind[0] in ("some", "ok", "err"):
            self.give(f"{part.text}.value", [part])
        else:
            text = f"({part.text}.value if type({part.text}) in HOLDERS else {part.text})"
            self.give(text, [part], self.inner(part.kind))

    def op_RANGE(self, operand: int) -> None:
        start, end = parts = self.taken(2)
        self.give(f"RangeValue.checked({start.text}, {end.text}, {operand == 1})", parts, s.PLAIN, fails=True)
        self.stack[-1].bounds = (start, end, operand == 1)

    # ------------------------------------------------------------ reading parts

    def op_GET_FIELD(self, operand: int) -> None:
        part = self.pop()
        kind = self.kinds.field(part.kind, operand)
        found = self.facts.elements.get((part.name, f".f{operand}"))
        if found is not None:
            self.read.add(found[0])
            self.push(Entry(found[0], kind, pure=False, uses=frozenset({found[0]})))
            return
        self.give(f"{part.text}.f{operand}", [part], kind)
        self.stack[-1].pure = False  # a write may come between

    def op_GET_ELEMENT(self, operand: int) -> None:
        part = self.pop()
        self.give(f"{part.text}[{operand}]", [part], self.kinds.element(part.kind, operand))

    def op_GET_PAYLOAD(self, operand: int) -> None:
        part = self.pop()
        kind = s.ANY if part.variant is None else self.kinds.payload(part.kind, part.variant, operand)
        self.give(f"{part.text}.payload[{operand}]", [part], kind)

    def element(self, array: Entry, index: Entry) -> str:
        """An element of an array by position, both under names, or P004."""
        place = self.at_element(array.text, index.text)
        return f"{place}{self.items(array.text)}[{self.position(index)}]"

    def items(self, array: str) -> str:
        """The list of an array."""
        return f"a{array[1:]}" if array in self.lists else f"{array}.items"

    def reached(self, index: Entry) -> None:
        """A position that was not refused is one of an array."""
        slot = slot_of(index.text)
        if slot >= 0:
            self.learn([(slot, 0, LONGEST, None, None)])
            self.facts.slots[slot].kind = s.INT

    def learn(self, limits: Iterable[Limit]) -> None:
        raise NotImplementedError

    def position(self, index: Entry) -> str:
        """A position as Python takes it: what is negative is behind every end."""
        natural = index.low is not None and index.low >= 0
        return index.text if natural else f"{index.text} if {index.text} >= 0 else BEHIND"

    def op_INDEX_ARRAY(self, operand: int) -> None:
        index = self.pop()
        if not index.simple:
            index = self.position_named(index)
        array = self.pop()
        kind = self.inner(array.kind)
        found = self.facts.elements.get((array.text, index.text))
        if found is not None:
            self.read.add(found[0])
            self.push(Entry(found[0], kind, pure=False, uses=frozenset({found[0]})))
        elif array.simple:
            text = f"({self.element(array, index)})"
            self.push(Entry(text, kind, pure=False, uses=joined([array, index]), deep=array.deep + 1))
            again = index.text[0] != "t" or index.text in self.facts.results.values()
            if slot_of(array.text) in self.storage.repeated and again:
                self.keep_element(array.text, index.text)
        else:
            text = f"({self.at_element('x', index.text)}(x := {array.text}).items[{self.position(index)}])"
            self.push(Entry(text, kind, pure=False, uses=joined([array, index]), deep=array.deep + 1))
        self.reached(index)

    def position_named(self, index: Entry) -> Entry:
        """A position under a name; the same sum of locals has the same one."""
        key = (index.text, *sorted(index.uses))
        found = self.facts.results.get(key)
        if found is not None and index.pure:
            return Entry(found, s.INT, uses=frozenset({found}), low=index.low, high=index.high)
        self.push(index)
        self.settle()
        named = self.named(self.pop())
        if index.pure and index.uses:
            self.facts.results[key] = named.text
        return named

    def keep_element(self, array: str, index: str) -> None:
        """The element on top goes into a variable too, for the next read."""
        entry, name = self.stack[-1], self.temporary()
        entry.bare = (name, entry.text)
        entry.text = f"({keeping(name)}{entry.text})"
        entry.uses |= {name}
        self.facts.elements[array, index] = (name, False)

    def op_INDEX(self, operand: int) -> None:
        part, index = self.stack[-2:]
        if part.kind[0] == "array" and index.kind[0] == "int":
            self.op_INDEX_ARRAY(operand)
        elif part.kind[0] == "map" and index.kind[0] in ("string", "int"):
            self.certify_key(1)
            self.settle()
            key, part = self.named(self.pop()), self.named(self.pop())
            found = f"(x := {self.items(part.text)}.get({self.key(key)}, END))"
            text = f"(x if {found} is not END else {self.here()}key_not_found({key.text}))"
            self.push(Entry(text, self.inner(part.kind), pure=False, uses=joined([part, key]), deep=1))
        else:
            self.generic(BY_NAME["INDEX"], operand)

    # ------------------------------------------------------------ built-ins

    def op_CALL_BUILTIN(self, operand: int) -> None:
        receiver, name = self.image.constants[operand][1]
        count = self.program.constants[operand][1]
        if receiver == "Map" and name in KEYED:
            self.certify_key(KEYED[name])
        if (receiver, name) in (("Map", "get"), ("Array", "pop")):
            self.looked_up() if name == "get" else self.popped()
            return
        if receiver not in SCALAR_RECEIVERS and (receiver, name) not in HARMLESS:
            self.facts.forgotten()
        if self.metered and self.charges(receiver, name):
            self.called_again(operand, count, receiver, name)
            return
        parts = self.taken(count)
        kind = self.builtin_kind(receiver, name, parts)
        if (receiver, name) == ("Array", "push"):
            self.pushed(parts)
            return
        if (receiver, name) == ("Map", "set"):
            self.stack += [parts[2], parts[0], parts[1]]
            self.set_entry()
            self.push(Entry("None", s.NIL))
            return
        if (receiver, name) in OPTIONS and self.optional(OPTIONS[receiver, name], parts, kind, operand):
            return
        if (receiver, name) in UNWRAPPING and parts[0].raw is not None:
            self.unwrapped(operand, parts)
            return
        form = INTRINSICS.get((receiver, name))
        form = None if form is None else form.fitting(parts)
        if form is not None:
            if form.named:
                parts = self._named_all(parts)
            self.give(f"({self.written_out(form, parts, operand)})", parts, kind, fails=form.fails)
            self.stack[-1].pure = False
            if form.listed:
                self.stack[-1].listed = f"({self.here()}{self.written_out(form, parts, operand, form.listed)})"
            if form.low is not None:
                self.stack[-1].low, self.stack[-1].high = form.low, LONGEST
            return
        self.give(f"B{operand}({', '.join([part.text for part in parts])})", parts, kind, fails=True)

    def charges(self, receiver: str, name: str) -> bool:
        """Whether the built-in charges fuel by the size of what it works on (G-6.6)."""
        row = row_of(receiver, name)
        return row is not None and row.linear

    def called_again(self, operand: int, count: int, receiver: str, name: str) -> None:
        raise NotImplementedError

    def written_out(self, form: Intrinsic, parts: list[Entry], operand: int, text: str = "") -> str:
        texts = [part.text for part in parts]
        room = (parts[-1].length or 0) + 1
        return (text or form.text).format(*texts, items=self.items(texts[0]), body=f"B{operand}", room=room)

    def optional(self, form: Intrinsic, parts: list[Entry], kind: Kind, operand: int) -> bool:
        """A method that gives an Option or Result, of which none is made unless it is wanted."""
        if form.needs is not None and not form.needs(parts):
            return False
        parts = self._named_all(parts)
        name = self.temporary()
        self.statement(f"{self.here()}{name} = {self.written_out(form, parts, operand)}")
        made, word = ("numbered", "result") if kind[0] == "result" else ("found", "option")
        self.push(Entry(f"{made}({name})", (word, -1), pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, s.INT if word == "result" else self.inner(kind)
        return True

    def unwrapped(self, operand: int, parts: list[Entry]) -> None:
        """`unwrap`, or `unwrap_or` with another value, of an Option or Result that was not made."""
        raw, kind = str(parts[0].raw), parts[0].inside
        value = raw if parts[0].kind == MOVED or kind[0] in s.SCALARS else f"taken_out({raw})"
        if len(parts) == 1:
            self.give(f"({value} if {raw} is not END else B{operand}(NONE_VALUE))", [], kind, fails=True)
            return
        self.push(parts[1])
        self.settle()
        other = self.named(self.pop())
        same = kind if kind == other.kind else s.PLAIN if {kind[0], other.kind[0]} <= s.SCALARS else s.ANY
        none = f"type({raw}) is Err" if parts[0].kind[0] == "result" else f"{raw} is END"
        self.give(f"({other.text} if {none} else {value})", [other], same, fails=value != raw)

    def certify_key(self, depth: int) -> None:
        """A local that is to be a key, so deep on the stack, is looked at once: where it is of another kind than the image says,
        the interpreter goes on."""
        entry = self.stack[-depth]
        slot, word = slot_of(entry.text), {"string": "str", "int": "int"}.get(entry.kind[0])
        if entry.sure or slot < 0 or word is None:
            return
        self.settle()
        other = Branch(f"type({entry.text}) is not {word}")
        other.yes.append(f"{self.place(self.at, self.stack)}raise Leave")
        self.out.append(other)
        entry.sure = self.stack[-depth].sure = True
        known = self.facts.slots.get(slot)
        self.facts.slots[slot] = Entry(entry.text, entry.kind, low=entry.low, high=entry.high).certain(entry)
        if known is not None:
            self.facts.slots[slot].variant, self.facts.slots[slot].divisor = known.variant, known.divisor

    def key(self, key: Entry) -> str:
        """What a Map has for a key, which has a name. A String or an Int is it itself."""
        if key.sure and key.kind[0] in ("string", "int"):
            return key.text
        return f"{key.text} if type({key.text}) is {'int' if key.kind[0] == 'int' else 'str'} else key_of({key.text})"

    def looked_up(self) -> None:
        """Map.get: as long as it is only asked whether it is there, no Option is made of what was found."""
        self.settle()
        key, table = self.named(self.pop()), self.named(self.pop())
        name = self.temporary()
        items = self.items(table.text)
        found = f"{items}.get({self.key(key)}, END)"
        self.statement(f"{self.here()}{name} = {found}")
        self.push(Entry(f"found({name})", pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, self.inner(table.kind)
        self.stack[-1].kind = ("option", -1)

    def popped(self) -> None:
        """Array.pop, in the same way; what was in the Array is in no other place then."""
        self.settle()
        array = self.named(self.pop())
        name = self.temporary()
        items = self.items(array.text)
        self.statement(f"{self.here()}{name} = {items}.pop() if {items} else END")
        self.facts.written(array.text)
        self.facts.spare |= {array.text} & self.lists.keys()
        self.push(Entry(f"popped({name})", MOVED, pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw, self.stack[-1].inside = name, self.inner(array.kind)

    def pushed(self, parts: list[Entry]) -> None:
        """Array.push as a statement: CPython has a form of its own for a call of `append` whose result nobody takes."""
        self.put(parts[0].text, parts[1].kind)
        array, value = self._named_all(parts)
        items = self.items(array.text)
        append = f"{self.here()}{items}.append({value.text})"
        room = Branch(self.room_in(array.text))
        room.yes.append(append)
        room.no.append(f"{self.here()}collection_too_long()")
        if self.asks_later(array.text, self.at):
            self.forget(array.text)
            quick = Branch(f"m{array.text[1:]}")
            quick.yes.append(append)
            before, self.out = self.out, quick.no
            self.own_list(slot_of(array.text))
            self.out = before
            room.condition = f"len({items}) < M"
            quick.no.append(room)
            room = quick
        self.out += [append] if array.text in self.facts.spare else [room]
        self.facts.spare = frozenset()
        self.push(Entry("None", s.NIL))

    def room_in(self, array: str) -> str:
        """Whether an Array or Map can take one element more."""
        test = f"len({self.items(array)}) < M"
        return f"m{array[1:]} or {test}" if self.at in self.roomy.get(array, ()) else test

    def asks_later(self, name: str, by: int) -> bool:
        raise NotImplementedError

    def own_list(self, slot: int) -> None:
        raise NotImplementedError

    def set_entry(self) -> None:
        raise NotImplementedError

    def put(self, array: str, kind: Kind, key: Kind = s.ANY) -> None:
        raise NotImplementedError

    def _named_all(self, parts: list[Entry]) -> list[Entry]:
        for part in parts:
            self.push(part)
        self.settle()
        return [self.named(part) for part in self.taken(len(parts))]

    def builtin_kind(self, receiver: str, name: str, parts: list[Entry]) -> Kind:
        row = row_of(receiver, name)
        if row is None or row.special == "numeric":
            return s.ANY
        return self.kinds.result(row.result, row.receiver_type, parts[0].kind if parts else s.ANY)


METHODS = {op.number: getattr(Expressions, f"op_{op.name}", None) for op in OPCODES}
