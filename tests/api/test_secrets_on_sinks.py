"""A program that is granted a key puts it into errors of every kind: no sink has it (G-2.18, G-10.1, G-10.3)."""

from __future__ import annotations

import base64
import traceback
from pathlib import Path
from typing import Any

import concerto
import pytest

KEY = "planted0key9value7of3forty"
NAME = "PLANTED_API_KEY"
KINDS = {
    "number": "key.parse_int()?;",
    "json": "std::json::parse(key)?;",
    "schema": 'parse_schema<Size>("{\\"width\\": \\"" + key + "\\"}")?;',
    "pattern": 'std::regex::is_match("(" + key, "x")?;',
    "file": 'std::fs::read_file("/" + key)?;',
    "request": 'std::http::get("http://127.0.0.1/" + key)?;',
    "url": 'std::url::parse(key + " ")?;',
    "date": "std::date::parse(key)?;",
    "zone": "std::date::from_ms(0, key)?;",
    "table": 'std::csv::parse("\\"" + key)?;',
    "variable": "std::env::require(key)?;",
    "tool": "return Err(ToolError::Timeout { message: key, tool: key });",
    "own": "throw Own { message: key };",
    "context": "key.parse_int().context(key)?;",
    "hashmap": "held.require(key)?;",
    "panic": "panic(key);",
    "assertion": 'assert_eq(key, "x", key);',
    "missing": 'let m = { "a": 1 }; m[key];',
    "unwrapped": "key.parse_int().unwrap();",
}
SOURCE = """
struct Own { message: String }
impl Error for Own { }
schema Size { width: Int }
connect lab { provider: "custom", base_url: "http://127.0.0.1:9", api_key_env: "PLANTED_API_KEY" }
hashmap held: HashMap<String, Any> = HashMap::new();
memory plain: Memory = Memory::new();
memory kept: Memory = Memory::new().store("durable");
fn key_of() -> String { env("PLANTED_API_KEY") ?? "" }
fn failing() -> Result<Nil, Error> { let key = key_of(); BODY Ok() }
pub fn told() -> Result<Nil, Error> {
    let key = key_of();
    held.set("key", key);
    emit("key", { "of": [key], "text": "it is ${key}" });
    emit(key, 1);
    std::log::error("it is ${key}");
    plain.append("user", "it is ${key}");
    kept.append("user", "it is ${key}");
    let result = failing();
    emit("failed", "${result}");
    emit("error", result);
    std::log::warn("${result}");
    plain.append("user", "${result}");
    kept.append("user", "${result}");
    held.set("result", result);
    result?;
    Ok()
}
pub fn kept_texts() -> Array<String> { [plain.dump(), kept.dump(), "${plain.messages()}", "${kept.messages()}"] }
"""


@pytest.mark.parametrize("kind", KINDS)
def test_no_sink_has_the_key(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(NAME, KEY)
    program = concerto.compile(SOURCE.replace("BODY", KINDS[kind]))
    program.save(tmp_path / "main.concb")
    sinks: dict[str, Any] = {}
    with program.session(env={NAME: KEY}, permissions=concerto.Permissions(env=(NAME,), fs_read=True)) as session:
        heard: list[Any] = []
        session.on("*", heard.append)
        try:
            session.call("told")
        except (concerto.ProgramError, concerto.Panic) as error:
            sinks["raised"] = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        sinks["emits"] = repr(heard)
        sinks["state"] = session.dump()
        sinks["memories"] = repr(session.call("kept_texts"))
    assert "raised" in sinks and len(heard) >= 2, "the program fails"
    shown = capfd.readouterr()
    sinks |= {"stderr": shown.err, "stdout": shown.out}
    assert shown.err, "the log"
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        sinks[path.name] = path.read_bytes()
    assert any(name.endswith(".db") for name in sinks)
    forms = {KEY, KEY[::-1], KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()}
    for name, content in sinks.items():
        for form in forms:
            assert (form.encode() if isinstance(content, bytes) else form) not in content, f"{name}: {form}"
    assert f"<secret {NAME}>" in sinks["emits"] and f"<secret {NAME}>" in sinks["memories"] and f"<secret {NAME}>" in shown.err
