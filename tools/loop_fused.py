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
    return rows


def _arithmetic() -> dict[tuple[str, ...], Row]:
    rows = {}
    for opcode, sign in ARITHMETIC.items():
        for right, text in RIGHT.items():
            push = CHECKED.format(keep="push(tos)\n    tos = r", sign=sign)
            store = CHECKED.format(keep="locs[target] = r", sign=sign)
            rows["LOAD", right, opcode, "STORE"] = (2, f"left, right, target = arg\nr = locs[left] {sign} {text}\n{store}")
            rows["LOAD", right, opcode] = (2, f"left, right = arg\nr = locs[left] {sign} {text}\n{push}")
            keep = CHECKED.format(keep="tos = r", sign=sign)
            rows[right, opcode] = (1, f"right, = arg\nr = tos {sign} {text}\n{keep}")
    return rows


FUSED: dict[tuple[str, ...], Row] = {
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
        + "".join(f"    {line}\n" for line in JUMP_THERE.splitlines()),
    ),
}
