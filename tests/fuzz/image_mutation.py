"""Structural mutations of an image: instructions, constants, rows of its tables; encoded again with a fitting hash.

Most are made so that the verifier accepts them: what it refuses shows nothing of the machine. Some are *honest*: no type that the
image declares becomes wrong by them, so that both tiers owe the same outcome.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgpack
from concerto.vm.builtins.modules import ARITY, LIBRARY_MODULES, PERFORMED, STD_MODULES, STD_PREFIX, Arity, std_module
from concerto.vm.builtins.registry import ASSOCIATED, FUNCTIONS, METHODS
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.encoding import decode, decode_lines, encode, encode_instructions, encode_lines, instructions
from concerto.vm.bytecode.hashing import hash_functions
from concerto.vm.bytecode.image import (
    K_BUILTIN,
    K_CONFIG,
    K_ERROR,
    K_FLOAT,
    K_INT,
    K_METHOD,
    K_STRING,
    K_VARIANT,
    Function,
    Image,
    ImageError,
)
from concerto.vm.bytecode.opcodes import BY_NAME, OPCODES
from concerto.vm.values.errors import FAMILIES

from .mutation import HASH, HEAD, change_structure, sealed

INTS = (0, 1, 2, 3, 7, 49, 255, 65536, 2**31, 2**60, 2**63 - 1, -1, -7, -(2**63))
FLOATS = (0.0, -0.0, 1.5, -2.0, 1e308, float("inf"), float("nan"), 2.0**63)
TEXTS = ("", "a", "%d%s", "%999999999d", "x" * 200, "é\U0001f600", "12", "len", "x", "s")
EFFECTS = {op.number: op.effect(1) for op in OPCODES}  # of starred ones only where their operand says so
PLAIN = [op for op in OPCODES if op.kind in (k.NONE, k.COUNT) and op.flow == "next" and "iterator" not in (*op.pops, *op.pushes)]
UNARY = [op for op in PLAIN if EFFECTS[op.number] == (1, 1) and op.kind is k.NONE or op.name in ("TUPLE", "ARRAY", "JOIN")]
BINARY = [op for op in PLAIN if EFFECTS[op.number] == (2, 1) and op.kind is k.NONE]
PUSHING = [op for op in OPCODES if not op.pops and len(op.pushes) == 1 and op.flow == "next"]
SIBLINGS = tuple(
    tuple(BY_NAME[name].number for name in names)
    for names in (
        ("ADD_INT", "SUB_INT", "MUL_INT", "DIV_INT", "REM_INT"), ("ADD_FLOAT", "SUB_FLOAT", "MUL_FLOAT"),
        ("LT_INT", "LE_INT", "GT_INT", "GE_INT"), ("EQ_INT", "NE_INT"), ("LT", "LE", "GT", "GE"), ("TRUE", "FALSE"),
    )
)  # fmt: skip
SIBLING_OF = {number: group for group in SIBLINGS for number in group}
TABLES = {
    k.CONST: "constants", k.VARIANT: "constants", k.METHOD: "constants", k.BUILTIN: "constants", k.HOST: "constants",
    k.ERROR: "constants", k.NAME: "constants", k.CONFIG: "constants", k.FUNCTION: "functions", k.TYPE: "types",
}  # fmt: skip
WANTED = {
    k.CONST: (K_INT, K_FLOAT, K_STRING, K_VARIANT), k.VARIANT: (K_VARIANT,), k.METHOD: (K_METHOD,), k.BUILTIN: (K_BUILTIN,),
    k.HOST: (K_BUILTIN,), k.ERROR: (K_ERROR,), k.NAME: (K_STRING,), k.CONFIG: (K_CONFIG,),
}  # fmt: skip
BUILTINS = sorted(
    {*METHODS, *ASSOCIATED, *[("", name) for name in FUNCTIONS]}
    | {(STD_PREFIX + module, name) for module in (*STD_MODULES, *LIBRARY_MODULES) for name in std_module(module)}
)


def counted(arity: Arity) -> dict[tuple[str, str], int]:
    """All built-ins that a table of argument counts knows, which itself holds those alone that somebody has asked for."""
    return {name: arity[name] for name in BUILTINS if name in arity}


CALLED, HOSTED = counted(ARITY), counted(PERFORMED)


def of_as_many(name: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The built-ins that take as many arguments, of those that the host performs if it is one of them; itself if it is none."""
    known: Any = HOSTED if name in HOSTED else CALLED
    return [other for other, count in known.items() if count == known.get(name)] or [name]


Listing = list[list[int]]  # opcode number, operand; a label is the index of its target
Change = Callable[[Image, Function, Listing, random.Random], "int | None"]


def mutate(data: bytes, rng: random.Random) -> tuple[bytes, bool]:
    """An image that one to three changes made of `data`, and whether all of them were honest."""
    if rng.random() < 0.12:
        value = msgpack.unpackb(data[HEAD:-HASH], strict_map_key=False)
        change_structure(value, rng, rng.randrange(len(value)))
        return sealed(data[:HEAD] + msgpack.packb(value)), False
    image = decode(data)
    honest = rng.random() < 0.35
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(HONEST if honest else FORGING)(image, rng)
    try:
        for function, digest in zip(image.functions, hash_functions(image), strict=True):
            function.hash = digest
    except Exception:  # of tables that are no tables any more: the old hashes stay
        pass
    try:
        return encode(image), honest
    except ImageError:  # what no encoder writes: another one
        return mutate(data, rng)


# ---------------------------------------------------------------- code


def change_code(image: Image, rng: random.Random, change: Change) -> None:
    """Change the instructions of a function. `change` gives the index where one was put in (-1 - index: taken out), or None."""
    function = rng.choice(image.functions)
    before = instructions(function.code)
    index_of = {offset: index for index, (offset, _, _, _) in enumerate(before)}
    index_of[len(function.code)] = len(before)
    listing = [[n, index_of.get(operand, 0) if OPCODES[n].kind is k.LABEL else operand] for _, n, operand, _ in before]
    moved = change(image, function, listing, rng)

    def at(index: int) -> int:
        if moved is None:
            return index
        return index + (index > moved) if moved >= 0 else index - (index > -1 - moved)

    if moved is not None:
        for row in listing:
            if OPCODES[row[0]].kind is k.LABEL:
                row[1] = min(at(row[1]), len(listing) - 1)
    function.code, offsets = encode_instructions([(n, operand) for n, operand in listing])

    def offset(old: int) -> int:
        return offsets[min(at(index_of[old]), len(listing))] if old in index_of else old

    function.handlers = [[offset(a), offset(b), offset(c), d] for a, b, c, d in function.handlers]
    lines = {offset(at): (file, line, column) for at, file, line, column in decode_lines(function.lines)}
    function.lines = encode_lines([(at, *place) for at, place in sorted(lines.items())])
    number = image.functions.index(function)
    if image.names:
        image.names[number] = [[name, place, offset(a), offset(b)] for name, place, a, b in image.names[number]]


def sibling(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    """An opcode for one that takes and gives values of the same types."""
    found = [row for row in listing if row[0] in SIBLING_OF]
    if found:
        row = rng.choice(found)
        row[0] = rng.choice(SIBLING_OF[row[0]])
    return None


def other_opcode(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    """An opcode for one of the same stack effect, or any of the same operand kind."""
    row = rng.choice(listing)
    op = OPCODES[row[0]]
    for group in (UNARY, BINARY, PUSHING):
        if op in group and rng.random() < 0.9:
            chosen = rng.choice(group)
            row[0], row[1] = chosen.number, operand_of(image, function, chosen, rng)
            return None
    row[0] = rng.choice([other.number for other in OPCODES if other.kind is op.kind])
    return None


def other_operand(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    rows = [row for row in listing if OPCODES[row[0]].kind is not k.NONE]
    if rows:
        row = rng.choice(rows)
        op = OPCODES[row[0]]
        if op.kind is k.LABEL:
            row[1] = rng.randrange(len(listing))
        elif op.name == "INT" or rng.random() < 0.8:
            row[1] = operand_of(image, function, op, rng)
        else:
            row[1] = max(0, row[1] + rng.choice((-1, 1)))
    return None


def operand_of(image: Image, function: Function, op: Any, rng: random.Random) -> int:
    """An operand that the verifier may accept."""
    if op.kind is k.LOCAL:
        return rng.randrange(function.slots or 1)
    if op.kind is k.CELL:
        return rng.randrange(function.cells or 1)
    if op.kind is k.FIELD:
        return rng.randrange(4)
    if op.name == "INT":
        return rng.choice((0, 1, 2, 3, 50, 1000, 65536))
    if op.kind in WANTED:
        fitting = [n for n, (kind, _) in enumerate(image.constants) if kind in WANTED[op.kind]]
        return rng.choice(fitting) if fitting else 0
    if op.kind in TABLES:
        return rng.randrange(len(getattr(image, TABLES[op.kind])) or 1)
    return rng.randrange(3) if op.kind is not k.COUNT else 1 if op in UNARY else rng.randrange(3)


def put_in(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    """An instruction that takes one value and gives one."""
    index = rng.randrange(len(listing))
    op = rng.choice(UNARY)
    listing.insert(index, [op.number, operand_of(image, function, op, rng)])
    return index


def take_out(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    """Without an instruction that takes one value and gives one: SHARE, CHECK, CAST among them."""
    found = [at for at, row in enumerate(listing) if EFFECTS[row[0]] == (1, 1) and OPCODES[row[0]].flow == "next"]
    if not found or len(listing) < 2:
        return None
    at = rng.choice(found)
    del listing[at]
    return -1 - at


def exchange(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    one, two = rng.randrange(len(listing)), rng.randrange(len(listing))
    listing[one], listing[two] = listing[two], listing[one]
    return None


def in_code(change: Change) -> Callable[[Image, random.Random], None]:
    return lambda image, rng: change_code(image, rng, change)


# ---------------------------------------------------------------- constants


def same_constant(image: Image, rng: random.Random) -> None:
    """Another number or text; names of members and methods stay."""
    found = [n for n, (kind, _) in enumerate(image.constants) if kind in (K_INT, K_FLOAT)]
    if found:
        number = rng.choice(found)
        kind = image.constants[number][0]
        image.constants[number] = (kind, rng.choice(INTS if kind == K_INT else FLOATS))


def small_number(image: Image, function: Function, listing: Listing, rng: random.Random) -> int | None:
    rows = [row for row in listing if OPCODES[row[0]].name == "INT"]
    if rows:
        rng.choice(rows)[1] = rng.choice((0, 1, 2, 3, 5, 50, 1000))
    return None


def other_constant(image: Image, rng: random.Random) -> None:
    if not image.constants:
        return
    number = rng.randrange(len(image.constants))
    kind, value = image.constants[number]
    chance = rng.random()
    if kind in (K_INT, K_FLOAT, K_STRING) or chance < 0.15:
        image.constants[number] = rng.choice((
            (K_INT, rng.choice(INTS)), (K_FLOAT, rng.choice(FLOATS)), (K_STRING, rng.choice(TEXTS)),
            *[constant for constant in image.constants if constant[0] == K_VARIANT][:3],
        ))  # fmt: skip
    elif kind == K_VARIANT:
        image.constants[number] = (kind, [value[0], max(0, value[1] + rng.choice((-1, 1)))])
    elif kind == K_METHOD and chance < 0.6:
        names = [c[1][0] for c in image.constants if c[0] == K_METHOD] + [name for _, name in CALLED]
        image.constants[number] = (kind, [rng.choice(names), *value[1:]])
    elif kind == K_METHOD:
        image.constants[number] = (kind, [value[0], max(0, value[1] + rng.choice((-1, 1))), *value[2:]])
    elif kind == K_BUILTIN:
        image.constants[number] = (kind, list(rng.choice(of_as_many(tuple(value)))))
    elif kind == K_ERROR:
        image.constants[number] = (kind, [rng.choice(sorted(FAMILIES)), *value[1:]])
    else:
        image.constants[number] = rng.choice(image.constants)


# ---------------------------------------------------------------- tables


def other_type(image: Image, rng: random.Random) -> None:
    """Another descriptor in the place of one, or other types inside it."""
    number = rng.randrange(len(image.types))
    entry = image.types[number]
    chance = rng.random()
    if chance < 0.4:
        word = rng.choice(("int", "float", "string", "bool", "nil", "any", "array", "map", "option", "tuple", "result"))
        inner = [rng.randrange(len(image.types)) for _ in range(2)]
        image.types[number] = {
            "array": ["array", inner[0]], "map": ["map", *inner], "option": ["option", inner[0]], "tuple": ["tuple", inner],
            "result": ["result", *inner],
        }.get(word, [word])  # fmt: skip
    elif chance < 0.6:
        image.types[number] = list(rng.choice(image.types))
    elif entry[0] in ("struct", "schema") and entry[2]:
        field = rng.choice(entry[2])
        if chance < 0.85:
            field[1] = rng.randrange(len(image.types))
        else:
            entry[2] = [*entry[2], [f"more{len(entry[2])}", *field[1:]]] if chance < 0.92 else entry[2][:-1]
    elif entry[0] == "enum" and entry[2]:
        variant = rng.choice(entry[2])
        if variant[1] and chance < 0.85:
            variant[1] = [rng.randrange(len(image.types)) for _ in variant[1]]
        elif chance < 0.92:
            variant[1] = [*variant[1], rng.randrange(len(image.types))]
        else:
            entry[2].append([f"More{len(entry[2])}", []])
    else:
        parts = [at for at in range(1, len(entry)) if isinstance(entry[at], int)]
        if parts:
            entry[rng.choice(parts)] = rng.randrange(len(image.types))


def function_row(image: Image, rng: random.Random) -> None:
    function = rng.choice(image.functions)
    chance = rng.randrange(9)
    if chance < 3 and function.params:
        rng.choice(function.params)[1] = rng.randrange(len(image.types))
    elif chance == 3:
        function.result = rng.randrange(len(image.types))
    elif chance == 4:
        function.flags ^= 1 << rng.randrange(7)
    elif chance == 5:
        function.slots += rng.choice((0, 1, 5))
        function.cells += rng.choice((0, 1))
    elif chance == 6 and function.handlers:
        row = rng.choice(function.handlers)
        at = rng.randrange(4)
        offsets = [offset for offset, _, _, _ in instructions(function.code)]
        row[at] = max(0, row[3] + rng.choice((-1, 1))) if at == 3 else rng.choice(offsets)
    elif chance == 7:
        function.name = rng.choice(image.functions).name
    elif function.captures:
        function.captures = [rng.randrange(4) for _ in function.captures]


def other_lines(image: Image, rng: random.Random) -> None:
    """Rows of the line table: other positions, fewer rows, none."""
    function = rng.choice(image.functions)
    rows = decode_lines(function.lines)
    if not rows:
        return
    if rng.random() < 0.3:
        rows = rng.sample(rows, rng.randrange(len(rows)) + 1)
        rows.sort()
    at = rng.randrange(len(rows))
    rows[at] = (rows[at][0], rng.choice((0, 0, 1, 9)), rng.choice((0, 1, 77, 2**29)), rng.choice((0, 1, 2**31)))
    function.lines = encode_lines(rows)


def trade_rows(image: Image, rng: random.Random) -> None:
    """Two rows of a table in each other's place."""
    table: Any = rng.choice((image.constants or image.types, image.types, image.functions, image.functions))
    one, two = rng.randrange(len(table)), rng.randrange(len(table))
    table[one], table[two] = table[two], table[one]


def declaration(image: Image, rng: random.Random) -> None:
    """A row of a declaration that is there."""
    sections = [name for name in ("schemas", "models", "agents", "tools", "mcp", "connections", "hashmaps", "ledgers", "memories",
                                  "contexts", "pipelines", "tests", "externs") if getattr(image, name)]  # fmt: skip
    if not sections:
        other_type(image, rng)
        return
    rows = getattr(image, rng.choice(sections))
    row = rng.choice(rows)
    values = [row.values()]
    change_structure(values, rng, 0)
    if isinstance(values[0], list) and len(values[0]) == len(row.__slots__):
        for name, value in zip(row.__slots__, values[0], strict=True):
            setattr(row, name, value)


HONEST = (in_code(sibling), in_code(sibling), same_constant, same_constant, in_code(small_number), other_lines)
FORGING = (
    in_code(other_opcode), in_code(other_opcode), in_code(other_operand), in_code(other_operand), in_code(put_in),
    in_code(take_out), in_code(take_out), in_code(exchange), other_constant, other_constant, other_constant, other_type,
    other_type, function_row, function_row, other_lines, trade_rows, declaration,
)  # fmt: skip
