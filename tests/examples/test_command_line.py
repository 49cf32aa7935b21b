"""The examples offline through the command, from source and from a shipped image: exact output."""

import json
import shutil

import pytest

from ..command import EXAMPLES, concerto

CONVERSATION = """\
[emit:answer] offline: What is Rust?
[emit:answer] offline: How does its borrow checker work?
[emit:history_length] 4
[emit:history] user: What is Rust?
[emit:history] assistant: offline: What is Rust?
[emit:history] user: How does its borrow checker work?
[emit:history] assistant: offline: How does its borrow checker work?
"""
PREPARED = """\
[emit:preview] offline: Now how do I deduplicate it?
[emit:length_after_preview] 3
[emit:answer] offline: Now how do I deduplicate it?
[emit:length] 5
[emit:last] [{"role":"user","content":"Now how do I deduplicate it?"},\
{"role":"assistant","content":"offline: Now how do I deduplicate it?"}]
"""
PIPELINE = """\
[emit:reply] offline: Write a friendly answer to this bug: The export button crash
-- The support team
[emit:failed] clean: an empty mail
"""
TICKET = """\
[emit:sorted] bug:\x20
[emit:remembered] 2
"""
WINDOW = """\
[emit:memory_size] 20
[emit:oldest] Question 90
[emit:newest] assistant
"""
TOOLS = """\
[emit:postage] 4.5
[emit:reply] offline: What does a parcel of 500 g cost?
"""
RETRY = """\
[emit:order] 0 x\x20
[emit:kept] user: Two tickets, please.
[emit:kept] assistant: {"item":"","count":0}
[emit:dog] welcome
[emit:still] 4
"""
SCRIPTED_RETRY = """\
[emit:order] 2 x ticket
[emit:kept] user: Two tickets, please.
[emit:kept] assistant: {"item": "ticket", "count": 2}
[emit:dog] gave up after 3 attempts
[emit:still] 2
"""
SIDE_BY_SIDE = """\
[emit:both] [false,"offline: Good morning!"]
[emit:all] [false,false,false]
[emit:answer] offline: What is a lamp?
"""
STORES = """\
[emit:changed] north:lamp: 3 -> 1
[emit:left] 1
[emit:refused] south has 1 of lamp
[emit:note] north lamp: 2 taken
"""
STREAM = """\
[emit:chunk] 'offline: '
[emit:chunk] 'A '
[emit:chunk] 'story '
[emit:chunk] 'about '
[emit:chunk] 'a '
[emit:chunk] 'lamp'
[emit:finish] stop
[emit:told] offline: |A |story |about |a |lamp
[emit:remembered] 2
"""
EMITS = """\
[emit:progress] {"done":0,"of":2}
[emit:remove] draft.md
[emit:progress] {"done":1,"of":2}
[emit:remove] report.md
[emit:kept] ["draft.md","report.md"]
"""
MEMORY = """\
[emit:summary] Do you have lamps? Green ones? And lampshades?
[emit:shown] system: Prices are in euro.
[emit:shown] system: [summary] Do you have lamps? Green ones? And lampshades?
[emit:shown] user: And lampshades?
[emit:shown] assistant: offline: And lampshades?
[emit:shown] user: How much is one?
[emit:shown] assistant: offline: How much is one?
[emit:shown] user: And two?
[emit:green] ["Ann likes green lamps."]
[emit:bob] 1
"""
PLANNER = "[emit:answer] no answer\n[emit:turns] 10\n"
OUTPUT = {
    "conversation": CONVERSATION, "emits": EMITS, "memory": MEMORY, "pipeline": PIPELINE, "planner": PLANNER,
    "prepared": PREPARED, "retry": RETRY, "side_by_side": SIDE_BY_SIDE, "stores": STORES, "stream": STREAM, "ticket": TICKET,
    "tools": TOOLS, "window": WINDOW,
}  # fmt: skip


def test_the_scripted_retry_of_the_guide():
    script = EXAMPLES / "retry.replies.json"
    ended = concerto("run", EXAMPLES / "retry.conc", "--offline-script", script, cwd=EXAMPLES)
    assert ended == (0, SCRIPTED_RETRY, "")


def test_every_example_has_its_output_here():
    assert {path.stem for path in EXAMPLES.glob("*.conc")} == set(OUTPUT)


@pytest.mark.parametrize("name", OUTPUT)
def test_from_source_and_from_an_image_that_was_moved(name, tmp_path):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir(), away.mkdir()
    source = home / f"{name}.conc"
    shutil.copy(EXAMPLES / source.name, source)
    assert concerto("run", source, "--offline", cwd=home, PYTHONHASHSEED="1") == (0, OUTPUT[name], "")
    code, printed, notes = concerto("compile", source.name, "-o", "x.concb", cwd=home, PYTHONHASHSEED="1")
    assert (code, printed) == (0, "") and all(line.startswith("note: memory ") for line in notes.splitlines())
    (home / "x.concb").rename(away / "shipped")
    shutil.rmtree(home)
    assert concerto("run", "shipped", "--offline", cwd=away, PYTHONHASHSEED="77") == (0, OUTPUT[name], "")


def test_script_takes_the_place_of_the_model(tmp_path):
    (tmp_path / "replies.json").write_text(json.dumps(["A language.", {"text": "By ownership."}]))
    ended = concerto("run", EXAMPLES / "conversation.conc", "--offline-script", "replies.json", cwd=tmp_path)
    assert ended.out.splitlines()[:3] == [
        "[emit:answer] A language.",
        "[emit:answer] By ownership.",
        "[emit:history_length] 4",
    ]
    assert ended.code == 0


AGENT = """\
[emit:question] line 2 is long; report it?
[emit:lines] 3
[emit:long] [2]
[emit:plain] 0 long line(s)
"""


@pytest.mark.parametrize("flags", [[], ["--offline"]])
def test_an_agent_is_a_process_that_runs_where_its_manifest_lies(flags, tmp_path):
    main = EXAMPLES / "agent" / "main.conc"
    assert concerto("run", main, *flags, cwd=tmp_path) == (0, AGENT, "")
    assert concerto("test", main, cwd=tmp_path).code == 0


def test_an_image_of_it_is_granted_nothing(tmp_path):
    folder = shutil.copytree(EXAMPLES / "agent", tmp_path / "agent")
    assert concerto("compile", "main.conc", "-o", "x.concb", cwd=folder).code == 0
    message = "error: permission denied: run=python3 (grant it with --allow-run=python3)\n  at review (main.conc:10:16)\n  at main (main.conc:22:18)\n"  # noqa: E501
    assert concerto("run", "x.concb", cwd=folder) == (77, "", message)
    assert concerto("run", "x.concb", "--allow-run=python3", cwd=folder) == (0, AGENT, "")
    assert '"run=python3"' in concerto("inspect", "x.concb", "--json", cwd=folder).out
