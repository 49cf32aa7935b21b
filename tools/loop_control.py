"""Meanings of the opcodes that move between instructions, frames or tasks, as text for the generated loop.

Variables of the loop: `tos` top of stack, `st` the rest of the task's operand stack with `push` and `pop`, `ins` the next node,
`arg` the linked operand, `locs`, `cells`, `code` of the running frame, `frames` with `push_frame` and `pop_frame`, `fuel` left in
this chunk, `limit` of call depth. A text ends in `continue`, `return` or `raise`, or falls through to `continue`.
"""

from __future__ import annotations

import ast
from pathlib import Path

VM = Path(__file__).resolve().parent.parent / "vm"

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

# arg is (handler node or None, its cost, values to drop beneath, None leaves as None, the way of what is raised here). LEAVING
# and HANDLED make of `tos` what the function gives, and what the handler gets (vm/values/ways.py)
RAISE = """\
target, cost, drop, _, here = arg
if drop:
    del st[len(st) - drop:]
if target is None:
    LEAVING
    ins, locs, cells, code = pop_frame()
    continue
HANDLED
ins = target
fuel -= cost
if fuel < 0:
    fuel = machine.refill(fuel)
continue
"""
FAILED = RAISE.replace(
    "LEAVING", "here = tos.way + here\n    tos = Err(tos.value, here if len(here) <= MOST else shortened(here))"
).replace("HANDLED", "tos = handled(tos, here)")
BEGUN = "tos = begun(tos, HERE) if type(tos) is ErrorValue and tos.way else Err(tos, HERE)"
THROWN = RAISE.replace("LEAVING", BEGUN.replace("HERE", "here")).replace("HANDLED", "tos = thrown(tos, here)")

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

# the receiver becomes `tos`, the arguments `new`
METHOD_ARGUMENTS = """\
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
"""


def door() -> str:
    """The body of `exec_call_method` over the variables of the loop; what it returns is `value`."""
    tree = ast.parse((VM / "interp" / "dispatch.py").read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "exec_call_method")
    names = {"receiver": "tos", "site": "arg", "arguments": "new"}
    lines = []
    for statement in function.body[1:]:  # behind the documentation
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        made = ast.Assign([ast.Name("value")], statement.value, lineno=0) if isinstance(statement, ast.Return) else statement
        lines.append(ast.unparse(made) + "\n")
    return "".join(lines)


METHOD = (
    door()
    + """\
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
if debt:
    fuel = machine.pay_debt(fuel)
"""
)

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
if debt:
    fuel = machine.pay_debt(fuel)
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
    "CALL_METHOD": METHOD_ARGUMENTS + METHOD,
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
    "ERR": BEGUN.replace("HERE", "arg") + "\n",
    "TRY": """\
kind = type(tos)
if kind is Ok or kind is Some:
    tos = tos.value
    continue
if tos is NONE_VALUE:
    if arg[3] and arg[0] is None:
        if arg[2]:
            del st[len(st) - arg[2]:]
        ins, locs, cells, code = pop_frame()
        continue
    tos = Err(missing_value())
elif kind is not Err:
    raise not_fallible(tos)
"""
    + FAILED,
    "THROW": THROWN,
    "POP_TRY": """\
if type(tos) is not Err:
    tos = pop()
    continue
"""
    + FAILED,
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
    "ASK_FOR": """\
timeout = tos
payload = pop()
channel = pop()
tos = pop()
machine.ask(task, channel, payload, timeout, arg)
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
    # a return of what may be an Err that no instruction made (L-5.11.3)
    "RETURN_RESULT": """\
if type(tos) is Err:
    marked(tos, arg)
"""
    + LEAVE,
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

LINKED_ONLY = ("LINK", "ENTER", "LOOP", "HALT", "RETURN_RESULT")
