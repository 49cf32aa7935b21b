"""Superinstructions: runs of opcodes that the linker replaces by one node, with one body in the generated loop (speed.md, 2).

They exist in the linked form only, never in an image, and change nothing but speed: fuel is charged for the opcodes they
stand for, and a panic has the position of the opcode that failed. A row is the run, the index of the opcode that may fail, and
the body; `arg` is the tuple of the operands of those opcodes that have one.
"""

from __future__ import annotations

from loop_control import JUMP_THERE

COMPARISONS = {"LT_INT": "<", "LE_INT": "<=", "GT_INT": ">", "GE_INT": ">=", "EQ_INT": "==", "NE_INT": "!="}
ARITHMETIC = {"ADD_INT": "+", "SUB_INT": "-", "MUL_INT": "*"}
RIGHT = {"LOAD": "locs[right]", "INT": "right"}

Row = tuple[int, str]

JUMP_INSIDE = "".join(f"    {line}\n" for line in JUMP_THERE.splitlines()).rstrip()

CHECKED = """\
if -0x3FFFFFFF <= r <= 0x3FFFFFFF or INT_MIN <= r <= INT_MAX:
    {keep}
    continue
tos = overflow({sign!r})
"""


def _branches() -> dict[tuple[str, ...], Row]:
    """A local compared with a local or a constant, and a jump when it does not hold."""
    rows = {}
    for opcode, sign in COMPARISONS.items():
        for right, text in RIGHT.items():
            test = f"left, right, arg = arg\nif locs[left] {sign} {text}:\n    continue\n"
            rows["LOAD", right, opcode, "JUMP_UNLESS"] = (2, test + JUMP_THERE)
            test = f"right, arg = arg\nholds = tos {sign} {text}\ntos = pop()\nif holds:\n    continue\n"
            rows[right, opcode, "JUMP_UNLESS"] = (1, test + JUMP_THERE)
        for jump, continues in (("JUMP_UNLESS", "holds"), ("JUMP_IF", "not holds")):
            test = f"arg, = arg\nholds = pop() {sign} tos\ntos = pop()\nif {continues}:\n    continue\n"
            rows[opcode, jump] = (0, test + JUMP_THERE)
    rows["LOAD", "LOAD", "EQ_INT", "JUMP_IF"] = (
        2,
        "left, right, arg = arg\nif locs[left] != locs[right]:\n    continue\n" + JUMP_THERE,
    )
    return rows


def _arithmetic() -> dict[tuple[str, ...], Row]:
    rows = {}
    for opcode, sign in ARITHMETIC.items():
        for right, text in RIGHT.items():
            push = CHECKED.format(keep="push(tos)\n    tos = r", sign=sign)
            store = CHECKED.format(keep="locs[target] = r", sign=sign)
            round = CHECKED.format(keep="locs[target] = r\n" + JUMP_INSIDE, sign=sign)
            rows["LOAD", right, opcode, "STORE"] = (2, f"left, right, target = arg\nr = locs[left] {sign} {text}\n{store}")
            rows["LOAD", right, opcode, "STORE", "JUMP"] = (
                2,
                f"left, right, target, arg = arg\nr = locs[left] {sign} {text}\n{round}",
            )
            rows["LOAD", right, opcode] = (2, f"left, right = arg\nr = locs[left] {sign} {text}\n{push}")
            keep = CHECKED.format(keep="tos = r", sign=sign)
            rows[right, opcode] = (1, f"right, = arg\nr = tos {sign} {text}\n{keep}")
    return rows


# The value of a local as LOAD_OWN gives it.
OWNED = """\
object = locs[owner]
try:
    if object.shared:
        locs[owner] = object = own(object)
except AttributeError:
    pass
"""

REMAINDER = """\
if {left} >= 0 and right > 0:
    {keep} = {left} % right
else:
    {keep} = int_rem({left}, right)
"""

ELEMENT = """\
if 0 <= at < len(items):
    {keep}
    continue
tos = index_out_of_range(at, len(items))
"""


def _built_in(one: str, two: str, more: str) -> str:
    return f"if n == 1:\n    {one}\nelif n == 2:\n    {two}\nelse:\n{more}"


def _more(keep: str) -> str:
    """A call with many arguments, the last of which is on top of the stack."""
    return f"    push(tos)\n    new = st[len(st) - n:]\n    del st[len(st) - n:]\n    {keep}body(*new)\n"


def _jump_unless(condition: str, then: str = "", otherwise: str = "") -> str:
    """Falls through to `then` where the condition, a Bool for certain, holds."""
    return f"if {condition}:\n{then}    continue\n{otherwise}" + JUMP_THERE


def _of_variant(value: str) -> str:
    return f"type({value}) is EnumValue and {value}.decl is wanted.decl and {value}.variant == wanted.variant"


def _calls() -> dict[tuple[str, ...], Row]:
    """Built-in calls with what pushes their arguments, or drops their result."""
    owned = "owner, (body, n) = arg\n" + OWNED
    loaded = "slot, (body, n) = arg\n"
    put = "    push(tos)\n    tos = locs[slot]\n"
    first = "    push(object)\n"
    gone = "body(tos)\n    tos = object", "body(object, tos)\n    tos = pop()", first + _more("") + "    tos = pop()\n"
    pushed = owned + _built_in(*gone)
    own = "push(tos)\n    tos = body(object)", "tos = body(tos, object)", "    push(tos)\n    tos = object\n" + _more("tos = ")
    dropped = _built_in("body(tos)", "body(pop(), tos)", _more("")) + "tos = pop()\n"
    return {
        ("CALL_BUILTIN", "POP"): (0, "(body, n), = arg\n" + dropped),
        ("LOAD", "CALL_BUILTIN"): (
            1, loaded + _built_in("push(tos)\n    tos = body(locs[slot])", "tos = body(tos, locs[slot])", put + _more("tos = ")),
        ),
        ("LOAD_OWN", "SWAP", "CALL_BUILTIN"): (
            2, owned + _built_in("push(object)\n    tos = body(tos)", "tos = body(object, tos)", first + _more("tos = ")),
        ),
        ("LOAD_OWN", "SWAP", "CALL_BUILTIN", "POP"): (2, pushed),
        ("LOAD_OWN", "SWAP", "CALL_BUILTIN", "POP", "JUMP"): (2, pushed.replace(" = arg\n", ", arg = arg\n", 1) + JUMP_THERE),
        ("LOAD_OWN", "CALL_BUILTIN"): (1, owned + _built_in(*own)),
    }


def _tests() -> dict[tuple[str, ...], Row]:
    """Conditions and the jump when they do not hold."""
    return {
        ("TRUE", "JUMP_UNLESS"): (0, "continue\n"),
        ("JUMP_UNLESS", "JUMP"): (
            0,
            "arg, other = arg\nif tos is True:\n    arg = other\nelif tos is not False:\n"
            "    raise not_bool(tos)\ntos = pop()\n" + JUMP_THERE,
        ),
        ("JUMP_UNLESS", "LOAD"): (
            0,
            "arg, slot = arg\nif tos is True:\n    tos = locs[slot]\n    continue\n"
            "if tos is not False:\n    raise not_bool(tos)\n"
            "tos = pop()\n" + JUMP_THERE,
        ),
        ("INT", "REM_INT", "INT", "EQ_INT", "JUMP_UNLESS"): (
            1,
            "right, wanted, arg = arg\n"
            + REMAINDER.format(left="tos", keep="found") + "tos = pop()\n" + _jump_unless("found == wanted"),
        ),
        ("LOAD", "INT", "REM_INT", "INT", "EQ_INT", "JUMP_UNLESS"): (
            2,
            "left, right, wanted, arg = arg\nvalue = locs[left]\n"
            + REMAINDER.format(left="value", keep="found") + _jump_unless("found == wanted"),
        ),
        ("IS_VARIANT", "JUMP_UNLESS"): (
            0, "wanted, arg = arg\nvalue = tos\ntos = pop()\n" + _jump_unless(_of_variant("value")),
        ),
        ("IS_VARIANT", "JUMP_UNLESS", "LOAD"): (
            0,
            "wanted, arg, slot = arg\nvalue = tos\n"
            + _jump_unless(_of_variant("value"), "    tos = locs[slot]\n", "tos = pop()\n"),
        ),
        ("LOAD", "IS_VARIANT", "JUMP_UNLESS"): (
            1, "slot, wanted, arg = arg\nvalue = locs[slot]\n" + _jump_unless(_of_variant("value")),
        ),
        ("LOAD", "IS_VARIANT", "JUMP_UNLESS", "LOAD"): (
            1,
            "slot, wanted, arg, then = arg\nvalue = locs[slot]\n"
            + _jump_unless(_of_variant("value"), "    push(tos)\n    tos = locs[then]\n"),
        ),
    }  # fmt: skip


def _places() -> dict[tuple[str, ...], Row]:
    """Elements and fields of locals."""
    set_field = (
        "if not isinstance(object, Struct):\n    raise Panic(\"P007\", \"expected a struct in a field assignment\")\n"
        "setattr(object, field, tos)\ntos = pop()\n"
    )
    inner = (
        "if type(object) is Array and type(index) is int and 0 <= index < len(object.items):\n    value = object.items[index]\n"
        "else:\n    value = index_place(object, index)\n"
        "try:\n    if value.shared:\n        value = own(value)\n"
        "        object.items[index if type(object) is Array else key_of(index)] = value\n"
        "except AttributeError:\n    pass\n"
    )
    return {
        ("LOAD", "INDEX_ARRAY"): (
            1, "slot, = arg\nat = locs[slot]\nitems = tos.items\n" + ELEMENT.format(keep="tos = items[at]"),
        ),
        ("INDEX_ARRAY", "GET_FIELD"): (
            0, "field, = arg\nat = tos\nitems = pop().items\n" + ELEMENT.format(keep="tos = getattr(items[at], field)"),
        ),
        ("LOAD", "INDEX_ARRAY", "GET_FIELD"): (
            1, "slot, field = arg\nat = locs[slot]\nitems = tos.items\n" + ELEMENT.format(keep="tos = getattr(items[at], field)"),
        ),
        ("LOAD", "LOAD", "INDEX_ARRAY", "GET_FIELD"): (
            2,
            "left, right, field = arg\nat = locs[right]\nitems = locs[left].items\n"
            + ELEMENT.format(keep="push(tos)\n    tos = getattr(items[at], field)"),
        ),
        ("INDEX_ARRAY", "STORE"): (
            0,
            "target, = arg\nat = tos\nitems = pop().items\n"
            + ELEMENT.format(keep="locs[target] = items[at]\n    tos = pop()"),
        ),
        ("LOAD", "LOAD", "INDEX_ARRAY", "STORE"): (
            2,
            "left, right, target = arg\nat = locs[right]\nitems = locs[left].items\n"
            + ELEMENT.format(keep="locs[target] = items[at]"),
        ),
        ("LOAD", "LOAD", "INDEX_ARRAY", "SHARE"): (
            2,
            "left, right = arg\nat = locs[right]\nitems = locs[left].items\n"
            + ELEMENT.format(keep="push(tos)\n    tos = share(items[at])"),
        ),
        ("LOAD_OWN", "LOAD"): (0, "owner, slot = arg\n" + OWNED + "push(tos)\npush(object)\ntos = locs[slot]\n"),
        ("LOAD_OWN", "SET_FIELD"): (1, "owner, field = arg\n" + OWNED + set_field),
        ("LOAD_OWN", "LOAD", "INDEX_OWN"): (
            2, "owner, at = arg\n" + OWNED + "index = locs[at]\n" + inner + "push(tos)\ntos = value\n",
        ),
        ("LOAD_OWN", "LOAD", "INDEX_OWN", "SET_FIELD"): (
            2, "owner, at, field = arg\n" + OWNED + "index = locs[at]\n" + inner + "object = value\n" + set_field,
        ),
    }  # fmt: skip


def _moves() -> dict[tuple[str, ...], Row]:
    """Values from and to locals, and what uses them at once."""
    each = "for value in tos:\n    locs[target] = value\n{push}    break\nelse:\n    tos = pop()\n" + JUMP_INSIDE + "\n"
    return {
        ("LOAD", "CONST"): (0, "slot, value = arg\npush(tos)\npush(locs[slot])\ntos = value\n"),
        ("LOAD", "INT"): (0, "slot, value = arg\npush(tos)\npush(locs[slot])\ntos = value\n"),
        ("LOAD", "INT", "REM_INT"): (
            2, "slot, right = arg\nvalue = locs[slot]\npush(tos)\n" + REMAINDER.format(left="value", keep="tos"),
        ),
        ("LOAD", "SHARE"): (0, "slot, = arg\npush(tos)\ntos = share(locs[slot])\n"),
        ("LOAD", "GET_ELEMENT"): (1, "slot, at = arg\npush(tos)\ntos = locs[slot][at]\n"),
        ("LOAD", "GET_PAYLOAD"): (1, "slot, at = arg\npush(tos)\ntos = locs[slot].payload[at]\n"),
        ("STORE", "LOAD", "GET_ELEMENT"): (2, "target, slot, at = arg\nlocs[target] = tos\ntos = locs[slot][at]\n"),
        ("STORE", "LOAD", "LOAD"): (0, "target, left, right = arg\nlocs[target] = tos\npush(locs[left])\ntos = locs[right]\n"),
        ("STORE", "LOAD", "STORE", "LOAD"): (
            0, "target, slot, other, then = arg\nlocs[target] = tos\nlocs[other] = locs[slot]\ntos = locs[then]\n",
        ),
        ("ADD_INT", "STORE"): (
            0, "target, = arg\nr = pop() + tos\n" + CHECKED.format(keep="locs[target] = r\n    tos = pop()", sign="+"),
        ),
        ("ADD_INT", "STORE", "JUMP"): (
            0,
            "target, arg = arg\nr = pop() + tos\n"
            + CHECKED.format(keep="locs[target] = r\n    tos = pop()\n" + JUMP_INSIDE, sign="+"),
        ),
        ("ADD_INT", "RETURN"): (
            0,
            "r = pop() + tos\n" + CHECKED.format(keep="tos = r\n    ins, locs, cells, code = pop_frame()", sign="+"),
        ),
        ("OK", "RETURN"): (0, "tos = Ok(tos)\nins, locs, cells, code = pop_frame()\n"),
        ("LOAD", "STORE"): (0, "slot, target = arg\nlocs[target] = locs[slot]\n"),
        ("SHARE", "STORE"): (0, "target, = arg\nlocs[target] = share(tos)\ntos = pop()\n"),
        ("STORE", "LOAD", "LOAD", "SHARE"): (
            0, "target, left, right = arg\nlocs[target] = tos\npush(locs[left])\ntos = share(locs[right])\n",
        ),
        ("NEXT", "SHARE"): (
            0,
            "arg, = arg\nfor value in tos:\n    push(tos)\n    tos = share(value)\n    break\nelse:\n    tos = pop()\n"
            + JUMP_INSIDE + "\n",
        ),
        ("NEXT", "SHARE", "STORE"): (
            0, "arg, target = arg\n" + each.format(push="").replace("= value", "= share(value)"),
        ),
        ("POP", "JUMP"): (0, "arg, = arg\ntos = pop()\n" + JUMP_THERE),
        ("NEXT", "STORE", "LOAD"): (
            0, "arg, target, slot = arg\n" + each.format(push="    push(tos)\n    tos = locs[slot]\n"),
        ),
        ("NEXT", "STORE", "LOAD", "LOAD"): (
            0,
            "arg, target, left, right = arg\n"
            + each.format(push="    push(tos)\n    push(locs[left])\n    tos = locs[right]\n"),
        ),
    }  # fmt: skip


def _floats() -> dict[tuple[str, ...], Row]:
    rows: dict[tuple[str, ...], Row] = {
        ("LOAD", "LOAD", "MUL_FLOAT", "ADD_FLOAT"): (2, "left, right = arg\ntos = tos + locs[left] * locs[right]\n"),
    }
    for opcode, sign in {"ADD_FLOAT": "+", "SUB_FLOAT": "-", "MUL_FLOAT": "*"}.items():
        rows["LOAD", "LOAD", opcode] = (2, f"left, right = arg\npush(tos)\ntos = locs[left] {sign} locs[right]\n")
        rows["LOAD", opcode] = (1, f"slot, = arg\ntos = tos {sign} locs[slot]\n")
    return rows


FUSED: dict[tuple[str, ...], Row] = {
    **_calls(),
    **_tests(),
    **_places(),
    **_moves(),
    **_floats(),
    **_branches(),
    **_arithmetic(),
    ("LOAD", "LOAD"): (0, "left, right = arg\npush(tos)\npush(locs[left])\ntos = locs[right]\n"),
    ("LOAD", "GET_FIELD"): (1, "slot, field = arg\npush(tos)\ntos = getattr(locs[slot], field)\n"),
    ("LOAD", "LOAD", "INDEX_ARRAY"): (
        2,
        "left, right = arg\nat = locs[right]\nitems = locs[left].items\nif 0 <= at < len(items):\n"
        "    push(tos)\n    tos = items[at]\n    continue\ntos = index_out_of_range(at, len(items))\n",
    ),
    ("INT", "REM_INT"): (
        1,
        "right, = arg\nif tos >= 0 and right > 0:\n    tos = tos % right\n    continue\ntos = int_rem(tos, right)\n",
    ),
    ("LOAD_OWN", "LOAD", "SET_INDEX"): (
        2,
        "owner, at = arg\nobject = locs[owner]\nindex = locs[at]\n"
        "if type(object) is not Array or object.shared:\n    object = locs[owner] = own(object)\n"
        "if type(object) is Array and type(index) is int and 0 <= index < len(object.items):\n"
        "    object.items[index] = tos\nelse:\n    write_element(object, index, tos)\ntos = pop()\n",
    ),
    # A local that grows: with no other owner left CPython extends the text where it lies, so that a loop of these is linear.
    ("CONCAT", "STORE"): (
        0,
        "target, = arg\nleft = pop()\nif (len(left) + len(tos)) * 4 > limits.surely:\n    check_concat(left, tos)\n"
        "if locs[target] is left:\n    locs[target] = None\nleft += tos\nlocs[target] = left\ntos = pop()\n",
    ),
    ("LOAD", "RETURN"): (0, "slot, = arg\npush(tos)\ntos = locs[slot]\nins, locs, cells, code = pop_frame()\n"),
    ("STORE", "LOAD"): (0, "target, slot = arg\nlocs[target] = tos\ntos = locs[slot]\n"),
    ("STORE", "JUMP"): (0, "target, arg = arg\nlocs[target] = tos\ntos = pop()\n" + JUMP_THERE),
    ("NEXT", "STORE"): (
        0,
        "arg, target = arg\nfor value in tos:\n    locs[target] = value\n    break\nelse:\n    tos = pop()\n"
        + JUMP_INSIDE + "\n",
    ),
}
