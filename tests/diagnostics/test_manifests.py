"""Wrong manifests with what the compiler tells (O-9.8), text by text; and the examples its helps are made of, which are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from concerto.compiler import manifest
from concerto.compiler.diagnostics import render_text
from concerto.compiler.hints.manifest import EXAMPLES, HEADERS
from concerto.compiler.manifest import TABLES, Manifest
from concerto.vm.builtins.capabilities import BY_KEY, GROUP_KEYS
from concerto.vm.declaration_fields import MCP, OTHER_PRICES, PRICES, PROCESS

MANIFESTS = sorted((Path(__file__).parent / "manifests").glob("*.toml"))
LINES = [(table, key, lines) for table, rows in EXAMPLES.items() for key, lines in rows.items()]
# What stands beside a line so that its table is whole.
BESIDE = {
    "project": {"name": 'name = "app"', "version": 'version = "0.1.0"', "entry": 'entry = "main.conc"'},
    "connections": {"provider": 'provider = "openai"'},
    "agents": {"command": 'command = "worker"'},
    "stores.url_env": {"kind": 'kind = "postgres"'},
}


def rendered(path: Path) -> str:
    manifest = Manifest(str(path))
    return render_text(manifest.diagnostics, {manifest.source.name: manifest.source})


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_what_the_compiler_says(path: Path, bless: bool) -> None:
    text, golden = rendered(path), path.with_suffix(".txt")
    if bless:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_every_message_names_the_way_out(path: Path) -> None:
    found = Manifest(str(path)).diagnostics.ordered()
    assert found
    assert [d.message for d in found if not d.help] == []


@pytest.mark.parametrize(("table", "key", "lines"), LINES, ids=[f"{table}.{key}" for table, key, _ in LINES])
def test_the_examples_are_right(table: str, key: str, lines: str, tmp_path: Path) -> None:
    rows = BESIDE.get(table, {}) | BESIDE.get(f"{table}.{key}", {})
    beside = [line for other, line in rows.items() if other != key]
    path = tmp_path / "Concerto.toml"
    path.write_text("\n".join((HEADERS[table], *beside, lines)) + "\n", encoding="utf-8")
    assert rendered(path) == ""


def test_every_table_has_examples() -> None:
    assert set(EXAMPLES) == set(HEADERS) == {*TABLES, "memory.defaults"}


def test_every_key_has_an_example() -> None:
    assert {table: set(rows) for table, rows in EXAMPLES.items()} == {
        "project": {*manifest.PROJECT_KEYS},
        "permissions": {*BY_KEY, *GROUP_KEYS, "tools", "lib"},
        "connections": {*manifest.CONNECTION_KEYS},
        "pricing": {*PRICES, *OTHER_PRICES},
        "budgets": {*manifest.BUDGETS},
        "agents": {*PROCESS},
        "mcp": {*MCP},
        "python": {"thread"},
        "serve": {"keys"},
        "stores": {*manifest.STORE_KEYS},
        "embedders": {*manifest.EMBEDDER_KEYS},
        "memory": {"namespace", "defaults"},
        "memory.defaults": {*manifest.DEFAULTS, "summary"},
    }


@pytest.mark.parametrize("text", ['[agents.a]\ncommand = ""\n', '[mcp.a]\ntransport = "stdio"\ncommand = ""\n'])
def test_a_command_has_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "Concerto.toml"
    path.write_text('[project]\nname = "app"\nversion = "0.1.0"\nentry = "main.conc"\n' + text, encoding="utf-8")
    (found,) = Manifest(str(path)).diagnostics.ordered()
    assert "command" in found.message and "a string of words" in found.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "1" * 5000, "Concerto.toml holds a number with too many digits"),
        ("x = " + "[" * 5000, "Concerto.toml nests arrays or tables too deeply"),
        ("x = " + "{a = " * 5000, "Concerto.toml nests arrays or tables too deeply"),
    ],
)
def test_what_the_reader_of_toml_gives_up_on(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "Concerto.toml"
    path.write_text(text, encoding="utf-8")
    manifest = Manifest(str(path))
    (found,) = manifest.diagnostics.ordered()
    assert (found.code, found.message) == ("E4004", said)
    assert not manifest.memory_tables.readable


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[project]\nname = "p"\nversion = "1"\nentry = "a\\u0000.conc"', "`entry` of [project] is no name of a file"),
        ("[budgets]\ntokens = 9223372036854775808", "`tokens` of [budgets] is an Int of at least 1"),
        ("[budgets]\nseconds = 9223372036854775808", "`seconds` of [budgets] is a number above 0"),
        (
            f"[pricing.m]\noutput_per_million = 1\ninput_per_million = 0x1{'0' * 300}",
            '`input_per_million` of [pricing."m"] is a number of at least 0',
        ),
        ("[connections.a]\nextra = { n = 9223372036854775808 }", "`extra` of [connections.a] is an object that JSON can hold"),
        (
            '[agents.a]\ncommand = "b"\nparams = { n = [-9223372036854775809] }',
            "`params` of [agents.a] is a table that JSON can hold",
        ),
    ],
)
def test_values_that_cannot_be_what_they_stand_for(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "Concerto.toml"
    path.write_text(line, encoding="utf-8")
    assert [found.message for found in Manifest(str(path)).diagnostics.ordered()] == [said]


@pytest.mark.parametrize("line", ["[permissions]\nlib = 5", *(f"[permissions.lib.greet]\n{key} = 5" for key in ("models", "fs"))])
def test_a_wrong_permission_of_a_library_is_told_how_one_is_written(line: str, tmp_path: Path) -> None:
    path = tmp_path / "Concerto.toml"
    path.write_text(line, encoding="utf-8")
    (found,) = Manifest(str(path)).diagnostics.ordered()
    assert found.help == 'write `lib = { greet = { fs_read = ["data"], models = false } }`'


def test_each_line_is_looked_at_once_for_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    names_of = manifest._names

    def noted(text: str) -> list[str]:
        looked_at.append(text)
        return names_of(text)

    monkeypatch.setattr(manifest, "_names", noted)
    path = tmp_path / "Concerto.toml"
    lines = ["[project]", 'name = "p"', 'version = "1"', 'entry = "main.conc"', *(f"key{i} = 1" for i in range(500))]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = Manifest(str(path)).diagnostics.found
    assert [path.read_text()[one.span.start : one.span.end] for one in found] == [f"key{i}" for i in range(500)]
    assert len(looked_at) <= len(lines)
