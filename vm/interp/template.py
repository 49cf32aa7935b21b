"""What the opcodes do that move between instructions, frames or tasks, and a plain loop that runs every opcode (V-2.5).

A function per opcode: its parameters are the left side of the opcode's stack effect, then `operand`, the linked operand, and
`loop`, the variables of the loop. What it returns is pushed (of a pair, for an opcode that pushes two, both parts), unless it is
NOTHING (control is elsewhere, or the stack effect pushes nothing) or SUSPENDED (the slice is over: the task waits, has ended, or
has made an effect). While a function runs, `loop.stack` is what lies beneath its parameters.

`tools/gen_loop.py` writes the fast loop from these functions and those of `vm/interp/ops.py`: it puts them into one function,
with the variables of `Loop` as local ones. So NOTHING and SUSPENDED are returned by name, never out of a call or a conditional
expression; a method of `Loop`, or a function of INLINED, is called as a statement, as the whole right side of an assignment or as
the whole of what is returned; `return` stands in `if` and in `for x in y: return …` only. `run` does the same slowly, call by
call, so that a test can compare the two; nothing else imports this file. A change of what one of these opcodes does is made here,
and the fast loop generated again; it is never edited. Opcodes that stay within one frame, and go on with the next instruction,
are in `ops.py`; what methods do, in `dispatch.py` and `builtins/`.

A node is a linked instruction, fuel the steps that a run may still take. A panic (`Panic`) is how an opcode fails: P007 for a
value that is no Bool, Result or Option where one is needed, P009 and P010 for what no pattern matches, P012 for calls nested too
deeply, P015 for a call of what is no fitting function, P101 for fuel used up, and what built-ins, methods (P014 where there is
none) and the scheduler (P007, P013, P103, P413) raise; what ends the run (P102, P103, or what the host has set) comes out of
every jump and call.
"""

from __future__ import annotations

from functools import cache

from ..bytecode.opcodes import BY_NAME
from ..generated.loop import NUMBERS
from ..panics import Panic
from ..values import NONE as NONE_VALUE
from ..values import Closure, Err, ErrorValue, Ok, Some, debug
from ..values.limits import check_concat, limits
from ..values.ways import begun, handled, marked, passed, thrown
from . import ops
from .dispatch import (
    as_panic,
    bad_call,
    changes_self,
    exec_call_inout,
    exec_call_method,
    missing_value,
    not_fallible,
    wrong_length,
)
from .linked import GROUP_SIZES
from .ops import not_bool
from .tasks import NOTHING, SUSPENDED, Invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..values.objects import Way
    from .linked import Code, HostFunction, LoopSite, PythonFunction, Site
    from .machine import Machine
    from .tasks import Task

    Node = list[Any]  # of linked code: number, operand, the node behind it, its marks in the loop's search tree
    Target = tuple[Node, int]  # where to go on, and the fuel of the run that begins there
    # handler or None, its fuel, how many values to drop, whether None leaves the function as it is, the way of what fails here
    Handler = tuple[Node | None, int, int, bool, Way]

NO_CELLS: list[Any] = []

# Functions of other files whose text the generator puts in the place of a call.
INLINED = (exec_call_method, passed)


class Loop:
    """The variables of the loop: the running frame (`ins`, its next node, `locs`, its locals, `cells`, `code`, its function), the
    operand `stack` and the `frames` of the callers of its task, `limit`, how many frames the task may have, the `fuel` left in
    this chunk, and `debt`, what built-ins have charged and nobody has paid."""

    __slots__ = ("machine", "task", "ins", "locs", "cells", "code", "stack", "frames", "limit", "debt", "fuel")

    def __init__(self, machine: Machine, task: Task) -> None:
        self.machine = machine
        self.task = task
        self.ins: Node
        self.locs: list[Any]
        self.cells: list[Any]
        self.code: Code
        self.ins, self.locs, self.cells, self.code, top = task.state
        self.stack = task.stack
        self.stack.append(top)
        self.frames = task.frames
        self.limit = machine.depth_limit - task.base
        self.debt = machine.debt
        self.fuel = machine.chunk()

    def charge(self, cost: int) -> None:
        """Take the fuel of a run of instructions, up to the next jump. Raises what `Machine.refill` raises: P101 where none is
        left, or what ends the run."""
        self.fuel -= cost
        if self.fuel < 0:
            self.fuel = self.machine.refill(self.fuel)

    def settle_debt(self) -> None:
        """Take the fuel that a built-in has charged (G-6.1). Raises as `charge`."""
        if self.debt:
            self.fuel = self.machine.pay_debt(self.fuel)

    def jump(self, target: Target) -> None:
        """Go on at a node, and take the fuel of the run that begins there. Raises as `charge`."""
        self.ins, cost = target
        self.charge(cost)

    def enter(self, callee: Code, arguments: list[Any], captured: Sequence[Any]) -> None:
        """Begin a new frame, whose first cells are those that a closure has captured. Raises P012 where calls are nested too
        deeply, and as `charge`."""
        if len(self.frames) >= self.limit:
            raise self.machine.too_deep()
        self.frames.append((self.ins, self.locs, self.cells, self.code))
        self.code = callee
        self.ins = callee.entry
        self.charge(callee.cost)
        self.locs = arguments + callee.blank if callee.blank else arguments
        self.cells = [*captured, *[None] * (callee.cell_count - len(captured))] if callee.cell_count else NO_CELLS

    def leave(self) -> None:
        """Go back to the caller's frame."""
        self.ins, self.locs, self.cells, self.code = self.frames.pop()

    def fail(self, failed: Err, handler: Handler) -> Any:
        """Let an Err go to its handler, or out of the function, and return what is pushed there: the error, or the Err."""
        target, cost, beneath, _, here = handler
        if beneath:
            del self.stack[len(self.stack) - beneath :]
        if target is None:
            self.leave()
            return passed(failed, here)
        self.ins = target
        self.charge(cost)
        return handled(failed, here)

    def save(self) -> None:
        """Give the variables back to the task, with the top of the stack apart."""
        self.task.state = (self.ins, self.locs, self.cells, self.code, self.stack.pop())


# ---------------------------------------------------------------- the plain loop


class Meaning:
    """A function of an opcode as the plain loop calls it: the names of its `parameters`, the `row` of the opcode in the table of
    opcodes, None for one of linked code only, and `moves`, whether it is one of this file, whose result is pushed though the row
    may push nothing."""

    __slots__ = ("function", "parameters", "row", "moves")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.function = function
        self.parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.row = BY_NAME.get(name)
        self.moves = function.__module__ == __name__  # it is one of this file

    def arguments(self, operand: Any, loop: Loop) -> dict[str, Any]:
        """Return the values of its parameters by name, for a node with this linked `operand`; those of its stack effect are taken
        off the stack."""
        context = {"operand": operand, "loop": loop, "locals_": loop.locs, "cells": loop.cells, "machine": loop.machine}
        values: dict[str, Any] = {}
        for parameter in reversed(self.parameters):
            if parameter in context:
                values[parameter] = context[parameter]
            elif self.row is not None and f"{parameter}*" in self.row.pops:
                beneath = len(loop.stack) - GROUP_SIZES[self.row.kind](operand)
                values[parameter] = loop.stack[beneath:]
                del loop.stack[beneath:]
            else:
                values[parameter] = loop.stack.pop()
        return values


@cache
def meanings() -> dict[int, Meaning]:
    """Return the meaning of each opcode, by its number."""
    functions = {**vars(ops), **globals()}
    return {number: Meaning(name, functions[name]) for name, number in NUMBERS.items()}


def run(machine: Machine, task: Task) -> None:
    """Run `task` until it ends, suspends or emits, by one call per opcode; `task.state` then says where it goes on. The code must
    have been linked without fused nodes (several opcodes in one). Raises the Panic of what fails, which some of Python's own
    errors become, or whatever else ends the run, with the place noted on the task."""
    loop = Loop(machine, task)
    try:
        while step(loop):
            pass
    except BaseException as error:
        machine.fuel += max(loop.fuel, 0)
        if not loop.stack:
            loop.stack.append(None)  # the opcode that failed had taken all
        loop.save()
        raise as_panic(error) from None


def step(loop: Loop) -> bool:
    """Run one opcode and return True, or False when the slice is over. Raises what the opcode raises."""
    number, operand, loop.ins = loop.ins[:3]
    meaning = meanings()[number]
    outcome = meaning.function(**meaning.arguments(operand, loop))
    if outcome is SUSPENDED:
        loop.machine.fuel += loop.fuel
        loop.save()
        return False
    pushes = 1 if meaning.row is None else len(meaning.row.pushes)
    if outcome is not NOTHING and pushes == 2:
        loop.stack.extend(outcome)
    elif outcome is not NOTHING and (meaning.moves or pushes):
        loop.stack.append(outcome)
    return True


# ---------------------------------------------------------------- of linked code only, never in an image

# The names that have a number in the fast loop, but no row in the table of opcodes.
LINKED_ONLY = ("LINK", "RETURN_RESULT", "ENTER", "LOOP", "HALT", "CONCAT__STORE", "LEAVE_TOOL")


def LINK(operand: Code, loop: Loop) -> Any:
    """The first instruction of a function that has not been called yet."""
    loop.ins = operand.home.link(operand)
    loop.charge(operand.cost)
    return NOTHING


def RETURN_RESULT(value: Any, operand: Way, loop: Loop) -> Any:
    """RETURN of what may be an Err that no instruction made (L-5.11.3)."""
    if type(value) is Err:
        marked(value, operand)
    loop.leave()
    return value


def ENTER(top: Any, operand: Code, loop: Loop) -> Any:
    """The first instruction of a function that may yet be translated (V-7). The translated tier gives a tuple of what the
    function gives, False where the interpreter goes on, None where its own frames have become frames of the interpreter."""
    operand.hits += 1
    if operand.hits <= loop.machine.calls_before:
        return top
    loop.stack.append(top)
    loop.machine.fuel, loop.fuel = loop.fuel, 0
    outcome = loop.machine.translated_call(loop.task, operand, loop.locs, loop.cells, loop.limit - len(loop.frames))
    loop.machine.fuel, loop.fuel = 0, loop.machine.fuel
    if outcome is False:
        return NOTHING
    if outcome is None:
        loop.ins, loop.locs, loop.cells, loop.code, top = loop.task.state
        if loop.machine.raised is not None:
            raise loop.machine.take_raised()
        return top
    loop.leave()
    return outcome[0]


def LOOP(top: Any, operand: LoopSite, loop: Loop) -> Any:
    """The head of a loop that may yet be translated; the outcomes are those of ENTER."""
    operand.hits += 1
    if operand.hits <= loop.machine.loops_before:
        return top
    loop.stack.append(top)
    values = loop.stack[len(loop.stack) - operand.depth :]
    del loop.stack[len(loop.stack) - operand.depth :]
    room = loop.limit - len(loop.frames)
    loop.machine.fuel, loop.fuel = loop.fuel, 0
    outcome = loop.machine.translated_loop(loop.task, operand, loop.locs, loop.cells, values, room)
    loop.machine.fuel, loop.fuel = 0, loop.machine.fuel
    if outcome is False:
        loop.stack.extend(values)
        return NOTHING
    if outcome is None:
        loop.ins, loop.locs, loop.cells, loop.code, top = loop.task.state
        if loop.machine.raised is not None:
            raise loop.machine.take_raised()
        return top
    loop.leave()
    return outcome[0]


def HALT(value: Any, loop: Loop) -> Any:
    """Behind the last instruction of a task's first function: the task ends with its value."""
    loop.task.finish(value)
    return SUSPENDED


def CONCAT__STORE(a: Any, b: Any, operand: int, loop: Loop) -> Any:
    """CONCAT and STORE in one, for a local that grows: with no other owner left CPython extends the text where it lies, so that a
    loop of these is linear. Raises P103 for too long a text, and what ends the run."""
    if (len(a) + len(b)) * 4 > limits.surely:
        check_concat(a, b)
    if loop.locs[operand] is a:
        loop.locs[operand] = None
    a += b
    loop.locs[operand] = a
    return NOTHING


def LEAVE_TOOL(value: Any, loop: Loop) -> Any:
    """Behind a method of a tool that ran within the slice: return the value of the call. Raises what `Machine.left_tool`
    raises."""
    return loop.machine.left_tool(value, loop.ins, loop.code, loop.frames)


# ---------------------------------------------------------------- the operand stack


def DROP(any: list[Any]) -> Any:
    """Drop the values; `any` may hold iterators."""
    return NOTHING


def SLIDE(any: list[Any], value: Any) -> Any:
    """Drop the values beneath the top."""
    return value


# ---------------------------------------------------------------- jumps and walks


def JUMP(operand: Target, loop: Loop) -> Any:
    """Go on at the target."""
    loop.jump(operand)
    return NOTHING


def JUMP_IF(bool: Any, operand: Target, loop: Loop) -> Any:
    """Go on at the target if the condition is true. Raises P007 for no Bool."""
    if bool is True:
        loop.jump(operand)
        return NOTHING
    if bool is not False:
        raise not_bool(bool)
    return NOTHING


def JUMP_UNLESS(bool: Any, operand: Target, loop: Loop) -> Any:
    """Go on at the target if the condition is false. Raises P007 for no Bool."""
    if bool is False:
        loop.jump(operand)
        return NOTHING
    if bool is not True:
        raise not_bool(bool)
    return NOTHING


def NEXT(iterator: Iterator[Any], operand: Target, loop: Loop) -> Any:
    """Push the iterator and its next element, or drop it and go on at the target."""
    for value in iterator:
        return iterator, value
    loop.jump(operand)
    return NOTHING


# ---------------------------------------------------------------- calls


def CALL(args: list[Any], operand: Code, loop: Loop) -> Any:
    """Enter a function of the image."""
    loop.enter(operand, args, ())
    return NOTHING


def CALL_VALUE(callee: Any, args: list[Any], operand: int, loop: Loop) -> Any:
    """Enter a function value. Raises P015 for what is none, or takes another number of arguments."""
    if type(callee) is not Closure or callee.function.argc != operand:
        raise bad_call(callee, operand)
    loop.enter(callee.function, args, callee.cells)
    return NOTHING


def CALL_BUILTIN(args: list[Any], operand: tuple[Callable[..., Any], int], loop: Loop) -> Any:
    """Return what a built-in gives that cannot suspend; `operand`: its body, and how many arguments it takes."""
    value = operand[0](*args)
    loop.settle_debt()
    return value


def CALL_HOST(args: list[Any], operand: HostFunction, loop: Loop) -> Any:
    """Suspend the task with an effect: a built-in function that the host performs, on these arguments; or return what it gives
    without the host."""
    payload = operand.prepare(*args)
    value = None if operand.at_once is None else operand.at_once(payload)
    if value is not None:
        loop.task.counter += 1  # keys of effects are those that recordings have (V-6.5)
        return value
    loop.machine.suspend(loop.task, operand.effect, payload)
    return SUSPENDED


def CALL_EXTERN(args: list[Any], operand: PythonFunction, loop: Loop) -> Any:
    """Suspend the task with an effect: a function of Python on these arguments; return the stream of one that gives elements one
    by one. Raises P007 for an argument that is not of the type of its parameter."""
    value = loop.machine.call_extern(loop.task, operand, args)
    if value is SUSPENDED:
        return SUSPENDED
    return value


def CALL_METHOD(receiver: Any, args: list[Any], operand: Site, loop: Loop) -> Any:
    """Return what a method gives that is found at run time, enter a function for it, or suspend. Raises P014 without one."""
    value = exec_call_method(loop.machine, loop.task, receiver, operand, args)
    if value is SUSPENDED:
        return SUSPENDED
    if type(value) is Invoke:
        if value.is_tool:
            loop.ins = loop.machine.behind_tool(loop.ins)
        loop.enter(value.code, value.arguments, value.cells)
        return NOTHING
    loop.settle_debt()
    return value


def CHANGES_SELF(receiver: Any, operand: Site, loop: Loop) -> Any:
    """Return whether the receiver has a method of the program by that name with `mut self`."""
    return changes_self(loop.machine, receiver, operand)


def CALL_INOUT(receiver: Any, args: list[Any], operand: Site, loop: Loop) -> Any:
    """Enter such a method, which returns the pair of its result and the new receiver."""
    call = exec_call_inout(loop.machine, receiver, operand, args)
    loop.enter(call.code, call.arguments, ())
    return NOTHING


def RETURN(value: Any, loop: Loop) -> Any:
    """Leave the function with a value."""
    loop.leave()
    return value


# ---------------------------------------------------------------- failures


def ERR(value: Any, operand: Way) -> Any:
    """Return Err(value), made here."""
    return begun(value, operand) if type(value) is ErrorValue and value.way else Err(value, operand)


def TRY(result: Any, operand: Handler, loop: Loop) -> Any:
    """`?`: return the payload of Ok or Some. An Err goes to the handler or out of the function. None does so as a new error, but
    out of a function that gives an Option as it is. Raises P007 for any other value."""
    kind = type(result)
    if kind is Ok or kind is Some:
        return result.value
    if kind is Err:
        return loop.fail(result, operand)
    if result is not NONE_VALUE:
        raise not_fallible(result)
    if operand[0] is None and operand[3]:
        if operand[2]:
            del loop.stack[len(loop.stack) - operand[2] :]
        loop.leave()
        return result
    missing = Err(missing_value())
    return loop.fail(missing, operand)


def THROW(error: Any, operand: Handler, loop: Loop) -> Any:
    """Let an error go to the handler, or out of the function as an Err."""
    target, cost, beneath, _, here = operand
    if beneath:
        del loop.stack[len(loop.stack) - beneath :]
    if target is None:
        loop.leave()
        return begun(error, here)
    loop.ins = target
    loop.charge(cost)
    return thrown(error, here)


def POP_TRY(value: Any, operand: Handler, loop: Loop) -> Any:
    """Drop the value of a statement inside `try`; an Err goes to the handler or out of the function."""
    if type(value) is Err:
        return loop.fail(value, operand)
    return NOTHING


def FAIL_MATCH(value: Any) -> Any:
    """Raise P009 for a value that no arm fits, or as `debug` where it is too large to be shown."""
    raise Panic("P009", f"no arm matches {debug(value)}")


def FAIL_LENGTH(value: Any, operand: int) -> Any:
    """Raise P010 for an Array that has another length than its pattern, `operand`."""
    raise wrong_length(operand, value)


# ---------------------------------------------------------------- tasks


def START(args: list[Any], operand: Code, loop: Loop) -> Any:
    """Return the handle of a new child task that runs the function."""
    return loop.machine.start_task(loop.task, operand, args, loop.cells)


def AWAIT_ALL(tasks: list[Any], loop: Loop) -> Any:
    """Return the values of the tasks as a tuple, or suspend until all have ended. Raises as `Scheduler.join`."""
    value = loop.machine.join(loop.task, tasks)
    if value is SUSPENDED:
        return SUSPENDED
    return value


def RACE(tasks: list[Any], loop: Loop) -> Any:
    """Return the value of the first task to end, or suspend; the others are cancelled. Raises as `Scheduler.race`."""
    value = loop.machine.race(loop.task, tasks)
    if value is SUSPENDED:
        return SUSPENDED
    return value


def PARALLEL(iterable: Any, limit: Any, operand: Code, loop: Loop) -> Any:
    """Suspend until a child task per element has ended, at most `limit` at a time, for the Array of their values; return an empty
    one for no elements. Raises as `Scheduler.parallel`."""
    value = loop.machine.parallel(loop.task, operand, loop.cells, iterable, limit)
    if value is SUSPENDED:
        return SUSPENDED
    return value


def AWAIT(value: Any, loop: Loop) -> Any:
    """Return the value of a task, or suspend; any other value is itself. Raises P413 for a task that was cancelled and whose
    function is not fallible."""
    outcome = loop.machine.await_value(loop.task, value)
    if outcome is SUSPENDED:
        return SUSPENDED
    return outcome


def SETTLE(value: Any, loop: Loop) -> Any:
    """Before a return: wait for the tasks that the function started, or cancel them if the value is an Err."""
    outcome = loop.machine.settle(loop.task, value, len(loop.frames))
    if outcome is SUSPENDED:
        return SUSPENDED
    return outcome


# ---------------------------------------------------------------- the world


def EMIT(channel: Any, payload: Any, loop: Loop) -> Any:
    """Make an emit, and end the slice. Raises P007 or P103 for a wrong channel or payload, and what ends the run."""
    loop.machine.emit(loop.task, channel, payload)
    return SUSPENDED


def ASK(channel: Any, payload: Any, timeout: Any, loop: Loop) -> Any:
    """Make an emit whose answer the task waits for, `timeout` milliseconds at most. Raises as EMIT, and P013 for a wrong
    timeout."""
    loop.machine.ask(loop.task, channel, payload, timeout)
    return SUSPENDED


def ASK_FOR(channel: Any, payload: Any, timeout: Any, operand: Any, loop: Loop) -> Any:
    """Do as ASK, for an answer of the type `operand`."""
    loop.machine.ask(loop.task, channel, payload, timeout, operand)
    return SUSPENDED


def FLUSH(loop: Loop) -> Any:
    """Let the host deliver buffered emits."""
    loop.machine.flush(loop.task)
    return SUSPENDED


def PRINT(values: list[Any], loop: Loop) -> Any:
    """Let the host write the Display texts of the values, with blanks between them. Raises as `Machine.print`."""
    loop.machine.print(loop.task, values, "")
    return SUSPENDED


def PRINTLN(values: list[Any], loop: Loop) -> Any:
    """Do as PRINT, with a line end behind."""
    loop.machine.print(loop.task, values, "\n")
    return SUSPENDED


def CONFIGURE(value: Any, operand: tuple[str, int, str], loop: Loop) -> Any:
    """Keep the value of a field of a declaration; `operand`: section, number of the entry, name of the field."""
    loop.machine.configure(operand, value)
    return NOTHING
