"""Run stores that somebody has changed: bytes of the file, columns, rows of a journal, with seals that fit and without, images
(G-12.10, G-13.10, G-13.6). Opened, listed, shown and gone on with, one is refused by name, or is fine; never an error of the host
language."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sqlite3
import tempfile
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from concerto.cli.main import main
from concerto.runtime.journal.run_store import FORMAT, _begins, _sealed
from concerto.vm.bytecode.encoding import content_hash

from .campaign import Campaign, Figures
from .campaign_stores import HOSTILE, of_bytes
from .mutation import change_structure, mutate

PROGRAM = """
use std::math;
use std::time;

channel approve: String -> Bool;
memory log: Memory = Memory::new().window(6);
model M { provider: offline }
schema Plan { title: String, steps: Array<Int> }
tool Shelf {
    description: "A shelf"
    n: Int = 0
    /// puts a thing on it
    pub fn put(
        mut self,
        /// the thing
        thing: String,
    ) -> String { self.n += 1; "${thing} ${self.n}" }
}

fn ask(what: String) -> String { match M.execute(what) { Ok(r) => r.text, Err(e) => e.message } }

fn main() {
    println("begin ${math::random_int(1, 6) > 0} ${time::now()}");
    let all = await (ask("a"), ask("b"));
    emit("all", all.0 + all.1);
    emit("first", await race(ask("c"), ask("d")));
    for i in 0..2 { emit("turn", M.with_memory(log).execute("turn ${i}")?.text); }
    log.remember("fact", "value");
    match M.execute_with_schema<Plan>("plan") { Ok(plan) => emit("plan", plan), Err(e) => emit("plan", e.message) }
    for chunk in M.stream("a stream of words")? { emit("piece", chunk.text); }
    emit("file", std::fs::read_file("no such file").is_ok());
    time::sleep(5);
    let yes = approve("go on?")?;
    emit("yes", yes);
    emit("after", ask("after"));
}
"""
FINE = (0, 1, 2, 66, 74, 75, 77)
LIMITS = ("--max-steps", "300000", "--max-seconds", "10", "--no-code-cache")
COLUMNS = {
    "meta": ("name", "value"),
    "images": ("hash", "content"),
    "runs": (
        "id", "header", "options", "image", "state", "epoch", "owner", "lease", "created", "changed", "rows", "emits", "told",
        "waits", "outcome",
    ),
    "rows": ("run", "n", "body", "seal"),
    "answers": ("run", "key", "form", "given"),
}  # fmt: skip


def command(*words: str) -> tuple[int, str]:
    """The exit code and what stands on stderr. What is no exit of the command is raised."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(list(words))
    return code, errors.getvalue()


def whole(folder: Path) -> tuple[bytes, str, str]:
    """The bytes of a store with a run that waits, its id, and the key of what it waits for, which has its answer."""
    (folder / "p.conc").write_text(PROGRAM)
    path = str(folder / "whole.db")
    code, said = command("run", str(folder / "p.conc"), "--offline", "--store", path, "--allow-fs", "--no-code-cache")
    assert code == 75, said
    run = said.split()[1]
    key = said.splitlines()[2].split()[0]
    assert command("runs", "answer", run, key, "true", "--store", path)[0] == 0
    return Path(path).read_bytes(), run, key


class Rows:
    """The tables of a store that is about to be changed."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.file = sqlite3.connect(path, isolation_level=None)
        self.rng = rng
        columns = self.file.execute("SELECT id, header, options, image FROM runs").fetchone()
        self.run, self.header, self.options, self.image = columns
        self.bodies = [body for (body,) in self.file.execute("SELECT body FROM rows ORDER BY n")]

    def seal(self) -> None:
        """Write the rows anew, with seals that fit."""
        self.file.execute("DELETE FROM rows")
        seal = _begins(self.header, self.options)
        for n, body in enumerate(self.bodies):
            seal = _sealed(seal, body)
            self.file.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", (self.run, n, body, seal))
        values = (len(self.bodies), self.header, self.options, self.image)
        self.file.execute("UPDATE runs SET rows = ?, header = ?, options = ?, image = ?", values)

    def changed(self, text: str) -> str:
        value = [json.loads(text)]
        for _ in range(self.rng.choice((1, 1, 2))):
            change_structure(value, self.rng, 0)
        return json.dumps(value[0], default=repr)


def of_columns(path: Path, rng: random.Random) -> str:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        said = []
        for _ in range(rng.choice((1, 1, 2))):
            table = rng.choice(("meta", "images", "runs", "runs", "runs", "rows", "rows", "answers"))
            column, value = rng.choice(COLUMNS[table]), rng.choice(HOSTILE)
            statement = f"UPDATE OR REPLACE {table} SET {column} = ?"
            if rng.random() < 0.1:
                statement, value = f"DELETE FROM {table}", None
            elif table == "rows" and rng.random() < 0.8:
                statement += f" WHERE n = {rng.randrange(20)}"
            said.append(f"{statement} {value!r:.60}")
            with contextlib.suppress(sqlite3.Error, OverflowError):
                file.execute(statement, (value,) if "?" in statement else ())
    return "; ".join(said)


def of_texts(path: Path, rng: random.Random) -> str:
    """JSON of the run changed in its structure, seals as they were."""
    rows = Rows(path, rng)
    with closing(rows.file):
        table, column = rng.choice((*(("runs", name) for name in ("header", "options", "waits", "outcome")), ("answers", "form")))
        (text,) = rows.file.execute(f"SELECT {column} FROM {table}").fetchone()
        new = rows.changed(text if text is not None else '{"end":"ok","message":"","code":"","value":null,"t":0.0}')
        rows.file.execute(f"UPDATE {table} SET {column} = ?", (new,))
        if column == "outcome":
            rows.file.execute("UPDATE runs SET state = 'done'")
        if column in ("header", "options") and rng.random() < 0.7:
            setattr(rows, column, new)
            rows.seal()
    return f"{table}.{column} = {new:.200}"


def of_journals(path: Path, rng: random.Random) -> str:
    """Rows changed, left out, doubled and exchanged, all of them sealed anew."""
    rows = Rows(path, rng)
    with closing(rows.file):
        at, kind = rng.randrange(len(rows.bodies)), rng.randrange(10)
        if kind == 0:
            del rows.bodies[at : at + rng.choice((1, 1, 2, 99))]
        elif kind == 1:
            rows.bodies.insert(rng.randrange(len(rows.bodies)), rows.bodies[at])
        elif kind == 2:
            other = rng.randrange(len(rows.bodies))
            rows.bodies[at], rows.bodies[other] = rows.bodies[other], rows.bodies[at]
        elif kind == 3:
            rows.bodies[at] = rng.choice(("", "{", "[]", "{}", "null", "[" * 5_000, '{"end":"ok"}', "\0", '{"effect":' * 3_000))
        else:
            rows.bodies[at] = rows.changed(rows.bodies[at])
        rows.seal()
        return f"rows, kind {kind} at {at}: {rows.bodies[at % max(1, len(rows.bodies))] if rows.bodies else '':.300}"


def of_images(path: Path, rng: random.Random) -> str:
    rows = Rows(path, rng)
    with closing(rows.file):
        (image,) = rows.file.execute("SELECT content FROM images").fetchone()
        image, named = mutate(image, rng), rng.random() < 0.8
        rows.file.execute("UPDATE images SET content = ?", (image,))
        if named:
            rows.image = content_hash(image)
            rows.header = json.dumps({**json.loads(rows.header), "image": rows.image})
            rows.file.execute("UPDATE images SET hash = ?", (rows.image,))
            rows.seal()
    return f"image, {'by its hash' if named else 'by the one before'}"


def cases(seed: int, count: int, change: Any) -> Figures:
    found: Counter[str] = Counter()
    before = os.environ.get("CONCERTO_TRACEBACK")
    os.environ["CONCERTO_TRACEBACK"] = "1"
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data, run, key = whole(folder)
            path = folder / "runs.db"
            for case in range(count):
                path.write_bytes(data)
                what = change(path, random.Random(f"{seed}-{case}"))
                found[used(str(path), run, key, f"case {case} of seed {seed}: {what}")] += 1
                for left in folder.glob("runs.db*"):
                    left.unlink()
    finally:
        os.environ.pop("CONCERTO_TRACEBACK")
        if before is not None:
            os.environ["CONCERTO_TRACEBACK"] = before
    return found


def used(path: str, run: str, key: str, where: str) -> str:
    """How `resume` ends behind `runs` and `runs show`."""
    for words in (("runs", "--json"), ("runs",), ("runs", "show", run), ("resume", run, *LIMITS), ("runs", "cancel", run)):
        try:
            code, said = command(*words, "--store", path)
        except Exception:
            raise AssertionError(f"{where}: {' '.join(words)}: {traceback.format_exc()}") from None
        assert code in FINE and (code in (0, 75) or said.strip()), f"{where}: {' '.join(words)}: {code} {said}"
        if words[0] == "resume":
            ends = {0: "ended", 75: "waits on", 74: "refused"}.get(code, "failed")
    return ends


def campaign(name: str, small: int, soak: int, change: Any) -> Campaign:
    return Campaign(name, "G-12.10, G-13.6", small, soak, lambda seed, count: cases(seed, count, change))


assert FORMAT == "concerto-runs/1"  # the columns above are those of this format
CAMPAIGNS = [
    campaign("bytes of run stores", 40, 2_000, of_bytes),
    campaign("columns of run stores", 40, 3_000, of_columns),
    campaign("texts of stored runs", 25, 1_500, of_texts),
    campaign("rows of stored runs", 20, 2_500, of_journals),
    campaign("images of stored runs", 15, 1_000, of_images),
]
