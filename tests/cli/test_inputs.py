"""FILE arguments of every verb: what cannot be read, images where sources belong, damaged images, stdin (O-9.2, O-9.10)."""

import os

import pytest
from concerto.cli.verbs import VERBS

SOURCE = 'fn main() { emit("said", "hello"); }\n'
OF_KEYS = ("keygen", "sign", "verify")  # in test_signing.py
TAKES_NONE = (
    "batch", "view", "serve", "mcp", "stubs", "version", "repl", "test", "init", "conformance", "models", "lsp", "help", "trace",
    "resume", "runs", *OF_KEYS,
)  # fmt: skip
TAKES_FILE = [verb.name for verb in VERBS if verb.name not in TAKES_NONE]
TAKES_IMAGE = ["run", "disasm", "inspect", "pin"]
TAKES_SOURCE_ONLY = ["compile", "check", "fmt"]  # and stubs, which writes a file: test_stubs.py
each_verb = pytest.mark.parametrize("verb", TAKES_FILE)


@pytest.fixture
def image(cli, write, tmp_path):
    """An image file; its source is gone."""
    write("program.conc", SOURCE)
    assert cli("compile", "program.conc") == (0, "", "")
    (tmp_path / "program.conc").unlink()
    return "program.concb"


def test_every_verb_that_takes_a_file_is_here():
    assert sorted(TAKES_FILE) == sorted(TAKES_IMAGE + TAKES_SOURCE_ONLY)


@each_verb
def test_missing_file(cli, verb):
    assert cli(verb, "gone.conc") == (66, "", "cannot read gone.conc: No such file or directory\n")


@each_verb
def test_directory(cli, verb, tmp_path):
    assert cli(verb, str(tmp_path)) == (66, "", f"cannot read {tmp_path}: Is a directory\n")


@each_verb
def test_unreadable_file(cli, tmp_path, verb):
    """A link to itself: nobody can read it, the superuser included."""
    (tmp_path / "loop.conc").symlink_to("loop.conc")
    assert cli(verb, "loop.conc") == (66, "", "cannot read loop.conc: Too many levels of symbolic links\n")


@each_verb
def test_compile_errors(cli, write, verb):
    code, out, err = cli(verb, write("bad.conc", "fn main() { emit(1 + ); }"))
    assert (code, out) == (65, "")
    assert err.startswith("bad.conc:1:22: error[E0101]: ")


@each_verb
def test_source_on_stdin(cli, verb):
    code, out, err = cli(verb, "-", stdin=SOURCE.encode())
    assert (code, err) == (0, "")
    code, out, err = cli(verb, "-", stdin=b"fn main( {")
    assert (code, out) == (65, "")
    assert err.startswith("stdin.conc:1:")


@pytest.mark.parametrize("verb", TAKES_IMAGE)
def test_an_image_is_known_by_its_content(cli, image, tmp_path, verb):
    (tmp_path / image).rename(tmp_path / "anything.conc")
    from_image = cli(verb, "anything.conc")
    assert (from_image.code, from_image.err) == (0, "")
    assert from_image.out == cli(verb, "-", stdin=(tmp_path / "anything.conc").read_bytes()).out


@pytest.mark.parametrize("verb", TAKES_SOURCE_ONLY)
def test_an_image_is_no_source(cli, image, tmp_path, verb):
    before = (tmp_path / image).read_bytes()
    assert cli(verb, image) == (2, "", f"{image} is an image, not a source\n")
    assert (tmp_path / image).read_bytes() == before


@pytest.mark.parametrize("verb", TAKES_IMAGE)
def test_damaged_images(cli, write, image, tmp_path, verb):
    whole = (tmp_path / image).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (whole[:-1], whole[:20], whole[:8], bytes(flipped), whole + b"\0"):
        code, out, err = cli(verb, write("damaged.concb", damaged))
        assert (code, out) == (74, "")
        assert err.startswith("damaged.concb: image rejected: V0")
        assert err.count("\n") == 1


@each_verb
def test_text_that_is_no_utf_8(cli, write, verb):
    code, out, err = cli(verb, write("latin.conc", b'fn main() { emit("a", "\xff"); }'))
    assert (code, out) == (65, "")
    assert err.startswith("latin.conc:1:24: error[E0001]: invalid UTF-8 at byte offset 23\n")


@each_verb
def test_empty_file(cli, write, verb):
    code, out, err = cli(verb, write("empty.conc", ""))
    assert code == (65 if verb == "run" else 0)
    if verb == "run":
        assert err == "empty.conc: error[E1013]: no main function to run; add `fn main() { }`\n"


def test_an_entry_that_is_no_file_is_told_at_its_line(cli, write, tmp_path):
    (tmp_path / "src").mkdir()
    write("src/main.conc", "fn main() { }\n")
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "src/mian.conc"\n')
    ended = cli("run")
    assert (ended.code, ended.out) == (66, "")
    assert ended.err == (
        "Concerto.toml:4:1: error[E4004]: the `entry` of [project] is no file: src/mian.conc\n"
        '  4 | entry = "src/mian.conc"\n    | ^^^^^\n  help: write the path of a source: `entry = "src/main.conc"`\n'
    )


@pytest.mark.parametrize("entry", ["src/mian.conc", "mian.conc"])
def test_an_entry_that_is_no_file_in_a_folder_that_cannot_be_listed(cli, write, tmp_path, monkeypatch, entry):
    listed = os.listdir
    (tmp_path / "src").mkdir()
    write("Concerto.toml", f'[project]\nname = "p"\nversion = "1"\nentry = "{entry}"\n')

    def denied(folder="."):
        if str(folder).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", folder)
        return listed(folder)

    monkeypatch.setattr(os, "listdir", denied)
    ended = cli("run")
    assert (ended.code, ended.out) == (66, "")
    assert "write the path of a source: `entry = \"src/main.conc\"`" in ended.err


@pytest.mark.parametrize("verb", [*TAKES_FILE, "test"])
def test_bytecode_of_the_rust_implementation_names_the_way(cli, write, verb):
    code, out, err = cli(verb, write("app.conc-ir", '{"version": 1}'))
    assert (code, out) == (2, "")
    assert err.startswith("app.conc-ir is the bytecode of another implementation")
    assert "`concerto run app.conc`" in err
    assert "`concerto compile app.conc`" in err


def test_a_word_that_is_no_file_was_meant_for_the_program(cli, write):
    write("Concerto.toml", '[project]\nname = "p"\nversion = "0.1.0"\nentry = "main.conc"\n')
    write("main.conc", "fn main() { println(std::env::args()); }")
    said = "cannot read ann: No such file or directory; arguments of the program stand behind --: `concerto run -- ann`\n"
    assert cli("run", "ann") == (66, "", said)
    assert cli("run", "--", "ann").out == "[ann]\n"
    assert cli("run", "gone.conc").err == "cannot read gone.conc: No such file or directory\n"


def test_a_byte_order_mark_says_nothing(cli, write, tmp_path):
    """L-1.1.1 has it for sources; editors of Windows put one into the other files too."""
    mark = "\ufeff"
    write("Concerto.toml", mark + '[project]\nname = "p"\nversion = "1"\nentry = "m.conc"\n[permissions]\nenv = ["A_OF_FILE"]\n')
    write("m.conc", mark + 'model M { provider: openai, base: "m" }\nfn main() { println("${std::env::get("A_OF_FILE")}"); '
          'println(M.execute("q")?.text); }\n')  # fmt: skip
    write("keys.env", mark + "A_OF_FILE=1\n")
    write("replies.json", mark + '["hi"]')
    ran = cli("run", "--env-file", "keys.env", "--offline-script", "replies.json")
    assert (ran.out, ran.err, ran.code) == ("Some(1)\nhi\n", "", 0)
    write("first.conc", mark + '// reply: text "ho"\nfn main() {}\n')
    assert cli("run", "--offline-script", "first.conc", "--env-file", "keys.env").out == "Some(1)\nho\n"
