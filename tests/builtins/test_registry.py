"""The table of built-ins is complete, consistent and readable (V-2.8, language.md 6)."""

from __future__ import annotations

import inspect

import pytest
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, KIND_OF, METHODS, REQUIRED, Row, lookup, method_names
from concerto.vm.builtins.registry import HIDDEN, enter, method, prelude
from concerto.vm.builtins.signatures import parse_signature, parse_type, tokens
from concerto.vm.values import NONE, Array, Map, Ok, Prompt, RangeValue, Some

ROWS = [*METHODS.values(), *FUNCTIONS.values(), *ASSOCIATED.values()]
IDS = [repr(row) for row in ROWS]


def expected_clauses() -> set[str]:
    """Every clause of 6.1 to 6.7 that states a function or method, and those of the handles of this machine."""
    last = {"6.1": 12, "6.2": 7, "6.3": 11, "6.4": 17, "6.5": 10, "6.6": 8, "6.7": 7, "6.8": 4}
    return {f"L-{section}.{n}" for section, count in last.items() for n in range(1, count + 1)}


def test_every_clause_has_a_row() -> None:
    assert expected_clauses() <= {row.clause for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_whole(row: Row) -> None:
    assert row.doc.endswith(".") and "\n" not in row.doc
    assert row.clause[:2] in ("L-", "O-", "M-", "S-")
    assert row.signature.name == row.name
    assert (row.body is not None) == (row.kind in ("python", "handle"))
    assert bool(row.source) == (row.kind == "prelude")
    optional = [p.optional for p in row.parameters]
    assert optional == sorted(optional), "defaults come last (L-3.8.1)"
    assert [d is REQUIRED for d in row.defaults] == [not o for o in optional]


def variables(descriptor: object) -> set[str]:
    if not isinstance(descriptor, tuple):
        return set()
    if descriptor[:1] == ("var",):
        return {descriptor[1]}
    return set().union(*map(variables, descriptor)) if descriptor else set()


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_type_parameters_are_declared(row: Row) -> None:
    declared = set(row.type_parameters) | variables(row.receiver_type)
    used = variables(row.result) | {name for p in row.parameters for name in variables(p.type)}
    assert used <= declared and set(row.type_parameters) <= used


@pytest.mark.parametrize("row", [*(row for row in ROWS if row.body), *HIDDEN.values()], ids=lambda row: repr(row))
def test_a_body_takes_the_receiver_and_every_parameter(row: Row) -> None:
    expected = len(row.parameters)
    if row.kind == "handle":
        expected = 5 if row.by_site else 3 + expected + (row.special == "schema")
    elif row.receiver and (row.receiver, row.name) not in ASSOCIATED:
        expected += 1
    parameters = inspect.signature(row.body).parameters.values()
    assert len(parameters) == expected and {p.kind for p in parameters} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_signatures_are_parsed() -> None:
    row = lookup("Array", "zip")
    assert row is not None
    assert row.receiver_type == ("array", ("var", "T")) and row.type_parameters == ("U",)
    assert row.parameters[0].type == ("array", ("var", "U"))
    assert row.result == ("array", ("tuple", (("var", "T"), ("var", "U"))))
    joined = lookup("Array", "join")
    assert joined is not None and joined.defaults == ("",)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("Int?", ("nilable", ("int",))), ("fn(T, Int) -> Array<U>", ("fn", (("var", "T"), ("int",)),
        ("array", ("var", "U")))),
        ("fn(T)", ("fn", (("var", "T"),), ("nil",))), ("Map<String, (Int,)>", ("map", ("string",),
        ("tuple", (("int",),)))),
        ("Result<Response, AgentError>", ("result", ("struct", "Response"), ("error", "AgentError"))),
        ("ModelBuilder", ("handle", "ModelBuilder")), ("()", ("tuple", ())),
        ("Memory?", ("nilable", ("handle", "MemoryRef"))),
    ],
)  # fmt: skip
def test_types_are_parsed(text: str, tree: object) -> None:
    assert parse_type(text) == tree


def test_defaults_and_variadics_are_parsed() -> None:
    signature = parse_signature('f(a: Int = -1, b: Bool = true, c: String = "x, y", d: Any = nil) -> Nil')
    assert [p.default for p in signature.parameters] == [-1, True, "x, y", None]
    (values,) = FUNCTIONS["print"].parameters
    assert values.variadic and values.type == ("any",)


@pytest.mark.parametrize("text", ["f(a Int) -> Nil", "f(a: Int)", "f(a: Int) -> Nil Nil", "f(a: Array<Int) -> Nil"])
def test_a_malformed_signature_is_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_signature(text)


def test_tokens() -> None:
    assert tokens('f(a: Any..., b: String = "a b") -> Int?') == [
        "f", "(", "a", ":", "Any", "...", ",", "b", ":", "String", "=", '"a b"', ")", "->", "Int", "?",
    ]  # fmt: skip


def test_a_second_row_of_one_name_is_refused() -> None:
    with pytest.raises(ValueError, match="defined twice"):
        method("String", "len() -> Int", clause="L-6.3.1")(len)
    with pytest.raises(ValueError, match="defined twice"):
        prelude("Array<T>", "map<U>(f: fn(T) -> U) -> Array<U>", clause="L-6.4.10", doc="", source="self")
    with pytest.raises(ValueError, match="defined twice"):
        enter(Row("", "len(x: Any) -> Int", clause="L-6.1.2"), "function")


def test_kinds_and_lookup() -> None:
    values = [1, 1.0, "", True, None, (), Array([]), Map({}), RangeValue(0, 1), Some(1), NONE, Ok(1)]
    assert [KIND_OF[type(v)] for v in values] == [
        "Int", "Float", "String", "Bool", "Nil", "Tuple", "Array", "Map", "Range", "Option", "Option", "Result",
    ]  # fmt: skip
    assert KIND_OF[Prompt] == "Prompt"
    assert lookup("Array", "nope") is None and lookup("", "len") is FUNCTIONS["len"]
    assert lookup("Struct", "to_string") is METHODS["Any", "to_string"]
    assert "to_string" in method_names("Map") and "has" in method_names("Map") and "push" not in method_names("Map")


def test_mut_marks_exactly_what_the_language_lists() -> None:
    marked = {(row.receiver, row.name) for row in ROWS if row.mut}
    array = {"push", "pop", "insert", "remove", "clear", "reverse", "sort", "sort_by"}
    others = {"Map": ("set", "delete", "clear"), "Set": ("insert", "remove"), "Queue": ("enqueue", "dequeue"),
              "Stack": ("push", "pop")}  # fmt: skip
    assert marked == {("Array", name) for name in array} | {(kind, name) for kind in others for name in others[kind]}


def test_functions_that_call_back_are_written_in_the_language() -> None:
    for row in ROWS:
        if row.kind == "handle" or row.receiver in ("StoreWrites", "StreamReads"):  # their callers are not programs
            continue
        takes_function = any((p.type[1] if p.type[0] == "nilable" else p.type)[0] == "fn" for p in row.parameters)
        if row.receiver == "Index" and row.name in ("add", "add_all"):  # they call the functions of the declaration
            takes_function = True
        assert takes_function == (row.kind == "prelude")
