"""`concerto trace FILE --check PROGRAM` (O-9.22): the first difference between a recording and what a program does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Command

PROGRAM = """\
model M { provider: openai, base: "gpt-5.4-mini" }

fn main() -> Result<Nil, Error> {
    emit("asked", 1);
    let reply = M.execute("What is Rust?")?;
    println("text");
    emit("reply", reply.text);
    emit("size", reply.text.len());
    Ok(nil)
}
"""


@pytest.fixture
def check(cli: Command, write: Callable[[str, str], str]) -> Callable[..., tuple[int, str]]:
    write("a.conc", PROGRAM)
    assert cli("run", "a.conc", "--offline", "--record", "a.jsonl").code == 0

    def checked(old: str = "", new: str = "", *words: str, program: str = "b.conc") -> tuple[int, str]:
        assert old in PROGRAM
        write("b.conc", PROGRAM.replace(old, new) if old else PROGRAM)
        code, out, err = cli("trace", "a.jsonl", "--check", program, *words)
        assert err == ""
        return code, out

    return checked


OTHER = " (b.conc is not the program that was recorded)\n"


def test_the_program_that_was_recorded_is_equal(check: Callable[..., tuple[int, str]]) -> None:
    assert check(program="a.conc") == (0, "a.jsonl: equal, 6 rows\n")
    assert check("", "", "-q", program="a.conc") == (0, "")


def test_another_program_that_does_the_same_is_equal_too(check: Callable[..., tuple[int, str]]) -> None:
    code, out = check("let reply = M", "let _unused = 1 + 1;\n    let reply = M")
    assert code == 0 and out == f"a.jsonl: equal, 6 rows{OTHER}"


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ('"asked", 1', '"asked", 2', "emit 1, asked: $: 1 in the file, now 2"),
        ('"asked", 1', '"question", 1', "emit 1: asked 1 in the recording, now question 1"),
        ("What is Rust?", "What is C?",
         'effect 0:2/1 (model): the request is another one than in the recording: $.messages[0].content: "What is Rust?" in the '
         'file, now "What is C?"'),
        ('"text"', '"other"', 'emit 2, print: $: "text\\n" in the file, now "other\\n"'),
        ('    emit("reply", reply.text);\n', "", 'emit 3: reply "offline: What is Rust?" in the recording, now size 22'),
        ("    Ok(nil)", '    emit("more", 1);\n    Ok(nil)', "emit 5: the recording has no more of them, now more 1"),
        ('    emit("size", reply.text.len());\n', "", "emit 4: size 22 in the recording, now nothing"),
        ("Ok(nil)", 'if reply.text != "" { throw "no"; }\n    Ok(nil)', 'the end: outcome "ok" in the recording, now "error"'),
    ],
)  # fmt: skip
def test_the_first_difference(check: Callable[..., tuple[int, str]], old: str, new: str, difference: str) -> None:
    assert check(old, new) == (1, f"a.jsonl: {difference}{OTHER}")


def test_an_effect_that_the_recording_does_not_have(check: Callable[..., tuple[int, str]]) -> None:
    code, out = check('emit("reply", reply.text);', 'emit("reply", M.execute(reply.text)?.text);')
    assert code == 1
    assert out.startswith("a.jsonl: effect 0:4/1 (model) is not in the recording, which has ended: {"), out


def test_an_effect_that_is_no_longer_asked_for(cli: Command, write: Callable[[str, str], str]) -> None:
    write("a.conc", 'use std::time;\n\nfn main() { let t = time::now_ms(); emit("t", t > 0); }\n')
    assert cli("run", "a.conc", "--offline", "--record", "a.jsonl").code == 0
    write("b.conc", 'fn main() { emit("t", true); }\n')
    code, out, _ = cli("trace", "a.jsonl", "--check", "b.conc")
    assert (code, out) == (1, f"a.jsonl: effect 0:1 is in the recording, and the run did not ask for it{OTHER}")


def test_what_cannot_be_compared(cli: Command, write: Callable[[str, str], str], tmp_path: Path) -> None:
    write("a.conc", 'fn main() { emit("x", 1); }\n')
    assert cli("run", "a.conc", "--offline", "--record", "a.jsonl").code == 0
    assert cli("trace", "a.jsonl", "--check", "none.conc").code == 66
    assert cli("trace", "none.jsonl", "--check", "a.conc").code == 66
    write("bad.conc", "fn main( {}\n")
    assert cli("trace", "a.jsonl", "--check", "bad.conc").code == 65
    write("lib.conc", "fn f() {}\n")
    code, _, err = cli("trace", "a.jsonl", "--check", "lib.conc")
    assert code == 65 and "no main function to run" in err
    (tmp_path / "cut.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes().replace(b'"value":1', b'"value":2'))
    code, out, err = cli("trace", "cut.jsonl", "--check", "a.conc")
    assert (code, out) == (74, "") and "cut.jsonl:2: this line is not as it was written" in err


def test_without_an_end_it_is_equal_as_far_as_it_goes(
    cli: Command, write: Callable[[str, str], str], tmp_path: Path
) -> None:
    write("a.conc", 'fn main() { emit("x", 1); }\n')
    assert cli("run", "a.conc", "--offline", "--record", "a.jsonl").code == 0
    (tmp_path / "cut.jsonl").write_bytes(b"".join((tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)[:2]))
    assert cli("trace", "cut.jsonl", "--check", "a.conc").code == 0
