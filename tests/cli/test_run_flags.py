"""Every flag of R does its work in each verb that takes them: `run`, `test` and `repl` (O-9.27)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from .test_usage import FLAGS, RUN_FLAGS

HEAD = """use std::tools::ShellTool;
connect near { provider: "custom", base_url: "http://127.0.0.1:9/v1", retry: { max_attempts: 1 } }
model Near { provider: near, base: "m-2" }
model M { provider: openai, base: "m-1" }
tool T { description: "t", @describe("m") pub fn m(self) -> Result<Int, ToolError> { Ok(1) } }
"""


class Case(NamedTuple):
    """`base`: words given either way; `without` and `given`: what the output holds."""

    words: list[str]
    body: str
    without: str
    given: str
    base: list[str] = []


TOLD = 'println("got", match M.execute("q") { Ok(r) => r.text, Err(e) => "${e.kind}: ${e.message}" });'
TWICE = 'let _r = M.execute("q"); println("got", match M.execute("q") { Ok(_) => "second", Err(e) => e.message });'
CALL = 'println("got", M.execute("q").map(|r| r.text).unwrap_or("nothing"));'
READ = 'println("read", std::fs::read_file("a.txt").is_ok());'
WRITE = 'println("wrote", std::fs::write_file("b.txt", "x").is_ok());'
RANDOM = "println(std::math::random_int(1, 1000000000000));"
CASES = {
    "--offline": Case(["--offline"], CALL, "got nothing", "got offline: q"),
    "--offline-script": Case(["--offline-script", "replies.json"], CALL, "got nothing", "got scripted"),
    "--env-file": Case(
        ["--env-file", "keys.env"], 'println("is", std::env::get("FROM_FILE").unwrap_or("no"));', "is no", "is yes",
        ["--allow-env"],
    ),
    "--allow-fs-read": Case(["--allow-fs-read=a.txt"], READ, "read false", "read true", ["--allow-fs-write"]),
    "--allow-fs-write": Case(["--allow-fs-write=b.txt"], WRITE, "wrote false", "wrote true", ["--allow-fs-read"]),
    "--allow-fs": Case(["--allow-fs"], READ + WRITE, "read false\nwrote false", "read true\nwrote true"),
    "--allow-net": Case(
        ["--allow-net=127.0.0.1:9"], 'println("net", std::http::get("http://127.0.0.1:9/").unwrap_err().variant);',
        "net PermissionDenied", "net Network",
    ),
    "--allow-env": Case(
        ["--allow-env=HOME"], 'println("has", std::env::has("HOME"));', "permission denied: env=HOME", "has true"
    ),
    "--allow-run": Case(["--allow-run=true"], 'println("ran", ShellTool.exec("true").is_ok());', "ran false", "ran true"),
    "--allow-all": Case(["--allow-all"], READ + WRITE, "read false\nwrote false", "read true\nwrote true"),
    "--disable-tool": Case(["--disable-tool", "T.m"], 'println("tool", T.m().is_ok());', "tool true", "tool false"),
    "--max-steps": Case(["--max-steps", "2000"], "for _ in 0..9999 { } println(\"done\");", "done", "step limit exceeded: 2000"),
    "--max-seconds": Case(
        ["--max-seconds", "5"], 'std::time::sleep(60000); println("slept");', "slept", "time limit exceeded: 5 s", ["--offline"]
    ),
    "--max-tokens": Case(["--max-tokens", "3"], TOLD, "got offline: q", "token budget spent", ["--offline"]),
    "--max-model-calls": Case(["--max-model-calls", "1"], TWICE, "got second", "budget of model calls", ["--offline"]),
    "--max-cost": Case(["--max-cost", "1"], TOLD.replace("M.", "Near."), "got ConnectionError", "budget of cost"),
}  # fmt: skip


def by_run(body: str) -> tuple[list[str], str]:
    return ["run", "main.conc"], f"{HEAD}fn main() {{ {body} }}\n"


def by_test(body: str) -> tuple[list[str], str]:
    return ["test", "main.conc"], f'{HEAD}@test("t")\nfn t() {{ {body} }}\n'


def by_repl(body: str) -> tuple[list[str], str]:
    return ["repl"], f"{HEAD}{{ {body} }}\n"


VERBS = {"run": by_run, "test": by_test, "repl": by_repl}


def test_every_flag_has_its_case() -> None:
    assert {*CASES, "--seed"} == set(RUN_FLAGS)
    # `resume` needs a run that waits, whose settings its flags go over: tests/journal/test_durable_commands.py; `batch` rows:
    # tests/batches/test_command.py.
    assert {verb for verb, flags in FLAGS.items() if set(RUN_FLAGS) <= set(flags)} == {*VERBS, "batch", "resume"}


@pytest.fixture
def output(cli: Callable[..., tuple[int, str, str]], write: Callable[[str, str], str]) -> Callable[..., str]:
    """All that a verb says, given the body and the words."""
    write("a.txt", "a")
    write("replies.json", '["scripted"]')
    write("keys.env", "FROM_FILE=yes\n")

    def run(verb: str, body: str, *words: str) -> str:
        command, text = VERBS[verb](body)
        write("main.conc", text)
        _, out, err = cli(*command, *words, stdin=text.encode() if verb == "repl" else b"")
        return out + err

    return run


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", CASES)
def test_a_flag_does_its_work(output: Callable[..., str], flag: str, verb: str) -> None:
    case = CASES[flag]
    without, given = output(verb, case.body, *case.base), output(verb, case.body, *case.base, *case.words)
    assert case.without in without and case.given not in without
    assert case.given in given and case.without not in given


@pytest.mark.parametrize("verb", VERBS)
def test_the_seed_fixes_chance(output: Callable[..., str], verb: str) -> None:
    drawn = [output(verb, RANDOM, *words) for words in (["--seed", "7"], ["--seed", "7"], ["--seed", "8"], [], [])]
    assert drawn[0] == drawn[1] and len(set(drawn)) == 4
