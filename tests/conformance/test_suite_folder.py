"""The folder of the suite, areas and levels (C-2.2, C-6.1)."""

from __future__ import annotations

import re

from conformance import suite

ROOT = suite.ROOT.parent
HANDLES = re.compile(r"^\s*(?:pub )?(?:agent|connect|hashmap|ledger|memory|model|tool) [A-Za-z]", re.MULTILINE)


def test_levels_and_areas_are_those_of_the_specification() -> None:
    text = (ROOT / "docs" / "spec" / "conformance.md").read_text(encoding="utf-8")
    section = text.partition("**C-6.1**")[2].partition("**C-6.2**")[0]
    rows = re.findall(r"^\| (\d) \| .+ \| (.+) \|$", section, re.MULTILINE)
    assert {level: areas.split(", ") for level, areas in rows} == suite.suite()["levels"]


def test_every_program_lies_in_an_area_and_is_named_in_words() -> None:
    areas = {area for listed in suite.suite()["levels"].values() for area in listed}
    paths = [path.relative_to(suite.TESTS) for path in suite.TESTS.rglob("*.conc") if "_files" not in path.parts]
    assert len(paths) > 1000
    assert {path.parts[0] for path in paths} <= areas
    assert [path for path in paths if not re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*\.conc", path.as_posix())] == []


def test_programs_are_of_the_levels() -> None:
    """One that runs is at least of the level of its area, and of 4 if it declares what only level 4 has; others are of 0."""
    programs, errors = suite.load()
    assert errors == []
    least = {area: int(level) for level, areas in suite.suite()["levels"].items() for area in areas}
    for program in programs:
        if program.operation == "check" or (program.rejects and program.operation != "load"):
            assert program.level == 0, program.ident
            continue
        declares = any(HANDLES.search(re.sub("//.*", "", text)) for text in program.files.values())
        assert program.level >= max(1, least[program.ident.split("/")[0]], 4 * declares), program.ident
        assert str(program.level) in suite.suite()["levels"], program.ident
