"""Superinstructions: runs of opcodes that the linker replaces by one node, with one body in the generated loop (speed.md, 2).

They exist in the linked form only, never in an image, and change nothing but speed: fuel is charged for the opcodes they
stand for, and a panic has the position of the opcode that failed. A row is the run, the index of the opcode that may fail, and
the body; `arg` is the tuple of the operands of those opcodes that have one. Most bodies are composed (loop_compose.py); What
pushes a number, a literal or a handle is CONST here, as the linker has it.
"""

from __future__ import annotations

from loop_compose import composed
from loop_control import JUMP_THERE, METHOD, METHOD_ARGUMENTS

Row = tuple[int, str]

# The value of a local as LOAD_OWN gives it.
OWNED = """\
object = locs[owner]
try:
    if object.shared:
        locs[owner] = object = own(object)
except AttributeError:
    pass
"""


# A built-in has charged fuel (G-6.1)
SETTLED = "if debt:\n    fuel = machine.pay_debt(fuel)\n"


def _built_in(one: str, two: str, more: str) -> str:
    return f"if n == 1:\n    {one}\nelif n == 2:\n    {two}\nelse:\n{more}{SETTLED}"


def _more(keep: str) -> str:
    """A call with many arguments, the last of which is on top of the stack."""
    return f"    push(tos)\n    new = st[len(st) - n:]\n    del st[len(st) - n:]\n    {keep}body(*new)\n"


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


def _methods() -> dict[tuple[str, ...], Row]:
    """Method calls whose last arguments, and often whose receiver, are constants or handles."""
    rows: dict[tuple[str, ...], Row] = {}
    for count in (1, 2, 3):
        names = [f"c{i}" for i in range(count)]
        pushes = "".join(f"    push({name})\n" for name in ("tos", *names[:-1]))
        otherwise = f"{pushes}    tos = {names[-1]}\n" + "".join(f"    {line}\n" for line in METHOD_ARGUMENTS.splitlines())
        rows[(*["CONST"] * count, "CALL_METHOD")] = (
            count,
            f"{', '.join(names)}, arg = arg\n"
            f"if arg.argc == {count - 1}:\n    push(tos)\n    new = [{', '.join(names[1:])}]\n    tos = c0\n"
            f"elif arg.argc == {count}:\n    new = [{', '.join(names)}]\nelse:\n{otherwise}{METHOD}",
        )
    rows["CONST", "ARRAY", "CALL_METHOD"] = 2, LISTED + METHOD
    return rows


# A method called with a list, most often of one: `with_tools([T])`
LISTED = (
    """\
c0, n, arg = arg
if n == 1 and arg.argc == 1:
    new = [Array([c0])]
else:
    push(tos)
    push(c0)
    new = st[len(st) - n:]
    del st[len(st) - n:]
    tos = Array(new)
"""
    + "".join(f"    {line}\n" for line in METHOD_ARGUMENTS.splitlines())
)


# Statements and conditions, or two short ones, up to twelve opcodes: those that the programs of benches/ run most often, and the
# simple forms around. Whole loops are left out on purpose: they would be of those programs only.
RUNS = """
    ADD_INT RETURN
    ADD_INT STORE
    ADD_INT STORE JUMP
    ADD_INT STORE LOAD CONST ADD_INT STORE JUMP
    CONST ADD_INT
    CONST ADD_INT LOAD_OWN LOAD SET_INDEX
    CONST CONST
    CONST EQ_INT JUMP_UNLESS
    CONST GE_INT JUMP_UNLESS
    CONST GT_INT JUMP_UNLESS
    CONST JUMP
    CONST JUMP_UNLESS
    CONST JUMP_UNLESS LOAD LOAD INDEX_ARRAY SHARE STORE
    CONST LE_INT JUMP_UNLESS
    CONST LOAD MUL_FLOAT LOAD MUL_FLOAT LOAD ADD_FLOAT STORE
    CONST LOAD MUL_INT CONST ADD_INT STORE
    CONST LOAD_OWN LOAD SET_INDEX LOAD LOAD ADD_INT STORE
    CONST LT_INT JUMP_UNLESS
    CONST MUL_INT
    CONST MUL_INT OK RETURN
    CONST NE_INT JUMP_UNLESS
    CONST REM_INT
    CONST REM_INT CONST EQ_INT JUMP_UNLESS
    CONST STORE
    CONST SUB_INT
    DUP IS_ABSENT JUMP_UNLESS
    EQ_INT JUMP_IF
    EQ_INT JUMP_UNLESS
    GE_INT JUMP_IF
    GE_INT JUMP_UNLESS
    GT_INT JUMP_IF
    GT_INT JUMP_UNLESS
    INDEX_ARRAY GET_FIELD
    INDEX_ARRAY STORE
    IS_VARIANT JUMP_UNLESS
    IS_VARIANT JUMP_UNLESS LOAD
    JUMP_UNLESS JUMP
    JUMP_UNLESS LOAD
    JUMP_UNLESS LOAD CONST
    JUMP_UNLESS LOAD CONST ADD_INT STORE
    JUMP_UNLESS LOAD_OWN LOAD SHARE
    JUMP_UNLESS STORE LOAD CONST ADD_INT STORE LOAD LOAD
    LE_INT JUMP_IF
    LE_INT JUMP_UNLESS
    LOAD ADD_FLOAT
    LOAD ADD_INT
    LOAD CONST
    LOAD CONST ADD_INT
    LOAD CONST ADD_INT STORE
    LOAD CONST ADD_INT STORE JUMP
    LOAD CONST ADD_INT STORE LOAD CONST SUB_INT STORE
    LOAD CONST ADD_INT STORE LOAD STORE
    LOAD CONST CONST
    LOAD CONST DIV_INT STORE JUMP
    LOAD CONST EQ_INT JUMP_UNLESS
    LOAD CONST EQ_INT JUMP_UNLESS LOAD CONST ADD_INT STORE
    LOAD CONST GE_INT JUMP_UNLESS
    LOAD CONST GE_INT JUMP_UNLESS LOAD CONST LE_INT JUMP_UNLESS
    LOAD CONST GT_INT JUMP_UNLESS
    LOAD CONST LE_INT JUMP_UNLESS
    LOAD CONST LT_INT JUMP_UNLESS
    LOAD CONST LT_INT JUMP_UNLESS LOAD OK JUMP
    LOAD CONST LT_INT JUMP_UNLESS LOAD RETURN
    LOAD CONST MUL_INT
    LOAD CONST MUL_INT CONST ADD_INT CONST REM_INT STORE
    LOAD CONST MUL_INT STORE
    LOAD CONST MUL_INT STORE JUMP
    LOAD CONST NE_INT JUMP_UNLESS
    LOAD CONST REM_INT
    LOAD CONST REM_INT CONST EQ_INT JUMP_UNLESS
    LOAD CONST REM_INT CONST EQ_INT RETURN
    LOAD CONST REM_INT STORE LOAD CONST EQ_INT JUMP_UNLESS
    LOAD CONST SUB_INT
    LOAD CONST SUB_INT STORE
    LOAD CONST SUB_INT STORE JUMP
    LOAD EQ_INT JUMP_UNLESS
    LOAD GET_ELEMENT
    LOAD GET_ELEMENT LOAD GET_ELEMENT LOAD GET_ELEMENT ADD_INT CONST REM_INT
    LOAD GET_ELEMENT STORE LOAD STORE JUMP
    LOAD GET_FIELD
    LOAD GET_FIELD CONST ADD_INT LOAD_OWN SET_FIELD
    LOAD GET_FIELD CONST GT_INT JUMP_UNLESS
    LOAD GET_FIELD CONST REM_INT CONST EQ_INT JUMP_UNLESS
    LOAD GET_FIELD LOAD CONST REM_INT ADD_INT CONST SUB_INT LOAD_OWN SET_FIELD
    LOAD GET_FIELD LOAD GET_FIELD MUL_INT CONST DIV_INT RETURN
    LOAD GET_PAYLOAD
    LOAD GE_INT JUMP_UNLESS
    LOAD GT_INT JUMP_UNLESS
    LOAD INDEX_ARRAY
    LOAD INDEX_ARRAY GET_FIELD
    LOAD INDEX_ARRAY GET_FIELD LOAD LOAD MUL_FLOAT ADD_FLOAT LOAD_OWN LOAD INDEX_OWN SET_FIELD
    LOAD IS_VARIANT JUMP_UNLESS
    LOAD IS_VARIANT JUMP_UNLESS LOAD
    LOAD IS_VARIANT JUMP_UNLESS LOAD CONST MUL_INT JUMP
    LOAD IS_VARIANT JUMP_UNLESS LOAD GET_PAYLOAD POP
    LOAD IS_VARIANT JUMP_UNLESS LOAD GET_PAYLOAD STORE LOAD STORE
    LOAD JUMP_UNLESS
    LOAD LE_INT JUMP_UNLESS
    LOAD LOAD
    LOAD LOAD ADD_FLOAT
    LOAD LOAD ADD_INT
    LOAD LOAD ADD_INT CONST REM_INT CONST EQ_INT JUMP_UNLESS
    LOAD LOAD ADD_INT RETURN
    LOAD LOAD ADD_INT STORE
    LOAD LOAD ADD_INT STORE JUMP
    LOAD LOAD ADD_INT STORE LOAD LOAD ADD_INT STORE
    LOAD LOAD CONST ADD_INT INDEX_ARRAY CONST ADD_INT LOAD LT_INT JUMP_UNLESS
    LOAD LOAD CONST ADD_INT INDEX_ARRAY CONST ADD_INT STORE
    LOAD LOAD CONST DIV_INT CONST REM_INT INDEX_ARRAY STORE
    LOAD LOAD DIV_INT LOAD LOAD REM_INT
    LOAD LOAD EQ_INT JUMP_IF
    LOAD LOAD EQ_INT JUMP_UNLESS
    LOAD LOAD GE_INT JUMP_UNLESS
    LOAD LOAD GT_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY
    LOAD LOAD INDEX_ARRAY CONST ADD_INT LOAD LT_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY CONST ADD_INT STORE
    LOAD LOAD INDEX_ARRAY CONST GE_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY CONST LE_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY GET_FIELD
    LOAD LOAD INDEX_ARRAY GET_FIELD CONST GT_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY GET_FIELD CONST LT_INT JUMP_IF
    LOAD LOAD INDEX_ARRAY GET_FIELD LOAD LOAD INDEX_ARRAY GET_FIELD ADD_INT LOAD_OWN LOAD INDEX_OWN
    LOAD LOAD INDEX_ARRAY GET_FIELD LOAD LOAD INDEX_ARRAY GET_FIELD SUB_FLOAT STORE
    LOAD LOAD INDEX_ARRAY GET_FIELD LOAD LOAD MUL_FLOAT ADD_FLOAT LOAD_OWN LOAD INDEX_OWN SET_FIELD
    LOAD LOAD INDEX_ARRAY GET_FIELD LOAD LOAD MUL_FLOAT SUB_FLOAT LOAD_OWN LOAD INDEX_OWN SET_FIELD
    LOAD LOAD INDEX_ARRAY GET_FIELD LOAD MUL_FLOAT STORE
    LOAD LOAD INDEX_ARRAY LOAD GT_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY LOAD LT_INT JUMP_UNLESS
    LOAD LOAD INDEX_ARRAY SHARE
    LOAD LOAD INDEX_ARRAY STORE
    LOAD LOAD LE_INT JUMP_UNLESS
    LOAD LOAD LE_INT JUMP_UNLESS LOAD LOAD INDEX_ARRAY STORE
    LOAD LOAD LE_INT JUMP_UNLESS LOAD STORE
    LOAD LOAD LOAD
    LOAD LOAD LOAD ADD_INT CONST DIV_INT INDEX_ARRAY STORE
    LOAD LOAD LOAD ADD_INT EQ_INT JUMP_IF
    LOAD LOAD LOAD INDEX_ARRAY LOAD LOAD INDEX_ARRAY LOAD INDEX_ARRAY MUL_INT ADD_INT STORE
    LOAD LOAD LOAD MUL_INT ADD_INT STORE JUMP
    LOAD LOAD LOAD SUB_INT EQ_INT JUMP_UNLESS
    LOAD LOAD LT_INT JUMP_UNLESS
    LOAD LOAD LT_INT JUMP_UNLESS LOAD LOAD INDEX_ARRAY STORE
    LOAD LOAD MUL_FLOAT
    LOAD LOAD MUL_FLOAT ADD_FLOAT
    LOAD LOAD MUL_FLOAT LOAD LOAD MUL_FLOAT ADD_FLOAT CONST LE_INT JUMP_UNLESS
    LOAD LOAD MUL_FLOAT LOAD LOAD MUL_FLOAT ADD_FLOAT LOAD LOAD MUL_FLOAT ADD_FLOAT STORE
    LOAD LOAD MUL_FLOAT LOAD LOAD MUL_FLOAT SUB_FLOAT LOAD ADD_FLOAT STORE
    LOAD LOAD MUL_INT
    LOAD LOAD MUL_INT STORE
    LOAD LOAD MUL_INT STORE JUMP
    LOAD LOAD NE_INT JUMP_UNLESS
    LOAD LOAD NE_INT JUMP_UNLESS LOAD CONST ADD_INT STORE
    LOAD LOAD SUB_FLOAT
    LOAD LOAD SUB_INT
    LOAD LOAD SUB_INT STORE
    LOAD LOAD SUB_INT STORE JUMP
    LOAD LOAD SUB_INT STORE LOAD LOAD EQ_INT JUMP_IF
    LOAD LOAD_CELL CONST DIV_INT GT_INT RETURN
    LOAD LOAD_CELL MUL_INT CONST ADD_INT RETURN
    LOAD LT_INT JUMP_UNLESS
    LOAD MUL_FLOAT
    LOAD MUL_INT
    LOAD NE_INT JUMP_UNLESS
    LOAD OK RETURN
    LOAD RETURN
    LOAD SHARE
    LOAD STORE
    LOAD STORE LOAD
    LOAD STORE LOAD CONST ADD_INT STORE JUMP
    LOAD STORE LOAD CONST GT_INT JUMP_UNLESS CONST JUMP
    LOAD STORE LOAD LOAD
    LOAD STORE LOAD LOAD INDEX_ARRAY LOAD_OWN LOAD SET_INDEX
    LOAD STORE LOAD LOAD_OWN LOAD SET_INDEX
    LOAD SUB_FLOAT
    LOAD SUB_INT
    LOAD_CELL CONST ADD_INT STORE_CELL
    LOAD_OWN LOAD
    LOAD_OWN LOAD INDEX_OWN
    LOAD_OWN LOAD INDEX_OWN SET_FIELD
    LOAD_OWN LOAD SET_INDEX
    LOAD_OWN LOAD SET_INDEX JUMP
    LOAD_OWN SET_FIELD
    LT_INT JUMP_IF
    LT_INT JUMP_UNLESS
    NEXT SHARE
    NEXT SHARE STORE
    NEXT SHARE STORE LOAD LOAD SHARE
    NEXT SHARE STORE LOAD LOAD SHARE LOAD SHARE
    NEXT SHARE STORE LOAD STORE LOAD IS_VARIANT JUMP_UNLESS
    NEXT STORE
    NEXT STORE CONST LOAD CONST
    NEXT STORE CONST STORE CONST LOAD
    NEXT STORE LOAD
    NEXT STORE LOAD CONST ADD_INT LOAD
    NEXT STORE LOAD CONST LOAD CONST
    NEXT STORE LOAD CONST LOAD CONST REM_INT
    NEXT STORE LOAD LOAD
    NEXT STORE LOAD LOAD INDEX_ARRAY JUMP_UNLESS
    NEXT STORE LOAD LOAD INDEX_ARRAY STORE
    NEXT STORE LOAD STORE
    NE_INT JUMP_IF
    NE_INT JUMP_UNLESS
    OK RETURN
    POP JUMP
    POP LOAD CONST ADD_INT STORE
    POP LOAD CONST ADD_INT STORE JUMP
    POP LOAD LOAD LOAD CONST ADD_INT LOAD SHARE
    SHARE STORE
    STORE JUMP
    STORE LOAD
    STORE LOAD CONST
    STORE LOAD GET_ELEMENT
    STORE LOAD GET_ELEMENT LOAD
    STORE LOAD GET_ELEMENT STORE LOAD STORE
    STORE LOAD IS_OK JUMP_UNLESS LOAD UNWRAP POP JUMP
    STORE LOAD IS_SOME JUMP_UNLESS LOAD UNWRAP STORE
    STORE LOAD IS_VARIANT JUMP_UNLESS LOAD LOAD ADD_INT JUMP
    STORE LOAD LOAD
    STORE LOAD LOAD INDEX_ARRAY GET_FIELD LOAD MUL_FLOAT STORE
    STORE LOAD LOAD SHARE
    STORE LOAD STORE LOAD
    STORE LOAD_OWN LOAD LOAD ADD_INT
"""

FUSED: dict[tuple[str, ...], Row] = {
    **{tuple(run.split()): composed(tuple(run.split())) for run in RUNS.strip().splitlines()},
    **_calls(),
    **_methods(),
    # A local that grows: with no other owner left CPython extends the text where it lies, so that a loop of these is linear.
    ("CONCAT", "STORE"): (
        0,
        "target, = arg\nleft = pop()\nif (len(left) + len(tos)) * 4 > limits.surely:\n    check_concat(left, tos)\n"
        "if locs[target] is left:\n    locs[target] = None\nleft += tos\nlocs[target] = left\ntos = pop()\n",
    ),
}
