"""The table of providers: rows are whole, their classes are there, nothing else lists providers (O-1.18 to O-1.23, V-2.8)."""

import ast
import re
from pathlib import Path

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.providers.offline import OfflineProvider
from concerto.runtime.providers.pool import ProviderPool, wire_class
from concerto.runtime.providers.sdk import SdkProvider
from concerto.runtime.records import Call, Msg, Request, SchemaField, ToolDef
from concerto.vm.declaration_fields import CONNECTION
from concerto.vm.providers import APIS, CARRIED_BY_SOME, PREDECLARED, PROVIDERS, WRITTEN

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = "vm/providers.py"
MODES = {"offline"}  # a word for runs too
WITH_WIRES = [(name, api) for name, row in PROVIDERS.items() for api in row.wires]
VALUES = {"organization": "o", "project": "p", "region": "us-east-1", "api_version": "2024-10-21", "profile": "mine"}
MESSAGES = [
    Msg("system", "be kind"), Msg("user", "hi"), Msg("assistant", "", calls=[Call("c1", "T__add", {"x": 1}, '{"x":1}')]),
    Msg("tool", "2", call_id="c1"), Msg("user", "thanks"),
]  # fmt: skip
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def pool(settings, **options):
    return ProviderPool({"lab": settings}, env={}, redactor=Redactor(), sleep=None, **options)


def settings_of(name, **fields):
    row = PROVIDERS[name]
    carried = {field: value for field, value in VALUES.items() if row.carries(field)}
    address = {"base_url": "http://box/v1"} if row.needs_base_url or "base_url" in row.needs else {}
    return resolve("lab", [{"lab": {"provider": name, **carried, **address, **fields}}])


@pytest.mark.parametrize(("name", "api"), WITH_WIRES)
def test_each_class_of_a_row_is_made_and_lowers_a_request(name, api):
    settings = settings_of(name, api=api)
    provider = pool(settings)["lab"]
    assert type(provider) is wire_class(settings) and isinstance(provider, SdkProvider)
    assert type(provider).__name__ == PROVIDERS[name].wires[api].rpartition(".")[2]
    request = Request(
        id="r", connection="lab", model="m-1", messages=MESSAGES, params={"temperature": 0.5, "max_tokens": 7},
        tools=[ToolDef("T__add", "adds", OBJECT)], schema=SchemaField("S", "native", OBJECT), stream=True,
    )  # fmt: skip
    lowered = provider.lower(request)
    assert lowered["model"] == "m-1" and lowered["stream"] is True and 7 in lowered.values()
    assert lowered["tools"] and "thanks" in repr(lowered) and "be kind" in repr(lowered)


OF_A_WIRE = ("lower", "make_client", "create", "read", "counts", "growing", "says_more")


@pytest.mark.parametrize(("name", "api"), WITH_WIRES)
def test_each_class_of_a_row_has_all_of_a_wire(name, api):
    made = wire_class(settings_of(name, api=api))
    assert isinstance(made.package, str) and isinstance(made.raw_form, type) and made.wire in WRITTEN
    assert [method for method in OF_A_WIRE if getattr(made, method) is getattr(SdkProvider, method)] == []


def test_offline_is_the_row_without_wires():
    without = [name for name, row in PROVIDERS.items() if not row.wires]
    assert without == ["offline"] and isinstance(pool(settings_of("offline"))["lab"], OfflineProvider)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_row_is_whole(name):
    row = PROVIDERS[name]
    assert row.name == name
    assert set(APIS) <= set(row.wires) if row.carries("api") else len(row.wires) < 2
    assert row.elsewhere is None or row.elsewhere in row.wires
    assert row.structured in ("native", "tool", "prompt")
    assert set(row.fields) <= CARRIED_BY_SOME and "api" not in row.fields
    assert (name in PREDECLARED) is not row.needs_base_url
    lets_in = [row.key_variable, row.stand_in_key, row.account]
    assert not row.wires or any(way is not None for way in lets_in), "a key is asked for, stood in for, or another proof is"
    assert row.key_variable is None or row.stand_in_key is None
    assert set(row.variables) | set(row.needs) <= set(CONNECTION) and set(row.needs) <= set(row.variables)
    assert isinstance(pool(settings_of(name), offline=True)["lab"], OfflineProvider)


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_specification_has_the_rows(name):
    row = PROVIDERS[name]
    spec = (ROOT / "docs/spec/orchestration.md").read_text(encoding="utf-8")
    lines = re.findall(rf"^\| \*\*O-1\.\d+\*\* \| `{name}` \| (.*) \|$", spec, re.M)
    assert len(lines) == 1
    client, address, key, max_tokens, structured = lines[0].split(" | ")
    assert (f"`{row.base_url}`" in address) if row.base_url else address.startswith("none")
    is_required = row.key_variable is not None and row.account is None
    assert key.startswith("required" if is_required else "optional" if row.wires else "none")
    assert row.stand_in_key is None or f"`{row.stand_in_key}`" in key
    secrets = {*row.key_variables, *(row.account or ())}
    assert all(f"`{variable}`" in spec for variable in secrets.union(*row.variables.values()))
    assert structured == row.structured
    assert max_tokens == (f"`{row.max_tokens_name}`" if row.wires else "not applicable")


def strings(path):
    return {node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)}


def test_no_other_file_names_a_provider():
    """Neither in a comparison nor in a list; a class of a wire names the package that it imports."""
    names = set(PROVIDERS) - MODES
    naming = {
        path.relative_to(ROOT).as_posix(): found
        for room in ("api", "cli", "colours", "compiler", "lsp", "runtime", "vm")
        for path in sorted((ROOT / room).rglob("*.py"))
        if (found := names & strings(path))
    }
    assert set(naming.pop(TABLE)) == names
    assert naming.pop("compiler/codegen/expressions.py") == {"together"}  # of an index and its container, no provider
    assert naming == {"runtime/providers/anthropic.py": {"anthropic"}, "runtime/providers/openai.py": {"openai"}}


def test_the_machine_does_not_read_the_table():
    """It stands in its room for compiler and runtime, which may not read each other (V-1.8)."""
    imports = re.compile(r"import.*\bproviders\b|providers import")
    reading = [path.stem for path in (ROOT / "vm").rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert reading == ["declaration_fields"]  # a table of the same kind
