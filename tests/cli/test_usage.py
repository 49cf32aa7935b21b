"""Words the command does not understand, help, version, defects (O-9.10, O-9.26)."""

import json
import re

import concerto
import pytest
from concerto.cli import check
from concerto.cli.main import main
from concerto.cli.verbs import VERBS
from concerto.vm.bytecode.image import FORMAT, ImageError

RUN_FLAGS = [  # O-9.27
    "--offline", "--offline-script", "--env-file", "--allow-fs-read", "--allow-fs-write", "--allow-fs", "--allow-net",
    "--allow-env", "--allow-run",
    "--allow-all", "--disable-tool", "--max-steps", "--max-seconds", "--max-tokens", "--max-cost", "--max-model-calls", "--seed",
]  # fmt: skip
FLAGS = {
    "run": [*RUN_FLAGS, "--emit-format", "--metrics", "--no-code-cache", "--verbose", "--watch", "--trust-key", "--pin"],
    "resume": [*RUN_FLAGS, "ID", "--store", "--sync-full", "--answer", "--take-over", "--image", "--emit-format", "--debug"],
    "runs": ["ACTION", "WORD", "--store", "--sync-full", "--days", "--json"],
    "batch": [*RUN_FLAGS, "--fn", "--in", "--out", "--limit", "--retries", "--store", "--key", "--ignore", "--only-failed",
              "--on", "--provider-batch", "--wait"],  # fmt: skip
    "compile": ["-o", "--check", "--strip", "--emit-tokens", "--emit-ast", "--deny-warnings", "--json"],
    "check": ["--deny-warnings", "--json"],
    "stubs": ["-o", "--check"],
    "fmt": ["--check", "--diff"],
    "disasm": ["--function", "--json"],
    "inspect": ["--json"],
    "test": [*RUN_FLAGS, "--filter", "--debug", "--json", "--junit", "--watch"],
    "init": ["--provider"],
    "repl": [*RUN_FLAGS, "--emit-format", "--verbose"],
    "conformance": ["--filter", "--list", "--json"],
    "models": ["CONNECTION", "--program", "--env-file", "--json"],
    "trace": ["--store", "--json", "--kind", "--effect", "--html", "--check", "--program", "--allow-net", "--max-steps"],
    "view": ["--store", "--port"],
    "serve": ["--host", "--port", "--workers", "--tokens", "--rate", "--day-cost", "--state", "--offline", "--max-cost"],
    "mcp": ["FILE"],
    "pin": ["--server", "--check", "--env-file", "--allow-net", "--allow-run"],
    "keygen": ["NAME", "--force"],
    "sign": ["--key", "--comment"],
    "verify": ["--key"],
    "lsp": [],
    "version": ["--json"],
    "help": ["COMMAND"],
}


def test_no_words(cli):
    code, out, err = cli()
    assert (code, out) == (2, "")
    assert all(f"  {verb.name}" in err for verb in VERBS)


@pytest.mark.parametrize("word", ["help", "-h", "--help"])
def test_help(cli, word):
    code, out, err = cli(word)
    assert (code, err) == (0, "")
    assert all(f"  {verb.name}" in out and verb.summary in out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_help_of_a_verb_names_its_flags(cli, verb):
    code, out, err = cli(verb.name, "--help")
    assert (code, err) == (0, "")
    assert {*FLAGS[verb.name], "--quiet", "--color"} <= set(re.findall(r"[-\w]+", out))
    assert cli("help", verb.name) == (code, out, err)


def test_unknown_verb(cli):
    code, out, err = cli("chekc")
    assert (code, out) == (2, "")
    assert err.startswith("concerto: no command 'chekc'; did you mean check?\n")
    assert "did you mean" not in cli("zzz").err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--nonsense", "x.conc"],
        ["run", "--off", "x.conc"],  # no abbreviations: they would break when a flag is added
        ["run", "a.conc", "b.conc"],
        ["run", "a.conc", "--allow-all=x"],
        ["run", "a.conc", "--max-steps", "0"],
        ["run", "a.conc", "--max-steps", "many"],
        ["run", "a.conc", "--max-tokens", "0"],
        ["run", "a.conc", "--max-cost", "-1"],
        ["run", "a.conc", "--seed", "x"],
        ["run", "a.conc", "--emit-format", "xml"],
        ["version", "x"],
    ],
    ids=" ".join,
)
def test_bad_usage(cli, words):
    code, out, err = cli(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"usage: concerto {words[0]}")
    assert f"concerto {words[0]}: error: " in err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "app.conc", "ask", "hi"], "arguments of the program stand behind --: `concerto run app.conc -- ask hi`"),
        (["e.conc"], "concerto: e.conc is a file, not a command: write `concerto run e.conc`"),
        (["run", "--allow-net=a.org/x", "e.conc"], "'a.org/x' is no host: a permission is for a whole host, write a.org"),
        (["run", "--allow-net=https://a.org:80/x", "e.conc"], "is no host: a permission is for a whole host, write a.org:80"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_what_was_meant_is_said(cli, words, meant):
    ran = cli(*words)
    assert ran.code == 2 and meant in ran.err


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"]], ids=" ".join)
def test_version(cli, words):
    major, minor = FORMAT
    assert cli(*words) == (0, f"concerto {concerto.__version__} (image format {major}.{minor})\n", "")


def test_version_as_json(cli):
    code, out, _ = cli("version", "--json")
    assert (code, json.loads(out)) == (0, {"version": concerto.__version__, "image_format": ".".join(map(str, FORMAT))})


def test_image_that_fails_its_own_verification_is_a_defect(capsys, monkeypatch, tmp_path):
    def refuse(image):
        raise ImageError("V105", "made up")

    source = tmp_path / "a.conc"
    source.write_text("fn main() { }")
    monkeypatch.setattr("concerto.vm.interp.link.load_image", refuse)
    assert main(["compile", str(source)]) == 70
    assert capsys.readouterr().err.startswith("internal error: the image fails verification: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.conc"]


def test_defect_is_one_line_and_70(capsys, monkeypatch):
    def fail(arguments):
        raise KeyError("surprise")

    monkeypatch.delenv("CONCERTO_TRACEBACK", raising=False)
    monkeypatch.setattr(check, "execute", fail)
    assert main(["check", "x"]) == 70
    out, err = capsys.readouterr()
    assert (out, err) == ("", "internal error: KeyError: 'surprise' (CONCERTO_TRACEBACK=1 shows where)\n")
    monkeypatch.setenv("CONCERTO_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["check", "x"])


PROGRAMS = {
    "fine.conc": "fn main() { }",
    "err.conc": 'fn main() -> Result<Nil, Error> { throw "no" }',
    "panic.conc": "fn main() { [1][2]; }",
    "fails.conc": "@test fn f() { assert(false); }",
    "ugly.conc": "fn  main( ){ }",
    "wrong.conc": "fn main() { x }",
    "warned.conc": "fn main() { let unused = 1; }",
    "image.concb": "no image",
    "denied.conc": 'fn main() -> Result<Nil, Error> { std::fs::read_file("x")?; Ok() }',
    "denied2.conc": 'fn main() { print(env("HOME")); }',
}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ["run", "fine.conc"]), (1, ["run", "err.conc"]), (1, ["run", "panic.conc"]), (1, ["test", "fails.conc"]),
        (1, ["fmt", "--check", "ugly.conc"]), (2, ["run", "--nonsense"]), (65, ["run", "wrong.conc"]),
        (0, ["check", "warned.conc"]), (65, ["check", "--deny-warnings", "warned.conc"]), (66, ["run", "gone.conc"]),
        (74, ["run", "image.concb"]), (77, ["run", "denied.conc"]), (77, ["run", "denied2.conc"]),
    ],
    ids=lambda part: part if isinstance(part, int) else " ".join(part),
)  # fmt: skip
def test_exit_codes(cli, write, code, words):
    for name, text in PROGRAMS.items():
        write(name, text + "\n")
    assert cli(*words).code == code


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (KeyError, 70)])
def test_exit_codes_of_what_happens_to_the_command(capsys, monkeypatch, error, code):
    def fail(arguments):
        raise error

    monkeypatch.delenv("CONCERTO_TRACEBACK", raising=False)
    monkeypatch.setattr(check, "execute", fail)
    assert main(["check", "x"]) == code


@pytest.mark.parametrize("words", [["run"], ["check", "{folder}/wrong.conc"], ["init", "new"]])
def test_a_working_directory_that_is_gone(cli, write, tmp_path, monkeypatch, words):
    write("wrong.conc", "fn main() { x }")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ended = cli(*(word.format(folder=tmp_path) for word in words))
    assert ended.code == 66 and "the working directory is gone" in ended.err, ended


def test_a_misspelt_flag_has_a_suggestion(cli):
    ended = cli("run", "--ofline", "x.conc")
    assert ended.code == 2
    assert "unrecognized arguments: --ofline; did you mean --offline?" in ended.err
    assert "did you mean" not in cli("run", "--nothing-like-it", "x.conc").err
