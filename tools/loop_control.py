"""Meanings of the opcodes that move between instructions, frames or tasks, as text for the generated loop.

Variables of the loop: `tos` top of stack, `st` the rest of the task's operand stack with `push` and `pop`, `ins` the next node,
`arg` the linked operand, `locs`, `cells`, `code` of the running frame, `frames` with `push_frame` and `pop_frame`, `fuel` left in
this chunk, `limit` of call depth. A text ends in `continue`, `return` or `raise`, or falls through to `continue`.
"""

from __future__ import annotations

JUMP_THERE = """\
ins, cost = arg
fuel -= cost
if fuel < 0:
    fuel = machine.refill(fuel)
"""

ENTER = """\
if len(frames) >= limit:
    raise machine.too_deep()
push_frame((ins, locs, cells, code))
code = callee
ins = code.entry
fuel -= code.cost
if fuel < 0:
    fuel = machine.refill(fuel)
"""

LEAVE = """\
ins, locs, cells, code = pop_frame()
"""

# `tos` is the error; arg is (handler node or None, its cost, values to drop beneath, None leaves as None)
RAISE = """\
target, cost, drop, _ = arg
if drop:
    del st[len(st) - drop:]
if target is None:
    tos = Err(tos)
    ins, locs, cells, code = pop_frame()
    continue
ins = target
fuel -= cost
if fuel < 0:
    fuel = machine.refill(fuel)
continue
"""

SUSPEND = """\
task.state = (ins, locs, cells, code, tos)
machine.fuel += fuel
return
"""

# what the instruction takes off the stack, as `new`
COUNTED = """\
push(tos)
new = st[len(st) - COUNT:]
del st[len(st) - COUNT:]
"""

# `value` is what the instruction gives, unless it has to wait
PERHAPS_SUSPEND = """\
if value is SUSPENDED:
    tos = pop()
    task.state = (ins, locs, cells, code, tos)
    machine.fuel += fuel
    return
tos = value
"""

CONTROL: dict[str, str] = {
    "JUMP": JUMP_THERE,
    "JUMP_IF": """\
if tos is False:
    tos = pop()
    continue
if tos is not True:
    raise not_bool(tos)
tos = pop()
"""
    + JUMP_THERE,
    "JUMP_UNLESS": """\
if tos is True:
    tos = pop()
    continue
if tos is not False:
    raise not_bool(tos)
tos = pop()
"""
    + JUMP_THERE,
    "NEXT": """\
for value in tos:
    push(tos)
    tos = value
    break
else:
    tos = pop()
    ins, cost = arg
    fuel -= cost
    if fuel < 0:
        fuel = machine.refill(fuel)
""",
    "DROP": """\
if arg:
    if arg > 1:
        del st[len(st) - arg + 1:]
    tos = pop()
""",
    "SLIDE": """\
if arg:
    del st[len(st) - arg:]
""",
    "CALL": """\
callee = arg
n = callee.argc
if n == 1:
    new = [tos]
    tos = pop()
elif n:
    push(tos)
    new = st[-n:]
    del st[-n:]
    tos = pop()
else:
    new = []
"""
    + ENTER
    + """\
locs = new + code.blank if code.blank else new
cells = [None] * code.cell_count if code.cell_count else NO_CELLS
""",
    "CALL_VALUE": """\
push(tos)
new = st[len(st) - arg:]
del st[len(st) - arg:]
closure = pop()
tos = pop()
if type(closure) is not Closure or closure.function.argc != arg:
    raise bad_call(closure, arg)
callee = closure.function
"""
    + ENTER
    + """\
locs = new + code.blank if code.blank else new
cells = [*closure.cells, *[None] * (code.cell_count - len(closure.cells))]
""",
    "CALL_BUILTIN": """\
body, n = arg
if n == 1:
    tos = body(tos)
elif n == 2:
    tos = body(pop(), tos)
else:
    push(tos)
    new = st[len(st) - n:]
    del st[len(st) - n:]
    tos = body(*new)
""",
    "CALL_HOST": """\
push(tos)
n = arg.argc
new = st[len(st) - n:]
del st[len(st) - n:]
payload = arg.prepare(*new)
tos = pop()
machine.suspend(task, arg.effect, payload)
"""
    + SUSPEND,
    "CALL_METHOD": """\
n = arg.argc
if n == 1:
    new = [tos]
    tos = pop()
elif n:
    push(tos)
    new = st[-n:]
    del st[-n:]
    tos = pop()
else:
    new = []
entry = arg.cache.get(type(tos)) or method_entry(machine, tos, arg)
value = entry(machine, task, tos, arg, new)
if value is SUSPENDED:
    tos = pop()
    task.state = (ins, locs, cells, code, tos)
    machine.fuel += fuel
    return
if type(value) is Invoke:
    tos = pop()
    callee = value.code
    new = value.arguments
"""
    + "".join(f"    {line}\n" for line in ENTER.splitlines())
    + """\
    locs = new + code.blank if code.blank else new
    cells = [*value.cells, *[None] * (code.cell_count - len(value.cells))]
    continue
tos = value
""",
    "CHANGES_SELF": """\
tos = changes_self(machine, tos, arg)
""",
    "CALL_INOUT": """\
push(tos)
n = arg.argc
new = st[len(st) - n:]
del st[len(st) - n:]
value = exec_call_inout(machine, pop(), arg, new)
tos = pop()
callee = value.code
new = value.arguments
"""
    + ENTER
    + """\
locs = new + code.blank if code.blank else new
cells = [None] * code.cell_count if code.cell_count else NO_CELLS
""",
    "RETURN": LEAVE,
    "TRY": """\
kind = type(tos)
if kind is Ok or kind is Some:
    tos = tos.value
    continue
if kind is Err:
    tos = tos.value
elif tos is NONE_VALUE:
    if arg[3] and arg[0] is None:
        if arg[2]:
            del st[len(st) - arg[2]:]
        ins, locs, cells, code = pop_frame()
        continue
    tos = missing_value()
else:
    raise not_fallible(tos)
"""
    + RAISE,
    "THROW": RAISE,
    "POP_TRY": """\
if type(tos) is not Err:
    tos = pop()
    continue
tos = tos.value
"""
    + RAISE,
    "FAIL_MATCH": """\
raise Panic("P009", f"no arm matches {debug(tos)}")
""",
    "FAIL_LENGTH": """\
raise wrong_length(arg, tos)
""",
    "START": COUNTED.replace("COUNT", "arg.argc")
    + """\
tos = machine.start_task(task, arg, new, cells)
""",
    "AWAIT_ALL": COUNTED.replace("COUNT", "arg")
    + """\
value = machine.join(task, new)
"""
    + PERHAPS_SUSPEND,
    "RACE": COUNTED.replace("COUNT", "arg")
    + """\
value = machine.race(task, new)
"""
    + PERHAPS_SUSPEND,
    "PARALLEL": """\
value = machine.parallel(task, arg, cells, pop(), tos)
"""
    + PERHAPS_SUSPEND,
    "AWAIT": """\
value = machine.await_value(task, tos)
"""
    + PERHAPS_SUSPEND,
    "SETTLE": """\
value = machine.settle(task, tos, len(frames))
"""
    + PERHAPS_SUSPEND,
    "EMIT": """\
payload = tos
channel = pop()
tos = pop()
machine.emit(task, channel, payload)
"""
    + SUSPEND,
    "ASK": """\
timeout = tos
payload = pop()
channel = pop()
tos = pop()
machine.ask(task, channel, payload, timeout)
"""
    + SUSPEND,
    "FLUSH": """\
machine.flush(task)
"""
    + SUSPEND,
    "PRINT": """\
push(tos)
new = st[len(st) - arg:]
del st[len(st) - arg:]
tos = pop()
machine.print(task, new, "")
"""
    + SUSPEND,
    "PRINTLN": """\
push(tos)
new = st[len(st) - arg:]
del st[len(st) - arg:]
tos = pop()
machine.print(task, new, "\\n")
"""
    + SUSPEND,
    "CONFIGURE": """\
machine.configure(arg, tos)
tos = pop()
""",
    # opcodes of the linked form only, never in an image
    "LINK": """\
ins = arg.home.link(arg)
fuel -= arg.cost
if fuel < 0:
    fuel = machine.refill(fuel)
""",
    # what has run often enough is run by the translated tier: `value` is a tuple of what a function gives, False when the
    # interpreter goes on, None when frames of the interpreter stand for those of translated code
    "ENTER": """\
arg.hits += 1
if arg.hits > machine.calls_before:
    push(tos)
    machine.fuel, fuel = fuel, 0
    value = machine.translated_call(task, arg, locs, cells, limit - len(frames))
    machine.fuel, fuel = 0, machine.fuel
    if value is False:
        tos = pop()
    elif value is None:
        ins, locs, cells, code, tos = task.state
        if machine.raised is not None:
            raise machine.take_raised()
    else:
        tos = value[0]
        ins, locs, cells, code = pop_frame()
""",
    "LOOP": """\
arg.hits += 1
if arg.hits > machine.loops_before:
    push(tos)
    new = st[len(st) - arg.depth:] if arg.depth else []
    del st[len(st) - len(new):]
    machine.fuel, fuel = fuel, 0
    value = machine.translated_loop(task, arg, locs, cells, new, limit - len(frames))
    machine.fuel, fuel = 0, machine.fuel
    if value is False:
        st += new
        tos = pop()
    elif value is None:
        ins, locs, cells, code, tos = task.state
        if machine.raised is not None:
            raise machine.take_raised()
    else:
        tos = value[0]
        ins, locs, cells, code = pop_frame()
""",
    "HALT": """\
task.finish(tos)
machine.fuel += fuel
return
""",
}

LINKED_ONLY = ("LINK", "ENTER", "LOOP", "HALT")

# How often each opcode of the linked form runs, in parts per ten thousand over benches/programs, every program counting alike
# (`python benches/opcode_counts.py --weights`); the search tree is balanced by these. Opcodes that are not named weigh 1.
WEIGHTS = {
    "LOOP": 20, "ENTER": 20,
    "JUMP": 962, "NEXT__STORE": 423, "CALL": 336, "CALL_BUILTIN": 256,
    "LOAD__CONST__REM_INT__CONST__EQ_INT__JUMP_UNLESS": 198, "LOAD_OWN__SWAP__CALL_BUILTIN__POP__JUMP": 187,
    "LOAD__CONST__ADD_INT__STORE__JUMP": 172, "JOIN": 150,
    "LOAD__IS_VARIANT__JUMP_UNLESS__LOAD__GET_PAYLOAD__STORE__LOAD__STORE": 141,
    "LOAD__CONST__LT_INT__JUMP_UNLESS__LOAD__RETURN": 136, "LOAD__CONST__SUB_INT": 136,
    "LOAD__LOAD__LT_INT__JUMP_UNLESS": 133, "LOAD": 130, "NEXT__STORE__LOAD__LOAD": 127,
    "LOAD__LOAD__LOAD__INDEX_ARRAY__LOAD__LOAD__INDEX_ARRAY__LOAD__INDEX_ARRAY__MUL_INT__ADD_INT__STORE": 123,
    "NEXT__STORE__LOAD__LOAD__INDEX_ARRAY__STORE": 119,
    "LOAD__LOAD__ADD_INT__CONST__REM_INT__CONST__EQ_INT__JUMP_UNLESS": 117, "LOAD__CALL_BUILTIN": 117,
    "LOAD__CONST__NE_INT__JUMP_UNLESS": 115, "RETURN": 108, "STORE__JUMP": 100, "CALL_VALUE": 98, "TUPLE": 93,
    "ADD_INT__STORE__JUMP": 86, "NEXT__STORE__LOAD__STORE": 84, "NEXT__SHARE__STORE__LOAD__LOAD__SHARE": 82,
    "LOAD__LOAD__MUL_FLOAT__LOAD__LOAD__MUL_FLOAT__ADD_FLOAT__CONST__LE_INT__JUMP_UNLESS": 81, "LOAD_OWN": 80,
    "LOAD__LOAD__MUL_FLOAT__LOAD__LOAD__MUL_FLOAT__SUB_FLOAT__LOAD__ADD_FLOAT__STORE": 79,
    "CONST__LOAD__MUL_FLOAT__LOAD__MUL_FLOAT__LOAD__ADD_FLOAT__STORE": 79,
    "LOAD__STORE__LOAD__CONST__ADD_INT__STORE__JUMP": 79, "LOAD__LOAD__SUB_INT__STORE": 78, "TRY": 76,
    "LOAD__CONST__DIV_INT__STORE__JUMP": 76,
    "LOAD__GET_FIELD__LOAD__CONST__REM_INT__ADD_INT__CONST__SUB_INT__LOAD_OWN__SET_FIELD": 75,
    "LOAD__GET_FIELD__CONST__ADD_INT__LOAD_OWN__SET_FIELD": 75,
    "LOAD__GET_FIELD__CONST__REM_INT__CONST__EQ_INT__JUMP_UNLESS": 75, "LOAD__GET_FIELD__CONST__GT_INT__JUMP_UNLESS": 75,
    "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__LOAD__LOAD__INDEX_ARRAY__GET_FIELD__ADD_INT__LOAD_OWN__LOAD__INDEX_OWN": 74,
    "SET_FIELD": 74, "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__CONST__LT_INT__JUMP_IF": 74,
    "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__CONST__GT_INT__JUMP_UNLESS": 74, "UNWRAP": 72, "DUP__IS_ABSENT__JUMP_UNLESS": 72,
    "ADD_INT__RETURN": 68, "NEXT__STORE__LOAD__CONST__LOAD__CONST": 68,
    "NEXT__STORE__LOAD__CONST__LOAD__CONST__REM_INT": 68, "CONCAT": 68, "LOAD__LOAD__LE_INT__JUMP_UNLESS__LOAD__STORE": 66,
    "FALSE__LOAD_OWN__LOAD__SET_INDEX__LOAD__LOAD__ADD_INT__STORE": 65,
    "LOAD__LOAD__NE_INT__JUMP_UNLESS__LOAD__CONST__ADD_INT__STORE": 62,
    "LOAD__LOAD__CONST__ADD_INT__INDEX_ARRAY__CONST__ADD_INT__LOAD__LT_INT__JUMP_UNLESS": 62,
    "LOAD__LOAD__INDEX_ARRAY__CONST__ADD_INT__LOAD__LT_INT__JUMP_UNLESS": 62, "POP__LOAD__CONST__ADD_INT__STORE__JUMP": 62,
    "LOAD__STORE": 61, "NEXT": 59, "STORE": 57, "ITERATE": 57, "STORE__LOAD__GET_ELEMENT__STORE__LOAD__STORE": 56,
    "LOAD__GET_ELEMENT__STORE__LOAD__STORE__JUMP": 56, "LOAD__STORE__LOAD__LOAD": 55, "STORE__LOAD__CONST": 53,
    "LOAD__LOAD__SUB_INT__STORE__LOAD__LOAD__EQ_INT__JUMP_IF": 52,
    "LOAD__CONST__MUL_INT__CONST__ADD_INT__CONST__REM_INT__STORE": 49,
    "LOAD__LOAD__INDEX_ARRAY__LOAD__GT_INT__JUMP_UNLESS": 47, "LOAD__LOAD__INDEX_ARRAY__LOAD__LT_INT__JUMP_UNLESS": 46,
    "RANGE": 45, "NEXT__STORE__LOAD__LOAD__INDEX_ARRAY__JUMP_UNLESS": 43, "GT_INT": 43, "LOAD__CONST": 43,
    "LOAD_OWN__CALL_BUILTIN": 43, "TRUE__JUMP_UNLESS__LOAD__LOAD__INDEX_ARRAY__SHARE__STORE": 42,
    "LOAD__CONST__ADD_INT__STORE__LOAD__STORE": 42, "LOAD__STORE__LOAD": 42,
    "LOAD__LOAD__LOAD__ADD_INT__EQ_INT__JUMP_IF": 42, "CONST__ADD_INT__LOAD_OWN__LOAD__SET_INDEX": 41, "INT": 41,
    "LOAD__LOAD__CONST__DIV_INT__CONST__REM_INT__INDEX_ARRAY__STORE": 40,
    "LOAD__GET_ELEMENT__LOAD__GET_ELEMENT__LOAD__GET_ELEMENT__ADD_INT__CONST__REM_INT": 40,
    "STORE__LOAD__GET_ELEMENT__LOAD": 40, "LOAD__LOAD__DIV_INT__LOAD__LOAD__REM_INT": 40,
    "LOAD__LOAD__ADD_INT__STORE__LOAD__LOAD__ADD_INT__STORE": 40, "LOAD__LOAD__LOAD__MUL_INT__ADD_INT__STORE__JUMP": 39,
    "LOAD__CONST__EQ_INT__JUMP_UNLESS": 39, "MUL_FLOAT": 37, "LOAD__LOAD__LOAD__SUB_INT__EQ_INT__JUMP_UNLESS": 37,
    "CONST__LOAD__MUL_INT__CONST__ADD_INT__STORE": 37, "JUMP_UNLESS__LOAD": 36, "LOAD__IS_VARIANT__JUMP_UNLESS": 36,
    "STORE__LOAD": 36, "LOAD__LOAD__INDEX_ARRAY__CONST__GE_INT__JUMP_UNLESS": 35,
    "LOAD__LOAD_CELL__MUL_INT__CONST__ADD_INT__RETURN": 33, "LOAD__CONST__REM_INT__CONST__EQ_INT__RETURN": 33,
    "JUMP_UNLESS__LOAD_OWN__LOAD__SHARE": 33, "ADD_INT__STORE__LOAD__CONST__ADD_INT__STORE__JUMP": 33,
    "NEXT__STORE__LOAD": 32, "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__LOAD__LOAD__INDEX_ARRAY__GET_FIELD__SUB_FLOAT__STORE": 31,
    "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__LOAD__LOAD__MUL_FLOAT__SUB_FLOAT__LOAD_OWN__LOAD__INDEX_OWN__SET_FIELD": 31,
    "LOAD__INDEX_ARRAY__GET_FIELD__LOAD__LOAD__MUL_FLOAT__ADD_FLOAT__LOAD_OWN__LOAD__INDEX_OWN__SET_FIELD": 31,
    "LOAD__CONST__EQ_INT__JUMP_UNLESS__LOAD__CONST__ADD_INT__STORE": 31,
    "LOAD__CONST__GE_INT__JUMP_UNLESS__LOAD__CONST__LE_INT__JUMP_UNLESS": 30,
    "LOAD__LOAD__LT_INT__JUMP_UNLESS__LOAD__LOAD__INDEX_ARRAY__STORE": 29, "CONST": 29, "LOAD__OK__RETURN": 28,
    "CONST__MUL_INT__OK__RETURN": 28, "LOAD__LOAD__INDEX_ARRAY__CONST__LE_INT__JUMP_UNLESS": 28,
    "LOAD__LOAD__INDEX_ARRAY__GET_FIELD": 27, "NEXT__STORE__TRUE__STORE__CONST__LOAD": 27,
    "LOAD__LOAD__LE_INT__JUMP_UNLESS": 27, "LOAD__CONST__SUB_INT__STORE__JUMP": 27, "CALL_BUILTIN__POP": 26,
    "LOAD__IS_VARIANT__JUMP_UNLESS__LOAD": 25, "LOAD__CONST__REM_INT__STORE__LOAD__CONST__EQ_INT__JUMP_UNLESS": 25,
    "STORE__LOAD__IS_VARIANT__JUMP_UNLESS__LOAD__LOAD__ADD_INT__JUMP": 25,
    "LOAD__CONST__LT_INT__JUMP_UNLESS__LOAD__OK__JUMP": 25, "STORE__LOAD__IS_OK__JUMP_UNLESS__LOAD__UNWRAP__POP__JUMP": 25,
    "CONST__CONST": 22, "LOAD_OWN__SWAP__CALL_BUILTIN__POP": 22, "ADD_FLOAT": 21, "JUMP_UNLESS": 21,
    "LOAD_OWN__LOAD__INDEX_OWN__SET_FIELD": 21, "CONST__JUMP": 21,
    "LOAD__LOAD__LE_INT__JUMP_UNLESS__LOAD__LOAD__INDEX_ARRAY__STORE": 20, "FALSE__STORE": 19, "DROP": 19,
    "NEXT__SHARE__STORE": 19, "LOAD__LOAD__INDEX_ARRAY": 18,
    "LOAD__STORE__LOAD__LOAD__INDEX_ARRAY__LOAD_OWN__LOAD__SET_INDEX": 18,
    "LOAD__STORE__LOAD__LOAD_OWN__LOAD__SET_INDEX": 18, "LOAD__CONST__ADD_INT__STORE__LOAD__CONST__SUB_INT__STORE": 18,
    "POP__JUMP": 18, "DIV_INT": 17, "LOAD_CELL__CONST__ADD_INT__STORE_CELL": 16,
    "LOAD__LOAD_CELL__CONST__DIV_INT__GT_INT__RETURN": 16, "NEXT__SHARE__STORE__LOAD__LOAD__SHARE__LOAD__SHARE": 16,
    "LOAD__LOAD__ADD_INT__RETURN": 16, "VARIANT": 16, "LOAD__LOAD__LOAD": 16, "DIV": 15, "INDEX_ARRAY__GET_FIELD": 15,
    "LOAD__STORE__LOAD__CONST__GT_INT__JUMP_UNLESS__CONST__JUMP": 14,
    "LOAD__IS_VARIANT__JUMP_UNLESS__LOAD__CONST__MUL_INT__JUMP": 14, "CONST__REM_INT": 14, "LOAD__LOAD": 13, "JUMP_IF": 13,
    "POP": 12, "CONST__SUB_INT": 12, "LOAD__RETURN": 12, "NEXT__STORE__CONST__LOAD__CONST": 11,
    "LOAD__LOAD__INDEX_ARRAY__CONST__ADD_INT__STORE": 11,
    "LOAD__LOAD__CONST__ADD_INT__INDEX_ARRAY__CONST__ADD_INT__STORE": 11,
    "LOAD__LOAD__MUL_FLOAT__LOAD__LOAD__MUL_FLOAT__ADD_FLOAT__LOAD__LOAD__MUL_FLOAT__ADD_FLOAT__STORE": 10,
    "STORE__LOAD__LOAD__INDEX_ARRAY__GET_FIELD__LOAD__MUL_FLOAT__STORE": 10,
    "LOAD__LOAD__INDEX_ARRAY__GET_FIELD__LOAD__MUL_FLOAT__STORE": 10, "LOAD__CONST__CONST": 10,
    "JUMP_UNLESS__LOAD__CONST": 10, "ERROR": 9, "THROW": 9, "DUP": 9, "IS": 9,
    "JUMP_UNLESS__STORE__LOAD__CONST__ADD_INT__STORE__LOAD__LOAD": 9, "GET_MEMBER": 9, "MUL_INT": 9, "LOAD__ADD_INT": 9,
    "LOAD__SHARE": 9, "LOAD__CONST__ADD_INT__STORE": 9, "LOAD__IS_VARIANT__JUMP_UNLESS__LOAD__GET_PAYLOAD__POP": 9,
    "NEXT__STORE__LOAD__CONST__ADD_INT__LOAD": 9, "LOAD__GET_FIELD": 8,
    "STORE__LOAD__IS_SOME__JUMP_UNLESS__LOAD__UNWRAP__STORE": 7,
    "LOAD__LOAD__LOAD__ADD_INT__CONST__DIV_INT__INDEX_ARRAY__STORE": 7, "STORE__LOAD__LOAD": 7, "LOAD_OWN__LOAD": 7,
    "STORE__LOAD_OWN__LOAD__LOAD__ADD_INT": 7, "LOAD_OWN__LOAD__SET_INDEX__JUMP": 7, "LOAD__LOAD__ADD_INT__STORE": 6,
    "SHARE__STORE": 6, "ADD_INT__STORE": 6, "NONE": 5, "SUB_FLOAT": 5,
    "LOAD__GET_FIELD__LOAD__GET_FIELD__MUL_INT__CONST__DIV_INT__RETURN": 5, "ADD_INT": 5, "LOAD_OWN__SET_FIELD": 5,
    "SOME": 4, "LOAD__CONST__MUL_INT": 4, "LOAD__LOAD__EQ_INT__JUMP_UNLESS": 4,
    "POP__LOAD__LOAD__LOAD__CONST__ADD_INT__LOAD__SHARE": 4, "JUMP_UNLESS__LOAD__CONST__ADD_INT__STORE": 4,
    "LOAD__GET_ELEMENT": 3, "GT_INT__JUMP_UNLESS": 3, "CONST__EQ_INT__JUMP_UNLESS": 3, "EQ": 3, "ARRAY": 3,
    "CONST__ADD_INT": 3, "LOAD__LOAD__GT_INT__JUMP_UNLESS": 2, "LOAD__LOAD__ADD_INT__STORE__JUMP": 2, "LINK": 2,
    "STRUCT": 2, "INDEX_ARRAY": 2,
}  # fmt: skip
