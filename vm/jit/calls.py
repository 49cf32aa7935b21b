"""The family of opcodes that call, return and raise (V-7.3).

A call that control may leave for the interpreter stands alone on its line, with what the operand stack holds beneath it in atoms:
its `Site` says how the frame of the caller goes on. Where the interpreter does the whole call (`again`), it needs the stack from
before the call too. Hands on `EMIT` to `control`, `prologue` to `functions`, `opened_by_try`, `take_payload` and
`propagated_error` to `branches`.

A form, registered by `@emit(OPCODE, …)`, takes the emitter `e`, the opcode and its operand. It pops abstract values (a `Value` is
a Python expression with what is known of it) from `e.stack`, pushes those of the results, writes statements to `e.out`, and
returns nothing: it calls nothing of the program, and what fails does so when the text runs. In the text `fnN` is function N, `d`
how many calls may still nest, `D` what a function that is not counted gives one that is for `d`, `FN2` the Python functions of
function values that take two arguments, `TKOPCODE_OPERAND` those that a site calls, by the class of the receiver (`tier.py:
targets_of`), `F[0]` the fuel left and `n` what is counted and not paid (where the run counts steps), `END` no entry, `raise
Deoptimise` the way back to the interpreter; other names are those of `emitter`. What is called there is in `tier` and
`library`; built-ins are in `intrinsics`."""

from __future__ import annotations

from ..bytecode.image import F_INOUT, memory_of_hashmap
from ..bytecode.opcodes import BY_NAME, OPCODES
from . import kinds
from .analysis import prelude_row
from .emitter import registrar
from .facts import Value
from .flow import Unshaped
from .library import suffix
from .places import map_key
from .text import Branch
from .values import err, mark_payload, payload_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter, Form
    from .kinds import Kind
    from .text import Statement

EMIT: dict[int, Form] = {}
emit = registrar(EMIT)

TOOL = f"K{BY_NAME['TOOL'].number}_"  # how names of handles of declared tools begin
# Kinds of what is no Err, or one that the function itself has made and given a way.
PLACED = kinds.SCALARS | kinds.CONTAINERS | {"option", "enum", "ok", "err"}

# ---------------------------------------------------------------- functions of the program


def nesting_left(e: Emitter) -> str:
    """Return the expression of how many calls may still nest in the one here; inlined functions have taken theirs. In a loop it
    is noted as one to hoist."""
    around = e.body.places[e.at][1].around
    nesting = sum([e.graph.counted[inlined.function] for inlined in around])
    if not e.in_loop():
        return f"d - {nesting}"
    e.hoisted_depths.add(nesting)
    return f"e{nesting}"


@emit("CALL")
def call(e: Emitter, op: Opcode, operand: int) -> None:
    code = e.program.codes[operand]
    if e.metered:
        e.spill()  # where an argument fails, the callee has cost nothing
    parts = e.pop_many(code.argc)
    e.spill()
    arguments = [part.text for part in parts]
    if operand in e.graph.values:
        arguments.append("()")
    if e.graph.counted[operand]:
        arguments.append(nesting_left(e) if e.graph.counted[e.function] else "D")
    e.pay(e.graph.cost(operand))
    name = f"fn{operand}{suffix(e.body.given.get(e.at, ()))}"
    e.call(f"{name}({', '.join(arguments)})", kind_of_result(e, operand, parts))


def kind_of_result(e: Emitter, number: int, parts: list[Value]) -> Kind:
    """Return the kind of what a call of function `number` with some arguments gives. A method of a built-in type that is written
    in Concerto gives what its signature says of this receiver and these closures; one that changes its receiver, that alone."""
    function = e.image.functions[number]
    declared = e.kinds.of_type(function.result)
    row = prelude_row(function)
    if row is None or row.receiver_type is None or len(row.parameters) + 1 != len(parts):
        return declared
    if row.mut:
        kind = parts[0].kind if row.result[0] == "nil" else declared
    else:
        named: dict[str, Kind] = {}
        for holder in row.receiver_type[1:]:
            if holder[0] == "var":
                named[holder[1]] = e.kinds.inner(parts[0].kind)
        for position, closure in e.body.given.get(e.at, ()):
            stated = row.parameters[position - 1].type
            if position and stated[0] == "fn" and stated[2][0] == "var":
                named[stated[2][1]] = e.kinds.of_type(e.image.functions[closure].result)
        kind = e.kinds.stated(row.result, named)
    return kind if declared == kinds.ANY or kind[0] == declared[0] else declared


@emit("CALL_VALUE")
def call_value(e: Emitter, op: Opcode, operand: int) -> None:
    e.spill()
    e.bind_all(e.stack)
    closure = e.stack[len(e.stack) - operand - 1]
    number = e.body.called.get(e.at)
    name = callee(e, closure, operand) if number is None else f"fn{number}"
    if e.metered:
        e.out += [f"F[0] -= n + {closure.text}.function.cost", "n = 0"]
    parts = e.pop_many(operand)
    e.pop()
    cells = f"j{name[1:].partition('_')[0]}" if name[0] == "k" else f"{closure.text}.cells"
    arguments = [*[part.text for part in parts], cells, nesting_left(e)]  # a function that calls a value is counted
    kind = kinds.ANY if number is None else e.kinds.of_type(e.image.functions[number].result)
    e.call(f"{name}({', '.join(arguments)})", kind)


def callee(e: Emitter, closure: Value, count: int) -> str:
    """Return the variable with the Python function of a function value that takes `count` arguments. That of a parameter that is
    never assigned and is called in a loop is looked up before the loop."""
    slot = closure.text[1:] if closure.text[0] == "l" else ""
    parameter = slot.isdigit() and int(slot) < len(e.image.functions[e.function].params)
    if parameter and not is_assigned(e, int(slot)) and e.in_loop():
        e.hoisted_callees.add((int(slot), count))
        return f"k{slot}_{count}"
    name = e.temporary()
    e.out += callee_lookup(name, closure.text, count, e.site(e.at, e.stack))
    return name


def callee_lookup(name: str, closure: str, count: int, site: str) -> list[Statement]:
    """Return the statements that put the Python function of the expression `closure`, for `count` arguments, into the variable
    `name`. Without such a function control leaves at the mark `site`, and the interpreter does the call."""
    unknown = Branch(f"{name} is None")
    unknown.yes.append(f"{site}raise Deoptimise")
    return [f"{name} = FN{count}[{closure}.function] if type({closure}) is Closure else None", unknown]


def is_assigned(e: Emitter, slot: int) -> bool:
    """Return whether the outermost function assigns a local, or loads it for writing."""
    instructions = e.graph.facts[e.function].instructions
    return any(OPCODES[number].name in ("STORE", "LOAD_OWN") and operand == slot for _, number, operand in instructions)


def prologue(e: Emitter, site: str) -> list[Statement]:
    """Return the statements that compute what was hoisted out of all loops. Where one has to deoptimise, the interpreter starts
    from `site`, the beginning."""
    statements: list[Statement] = [f"e{depth} = d - {depth}" for depth in sorted(e.hoisted_depths)]
    statements += [f"h{number} = {store_text(e, number)}" for number in sorted(e.hoisted_stores)]
    for slot, count in sorted(e.hoisted_callees):
        statements += callee_lookup(f"k{slot}_{count}", f"l{slot}", count, site)
        statements.append(f"j{slot} = l{slot}.cells")
    return statements


# ---------------------------------------------------------------- methods that are found at run time


@emit("CALL_METHOD")
def call_method(e: Emitter, op: Opcode, operand: int) -> None:
    method = e.program.constants[operand]
    number = hashmap_of(e.stack[-1 - method.argc].text)
    if number >= 0 and is_stored(e, number):
        number = -1
    if number >= 0 and STORE_METHODS.get(method.name) == method.argc and not method.names and not method.trait:
        call_on_store(e, method.name, number)
    else:
        call_by_name(e, op, operand)


@emit("CALL_INOUT")
def call_by_name(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the call of a method that is found at run time: `call_method` or `call_inout` of the tier finds it, and the
    interpreter calls what may suspend."""
    before = e.stack_before()
    receiver, *parts = e.pop_many(e.program.constants[operand].argc + 1)
    e.pay()
    name, room = e.constant(op, operand), nesting_left(e)
    texts = [part.text for part in parts]
    class_ = "ToolRef" if receiver.text.startswith(TOOL) else f"type({receiver.text})"
    known = f"w({', '.join([receiver.text, *texts, room])}) if (w := T{name}.get({class_})) is not None"
    e.call(f"{known} else {op.name.lower()}({receiver.text}, {name}, [{', '.join(texts)}], {room})", kinds.ANY)
    e.sites[-1].again = before


@emit("CALL_HOST")
def call_host(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the call of a function of the host that mostly is answered without it; where it is not, the interpreter calls it."""
    before = e.stack_before()
    parts = e.pop_many(e.program.constants[operand].argc)
    e.pay()
    e.call(f"without_host({e.constant(op, operand)}, [{', '.join([part.text for part in parts])}], MACHINE)", kinds.ANY)
    e.sites[-1].again = before


@emit("CHANGES_SELF")
def changes_self(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    e.push_expression(f"changes_self(MACHINE, {part.text}, {e.constant(op, operand)})", [part], kinds.BOOL, fails=True)


# ---------------------------------------------------------------- methods of declared hashmaps (O-5.2 to O-5.4)

HANDLE = f"K{BY_NAME['HASHMAP'].number}_"
# Those written out, with how many arguments they take.
STORE_METHODS = {"get": 1, "_at": 1, "has": 1, "len": 0, "is_empty": 0, "set": 2, "delete": 1}


def hashmap_of(text: str) -> int:
    """Return the number of the hashmap that an expression names, else -1."""
    return int(text[len(HANDLE) :]) if text.startswith(HANDLE) else -1


def is_stored(e: Emitter, number: int) -> bool:
    """Return whether the entries of a hashmap are in a store, where each method may have to wait."""
    name = memory_of_hashmap(e.image.hashmaps[number].name)
    return any(memory.name == name for memory in e.image.memories)


def store_text(e: Emitter, number: int) -> str:
    """Return the expression of the store of a hashmap. A session may go on with the stores of another one, so the machine is
    asked."""
    return f"MACHINE.stores.hashmaps[{e.image.hashmaps[number].name!r}]"


def store_of(e: Emitter, number: int) -> str:
    """Return the expression of the store of a hashmap, in a loop the variable with it, which is noted as one to hoist: no slice
    puts another store in its place."""
    if not e.in_loop():
        return store_text(e, number)
    e.hoisted_stores.add(number)
    return f"h{number}"


def call_on_store(e: Emitter, name: str, number: int) -> None:
    """Write out the method `name` of STORE_METHODS for hashmap `number`; handle and arguments are on the stack."""
    if name in ("set", "delete"):
        write_to_store(e, name, number)
        return
    store = store_of(e, number)
    if name in ("len", "is_empty"):
        e.pop()
        text, kind = (f"len({store}.items)", kinds.INT) if name == "len" else (f"(not {store}.items)", kinds.BOOL)
        e.push_expression(text, [], kind, fails=True)
        return
    e.spill()
    key = e.bind(e.pop())
    e.pop()
    if name == "has":
        e.push_expression(f"({map_key(key)}) in {store}.items", [key], kinds.BOOL, fails=True)
        return
    entry = e.temporary()
    e.statement(f"{e.here()}{entry} = {store}.items.get({map_key(key)}, END)")
    if name == "_at":
        missing = Branch(f"{entry} is END")
        missing.yes.append(f"{e.here()}key_not_found({key.text})")
        e.out.append(missing)
        kind = e.kinds.of_type(e.image.hashmaps[number].value)
        if e.kinds.is_marked(kind):
            e.out.append(f"shared_payload({entry})")
        e.push_variable(entry, kind)
        return
    e.push_unboxed(f"option_of({entry})", entry, kinds.OPTION, e.kinds.of_type(e.image.hashmaps[number].value))


def write_to_store(e: Emitter, name: str, number: int) -> None:
    """Write out `set` or `delete`, in a short way for values of the very classes that the store holds, if no one watches the
    store and no file follows it."""
    before = e.stack_before()
    _, key, *value = e.pop_many(STORE_METHODS[name] + 1)
    e.pay()
    store, result = store_of(e, number), e.temporary()
    declared = [e.image.hashmaps[number].key, e.image.hashmaps[number].value]
    tests = [class_test(part, e.kinds.of_type(type_)) for part, type_ in zip([key, *value], declared, strict=False)]
    arguments = ", ".join([store, key.text, *[part.text for part in value]])
    long_way = f"{result} = {'put_in_store' if name == 'set' else 'drop_from_store'}({arguments})"
    if name == "delete":
        short_way: list[Statement] = [f"{e.here()}{result} = {store}.items.pop({key.text}, END) is not END"]
    else:
        short_way = [f"{e.here()}{store}.items[{key.text}] = {value[0].text}", f"{result} = None"]
    site = e.site(e.at, e.stack)
    e.sites[-1].again = before
    if None in tests:
        e.out.append(f"{site}{long_way}")
    else:
        quiet = Branch(" and ".join([*filter(None, tests), f"not {store}.watchers and {store}.path is None"]))
        quiet.yes += short_way
        quiet.no.append(f"{site}{long_way}")
        e.out.append(quiet)
    e.push(Value(result, kinds.BOOL if name == "delete" else kinds.NIL))


def class_test(part: Value, kind: Kind) -> str | None:
    """Return the text of the test that a value is of the class of Python that a store of the declared kind `kind` holds: "" where
    it surely is. None for every kind but Int and String: what is put in is tested, copied or converted by the store then."""
    if kind[0] not in ("int", "string"):
        return None
    return "" if part.certain and part.kind[0] == kind[0] else f"type({part.text}) is {'int' if kind[0] == 'int' else 'str'}"


# ---------------------------------------------------------------- ends of a function


def return_value(e: Emitter, text: str) -> None:
    """Write the return of an expression, and pay the fuel that was counted."""
    e.spill()
    if e.metered:
        e.out += [f"{e.here()}r = {text}", "F[0] -= n", "return r"]
    else:
        e.out.append(f"{e.here()}return {text}")


@emit("RETURN")
def return_(e: Emitter, op: Opcode, operand: int) -> None:
    if e.body.places[e.at][0] in e.graph.unplaced(e.function):
        part = e.pop_bound()
        branch = Branch(f"type({part.text}) is Err")
        branch.yes.append(f"marked({part.text}, {e.error_path()})")
        e.out.append(branch)
        e.push(part)
    if e.lent is None:
        return_value(e, e.pop().text)
    else:
        return_to_lender(e)


def return_to_lender(e: Emitter) -> None:
    """Write the return of a method of a tool whose state is lent: of a pair of a result and the state, it gives the result. An
    Err that has no way yet gets the place of the call, as from a method that the host calls."""
    part = e.pop()
    if e.image.functions[e.function].flags & F_INOUT:
        if not part.parts:
            raise Unshaped("no pair")
        part = part.parts[0]
    part = e.bind(part)
    if part.kind[0] not in PLACED:
        failed = Branch(f"type({part.text}) is Err and not {part.text}.way")
        failed.yes.append(f"{e.here()}{part.text} = failed_in_tool({part.text})")
        e.out.append(failed)
    return_value(e, part.text)


def refuse_single_value(e: Emitter) -> None:
    """Raise Unshaped for a method with a lent state that would return an error without the state: no compiler makes one."""
    if e.lent is not None and e.image.functions[e.function].flags & F_INOUT:
        raise Unshaped("no pair")


@emit("FAIL_MATCH")
def fail_match(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    e.statement(f"{e.here()}raise no_arm({part.text})")


@emit("FAIL_LENGTH")
def fail_length(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    e.statement(f"{e.here()}raise wrong_length({operand}, {part.text})")


# Of `?`, the end of a statement in `try`, and a throw, the forms without a handler in the function; `branches` has those with
# one.


@emit("TRY")
def try_(e: Emitter, op: Opcode, operand: int) -> None:
    part, good, payload = opened_by_try(e)
    e.spill()
    making = [] if part.error is None else part.error[0]
    return_error_if(e, f"not ({good})", f"({e.here()}{propagated_error(e, part)})", making)
    take_payload(e, part, payload)


def take_payload(e: Emitter, part: Value, payload: Value) -> None:
    """Push the payload of what a `?` takes apart, where the test of that has gone well: what `opened_by_try` returned."""
    if part.unboxed is None:
        name = e.temporary()
        e.out.append(f"{name} = {payload.text}")
        e.push(Value(name, payload.kind))
        return
    if not payload_text(e, part)[1]:
        mark_payload(e, part.unboxed, payload.kind)
    e.push(payload)


# The test that an Option or Result, of which that is known, has a payload.
GOOD = {"option": "{0} is not NONE_VALUE", "result": "type({0}) is Ok"}


def opened_by_try(e: Emitter) -> tuple[Value, str, Value]:
    """Pop what a `?` takes apart. Return (it, the text of the test that it is Ok or Some, its payload, which may be taken
    then by `take_payload`)."""
    part = e.pop()
    if part.unboxed is not None and part.kind[0] == "option":
        return part, f"{part.unboxed} is not END", Value(part.unboxed, part.unboxed_kind)
    if part.unboxed is not None:
        return part, f"type({part.unboxed}) is not Err", Value(part.unboxed, part.unboxed_kind)
    e.push(part)
    part = e.pop_bound()
    good = GOOD.get(part.kind[0], "type({0}) is Ok or type({0}) is Some").format(part.text)
    return part, good, Value(f"{part.text}.value", e.kinds.success(part.kind))


@emit("POP_TRY")
def pop_try(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop_bound()
    e.spill()
    return_error_if(e, f"type({part.text}) is Err", f"err_of({part.text}, {e.error_path()})")


@emit("THROW")
def throw(e: Emitter, op: Opcode, operand: int) -> None:
    refuse_single_value(e)
    error = e.pop()
    e.spill()
    e.stack.clear()
    e.push(error)
    err(e, op, 0)
    error = e.pop()
    e.stack.clear()
    return_value(e, error.text)


def return_error_if(e: Emitter, condition: str, error: str, making: Iterable[Statement] = ()) -> None:
    """Return what `error` gives, behind the statements `making`, where the condition holds. The operand stack is empty on that
    path, and as before behind it."""
    refuse_single_value(e)
    stack = list(e.stack)
    branch = Branch(condition)
    before, e.out = e.out, branch.yes
    e.stack.clear()
    e.out += making
    return_value(e, error)
    e.out, e.stack = before, stack
    e.out.append(branch)


def propagated_error(e: Emitter, part: Value) -> str:
    """Return the expression of what `?` passes on for an Err or a None in `part`: an Err with the place of the `?` in its path,
    or the None in a function that gives an Option. It raises P007 when it runs for any other value."""
    if part.error is not None:
        return f"Err({part.error[1]}, {e.error_path()})"
    if part.kind[0] == "option":
        return "NONE_VALUE" if e.body.keeps_none[e.at] else f"err_of(NONE_VALUE, {e.error_path()})"
    whole = part.text if part.unboxed is None else part.unboxed
    return f"{'none_or_err' if e.body.keeps_none[e.at] else 'err_of'}({whole}, {e.error_path()})"
