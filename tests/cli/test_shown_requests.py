"""`--verbose=requests`: each request as it is sent (O-9.52)."""

from __future__ import annotations

import json

PROGRAM = """
schema Kind { kind: "bug" | "task" }
memory log: Memory = Memory::new();
model M { provider: offline, system_prompt: "Be kind.", memory: log, temperature: 0.5, tools: [T] }
tool T { description: "Counts" @describe("Adds one.") pub fn add(self, @param("n") n: Int) -> Int { n + 1 } }
fn main() {
    let key = std::env::require("MY_API_KEY")?;
    M.execute("hello\\nyou ${key}")?;
    println(M.execute_with_schema<Kind>("what kind?")?.kind);
}
"""
REPLIES = [{"tool_calls": [{"tool": "T__add", "arguments": {"n": 1}}]}, "hi", "no json", '{"kind":"bug"}']
SECRET = 'sk-"quoted"\nand two lines'


def test_messages_tools_schema_and_the_prompt_of_a_retry(cli, write, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", SECRET)
    write("a.conc", PROGRAM)
    write("r.json", json.dumps(REPLIES))
    words = ("run", "--offline-script", "r.json", "--allow-env=MY_API_KEY", "--verbose=requests", "a.conc")
    code, out, err = cli(*words)
    assert (code, out) == (0, "bug\n")
    assert "sk-" not in err and "two lines" not in err and "quoted" not in err
    head, *requests = err.split("request M-")
    assert head == "" and [one.split(":")[0] for one in requests] == ["1.1", "1.2", "2.1", "2.2"]
    first, after_tool, with_schema, retried = (one.split("\n")[1:-1] for one in requests)
    assert first[0] == '  params: {"temperature":0.5}'
    assert first[1].startswith('  tool T__add {"type":"object"') and first[1].endswith(": Counts")
    assert first[2:] == ["    ", "    Adds one.","  system: Be kind.", "  user: hello", "    you <secret MY_API_KEY>"]
    assert after_tool == [
        "  1 tool as before", "  2 messages as before", '  assistant calls T__add (call_1): {"n":1}', "  tool call_1: 2",
    ]  # fmt: skip
    assert with_schema[1].startswith('  schema Kind (native): {"type":"object"') and with_schema[-1] == "  user: what kind?"
    assert retried[:4] == ["  1 tool as before", "  schema Kind as before", "  3 messages as before", "  user: what kind?"]
    assert "    Your previous reply was not accepted:" in retried and retried[-1].startswith('    {"type":"object"')


def test_a_secret_in_arguments_of_a_call_is_taken_out(cli, write, monkeypatch):
    """Before they are written as JSON, where it would stand escaped."""
    monkeypatch.setenv("MY_API_KEY", SECRET)
    replies = [{"tool_calls": [{"tool": "T__say", "arguments": {"text": SECRET}}]}, "done"]
    write("r.json", json.dumps(replies))
    write("a.conc", """
    tool T { description: "Says" @describe("Says it.") pub fn say(self, @param("text") text: String) -> String { text } }
    model M { provider: offline, tools: [T] }
    fn main() { let _ = std::env::require("MY_API_KEY")?; M.execute("go")?; }
    """)
    err = cli("run", "--offline-script", "r.json", "--allow-env=MY_API_KEY", "--verbose=requests", "a.conc").err
    assert 'assistant calls T__say (call_1): {"text":"<secret MY_API_KEY>"}' in err
    assert "  tool call_1: <secret MY_API_KEY>" in err and "sk-" not in err and "quoted" not in err


def test_hosted_tools_are_shown_once(cli, write):
    model = 'model M { provider: offline, base: "m", hosted: [{ type: "web_search", max_uses: 2 }] }'
    write("a.conc", f'{model} fn main() {{ M.execute("a")?; M.execute("b")?; M.with(hosted: []).execute("c")?; }}')
    code, _, err = cli("run", "--verbose=requests", "a.conc")
    first, second, third = (one.split("\n")[1:-1] for one in err.split("request M-")[1:])
    assert code == 0 and first == ['  hosted tools: [{"type":"web_search","max_uses":2}]', "  user: a"]
    assert second == ["  hosted tools as before", "  user: b"] and third == ["  user: c"]
