"""JSON Schema of schema types: plain and strict forms, to the order of keys (O-2.30 to O-2.39, O-1.104)."""

import json

import pytest
from concerto.vm.schema import is_recursive, is_strict_form, plain_form, strict_form, type_text, wire_name


def field(name, kind, *, optional=False, description=None, **default):
    return [name, kind, optional, "default" in default, default.get("default"), description]


def schema(name, *fields, modes=()):
    return ["object", name, list(modes), list(fields)]


def text(form):
    return json.dumps(form, separators=(",", ":"))


TICKET = schema(
    "Ticket",
    field("title", ["string"], description="one line"),
    field("kind", ["enum", ["bug", "task"]]),
    field("due", ["string"], optional=True),
    field("tries", ["int"], default=1),
    field("tags", ["array", ["string"]]),
)


def test_plain_form():
    assert text(plain_form(TICKET)) == (
        '{"type":"object","properties":{'
        '"title":{"type":"string","description":"one line"},'
        '"kind":{"type":"string","enum":["bug","task"]},'
        '"due":{"type":"string"},'
        '"tries":{"type":"integer","default":1},'
        '"tags":{"type":"array","items":{"type":"string"}}},'
        '"required":["title","kind","tags"]}'
    )


def test_strict_form():
    assert text(strict_form(TICKET)) == (
        '{"type":"object","properties":{'
        '"title":{"type":"string","description":"one line"},'
        '"kind":{"type":"string","enum":["bug","task"]},'
        '"due":{"anyOf":[{"type":"string"},{"type":"null"}]},'
        '"tries":{"anyOf":[{"type":"integer"},{"type":"null"}]},'
        '"tags":{"type":"array","items":{"type":"string"}}},'
        '"required":["title","kind","due","tries","tags"],"additionalProperties":false}'
    )


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (["string"], {"type": "string"}),
        (["int"], {"type": "integer"}),
        (["float"], {"type": "number"}),
        (["bool"], {"type": "boolean"}),
        (["nil"], {"type": "null"}),
        (["any"], {}),
        (["map", ["int"]], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (["enum", ["A"], "Color"], {"type": "string", "enum": ["A"]}),
    ],
)
def test_each_type(kind, form):
    assert plain_form(schema("S", field("f", kind)))["properties"]["f"] == form


def test_description_stands_behind_type():
    described = plain_form(schema("S", field("f", ["array", ["int"]], description="d", default=[])))
    assert text(described["properties"]["f"]) == ('{"type":"array","description":"d","items":{"type":"integer"},"default":[]}')
    nullable = strict_form(schema("S", field("f", ["int"], optional=True, description="d")))
    assert nullable is not None
    assert text(nullable["properties"]["f"]) == '{"description":"d","anyOf":[{"type":"integer"},{"type":"null"}]}'


@pytest.mark.parametrize("open_part", [["map", ["string"]], ["any"], ["array", ["any"]]])
def test_maps_and_any_have_no_strict_form(open_part):
    inner = schema("Inner", field("m", open_part))
    assert strict_form(inner) is None
    assert strict_form(schema("Outer", field("i", inner))) is None


def test_nested_schemas_are_inlined():
    inner = schema("Inner", field("x", ["int"]))
    strict = strict_form(schema("Outer", field("a", inner), field("b", ["array", inner])))
    assert strict is not None and "$defs" not in strict
    assert strict["properties"]["a"] == strict["properties"]["b"]["items"]
    assert strict["properties"]["a"]["additionalProperties"] is False


NODE = schema("Node", field("value", ["int"]), field("children", ["array", ["ref", "Node"]]))


def test_a_recursive_schema_refers_to_its_definition():
    plain = plain_form(NODE)
    assert list(plain) == ["type", "properties", "required", "$defs"]
    assert plain["properties"]["children"] == {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert plain["$defs"] == {"Node": {key: plain[key] for key in ("type", "properties", "required")}}
    assert is_recursive(NODE) and not is_recursive(TICKET)


def test_mutual_recursion_and_generic_names():
    b = schema("B<Int>", field("back", ["ref", "A"], optional=True))
    a = schema("A", field("bs", ["array", b]))
    a_and_b = schema("Root", field("a", a), field("b", schema("B<Int>", field("back", a, optional=True))))
    plain = plain_form(a_and_b)
    assert list(plain["$defs"]) == ["A"]
    strict = strict_form(a_and_b)
    assert strict is not None and strict["properties"]["a"] == {"$ref": "#/$defs/A"}


def test_modes():
    partial = plain_form(schema("S", field("a", ["int"]), field("b", ["int"], default=2), modes=["partial"]))
    assert partial["required"] == []
    assert partial["properties"]["b"]["default"] == 2
    nested = plain_form(schema("S", field("i", schema("I", field("x", ["int"]))), modes=["partial"]))
    assert nested["properties"]["i"]["required"] == ["x"]


def test_definitions_have_names_of_their_own():
    """Names that differ in what providers do not accept, or behind the 64th character."""
    names = ["A<Int>", "A_Int_", "A_Int__2", "A,Int,", "x" * 70 + "1", "x" * 70 + "2"]
    inner = [[f"f{at}", ["object", name, [], [[name, ["ref", name], True, False, None, None]]], True, False, None, None]
             for at, name in enumerate(names)]  # fmt: skip
    for document in (plain_form(["object", "Root", [], inner]), strict_form(["object", "Root", [], inner])):
        assert [list(one["properties"]) for one in document["$defs"].values()] == [[name] for name in names]
        assert all(len(key) <= 64 for key in document["$defs"])
        for at, (key, one) in enumerate(document["$defs"].items()):
            assert f"'#/$defs/{key}'" in str(document["properties"][f"f{at}"])
            assert f"'#/$defs/{key}'" in str(one)


def test_wire_names():
    assert wire_name("Ticket<Int, Map<String, A>>") == "Ticket_Int__Map_String__A__"
    assert wire_name("Ärger-1_x") == "_rger-1_x"
    assert len(wire_name("a" * 100)) == 64


def test_types_as_the_program_writes_them():
    assert type_text(["map", ["array", ["enum", ["a", "b"]]]]) == 'Map<String, Array<"a" | "b">>'
    assert type_text(["enum", ["A"], "Color"]) == "Color"
    assert type_text(NODE) == "Node"


def test_strict_documents_are_recognised():
    strict = strict_form(TICKET)
    assert strict is not None and is_strict_form(strict)
    assert not is_strict_form(plain_form(TICKET))
    assert not is_strict_form(plain_form(schema("S", field("m", ["map", ["int"]]))))


def test_both_forms_are_json_schemas():
    from jsonschema import Draft202012Validator

    for form in (plain_form(TICKET), strict_form(TICKET), plain_form(NODE), strict_form(NODE)):
        Draft202012Validator.check_schema(form)
