"""Calls whose arguments, emits and results are JSON: what a server, or whoever else speaks JSON, gets of a program (S-1.1).

Hands on `Signature` with its `Parameter`s to users and to `serve/`, and `signatures_of` to `program` for that; to `session` and
`calls` `JsonSide`, by which a call hears and answers in JSON; to `session` also `json_arguments`, `fitting`, `fitting_argument`,
`read_json`, `json_text`, `answer_types` and MESSAGES; to the verb `runs` `answer_types`, `fitting` and `Misfitting`; to `serve/`
`JsonSide`, `read_json`, `Misfitting`, `without_definitions`, and what it needs of rooms that it may not import: TEXT_CHANNEL, on
which the pieces of a stream come, KEY_SOURCE, `NoListener` and `install_advice`. JSON is read as the language reads it, by the
declared types (L-7.1.2), and written in the forms of L-5.1; the schemas are those of channels (`channels.py`). Nothing is called
here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..runtime.errors import install_advice as install_advice
from ..runtime.host import NoListener as NoListener
from ..runtime.schema.lenient_json import JsonRefused, parse_json
from ..vm import values as v
from ..vm.builtins.json import ABSENT, Misfit, StoredBuilder
from ..vm.builtins.models import TEXT_CHANNEL as TEXT_CHANNEL
from ..vm.bytecode.image import Image
from ..vm.bytecode.shape import listed_functions, offers
from ..vm.declaration_fields import KEY_SOURCE as KEY_SOURCE
from ..vm.interp.link import Program
from ..vm.panics import Panic
from ..vm.values.types import plain_name
from .channels import may_be_absent, schema_of
from .options import SharedBudget
from .values import Run


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a public function: the JSON Schema (draft 2020-12) of what it takes, and whether it has to be given."""

    name: str
    schema: dict[str, Any]
    required: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A public function as one that speaks JSON sees it. `result` is the JSON Schema of what it returns, of a Result that of its
    Ok; `may_fail` says whether it is a Result; `doc` is its doc comment, "" for none."""

    name: str
    parameters: tuple[Parameter, ...]
    result: dict[str, Any]
    may_fail: bool
    doc: str = ""

    def arguments(self, without: Container[str] = ()) -> dict[str, Any]:
        """Return the JSON Schema of the object of the arguments by name, `without` those of these names."""
        own = [one for one in self.parameters if one.name not in without]
        definitions: dict[str, Any] = {}
        properties = {one.name: without_definitions(one.schema, definitions) for one in own}
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [one.name for one in own if one.required]
        if required:
            schema["required"] = required
        if definitions:
            schema["$defs"] = definitions
        return schema


def without_definitions(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema without its `$defs`, which are added to `definitions`, those of a schema around it."""
    definitions.update(schema.get("$defs", {}))
    return {key: part for key, part in schema.items() if key != "$defs"}


def signatures_of(image: Image) -> dict[str, Signature]:
    """Return the public functions of a verified image by name, sorted."""
    found = {}
    docs, _ = offers(image)
    for name, number in sorted(image.exports.functions.items()):
        function = image.functions[number]
        parameters = tuple(
            Parameter(p, schema_of(image, kind), default is None and not may_be_absent(image, kind))
            for p, kind, default in function.params
        )
        head, *rest = image.types[function.result]
        result = rest[0] if head == "result" else function.result
        found[name] = Signature(plain_name(name), parameters, schema_of(image, result), head == "result", docs.get(number, ""))
    return found


class Misfitting(TypeError):
    """JSON that is none, or does not fit the declared type. Its text names the place."""


@dataclass(frozen=True, slots=True)
class JsonSide:
    """How one call speaks JSON. `hear(channel, text, by_runtime)` gets every emit, the payload as compact JSON, and the pieces of
    a stream that the function returns on TEXT_CHANNEL; what it returns is dropped, an Exception of it logged; None: nobody hears.
    `answer(channel, text)` gives the answer of an awaited emit, likewise in and out, or raises what a handler of `on_emit` may
    raise, and NoListener where nobody answers now; None: the handlers of the session do. `budgets` are drawn on by this call,
    beside those of its session. `asked(key, channel, text)` is told of each awaited emit of a session with a journal, with its
    effect key, before anybody may answer it; also when the journal has the answer."""

    hear: Callable[[str, str, bool], object] | None = None
    answer: Callable[[str, str], Awaitable[str]] | None = None
    budgets: Sequence[SharedBudget] = ()
    asked: Callable[[str, str, str], object] | None = None


MESSAGES = ("array", ("record", "Message"))  # the type of what a public model is asked


def read_json(text: str, what: str) -> Any:
    """Return the JSON data of a text from outside (O-0.6, G-9.2). Raise Misfitting, which says what the text is by `what`, for
    what is none, or beyond a bound."""
    try:
        return parse_json(text)
    except JsonRefused as refused:
        raise Misfitting(f"{what}: no JSON: {refused}") from None


def json_text(value: Any) -> str:
    """Return a value of the machine, of `Ok(value)` and `Err(value)` the value, as compact JSON. Raise the machine's Panic P103
    beyond the limits."""
    return v.to_json(value.value if type(value) in (v.Ok, v.Err) else value)


def fitting(program: Program, computed: Callable[[Any], Any], data: Any, descriptor: Any, what: str) -> Any:
    """Return the value of the machine for JSON data, of the type descriptor `descriptor`. `computed` runs the function of a
    default. Raise Misfitting with the place `what`, and the machine's Panic: P103 for data that is nested too deep, and that of a
    default that cannot be computed."""
    if descriptor[0] == "prompt" and isinstance(data, str):
        data = {"text": data}
    builder = StoredBuilder(program, computed)
    try:
        return builder.stored(v.from_json(data), descriptor)
    except Misfit as misfit:
        raise Misfitting(f"{what}: {misfit} at {builder.place()}") from None
    except (RecursionError, ValueError) as error:
        raise Misfitting(f"{what}: {error}") from None


def fitting_argument(program: Program, computed: Callable[[Any], Any], data: Any, kind: int, place: str) -> Any:
    """Do what `fitting` does, of the type at an index of `image.types`, and raise Misfitting for data that is nested too deep,
    too; the Panic of a default that cannot be computed passes."""
    try:
        return fitting(program, computed, data, program.descriptors[kind], place)
    except Panic as panic:
        if panic.code != "P103":
            raise
        raise Misfitting(f"{place}: {panic.message}") from None


def answer_types(program: Program) -> dict[str, Any]:
    """Return by declared channel the type descriptor of its answer; channels that nobody answers are not there."""
    results = {plain_name(f.name): program.descriptors[f.result] for f in listed_functions(program.image, "channels")}
    return {name: result[1] for name, result in results.items() if result[0] == "result"}


def json_arguments(
    program: Program, computed: Callable[[Any], Any], function: str, parameters: list[Any], given: Mapping[str, Any]
) -> Callable[[Run], Awaitable[list[Any]]]:
    """Return what yields the arguments of `function` when its call runs: those that are `given` as JSON data by name, the others
    by their defaults, or as absent where the type allows it. `parameters` are its rows in the image, of name, type and default;
    `computed` as for `fitting`. Names that do not fit are Misfitting at once; values are when the call runs."""
    names = [name for name, _, _ in parameters]
    absent = {name for name, kind, _ in parameters if program.descriptors[kind][0] in ABSENT}
    lacking = [name for name, _, default in parameters if default is None and name not in given and name not in absent]
    unknown = [name for name in given if name not in names]
    wrong = [f"{what} {', '.join(map(repr, of))}" for what, of in (("lacks", lacking), ("no parameter", unknown)) if of]
    if wrong:
        signature = ", ".join(name if default is None else f"{name}=…" for name, _, default in parameters)
        raise Misfitting(f"{function}({signature}): {'; '.join(wrong)}")

    async def completed(run: Run) -> list[Any]:
        whole: list[Any] = []
        for name, kind, default in parameters:
            if name in given:
                whole.append(fitting_argument(program, computed, given[name], kind, f"argument {name!r} of {function}"))
            elif default is not None:
                whole.append(await run(default, list(whole)))  # it may use the parameters before it (L-5.9.1)
            else:
                whole.append(ABSENT[program.descriptors[kind][0]])
        return whole

    return completed
