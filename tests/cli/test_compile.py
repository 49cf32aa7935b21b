"""`concerto compile`: what it writes, what it leaves out, what it prints instead (O-9.14)."""

import json
import os
import stat
import subprocess
from contextlib import suppress

import pytest
from concerto.vm.bytecode.encoding import MAGIC, decode

SOURCE = '// a remark\nfn main() { emit("said", "hello"); }\n'
WARNING = "fn main() { let unused = 1; }\n"


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_default_output(cli, write, tmp_path):
    assert cli("compile", write("program.conc", SOURCE)) == (0, "", "")
    assert files(tmp_path) == ["program.conc", "program.concb"]
    image = (tmp_path / "program.concb").read_bytes()
    assert image.startswith(MAGIC)
    assert decode(image).header.name == "program"


def test_default_output_beside_a_source_elsewhere(cli, tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "program.conc").write_text(SOURCE)
    assert cli("compile", "below/program.conc").code == 0
    assert files(tmp_path / "below") == ["program.conc", "program.concb"]


def test_default_output_of_stdin(cli, tmp_path):
    assert cli("compile", "-", stdin=SOURCE.encode()) == (0, "", "")
    assert files(tmp_path) == ["out.concb"]
    assert cli("run", "out.concb").out == "[emit:said] hello\n"


def test_output_takes_the_place_of_an_older_image(cli, write, tmp_path):
    write("x", "something older and much longer than the image that takes its place" * 100)
    assert cli("compile", write("program.conc", SOURCE), "-o", "x") == (0, "", "")
    assert files(tmp_path) == ["program.conc", "x"]  # and no temporary file
    assert cli("run", "x").out == "[emit:said] hello\n"


def test_a_name_as_long_as_a_name_can_be(cli, write, tmp_path):
    name = "a" * 250
    assert cli("compile", write("program.conc", SOURCE), "-o", name) == (0, "", "")
    source = write(f"{name}.conc", "fn main(){}\n")
    assert cli("fmt", source).code == 0 and (tmp_path / source).read_text() == "fn main() {}\n"
    assert files(tmp_path) == [name, f"{name}.conc", "program.conc"]


@pytest.mark.parametrize(("output", "reason"), [("gone/x", "No such file or directory"), (".", "Is a directory")])
def test_output_that_cannot_be_written(cli, write, tmp_path, output, reason):
    code, out, err = cli("compile", write("program.conc", SOURCE), "-o", output)
    assert (code, out) == (1, "")
    assert err.startswith(f"cannot write {output}: ")
    assert files(tmp_path) == ["program.conc"]


def test_check_writes_nothing(cli, write, tmp_path):
    assert cli("compile", "--check", write("program.conc", SOURCE)) == (0, "", "")
    assert cli("compile", "--check", "-o", "x", "program.conc") == (0, "", "")
    assert files(tmp_path) == ["program.conc"]


def test_errors_leave_an_older_image_alone(cli, write, tmp_path):
    write("program.concb", "older")
    assert cli("compile", write("program.conc", "fn main() { missing(); }")).code == 65
    assert (tmp_path / "program.concb").read_text() == "older"


def test_denied_warnings_write_nothing(cli, write, tmp_path):
    code, out, err = cli("compile", "--deny-warnings", write("program.conc", WARNING))
    assert (code, out) == (65, "")
    assert err.startswith("program.conc:1:17: warning[W0001]: ")
    assert files(tmp_path) == ["program.conc"]
    assert cli("compile", "-q", "program.conc") == (0, "", "")
    assert files(tmp_path) == ["program.conc", "program.concb"]


def test_strip_leaves_the_source_out(cli, write, tmp_path):
    write("program.conc", SOURCE.replace("emit(", "let a = [1]; emit(").replace('"hello"', "a[1]"))
    assert cli("compile", "program.conc", "-o", "whole").code == 0
    assert cli("compile", "program.conc", "-o", "stripped", "--strip").code == 0
    assert b"a remark" in (tmp_path / "whole").read_bytes()
    assert b"a remark" not in (tmp_path / "stripped").read_bytes()
    whole, stripped = cli("run", "whole"), cli("run", "stripped")
    assert whole == stripped  # positions stay
    assert "  at main (program.conc:2:39)\n" in whole.err


def test_json(cli, write, tmp_path):
    assert cli("compile", "--json", write("program.conc", SOURCE)) == (0, "[]\n", "")
    assert files(tmp_path) == ["program.conc", "program.concb"]
    code, out, err = cli("compile", "--json", "-", "-o", "x", stdin=WARNING.encode())
    assert (code, err, [row["code"] for row in json.loads(out)]) == (0, "", ["W0001"])
    assert "x" in files(tmp_path)
    code, out, err = cli("compile", "--json", "-", "-o", "y", stdin=b"fn main() { missing(); }")
    assert (code, err, [row["severity"] for row in json.loads(out)]) == (65, "", ["error"])
    assert "y" not in files(tmp_path)


def test_tokens(cli, write, tmp_path):
    code, out, err = cli("compile", "--emit-tokens", write("program.conc", "fn main() { 1.5 }\n"))
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == ["1:1 FN 'fn'", "1:4 IDENT 'main'", "1:8 LPAREN '('"]
    assert "1:13 FLOAT 1.5" in out
    assert files(tmp_path) == ["program.conc"]


def test_tree(cli, write, tmp_path):
    code, out, err = cli("compile", "--emit-ast", write("program.conc", "fn main() { 1.5 }\n"))
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "Program 0..18",
        "  items[0]: Function 0..17 public=False is_async=False",
        "    name: Ident 3..7 text='main'",
    ]
    assert files(tmp_path) == ["program.conc"]


@pytest.mark.parametrize("flag", ["--emit-ast", "--emit-tokens"])
def test_dump_of_what_cannot_be_read(cli, write, flag):
    code, out, err = cli("compile", flag, write("program.conc", 'fn main() { "open }\n'))
    assert code == 65
    assert err.startswith("program.conc:1:13: error[E0004]: ")
    assert not err.endswith("\n\n")
    assert cli("compile", flag, write("latin.conc", b"\xff")).code == 65


def test_equal_input_gives_equal_bytes(cli, write, tmp_path):
    write("program.conc", SOURCE)
    (tmp_path / "copy").mkdir()
    write("copy/program.conc", SOURCE)
    assert cli("compile", "program.conc").code == cli("compile", "copy/program.conc").code == 0
    assert (tmp_path / "program.concb").read_bytes() == (tmp_path / "copy" / "program.concb").read_bytes()


@pytest.mark.parametrize("command", ["compile", "fmt"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_nothing_behind(cli, write, tmp_path, monkeypatch, command, raised):
    source = "fn main(){}\n"
    name = write("program.conc", source)

    def interrupted(temporary, target):
        assert len(files(tmp_path)) == 2
        raise raised

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", interrupted)
        with suppress(KeyboardInterrupt):
            assert cli(command, name).code in (1, 130)
    assert files(tmp_path) == ["program.conc"] and (tmp_path / name).read_text() == source


@pytest.mark.parametrize("words", [("compile", "program.conc", "-o", "pipe"), ("trace", "run.effects.jsonl", "--html", "pipe")])
def test_a_pipe_or_device_is_written_to_and_stays(cli, write, tmp_path, words):
    write("program.conc", SOURCE)
    assert cli("run", "program.conc", "--record", "run.effects.jsonl").code == 0
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    try:
        ran = cli(*words)
        assert ran.code == 0 and stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode), ran
        assert len(reader.communicate(timeout=20)[0]) > 100
    finally:
        reader.kill()
        reader.wait()
