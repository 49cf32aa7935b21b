"""A run that waits goes on under another image, when that does what the run has done (G-13.10)."""

from __future__ import annotations

from pathlib import Path

import concerto
import pytest
from concerto.runtime.journal.journal import Fenced
from concerto.runtime.journal.rehearsal import move
from concerto.runtime.journal.rows import JournalRefused

from ..command import concerto as command
from .places import Clock, Place

PROGRAM = """
struct Ask { what: String, n: Int }
channel approve: Ask -> Bool;
memory chat { retain: 10 }
model M { provider: openai, base: "m", memory: chat }
fn main() -> Result<Nil, Error> {
    emit("first", M.execute("one")?.text);
    print("said ");
    let both = await (M.with_memory(nil).execute("left"), M.with_memory(nil).execute("right"));
    emit("both", both.0?.text + both.1?.text);
    let yes = approve(Ask { what: "send it?", n: 3 })?;
    emit("answer", yes);
}
"""
# What may be changed: what comes behind the wait, and what no outcome and no emit tells.
BETTER = (
    PROGRAM.replace('emit("answer", yes);', 'emit("answered", yes); emit("len", chat.len());')
    .replace("let both", "let spare = [1, 2];\n    let pair")
    .replace("both.0", "pair.0")
    .replace("both.1", "pair.1")
)
QUESTION = "let yes = approve("
REFUSED = {
    "another prompt": (('"one"', '"two"'), '$.messages[0].content: "one" in the file, now "two"'),
    "another question": (("n: 3", "n: 4"), "the emit on approve"),
    "another emit": (('emit("first"', 'emit("erst"'), "the emit on erst"),
    "another value of an emit": (("both.0?.text +", '"x" +'), "the emit on both"),
    "another text": (('"said "', '"says "'), 'the printed text "says "'),
    "an emit less": (('emit("both", both.0?.text + both.1?.text);', ""), "the emit on approve"),
    "an emit more": ((QUESTION, f'emit("more", 1);\n    {QUESTION}'), "the emit on more 1"),
    "a request more": ((QUESTION, f'M.execute("more")?;\n    {QUESTION}'), "(model) is not what the run waits for"),
    "a request less": (('M.with_memory(nil).execute("left")', 'M.execute("one")'), "content"),
    "no question": ((f'{QUESTION}Ask {{ what: "send it?", n: 3 }})?', "let yes = true"), "the emit on answer true"),
    "a wait": (("let both", 'while true { std::time::sleep(1000000); }\n    let both'), "comes next in the recording"),
    "a panic": ((QUESTION, f'panic("broken");\n    {QUESTION}'), "broken"),
    "an early end": ((QUESTION, f'if chat.len() > 0 {{ return Ok(nil); }}\n    {QUESTION}'), "ends well"),
}


def waiting(place: Place) -> concerto.RunResult:
    result = concerto.run(concerto.compile(PROGRAM), offline=True, store=place.name)
    assert result.exit_code == 75, result
    return result


def test_a_run_that_waits_goes_on_under_a_program_that_does_the_same(place: Place) -> None:
    before = waiting(place)
    assert before.run is not None
    moved = concerto.resume(before.run, store=place.name, image=concerto.compile(BETTER))
    assert moved.waits == before.waits and not moved.emits, moved
    row = place.open().run(before.run)
    assert row.state == "waiting" and row.image == concerto.compile(BETTER).content_hash == row.header.image
    done = concerto.resume(before.run, store=place.name, answers={before.waits[0].key: True})
    assert [(emit.channel, emit.payload) for emit in done.emits] == [("answered", True), ("len", 2)]
    list(place.open().rows(before.run))  # the seals are whole


def test_an_answer_may_come_with_the_image(place: Place) -> None:
    before = waiting(place)
    assert before.run is not None
    answers = {before.waits[0].key: False}
    done = concerto.resume(before.run, store=place.name, image=concerto.compile(BETTER), answers=answers)
    assert [(emit.channel, emit.payload) for emit in done.emits] == [("answered", False), ("len", 2)]
    with pytest.raises(concerto.RecordingError, match="is over: done"):
        concerto.resume(before.run, store=place.name, image=concerto.compile(PROGRAM))


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_does_something_else_is_refused_and_the_run_waits_on(place: Place, name: str) -> None:
    (old, new), why = REFUSED[name]
    before = waiting(place)
    assert before.run is not None and old in PROGRAM
    with pytest.raises(concerto.RecordingError) as refused:
        concerto.resume(before.run, store=place.name, image=concerto.compile(PROGRAM.replace(old, new)))
    assert str(refused.value).startswith(f"the run {before.run} stays with its image") and why in str(refused.value)
    row = place.open().run(before.run)
    assert (row.state, row.image) == ("waiting", concerto.compile(PROGRAM).content_hash)
    done = concerto.resume(before.run, store=place.name, answers={before.waits[0].key: True})
    assert done.ok and [emit.channel for emit in done.emits] == ["answer"]


def test_a_run_that_does_not_wait_stays(place: Place) -> None:
    store = place.open()
    before = waiting(place)
    assert before.run is not None
    store.claim(before.run).commit([], 3, [])
    with pytest.raises(concerto.RecordingError, match="is running; only a run that waits for an answer"):
        concerto.resume(before.run, store=place.name, image=concerto.compile(BETTER))


def test_a_run_that_went_on_since_the_rehearsal_stays(place: Place) -> None:
    clock = Clock()
    store = place.open(clock)
    before = waiting(place)
    assert before.run is not None
    row = store.run(before.run)
    other = concerto.compile(BETTER)._linked
    claim = store.claim(before.run, take_over=True)
    claim.rows += 1
    with pytest.raises(JournalRefused, match="has gone on meanwhile"):
        move(store, claim, row, other)
    claim.rows -= 1
    store.claim(before.run, take_over=True)
    with pytest.raises(JournalRefused, match="was taken over"):
        move(store, claim, row, other)
    with pytest.raises(Fenced):
        claim.renew()
    assert store.run(before.run).image == row.image


def test_the_command_line_takes_a_source_or_an_image(place: Place, tmp_path: Path) -> None:
    for name, text in (("a", PROGRAM), ("b", BETTER), ("c", PROGRAM.replace('"one"', '"two"')), ("d", "fn main( {")):
        (tmp_path / f"{name}.conc").write_text(text)
    first = command("run", "a.conc", "--offline", "--store", place.name, cwd=tmp_path)
    run, key = first.err.split()[1], first.err.split("\n  ")[1].split()[0]
    assert command("compile", "b.conc", "-o", "b.concb", cwd=tmp_path).code == 0
    other = command("resume", run, "--store", place.name, "--image", "c.conc", cwd=tmp_path)
    assert other.code == 74 and other.out == "" and "stays with its image" in other.err and "Traceback" not in other.err
    assert command("resume", run, "--store", place.name, "--image", "d.conc", cwd=tmp_path).code == 65
    assert command("resume", run, "--store", place.name, "--image", "none.conc", cwd=tmp_path).code == 66
    moved = command("resume", run, "--store", place.name, "--image", "b.concb", cwd=tmp_path)
    assert moved.code == 75 and moved.out == "" and moved.err.startswith(f"the run {run} goes on under b.concb\n"), moved
    done = command("resume", run, "--store", place.name, "--answer", f"{key}=true", cwd=tmp_path)
    assert done.code == 0 and done.out == "[emit:answered] true\n[emit:len] 2\n", done
    over = command("resume", run, "--store", place.name, "--image", "b.concb", cwd=tmp_path)
    text = f"the run {run} is over (ok); only a run that waits goes on under another program"
    assert over.code == 74 and over.out == "" and text in over.err, over
