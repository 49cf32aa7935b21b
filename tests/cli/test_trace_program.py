"""What a program adds to the trace of its recording: lines of the source, and what became of memories (O-9.22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..command import concerto

PROGRAM = """\
memory chat { retain: 4, per: [user] }
schema Ticket { title: String, kind: "bug" | "task" }
model M { provider: openai, base: "m" }

fn ask(what: String) -> Result<String, Error> {
    M.with(memory: chat.key(user: "ann")).execute(what)?.text
}

fn main() -> Result<Nil, Error> {
    emit("ticket", M.execute_with_schema<Ticket>("The export crashes")?.kind);
    for i in 0..3 { emit("turn", ask("turn ${i}")?); }
    let both = await (M.execute("left"), M.execute("right"));
    emit("both", both.0?.text + both.1?.text);
    chat.key(user: "bob").append("user", "by hand");
    std::time::sleep(250);
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.conc").write_text(PROGRAM)
    done = concerto("run", "p.conc", "--offline", "--record", "p.effects.jsonl", cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path


def test_the_text_has_lines_and_memories(folder: Path) -> None:
    done = concerto("trace", "p.effects.jsonl", "--program", "p.conc", cwd=folder)
    assert done.code == 0 and done.err == "", done
    assert 'call M-1  p.conc:10  emit("ticket", M.execute_with_schema<Ticket>("The export crashes")?.kind);' in done.out
    assert 'p.conc:6  M.with(memory: chat.key(user: "ann")).execute(what)?.text' in done.out
    assert "p.conc:15  std::time::sleep(250);" in done.out
    told = [line.strip() for line in done.out.splitlines() if line.strip().startswith("memory ")]
    assert [line.partition(", ")[0] if " keeps " not in line else line.rpartition(",")[0] for line in told] == [
        "memory chat (ann) keeps messages 0, 1 as turn 0", "memory chat (ann) keeps messages 2, 3 as turn 1",
        "memory chat (ann) keeps messages 4, 5 as turn 2", "memory chat (ann) lets go of messages 0",
        "memory chat (bob) keeps message 0 as turn 0",
    ]  # fmt: skip
    assert "p.conc:" not in concerto("trace", "p.effects.jsonl", cwd=folder).out


def test_json_and_page_have_them_too(folder: Path) -> None:
    rows = json.loads(concerto("trace", "p.effects.jsonl", "--program", "p.conc", "--json", cwd=folder).out)
    computed = [row["computed"] for row in rows if "computed" in row]
    lines = {facts["at"][1] for facts in computed if "at" in facts}
    assert lines == {6, 10, 12, 15} and {facts["line"] for facts in computed if "at" in facts} <= {
        line.strip() for line in PROGRAM.splitlines()
    }
    events = [told["event"] for facts in computed for told in facts.get("memory", ())]
    assert events.count("commit") == 4 and events.count("evict") == 1
    assert concerto("trace", "p.effects.jsonl", "--program", "p.conc", "--html", "p.html", cwd=folder).code == 0
    page = (folder / "p.html").read_text()
    assert "memory chat (ann) keeps messages 0, 1" in page and '"sources":{"p.conc":["memory chat' in page


def test_a_program_that_does_something_else_is_said(folder: Path) -> None:
    (folder / "q.conc").write_text(PROGRAM.replace('"left"', '"lest"'))
    done = concerto("trace", "p.effects.jsonl", "--program", "q.conc", cwd=folder)
    assert done.code == 0 and done.err.startswith("q.conc does something else from here on: effect 0.1:1/1 (model): ")
    assert "q.conc:10" in done.out and "q.conc:15" not in done.out and "std::time" not in done.out
    (folder / "n.conc").write_text("fn other() {}")
    done = concerto("trace", "p.effects.jsonl", "--program", "n.conc", cwd=folder)
    assert done.code == 65 and "no main function" in done.err
    assert concerto("trace", "p.effects.jsonl", "--program", "none.conc", cwd=folder).code == 66


def test_an_image_has_places_and_no_text(folder: Path) -> None:
    (folder / "image").mkdir()
    assert concerto("compile", "p.conc", "-o", "image/p.concb", cwd=folder).code == 0
    done = concerto("trace", "p.effects.jsonl", "--program", "image/p.concb", cwd=folder)
    assert done.code == 0 and "p.conc:15\n" in done.out, done


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--program", "p.conc", "--check", "p.conc"), "not to --check"),
        (("--program", "p.conc", "--effect", "0:1"), "not to --effect"),
    ],
)
def test_flags_that_do_not_fit(folder: Path, words: tuple[str, ...], part: str) -> None:
    done = concerto("trace", "p.effects.jsonl", *words, cwd=folder)
    assert done.code == 2 and part in done.err
    done = concerto("trace", "-", "--program", "p.conc", cwd=folder)
    assert done.code == 2 and "name a file" in done.err
