"""`[agents.X]` of a manifest with real processes behind it (O-7.4 to O-7.8, O-7.16, O-7.22)."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

SOURCE = 'agent A { connector: a%s }\nfn main() { emit("a", A.execute("hi")?.text); }\n'
WITH_VARIANT = """agent A { connector: a }
fn main() { match A.execute("x") { Err(e) => emit("e", [e.variant, e.message]), Ok(_) => emit("ok") } }
"""
PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n\n[agents.a]\n'
# Tells what it was started with, in one line.
TELLS = """
import json, os, sys
first = sys.stdin.readline().strip()
if first != "hi":
    print('{"type":"init_ack"}', flush=True)
    sys.stdin.readline()
facts = {"first": first, "args": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ)}
print("x" + json.dumps(facts), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def told(cli, write, tmp_path):
    """What an agent tells of itself when it is configured so; `words` is the command line."""
    write("tells.py", TELLS)

    def run(manifest, *words, field=""):
        write("Concerto.toml", PROJECT + manifest)
        write("main.conc", SOURCE % field)
        code, out, err = cli(*(words or ("run", "--allow-run", "main.conc")))
        assert (code, err) == (0, "")
        return json.loads(out.removeprefix("[emit:a] x"))

    return run


def command(*words):
    return "command = " + json.dumps(" ".join([sys.executable, "-S", *words])) + "\n"


def test_stdio_is_the_only_transport(told, cli, write):
    assert told('transport = "stdio"\n' + command("tells.py"))["first"] == told(command("tells.py"))["first"] == "hi"
    write("Concerto.toml", PROJECT + 'transport = "http"\n' + command("tells.py"))
    code, _, err = cli("check", "main.conc")
    assert (code, 'error[E4004]: `transport` of [agents.a] is "stdio"' in err) == (65, True)


def test_the_command_is_required_split_when_args_are_absent_and_needs_a_permission(told, cli, write):
    assert told(command("tells.py", "'a b'", "$HOME", ";", "c"))["args"] == ["a b", "$HOME", ";", "c"]
    split = f'command = "{sys.executable}"\nargs = ["-S", "tells.py", "a b", "\'c"]\n'
    assert told(split)["args"] == ["a b", "'c"]
    code, out, err = cli("run", "main.conc")
    assert (code, out) == (77, "") and f"permission denied: run={os.path.realpath(sys.executable)}" in err
    assert cli("run", f"--allow-run={sys.executable}", "main.conc").code == 0
    write("Concerto.toml", PROJECT + 'command = "it\'s"\n')
    assert "error[E4004]: `command` of [agents.a] is a string of words" in cli("check", "main.conc").err
    write("Concerto.toml", PROJECT + 'command = "it\'s"\nargs = []\n')
    assert cli("check", "main.conc").code == 0
    write("Concerto.toml", PROJECT + 'args = ["x"]\n')
    assert "error[E4002]: [agents.a] lacks `command`" in cli("check", "main.conc").err


def test_the_directory_is_that_of_the_manifest_or_relative_to_it(told, tmp_path):
    (tmp_path / "inner").mkdir()
    shutil.copy(tmp_path / "tells.py", tmp_path / "inner" / "tells.py")
    assert told(command("tells.py"))["folder"] == str(tmp_path)
    assert told('working_dir = "inner"\n' + command("tells.py"))["folder"] == str(tmp_path / "inner")


def test_wherever_the_program_is_started_and_an_image_in_the_current_directory(told, cli, tmp_path, monkeypatch):
    told(command("tells.py"))
    assert cli("compile", "main.conc").code == 0
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    out = cli("run", "--allow-run", "../main.conc").out
    assert json.loads(out.removeprefix("[emit:a] x"))["folder"] == str(tmp_path)
    shutil.copy(tmp_path / "tells.py", "tells.py")
    out = cli("run", "--allow-run", "../main.concb").out
    assert json.loads(out.removeprefix("[emit:a] x"))["folder"] == str(tmp_path / "else")


def test_the_timeout_of_the_source_wins(cli, write):
    sleeper = command("-c", "'import time; time.sleep(600)'")
    write("Concerto.toml", PROJECT + "timeout = 0.25\n" + sleeper)
    write("main.conc", SOURCE % "")
    assert cli("run", "--allow-run", "main.conc").err == "error: A: no reply within 0.25 s\n  at main (main.conc:2:23)\n"
    write("main.conc", SOURCE % ", timeout: 0.125")
    assert cli("run", "--allow-run", "main.conc").err == "error: A: no reply within 0.125 s\n  at main (main.conc:2:23)\n"


def test_the_environment_is_named_variables_only(told, cli, write, monkeypatch):
    monkeypatch.setenv("HOST_NAME", "value")
    monkeypatch.setenv("SECRET_OF_MINE", "s3cr3t")
    env = told(command("tells.py") + '[agents.a.env]\nCHILD_NAME = "HOST_NAME"\n')["env"]
    assert env["CHILD_NAME"] == "value"
    assert set(env) <= {"PATH", "HOME", "LANG", "TMPDIR", "CHILD_NAME", "LC_CTYPE"}  # the last is set by Python itself
    monkeypatch.delenv("HOST_NAME")
    write("main.conc", WITH_VARIANT)
    missing = "A: the environment variable HOST_NAME is not set, which the agent sees as CHILD_NAME"
    assert cli("run", "--allow-run", "main.conc").out == f"[emit:e] [\"SpawnFailed\",\"{missing}\"]\n"


def test_a_variable_may_be_written_out(told, cli, write, monkeypatch):
    """In the manifest itself, without a variable of the host; an image holds it (O-4.41)."""
    monkeypatch.setenv("HOST_NAME", "value")
    variables = 'env = { MODE = { value = "production" }, EMPTY = { value = "" }, OF_HOST = "HOST_NAME" }\n'
    env = told(command("tells.py") + variables)["env"]
    assert (env["MODE"], env["EMPTY"], env["OF_HOST"]) == ("production", "", "value")
    cli("compile", "main.conc")
    (Path.cwd() / "Concerto.toml").unlink()
    assert '"MODE": "production"' in cli("run", "--allow-run", "main.concb").out


@pytest.mark.parametrize("wrong", ["{ value = 1 }", "{ text = 'a' }", "{ value = 'a', env = 'B' }", "1", "['a']"])
def test_what_is_neither_a_name_nor_a_value_is_refused(cli, write, wrong):
    write("Concerto.toml", PROJECT + command("tells.py") + f"env = {{ MODE = {wrong} }}\n")
    write("main.conc", SOURCE % "")
    code, _, err = cli("check", "main.conc")
    wanted = 'error[E4004]: `env` of [agents.a] is a table of names of variables, or of `{ value = "text" }`'
    assert code == 65 and wanted in err and "env = { API_KEY" in err


def test_params_go_first_and_only_when_there_are_any(told):
    params = '[agents.a.params]\ndepth = 2\nparts = ["a", { b = 1.5 }]\non = true\n'
    first = '{"type":"init","params":{"depth":2,"parts":["a",{"b":1.5}],"on":true}}'
    assert told(command("tells.py") + params)["first"] == first
    assert told(command("tells.py") + "[agents.a.params]\n")["first"] == "hi"


def test_what_cannot_start_is_named(cli, write):
    write("Concerto.toml", PROJECT + 'command = "./no-such-program x"\n')
    write("main.conc", WITH_VARIANT)
    missing = "A: the command ./no-such-program does not start: No such file or directory"
    assert cli("run", "--allow-run", "main.conc").out == f"[emit:e] [\"SpawnFailed\",\"{missing}\"]\n"


def test_a_connector_that_no_table_names_is_an_error(cli, write):
    write("Concerto.toml", PROJECT.replace("agents.a", "agents.b") + command("tells.py"))
    write("main.conc", SOURCE % "")
    assert "error[E4003]" in cli("check", "main.conc").err
