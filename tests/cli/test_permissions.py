"""Permission flags, `[permissions]` of the manifest, and what the command line shows of them (O-4.12, O-4.18, O-9.8)."""

import sys

import pytest

READS = """fn main() -> Result<Nil, Error> {
    println(std::fs::read_file("in/a.txt")?);
    println(env("COLOUR"));
    Ok()
}
"""


@pytest.fixture
def program(write, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    write("in/a.txt", "text")
    monkeypatch.setenv("COLOUR", "blue")
    return write("a.conc", READS)


GRANTED = ("text\nblue\n", "")


@pytest.mark.parametrize(
    "flags",
    [
        ["--allow-fs-read", "--allow-env"], ["--allow-fs-read=in", "--allow-env=COLOUR"], ["--allow-all"],
        ["--allow-fs", "--allow-env"],
        ["--allow-fs=out,in/a.txt", "--allow-env=A,COLOUR"], ["--allow-env=A", "--allow-env=COLOUR", "--allow-fs-read=."],
    ],
    ids=" ".join,
)  # fmt: skip
def test_flags_grant(cli, program, flags):
    assert cli("run", "--offline", *flags, program) == (0, *GRANTED)
    assert cli("run", "--offline", program, *flags) == (0, *GRANTED)


@pytest.mark.parametrize(
    ("flags", "denied"),
    [
        ([], "fs:read=in/a.txt (grant it with --allow-fs-read=in/a.txt)"),
        (["--allow-fs-read=other", "--allow-env"], "fs:read=in/a.txt"),
        (["--allow-fs-write", "--allow-net", "--allow-run", "--allow-env"], "fs:read=in/a.txt"),
    ],
)
def test_a_denial_is_an_error_with_status_77(cli, program, flags, denied):
    code, out, err = cli("run", "--offline", *flags, program)
    assert (code, out) == (77, "") and err.startswith(f"error: permission denied: {denied}")


def test_a_denial_without_a_result_is_a_panic_at_its_place(cli, program):
    code, out, err = cli("run", "--offline", "--allow-fs-read", program)
    assert (code, out) == (77, "text\n")
    assert err == "panic[P407]: permission denied: env=COLOUR (grant it with --allow-env=COLOUR)\n  at main (a.conc:3:13)\n"


def test_a_list_that_is_empty_grants_nothing(cli, program):
    """As in `--allow-net=$HOSTS` with an unset variable."""
    for flag in ("--allow-fs-read=", "--allow-net=", "--allow-env=A,,B", "--allow-all=yes", "--allow-net=a:b"):
        code, out, err = cli("run", "--offline", program, flag)
        assert (code, out) == (2, "") and f"argument {flag.partition('=')[0]}: " in err


ASKS = """fn main() {
    match std::http::get("http://127.0.0.1:9/") { Ok(_) => println("ok"), Err(e) => println(e.variant) }
}
"""
NAMED = "--allow-net=127.0.0.1:9"


@pytest.mark.parametrize(
    "flags",
    [["--allow-all", NAMED], [NAMED, "--allow-all"], ["--allow-net", NAMED], [NAMED, "--allow-net"], [NAMED],
     ["--allow-net=a.org", "--allow-net", NAMED]],
    ids=" ".join,
)  # fmt: skip
def test_a_wider_grant_leaves_a_named_host_open(cli, write, flags):
    """The port is closed, which is found out by connecting (G-8.9)."""
    program = write("a.conc", ASKS)
    assert cli("run", program, *flags) == (0, "Network\n", "")
    assert cli("run", program, "--allow-all") == (0, "PermissionDenied\n", "")


LISTED = '["127.0.0.1:9"]'


@pytest.mark.parametrize(("key", "flag"), [(LISTED, "--allow-net"), ("true", NAMED), (LISTED, "--allow-all")])
def test_grants_of_manifest_and_flags_add_up(cli, write, key, flag):
    write("Concerto.toml", MANIFEST + f"[permissions]\nnet = {key}\n")
    assert cli("run", write("a.conc", ASKS), flag) == (0, "Network\n", "")


def test_arguments_of_the_program(cli, write):
    program = write("a.conc", "fn main() { println(std::env::args()); }")
    assert cli("run", "--offline", program) == (0, "[]\n", "")
    assert cli("run", "--offline", program, "--", "--allow-all", "x y", "--") == (0, "[--allow-all, x y, --]\n", "")


MANIFEST = '[project]\nname = "p"\nversion = "1"\nentry = "a.conc"\n\n'


def test_the_manifest_grants_source_of_its_project(cli, program, write, tmp_path, monkeypatch):
    write("Concerto.toml", MANIFEST + '[permissions]\nfs = ["in"]\nenv = true\n')
    assert cli("run", "--offline", program) == (0, *GRANTED)
    assert cli("compile", program, "-o", "a.concb").code == 0
    assert cli("run", "--offline", "a.concb").code == 77, "a manifest grants an image nothing"
    assert cli("run", "--offline", "a.concb", "--allow-all") == (0, *GRANTED)


def test_paths_of_the_manifest_are_relative_to_it(cli, write, tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    write("Concerto.toml", MANIFEST + '[permissions]\nfs_read = ["a.txt"]\n')
    write("a.txt", "root")
    write("deep/a.txt", "deep")
    write("a.conc", 'fn main() { println(std::fs::read_file("../a.txt"), std::fs::read_file("a.txt").is_ok()); }')
    monkeypatch.chdir(tmp_path / "deep")
    assert cli("run", "--offline", "../a.conc") == (0, "Ok(root) false\n", "")


BROKEN = [
    ("[permissions]\nnett = []\n", "Concerto.toml:2:1: error[E4001]: [permissions] has no key `nett`"),
    ('[permissions]\nnet = "a.org"\n', "Concerto.toml:2:1: error[E4004]: `net` of [permissions] is an array of strings or true"),
    ("[permissions]\nnet = false\n", "Concerto.toml:2:1: error[E4004]"),
    ("[permissions]\nenv = [1]\n", "Concerto.toml:2:1: error[E4004]"),
    ('[permissions]\nenv = true\nnet = ["a:b"]\n', "Concerto.toml:3:1: error[E4004]: `net` of [permissions]: 'a:b' has no port"),
    ("permissions = 1\n", "Concerto.toml:1:1: error[E4004]: `permissions` is a table"),
    ("[permission]\n", "Concerto.toml:1:2: error[E4001]: Concerto.toml has no table `permission`"),
    ('[project]\nname = "p"\nentry = "a.conc"\n', "Concerto.toml:1:2: error[E4002]: [project] lacks `version`"),
    ('[project]\nname = 1\nversion = "1"\nentry = "a.conc"\n', "Concerto.toml:2:1: error[E4004]: `name` of [project]"),
    ('[project]\nname = "p"\nversion = "1"\nentry = "a.conc"\nnmae = 1\n', "Concerto.toml:5:1: error[E4001]"),
    ("[permissions\n", "Concerto.toml:1:13: error[E4004]: Concerto.toml is no TOML"),
    ("a = \n", "Concerto.toml:1:5: error[E4004]: Concerto.toml is no TOML"),
    ('a = "x', "Concerto.toml:1:"),
    (b"# \xff", "Concerto.toml:1:1: error[E4004]: Concerto.toml is no UTF-8 at byte 2"),
    ('[embedders.e]\nconnection = "openai"\n', "Concerto.toml:1:12: error[E4002]: [embedders.e] lacks `model`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_broken_manifest_is_an_error_at_its_line(cli, write, text, message):
    write("Concerto.toml", text)
    write("a.conc", "fn main() { }")
    for verb in (["check"], ["run", "--offline"], ["compile"]):
        code, out, err = cli(*verb, "a.conc")
        assert (code, out) == (65, "") and err.startswith(message), verb


def test_secrets_are_kept_from_every_stream(cli, write, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "tok-123456")
    write("a.conc", """fn main() -> Result<Nil, Error> {
        let token = env("SERVICE_TOKEN") ?? "";
        println(token);
        emit("out", [token]);
        std::log::info("it is ${token}");
        throw RuntimeError::new("no ${token}");
    }""")
    code, out, err = cli("run", "--offline", "--allow-env", "--verbose", "a.conc")
    assert code == 1 and "tok-123456" not in out + err
    assert out.count("<secret SERVICE_TOKEN>") == 2 and err.count("<secret SERVICE_TOKEN>") == 2


def test_a_log_line_is_one_line(cli, write):
    write("a.conc", 'fn main() { std::log::warn("a\\n[ERROR] forged \\u{1b}[31m"); }')
    assert cli("run", "--offline", "a.conc") == (0, "", "[WARN] a\\n[ERROR] forged \\u001b[31m\n")


def test_the_seed_fixes_chance(cli, write):
    numbers = "println(std::math::random(), std::math::random_int(0, 1000000));"
    write("a.conc", "fn main() {" + numbers + " println(std::crypto::uuid()); }")
    first, again, other = (cli("run", "--offline", "--seed", seed, "a.conc").out.splitlines() for seed in ("1", "1", "2"))
    assert first[0] == again[0] != other[0]
    assert first[1] != again[1], "identifiers are not to be foreseen"


def test_the_repl_takes_permission_flags(cli):
    code, out, err = cli("repl", "--offline", "--allow-env", stdin=b"std::env::has(\"HOME\")\nstd::fs::exists(\"x\")\n")
    assert code == 0 and out == "true\n" and "panic[P407]: permission denied: fs:read=x" in err


def test_a_terminal_gets_no_control_characters(cli, write, monkeypatch):
    """Program output moves no cursor there; a pipe gets it as it is (G-10.4)."""
    write("a.conc", """fn main() {
        println("a\\tb\\u{1b}[2J\\u{202e}");
        emit("c\\u{7}", "ü\\n");
        panic("\\r");
    }""")
    plain = cli("run", "--offline", "a.conc")
    assert plain.out == "a\tb\x1b[2J\u202e\n[emit:c\x07] ü\n\n" and "P001]: \r" in plain.err
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    code, out, err = cli("run", "--offline", "--color=never", "a.conc")
    assert out == "a\tb\\u001b[2J\\u202e\n[emit:c\\u0007] ü\n\n"
    assert "P001]: \\r\n" in err


TOOL = """tool T {
    description: "d",
    @describe("e")
    pub fn a(self) -> Result<Int, ToolError> { Ok(1) }
    @describe("e")
    pub fn b(self) -> Result<Int, ToolError> { Ok(2) }
}
fn main() { println(T.a().is_ok(), T.b().is_ok()); }
"""


@pytest.mark.parametrize(
    ("flags", "manifest", "shown"),
    [
        ([], "", "true true"), (["--disable-tool", "T"], "", "false false"), (["--disable-tool=T.b"], "", "true false"),
        (["--disable-tool=T.a,T.b"], "", "false false"), ([], "tools = { T = false }", "false false"),
        ([], 'tools = { T = ["b"] }', "false true"), (["--disable-tool=T.b"], 'tools = { T = ["b"] }', "false false"),
        ([], "tools = { T = true, Other = false }", "true true"),
    ],
)  # fmt: skip
def test_tools_are_taken_away(cli, write, flags, manifest, shown):
    """O-4.20."""
    write("Concerto.toml", MANIFEST + f"[permissions]\n{manifest}\n")
    assert cli("run", "--offline", *flags, write("a.conc", TOOL)) == (0, f"{shown}\n", "")


def test_a_tool_that_is_not_there_cannot_be_disabled(cli, write):
    code, out, err = cli("run", "--offline", "--disable-tool=T.c", write("a.conc", TOOL))
    assert (code, out) == (2, "") and err == "E4003: there is no tool T.c to disable; tools and methods are: T, T.a, T.b\n"


@pytest.mark.parametrize("value", ["true", "{ T = 1 }", "{ T = [1] }"])
def test_tools_of_the_manifest_have_their_form(cli, write, value):
    write("Concerto.toml", MANIFEST + f"[permissions]\ntools = {value}\n")
    code, _, err = cli("run", "--offline", write("a.conc", TOOL))
    assert code == 65 and "error[E4004]" in err


@pytest.mark.parametrize(
    "words",
    [["--allow-fs-read", "data", "FILE"], ["FILE", "--allow-fs-read", "data"], ["--allow-fs-read", "data"]],
)
def test_a_list_behind_a_space_is_explained(cli, write, tmp_path, words):
    (tmp_path / "data").mkdir()
    path = write("a.conc", "fn main() { }")
    code, out, err = cli("run", *(path if word == "FILE" else word for word in words))
    assert code in (2, 66) and out == ""
    assert "--allow-fs-read takes no word behind it; write --allow-fs-read=data if that was meant" in err
    assert cli("run", "--allow-fs-read", path) == (0, "", "")
