"""The opcode table: one row per opcode. Encoder, decoder, verifier, disassembler, assembler, interpreter loop and reference page
are computed from it (V-2.1).

A row is `name | operand kind | stack effect | flow | sentence`. The stack effect names what is popped and pushed,
deepest first; a starred name takes the operand's count (V-2.2): the number itself for a count, the parameters of a
function, the arguments of a method or builtin, the fields of a type, the message and fields of an error, the payload of a
variant. `FLOWS` says where control goes.

Hands on `OPCODES` (by number), `BY_NAME`, `Opcode` and `OPCODE_SET_VERSION` to nearly all of `vm/`, to code generation, and to
what of the runtime, the API and the command line reads code, `FLOWS` to the reference page, and to the verifier one column per
question it asks (`POPS` to `ENDS_BLOCK`), some of which code generation and the translated tier read too. What an opcode does
stands in `vm/interp/ops.py` and `vm/interp/template.py`. `CONTRIBUTING.md` says where a new row goes: the number of an opcode is
its place in the table, so a row moves the numbers of those behind it.
"""

from __future__ import annotations

from . import operands as k

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_TABLE = (
    # constants
    ("CONST", k.CONST, "-- value", "next", "push a constant"),
    ("INT", k.COUNT, "-- int", "next", "push a small non-negative Int"),
    ("NIL", k.NONE, "-- nil", "next", "push nil"),
    ("TRUE", k.NONE, "-- bool", "next", "push true"),
    ("FALSE", k.NONE, "-- bool", "next", "push false"),
    ("NONE", k.NONE, "-- option", "next", "push None"),
    # the operand stack
    ("POP", k.NONE, "value --", "next", "drop the top value"),
    ("DUP", k.NONE, "value -- value value", "next", "repeat the top value"),
    ("SWAP", k.NONE, "a b -- b a", "next", "exchange the two top values"),
    ("DROP", k.COUNT, "any* --", "next", "drop that many values, iterators included"),
    ("SLIDE", k.COUNT, "any* value -- value", "next", "drop that many values below the top, iterators included"),
    # variables
    ("LOAD", k.LOCAL, "-- value", "next", "push a local"),
    ("STORE", k.LOCAL, "value --", "next", "assign a local"),
    ("NEW_CELL", k.CELL, "--", "next", "put a fresh cell in place: a captured variable begins its life"),
    ("LOAD_CELL", k.CELL, "-- value", "next", "push the value of a captured variable"),
    ("STORE_CELL", k.CELL, "value --", "next", "assign a captured variable"),
    ("SHARE", k.NONE, "value -- value", "next", "mark a place's value as shared before it is bound elsewhere (V-5.7)"),
    # places
    ("LOAD_OWN", k.LOCAL, "-- container", "next", "push a local container for writing, copied first if shared"),
    ("CELL_OWN", k.CELL, "-- container", "next", "push a captured container for writing, copied if shared"),
    ("FIELD_OWN", k.FIELD, "object -- container", "next", "push a field's container for writing, copied if shared"),
    ("MEMBER_OWN", k.NAME, "object -- container", "next", "the same for a member found by name"),
    ("INDEX_OWN", k.NONE, "object index -- container", "next", "the same for an element"),
    ("SET_FIELD", k.FIELD, "value object --", "next", "write a field of an owned struct"),
    ("SET_MEMBER", k.NAME, "value object --", "next", "write a member by name"),
    ("SET_INDEX", k.NONE, "value object index --", "next", "write an element of an owned Array or Map"),
    ("SET_ELEMENT", k.COUNT, "value tuple -- tuple", "next", "a tuple with one element replaced"),
    ("SET_PART", k.NONE, "value object index -- object", "next", "write an element behind Any; a tuple is replaced (L-5.5.1)"),
    # arithmetic
    ("ADD_INT", k.NONE, "a b -- sum", "next", "Int + Int, P002 outside 64 bits"),
    ("SUB_INT", k.NONE, "a b -- difference", "next", "Int - Int, P002 outside 64 bits"),
    ("MUL_INT", k.NONE, "a b -- product", "next", "Int * Int, P002 outside 64 bits"),
    ("DIV_INT", k.NONE, "a b -- quotient", "next", "Int / Int, truncating; P003 for zero"),
    ("REM_INT", k.NONE, "a b -- rest", "next", "Int % Int with the sign of the left side; P003 for zero"),
    ("NEG_INT", k.NONE, "a -- negated", "next", "-Int, P002 outside 64 bits"),
    ("ADD_FLOAT", k.NONE, "a b -- sum", "next", "Float + Float"),
    ("SUB_FLOAT", k.NONE, "a b -- difference", "next", "Float - Float"),
    ("MUL_FLOAT", k.NONE, "a b -- product", "next", "Float * Float"),
    ("ADD", k.NONE, "a b -- sum", "next", "generic +"),
    ("SUB", k.NONE, "a b -- difference", "next", "generic -"),
    ("MUL", k.NONE, "a b -- product", "next", "generic *"),
    ("DIV", k.NONE, "a b -- quotient", "next", "generic /, also Float / Float"),
    ("REM", k.NONE, "a b -- rest", "next", "generic %, also Float % Float"),
    ("POW", k.NONE, "a b -- power", "next", "generic **"),
    ("NEG", k.NONE, "a -- negated", "next", "generic unary -"),
    ("NOT", k.NONE, "a -- bool", "next", "logical not, P007 unless Bool"),
    ("CONCAT", k.NONE, "a b -- text", "next", "String + String"),
    ("JOIN", k.COUNT, "parts* -- text", "next", "Display texts of the parts, joined: a string with holes"),
    # comparison
    ("EQ", k.NONE, "a b -- bool", "next", "structural equality"),
    ("NE", k.NONE, "a b -- bool", "next", "structural inequality"),
    ("LT", k.NONE, "a b -- bool", "next", "generic <"),
    ("LE", k.NONE, "a b -- bool", "next", "generic <="),
    ("GT", k.NONE, "a b -- bool", "next", "generic >"),
    ("GE", k.NONE, "a b -- bool", "next", "generic >="),
    ("EQ_INT", k.NONE, "a b -- bool", "next", "Int or String equality"),
    ("NE_INT", k.NONE, "a b -- bool", "next", "Int or String inequality"),
    ("LT_INT", k.NONE, "a b -- bool", "next", "Int <"),
    ("LE_INT", k.NONE, "a b -- bool", "next", "Int <="),
    ("GT_INT", k.NONE, "a b -- bool", "next", "Int >"),
    ("GE_INT", k.NONE, "a b -- bool", "next", "Int >="),
    # conversions and tests
    ("INT_TO_FLOAT", k.NONE, "a -- float", "next", "nearest Float of an Int"),
    ("CHECK", k.TYPE, "value -- value", "next", "check a dynamic value shallowly, Int to Float if asked (L-3.3.3)"),
    ("CHECK_PAYLOAD", k.TYPE, "value -- value", "next", "the same for the payload of emit<T>, P415 (O-5.24)"),
    ("CAST", k.TYPE, "value -- value", "next", "`as`, P008 (L-3.5)"),
    ("IS", k.TYPE, "value -- bool", "next", "run-time type test, as in catch clauses"),
    ("IS_VARIANT", k.VARIANT, "value -- bool", "next", "is this enum value of that variant"),
    ("IS_ERROR", k.ERROR, "value -- bool", "next", "is this an error of that family and variant, descendants included"),
    ("IS_NIL", k.NONE, "value -- bool", "next", "is it nil"),
    ("IS_SOME", k.NONE, "value -- bool", "next", "is it Some"),
    ("IS_OK", k.NONE, "value -- bool", "next", "is it Ok"),
    ("IS_ERR", k.NONE, "value -- bool", "next", "is it Err"),
    ("IS_ABSENT", k.NONE, "value -- bool", "next", "is it nil or None (the left side of ??)"),
    # making values
    ("SOME", k.NONE, "value -- option", "next", "Some(value)"),
    ("WRAP", k.NONE, "value -- option", "next", "T to Option<T>: nil becomes None (L-3.3.6)"),
    ("OK", k.NONE, "value -- result", "next", "Ok(value)"),
    ("ERR", k.NONE, "value -- result", "next", "Err(value)"),
    ("UNWRAP", k.NONE, "holder -- value", "next", "payload of Some, Ok or Err; any other value is itself"),
    ("ARRAY", k.COUNT, "items* -- array", "next", "an Array of the items"),
    ("MAP", k.COUNT, "entries* -- map", "next", "a Map of alternating keys and values; later equal keys win"),
    ("TUPLE", k.COUNT, "items* -- tuple", "next", "a tuple"),
    ("RANGE", k.COUNT, "start end -- range", "next", "a range; operand 1 inclusive; nil for an open end"),
    ("STRUCT", k.TYPE, "fields* -- struct", "next", "an instance, fields in declaration order"),
    ("VARIANT", k.VARIANT, "payload* -- enum", "next", "an enum value of that variant around its payload"),
    ("ERROR", k.ERROR, "fields* -- error", "next", "an error value with those fields"),
    ("CLOSURE", k.FUNCTION, "-- closure", "next", "a function value that captures cells of this frame"),
    ("MODEL", k.MODEL, "-- model", "next", "a model handle"),
    ("MEMORY", k.MEMORY, "-- memory", "next", "a memory handle"),
    ("SCHEMA", k.SCHEMA, "-- schema", "next", "a schema handle"),
    ("TOOL", k.TOOL, "-- tool", "next", "a tool handle"),
    # reading parts
    ("GET_FIELD", k.FIELD, "object -- value", "next", "field of a struct by position"),
    ("GET_MEMBER", k.NAME, "object -- value", "next", "member by name on a dynamic value or Map (L-3.7.1)"),
    ("GET_ERROR", k.NAME, "error -- value", "next", "kind, variant, message or an extra field of any error (L-3.11.14)"),
    ("GET_ELEMENT", k.COUNT, "tuple -- value", "next", "element of a tuple by position"),
    ("GET_PAYLOAD", k.COUNT, "enum -- value", "next", "part of an enum value's payload by position"),
    ("INDEX", k.NONE, "object index -- value", "next", "generic reading by index, key or range"),
    ("INDEX_ARRAY", k.NONE, "array index -- value", "next", "Array by Int, P004"),
    ("LENGTH", k.NONE, "value -- int", "next", "length of an Array, String, Map, tuple or range"),
    # control
    ("JUMP", k.LABEL, "--", "jump", "go on there"),
    ("JUMP_IF", k.LABEL, "bool --", "branch", "go on there if true, P007 unless Bool"),
    ("JUMP_UNLESS", k.LABEL, "bool --", "branch", "go on there if false, P007 unless Bool"),
    ("ITERATE", k.NONE, "iterable -- iterator", "next", "begin a walk over a value (L-5.7.3), P007"),
    ("NEXT", k.LABEL, "iterator -- iterator value", "iterate", "push the next element, or drop the iterator and jump"),
    ("CALL", k.FUNCTION, "args* -- result", "next", "call a function of the image"),
    ("CALL_VALUE", k.COUNT, "callee args* -- result", "next", "call a function value, P015"),
    ("CALL_BUILTIN", k.BUILTIN, "args* -- result", "next", "call a built-in method or function that cannot suspend"),
    ("CALL_METHOD", k.METHOD, "receiver args* -- result", "suspend", "receiver.method(args): exec_call_method (V-6.2)"),
    ("CHANGES_SELF", k.METHOD, "receiver -- bool", "next", "has it a method of the program by that name with `mut self`"),
    ("CALL_INOUT", k.METHOD, "receiver args* -- pair", "suspend", "call such a method: its result and the new receiver"),
    ("RETURN", k.NONE, "value --", "stop", "leave the function with a value"),
    ("TRY", k.NONE, "result -- value", "raise", "`?`: payload of Ok or Some; Err and None leave (L-5.11.1)"),
    ("THROW", k.NONE, "error --", "stop", "go to the handler in range, else return Err(error)"),
    ("POP_TRY", k.NONE, "value --", "raise", "drop a statement's value; an Err is thrown (L-5.12.2)"),
    ("FAIL_MATCH", k.NONE, "value --", "stop", "P009"),
    ("FAIL_LENGTH", k.COUNT, "value --", "stop", "P010: an array pattern of that length"),
    # tasks
    ("START", k.FUNCTION, "args* -- task", "next", "start a child task with copies of the variables it captures (O-6.8)"),
    ("AWAIT_ALL", k.COUNT, "tasks* -- tuple", "suspend", "wait for all of them (O-6.2)"),
    ("RACE", k.COUNT, "tasks* -- value", "suspend", "wait for the first to end, cancel the others (O-6.4)"),
    ("PARALLEL", k.FUNCTION, "iterable limit -- array", "suspend", "a child task per element, at most limit at a time (O-6.3)"),
    ("AWAIT", k.NONE, "value -- value", "suspend", "the value of a task; any other value is itself (L-9.1.2)"),
    ("SETTLE", k.NONE, "value -- value", "suspend", "before a return: wait for the tasks started here, or cancel them (O-6.14)"),
    # the world
    ("EMIT", k.NONE, "channel payload --", "suspend", "one emit"),
    ("PRINT", k.COUNT, "values* --", "suspend", "print(values)"),
    ("PRINTLN", k.COUNT, "values* --", "suspend", "println(values)"),
    ("CONFIGURE", k.CONFIG, "value --", "next", "give a declaration a field that is no constant (O-0.3)"),
    ("CALL_HOST", k.HOST, "args* -- result", "suspend", "call a built-in function that the host performs (V-6.3)"),
    ("PARSE_AS", k.TYPE, "text defaults -- result holes", "next", "json::parse_as: a Result, and the fields that take a default"),
    ("FILL", k.NONE, "hole value --", "next", "put the default of a field in its place"),
    ("ASK", k.NONE, "channel payload timeout -- reply", "suspend", "an awaited emit: the host's answer as a Result (O-5.25)"),
    ("FLUSH", k.NONE, "--", "suspend", "deliver buffered emits (O-5.28)"),
    # stores
    ("HASHMAP", k.HASHMAP, "-- hashmap", "next", "a hashmap handle"),
    ("LEDGER", k.LEDGER, "-- ledger", "next", "a ledger handle"),
    # pipelines
    ("PIPELINE", k.PIPELINE, "-- pipeline", "next", "a pipeline handle"),
    # agents
    ("AGENT", k.AGENT, "-- agent", "next", "an agent handle"),
    # servers
    ("MCP", k.MCP, "-- server", "next", "a handle of an MCP server"),
    # errors that are converted
    ("ERR_FROM", k.NONE, "failed error -- result", "next", "Err(error) that has come the way of the Err beneath"),
    # conversions that may fail
    ("TRY_CAST", k.TYPE, "value -- result", "next", "`as` where a `try` takes its failure: Ok, or Err(RuntimeError) (L-3.5.8)"),
    # answers
    ("ASK_FOR", k.TYPE, "channel payload timeout -- reply", "suspend", "ASK for an answer of that type, else an Err (O-5.35)"),
    # moves
    ("MOVE", k.LOCAL, "-- value", "next", "push a local whose value is not read there again, so that it needs no mark (V-5.7)"),
    ("TAKE_FIELD", k.FIELD, "object -- value", "next", "a field that is not read there again: marked if its struct is"),
    ("TAKE_INDEX", k.NONE, "object index -- value", "next", "an element that is not read there again: marked if its holder is"),
    ("TAKE_ENTRY", k.NONE, "map key -- option", "next", "the same for what `get` of a Map finds"),
    # embedders and indexes
    ("EMBEDDER", k.EMBEDDER, "-- embedder", "next", "a handle of an embedder"),
    ("DOCUMENTS", k.INDEX, "-- index", "next", "a handle of an index of documents"),
    # functions of Python
    ("CALL_EXTERN", k.EXTERN, "args* -- result", "suspend", "call a function of Python, which the host performs (P-1.3)"),
)  # fmt: skip

FLOWS = {
    "next": "goes on with the next instruction",
    "jump": "goes on at its operand",
    "branch": "goes on at its operand or with the next instruction",
    "iterate": "goes on with the next instruction, or at its operand with the iterator popped",
    "stop": "leaves the function, or goes to the handler in range",
    "raise": "goes on with the next instruction, or to the handler in range",
    "suspend": "goes on with the next instruction, perhaps after the host has answered (V-6.3)",
}


class Opcode:
    """One row. `number`: its place in the table. `kind`: what its operand is (`operands.py`). `pops`, `pushes`: the names before
    and after `--` in the text `stack_effect`, deepest first, of which a trailing `*` marks the counted group, and `starred` says
    whether there is one. `flow`: a key of FLOWS. `doc`: the sentence."""

    __slots__ = ("number", "name", "kind", "stack_effect", "pops", "pushes", "flow", "doc", "starred")

    def __init__(self, number: int, name: str, kind: k.OperandKind, stack_effect: str, flow: str, doc: str) -> None:
        before, _, after = stack_effect.partition("--")
        self.number = number
        self.name = name
        self.kind = kind
        self.stack_effect = stack_effect
        self.pops = tuple(before.split())
        self.pushes = tuple(after.split())
        self.flow = flow
        self.doc = doc
        self.starred = any(name.endswith("*") for name in self.pops)

    def effect(self, count: int) -> tuple[int, int]:
        """Return how many values are popped and how many pushed, where a starred name stands for `count` values."""
        return len(self.pops) + (count - 1 if self.starred else 0), len(self.pushes)

    def __repr__(self) -> str:
        return f"<{self.name}>"


OPCODES: tuple[Opcode, ...] = tuple(Opcode(number, *row) for number, row in enumerate(_TABLE))
BY_NAME: dict[str, Opcode] = {op.name: op for op in OPCODES}
OPCODE_SET_VERSION = 1  # an image of another one is refused (V003)


# ----------------------------------------------------------------
# What the verifier needs of each opcode, read off its stack effect, operand kind and flow (V-2.2): no second list
# of opcodes.
#
# A popped `iterator` is one that ITERATE pushed; `any*` takes iterators and values alike; every other name is a value.
# A row with a local or cell operand reads it if it pushes, writes it if it pops, and makes it if it does neither.

# What an instruction does beside popping and pushing values: nothing, read or write a local, pop iterators and values alike, push
# an iterator, go on with the one on top, make a cell, read or write one, take cells into a closure or task.
PLAIN, READ_SLOT, WRITE_SLOT, MIXED, BEGIN_WALK, WALK, MAKE_CELL, USE_CELL, CAPTURE = range(9)


def role(op: Opcode) -> int:
    """Return the role of an opcode for the verifier: one of the numbers above."""
    if op.kind is k.LOCAL:
        return WRITE_SLOT if op.pops else READ_SLOT
    if op.kind is k.CELL:
        return USE_CELL if op.pops or op.pushes else MAKE_CELL
    if op.kind is k.FUNCTION:
        return PLAIN if op.pushes == ("result",) else CAPTURE
    if "any*" in op.pops:
        return MIXED
    if "iterator" in op.pops:
        return WALK
    return BEGIN_WALK if "iterator" in op.pushes else PLAIN


def throws(op: Opcode) -> bool:
    """Return whether an opcode may go to a handler: those of flow `raise`, and a `stop` that pops an error."""
    return op.flow == "raise" or (op.flow == "stop" and op.pops == ("error",))


def _column(value: Callable[[Opcode], int]) -> tuple[int, ...]:
    return tuple(value(op) for op in OPCODES)


# Columns, by number of the opcode: how many values it pops beside the counted group, how many it pushes, whether it has such a
# group, its role; then whether its name, flow or operand kind is of the sort that the column is called after.
POPS = _column(lambda op: op.effect(0)[0])
PUSHES = _column(lambda op: op.effect(0)[1])
STARRED = _column(lambda op: op.starred)
ROLE = _column(role)
THROWS = _column(throws)
RETURNS = _column(lambda op: op.name == "RETURN")  # the one that hands a value to the caller
FALLS_THROUGH = _column(lambda op: op.flow not in ("jump", "stop"))
SUSPENDS = _column(lambda op: op.flow == "suspend")
JUMPS = _column(lambda op: op.kind is k.LABEL)
ENDS_BLOCK = _column(lambda op: op.flow in ("jump", "branch", "iterate", "stop"))
