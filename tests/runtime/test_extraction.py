"""JSON under the bounds of G-9.2 and tolerant extraction (O-2.40, O-2.54 to O-2.57)."""

import json
from time import process_time

import pytest
from concerto.runtime.access.secrets import clean_text
from concerto.runtime.schema.extraction import extract, read, without_trailing_commas
from concerto.runtime.schema.lenient_json import JsonRefused, compact_json, digest, parse_json
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
        ('{"a": 1,}: {"b": 2}', {"a": 1}, True),
        ('use {braces} like {"a": 1}', {"a": 1}, True),
        ('{thought: {"a": 1}}', {"thought": {"a": 1}}, True),
        ('a lone `{` or `]`, then {"a": 1}', {"a": 1}, True),
        ('[{"a": 1}]', {"a": 1}, True),
        ('[[ {"a": 1}, ]]', {"a": 1}, True),
        ('note [1] says {"a": 1} [2]', {"a": 1}, True),
        ('{"a": 1}}', {"a": 1}, True),
        ('Here:\n```\n{"a": 1}]\n```', {"a": 1}, True),
        ('"{"a": 1}"', {"a": 1}, True),
    ],
)
def test_extraction(text, value, repaired):
    found = extract(text)
    assert (found.value, found.repaired) == (value, repaired)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it\\'s \"x\"'}", {"a": 'it\'s "x"'}),
        ('{"a": "it\\\'s"}', {"a": "it's"}),
        ("{“a”: ‘b \"c\"’}", {"a": 'b "c"'}),
        ("{„a“: ”b”, ’c’: „d”}", {"a": "b", "c": "d"}),
        (r'"{\"a\": \"\\\"\"}"', {"a": '"'}),
        ("{a: 1, $b_2: 2, c-d: 3, é: 4}", {"a": 1, "$b_2": 2, "c-d": 3, "é": 4}),
        ('{"a": True, "b": [False, None]}', {"a": True, "b": [False, None]}),
        ('{"a": "one\ntwo\tthree\x01"}', {"a": "one\ntwo\tthree\x01"}),
        ('{"a": [1_000, .5, +1, -.5e3, +1_0.2_5], "b": 0}', {"a": [1000, 0.5, 1, -500.0, 10.25], "b": 0}),
        ('{,"a": 1,, "b": [1,],}', {"a": 1, "b": [1]}),
        ('{"a": [,]}', {"a": []}),
        ('// head\n{"a": 1, // it\'s "one"}\n # and\n "b": /* { */ 2}', {"a": 1, "b": 2}),
        ('{"a": "// no # comment /* here */",}', {"a": "// no # comment /* here */"}),
        ('{\xa0"a"\u2003:\u200b1\x0b}', {"a": 1}),
        ("{'f': '```\n{\"a\": 1}\n```', 'g': '<think>'}", {"f": '```\n{"a": 1}\n```', "g": "<think>"}),
        ('```json\n{"f": "\n```py\nx = {}\n```\n", "g": 1}\n```', {"f": "\n```py\nx = {}\n```\n", "g": 1}),
    ],
)
def test_other_spellings(text, value):
    found = extract(text)
    assert (found.value, found.repaired) == (value, True)
    assert [type(v) for v in found.value.values()] == [type(v) for v in value.values()]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1', '{"a": [1}', '{"a": b}', '{"a": b c}', '{"a" 1}', '{"a": 1 "b": 2}', '{"a": "say "hi" now"}', "{'a': 'it's'}",
        "{“a”: “say “hi” now”}", '{"a": 01}', '{"a": 5.}', '{"a": 0x1F}', '{"a": 1__0}', '{"a": _1}', '{"a": 1_}', '{"a": +-1}',
        '{"a": [+7 +7]}', '{"a": [1/**/2]}', '{"a": [1_0 2]}',
        '{"a": 1,000}', '{"a": 2024-01-02}', '{"a": [1,,2]}', '{"a": [,1]}', '{"a": [1,,]}', '{"a":, "b": 1}', '{"a": "C:\\dir"}',
        '{"a": (1, 2)}', '{"a": TRUE}', '{"a": undefined}', "{True: 1}", "{null: 1}", "{1: 2}", "{a.b: 1}", "{first name: 1}",
        '{"a": b"x"}', '{"a": /* open 1}', '{"a": [1, // ...\n]}', '{"a": [1, /* … */ 2]}', '{"a": [1, ...]}',
        '{"a": [\n#fff,\n#000\n]}',
        "{'a': NaN}", "{'a': -Infinity}", "{'a': 1e999}", "{'a': 1, 'a': 2}", '{"a": 1 // the end}',
        "{'a': " + "[" * 64 + "]" * 64 + "}", "{'a': [" + "0," * 100_000 + "0]}", '{"a": """x"""}', '{"a": `x`}', '{"a"： 1}',
    ],
)  # fmt: skip
def test_nothing_else_is_read(text):
    with pytest.raises(JsonRefused):
        extract(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "root", "children": [{"name": "leaf", "children": []}, {"name": "x',
        '{"a": 1 "b": {"key": "inner"}}',
        '{first name: 1, "b": {"key": "inner"}, "key": "outer"}',
        '[{"key": "a"}, {"key": "b"}]',
        '[1, {"key": "a"}]',
        '[{"key": "a"}, {"key": "b',
        '[{"key": "a"}',
        "don't { open: {\"a\": 1}",
        '"name": "root", "sub": {"key": "inner"}}',
        '"sub": {"key": "inner"}',
        'sub: {"key": "inner"}, key: 1',
        'sub:\n{"key": "inner"}}',
        '{"key": "inner"}}}',
        '{"sub": {"key": "inner"}}, "key": "outer"}',
        '"items": [{"key": "x"}]}',
        '1, 2], {"key": "x"}',
        '{"text": "he said "}" and {"key": "inner"}", "key": "outer"}',
        '{"text": "he said "}" and so on',
        '{"key": "a"} {"key": b}',
        '{"key": "a"}\n{"key": "b',
        '{"text": "```json\n{"key": "inner"}\n```", "key": "outer"}',
        '<think>{"key": "draft"}',
        '<THINKING>{"key": "draft"}</think>',
        '{"key": "draft"}</think>',
        '{\'a: "x", "b": {"key": "inner"}}',
        '{"a": 1], "b": {"key": "inner"}, "key": "o',
    ],
)
def test_no_part_of_something_stands_in_for_it(text):
    with pytest.raises(JsonRefused):
        extract(text)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ('The schema is {"type": …}. {"key":"v"}', [[{"key": "v"}]]),
        ('{"type": "object"}\n{"key": "v"}', [[{"type": "object"}, {"key": "v"}]]),
        ('{"a": 1} and {"a": 2}', [[{"a": 1}], [{"a": 2}]]),
        ('1. {"a": 1}\n2. {"a": 2}', [[{"a": 1}, {"a": 2}]]),
        ('x {"a": 1}\n```\n{"a": 2}\n```\n', [[{"a": 2}], [{"a": 1}]]),
        ('```json\n{"a": 1}\n```\n{"a": 2}', [[{"a": 1}], [{"a": 2}]]),
        ('first {}, then {"a": 1}', [[{"a": 1}], [{}]]),
        ('{"a": 1}<think>{</think>{"a": 2}', [[{"a": 1}, {"a": 2}]]),
        ('so {"a": 1}? no </think> {"a": 2}', [[{"a": 2}]]),
        ('<Reasoning>{"a": 1} [</reasoning> {"a": 2}', [[{"a": 2}]]),
        ('<think time="3">{"a": 1}</think>{"a": 2}', [[{"a": 2}]]),
        ('I use `<think>` tags. {"a": 1}', [[{"a": 1}]]),
        ('{"sub": {"a": 1}}}', []),
    ],
)
def test_runs_of_objects(text, runs):
    assert read(text).runs == runs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the text is empty"),
        ("no json here", "no JSON object in the text"),
        ("so { it began", "unexpected end of text"),
        ("[1, 2]", "the value is not an object"),
        ('[{"a": 1}, {"a": 2}]', "a list of 2 values, not one object"),
        ('{"a": 1, "a": 2}', 'duplicate key "a"'),
        ("{'a': 1, 'a': 2}", 'duplicate key "a"'),
        ('{"a": 1', "unexpected end of text"),
        ('{"a": 1 "b": 2}', "unexpected text at line 1, column 9"),
        ('{"a": 1}' + "[1]" * 1000, "more than 1000 pairs of brackets in prose"),
    ],
)
def test_why_there_is_none(text, expected):
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


MESSY = st.text("{}[]\"',:\\`\n a1_.+/*#“”<>", max_size=60)


@given(MESSY)
def test_any_text_gives_an_object_or_a_reason(text):
    try:
        assert isinstance(extract(text).value, dict)
    except JsonRefused as refused:
        assert refused.reason


TEXTS = MESSY | st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4).map(json.dumps)


@given(TEXTS, st.sampled_from(["", " ", "\ufeff\n"]))
def test_what_is_json_is_read_as_json(text, around):
    try:
        value = parse_json(text)
    except JsonRefused:
        return
    if isinstance(value, dict):
        found = read(around + text + around)
        assert found.runs == [[value]] and not found.repaired and not found.unclosed


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4), st.booleans(), st.data())
def test_a_cut_object_is_nothing(value, indented, data):
    text = json.dumps(value, indent=1 if indented else None)
    cut = data.draw(st.integers(0, len(text) - 1))
    assert read(text[:cut]).runs == []


@pytest.mark.parametrize(
    "piece",
    [
        '{"', "{", '{"\\"{', '{"a":', '"\\', '", {', "```\n{\n", '{x {"a":1 x}', "},]", "{" * 50 + "x" + "}" * 49,
        "{'", "{'}", "{'\"{'}", "{\"'", "{“", "{/*", "{/*}", "[/*]", "{//", "{//}\n", "{#\n", "{ # x", "{'a\\", "{‘a\\’}",
        "<think>", "<think></thought>", "</think>", "<thinking>{</thinking>", "```", "~~~\n", "```\n{", "    ", "\n   `",
        "{,", "{a:", "{a ", "[1_", "{\u200b", "[", "[[]", "[{},", "{}],", "{x}", "{:}", "{x:{}}", "{b:1}", '{"a":[,', "+", "[+",
        ',"a', "{},'", '{},"', '{"a":1} ', "{}\n ", '"a":{}', "[{}]", "]", "x}",
    ],
)  # fmt: skip
def test_hostile_texts_take_linear_time(piece):
    def seconds(size):
        text = "```\n{\"a\": 1}\n```\n" + piece * (size // len(piece))
        times = []
        for _ in range(3):
            begin = process_time()
            read(text)
            times.append(process_time() - begin)
        return min(times)

    # Eight times the text: quadratic work would take sixty-four times as long.
    assert seconds(32_000) < 24 * seconds(4_000) + 0.01


def test_a_string_without_end_among_many_values_takes_linear_time():
    begin = process_time()
    assert reason("[" + "," * 200_001 + '"' + '\\"' * 100_000) == "more than 100000 values"
    assert process_time() - begin < 2


def test_a_long_fenced_reply_with_trailing_commas_is_quick():
    items = [{"id": n, "name": f"item {n}", "tags": ["a", 'b"c']} for n in range(600)]
    body = json.dumps({"items": items}, indent=1).replace("}\n ]", "},\n ]")
    reply = f"Sure, here {{it}} is:\n```json\n{body}\n```\nBye."
    assert extract(reply).value == {"items": items}
