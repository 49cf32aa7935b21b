"""What sections of an image hold, compiled from a project: its manifest merged in, secrets by name (O-9.4, O-9.46, O-10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from concerto.vm.bytecode.encoding import decode
from concerto.vm.bytecode.image import Image

PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'


@pytest.fixture
def image_of(cli: Any, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The image of a source and the tables its manifest adds."""
    monkeypatch.setenv("HOST_TOKEN", "secret-value-of-the-host")

    def compiled(text: str, tables: str = "") -> Image:
        write("Concerto.toml", PROJECT + tables)
        write("main.conc", text)
        ended = cli("compile", "main.conc", "-o", "main.concb")
        assert ended.code == 0, ended.err
        data = (tmp_path / "main.concb").read_bytes()
        assert b"secret-value-of-the-host" not in data
        return decode(data)

    return compiled


def test_a_schema_has_its_shape_both_forms_and_validators(image_of: Any) -> None:
    """O-10.10"""
    image = image_of(
        """
fn small(s: Score) -> Result<Bool, String> { Ok(s.n < 10) }
@validate(small)
@coerce
schema Score {
    @describe("how many") n: Int,
    note?: String,
}
schema Free { any: Any }
fn main() {}
"""
    )
    score, free = sorted(image.schemas, key=lambda schema: schema.name, reverse=True)
    assert (score.name, free.name) == ("Score", "Free")
    assert image.types[score.type][:2] != image.types[free.type][:2]
    assert [image.functions[number].name for number in score.validators] == ["Score.validate"] and free.validators == []
    assert score.plain["properties"]["n"]["description"] == "how many"
    assert score.plain["required"] == ["n"] and score.strict["required"] == ["n", "note"]
    assert score.strict["additionalProperties"] is False
    assert free.strict is None and free.plain is not None
    assert score.shape != free.shape


def test_a_server_has_merged_fields_and_signatures(image_of: Any) -> None:
    """O-10.12, O-9.4: the manifest wins over the source (O-1.2); the environment is variable names."""
    image = image_of(
        'mcp LIB { transport: "stdio", command: "serve it", timeout: 5, fn find(title: String) -> Int; }\nfn main() {}\n',
        '[mcp.LIB]\ntimeout = 9\n[mcp.LIB.env]\nTOKEN = "HOST_TOKEN"\n[mcp.FAR]\ntransport = "http"\nurl = "https://a.example"\n',
    )
    [server] = [server for server in image.mcp if server.name == "LIB"]
    assert server.fields["transport"] == "stdio" and server.fields["timeout"] == 9
    assert server.fields["env"] == {"TOKEN": "HOST_TOKEN"}
    [method] = server.methods
    assert method[:3] == ["find", "LIB__find", None]
    assert [field[0] for field in method[3][3]] == ["title"]


def test_an_agent_takes_its_process_from_the_manifest(image_of: Any) -> None:
    """O-9.4"""
    image = image_of(
        "agent HELPER { connector: work, timeout: 7 }\nfn main() {}\n",
        '[agents.work]\ncommand = "worker"\nargs = ["-x"]\n[agents.work.env]\nTOKEN = "HOST_TOKEN"\n',
    )
    [agent] = image.agents
    assert agent.name == "HELPER" and agent.fields["timeout"] == 7
    process = agent.fields["process"]
    assert (process["command"], process["args"], process["env"]) == ("worker", ["-x"], {"TOKEN": "HOST_TOKEN"})


def test_memories_carry_their_steps_with_those_of_the_manifest(image_of: Any) -> None:
    """O-9.46, O-10.15"""
    image = image_of(
        """
memory plain: Memory = Memory::new();
memory bounded: Memory = Memory::new().retain(6).store("notes");
memory shown: Memory = Memory::of(bounded).window(3);
fn main() {}
""",
        '[memory]\nnamespace = "q"\n[memory.defaults]\nretain = 2\n[stores.notes]\nkind = "redis"\nurl_env = "HOST_TOKEN"\n',
    )
    found = {memory.name: memory for memory in image.memories}
    assert found["plain"].max_messages == 2 and found["bounded"].max_messages == 6
    assert image.memories[found["shown"].of] == found["bounded"] and found["bounded"].of is None
    assert "HOST_TOKEN" in str(found["bounded"].steps) and "redis" in str(found["bounded"].steps)
    assert "store" not in found["plain"].steps
