"""The runner and a driver process: outcomes, the clock, images, known failures, the runner's own test (C-8, C-9)."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance import blocks, command, images, selftest, suite
from conformance.notation import reply
from conformance.program import parse
from conformance.protocol import Driver
from conformance.records import Program
from conformance.runner import Outcome, Plan, run_all, two_orders

DRIVER = [sys.executable, str(suite.ROOT / "drivers" / "concerto.py")]
TINY = [sys.executable, str(Path(__file__).with_name("tiny_driver.py"))]


def program(steps: list[Any], expectations: str, level: int = 1, name: str = "x.conc") -> Program:
    text = f"// clause: L-1.1.1\n// level: {level}\n{expectations}\n//!{json.dumps(steps)}\n"
    (made,) = parse(text, name)
    return made


def run(made: Program, silence: float = 10, **plan: Any) -> Outcome:
    outcomes, complaints = run_all([made], Plan(TINY, silence=silence, **plan), 1)
    assert complaints == []
    return outcomes[0]


def came(outcome: Outcome) -> str:
    return outcome.failures[0][1].came if outcome.failures else ""


def test_a_program_passes_on_all_routes() -> None:
    outcome = run(program([{"emit": ["a", "1"]}], "// emit: a 1"))
    assert outcome.outcome == "pass"
    assert [seen.route for seen in outcome.observations] == ["interp", "image"]


def test_a_wrong_emit_fails() -> None:
    outcome = run(program([{"emit": ["a", "2"]}], "// emit: a 1"))
    assert (outcome.outcome, came(outcome), outcome.failures[0][1].at) == ("fail", "emit a 2", 3)


@pytest.mark.parametrize(
    "step",
    [{"set": {"fuel": 9}}, {"set": {"asserts": 1}}, {"set": {"memories": {"m": []}}}],
)
def test_a_difference_between_routes_is_drift(step: Any) -> None:
    outcome = run(program([{"emit": ["a", "1"]}, {"on": ["image", [step]]}], "// emit: a 1"))
    assert outcome.outcome == "drift"


def test_silence_is_a_hang_and_a_fresh_driver_follows() -> None:
    hanging = program([{"hang": 5}], "// emit: a 1", name="a.conc")
    fine = program([{"emit": ["a", "1"]}], "// emit: a 1", name="b.conc")
    outcomes, _ = run_all([hanging, fine], Plan(TINY, silence=0.5, known={"a.conc": "#1"}), 1)
    assert [outcome.outcome for outcome in outcomes] == ["hang", "pass"]


@pytest.mark.parametrize("step", [{"exit": 3}, {"say": "hello"}, {"say": '{"id": 99, "status": "ok"}'}, {"say": "[1]"}])
def test_a_broken_protocol_is_a_crash(step: Any) -> None:
    outcome = run(program([step], "// emit: a 1"), known={"x.conc": "#1"})
    assert outcome.outcome == "crash"
    if "exit" in step:
        assert "status 3" in came(outcome) and "the last words" in came(outcome)


def test_a_second_result_is_a_crash() -> None:
    twice = [{"emit": ["a", "1"]}, {"say": '{"id": 1, "status": "ok"}'}]
    outcome = run(program(twice, "// emit: a 1"))
    assert outcome.outcome == "crash" and "a message of another run" in came(outcome)
    (last,), complaints = run_all([program(twice, "// emit: a 1", 5)], Plan(TINY), 1)  # nothing follows that would hear it
    assert last.outcome == "pass" and [complaint[:15] for complaint in complaints] == ["text after bye:"]


def test_scripted_replies_are_taken_in_order() -> None:
    steps = [{"ask": "M"}, {"ask": "M"}]
    replies = '// reply: text "one"\n// reply: text {"n": 2} after=300ms\n'
    script = replies + '// emit: reply "one"\n// emit: reply "{\\"n\\": 2}"'
    assert run(program(steps, script, 4)).outcome == "pass"


def test_an_unexpected_request_and_an_unused_reply_fail() -> None:
    asked = run(program([{"ask": "M"}], '// emit: reply {"kind":"garbage"}', 4))
    assert asked.outcome == "fail" and "unexpected request" in came(asked)
    unused = run(program([{"emit": ["a", "1"]}], '// emit: a 1\n// reply: text "x"', 4))
    assert (unused.outcome, came(unused), unused.failures[0][1].at) == ("fail", "unused reply", 4)


def test_idle_with_nothing_due_is_a_deadlock() -> None:
    assert came(run(program([{"idle": None}], "// emit: a 1"))) == "deadlock"


def test_time_moves_only_at_idle() -> None:
    start = 946684800000
    steps = [{"sleep": 250}, {"ask": "M"}, {"sleep": 1000}]
    script = f'// reply: text "x" after=2s\n// emit: now {start + 250}\n// emit: reply "x"\n// emit: now {start + 3250}'
    assert run(program(steps, script, 4)).outcome == "pass"


def test_programs_beyond_the_claim_are_not_claimed() -> None:
    assert run(program([], "// emit: a 1", 3)).outcome == "not claimed"
    assert run(program([], "// needs: feature=odd\n// emit: a 1")).outcome == "not claimed"


def test_known_failures() -> None:
    wrong, right = program([], "// emit: a 1"), program([{"emit": ["a", "1"]}], "// emit: a 1")
    assert run(wrong, known={"x.conc": "#7"}).outcome == "expected failure"
    assert run(right, known={"x.conc": "#7"}).outcome == "unexpected pass"


def test_isolated_programs_get_their_own_driver() -> None:
    counts = ["// emit: a 1", "// emit: a 2", "// emit: a 1\n// isolate: yes", "// emit: a 1"]
    outcomes, _ = run_all([program([{"count": "a"}], count, 5) for count in counts], Plan(TINY), 1)
    assert [outcome.outcome for outcome in outcomes] == ["pass"] * 4


def test_the_end_of_an_isolated_driver_is_looked_at() -> None:
    twice = [{"emit": ["a", "1"]}, {"say": '{"id": 1, "status": "ok"}'}]
    isolated = program(twice, "// emit: a 1\n// isolate: yes", 5)
    (outcome,), complaints = run_all([isolated], Plan(TINY), 1)
    assert outcome.outcome == "pass" and [complaint[:23] for complaint in complaints] == ["x.conc: text after bye:"]
    before = [program(twice, "// emit: a 1", 5), program([{"emit": ["a", "1"]}], "// emit: a 1\n// isolate: yes", 5)]
    _, complaints = run_all(before, Plan(TINY), 1)
    assert [complaint[:15] for complaint in complaints] == ["text after bye:"]


def test_a_step_that_nobody_knows_fails_its_program(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"clause": "V-3.1", "hex": "00", "mutate": [{"op": "odd"}], "reject": "V003 load"}))
    assert "KeyError: 'odd'" in [failure.came for _, failure in run(images.read_image(path)).failures]


def test_requests_are_numbered() -> None:
    from conformance.records import Observation
    from conformance.world import World

    seen = Observation("interp")
    world = World(program([], '// emit: a 1\n// reply: text "x"\n// reply: text "y"', 4), seen, lambda message: None)
    for number in (1, 1):
        world.event({"event": "request", "to": number, "kind": "model", "name": "M", "record": {}})
    assert seen.problems == [(0, "request number 2", "request number 1")]


@pytest.mark.parametrize("driver", ["concerto", "oracle"])
def test_numbers_go_on_from_test_to_test(driver: str) -> None:
    """Requests as emits, through all tests of a run."""
    text = """// clause: O-8.3
// level: 2
// needs: net=a.example
// mode: test
// http: GET https://a.example/1 -> 200 "x"
// http: GET https://a.example/2 -> 200 "y"
// tests: one pass, two pass
@test fn one() { assert_eq(std::http::get("https://a.example/1")?.body, "x"); }
@test fn two() { assert_eq(std::http::get("https://a.example/2")?.body, "y"); }
"""
    (made,) = parse(text, "x.conc")
    (outcome,), _ = run_all([made], Plan([sys.executable, str(suite.ROOT / "drivers" / f"{driver}.py")]), 1)
    assert (outcome.outcome, came(outcome)) == ("pass", "")
    assert all([asked["to"] for asked in seen.requests] == [1, 2] for seen in outcome.observations)


def test_order_does_not_matter_to_a_driver_without_state() -> None:
    programs = [program([{"emit": ["a", str(n)]}], f"// emit: a {n}", name=f"{n}.conc") for n in range(5)]
    assert two_orders(programs, Plan(TINY)) == []
    either = "// emit: either a 1 | a 2"
    counting = [program([{"count": "a"}], either, 5, name) for name in ("a.conc", "b.conc")]
    assert two_orders(counting, Plan(TINY)) == ["a.conc", "b.conc"]


def test_mutated_images_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "flip.json"
    recipe = [{"op": "xor", "at": -1, "mask": 1}]
    path.write_text(json.dumps({"clause": "V-3.1", "program": "fn main() {}", "mutate": recipe, "reject": "V003 load"}))
    assert run(images.read_image(path)).outcome == "pass"
    path.write_text(json.dumps({"clause": "V-3.1", "program": "fn main() {}", "mutate": [], "reject": "V003 load"}))
    assert run(images.read_image(path)).outcome == "fail"


def test_recipes() -> None:
    steps: list[dict[str, Any]] = [
        {"op": "truncate", "at": -1},
        {"op": "append", "hex": "ff"},
        {"op": "insert", "at": 0, "hex": "aa"},
        {"op": "delete", "at": 1, "count": 1},
        {"op": "set", "at": 1, "hex": "bb"},
        {"op": "replace", "find": "ff", "hex": "ee"},
    ]
    assert images.mutate(b"\x00\x01\x02\x03", steps).hex() == "aabb02ee"
    image = bytes(40)
    assert images.mutate(image, [{"op": "rehash"}]) != image


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of three programs: one that passes, one that fails, one of another level."""
    tests = tmp_path / "tests" / "area"
    tests.mkdir(parents=True)
    for name, steps, level in [("good", [{"emit": ["a", "1"]}], 1), ("bad", [], 1), ("other", [], 6)]:
        text = f"// clause: L-1.1.1\n// level: {level}\n// emit: a 1\n//!{json.dumps(steps)}\n"
        (tests / f"{name}.conc").write_text(text)
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "home", lambda: tmp_path)
    return tmp_path


def test_the_command_prints_failures_and_a_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = folder / "results.json"
    status = command.main(["--driver", " ".join(TINY), "--results", str(results)])
    out = capsys.readouterr().out
    assert status == 1
    assert "1 passed, 1 failed, 1 not claimed" in out
    assert "expected: emit a 1" in out and "came:     no further emit" in out
    assert f"{folder}/tests/area/bad.conc:3" in out and "again: python conformance/run.py --driver" in out
    assert json.loads(results.read_text())["area/good.conc"] == "pass"


def test_prefix_level_and_route_select(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = ["--driver", " ".join(TINY)]
    assert command.main([*driver, "area/good", "--route", "image"]) == 0
    assert command.main([*driver, "conformance/tests/area/good.conc"]) == 0
    assert command.main([*driver, "--level", "6"]) == 0
    assert command.main([*driver, "nowhere/"]) == 2
    assert command.main([*driver, "--route", "trans"]) == 2
    assert command.main(["--driver", "/nowhere/driver"]) == 2
    assert "does not offer" in capsys.readouterr().err


def test_the_exit_status_says_how_it_went(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 only where every program passed or is an expected failure; an unexpected pass fails the suite (C-9.1, C-9.2)."""
    driver = ["--driver", " ".join(TINY)]
    assert command.main([*driver, "area/good"]) == 0
    assert command.main([*driver, "area/bad"]) == 1 and "FAIL  area/bad.conc" in capsys.readouterr().out
    (folder / "expected-fail").mkdir()
    known = folder / "expected-fail" / "tiny.txt"
    known.write_text("area/bad.conc #12 the reason\n")
    assert command.main([*driver, "area/bad"]) == 0
    known.write_text("area/bad.conc #12 the reason\narea/good.conc #13 it fails no more\n")
    assert command.main(driver) == 1
    assert "unexpected pass" in capsys.readouterr().out.lower()


def test_what_a_driver_does_has_its_outcome() -> None:
    """Those of C-9.2 that are neither pass nor fail; a hang and a crash are never expected."""
    assert run(program([{"hang": 9}], "// emit: a 1"), silence=0.3, known={"x.conc": "#7"}).outcome == "hang"
    assert run(program([{"exit": 3}], "// emit: a 1"), known={"x.conc": "#7"}).outcome == "crash"
    assert run(program([{"emit": ["a", "1"]}], "// emit: a 1", 6)).outcome == "not claimed"


def test_errors_of_blocks_are_those_of_the_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = ["--driver", " ".join(TINY)]
    spec = folder / "spec"
    spec.mkdir()
    wrong, right = "```concerto\n// run\nfn main() { }\n```\n", '```concerto\n// run\nfn main() { }  // emit: a 1\n```\n'
    (spec / "a.md").write_text(wrong + right)
    (spec / "b.md").write_bytes(b"\xff")
    assert command.main([*driver, "--spec", str(spec), "area/good"]) == 1
    shown = capsys.readouterr()
    assert f"suite error: {spec / 'a.md'}:2: the answer ok alone would pass" in shown.err
    assert f"suite error: {spec / 'b.md'}: " in shown.err and "1 passed, 0 failed" in shown.out
    programs, errors = blocks.read_blocks(spec)
    assert ([made.ident for made in programs], len(errors)) == (["docs/spec/a.md:6"], 2)
    assert command.main([*driver, "--spec", str(folder / "nowhere")]) == 2


def test_the_words_that_run_a_block_again_name_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = folder / "a spec"
    spec.mkdir()
    (spec / "a.md").write_text("```concerto\n// run\nfn main() { }  // emit: a 1\n```\n" * 4)
    assert command.main(["--driver", " ".join(TINY), "--spec", str(spec)]) == 1
    again = [shlex.split(line)[3:] for line in capsys.readouterr().out.splitlines() if "again: " in line]
    assert len(again) == 5
    for words in again:
        assert ("--spec" in words) is words[-1].startswith("docs/spec/")
        assert command.main(words) == 1
        assert "0 passed, 1 failed" in capsys.readouterr().out


def test_a_damaged_file_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside = folder / "tests" / "area" / "good.expect.json"
    (folder / "images").mkdir()
    image = folder / "images" / "a.json"
    for content in (b'{\n"emits": [}', b"[]", b"\xff"):
        beside.write_bytes(content)
        image.write_bytes(content)
        _, errors = suite.load()
        line = 2 if b"\n" in content else 1
        assert [error.partition(" ")[0] for error in errors] == [f"{beside}:{line}:", f"{image}:{line}:"]
    beside.unlink()
    image.write_text(json.dumps({"clause": "V-3.1", "hex": "0g", "reject": "V003 load"}))
    assert [error.partition(" ")[0] for error in suite.load()[1]] == [f"{image}:1:"]


def test_known_failures_need_an_issue(folder: Path) -> None:
    (folder / "expected-fail").mkdir()
    file = folder / "expected-fail" / "tiny.txt"
    file.write_text("# known\narea/bad.conc #12 the reason\n")
    assert command.main(["--driver", " ".join(TINY)]) == 0
    file.write_text("area/bad.conc\n")
    assert command.main(["--driver", " ".join(TINY)]) == 2


def test_the_null_driver_and_every_mutant_are_caught(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"code": "E1001", "stage": "names", "severity": "error", "file": "main.conc", "line": 4, "column": 1}
    filled = {"memories": {"m": []}, "calls": {"M": 1}}
    programs = [
        program([{"emit": ["a", "1"]}, {"emit": ["a", "2"]}], "// emit: a 1\n// emit: a 2", name="emits.conc"),
        program([{"ask": "M"}, {"set": filled}], '// reply: text "x"\n// emit: reply "x"', 4),
        program([{"set": {"status": "error", "exit": 65, "diagnostics": [wrong]}}], "// error+1: E1001", 0, "e.conc"),
    ]
    driver = Driver(TINY)
    driver.close()
    assert selftest.run(programs, Plan(TINY), 2, driver.hello)
    lines = capsys.readouterr().out.splitlines()
    tried = {line.split("  ")[0].strip(): line for line in lines if "fail as they must" in line}
    assert set(tried) == {"null driver", *selftest.KINDS}
    assert all(" 0 of 0 " not in line for line in tried.values())


def test_the_self_test_notices_a_change_nobody_sees(capsys: pytest.CaptureFixture[str]) -> None:
    blind = program([{"emit": ["a", "1"]}], "// emit: either a 1 | a \"altered\"", name="blind.conc")
    driver = Driver(TINY)
    driver.close()
    assert not selftest.run([blind], Plan(TINY), 1, driver.hello)
    assert "pass: blind.conc" in capsys.readouterr().out


def test_a_line_over_the_limit_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.protocol.LINE_LIMIT", 1000)
    assert run(program([{"emit": ["a", '"' + "x" * 200_000 + '"']}], "// emit: a 1")).outcome == "crash"


def test_streams_and_calls_reach_the_driver_in_protocol_form() -> None:
    from conformance.records import Observation
    from conformance.world import World

    made = program([], '// emit: a 1\n// reply: stream "a" "b"\n// reply: call T__m {"x": 1}', 4)
    sent: list[Any] = []
    world = World(made, Observation("interp"), sent.append)
    world.event({"event": "request", "to": 1, "kind": "model", "name": "M", "record": {"stream": True}})
    world.event({"event": "request", "to": 2, "kind": "model", "name": "M", "record": {}})
    assert [m.get("final") for m in sent] == [False, False, True, True]
    assert [m["body"]["text"] for m in sent[:3]] == ["a", "b", ""]
    assert sent[3]["body"]["calls"] == [{"id": "c1", "name": "T__m", "arguments": {"x": 1}}]
    assert sent[3]["body"]["finish"] == "tool"
    assert reply('stream "a" "b"')[0].chunks == ("a", "b")


def test_a_slow_program_fails_where_a_limit_is_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The outcome of the limit, not a measurement: no program takes less than no time, none a day (C-13.2)."""
    for number in range(12):
        text = '// clause: L-1.1.1\n// level: 1\n// emit: a 1\n//!' + json.dumps([{"emit": ["a", "1"]}]) + "\n"
        (folder / "tests" / "area" / f"more{number}.conc").write_text(text)
    driver = ["--driver", " ".join(TINY)]
    assert command.main([*driver, "area/good", "area/more"]) == 0
    shown = capsys.readouterr().out
    assert "the 10 slowest programs:" in shown and len(re.findall(r"^ +\d+ ms  area/", shown, re.MULTILINE)) == 10
    assert command.main([*driver, "area/good", "area/more", "--max-ms", "86400000"]) == 0
    assert command.main([*driver, "area/good", "--max-ms", "0"]) == 1
    assert "over 0 ms: area/good.conc took" in capsys.readouterr().out


def test_the_sequence_of_one_model_call() -> None:
    """The product's driver and the messages of C-8.6 as they stand there."""
    driver = subprocess.Popen(DRIVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert driver.stdin is not None and driver.stdout is not None

    def say(**message: Any) -> None:
        assert driver.stdin is not None
        driver.stdin.write(json.dumps(message) + "\n")
        driver.stdin.flush()

    def heard() -> Any:
        assert driver.stdout is not None
        return json.loads(driver.stdout.readline())

    say(op="hello", protocol=1)
    assert {"name", "version", "spec", "levels", "features", "routes"} <= set(heard())
    source = 'model M { provider: openai, base: "m-1" }\nfn main() { emit("out", M.execute("hello").unwrap().text); }'
    say(id=7, op="run", files={"main.conc": source}, route="interp", env={"OPENAI_API_KEY": "test-key"})
    asked = heard()
    assert {key: asked[key] for key in ("id", "event", "to", "kind", "name", "attempt")} == {
        "id": 7, "event": "request", "to": 1, "kind": "model", "name": "M", "attempt": 1,
    }  # fmt: skip
    assert asked["record"]["messages"][-1]["content"] == "hello" and json.loads(asked["wire"])["model"] == "m-1"
    assert heard() == {"id": 7, "event": "idle", "until": 60000}  # the timeout of the request
    body = {"text": "hi", "calls": [], "tokens_in": 5, "tokens_out": 3, "finish": "stop"}
    say(id=7, op="reply", to=1, body=body, final=True)
    say(id=7, op="tick", now=0)
    event = heard()
    while event.get("channel") != "out":
        assert event["event"] == "emit" and ":" in event["channel"]
        event = heard()
    assert {**event, "n": 0} == {"id": 7, "event": "emit", "n": 0, "channel": "out", "json": '"hi"'}
    ended = heard()
    while "status" not in ended:
        ended = heard()
    assert (ended["id"], ended["status"], ended["exit"], ended["calls"]) == (7, "ok", 0, {"M": 1}) and ended["fuel"] > 0
    say(op="bye")
    assert driver.wait(30) == 0
    driver.stdin.close()
    driver.stdout.close()
