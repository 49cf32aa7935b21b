"""Runs as bytes: nothing shows that the machine was made anew, tiers give the same bytes, what does not fit is refused (V-5.8,
V-5.9, G-13.7, G-13.9, C-7.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.session.session import Session
from concerto.runtime.session.state import resume, snapshot
from concerto.vm.bytecode.encoding import MAGIC as IMAGE_MAGIC
from concerto.vm.interp import effects
from concerto.vm.snapshot import envelope
from concerto.vm.snapshot.envelope import SnapshotError
from concerto.vm.snapshot.kinds import ITERATOR_KINDS, KINDS, PAYLOAD_RECORDS, lower_iterator
from concerto.vm.snapshot.machine import KINDS as KINDS_OF_WAITS

from .programs import EVERYTHING, Between, Run, program_of

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
PROGRAM = program_of(EVERYTHING)
TIERS = ("interp", "both")


def anew(session: Between) -> None:
    resume(session, snapshot(session))


def left_alone(session: Between) -> None:
    pass


@pytest.mark.parametrize("tier", TIERS)
def test_a_run_made_anew_before_each_step_shows_the_same(tier: str) -> None:
    shown = Run(PROGRAM, left_alone).shown()
    assert Run(PROGRAM, anew, tier).shown() == shown
    assert len(shown[0]) > 40 and shown[2] is not None


def test_both_tiers_write_the_same_bytes() -> None:
    written: dict[str, list[bytes]] = {tier: [] for tier in TIERS}
    for tier in TIERS:
        Run(PROGRAM, lambda session, seen=written[tier]: seen.append(snapshot(session)), tier).outcome()
    assert written["interp"] == written["both"] and len(set(written["interp"])) > 60


def test_what_was_read_is_written_as_it_was() -> None:
    def twice(session: Between) -> None:
        data = snapshot(session)
        resume(session, data)
        assert snapshot(session) == data

    run = Run(PROGRAM, twice)
    run.outcome()
    assert run.session.steps > 60


def test_limits_end_the_run_at_the_same_instruction() -> None:
    for steps in (300, 700, 1000):
        assert Run(PROGRAM, anew).shown(steps=steps) == Run(PROGRAM, left_alone).shown(steps=steps)


def test_the_limits_are_those_of_the_host() -> None:
    """They are not in the bytes: who forges some gets no more than the host gave."""
    run = Run(program_of("fn main() { emit(\"a\", 1); loop { emit(\"b\", 2); } }"), anew)
    outcome = run.outcome(steps=50)
    assert outcome.panic is not None and outcome.panic.code == "P101"


def test_a_secret_is_in_no_snapshot() -> None:
    from concerto.runtime.access.permissions import Permissions

    seen: list[bytes] = []

    def watched(session: Between) -> None:
        seen.append(snapshot(session))
        resume(session, seen[-1])

    run = Run(program_of("""
        fn main() { let t = std::env::require("MY_TOKEN"); emit("a", 1); emit("length", "${t}".len()); emit("t", t); }
    """), watched)  # fmt: skip
    run.session.host.permissions = Permissions.of_texts(["env=MY_TOKEN"])
    shown = run.shown()
    assert dict(shown[0])["length"] == "18" and "<secret MY_TOKEN>" in dict(shown[0])["t"]
    assert not any(b"hunter2" in data for data in seen) and any(b"MY_TOKEN" in data for data in seen[1:])


def test_a_secret_among_the_settings_of_one_call_is_in_no_snapshot() -> None:
    from concerto.runtime.access.permissions import Permissions

    seen: list[bytes] = []

    def watched(session: Between) -> None:
        seen.append(snapshot(session))
        resume(session, seen[-1])
        assert snapshot(session) == seen[-1]

    run = Run(program_of("""
        model M { provider: offline }
        fn main() {
            let t = std::env::require("MY_TOKEN")?;
            let asked = M.with(system_prompt: "the key is ${t}", stop_sequences: ["a", "${t}b"], temperature: 0.5);
            emit("a", 1);
            emit("b", asked.execute("x")?.text);
        }
    """), watched)  # fmt: skip
    run.session.host.permissions = Permissions.of_texts(["env=MY_TOKEN"])
    shown = run.shown()
    assert "offline: x" in dict(shown[0])["b"]
    assert not any(b"hunter2" in data for data in seen) and any(data.count(b"MY_TOKEN") > 2 for data in seen)


# ---------------------------------------------------------------- what is refused


def at_step(number: int, source: str = EVERYTHING) -> tuple[list[bytes], Any]:
    """The bytes before each step up to that one, and a function that holds the run there."""
    seen: list[bytes] = []
    checks: list[Any] = []

    def between(session: Between) -> None:
        seen.append(snapshot(session))
        if len(seen) == number:
            for check in checks:
                check(session)

    def run(check: Any) -> None:
        checks.append(check)
        Run(program_of(source), between).outcome()
        assert len(seen) >= number

    return seen, run


def refused(session: Between, data: bytes, code: str, part: str) -> None:
    before, machine = snapshot(session), session.machine
    with pytest.raises(SnapshotError, match=part) as caught:
        resume(session, data)
    assert caught.value.code == code and ";" in caught.value.message
    assert session.machine is machine and snapshot(session) == before


def test_the_bytes_of_another_moment_are_refused() -> None:
    """Effects in them are none that the session performs now."""
    source = "async fn w(n: Int) { std::time::sleep(n); } async fn main() { await (w(1), w(2)); await (w(3), w(4)); }"
    seen, run = at_step(5, source)

    def checked(session: Between) -> None:
        waiting = [data for data in seen[:-1] if data != seen[-1]]
        assert waiting
        refused(session, waiting[1], "V008", "an effect .* that the host does not perform|malformed")

    run(checked)
    assert len(seen) > 5


def test_the_bytes_of_another_program_are_refused() -> None:
    seen: list[bytes] = []
    Run(program_of("fn main() { emit(\"x\", 1); }"), lambda session: seen.append(snapshot(session))).outcome()
    _, run = at_step(3)
    run(lambda session: refused(session, seen[0], "V005", "of the program .*, this is main"))


def test_a_state_of_a_session_is_no_snapshot() -> None:
    def checked(session: Between) -> None:
        data = snapshot(session)
        refused(session, data[:-1], "V004", "damaged")
        refused(session, IMAGE_MAGIC + data[6:], "V002", "no snapshot")
        body = envelope.unseal(data, "snapshot of a run", session.program)
        state = envelope.seal("session state", envelope.identity_of(session.program), body)
        refused(session, state, "V008", "no bytes of a snapshot of a run")

    at_step(3)[1](checked)


def changed(session: Between, change: Any) -> bytes:
    body = envelope.unseal(snapshot(session), "snapshot of a run", session.program)
    change(body)
    return envelope.seal("snapshot of a run", envelope.identity_of(session.program), body)


WHAT = "snapshot of a run"
ROWS, CELLS, TASKS, ROOTS = range(4)
PATH, FUNCTION, PARENT, FLAGS, NUMBERS, FRAMES, STACK, FAULT, EFFECT, WAIT, WATCHERS = range(11)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda task: task[FRAMES][0].__setitem__(2, task[FRAMES][0][2] + 1), "no suspension point"),
        (lambda task: task[FRAMES][0].__setitem__(1, bytes(32)), "a frame of another main"),
        (lambda task: task[FRAMES][0][3].append(1), "a frame that main has not"),
        (lambda task: task[FRAMES][0][4].append(None), "a frame that main has not"),
        (lambda task: task[STACK].append(1), "another depth"),
        (lambda task: task[NUMBERS].__setitem__(0, 99), "was not created"),
        (lambda task: task[FLAGS].__setitem__(0, not task[FLAGS][0]), "another depth|nothing is awaited|waits for nothing"),
        (lambda task: task.__setitem__(PARENT, 0), "has not started"),
        (lambda task: task.__setitem__(FUNCTION, 1 - task[FUNCTION]), "another function"),
    ],
)
def test_a_frame_that_cannot_be_is_refused(change: Any, part: str) -> None:
    def checked(session: Between) -> None:
        refused(session, changed(session, lambda body: change(body[TASKS][0])), "V008", part)

    source = "fn other() { } fn main() { let n = 1; other(); emit(\"n\", n); std::time::sleep(n); emit(\"n\", n + 1); }"
    at_step(4, source)[1](checked)


def test_a_task_that_waits_for_nothing_is_refused() -> None:
    refusals: list[int] = []

    def between(session: Between) -> None:
        tasks = envelope.unseal(snapshot(session), WHAT, session.program)[TASKS]
        for at in [at for at, task in enumerate(tasks) if len(task) > EFFECT and task[EFFECT] is not None]:
            forged = changed(session, lambda body, at=at: body[TASKS][at].__setitem__(EFFECT, None))
            refused(session, forged, "V008", "waits for nothing")
            refusals.append(at)

    Run(program_of("async fn w(n: Int) { std::time::sleep(n); } async fn main() { await (w(1), w(2)); }"), between).outcome()
    assert refusals


WAIT_KINDS = [kind.__name__ for kind in KINDS_OF_WAITS]
WAITS = """async fn w(n: Int) { std::time::sleep(n); }
async fn outer() { spawn w(4); w(5); }
async fn main() {
    let task = spawn w(1); await task; await (w(1), w(2)); race(w(1), w(3));
    parallel for n in [1, 2] { w(n); }; spawn outer(); spawn w(1);
}
"""


def forgeries(tasks: list[Any]) -> list[tuple[str, Callable[[list[Any]], None]]]:
    """Changes of what tasks wait for, each with the kind of wait that it touches; all of the right form."""
    forged: list[tuple[str, Callable[[list[Any]], None]]] = []
    running = [at for at, task in enumerate(tasks) if len(task) > WATCHERS]
    for at in running:
        wait = tasks[at][WAIT]
        kind = None if wait is None else WAIT_KINDS[wait[0]]
        children = [child for child in running if tasks[child][WATCHERS] == [at]]
        if kind in ("JoinAll", "First") and len(children) > 1:
            forged.append((kind, lambda rows, at=at, child=children[0]: rows[at][WAIT].__setitem__(1, [child, child])))
        if kind == "Each" and len(children) > 1:
            forged.append((kind, lambda rows, at=at: rows[at][WAIT][-1][0].__setitem__(1, rows[at][WAIT][-1][1][1])))
        others = [other for other in running if other not in children and tasks[other][PARENT] in children]
        if kind == "AllEnded" and others:
            def elsewhere(rows: list[Any], at: int = at, child: int = children[0], other: int = others[0]) -> None:
                rows[child][WATCHERS].remove(at)
                rows[other][WATCHERS].append(at)

            forged.append((kind, elsewhere))
        if kind == "Await":
            forged.append((kind, lambda rows, child=children[0]: rows[child][WATCHERS].append(rows[child][WATCHERS][0])))
    return forged


def test_a_wait_for_other_tasks_than_it_is_about_is_refused() -> None:
    kinds: set[str] = set()

    def between(session: Between) -> None:
        tasks = envelope.unseal(snapshot(session), WHAT, session.program)[TASKS]
        for kind, change in forgeries(tasks):
            refused(session, changed(session, lambda body, change=change: change(body[TASKS])), "V008", "others than it is about")
            kinds.add(kind)

    Run(program_of(WAITS), between).outcome()
    assert kinds == {"Await", "JoinAll", "First", "Each", "AllEnded"}


def test_a_call_of_the_host_in_place_of_another_is_refused() -> None:
    """What the host runs is told by the paths of its tasks: one that is there twice hides one that is not there."""
    refusals: list[int] = []
    source = """
        tool T { description: "waits", @describe("waits") pub fn f(self) -> Int { std::time::sleep(2); 1 } }
        connect offline { replies: [
            { tool_calls: [{ tool: "T.f", arguments: {} }] }, { tool_calls: [{ tool: "T.f", arguments: {} }] }, "done", "done",
        ] }
        model M { provider: offline, base: "m-1", tools: [T] }
        fn main() { parallel for text in ["a", "b"] { M.execute(text) }; }
    """

    def between(session: Between) -> None:
        tasks = envelope.unseal(snapshot(session), WHAT, session.program)[TASKS]
        called = [at for at, task in enumerate(tasks) if len(task) > WATCHERS and None in task[WATCHERS]]
        if len(called) > 1:
            forged = changed(session, lambda body: (
                body[TASKS][called[0]][WATCHERS].append(None), body[TASKS][called[1]][WATCHERS].remove(None),
            ))  # fmt: skip
            refused(session, forged, "V008", "runs twice|for nothing")
            refusals.append(len(called))

    Run(program_of(source), between).outcome()
    assert refusals


def test_every_record_of_an_effect_has_a_form() -> None:
    """G-13.8: one without fails here, before a program waits for it."""
    records = {made for made in vars(effects).values() if isinstance(made, type) and hasattr(made, "__slots__")}
    assert records - {effects.Effect} == set(PAYLOAD_RECORDS)


def test_a_walk_keeps_its_place() -> None:
    class Kept:
        def put(self, value: Any) -> Any:
            return value

    for walked in (iter([1, 2, 3]), iter((1, 2, 3)), iter({"a": 1, "b": 2, "c": 3}.values()), iter("abc"), iter(range(1, 4))):
        assert type(walked) in ITERATOR_KINDS
        next(walked)
        rest = lower_iterator(Kept(), walked)
        assert rest == lower_iterator(Kept(), walked)
        assert (list(range(*rest[1:])) if rest[0] == 0 else rest[1]) == list(walked)  # and nothing was taken from it
    assert lower_iterator(Kept(), iter(range(-(2**63), 2**63)))[1:] == [-(2**63), 2**63]


FAILED = """fn read(text: String) -> Result<Int, ParseError> { text.parse_int() }
fn main() {
    let kept = read("x");
    try { read("y")?; } catch ParseError(e) { emit("e", e.message); throw e; }
    emit("kept", kept.is_ok());
}
"""


LONG = [[0, 1]] * 16


@pytest.mark.parametrize(
    "way", [[], [[99, 0]], [[0, 9_999]], [[0]], [["a", 1]], [3], [-1], [*LONG, *LONG, [0, 1]], 1, [*LONG, 0], [*LONG, 0, *LONG]]
)
def test_a_way_that_no_error_has_is_refused(way: Any) -> None:
    """L-5.11.4"""

    def forged(body: Any) -> None:
        row = next(row for row in body[ROWS] if type(row[-1]) is list and row[-1] and type(row[-1][0]) is list)
        row[-1] = way

    _, run = at_step(2, FAILED)
    part = "way that none has|place that|no number|no list|malformed"
    run(lambda session: refused(session, changed(session, forged), "V008", part))


def test_a_way_is_the_same_after_a_snapshot_and_in_both_tiers() -> None:
    """L-5.11.4"""
    program = program_of(FAILED)
    ways = {(tier, each): Run(program, each, tier).outcome().trace for tier in TIERS for each in (left_alone, anew)}
    assert set(ways.values()) == {
        (("read", "main.conc", 1, 52), ("main", "main.conc", 4, 11), ("main", "main.conc", 4, 69)),
    }


def test_bytes_that_cannot_be_decoded_say_why() -> None:
    def checked(session: Between) -> None:
        head = snapshot(session)[: envelope._HEAD]
        for payload, why in ((b"\x92\x01", "byte 1: 2 values claimed"), (b"\xa1\xff", "'utf-8' codec")):
            data = head + payload
            refused(session, data + hashlib.sha256(data).digest(), "V006", f"cannot be decoded: {why}")

    at_step(3)[1](checked)


def test_an_error_of_no_variant_is_refused() -> None:
    number = next(kind.number for kind in KINDS if kind.name == "error")

    def checked(session: Between) -> None:
        def change(body: Any) -> None:
            (row,) = [row for row in body[ROWS] if row[0] == number]
            row[row.index("ParseError")] = "Nonesuch"

        refused(session, changed(session, change), "V008", "an error SchemaError::Nonesuch")

    at_step(2, 'fn main() { let e = SchemaError::ParseError("x"); emit("a", 1); emit("b", e.message); }')[1](checked)


def test_a_stream_of_python_goes_on_in_a_run_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made anew while another task goes on and it waits for its next element."""
    (tmp_path / "slowly_given.py").write_text(
        "import asyncio\nasync def numbers(n: int):\n    for i in range(n):\n        await asyncio.sleep(0.02)\n        yield i\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    step = Session._step

    def anew(session: Session) -> Any:
        resume(session, snapshot(session))
        return step(session)

    monkeypatch.setattr(Session, "_step", anew)
    program = concerto.compile("""
        extern python "slowly_given" { async fn numbers(n: Int) -> Stream<Int>; }
        fn walk() -> Result<Int, HostError> { let mut sum = 0; for n in numbers(4) { sum += n; } Ok(sum) }
        fn other() -> Int { for _ in 0..20 { std::time::sleep(5); } 1 }
        pub async fn both() -> Result<Int, HostError> { let (a, b) = await (walk(), other()); Ok(a? * 10 + b) }
    """)
    with program.session(permissions=concerto.Permissions(python=True)) as session:
        assert session.call("both") == 61
