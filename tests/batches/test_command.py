"""`concerto batch`: order, reasons, retries, limits, stopping and going on (S-2.1, S-2.2)."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from concerto.batches.output import Output
from concerto.cli.main import main

from ..command import Ended, concerto, environment
from .serving import Served, lines, served, write_rows

COMMAND = [sys.executable, "-m", "concerto", "batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", "out.jsonl"]


def batch(folder: Path, *words: str) -> Ended:
    return concerto("batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", "out.jsonl", *words, cwd=folder)


def begun(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*COMMAND, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())


def wait_for(server: Served, count: int) -> None:
    until = time.monotonic() + 30
    while sum(server.counts().values()) < count:
        assert time.monotonic() < until
        time.sleep(0.01)


def done_keys(store: Path) -> set[str]:
    """The texts of the rows that a store has, by a reader of its own."""
    import sqlite3

    with sqlite3.connect(store) as db:
        found = {json.loads(answer).removeprefix("re: ") for (answer,) in db.execute("SELECT answer FROM rows WHERE state = 1")}
    db.close()
    return found


def test_results_stand_in_the_order_of_the_rows_and_failed_ones_beside_them(tmp_path: Path) -> None:
    with served(tmp_path, 0.01) as server:
        server.program(tmp_path)
        texts = ["a", "fail b", "c", "flaky d", "e"]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts) + "{\n")
        ended = batch(tmp_path, "--retries", "1")
        assert ended.code == 1
        assert "6 rows: 4 done, 2 failed, 60 tokens" in ended.out and "-> out.jsonl, out.errors.jsonl" in ended.out
        found = [(line["row"], line["result"]) for line in lines(tmp_path / "out.jsonl")]
        assert found == [(1, "re: a"), (3, "re: c"), (4, "re: flaky d"), (5, "re: e")]
        first, second = lines(tmp_path / "out.errors.jsonl")
        assert (first["row"], first["input"]) == (2, {"text": "fail b"})
        assert first["error"]["kind"] == "AgentError" and "it does not want to" in first["error"]["message"]  # type: ignore[index]
        assert (second["row"], second["input"]) == (6, "{")
        assert server.counts()["fail b"] == 2  # once more, by --retries


def test_no_more_calls_run_at_a_time_than_the_limit(tmp_path: Path) -> None:
    with served(tmp_path, 0.2) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 8)
        began = time.monotonic()
        assert batch(tmp_path, "--limit", "2").code == 0
        assert time.monotonic() - began > 0.8


def test_a_finished_row_is_not_asked_again_and_a_changed_one_is(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 5)
        assert batch(tmp_path).code == 0
        first = (tmp_path / "out.jsonl").read_bytes()
        again = batch(tmp_path)
        assert "(5 from the store)" in again.out and (tmp_path / "out.jsonl").read_bytes() == first
        assert sum(server.counts().values()) == 5
        with (tmp_path / "rows.jsonl").open("a") as file:
            file.write('{"text": "new"}\n')
        assert batch(tmp_path).code == 0 and sum(server.counts().values()) == 6
        source = (tmp_path / "ask.conc").read_text().replace("max_tokens: 20", "max_tokens: 21")
        (tmp_path / "ask.conc").write_text(source)
        assert batch(tmp_path).code == 0 and sum(server.counts().values()) == 12


def test_a_key_names_a_row_whatever_it_holds(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.program(tmp_path)
        rows = tmp_path / "rows.jsonl"
        rows.write_text('{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n')
        assert batch(tmp_path, "--key", "id").code == 0
        rows.write_text('{"id": 2, "text": "b"}\n{"id": 1, "text": "changed"}\n')
        assert batch(tmp_path, "--key", "id").code == 0
        assert lines(tmp_path / "out.jsonl") == [
            {"row": 1, "key": "2", "result": "re: b"}, {"row": 2, "key": "1", "result": "re: changed"},
        ]  # fmt: skip
        assert server.counts() == {"a": 1, "b": 1, "changed": 1}


def test_only_failed_rows_are_repeated(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.program(tmp_path)
        (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n{"text": "flaky b"}\n')
        words = ("--retries", "0")
        source = (tmp_path / "ask.conc").read_text().replace('base: "m"', 'base: "m", retry_policy: { max_attempts: 1 }')
        (tmp_path / "ask.conc").write_text(source)
        failed = batch(tmp_path, *words)
        assert failed.code == 1, failed
        assert batch(tmp_path, *words).code == 1  # a failed row is finished too
        assert server.counts() == {"a": 1, "flaky b": 1}
        with (tmp_path / "rows.jsonl").open("a") as file:
            file.write('{"text": "new"}\n')
        only = batch(tmp_path, *words, "--only-failed")
        assert (only.code, only.err) == (0, "1 rows were not asked: they have not failed before\n")
        assert server.counts() == {"a": 1, "flaky b": 2}
        assert [line["row"] for line in lines(tmp_path / "out.jsonl")] == [1, 2]
        assert not (tmp_path / "out.errors.jsonl").exists()


def test_a_budget_ends_a_batch_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.program(tmp_path)
        with (tmp_path / "Concerto.toml").open("w") as file:
            file.write('[pricing."m"]\ninput_per_million = 1000.0\noutput_per_million = 1000.0\n')
        write_rows(tmp_path / "rows.jsonl", 20)
        ended = batch(tmp_path, "--max-cost", "0.1", "--limit", "3")  # a row costs 0.015, and reserves more
        assert ended.code == 1
        asked = sum(server.counts().values())
        assert 3 <= asked <= 6 and f"20 rows: {asked} done, 0 failed" in ended.out
        assert f"{20 - asked} rows are left: cost budget of the batch spent" in ended.err
        assert len(lines(tmp_path / "out.jsonl")) == asked
        assert batch(tmp_path, "--max-cost", "0.1").code == 1
        assert sum(server.counts().values()) == asked  # what is spent is spent
        assert batch(tmp_path, "--max-cost", "1").code == 0
        assert set(server.counts().values()) == {1} and len(lines(tmp_path / "out.jsonl")) == 20
        assert batch(tmp_path, "--max-cost", "1", "--max-model-calls", "3", "--store", "new.rows").code == 1
        assert sum(server.counts().values()) == 23


def test_a_cost_that_nobody_knows_is_no_free_batch(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 3)
        ended = batch(tmp_path, "--max-cost", "1")
        assert ended.code == 1 and "model m has no price" in (tmp_path / "out.errors.jsonl").read_text()
        assert not server.counts()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_batch_that_goes_on_later(tmp_path: Path, number: int, code: int) -> None:
    with served(tmp_path, 0.05) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 100)
        process = begun(tmp_path, "--limit", "5")
        wait_for(server, 20)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (code, b"")
        assert err.startswith(b"stopped: ") and err.endswith(b"Go on with the same command\n"), err
        assert [path.name for path in tmp_path.glob("out.*")] == ["out.jsonl.rows"]  # nothing is half written
        done = done_keys(tmp_path / "out.jsonl.rows")
        before = server.counts()
        assert batch(tmp_path).code == 0
        after = server.counts()
        assert 10 <= len(done) < 100 and all(after[text] == before[text] == 1 for text in done)
        assert [line["row"] for line in lines(tmp_path / "out.jsonl")] == list(range(1, 101))


SIGNALLED = """
import asyncio, os, signal
from concerto.cli.batch import _until_signal
from concerto.cli.terminal import Progress

class Held:
    def stop(self): pass
    async def arun(self, put, opened):
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(20)
        finally:
            print(*map(signal.getsignal, (signal.SIGINT, signal.SIGTERM)))

print(asyncio.run(_until_signal(Held(), None, Progress(quiet=True))))
"""


def test_after_a_signal_one_of_either_kind_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=60, env=environment())
    assert (done.stdout, done.stderr) == (f"{signal.default_int_handler} {signal.SIG_DFL}\n130\n", "")


def test_a_signal_ends_a_row_that_computes(tmp_path: Path) -> None:
    (tmp_path / "ask.conc").write_text("pub fn ask(text: String) -> Int { let mut n = 0; while true { n += 1; } n }")
    write_rows(tmp_path / "rows.jsonl", 2)
    process = begun(tmp_path)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130, process.kill()


def test_killed_batches_ask_no_finished_row_twice(tmp_path: Path) -> None:
    """S-2.2 with a few kills; `make soak` has 200."""
    from ..fuzz.campaign import fresh_seed
    from ..fuzz.campaign_batches import kills

    kills(fresh_seed(), 4)


def test_an_output_that_takes_no_more_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def put(output: Output, rows: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Output, "put", put)
    (tmp_path / "twice.conc").write_text("pub fn twice(n: Int) -> Int { return n * 2; }\n")
    (tmp_path / "rows.jsonl").write_text('{"n":1}\n')
    assert main(["batch", "twice.conc", "--fn", "twice", "--in", "rows.jsonl", "--out", "out.jsonl", "--offline"]) == 1
    assert capsys.readouterr().err == "cannot write out.jsonl: No space left on device\n"
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl.rows", "rows.jsonl", "twice.conc"]


def test_two_batches_do_not_share_a_store(tmp_path: Path) -> None:
    with served(tmp_path, 4.0) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 20)
        process = begun(tmp_path, "--limit", "10")  # so that the other one comes while the second half is on its way
        wait_for(server, 1)
        other = batch(tmp_path)
        assert other.code == 1 and "another batch is working with this store" in other.err
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0 and len(lines(tmp_path / "out.jsonl")) == 20


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--in", "gone.jsonl"], 66, "cannot read gone.jsonl: No such file or directory"),
        (["--in", "ask.conc"], 66, "are read from files called .jsonl, .csv or .parquet"),
        (["--fn", "nothing"], 2, "public functions: ask"),
        (["--out", "no/where.jsonl"], 1, "cannot open the store no/where.jsonl.rows: No such file or directory"),
        (["--out", "no/where.jsonl", "--store", "s"], 1, "cannot write no/where.jsonl: No such file or directory"),
        (["--store", "ask.conc"], 1, "ask.conc is no store of a batch"),
        (["--out", "out.csv"], 2, "--out: results are written as JSON lines, which out.csv does not say; write out.jsonl"),
        (["--out", "out.JSON"], 2, "write out.jsonl"),
        (["--out", "ask.conc"], 2, "--out: the results would be written over ask.conc of FILE; name another file"),
        (["--out", "./rows.jsonl"], 2, "--out: the results would be written over rows.jsonl of --in; name another file"),
        (["--store", "out.jsonl"], 2, "--out: the results would be written over out.jsonl of --store"),
        (["--store", "out.errors.jsonl"], 2, "--out: the results would be written over out.errors.jsonl of --store"),
        (["--out", "."], 2, "--out: . is no file; name one"),
        (["--on", "spark"], 2, "expected ray, or ray=ADDRESS"),
        (["--on", "ray="], 2, "expected ray, or ray=ADDRESS"),
        (["--limit", "0"], 2, "at least 1"),
        (["--retries", "-1"], 2, ""),
        (["--wait", "3"], 2, "--wait is for --provider-batch"),
        (["--provider-batch", "--on", "ray"], 2, "choose one of them"),
    ],
)
def test_what_cannot_be_begun(tmp_path: Path, words: list[str], code: int, text: str) -> None:
    (tmp_path / "ask.conc").write_text("pub fn ask(text: String) -> String { text }")
    write_rows(tmp_path / "rows.jsonl", 1)
    ended = batch(tmp_path, *words)
    assert ended.code == code and text in ended.err, ended
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".conc", ".jsonl")) == ["ask.conc", "rows.jsonl"]
    assert "pub fn ask" in (tmp_path / "ask.conc").read_text() and '"text"' in (tmp_path / "rows.jsonl").read_text()


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    (tmp_path / "ask.conc").write_text("pub fn ask(text: String) -> String { text }")
    write_rows(tmp_path / "rows.jsonl", 1)
    db = sqlite3.connect(tmp_path / "mine.db")
    db.execute("CREATE TABLE rows (x)")
    db.commit()
    db.close()
    before = (tmp_path / "mine.db").read_bytes()
    ended = batch(tmp_path, "--store", "mine.db")
    assert ended.code == 1 and "is a database of something else" in ended.err
    assert (tmp_path / "mine.db").read_bytes() == before


def test_each_row_has_a_session_and_a_script_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "ask.conc").write_text(
        'hashmap seen: HashMap<String, Int> = HashMap::new();\nmodel M { provider: openai, base: "m" }\n'
        "pub fn ask(text: String) -> Result<String, AgentError> {\n"
        '    seen.set("n", seen.get("n").unwrap_or(0) + 1);\n    Ok("${M.execute(text)?.text} ${seen.get("n").unwrap()}")\n}\n'
    )
    (tmp_path / "replies.json").write_text('["first", "second"]')
    write_rows(tmp_path / "rows.jsonl", 3)
    ended = batch(tmp_path, "--offline-script", "replies.json")
    assert ended.code == 0, ended
    assert [line["result"] for line in lines(tmp_path / "out.jsonl")] == ["first 1"] * 3


def test_permissions_and_limits_of_a_row(tmp_path: Path) -> None:
    (tmp_path / "ask.conc").write_text(
        "use std::fs;\npub fn ask(text: String) -> Result<String, FsError> {\n"
        '    if text == "row 2" { let mut n = 0; while true { n += 1; } }\n    fs::read_file(text)\n}\n'
    )
    write_rows(tmp_path / "rows.jsonl", 2)
    assert batch(tmp_path, "--max-steps", "10000").code == 1
    first, second = (line["error"] for line in lines(tmp_path / "out.errors.jsonl"))
    assert first["variant"] == "PermissionDenied" and "--allow-fs-read" in first["message"]  # type: ignore[index]
    assert (second["kind"], second["code"]) == ("Panic", "P101")  # type: ignore[index]
    (tmp_path / "row 1").write_text("content")
    ended = batch(tmp_path, "--max-steps", "10000", "--allow-fs-read=row 1", "--only-failed")
    assert ended.code == 1 and lines(tmp_path / "out.jsonl") == [{"row": 1, "result": "content"}]


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    with served(tmp_path, 0.1) as server:
        server.program(tmp_path)
        write_rows(tmp_path / "rows.jsonl", 20)
        primary, secondary = pty.openpty()
        process = subprocess.Popen([*COMMAND, "--limit", "2"], cwd=tmp_path, stderr=secondary, stdout=subprocess.PIPE,
                                   env=environment(TERM="xterm", COLUMNS="200"))  # fmt: skip
        os.close(secondary)
        out, _ = process.communicate(timeout=30)
        shown = os.read(primary, 100_000).decode()
        os.close(primary)
        assert " done, 0 failed, " in shown and " rows/s, " in shown and " tokens, cost " in shown and " left" in shown
        assert out.decode().startswith("20 rows: 20 done, 0 failed, 300 tokens")


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """The peak of 10,000 rows over that of 500; what a row keeps is a few bytes."""
    (tmp_path / "ask.conc").write_text("pub fn ask(text: String) -> String { text }")
    peaks = []
    for count in (500, 10_000):
        write_rows(tmp_path / "rows.jsonl", count, "{number} " + "x" * 500)
        code = (
            "import resource, sys\nfrom concerto.cli.main import main\n"
            "words = ['ask.conc', '--fn', 'ask', '--in', 'rows.jsonl', '--out', 'out.jsonl', '--store', sys.argv[1]]\n"
            "code = main(['batch', *words])\n"
            "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, f"{count}.rows"], cwd=tmp_path, capture_output=True, text=True)
        ended, peak = done.stdout.splitlines()[-1].split()
        assert ended == "0", done.stderr
        peaks.append(int(peak))
        (tmp_path / f"{count}.rows").unlink()
    assert peaks[1] - peaks[0] < 4_000, peaks  # KB; the rows are 5 MB


def test_only_failed_rows_of_a_program_that_has_changed_are_refused(tmp_path: Path) -> None:
    """What is finished and its output stay as they are."""
    source = 'pub fn ask(id: Int) -> Result<String, Error> { if id == 2 { throw "bug"; } "ok ${id}" }\n'
    (tmp_path / "ask.conc").write_text(source)
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"id": {number}}}\n' for number in range(1, 4)))
    assert batch(tmp_path, "--offline").code == 1
    before = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "ask.conc").write_text(source.replace("id == 2", "id == 9"))
    refused = batch(tmp_path, "--offline", "--only-failed")
    assert refused.code == 1 and "the program has changed since its rows were asked" in refused.err
    assert (tmp_path / "out.jsonl").read_bytes() == before and (tmp_path / "out.errors.jsonl").exists()
    assert batch(tmp_path, "--offline").code == 0 and len(lines(tmp_path / "out.jsonl")) == 3
    (tmp_path / "ask.conc").write_text(source)
    assert batch(tmp_path, "--offline").code == 1
    assert batch(tmp_path, "--offline", "--only-failed").code == 1


def test_rows_call_functions_of_a_module_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "batch_prices.py").write_text("def price(name: str) -> int:\n    return 100 * len(name)\n")
    declared = 'extern python "batch_prices" { fn price(name: String) -> Int; }\n'
    (tmp_path / "desk" / "cost.conc").write_text(declared + "pub fn cost(name: String) -> Int { price(name) + 1 }\n")
    (tmp_path / "rows.jsonl").write_text('{"name":"ab"}\n{"name":"abc"}\n')
    words = ("batch", "desk/cost.conc", "--fn", "cost", "--in", "rows.jsonl", "--out", "out.jsonl")
    refused = concerto(*words, cwd=tmp_path)
    assert refused.code == 1 and "Traceback" not in refused.err, refused
    done = concerto(*words, "--only-failed", "--allow-python=batch_prices", cwd=tmp_path)
    assert done.code == 0, done
    assert (tmp_path / "out.jsonl").read_text() == '{"row":1,"result":201}\n{"row":2,"result":301}\n'


def test_a_batch_without_its_key_says_so_and_no_row_is_finished(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        source = (tmp_path / "ask.conc")
        server.program(tmp_path)
        source.write_text(source.read_text().replace('api: "chat"', 'api: "chat", api_key: env("ROW_KEY")'))
        write_rows(tmp_path / "rows.jsonl", 200)
        began = time.monotonic()
        ended = batch(tmp_path)
        assert (ended.code, ended.out) == (2, "") and time.monotonic() - began < 10, ended
        assert ended.err.count("environment variable ROW_KEY is not set") == 1
        assert not (tmp_path / "out.jsonl").exists() and not (tmp_path / "out.errors.jsonl").exists()
        words = ("batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", "out.jsonl")
        again = concerto(*words, cwd=tmp_path, ROW_KEY="secret")
        assert again.code == 0 and "200 done, 0 failed," in again.out, again


def test_pins_that_are_none_are_named_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "ask.conc").write_text(
        'mcp tools { command: "true" }\nmodel M { provider: offline, tools: [tools] }\n'
        "pub fn ask(text: String) -> Result<String> { M.execute(text)?.text }\n"
    )
    write_rows(tmp_path / "rows.jsonl", 1)
    (tmp_path / "Concerto.pins.json").write_text("[1")
    ended = batch(tmp_path, "--offline")
    assert ended.code == 2 and "Concerto.pins.json: " in ended.err and not (tmp_path / "out.jsonl").exists(), ended
