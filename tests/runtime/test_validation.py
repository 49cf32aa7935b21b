"""Validation: every violation, in field order, with the exact texts (O-2.14 to O-2.29)."""

import pytest
from concerto.runtime.schema.validation import (
    NONE,
    Accepted,
    retries_exhausted,
    schema_failure,
    truncated_violation,
    validate,
    validate_reply,
    validator_violation,
)


def field(name, kind, optional=False, **default):
    return [name, kind, optional, "default" in default, default.get("default"), None]


def schema(*fields, name="S", modes=()):
    return ["object", name, list(modes), list(fields)]


def one(kind, value, **options):
    """The node of a single field, or the texts of its violations."""
    outcome = validate(schema(field("f", kind, **options.pop("field", {})), **options), {"f": value})
    if isinstance(outcome, Accepted):
        return outcome.tree[2][0][1]
    return [violation.text for violation in outcome]


@pytest.mark.parametrize(
    ("kind", "value", "node"),
    [
        (["string"], "x", "x"),
        (["int"], 5, 5),
        (["int"], 5.0, 5),
        (["int"], 2**63 - 1, 2**63 - 1),
        (["float"], 5, 5.0),
        (["float"], 10**300, 1e300),
        (["bool"], True, True),
        (["nil"], None, None),
        (["any"], {"a": [1, None]}, ("any", {"a": [1, None]})),
        (["enum", ["a", "b"]], "b", "b"),
        (["enum", ["Red"], "Color"], "Red", ("enum", "Color", "Red")),
        (["array", ["int"]], [1, 2.0], ("array", [1, 2])),
        (["map", ["int"]], {"k": 1}, ("map", [("k", 1)])),
    ],
)
def test_accepted(kind, value, node):
    found = one(kind, value)
    assert found == node
    assert type(found) is type(node)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (["string"], 1, "$.f: expected String, got integer"),
        (["int"], 1.5, "$.f: expected Int, got number"),
        (["int"], 2**63, "$.f: expected Int, got integer beyond 64 bits"),
        (["int"], True, "$.f: expected Int, got boolean"),
        (["float"], False, "$.f: expected Float, got boolean"),
        (["bool"], 0, "$.f: expected Bool, got integer"),
        (["string"], None, "$.f: expected String, got null"),
        (["nil"], "", "$.f: expected Nil, got string"),
        (["array", ["int"]], {}, "$.f: expected Array<Int>, got object"),
        (["map", ["int"]], [], "$.f: expected Map<String, Int>, got array"),
        (["enum", ["a", "b"]], "c", '$.f: expected one of "a", "b"; got "c"'),
        (["enum", ["a", "b"]], 1, '$.f: expected "a" | "b", got integer'),
        (schema(name="T"), "x", "$.f: expected T, got string"),
        (["array", ["int"]], [1, "x"], "$.f[1]: expected Int, got string"),
        (["map", ["int"]], {"k": "x"}, "$.f.k: expected Int, got string"),
    ],
)
def test_refused(kind, value, text):
    assert one(kind, value) == [text]


def test_all_violations_in_field_order():
    item = schema(field("b", ["int"]), name="Item")
    kind = schema(field("x", ["string"]), field("a", ["array", item]), field("e", ["enum", ["p"]]))
    outcome = validate(kind, {"e": "q", "a": [{"b": 1}, {"b": "no"}, {}], "unknown": 1})
    assert [violation.text for violation in outcome] == [
        "$.x: missing required field",
        "$.a[1].b: expected Int, got string",
        "$.a[2].b: missing required field",
        '$.e: expected one of "p"; got "q"',
    ]
    assert [violation.code for violation in outcome] == ["missing", "type", "missing", "enum"]


def test_undeclared_keys_are_dropped():
    outcome = validate(schema(field("a", ["int"])), {"z": 1, "a": 2})
    assert outcome.tree == ("object", "S", [("a", 2)])


def test_absent_and_null():
    kind = schema(field("o", ["int"], True), field("d", ["array", ["int"]], default=[1]), field("r", ["nil"]))
    for value in ({"r": None}, {"o": None, "d": None, "r": None}):
        assert validate(kind, value).tree[2] == [("o", NONE), ("d", ("array", [1])), ("r", None)]
    given = validate(kind, {"o": 3, "d": [], "r": None})
    assert given.tree[2][:2] == [("o", ("some", 3)), ("d", ("array", []))]


def test_partial_makes_its_own_fields_optional():
    inner = schema(field("x", ["int"]), name="I")
    kind = schema(field("a", ["int"]), field("i", inner), modes=["partial"])
    assert validate(kind, {}).tree[2] == [("a", NONE), ("i", NONE)]
    assert [v.text for v in validate(kind, {"i": {}})] == ["$.i.x: missing required field"]


@pytest.mark.parametrize(
    ("kind", "value", "node"),
    [
        (["int"], "12", 12),
        (["int"], "-1_000", -1000),
        (["int"], "0xFF", 255),
        (["int"], "-0X_1f_", -31),
        (["int"], "0b1_", 1),
        (["int"], "0O17", 15),
        (["int"], "5.0", 5),
        (["float"], "2", 2.0),
        (["float"], "1.5e-3", 0.0015),
        (["bool"], "true", True),
        (["string"], 5, "5"),
        (["string"], 2.5, "2.5"),
        (["string"], False, "false"),
        (["array", ["int"]], ["1"], ("array", [1])),
    ],
)
def test_coerce(kind, value, node):
    found = one(kind, value, modes=["coerce"])
    assert found == node and type(found) is type(node)
    assert one(kind, value) != node


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (["int"], "0x1F "), (["int"], "0x_"), (["int"], "0o8"), (["int"], "+0x1"), (["int"], "0x-1"),
        (["int"], "5.5"), (["int"], " 5"), (["int"], "1."), (["float"], "1e"), (["float"], "1e999"), (["bool"], "yes"),
    ],
)  # fmt: skip
def test_coerce_has_limits(kind, value):
    [text] = one(kind, value, modes=["coerce"])
    assert text.endswith("got string")


def test_coerce_does_not_reach_nested_schemas():
    inner = schema(field("x", ["int"]), name="I")
    outcome = validate(schema(field("i", inner), modes=["coerce"]), {"i": {"x": "1"}})
    assert [v.text for v in outcome] == ["$.i.x: expected Int, got string"]


def test_recursion():
    node = schema(field("v", ["int"]), field("kids", ["array", ["ref", "Node"]]), name="Node")
    accepted = validate(node, {"v": 1, "kids": [{"v": 2, "kids": []}]})
    assert accepted.tree[2][1] == ("kids", ("array", [("object", "Node", [("v", 2), ("kids", ("array", []))])]))
    refused = validate(node, {"v": 1, "kids": [{"v": 2, "kids": [{"kids": []}]}]})
    assert [v.text for v in refused] == ["$.kids[0].kids[0].v: missing required field"]


@pytest.mark.parametrize(
    ("members", "value", "member"),
    [
        (["ONE", "TWO"], "two", "TWO"),
        (["Straße", "Platz"], "STRASSE", "Straße"),
        (["a", "A"], "A", "A"),
        (["on", "On"], "ON", None),
        (["one"], "one ", None),
        (["one"], "o", None),
    ],
)
def test_letter_case_in_a_reply(members, value, member):
    kind = schema(field("f", ["array", ["enum", members]]))
    outcome = validate_reply(kind, {"f": [value]})
    if member is None:
        assert [v.code for v in outcome] == ["enum"]
    else:
        assert outcome.tree[2] == [("f", ("array", [member]))] and outcome.respelt == (member != value)
    assert isinstance(validate(kind, {"f": [value]}), Accepted) == (value in members)


def test_a_reply_without_any_declared_key():
    inner = schema(field("x", ["int"], True), name="I")
    kind = schema(field("a", ["int"], True), field("i", inner, True), field("d", ["int"], default=1))
    assert [v.text for v in validate_reply(kind, {"z": 1})] == ['$: has none of the fields "a", "i", "d"']
    assert [v.text for v in validate_reply(kind, {"i": {"z": 1}})] == ['$.i: has none of the fields "x"']
    for value in ({}, {"i": {}}, {"a": None, "z": 1}, {"i": None}):
        assert isinstance(validate_reply(kind, value), Accepted)
    assert [v.text for v in validate_reply(schema(field("a", ["int"])), {"z": 1})] == ["$.a: missing required field"]
    assert isinstance(validate_reply(schema(), {"z": 1}), Accepted)
    assert isinstance(validate(kind, {"z": 1}), Accepted)
    failure = schema_failure(validate_reply(kind, {"z": 1}), "raw")
    assert (failure.variant, failure.fields["expected"]) == ("MissingField", ["a", "i", "d"])


@pytest.mark.parametrize(
    ("value", "variant", "fields"),
    [
        ({}, "MissingField", {"field": "f", "path": "$.f"}),
        ({"f": 1}, "TypeMismatch", {"field": "f", "expected": "String", "actual": "integer"}),
    ],
)
def test_the_first_violation_names_the_error(value, variant, fields):
    failure = schema_failure(validate(schema(field("f", ["string"])), value), "raw")
    assert (failure.kind, failure.variant) == ("SchemaError", variant)
    assert failure.fields.items() >= fields.items()
    assert failure.fields["raw_response"] == "raw"
    assert failure.fields["violations"][0]["text"] == failure.message


@pytest.mark.parametrize(
    ("key", "field_name"),
    [("a", "a"), ("a.b", 'm["a.b"]'), ('].x["1', r'm["].x[\"1"]'), ("", 'm[""]'), ("x.y[0]", 'm["x.y[0]"]')],
)
def test_the_field_of_a_key_of_a_map(key, field_name):
    refused = validate(schema(field("m", ["map", ["int"]])), {"m": {key: "no"}})
    assert schema_failure(refused, "raw").fields["field"] == field_name
    inner = schema(field("c", ["int"]), name="I")
    refused = validate(schema(field("m", ["map", ["array", inner]])), {"m": {key: [{}]}})
    assert schema_failure(refused, "raw").fields["field"] == "c"


def test_other_variants():
    refused = validate(schema(field("f", ["enum", ["a"]])), {"f": "b"})
    failure = schema_failure(refused, "raw")
    assert (failure.variant, failure.fields["allowed"], failure.fields["actual"]) == ("EnumViolation", ["a"], "b")
    assert schema_failure([validator_violation("$", "no good")], "r").variant == "ValidationFailed"
    truncated = truncated_violation()
    assert truncated.text == "$: the reply was cut off at the token limit"
    assert schema_failure([truncated], "r").variant == "ParseError"


def test_exhausted_retries_carry_the_last_error():
    last = schema_failure([validator_violation("$", "no good")], "raw")
    failure = retries_exhausted(last, 3, "m", "lab")
    assert failure.variant == "MaxRetriesExceeded"
    assert failure.fields["attempts"] == 3
    assert failure.fields["last_error"] is last
    assert failure.fields["raw_response"] == "raw"
