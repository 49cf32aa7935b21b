"""What a newcomer tries in the first hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_compile_refuses_to_overwrite_a_source(cli, tmp_path: Path) -> None:
    source = tmp_path / "a.conc"
    source.write_text("fn main() { }\n", encoding="utf-8")
    for output in (source, tmp_path / "other.conc"):
        code, _, err = cli("compile", str(source), "-o", str(output))
        assert code == 2 and "would overwrite a source" in err
    assert source.read_text(encoding="utf-8") == "fn main() { }\n"


@pytest.mark.parametrize("data", [b"", b"fn main() { }", b"\x00garbage"])
def test_a_file_called_concb_that_is_no_image(cli, tmp_path: Path, data: bytes) -> None:
    image = tmp_path / "x.concb"
    image.write_bytes(data)
    for verb in ("run", "inspect", "disasm"):
        code, _, err = cli(verb, str(image))
        assert code == 74 and "no Concerto image" in err


@pytest.mark.parametrize(
    "reply",
    [
        {"text": 5}, {"delay_ms": "x", "text": ""}, {"delay_ms": -5, "text": ""}, {"tokens_in": "x", "text": ""},
        {"chunks": 5}, {"chunks": [1]}, {"error": 5}, {"tool_calls": 5}, {"tool_calls": [5]}, {"tool_calls": [{"arguments": {}}]},
        {"finish": 3, "text": ""}, {"model": 3, "text": ""}, {}, {"text": "a", "error": "auth"}, 7,
    ],
)  # fmt: skip
def test_a_wrong_reply_in_a_script_names_file_and_place(cli, tmp_path: Path, reply: object) -> None:
    source = tmp_path / "a.conc"
    source.write_text("model M { provider: offline }\nfn main() { emit(\"a\", M.execute(\"x\")?.text); }\n", encoding="utf-8")
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["fine", reply]), encoding="utf-8")
    code, out, err = cli("run", str(source), "--offline-script", str(script))
    assert (code, out) == (2, "")
    assert "replies.json: scripted reply 1: " in err


def test_the_form_of_a_scripted_tool_call_is_shown(cli, tmp_path: Path) -> None:
    source, script = tmp_path / "a.conc", tmp_path / "replies.json"
    source.write_text("model M { provider: offline }\nfn main() { println(M.execute(\"x\")?.text); }\n", encoding="utf-8")
    script.write_text('[{"tool_calls": [{"name": "T.a"}]}]', encoding="utf-8")
    code, _, err = cli("run", str(source), "--offline-script", str(script))
    assert code == 2
    assert 'does not take [{"name": "T.a"}]; write [{ "tool": "T.method", "arguments": { … } }]' in err


@pytest.mark.parametrize(
    ("table", "said"),
    [('command = ["python3", "a.py"]', "is a string of words"), ('args = ["a.py"]', "lacks `command`")],
)
def test_a_connector_that_is_written_wrongly(cli, tmp_path: Path, table: str, said: str) -> None:
    head = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "a.conc"\n\n[agents.worker]\n'
    (tmp_path / "Concerto.toml").write_text(f"{head}{table}\n", encoding="utf-8")
    source = tmp_path / "a.conc"
    source.write_text("agent A { connector: worker }\nfn main() { println(A.execute(\"x\")); }\n", encoding="utf-8")
    code, out, err = cli("run", str(source))
    assert (code, out) == (65, "")
    assert said in err and 'help: write `command = "python3"` and `args = ["worker.py"]`' in err


@pytest.mark.parametrize(
    ("manifest", "place"),
    [
        (b"[project\n", "Concerto.toml:1:9"), (b'[project]\nname = "a"\nname = "b"\n', "Concerto.toml:3:"),
        (b"[project]\nname = \"\xff\"\n", "Concerto.toml:1:1"), (b"[project]\nentry = 2030-01-01\n", "Concerto.toml:2:1"),
    ],
)  # fmt: skip
def test_a_broken_manifest_shows_its_error_where_no_file_is_given(cli, tmp_path: Path, manifest: bytes, place: str) -> None:
    (tmp_path / "Concerto.toml").write_bytes(manifest)
    code, _, err = cli("run")
    assert code == 65 and place in err and "error[E4004]" in err and "no FILE given" not in err


def test_a_store_without_kind_is_reported_at_its_header(cli, tmp_path: Path) -> None:
    project = '[project]\nname = "a"\nversion = "1"\nentry = "a.conc"\n\n[stores.main]\npath = "x"\n'
    (tmp_path / "Concerto.toml").write_text(project, encoding="utf-8")
    (tmp_path / "a.conc").write_text("fn main() { }\n", encoding="utf-8")
    code, _, err = cli("check", "a.conc")
    assert code == 65 and "Concerto.toml:6:9: error[E4004]" in err
