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
[emit:last] [Message {role: user, content: Now how do I deduplicate it?}, \
Message {role: assistant, content: offline: Now how do I deduplicate it?}]
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
OUTPUT = {
    "conversation": CONVERSATION, "pipeline": PIPELINE, "prepared": PREPARED, "retry": RETRY, "ticket": TICKET, "tools": TOOLS,
    "window": WINDOW,
}  # fmt: skip


def test_the_scripted_retry_of_the_guide():
    script = EXAMPLES / "retry.replies.json"
    ended = concerto("run", EXAMPLES / "retry.conc", "--offline-script", script, cwd=EXAMPLES)
    assert ended == (0, SCRIPTED_RETRY, "")


def test_the_tests_of_the_pipeline_example_pass():
    code, out, err = concerto("test", EXAMPLES / "pipeline.conc", cwd=EXAMPLES)
    assert (code, err) == (0, "")
    assert "test result: ok. 3 passed, 0 failed" in out


def test_every_example_has_its_output_here():
    assert {path.stem for path in EXAMPLES.glob("*.conc")} == set(OUTPUT)


@pytest.mark.parametrize("name", OUTPUT)
def test_from_source_and_from_an_image_that_was_moved(name, tmp_path):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir(), away.mkdir()
    source = home / f"{name}.conc"
    shutil.copy(EXAMPLES / source.name, source)
    assert concerto("run", source, "--offline", cwd=home, PYTHONHASHSEED="1") == (0, OUTPUT[name], "")
    assert concerto("compile", source.name, "-o", "x.concb", cwd=home, PYTHONHASHSEED="1") == (0, "", "")
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
