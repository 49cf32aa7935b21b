"""JSON under the bounds of G-9.2 and tolerant extraction (O-2.40)."""

import cProfile
import json

import pytest
from concerto.runtime.outside_text import clean_text
from concerto.runtime.schema.extraction import extract, without_trailing_commas
from concerto.runtime.schema.json_text import JsonRefused, compact_json, digest, parse_json
from hypothesis import given
from hypothesis import strategies as st


def reason(text):
    with pytest.raises(JsonRefused) as refused:
        parse_json(text)
    return refused.value.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "unexpected end of text"),
        ('{"a": 1', "unexpected end of text"),
        ('{"a": "x', "unexpected end of text"),
        ('{"a":\n  b}', "unexpected text at line 2, column 3"),
        ("{} {}", "text after the value at line 1, column 4"),
        ('{"a": 1, "a": 2}', 'duplicate key "a"'),
        ("[NaN]", "NaN is not a JSON value"),
        ("-Infinity", "-Infinity is not a JSON value"),
        ("1e999", "a number beyond Float"),
        ("1" * 400, "a number beyond Float"),
        ("1" * 5000, "a number beyond Float"),
        ("[" * 65 + "]" * 65, "nested deeper than 64"),
        ("[" * 100_000, "nested deeper than 64"),
        ("[" + "0," * 100_000 + "0]", "more than 100000 values"),
    ],
)
def test_refused_json(text, expected):
    assert reason(text) == expected


def test_the_bounds_themselves_are_fine():
    assert parse_json("[" * 64 + "]" * 64)
    assert len(parse_json("[" + "0," * 99_998 + "0]")) == 99_999
    assert parse_json("1" + "0" * 308) == 10**308


def test_lone_surrogates_and_hidden_tags_never_get_in():
    assert parse_json(r'{"\ud800k": "a\udfffb \ud83d\ude00"}') == {"\ufffdk": "a\ufffdb \U0001f600"}
    assert parse_json(r'"x\udb40\udc41y"') == "xy"
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e007f"
    assert clean_text(f"{flag} \U000e0041a") == f"{flag} a"


@given(st.text(st.characters(), max_size=40))
def test_cleaned_text_encodes(text):
    cleaned = clean_text(text)
    cleaned.encode()
    assert clean_text(cleaned) == cleaned


def test_compact_json_and_digest():
    assert compact_json({"b": [1, 2.0, None, True], "a": "ü\n"}) == '{"b":[1,2.0,null,true],"a":"ü\\n"}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize(
    ("text", "value", "repaired"),
    [
        ('{"a": 1}', {"a": 1}, False),
        (' \ufeff{"a": 1}\n', {"a": 1}, False),
        ('Here:\n```json\n{"a": 1}\n```\nbye', {"a": 1}, True),
        ('~~~\n{"a": 1}\n~~~', {"a": 1}, True),
        ('```\nnot json\n```\n```json\n{"a": 2}\n```', {"a": 2}, True),
        ('```json\n{"a": 1}', {"a": 1}, True),
        ('```json\n{"a": "x ``` y"}\n```', {"a": "x ``` y"}, True),
        ('```json {"a": 1}```', {"a": 1}, True),
        ('I think {"a": {"b": "}"}} is right {"c": 1}', {"a": {"b": "}"}}, True),
        ('{"a": 1,}', {"a": 1}, True),
        ('{"a": [1, 2,\n], "s": ",]",\n}', {"a": [1, 2], "s": ",]"}, True),
        ('{"a": {"b": 1},}', {"a": {"b": 1}}, True),
        ('{"a": 1,} {"b": 2}', {"b": 2}, True),
        ('use {braces} like {"a": 1}', {"a": 1}, True),
        ('{thought: {"a": 1}}', {"a": 1}, True),
        ('the "set {": {"a":1}', {"a": 1}, True),
        ('don\'t { open: {"a": 1}', {"a": 1}, True),
        (r'say \"{\" then {"a": "\"}"}', {"a": '"}'}, True),
        ('[{"a": 1}]', {"a": 1}, True),
    ],
)
def test_extraction(text, value, repaired):
    found = extract(text)
    assert (found.value, found.repaired) == (value, repaired)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the text is empty"),
        ("no json here", "no JSON object in the text"),
        ("[1, 2]", "the value is not an object"),
        ('{"a": 1, "a": 2}', 'duplicate key "a"'),
        ('{"a": 1', "unexpected end of text"),
        ("{'a': 1}", "unexpected text at line 1, column 2"),
        ('{"a": 1 "b": 2}', "unexpected text at line 1, column 9"),
        ('{"a": 1,,}', "unexpected text at line 1, column 9"),
    ],
)
def test_no_other_repair(text, expected):
    with pytest.raises(JsonRefused) as refused:
        extract(text)
    assert refused.value.reason == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4), st.text("abc \n", max_size=10))
def test_objects_in_prose_are_found(value, prose):
    text = json.dumps(value)
    expected = json.loads(text, object_hook=lambda pairs: {clean_text(k): v for k, v in pairs.items()})
    assert extract(f"{prose} {text} {prose}").value == parse_json(text)
    assert len(expected) == len(parse_json(text))
    assert without_trailing_commas(text) == text


@given(st.text('{}[]",:\\`\n a1', max_size=60))
def test_any_text_gives_an_object_or_a_reason(text):
    try:
        assert isinstance(extract(text).value, dict)
    except JsonRefused as refused:
        assert refused.reason


@pytest.mark.parametrize(
    "piece", ['{"', "{", '{"\\"{', '{"a":', '"\\', '", {', "```\n{\n", '{x {"a":1 x}', "},]", "{" * 50 + "x" + "}" * 49]
)
def test_hostile_texts_take_linear_time(piece):
    def calls(size):
        """Calls of Python and of C that the extraction makes."""
        text = piece * (size // len(piece))
        profile = cProfile.Profile()
        with pytest.raises(JsonRefused):
            profile.runcall(extract, text)
        return sum(entry.callcount for entry in profile.getstats())

    # Eight times the text: quadratic work would take sixty-four times as many.
    assert calls(80_000) < 12 * calls(10_000) + 100


def test_a_long_fenced_reply_with_trailing_commas_is_quick():
    items = [{"id": n, "name": f"item {n}", "tags": ["a", 'b"c']} for n in range(600)]
    body = json.dumps({"items": items}, indent=1).replace("}\n ]", "},\n ]")
    reply = f"Sure, here {{it}} is:\n```json\n{body}\n```\nBye."
    assert extract(reply).value == {"items": items}
