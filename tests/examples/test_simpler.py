"""Each pair of programs in `docs/guide/simpler.md` prints the same, and has as many lines as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import concerto
import pytest

from ..command import concerto as command

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "guide" / "simpler.md").read_text(encoding="utf-8")
PAIRS = re.findall(
    r"^Before, (\d+) lines:\n\n```concerto\n(.*?)```\n\nAfter, (\d+) lines:\n\n```concerto\n(.*?)```",
    TEXT,
    re.DOTALL | re.MULTILINE,
)


def lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def printed(block: str) -> list[tuple[str, str]]:
    with concerto.compile(block).session(offline=True) as session:
        return [(emit.channel, str(emit.payload)) for emit in session.run().emits]


@pytest.mark.parametrize(("long", "before", "short", "after"), PAIRS, ids=range(1, len(PAIRS) + 1))
def test_both_print_the_same_in_as_many_lines_as_said(long: str, before: str, short: str, after: str) -> None:
    assert (lines(before), lines(after)) == (int(long), int(short))
    assert printed(before) == printed(after) != []


def test_the_layout_is_canonical(tmp_path: Path) -> None:
    for number, (_, before, _, after) in enumerate(PAIRS, 1):
        (tmp_path / f"{number}_before.conc").write_text(before, encoding="utf-8")
        (tmp_path / f"{number}_after.conc").write_text(after, encoding="utf-8")
    assert command("fmt", "--check", *sorted(tmp_path.iterdir()), cwd=tmp_path) == (0, "", "")


def test_the_sums() -> None:
    assert len(PAIRS) == 8
    before, after = (sum(int(pair[at]) for pair in PAIRS) for at in (0, 2))
    assert f"The eight programs have {before} lines before and {after} after." in TEXT
    for name in ("desk", "large"):
        now = sum(lines(path.read_text(encoding="utf-8")) for path in (ROOT / "examples" / name).rglob("*.conc"))
        assert re.search(rf"`examples/{name}/` \| [\d,]+ \| {now:,} \|", TEXT)
