"""`concerto init` (O-9.30 to O-9.32), and the tables of a manifest (O-9.3, O-9.6, O-9.7)."""

from __future__ import annotations

import os

import pytest

MODEL = 'model M { provider: lab, base: "m" }\nfn main() { emit("out", M.execute("hi")?.text); }\n'
PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama", "offline"])
def test_a_new_project_checks_tests_and_runs(cli, provider):
    code, out, err = cli("init", "made", "-p", provider)
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("wrote")] == [
        "wrote made/Concerto.toml", "wrote made/src/main.conc", "wrote made/.gitignore",
    ]  # fmt: skip
    assert cli("check", "--deny-warnings", "made/src/main.conc") == (0, "", "")
    assert cli("fmt", "--check", "made/src/main.conc").code == 0
    assert cli("test", "made").code == 0
    assert cli("run", "made/src/main.conc", "--offline").out == "[emit:ticket] {\"title\":\"\",\"kind\":\"bug\"}\n"


NAMES = ["two\nlines", "a\x7fb\x01c", 'q"u\\o', os.fsdecode(b"no\xfftext"), "\u00e9 {name}", "\n"]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_the_folder_in_the_manifest(cli, name):
    assert cli("init", name, "-q").code == 0
    assert cli("check", f"{name}/src/main.conc") == (0, "", "")


def test_the_next_steps_can_be_typed_as_they_stand(cli):
    assert "\n  cd 'my app'\n" in cli("init", "my app").out
    assert "\n  cd app\n" in cli("init", "app").out


def test_this_folder(cli, tmp_path):
    assert cli("init", ".", "--quiet") == (0, "", "")
    assert (tmp_path / ".gitignore").read_text() == ".concerto/\n*.concb\n*.effects.jsonl\n.env\n"


def test_a_project_that_is_there_stays(cli, write):
    write("Concerto.toml", PROJECT)
    assert cli("init", ".") == (1, "", "./Concerto.toml is already there\n")


def test_commands_without_file_take_the_entry(cli, tmp_path, monkeypatch):
    assert cli("run").code == 2
    cli("init", "made", "-p", "offline")
    monkeypatch.chdir(tmp_path / "made" / "src")
    assert cli("run", "--offline", "--", "x").out == "[emit:ticket] {\"title\":\"\",\"kind\":\"bug\"}\n"
    assert cli("check") == (0, "", "")
    assert cli("fmt", "--check").code == 0
    assert cli("compile").code == 0
    assert (tmp_path / "made" / "src" / "main.concb").exists()


def test_unknown_provider(cli):
    assert cli("init", "x", "-p", "opnai").code == 2


def test_a_connection_of_the_manifest(cli, write):
    write("Concerto.toml", PROJECT + '[connections.lab]\nprovider = "offline"\nreplies = ["from the manifest"]\n')
    write("main.conc", MODEL)
    assert cli("run", "main.conc") == (0, "[emit:out] from the manifest\n", "")
    assert cli("compile", "main.conc").code == 0
    write("Concerto.toml", PROJECT)
    assert cli("run", "main.concb").out == "[emit:out] from the manifest\n"  # an image needs no manifest (O-10.22)


def test_the_manifest_wins_over_the_source(cli, write):
    write("Concerto.toml", PROJECT + '[connections.lab]\nreplies = ["manifest"]\n')
    write("main.conc", 'connect lab { provider: "offline", replies: ["source"] }\n' + MODEL)
    assert cli("run", "main.conc").out == "[emit:out] manifest\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('[connections.lab]\nprovider = "offline"\ntimeout = "x"', "E4004", 7),
        ('[connections.lab]\nprovider = "offline"\ntimeuot = 3', "E4001", 7),
        ('[connections.lab]\nprovider = "nowhere"', "E4004", 6),
        ('[connections.lab]\nprovider = "openai"\napi_key = "sk-1"', "E4005", 7),
        ('[connections.lab]\nprovider = "openai"\nretry = { max_attempts = 0 }', "E4004", 7),
        ('[connections.lab]\nprovider = "openai"\nretry = { most = 1 }', "E4001", 7),
        ('[connections.lab]\nprovider = "openai"\nheaders = { A = 1 }', "E4004", 7),
        ("[connections]\nlab = 3", "E4004", 6),
        ('[pricing."m"]\ninput_per_million = 1', "E4002", 5),
        ('[pricing."m"]\ninput_per_million = -1\noutput_per_million = 1', "E4004", 6),
        ("[budgets]\nsteps = 0", "E4004", 6),
        ("[budgets]\nstep = 1", "E4001", 6),
    ],
)
def test_faults_stand_at_their_line(cli, write, text, code, line):
    write("Concerto.toml", PROJECT + text + "\n")
    write("main.conc", "fn main() { }\n")
    result = cli("check", "main.conc")
    assert result.code == 65
    assert result.err.startswith(f"Concerto.toml:{line}:")
    assert f"error[{code}]" in result.err


def test_budgets_are_defaults_of_flags(cli, write):
    write("Concerto.toml", PROJECT + "[budgets]\nsteps = 1000\ndepth = 20\n")
    write("main.conc", "fn f(n: Int) -> Int { if n == 0 { 0 } else { f(n - 1) } }\nfn main() { emit(\"d\", f(30)); }\n")
    assert "panic[P012]" in cli("run", "main.conc", "--offline").err
    write("main.conc", "fn main() { for _ in 0..10000 { } }\n")
    assert "panic[P101]" in cli("run", "main.conc", "--offline").err
    assert cli("run", "main.conc", "--offline", "--max-steps", "100000").code == 0


def test_prices_give_the_cost(cli, write):
    write("Concerto.toml", PROJECT + '[pricing."m"]\ninput_per_million = 1000000\noutput_per_million = 0\n')
    write("main.conc", 'model M { provider: openai, base: "m" }\n@test fn f() {\n'
          '    mock M { response: { text: "a", tokens_in: 3 } }\n    assert_eq(M.execute("x")?.cost, 3.0);\n}\n')  # fmt: skip
    assert cli("test", "main.conc").code == 0


TIMEOUTS = [
    ("timeout = { first = 5, idle = 1.5 }", ""),
    ("timeout = { firts = 5 }", "error[E4001]: `timeout` of [connections.lab] has no key `firts`"),
    ("timeout = { first = 0 }", "error[E4004]: `first` of `timeout` of [connections.lab] is a number above 0"),
    ('timeout = "5"', "error[E4004]: `timeout` of [connections.lab] is a number above 0"),
]


@pytest.mark.parametrize(("line", "said"), TIMEOUTS)
def test_limits_of_time_of_a_connection(cli, write, line, said):
    """O-1.212"""
    write("Concerto.toml", PROJECT + f'[connections.lab]\nprovider = "offline"\nreplies = ["x"]\n{line}\n')
    write("main.conc", MODEL)
    ended = cli("run")
    assert said in ended.err and ended.code == (65 if said else 0)
