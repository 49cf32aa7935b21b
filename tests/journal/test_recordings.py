"""Effect files: written, read, and given again (G-14.1 to G-14.4, G-16.11, G-16.12, O-9.33, O-9.34)."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.journal.effect_file import EffectFileReader, EffectFileWriter
from concerto.runtime.journal.forms import HIDDEN, failure_of, reply_of
from concerto.runtime.journal.operation import redacted
from concerto.runtime.journal.rows import (
    EffectRow,
    EmitRow,
    EndRow,
    Header,
    JournalRefused,
    PieceRow,
    header_of,
    plain_of,
    row_of,
)

from tests.command import Ended, concerto, environment
from tests.fuzz.campaign import fresh_seed

from .durable_programs import ModelServer

PROGRAM = """
memory chat: Memory = Memory::new(6);
schema Ticket { title: String, kind: "bug" | "task" }
model M { provider: openai, base: "m", memory: chat }
fn main() {
    emit("ticket", M.execute_with_schema<Ticket>("The export crashes")?.kind);
    let (a, b) = await (M.execute("a"), M.execute("b"));
    emit("both", a?.text + b?.text);
    for chunk in M.stream("tell")? { emit("chunk", chunk.text); }
    emit("dice", std::math::random());
    emit("now", std::time::now_ms());
    emit("id", std::crypto::uuid());
    std::time::sleep(250);
    emit("env", std::env::get("COLOUR"));
    emit("later", std::time::now());
    for i in 0..3 { emit("turn", M.execute("turn ${i}")?.text); }
}
"""
ROOT = Path(__file__).resolve().parents[2]
REPLIES = [
    "no json", '{"title": "t", "kind": "bug"}', {"text": "A", "delay_ms": 300}, {"text": "B", "delay_ms": 100}, "one two three",
]  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> tuple[Path, Ended]:
    (tmp_path / "p.conc").write_text(PROGRAM)
    (tmp_path / "r.json").write_text(json.dumps(REPLIES))
    words = ("run", "p.conc", "--offline-script", "r.json", "--allow-env=COLOUR", "--record", "p.effects.jsonl")
    done = concerto(*words, cwd=tmp_path, COLOUR="red")
    assert done.code == 0, done.err
    return tmp_path, done


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "p.effects.jsonl").read_text().splitlines()]


def test_a_recording_is_given_again_in_another_process_zone_and_locale(recording: tuple[Path, Ended]) -> None:
    folder, first = recording
    for variables in ({"TZ": "Asia/Kathmandu", "LC_ALL": "C"}, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "4711"}):
        again = concerto("run", "p.conc", "--replay", "p.effects.jsonl", cwd=folder, **variables)
        assert again == Ended(0, first.out, "")


def test_waits_beyond_all_time_are_recorded_and_given_again(tmp_path: Path) -> None:
    loop = 'for _i in 0..20 { std::time::sleep(9223372036854775807); emit("at", std::time::now_ms()); std::time::now(); }'
    (tmp_path / "p.conc").write_text(f"fn main() {{ {loop} }}")
    done = concerto("run", "p.conc", "--offline", "--record", "p.effects.jsonl", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert all(0 < int(line.split()[-1]) < 2**63 for line in done.out.splitlines())
    assert concerto("run", "p.conc", "--replay", "p.effects.jsonl", cwd=tmp_path) == Ended(0, done.out, "")


def test_a_file_that_cannot_be_begun_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    header = Header(program="p", image="i", run="r", args=[], seed=1, wall=1.0, offline=True)
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        EffectFileWriter(str(tmp_path / "p.effects.jsonl"), header)
    assert list(tmp_path.iterdir()) == [] and len(os.listdir("/proc/self/fd")) == before


def other_pythons() -> list[str]:
    """Interpreters of other versions that have what Concerto needs."""
    homes = Path(sys.base_prefix).parent.glob("3.1*/bin/python3")
    return [str(path) for path in sorted(homes) if f"/{sys.version_info.major}.{sys.version_info.minor}." not in str(path)]


def test_a_recording_is_given_again_by_another_version_of_python(recording: tuple[Path, Ended]) -> None:
    folder, first = recording
    import msgpack

    site = Path(msgpack.__file__).resolve().parent.parent
    tried = 0
    for python in other_pythons():
        variables = {**environment(), "PYTHONPATH": f"{ROOT / '.types'}{os.pathsep}{site}", "MSGPACK_PUREPYTHON": "1"}
        words = [python, "-m", "concerto", "run", "p.conc", "--replay", "p.effects.jsonl", "--no-code-cache"]
        if subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False).returncode:
            continue
        done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stdout.decode()) == (0, first.out), done.stderr.decode()
        tried += 1
    if not tried:
        pytest.skip("no other version of Python from 3.11 on is here")


def test_a_replay_opens_no_socket_starts_no_process_and_needs_no_key(recording: tuple[Path, Ended]) -> None:
    folder, first = recording
    guarded = (
        "import sys\n"
        "def hook(event, arguments):\n"
        "    if event.split('.')[0] in ('socket', 'subprocess') or event in ('os.fork', 'os.exec', 'os.posix_spawn'):\n"
        "        raise RuntimeError(event)\n"
        "from concerto.cli.main import main\n"
        "sys.addaudithook(hook)\n"
        "sys.exit(main(['run', 'p.conc', '--replay', 'p.effects.jsonl']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", guarded], cwd=folder, env=environment(), capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, first.out, "")


def test_recordings_of_equal_runs_are_equal_but_for_what_names_the_run(tmp_path: Path) -> None:
    """G-16.12: hash seeds, zones, locales."""
    own = ('emit("now", std::time::now_ms());', 'emit("id", std::crypto::uuid());', 'emit("later", std::time::now());')
    source = PROGRAM
    for statement in own:
        source = source.replace(statement, "")
    (tmp_path / "p.conc").write_text(source)
    (tmp_path / "r.json").write_text(json.dumps(REPLIES))
    texts = set()
    for number in range(6):
        variables = {"TZ": ("UTC", "Asia/Kathmandu", "America/St_Johns")[number % 3], "LC_ALL": ("C", "C.UTF-8")[number % 2]}
        name = f"{number}.effects.jsonl"
        words = ("run", "p.conc", "--offline-script", "r.json", "--seed", "7", "--allow-env=COLOUR", "--record", name)
        done = concerto(*words, cwd=tmp_path, PYTHONHASHSEED=str(number), **variables)
        assert done.code == 0, done.err
        rows = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()[1:]]
        texts.add(done.out + json.dumps([{k: v for k, v in row.items() if k not in ("seal", "idem_key")} for row in rows]))
    assert len(texts) == 1


# ---------------------------------------------------------------- files that were changed


def resealed(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a file with the seals of these rows: a forger knows how they are made."""
    path.unlink(missing_ok=True)
    header = {name: value for name, value in rows[0].items() if name != "seal"}
    writer = EffectFileWriter(str(path), header_of(header))
    writer.commit([row_of({name: value for name, value in row.items() if name != "seal"}) for row in rows[1:]])
    writer.close()


def forgeries(rows: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """The rows with one effect changed, left out, doubled or moved."""
    rows = [dict(row) for row in rows]
    effects = [at for at, row in enumerate(rows) if row.get("class") in ("repeatable", "once")]
    at = chance.choice(effects)
    how = chance.randrange(5)
    if how == 0:
        rows[at]["digest"] = f"{chance.getrandbits(128):032x}"
    elif how == 1:
        del rows[at]
    elif how == 2:
        rows.insert(at, rows[at])
    elif how == 3:
        rows[at]["effect"] += "0"
    else:
        rows[at]["kind"] = chance.choice([kind for kind in ("model", "wait", "http", "mcp") if kind != rows[at]["kind"]])
    return rows


def test_altered_requests_are_reported_with_their_place(recording: tuple[Path, Ended]) -> None:
    folder, _ = recording
    rows = lines_of(folder)
    altered = [dict(row) for row in rows]
    at = next(at for at, row in enumerate(altered) if row.get("kind") == "model")
    altered[at]["digest"] = "0" * 32
    altered[at]["request"] = {**altered[at]["request"], "model": "other"}
    resealed(altered, folder / "x.effects.jsonl")
    done = concerto("run", "p.conc", "--replay", "x.effects.jsonl", cwd=folder)
    assert done.code == 1 and "panic[P406]" in done.err and '$.model: "other" in the file, now "m"' in done.err


def test_a_forged_order_or_request_never_passes(recording: tuple[Path, Ended]) -> None:
    folder, _ = recording
    seed = fresh_seed()
    rows, chance = lines_of(folder), random.Random(seed)
    for case in range(12):
        resealed(forgeries(rows, chance), folder / "x.effects.jsonl")
        done = concerto("run", "p.conc", "--replay", "x.effects.jsonl", cwd=folder)
        assert done.code == 1 and "P406" in done.err, (seed, case, done)


def test_a_recording_of_another_program_is_refused(recording: tuple[Path, Ended]) -> None:
    folder, _ = recording
    (folder / "q.conc").write_text('fn main() { emit("a", 1); }')
    done = concerto("run", "q.conc", "--replay", "p.effects.jsonl", cwd=folder)
    assert done.code == 74 and "is of p with the image" in done.err


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda data: data[:-1] + b"x\n", "is not as it was written"),
        (lambda data: data.replace(b'"bug"', b'"task"', 1), "is not as it was written"),
        (lambda data: b"", "is empty"),
        (lambda data: data[:40], "is cut"),
        (lambda data: b"\xff" + data, "is no effect file's"),
        (lambda data: data.split(b"\n", 1)[1], "is not behind the line"),
        (lambda data: data.replace(b"concerto-effects/1", b"concerto-effects/2"), "not as it was written"),
    ],
)
def test_damaged_files_are_refused_by_name(recording: tuple[Path, Ended], change: Callable[[bytes], bytes], part: str) -> None:
    folder, _ = recording
    (folder / "x.effects.jsonl").write_bytes(change((folder / "p.effects.jsonl").read_bytes()))
    done = concerto("run", "p.conc", "--replay", "x.effects.jsonl", cwd=folder)
    assert done.code in (1, 74) and part in done.err, done


NO_NUMBERS = (float("nan"), float("inf"), -1.0, 2**53, 10**400)


def test_replies_and_failures_of_other_shapes_are_refused() -> None:
    """What a run makes of such a number is none of the language, or an exception of Python."""
    citation = ["u", None, 0, 1]
    for form in (
        *({"tokens_in": number} for number in (-1, 2**53, 10**400)), {"hosted": {"web": -1}}, {"data": {"a": 10**400}},
        {"calls": [["i", "f", {"a": 10**400}, ""]]}, {"citations": [[*citation[:2], -1, 1]]},
        {"citations": [[*citation[:3], 10**30]]},
    ):  # fmt: skip
        with pytest.raises(JournalRefused, match="holds a reply that none is"):
            reply_of(form)
    assert reply_of({"citations": [citation], "data": {"a": [1, None]}}).data == {"a": [1, None]}
    failure = {"kind": "AgentError", "variant": "RateLimited", "message": "m", "retry_class": "rate_limit"}
    for name, value in (
        ("retry_after_ms", "x"), ("retry_after_ms", 1.5), ("status", "429"), ("status", 10**400), ("model", 1),
        ("timeout_seconds", "x"), ("violations", 1), ("cause", 10**400),
    ):  # fmt: skip
        with pytest.raises(JournalRefused, match="holds a failure that none is"):
            failure_of({**failure, "fields": {name: value}})
    cause = {"failure": {"kind": "SchemaError", "message": "n"}}
    fields = {"retry_after_ms": 5, "timeout_seconds": 1, "violations": [{"a": 1}], "last_error": cause, "text": "x", "rounds": 1}
    assert failure_of({**failure, "fields": fields}).fields.keys() == fields.keys()


@pytest.mark.parametrize(
    "result",
    [{"tokens_in": -1}, {"hidden": json.loads("[" * 90 + "]" * 90)}, {"hidden": json.loads("[" * 700 + "]" * 700)}],
)
def test_a_reply_that_is_none_is_refused_with_its_place(recording: tuple[Path, Ended], result: Any) -> None:
    folder, _ = recording
    rows = lines_of(folder)
    next(row for row in rows if row.get("kind") == "model")["result"] = result
    resealed(rows, folder / "x.effects.jsonl")
    done = concerto("run", "p.conc", "--replay", "x.effects.jsonl", cwd=folder)
    assert done.code == 1 and "effect 0:1/1 (model)" in done.err and "record the run anew" in done.err


def test_rows_of_other_shapes_are_refused() -> None:
    effect = plain_of(EffectRow("0:1", "clock", "observed", "d", None, "i"))
    for plain in (
        {}, [], None, {"effect": 1}, {**effect, "more": 1}, {**effect, "class": "x"}, {**effect, "status": "x"},
        {name: value for name, value in effect.items() if name != "digest"}, {**effect, "attempt": True}, {"deliver": 1},
        {"emit": 1, "value": 1, "by_runtime": True, "t": 0}, {"end": "x", "message": "", "code": "", "value": None, "t": 0},
        {"piece": "a", "text": 1, "t": 0}, {"unknown": 1},
        *({"piece": "a", "text": "", "t": number} for number in NO_NUMBERS),
        *({**effect, name: number} for name in ("t_start", "t_end", "cost") for number in NO_NUMBERS),
    ):  # fmt: skip
        with pytest.raises(JournalRefused):
            row_of(plain)
    header = Header(program="p", image="i", run="r", args=[], seed=1, wall=0.0, offline=True).as_json()
    assert header_of(header).wall == 0.0
    for number in (*NO_NUMBERS, 1e11):
        with pytest.raises(JournalRefused):
            header_of({**header, "wall": number})
    for row in (EmitRow("a", {"b": 1}, False, 1.5), PieceRow("0:1/1", "x", 2.0), EndRow("ok", value=[1])):
        assert plain_of(row_of(json.loads(json.dumps(plain_of(row))))) == plain_of(row)


def test_a_long_recording_is_read_row_by_row(tmp_path: Path) -> None:
    from concerto.runtime.journal.rows import Header

    path = tmp_path / "long.effects.jsonl"
    header = Header(program="p", image="0" * 64, run="r", args=[], seed=1, wall=0.0, offline=True)
    writer = EffectFileWriter(str(path), header)
    text = "x" * 20_000
    for number in range(2_000):
        writer.commit([EmitRow("long", f"{number}{text}", False, 0.0)])
    writer.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reader = EffectFileReader(str(path))
    assert sum(1 for _ in reader) == 2_000
    reader.close()
    assert path.stat().st_size > 40_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


# ---------------------------------------------------------------- going on with a file


def test_a_recording_that_was_cut_is_gone_on_with(recording: tuple[Path, Ended]) -> None:
    folder, first = recording
    lines = (folder / "p.effects.jsonl").read_bytes().splitlines(keepends=True)
    whole = lines_of(folder)
    for cut in (2, 5, len(lines) - 2):
        (folder / "x.effects.jsonl").write_bytes(b"".join(lines[:cut]) + b'{"half')
        words = ("run", "p.conc", "--offline-script", "r.json", "--allow-env=COLOUR", "--replay", "x.effects.jsonl")
        done = concerto(*words, "--extend", cwd=folder, COLOUR="red")
        assert done.code == 0, done
        again = concerto("run", "p.conc", "--replay", "x.effects.jsonl", cwd=folder)
        assert again.code == 0 and again.out == done.out
        kept = (folder / "x.effects.jsonl").read_bytes().splitlines()
        assert json.loads(kept[-1])["end"] == whole[-1]["end"] == "ok"
        assert kept[: cut - 1] == [line[:-1] for line in lines[: cut - 1]]


def test_flags_that_do_not_fit_are_said(recording: tuple[Path, Ended]) -> None:
    folder, _ = recording
    for words, code, part in (
        (("--record", "a", "--replay", "b"), 2, "choose one of them"),
        (("--extend",), 2, "--extend goes on with the recording that --replay names"),
        (("--record", "p.effects.jsonl"), 66, "File exists"),
        (("--replay", "none"), 66, "No such file"),
        (("--record", "no/such/folder"), 66, "No such file"),
    ):
        done = concerto("run", "p.conc", "--offline", *words, cwd=folder)
        assert done.code == code and part in done.err, (words, done)


def test_a_fault_overlay_puts_failures_before_requests(recording: tuple[Path, Ended]) -> None:
    folder, first = recording
    rows = [row for row in lines_of(folder) if row.get("kind") == "model"]
    (folder / "f.json").write_text(json.dumps({rows[0]["effect"]: "429", rows[-1]["effect"]: "timeout"}))
    words = ("run", "p.conc", "--replay", "p.effects.jsonl", "--faults", "f.json", "--metrics")
    done = concerto(*words, cwd=folder)
    assert done.code == 0 and done.out == first.out
    assert json.loads(done.err)["retries"] == 2
    (folder / "f.json").write_text(json.dumps({rows[-1]["effect"]: "401"}))
    refused = concerto(*words, cwd=folder)
    assert refused.code == 1 and "fault of the replay: 401" in refused.err
    (folder / "f.json").write_text("[1]")
    assert concerto(*words, cwd=folder).code == 2


def test_what_is_redacted_is_in_no_row_and_the_recording_is_given_again(tmp_path: Path) -> None:
    source = 'model M { provider: openai, base: "m" } fn main() { emit("a", M.execute("hush")?.text.len()); }'
    (tmp_path / "p.conc").write_text(source)
    words = ("--record", "x.jsonl", "--redact", "request.messages.*.content")
    done = concerto("run", "p.conc", "--offline", *words, cwd=tmp_path)
    text = (tmp_path / "x.jsonl").read_text()
    assert '"content":"<redacted>"' in text and '"content":"hush"' not in text
    again = concerto("run", "p.conc", "--replay", "x.jsonl", cwd=tmp_path)
    assert (again.code, again.out) == (0, done.out)


def test_the_pieces_of_a_redacted_reply_are_in_no_row(tmp_path: Path) -> None:
    body = 'for c in M.stream("hush").unwrap() { emit("n", c.text.len()); }'
    source = f'model M {{ provider: openai, base: "m" }} fn main() {{ {body} }}'
    (tmp_path / "p.conc").write_text(source)
    done = concerto("run", "p.conc", "--offline", "--record", "x.jsonl", "--redact", "result.text", cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    pieces = [row["text"] for row in rows if "piece" in row]
    assert done.code == 0 and pieces and set(pieces) == {"<redacted>"}
    assert [row["result"]["text"] for row in rows if "effect" in row] == ["<redacted>"]


def test_what_is_redacted_is_in_no_row_that_has_secrets_either() -> None:
    row = EffectRow("0.1", "model", "once", "", {}, "")
    row.result = {HIDDEN: {"text": {HIDDEN: ["words ", "KEY", ""]}, "calls": [{"id": "1"}]}}
    redacted(row, ["result", "text"])
    assert row.result == {HIDDEN: {"text": "<redacted>", "calls": [{"id": "1"}]}}
    row.result = {HIDDEN: {"o": {HIDDEN: {HIDDEN: "a", "z": {HIDDEN: ["", "KEY", ""]}}}, "n": {"0": 1}}}
    redacted(row, ["result", "o", HIDDEN])
    redacted(row, ["result", "o", "z", "0"])  # a text has no parts
    assert row.result == {HIDDEN: {"o": {HIDDEN: {HIDDEN: "<redacted>", "z": {HIDDEN: ["", "KEY", ""]}}}, "n": {"0": 1}}}
    redacted(row, ["result"])
    assert row.result == "<redacted>"


def test_no_secret_gets_into_a_recording(tmp_path: Path) -> None:
    (tmp_path / "p.conc").write_text("""
model M { provider: openai, base: "m" }
fn main() {
    let token = std::env::get("MY_TOKEN").unwrap_or("");
    emit("a", M.execute("use " + token)?.text.len());
    emit("b", token.len());
}
""")
    words = ("run", "p.conc", "--offline", "--allow-env=MY_TOKEN", "--record", "x.jsonl")
    done = concerto(*words, cwd=tmp_path, MY_TOKEN="swordfish-4711")
    assert done.code == 0, done
    text = (tmp_path / "x.jsonl").read_text()
    assert "swordfish" not in text and "<secret MY_TOKEN>" in text


def test_a_row_has_what_its_request_cost(tmp_path: Path) -> None:
    """By the prices of the run; without one there is none (G-14.1)."""
    server = ModelServer()
    try:
        program = f"""
connect lab {{ provider: "custom", base_url: "http://127.0.0.1:{server.port}/v1" }}
model Priced {{ provider: lab, base: "small" }}
model Other {{ provider: lab, base: "unknown" }}
fn main() {{ Priced.execute("one")?; Other.execute("two")?; }}
"""
        (tmp_path / "p.conc").write_text(program)
        prices = '[pricing."small"]\ninput_per_million = 1000000.0\noutput_per_million = 500000.0\n'
        (tmp_path / "Concerto.toml").write_text(f'[project]\nname = "p"\nversion = "1"\nentry = "p.conc"\n{prices}')
        done = concerto("run", "p.conc", "--allow-net", "--record", "p.effects.jsonl", cwd=tmp_path)
        assert done.code == 0, done.err
    finally:
        server.close()
    priced, other = (row for row in lines_of(tmp_path) if row.get("kind") == "model")
    assert priced["tokens"][:2] == [3, 2] and priced["cost"] == 4.0 and "cost" not in other
    assert "$4" in concerto("trace", "p.effects.jsonl", cwd=tmp_path).out
    again = concerto("run", "p.conc", "--replay", "p.effects.jsonl", cwd=tmp_path)
    assert again.code == 0, again.err


def test_a_recording_that_cannot_grow_ends_the_run_with_its_name(tmp_path: Path) -> None:
    program = 'model M { provider: offline }\nfn main() { for i in 0..400 { M.execute("${i} and some more words")?; } }'
    (tmp_path / "p.conc").write_text(program)
    command = f"ulimit -f 40; exec {sys.executable} -m concerto run p.conc --record p.effects.jsonl --no-code-cache"
    # Python would leave cut-off bytecode of modules that nobody has imported yet.
    limited = {**environment(), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=limited, capture_output=True, text=True)
    assert done.returncode == 1, done
    assert done.stderr == "cannot write p.effects.jsonl: File too large; what is in it can be gone on with (--extend)\n"
    again = concerto("run", "p.conc", "--replay", "p.effects.jsonl", "--extend", cwd=tmp_path)
    assert again.code == 0, again
    whole = concerto("run", "p.conc", "--replay", "p.effects.jsonl", cwd=tmp_path)
    assert whole.code == 0 and len(lines_of(tmp_path)) > 400


def test_a_row_says_whether_json_had_to_be_found_in_a_reply(tmp_path: Path) -> None:
    program = """
schema Ticket { title: String }
model M { provider: openai, base: "m" }
fn main() { for i in 0..3 { M.execute_with_schema<Ticket>("${i}")?; } M.execute("x")?; }
"""
    replies = ['{"title": "a"}', 'Here: {"title": "b"} - done', "none", '{"title": "c"}', '{"title": "d"}']
    (tmp_path / "p.conc").write_text(program)
    (tmp_path / "r.json").write_text(json.dumps(replies))
    assert concerto("run", "p.conc", "--offline-script", "r.json", "--record", "p.effects.jsonl", cwd=tmp_path).code == 0
    rows = [row for row in lines_of(tmp_path) if row.get("kind") == "model"]
    assert [row.get("repaired") for row in rows] == [False, True, None, False, None]
    assert concerto("run", "p.conc", "--replay", "p.effects.jsonl", cwd=tmp_path).code == 0


def test_infinities_are_recorded_and_given_again(tmp_path):
    """In emits and requests of a file they are null, as in JSON (L-5.1.2); the digest of a request tells them from it."""
    (tmp_path / "a.conc").write_text(
        """extern python "math" { fn fabs(x: Float) -> Float; }
        fn main() {
            let x = 1e308 * 10.0;
            emit("k", [x]);
            emit("f", fabs(-x));
            emit("n", fabs(x - x));
        }"""
    )
    out = "[emit:k] [null]\n[emit:f] inf\n[emit:n] NaN\n"
    words = ("run", "a.conc", "--allow-python=math")
    assert concerto(*words, "--record", "r.jsonl", cwd=tmp_path) == (0, out, "")
    assert concerto(*words, "--replay", "r.jsonl", cwd=tmp_path) == (0, out, "")
    other = (tmp_path / "a.conc").read_text().replace("fabs(-x)", "fabs(x - x)")
    (tmp_path / "a.conc").write_text(other)
    ended = concerto(*words, "--replay", "r.jsonl", cwd=tmp_path)
    assert ended.code == 74 and "run the program that was recorded" in ended.err, ended
