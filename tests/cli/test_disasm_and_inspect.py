"""`concerto disasm` and `concerto inspect` (O-9.18, O-9.19)."""

import json

import pytest
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.encoding import content_hash, decode, encode
from concerto.vm.providers import PROVIDERS

from ..command import EXAMPLES

SOURCE = 'fn twice(n: Int) -> Int { n * 2 }\nfn main() { emit("out", twice(21)); }\n'
TICKET = str(EXAMPLES / "ticket.conc")


@pytest.fixture
def program(write):
    return write("program.conc", SOURCE)


def test_instructions_with_their_source(cli, program):
    code, out, err = cli("disasm", program)
    assert (code, err) == (0, "")
    assert 'function 0 "twice"' in out and 'function 1 "main"' in out
    assert "at 0:1:27  ; n * 2" in out
    assert "    RETURN" in out


def test_disassembly_assembles_to_the_same_bytes(cli, program, tmp_path):
    assert cli("compile", program).code == 0
    image = (tmp_path / "program.concb").read_bytes()
    out = cli("disasm", "program.concb").out
    assert out == cli("disasm", program).out
    assert encode(assemble(out)) == image


def test_one_function(cli, program):
    code, out, err = cli("disasm", program, "--function", "twice")
    assert (code, err) == (0, "")
    assert out.startswith('function 0 "twice"\n') and out.endswith("  end\n")
    assert "main" not in out
    assert cli("disasm", program, "--function", "thrice") == (2, "", "no function thrice; there are: twice, main\n")


def test_disassembly_as_json(cli, program):
    code, out, err = cli("disasm", "--json", program)
    assert (code, err) == (0, "")
    functions = json.loads(out)["functions"]
    assert [function["name"] for function in functions] == ["twice", "main"]
    assert functions[0]["code"][-1]["opcode"] == "RETURN"
    (one,) = json.loads(cli("disasm", "--json", "--function", "main", program).out)["functions"]
    assert one == functions[1]


def test_inspect(cli):
    code, out, err = cli("inspect", TICKET)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "name: ticket"
    at = lines.index("models:")
    assert lines[at : at + 4] == [
        "models:",
        "  Sorter:",
        "    connection: anthropic",
        "    base: claude-haiku-5-5",
    ]
    assert {"entry: main", "schemas: Ticket", "connections: none", "key_variables: ANTHROPIC_API_KEY"} <= set(lines)


def test_inspect_as_json(cli, tmp_path):
    assert cli("compile", TICKET, "-o", "t.concb").code == 0
    code, out, err = cli("inspect", "--json", "t.concb")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    data = (tmp_path / "t.concb").read_bytes()
    assert (facts["bytes"], facts["hash"]) == (len(data), content_hash(data))
    assert facts["functions"] == ["ticket", "sort", "main", "sorts", "refuses"]
    assert facts["memories"] == [{"name": "desk", "max_messages": None}]
    assert facts["key_variables"] == ["ANTHROPIC_API_KEY"]
    assert 0 < sum(facts["sections"].values()) < len(data)
    assert facts == json.loads(cli("inspect", "--json", TICKET).out)


def test_inspect_lists_functions_that_were_declared(cli, write):
    write("p.conc", "struct P { x: Int = 1 } fn main() { emit(\"x\", [P {}].map(|p| p.x)); }")
    assert "functions: main" in cli("inspect", "p.conc").out.splitlines()


def test_inspect_names_variables_and_holds_no_values(cli, write, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_KEY", "sk-very-secret")
    source = (
        'connect lab { provider: "custom", base_url: "http://box:8000/v1", api_key: env("LAB_KEY"), default_model: "tiny" }\n'
        'model M { provider: lab }\nfn main() { emit("a", M.execute("x")?.text); }\n'
    )
    code, out, err = cli("inspect", write("lab.conc", source))
    assert (code, err) == (0, "")
    assert "key_variables: LAB_KEY" in out.splitlines()
    assert "sk-very-secret" not in out
    assert cli("compile", "lab.conc").code == 0
    assert b"sk-very-secret" not in (tmp_path / "lab.concb").read_bytes()


def test_image_cannot_write_to_the_terminal(cli, write, tmp_path):
    """Texts of an image are shown as one line each, control characters escaped."""
    assert cli("compile", write("m.conc", 'model M { provider: openai, base: "m" }\nfn main() { M.execute("")?; }\n')).code == 0
    image = decode((tmp_path / "m.concb").read_bytes())
    image.models[0].fields["base"] = "\x1b[2J\nname: another"
    write("m.concb", encode(image))
    code, out, _ = cli("inspect", "m.concb")
    assert code == 0
    assert "\x1b" not in out
    assert r"    base: '\x1b[2J\nname: another'" in out.splitlines()


def test_wanted_permissions(cli, write):
    """By value where the argument is constant, else whole (O-10.21)."""
    write("a.conc", """fn main() {
        let p = "x";
        print(std::fs::read_file("in/a.txt").is_ok(), std::fs::exists("b"));
        print(std::fs::write_file(p, "").is_ok(), std::fs::write_file("known", "").is_ok());
        print(std::http::get("https://api.example.org:8443/x").is_ok(), std::http::get("http://[::1]/").is_ok());
        print(env("HOME"), std::time::now(), std::env::args());
    }""")
    wanted = ["env=HOME", "fs:read=b", "fs:read=in/a.txt", "fs:write", "net=[::1]", "net=api.example.org:8443"]
    assert json.loads(cli("inspect", "--json", "a.conc").out)["wanted_permissions"] == wanted
    write("b.conc", "fn main() { let f = env; print(f(\"A\"), env(\"B\"), std::prompt::from_file(\"t\").is_ok()); }")
    assert json.loads(cli("inspect", "--json", "b.conc").out)["wanted_permissions"] == ["env", "fs:read"]


def test_inspect_shows_servers_and_no_numbers_for_functions(cli, write):
    source = (
        'mcp Wiki { transport: "stdio", command: "wiki", fn page() -> String; }\n'
        'fn shorten(_a: String, _b: Array<Message>) -> String { "x" }\n'
        "memory log: Memory = Memory::new().summary(shorten, max_tokens: 300).window(5);\nfn main() { log.clear(); }\n"
    )
    lines = cli("inspect", write("s.conc", source)).out.splitlines()
    at = lines.index("servers:")
    assert lines[at : at + 5] == ["servers:", "  Wiki:", "    transport: stdio", "    command: wiki", "    tools: page"]
    assert "        function: shorten at s.conc:2:56" in lines


def test_inspect_shows_functions_of_views_and_of_events(cli, write):
    source = (
        "fn shown(all: Array<Message>) -> Array<Message> { all }\n"
        "fn heard(_e: Map<String, Any>) {}\n"
        "memory log: Memory = Memory::new().view(with: shown).on(Commit, heard).on(Step, heard);\nfn main() { log.clear(); }\n"
    )
    lines = cli("inspect", write("s.conc", source)).out.splitlines()
    at = lines.index("      on:")
    places = ["Commit: heard at s.conc:2:32", "Step: heard at s.conc:2:32"]
    assert lines[at + 1 : at + 4] == [*(f"        {one}" for one in places), "      view_with: shown at s.conc:1:51"]
    assert "    same_percent: 0" in lines


@pytest.mark.parametrize(
    ("replies", "shown"),
    [
        ('[{ error: "server" }, "second"]', ['    replies: {"error": "server"}, second']),
        ('["first", { text: "ü" }]', ['    replies: first, {"text": "ü"}']),
        ('[{ name: "a" }, { name: "a" }]', ['    replies: {"name": "a"}, {"name": "a"}']),
        ('[{ name: "a", text: "x" }, { name: "b" }]', ["    replies:", "      a:", "        text: x", "      b: none"]),
        ('[{ text: "\\u{7}" }]', ['    replies: {"text": "\\u0007"}']),
        ("[]", ["    replies: none"]),
    ],
)
def test_inspect_shows_lists_that_a_program_writes(cli, write, replies, shown):
    source = f'connect lab {{ provider: "offline", replies: {replies} }}\nfn main() {{}}\n'
    code, out, err = cli("inspect", write("lab.conc", source))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    at = lines.index("    provider: offline")
    assert lines[at + 1 : at + 1 + len(shown)] == shown


@pytest.mark.parametrize("verb", ["run", "inspect"])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"provider": "nobody"}, f'unknown provider "nobody"; providers are {", ".join(PROVIDERS)}'),
        ({"provider": ["openai"]}, 'provider does not take ["openai"]; it is a String'),
        ({"api": ["chat"]}, 'api does not take ["chat"]; it is one of "auto", "responses", "chat"'),
    ],
)
def test_a_foreign_image_names_a_provider_that_is_none(cli, write, tmp_path, verb, fields, said):
    source = 'connect lab { provider: "ollama" }\nmodel M { provider: lab, base: "m" }\nfn main() { let _ = M.execute("hi"); }\n'
    assert cli("compile", write("lab.conc", source)).code == 0
    path = tmp_path / "lab.concb"
    image = decode(path.read_bytes())
    image.connections[0].fields.update(fields)
    path.write_bytes(encode(image))
    assert cli(verb, str(path)) == (2, "", f"E4004: connection lab: {said}\n")


def test_inspect_shows_contexts_and_who_uses_them(cli, write):
    source = (
        "context Plan { session { goal: String, mut steps: Array<Int> = [] } }\n"
        'memory log: Memory = Memory::new().context(Plan).pin(when: |m| m.role == "user");\n'
        "fn plan() -> Result<Nil, Error> needs log.goal reads log.steps { Ok(nil) }\nfn main() { let _ = plan(); }\n"
    )
    facts = json.loads(cli("inspect", "--json", write("c.conc", source)).out)
    assert facts["memories"] == [
        {"name": "log", "max_messages": None, "context": "Plan", "steps": {"pin_when": ["closure at c.conc:2:64"]}}
    ]
    assert facts["contexts"] == [
        {
            "name": "Plan",
            "slots": {"goal": "session fixed string", "steps": "session mut array<int> default"},
            "functions": {"plan": ["needs log.goal", "reads log.steps"]},
        }
    ]


def test_inspect_shows_who_may_read_which_facts(cli, write):
    source = (
        "context Plan { session { mut steps: Array<Int> = [] } }\n"
        'memory log: Memory = Memory::new().context(Plan).allow(read: [M], facts: [steps]).allow(write: [M], facts: "keys/*");\n'
        'model M { provider: openai, base: "m", memory: log }\nfn main() { log.clear(); }\n'
    )
    path = write("f.conc", source)
    rules = json.loads(cli("inspect", "--json", path).out)["memories"][0]["steps"]["allow_facts"]
    assert rules == [{"name": "steps (session)", "read": ["M"], "write": []}, {"name": "keys/*", "read": [], "write": ["M"]}]
    assert "steps (session):" in cli("inspect", path).out
