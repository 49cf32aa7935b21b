"""language.md L-11.1.1 and guarantees.md G-5.1: the tables."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from concerto.compiler.diagnostics import CODES, STAGES
from concerto.compiler.generated import parser_tables
from concerto.compiler.syntax import grammar, lr_machine, semantic_actions

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def gen_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_tables", ROOT / "tools" / "gen_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_grammar_has_its_size() -> None:
    assert (len(grammar.PRODUCTIONS), len(grammar.TERMINALS)) == (370, 129)


def test_every_terminal_is_used() -> None:
    used = {word for production in grammar.PRODUCTIONS for word in production.text.split()}
    assert set(grammar.TERMINALS) <= used


@pytest.fixture(scope="module")
def built(gen_tables: ModuleType) -> tuple[Any, list[str]]:
    parser, complaints = gen_tables.build()
    return parser, complaints


def test_no_conflicts_and_tables_up_to_date(gen_tables: ModuleType, built: tuple[Any, list[str]]) -> None:
    parser, complaints = built
    assert complaints == []
    assert gen_tables.text(parser) == gen_tables.TARGET.read_text(encoding="utf-8")


def test_a_conflict_is_reported(gen_tables: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gen_tables.MODULE, "precedence", grammar.PRECEDENCE[:-1] + (("nonassoc", "UNUSED"),))
    with pytest.raises(Exception, match="Unable to build"):
        gen_tables.build()
    without_plus = tuple(row for row in grammar.PRECEDENCE if "PLUS" not in row)
    monkeypatch.setattr(gen_tables.MODULE, "precedence", without_plus)
    assert any("conflict" in line for line in gen_tables.build()[1])


def test_check_mode_fails_on_stale_tables(
    gen_tables: ModuleType,
    built: tuple[Any, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(gen_tables, "build", lambda: built)
    monkeypatch.setattr(gen_tables, "TARGET", tmp_path / "parser_tables.py")
    monkeypatch.setattr(sys, "argv", ["gen_tables.py", "--check"])
    assert gen_tables.main() == 1 and "stale" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["gen_tables.py"])
    assert gen_tables.main() == 0
    monkeypatch.setattr(sys, "argv", ["gen_tables.py", "--check"])
    assert gen_tables.main() == 0


def test_stale_tables_are_rebuilt_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parser_tables, "_lr_signature", "stale")
    monkeypatch.setattr(parser_tables, "_lr_action", {})
    rebuilt = lr_machine.load.__wrapped__()
    assert len(rebuilt.actions) == len(lr_machine.load().actions)
    assert list(tmp_path.iterdir()) == []


def test_sets_and_suffixes_expand() -> None:
    family = semantic_actions.Family()
    family.rule("a : {B C} d {E F}")(lambda p: None)
    assert [r.production for r in family.rules] == ["a : B d E", "a : B d F", "a : C d E", "a : C d F"]


def test_the_table_of_codes() -> None:
    assert all(row.code == code and row.stage in STAGES and row.title for code, row in CODES.items())
    assert len(CODES) == len({row.title for row in CODES.values()}) == 199
