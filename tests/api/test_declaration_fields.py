"""What `check` accepts of a field or an argument of a decorator, a run accepts; what it refuses, it refuses at a place, and
manifest and host refuse it in the same words."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import concerto
import pytest
from concerto.compiler.manifest import CONNECTION_KEYS, Manifest
from concerto.runtime.agents.messages import AgentSettings
from concerto.runtime.connections import MODEL_VALUES, check_connections, check_model, stated_connections
from concerto.runtime.errors import ConfigFailure
from concerto.runtime.mcp.served import McpSettings
from concerto.vm import declaration_fields as rows
from concerto.vm.declaration_fields import Field
from hypothesis import given, seed, settings
from hypothesis import strategies as st

MODEL = "{decorators} model M {{ provider: {connection}, {fields} }}"
MAIN = """
pub fn ask() -> Bool {
    let piped = P.run("x").is_ok();
    M.execute("hi").is_ok() && piped
}
"""
PIPELINE = "pipeline P {{ {decorators} stage same(x: String) -> String {{ x }} }}"
REQUIRED = {"mcp": {"transport": '"stdio"', "command": '"true"'}, "agent": {"connector": '"worker"'}}


class Case(NamedTuple):
    """A field in its declaration, the source up to its value and behind it."""

    row: Field
    before: str
    after: str

    def __repr__(self) -> str:
        return self.before.rpartition("\n")[2]


def model(fields: str = 'base: "m"', decorators: str = "", connection: str = "offline") -> str:
    return MODEL.format(fields=fields, decorators=decorators, connection=connection)


def program(declarations: str, stage: str = "") -> str:
    return f"{PIPELINE.format(decorators=stage)}\n{MAIN}{declarations}"


def case(row: Field, source: str) -> Case:
    before, _, after = source.partition("VALUE")
    return Case(row, before, after)


def flattened(fields: dict[str, Field], besides: tuple[str, ...] = ()) -> list[tuple[str, Field]]:
    """Each field that one constant holds, with the text of an entry whose value is `VALUE`."""
    found = []
    for name, row in fields.items():
        if name not in besides and row.kind not in (rows.OBJECT, rows.HEADERS, rows.NAMES, rows.MODELS):
            found.append((f"{name}: VALUE", row))
        found += [(f"{name}: {{ {part}: VALUE }}", inner) for part, inner in (row.parts or {}).items()]
    return found


def connection(entry: str) -> str:
    takers = {"replies": "offline", "cache_prompt": "anthropic", "region": "vertex", "profile": "bedrock"}
    taker = {**takers, "api_version": "azure", "auth": "azure"}.get(entry.partition(":")[0], "openai")
    return f'connect c {{ provider: "{taker}", {entry} }} {model(connection="c")}'


def declared(kind: str, entry: str) -> str:
    name = entry.partition(":")[0]
    given = {**REQUIRED[kind], **({"transport": '"http"', "url": '"http://a"'} if name == "url" else {})}
    if name == "url":
        del given["command"]
    others = [f"{key}: {value}" for key, value in given.items() if key != name]
    return f"{model()} {kind} D {{ {', '.join([entry, *others])} }}"


def decorated(place: str, decorator: str, argument: str) -> str:
    written = f"@{decorator}({argument}: VALUE)"
    if place == "stage":
        return program(model(), written)
    if place == "agent":
        return program(f'{model()} {written} agent D {{ connector: "worker" }}')
    return program(model(decorators=written))


CASES = [
    *(case(row, program(connection(entry))) for entry, row in flattened(rows.CONNECTION, ("provider", "api_key"))),
    *(case(row, program(model(entry))) for entry, row in flattened(rows.MODEL, ("fallback_on",))),
    case(rows.MODEL["fallback_on"], program(f"model N {{ provider: offline }} {model('fallback: [N], fallback_on: VALUE')}")),
    *(case(row, program(declared("agent", entry))) for entry, row in flattened(rows.AGENT, ("connector",))),
    *(case(row, program(declared("mcp", entry))) for entry, row in flattened(rows.MCP, ("transport",))),
    *(
        case(row, decorated(place, decorator, argument))
        for decorator, taken in rows.DECORATORS.items()
        for place in ("model", "agent", "stage")
        if place in taken.places
        for argument, row in taken.arguments_at(place).items()
    ),
]

# Values of the kinds without bounds: what they take and what they do not.
OTHERS: dict[str, tuple[list[Any], list[Any]]] = {
    rows.TEXT: (["x"], [1]),
    rows.ADDRESS: (["http://a", "HTTPS://a:1/b?c"], ["", "a", "http://", "http:///b", "ftp://a", "https://:80", "http://?a"]),
    rows.TEXTS: ([[], ["a"]], [[1], "a"]),
    rows.LIST: ([["x"]], [1]),
    rows.MAP: ([{"a": "b"}], [{"a": 1}, ["a"]]),
    rows.VARIABLES: ([{"a": "b"}], [{"a": 1}, ["a"]]),
    rows.DATA: ([{}, {"seed": 7, "list": [1, {"deep": True}]}], [["a"], 1, "a"]),
    rows.TOOLS: (
        [[], [{"type": "web_search"}], [{"type": "web_search", "max_uses": 1}, {"type": "code_execution", "memory": "1g"}]],
        [1, "web_search", {"type": "web_search"}, [{"type": "search"}], [{"type": "web_search", "max_uses": 0}], [{}]],
    ),
}


def values(row: Field) -> st.SearchStrategy[tuple[Any, bool]]:
    """A value and whether the row takes it, by its bounds and words."""
    if row.kind == rows.WORD:
        return st.sampled_from([(word, True) for word in row.words] + [(row.words[0] + "x", False), ("", False)])
    if row.kind == rows.SWITCH:
        return st.sampled_from([(value, True) for value in (True, False, *row.words)] + [("2h", False), (1, False)])
    if row.kind == rows.WORDS:
        return st.lists(st.sampled_from([*row.words, "weather"]), max_size=5).map(lambda v: (v, "weather" not in v))
    if row.kind in (rows.NUMBER, rows.WHOLE, rows.LIMITS):
        assert row.high is not None
        edges = [row.low - 1, row.low, row.low + 1, row.high - 1, row.high, row.high + 1]
        numbers: st.SearchStrategy[Any] = st.sampled_from(edges) | st.integers(-10, 10**12)
        if row.kind != rows.WHOLE:
            numbers |= st.sampled_from([row.low - 0.5, row.low + 0.001, row.high - 0.5, row.high + 0.5])
        return numbers.map(lambda v: (v, (v > row.low if row.above else v >= row.low) and v <= row.high))
    good, bad = OTHERS[row.kind]
    return st.sampled_from([(value, True) for value in good] + [(value, False) for value in bad])


DRAWN = st.sampled_from(CASES).flatmap(lambda c: st.tuples(st.just(c), values(c.row)))


def runs(made: concerto.Program) -> bool:
    """Whether the settings of each declaration are sound; those of agents and servers without starting them."""
    image = made._linked.image
    for agent in image.agents:
        AgentSettings(agent.name, agent.fields, dict(agent.decorators), {})
    for server in image.mcp:
        McpSettings(server.name, server.fields, {})
    with made.session(offline=True) as session:
        return bool(session.call("ask"))


@seed(1)
@settings(max_examples=400, deadline=None, database=None)
@given(DRAWN)
def test_what_check_accepts_runs_and_what_the_row_forbids_has_a_place(drawn: tuple[Case, tuple[Any, bool]]) -> None:
    (row, before, after), (value, legal) = drawn
    source = f"{before}{json.dumps(value)}{after}"
    assert row.takes(value) is legal
    if legal:
        assert runs(concerto.compile(source)), source
        return
    with pytest.raises(concerto.CompileError) as refused:
        concerto.compile(source)
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    found = [d for d in refused.value.diagnostics if d.severity == "error"]
    assert len(found) == 1 and found[0].code in ("E4004", "E4009"), (source, found)
    assert (found[0].line, found[0].column) >= (line, column), (source, found)


BOUNDED = [(name, part, row) for name, field in rows.CONNECTION.items() for part, row in (field.parts or {"": field}).items()]


@pytest.mark.parametrize(("name", "part", "row"), BOUNDED, ids=lambda x: x if isinstance(x, str) else "")
def test_manifest_and_host_refuse_in_the_words_of_the_row(name: str, part: str, row: Field, tmp_path: Any) -> None:
    wrong = "2h" if row.kind == rows.SWITCH else False
    value: Any = row.high + 1 if row.kind in (rows.WHOLE, rows.NUMBER) and row.high is not None else wrong
    given = {part: value} if part else value
    with pytest.raises(ConfigFailure) as refused:
        check_connections([{"lab": {name: given}}])
    assert refused.value.code == "E4004" and row.says in refused.value.message
    if name != "api_key":
        written = f"{{ {part} = {json.dumps(value)} }}" if part else json.dumps(value)
        path = tmp_path / "Concerto.toml"
        path.write_text(f"[connections.lab]\n{name} = {written}\n", encoding="utf-8")
        messages = [d.message for d in Manifest(str(path)).diagnostics.found]
        says = CONNECTION_KEYS[name].says if not part else row.says
        assert len(messages) == 1 and says in messages[0], messages


@pytest.mark.parametrize("name", [name for name, row in MODEL_VALUES.items() if row.high is not None])
def test_a_foreign_image_is_refused_in_the_words_of_the_row(name: str) -> None:
    row = MODEL_VALUES[name]
    assert row.high is not None
    check_model("M", {name: row.high}, {})
    with pytest.raises(ConfigFailure) as refused:
        check_model("M", {name: row.high + 1}, {})
    assert row.says in refused.value.message


@pytest.mark.parametrize(("place", "decorators"), [("model", {"describe": {}}), ("model", {"effect": {"class": "pure"}})])
def test_a_foreign_image_has_no_decorator_of_another_place(place: str, decorators: dict[str, Any]) -> None:
    with pytest.raises(ConfigFailure):
        check_model("M", {}, decorators)


def test_other_names_and_units_of_a_manifest_and_a_host(tmp_path: Any) -> None:
    """Both hold what a source with the own names and numbers would hold (O-0.12)."""
    policy = {"max": 2, "delay": "1.5s", "max_delay": "0s"}
    written = {"provider": "openai", "timeout": {"first": "250ms"}, "retry_policy": policy}
    held = {
        "provider": "openai", "timeout": {"first": 0.25},
        "retry": {"max_attempts": 2, "initial_delay_ms": 1500, "max_delay_ms": 0},
    }  # fmt: skip
    lines = [
        "[connections.c]", 'provider = "openai"', 'timeout = { first = "250ms" }',
        'retry_policy = { max = 2, delay = "1.5s", max_delay = "0s" }',
    ]  # fmt: skip
    path = tmp_path / "Concerto.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    manifest = Manifest(str(path))
    assert not manifest.diagnostics.has_errors
    assert manifest.connections["c"] == held
    assert stated_connections({"c": written}) == {"c": held}
    check_connections([stated_connections({"c": written})])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"retry": {"max": 1, "max_attempts": 2}}, "connection c: retry: max and max_attempts say the same; keep one of them"),
        ({"retry": {}, "retry_policy": {}}, "connection c: retry and retry_policy say the same; keep one of them"),
        (
            {"retry": {"delay": 500}},
            'connection c: retry: delay does not take 500; it is a text with its unit, such as "500ms" or "30s"',
        ),
        (
            {"retry": {"delay": "soon"}},
            'connection c: retry: delay does not take "soon"; it is a text with its unit, such as "500ms" or "30s"',
        ),
    ],
)  # fmt: skip
def test_a_host_that_says_too_much_or_too_little(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigFailure) as raised:
        stated_connections({"c": fields})
    assert str(raised.value) == message
