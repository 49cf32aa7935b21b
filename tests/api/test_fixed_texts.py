"""What a program gives does not depend on the process that runs it (G-14.6): seeds of hashes, locale, zone, folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = """
struct P { b: Int, a: Float }
enum E { One, Two(Int) }
hashmap held: HashMap<String, Int> = HashMap::new();
model M { provider: offline, base: "m" }
fn named(n: Int) -> Int { n }
fn main() {
    let mut words: Map<String, Int> = {};
    for word in "the quick brown fox jumps over the lazy dog and runs".split(" ") {
        words[word] = (words.get(word) ?? 0) + 1;
        held.set(word, 1);
    }
    emit("order", [words, held.keys(), Set::from(["z", "a", "m", "a"]), std::json::parse("{\\"z\\":1,\\"a\\":2}")]);
    emit("digits", [0.1 + 0.2, 1.0e21, 1.0e-7, 100.0, 5.0e-324, 1234567.891]);
    let mut rows = [("b", 1), ("a", 2), ("b", 0), ("a", 1), ("ä", 3), ("Z", 4)];
    rows.sort_by(|x, y| if x.0 < y.0 { -1 } else if x.0 > y.0 { 1 } else { 0 });
    emit("sorted", rows);
    emit("case", ["ıİißß".to_uppercase(), "ÀÉI".to_lowercase(), std::fmt::number(1234567.891, 2, ",")]);
    emit("random", [std::math::random_int(0, 1000000), std::math::random_int(0, 1000000)]);
    let n = 1;
    emit("shown", "${named} ${|x: Int| x + n} ${M} ${held} ${P { b: 1, a: 2.0 }} ${E::Two(3)} ${Some(named)} ${words.entries()}");
    emit("date", std::date::from_ms(0).unwrap());
    emit("failed", [std::json::parse("{").unwrap_err().message, std::fs::read_file("/etc/hostname").unwrap_err().message]);
    let xs = [1];
    emit("never", xs[n + 7]);
}
"""
RUN = """
import json, sys, concerto
result = concerto.compile(path=sys.argv[1]).session(seed=7, env={}).run()
print(json.dumps([[emit.channel, repr(emit.payload)] for emit in result.emits]), repr(str(result.error)), result.exit_code)
"""
PLACES = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"},
    {"PYTHONHASHSEED": "4294967295", "LC_ALL": "de_DE.UTF-8", "TZ": "America/New_York", "PYTHONUTF8": "1"},
    {"PYTHONHASHSEED": "random"},
]


def test_a_run_gives_the_same_in_every_process(tmp_path: Path) -> None:
    told = []
    for number, place in enumerate(PLACES):
        folder = tmp_path / f"folder-{number}"
        folder.mkdir()
        (folder / "main.conc").write_text(PROGRAM, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", RUN, "main.conc"], cwd=folder, capture_output=True, text=True, env={**os.environ, **place},
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert len(set(told)) == 1, told
    assert "P004" in told[0] and '"order"' in told[0] and '"failed"' in told[0]
    assert not re.search(r"0x[0-9a-f]{4}", told[0]) and str(tmp_path) not in told[0] and sys.prefix not in told[0]


def test_the_seed_of_hashes_stays_random() -> None:
    """Nothing here sets it: who can guess it makes tables slow."""
    code = "import sys, concerto; print(sys.flags.hash_randomization)"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120, check=True)
    assert done.stdout.strip() == "1"
