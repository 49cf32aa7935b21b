"""What each opcode does, written once (V-2.5).

Each opcode that needs no control over the machine is one function. Its parameters are the left side of the opcode's stack effect,
then, by name, what else it needs: `operand` (the linked operand), `locals_`, `cells`, `machine`. Its return value is the right
side, a tuple where that has several names. The interpreter loop is generated from these bodies (tools/gen_loop.py), so run
`make gen` after a change; `template.py` and translated code (`vm/jit/library.py`) call them. Opcodes that move between
instructions, frames or tasks have a function in `vm/interp/template.py`.

A value that more than one place holds is marked as shared (`share`): whoever writes to it writes to a copy (`own`). A function
raises the Panic of the operation, whose code the sentence of the opcode in `vm/bytecode/opcodes.py` says, or the function of
`vm/values/` that does the work. A typed opcode trusts the compiler about the kinds of its values: for others it may raise a
Python error, which `dispatch.as_panic` makes P007 (G-4.4). What ends the run (P102, P103, or what the host has set) comes out
where large values are copied, compared, joined or shown. Hands on, besides the opcodes, what their bodies call (`iterate`,
`not_bool`, `write_element`, `index_place`, `parse_as`, `fill`) to the generated loop, `iterate` to `scheduler.py` too, and
`not_bool` to `template.py` and translated code.
"""

from __future__ import annotations

from ..panics import Panic
from ..values import (
    INT_MAX,
    INT_MIN,
    Array,
    Cell,
    Closure,
    EnumValue,
    Err,
    HashMapRef,
    LedgerRef,
    Map,
    Ok,
    Queue,
    RangeValue,
    Set,
    Some,
    Stack,
    Struct,
    add,
    cast,
    check,
    concat,
    display,
    div,
    elements,
    equal,
    get_error_member,
    get_member,
    greater,
    greater_equal,
    index_out_of_range,
    int_div,
    int_rem,
    key_of,
    length,
    less,
    less_equal,
    map_store,
    matches,
    mul,
    negate,
    overflow,
    own,
    power,
    rem,
    share,
    store_index,
    store_member,
    sub,
    try_cast,
    typeof,
    with_element,
)
from ..values import NONE as NONE_VALUE
from ..values import index as read_index
from ..values.containers import PLAIN
from ..values.limits import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn


# ----------------------------------------------------------------
# Walking over values (L-5.7.3 to L-5.7.8).


def iterate(value: Any, machine: Any = None) -> Iterator[Any]:
    """Return an iterator over the elements: of a Map and a HashMap (key, value), of a Ledger its entries, of a String its
    characters, of Bytes Ints. The storage is not written while it is walked, because the value was marked shared; a HashMap or
    Ledger, whose store `machine` has, is walked as it is now (L-5.7.7). Raises P007 for any other kind, and for a HashMap whose
    entries are in a store; for a HashMap or Ledger also what ends the run (P102, P103, or what the host has set)."""
    kind = type(value)
    if kind is Array:
        return iter(value.items)
    if kind is RangeValue:
        return iter(value.span())
    if kind is Map:
        return iter(list(value.entries()))
    if kind is str or kind is tuple or kind is bytes:
        return iter(value)
    if kind is Set or kind is Queue or kind is Stack:
        return iter(elements(value))
    if kind is HashMapRef:
        if machine.stores.hashmaps[value.name].kept is not None:
            raise Panic("P007", f"the entries of hashmap {value.name} are in a store: behind Any walk over `entries()`")
        return iter(machine.stores.view(value).entries())
    if kind is LedgerRef:
        return iter(machine.stores.ledger(value).records())
    raise Panic("P007", f"expected a value to walk over, found {typeof(value)}")


# ---------------------------------------------------------------- constants


def CONST(operand: Any) -> Any:
    return operand


def INT(operand: int) -> Any:
    return operand


def NIL() -> Any:
    return None


def TRUE() -> Any:
    return True


def FALSE() -> Any:
    return False


def NONE() -> Any:
    return NONE_VALUE


# ---------------------------------------------------------------- the operand stack


def POP(value: Any) -> None:
    pass


def DUP(value: Any) -> Any:
    return value, value


def SWAP(a: Any, b: Any) -> Any:
    return b, a


# ---------------------------------------------------------------- variables


def LOAD(locals_: list[Any], operand: int) -> Any:
    return locals_[operand]


def STORE(value: Any, locals_: list[Any], operand: int) -> None:
    locals_[operand] = value


def NEW_CELL(cells: list[Any], operand: int) -> None:
    cells[operand] = Cell()


def LOAD_CELL(cells: list[Any], operand: int) -> Any:
    return cells[operand].value


def STORE_CELL(value: Any, cells: list[Any], operand: int) -> None:
    cells[operand].value = value


def SHARE(value: Any) -> Any:
    """Return the value, marked as shared where a write could reach it."""
    if type(value) not in PLAIN:
        share(value)
    return value


# ---------------------------------------------------------------- places (V-5.7)
# A value without the mark `shared` (a number behind Any, say) is left to whoever writes it to refuse. `try` costs nothing
# where the mark is there, which is always but for such values.


def LOAD_OWN(locals_: list[Any], operand: int) -> Any:
    """Return the container in a local, replaced there by its copy first if it is shared; any other value as it is."""
    value = locals_[operand]
    try:
        if value.shared:
            locals_[operand] = value = own(value)
    except AttributeError:
        pass
    return value


def CELL_OWN(cells: list[Any], operand: int) -> Any:
    """Return the container in a cell, as `LOAD_OWN` does."""
    cell = cells[operand]
    if getattr(cell.value, "shared", False):
        cell.value = own(cell.value)
    return cell.value


def FIELD_OWN(object: Any, operand: str) -> Any:
    """Return the container in a field of an owned struct, as `LOAD_OWN` does; `operand`: the slot."""
    value = getattr(object, operand)
    try:
        if value.shared:
            value = own(value)
            setattr(object, operand, value)
    except AttributeError:
        pass
    return value


def MEMBER_OWN(object: Any, operand: str) -> Any:
    """Return the container in a member of an owned struct or Map, as `LOAD_OWN` does; `operand`: the name. Raises P005, P014."""
    value = read_index(object, operand) if type(object) is Map else get_member(object, operand)
    if getattr(value, "shared", False):
        value = own(value)
        store_member(object, operand, value)
    return value


def INDEX_OWN(object: Any, index: Any) -> Any:
    """Return the container in an element of an owned Array or Map, as `LOAD_OWN` does. Raises as `index_place`."""
    if type(object) is Array and type(index) is int and 0 <= index < len(object.items):
        value = object.items[index]
    else:
        value = index_place(object, index)
    try:
        if value.shared:
            value = own(value)
            object.items[index if type(object) is Array else key_of(index)] = value
    except AttributeError:
        pass
    return value


def SET_FIELD(value: Any, object: Any, operand: str) -> None:
    """Write a field of an owned struct; `operand`: the slot. Raises P007 for no struct."""
    if not isinstance(object, Struct):
        raise Panic("P007", "expected a struct in a field assignment")
    setattr(object, operand, value)


def SET_MEMBER(value: Any, object: Any, operand: str) -> None:
    """Write a field of an owned struct or a key of an owned Map, by name. Raises P014 for no such field, P103."""
    store_member(object, operand, value)


def SET_INDEX(value: Any, object: Any, index: Any) -> None:
    """Write an element of an owned Array or Map. Raises as `write_element`."""
    if type(object) is Array and type(index) is int and 0 <= index < len(object.items):
        object.items[index] = value
    else:
        write_element(object, index, value)


def SET_ELEMENT(value: Any, tuple: Any, operand: int) -> Any:
    """Return a tuple with one element replaced. Raises P004, P007."""
    return with_element(tuple, operand, value)


def write_element(object: Any, index: Any, value: Any) -> None:
    """Store an element by index, in all cases but the plain one, an Int within an Array, which the loop does itself. Raises P004
    for an Int outside of an Array, P103 for a Map that would have too many entries, P007 for other kinds of index and object."""
    if type(object) is Array and type(index) is int:
        index_out_of_range(index, len(object.items))
    elif type(object) is Map:
        map_store(object, index, value)
    else:
        refuse_write(object, index)


def refuse_write(object: Any, index: Any) -> NoReturn:
    """Raise P007 for an index of another kind, or for a value that has no elements to write: a String, or a tuple behind Any."""
    if type(object) is Array:
        raise Panic("P007", f"expected an index of type Int, found {typeof(index)}")
    raise Panic("P007", f"expected Array or Map, found {typeof(object)} in a place")


def index_place(object: Any, index: Any) -> Any:
    """Return the element that a place with several indexes goes through. Raises P005 for a missing key (L-5.5.5), P004 for an
    Int outside of an Array, P007 for an object that is neither Array nor Map."""
    if type(object) is Array or type(object) is Map:
        return read_index(object, index)
    return refuse_write(object, index)


def SET_PART(value: Any, object: Any, index: Any) -> Any:
    """Write an element of an owned container and return what then stands in its place: a tuple is replaced. Raises P004, P007,
    P103."""
    return store_index(object, index, value)


# ---------------------------------------------------------------- arithmetic
# Comparisons with 30-bit constants are what CPython specialises; larger results pay a second test.
# Types are not verified (G-4.4): a comparison of the factors keeps Python from repeating a text; `-0.0` and `1.0`, which change
# no Float, keep it from joining texts and from Ints beyond 64 bits (G-3.9).


def ADD_INT(a: Any, b: Any) -> Any:
    """Return the sum. Raises P002."""
    r = a + b
    if (r > 0x3FFFFFFF or r < -0x3FFFFFFF) and not INT_MIN <= r <= INT_MAX:
        overflow("+")
    return r


def SUB_INT(a: Any, b: Any) -> Any:
    """Return the difference. Raises P002."""
    r = a - b
    if (r > 0x3FFFFFFF or r < -0x3FFFFFFF) and not INT_MIN <= r <= INT_MAX:
        overflow("-")
    return r


def MUL_INT(a: Any, b: Any) -> Any:
    """Return the product. Raises P002."""
    if a < b:
        pass
    r = a * b
    if (r > 0x3FFFFFFF or r < -0x3FFFFFFF) and not INT_MIN <= r <= INT_MAX:
        overflow("*")
    return r


def DIV_INT(a: Any, b: Any) -> Any:
    """Return the quotient, truncated toward zero. Raises P002, P003."""
    if a >= 0 and b > 0:
        return a // b
    return int_div(a, b)


def REM_INT(a: Any, b: Any) -> Any:
    """Return the remainder, with the sign of `a`. Raises P003."""
    if a >= 0 and b > 0:
        return a % b
    return int_rem(a, b)


def NEG_INT(a: Any) -> Any:
    return negate(a)


def ADD_FLOAT(a: Any, b: Any) -> Any:
    return a + b + -0.0


def SUB_FLOAT(a: Any, b: Any) -> Any:
    return a - b + -0.0


def MUL_FLOAT(a: Any, b: Any) -> Any:
    return a * 1.0 * b


def ADD(a: Any, b: Any) -> Any:
    return add(a, b)


def SUB(a: Any, b: Any) -> Any:
    return sub(a, b)


def MUL(a: Any, b: Any) -> Any:
    return mul(a, b)


def DIV(a: Any, b: Any) -> Any:
    return div(a, b)


def REM(a: Any, b: Any) -> Any:
    return rem(a, b)


def POW(a: Any, b: Any) -> Any:
    return power(a, b)


def NEG(a: Any) -> Any:
    return negate(a)


def NOT(a: Any) -> Any:
    """Return the other Bool. Raises P007 for no Bool."""
    if a is True:
        return False
    if a is False:
        return True
    raise not_bool(a)


def CONCAT(a: Any, b: Any) -> Any:
    """Return the two Strings as one. Raises P103."""
    return concat(a, b)


def JOIN(parts: list[Any]) -> Any:
    """Return the Display texts of the parts, joined. Raises P103, and what ends the run."""
    return join("", [part if type(part) is str else display(part) for part in parts])


def not_bool(value: Any) -> Panic:
    """Return the panic for a condition that is no Bool; the caller raises it."""
    return Panic("P007", f"expected Bool, found {typeof(value)}")


# ---------------------------------------------------------------- comparison


def EQ(a: Any, b: Any) -> Any:
    return equal(a, b)


def NE(a: Any, b: Any) -> Any:
    return not equal(a, b)


def LT(a: Any, b: Any) -> Any:
    return less(a, b)


def LE(a: Any, b: Any) -> Any:
    return less_equal(a, b)


def GT(a: Any, b: Any) -> Any:
    return greater(a, b)


def GE(a: Any, b: Any) -> Any:
    return greater_equal(a, b)


def EQ_INT(a: Any, b: Any) -> Any:
    return a == b


def NE_INT(a: Any, b: Any) -> Any:
    return a != b


def LT_INT(a: Any, b: Any) -> Any:
    return a < b


def LE_INT(a: Any, b: Any) -> Any:
    return a <= b


def GT_INT(a: Any, b: Any) -> Any:
    return a > b


def GE_INT(a: Any, b: Any) -> Any:
    return a >= b


# ---------------------------------------------------------------- conversions and tests


def INT_TO_FLOAT(a: Any) -> Any:
    """Return the nearest Float of an Int; any other value as it is."""
    return float(a) if type(a) is int else a


def CHECK(value: Any, operand: Any) -> Any:
    """Return a value from behind Any that is of the type `operand`, an Int as a Float where that is wanted. Raises P007."""
    return check(value, operand)


def CHECK_PAYLOAD(value: Any, operand: Any) -> Any:
    """Return what `CHECK` returns. Raises P415."""
    return check(value, operand, "P415")


def CAST(value: Any, operand: Any) -> Any:
    """Return `value as T`; `operand`: the descriptor of T. Raises P008, P103, and what ends the run."""
    return cast(value, operand)


def TRY_CAST(value: Any, operand: Any) -> Any:
    """Return `value as T` as a Result, in which P008 is an Err. Raises P103, and what ends the run."""
    return try_cast(value, operand)


def IS(value: Any, operand: Any) -> Any:
    """Return whether the kind of a value is that of the type `operand`."""
    return matches(value, operand)


def IS_VARIANT(value: Any, operand: Any) -> Any:
    return type(value) is EnumValue and value.decl is operand.decl and value.variant == operand.variant


def IS_ERROR(value: Any, operand: Any) -> Any:
    return operand.matches(value)


def IS_NIL(value: Any) -> Any:
    return value is None


def IS_SOME(value: Any) -> Any:
    return type(value) is Some


def IS_OK(value: Any) -> Any:
    return type(value) is Ok


def IS_ERR(value: Any) -> Any:
    return type(value) is Err


def IS_ABSENT(value: Any) -> Any:
    return value is None or value is NONE_VALUE


# ---------------------------------------------------------------- making values


def SOME(value: Any) -> Any:
    return Some(value)


def WRAP(value: Any) -> Any:
    """Return None for nil, else Some of the value."""
    return NONE_VALUE if value is None else Some(value)


def OK(value: Any) -> Any:
    return Ok(value)


def ERR_FROM(failed: Any, error: Any) -> Any:
    """Return an Err of `error` with the way of `failed`, if that is an Err."""
    return Err(error, failed.way if type(failed) is Err else ())


def UNWRAP(holder: Any) -> Any:
    """Return what a Some, Ok or Err holds; any other value as it is."""
    return holder.value if type(holder) in (Some, Ok, Err) else holder


def ARRAY(items: list[Any]) -> Any:
    return Array(items)


def MAP(entries: list[Any]) -> Any:
    """Return a Map of alternating keys and values; a later equal key wins. Raises P007 for what is no key."""
    return Map.of(entries)


def TUPLE(items: list[Any]) -> Any:
    return tuple(items)


def RANGE(start: Any, end: Any, operand: int) -> Any:
    """Return a Range, `operand` 1 for an inclusive one. Raises P007 for a bound that is neither Int nor nil."""
    return RangeValue.checked(start, end, operand == 1)


def STRUCT(fields: list[Any], operand: Any) -> Any:
    return operand.of(fields)


def VARIANT(payload: list[Any], operand: Any) -> Any:
    return EnumValue(operand.decl, operand.variant, tuple(payload))


def ERROR(fields: list[Any], operand: Any) -> Any:
    return operand.make(fields)


def CLOSURE(cells: list[Any], operand: Any) -> Any:
    return Closure(operand, tuple([cells[i] for i in operand.captures]))


def MODEL(operand: Any) -> Any:
    return operand


def MEMORY(operand: Any) -> Any:
    return operand


def HASHMAP(operand: Any) -> Any:
    return operand


def AGENT(operand: Any) -> Any:
    return operand


def LEDGER(operand: Any) -> Any:
    return operand


def PIPELINE(operand: Any) -> Any:
    return operand


def SCHEMA(operand: Any) -> Any:
    return operand


def TOOL(operand: Any) -> Any:
    return operand


def MCP(operand: Any) -> Any:
    return operand


def EMBEDDER(operand: Any) -> Any:
    return operand


def DOCUMENTS(operand: Any) -> Any:
    return operand


# ---------------------------------------------------------------- reading parts


def GET_FIELD(object: Any, operand: str) -> Any:
    return getattr(object, operand)


def GET_MEMBER(object: Any, operand: str) -> Any:
    """Return a member by name, nil for one that is not there. Raises P014 for a value without members."""
    return get_member(object, operand)


def GET_ERROR(error: Any, operand: str) -> Any:
    """Return a member of an error by name, nil for one that is not there. Raises P014 for a value without members, P103, and what
    ends the run."""
    return get_error_member(error, operand)


def GET_ELEMENT(tuple: Any, operand: int) -> Any:
    return tuple[operand]


def GET_PAYLOAD(enum: Any, operand: int) -> Any:
    return enum.payload[operand]


def INDEX(object: Any, index: Any) -> Any:
    """Return an element by index or key, or a slice. Raises P004, P005, P007, and what ends the run."""
    return read_index(object, index)


def INDEX_ARRAY(array: Any, index: Any) -> Any:
    """Return an element of an Array. Raises P004."""
    items = array.items
    if index < 0:
        index_out_of_range(index, len(items))
    try:  # costs nothing where the element is there, unlike a look at the length
        element = items[index]
    except IndexError:
        index_out_of_range(index, len(items))
    return element


def LENGTH(value: Any) -> Any:
    """Return the length. Raises P002, P007."""
    return length(value)


def parse_as(text: Any, defaults: Any, descriptor: Any, types: Any) -> Any:
    """Return what `parse_as` of `vm/builtins/json.py` returns; that module is imported by the first program that reads JSON as a
    type."""
    from ..builtins import json

    return json.parse_as(text, defaults, descriptor, types)


def fill(hole: Any, value: Any) -> None:
    """Do what `fill` of `vm/builtins/json.py` does."""
    from ..builtins import json

    json.fill(hole, value)


def PARSE_AS(text: Any, defaults: Any, operand: Any) -> Any:
    """Return the value of a JSON text as a Result, and its holes: the places of fields that were left out, for FILL to fill."""
    result, holes = parse_as(text, defaults, *operand)
    return result, holes


def FILL(hole: Any, value: Any) -> None:
    fill(hole, value)


def ITERATE(iterable: Any, machine: Any) -> Any:
    return iterate(iterable, machine)


def MOVE(locals_: list[Any], operand: int, machine: Any) -> Any:
    """Return the value of a local that nobody reads there again, marked as shared only where a panic is to show locals."""
    value = locals_[operand]
    if machine.keeps_locals and type(value) not in PLAIN:  # a panic is to show it as it is now
        share(value)
    return value


def TAKE_FIELD(object: Any, operand: str, machine: Any) -> Any:
    """Return a field that nobody reads there again, marked as shared where its struct is, or a panic is to show locals."""
    value = getattr(object, operand)
    if (object.shared or machine.keeps_locals) and type(value) not in PLAIN:
        share(value)
    return value


def TAKE_INDEX(object: Any, index: Any, machine: Any) -> Any:
    """Return an element that nobody reads there again, marked as shared where its holder is or has no mark, or a panic is to
    show locals. Raises as `INDEX`."""
    value = read_index(object, index)
    if type(value) not in PLAIN and (machine.keeps_locals or getattr(object, "shared", True)):
        share(value)
    return value


def TAKE_ENTRY(map: Any, key: Any, machine: Any) -> Any:
    """Return the Option of an entry of a Map that nobody reads there again, marked as `TAKE_FIELD` does. Raises P007 for no
    key."""
    at = key_of(key)
    if at not in map.items:
        return NONE_VALUE
    value = map.items[at]
    if type(value) not in PLAIN and (map.shared or machine.keeps_locals):
        share(value)
    return Some(value)
