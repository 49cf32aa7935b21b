"""Functions of Python on the command line: modules beside the program, permissions, tests (P-1.5, P-1.6)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Command

SOURCE = """
extern python "prices_of_a_test" {
    fn price(article: String) -> Result<Int, HostError>;
    fn plain(n: Int) -> Int;
}
fn main() { println(price("lamp"), plain(1)); }
@test("mocked") fn mocked() { mock price { 3 } assert_eq(price("x"), Ok(3)); }
@test("neither") fn neither() { assert(price("x").is_err()); }
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "prices_of_a_test", raising=False)
    (tmp_path / "prices_of_a_test.py").write_text("def plain(n): return n + 1\ndef price(article): return len(article)\n")
    (tmp_path / "main.conc").write_text(SOURCE)


@pytest.mark.parametrize("flags", [["--allow-python=prices_of_a_test"], ["--allow-python"], ["--allow-all"]])
@pytest.mark.parametrize("offline", [[], ["--offline"]])
def test_modules_are_found_beside_the_program(cli: Command, program: None, flags: list[str], offline: list[str]) -> None:
    assert cli("run", *flags, *offline, "main.conc").out == "Ok(4) 2\n"


def test_the_manifest_grants(cli: Command, program: None, tmp_path: Path) -> None:
    (tmp_path / "Concerto.toml").write_text(
        '[project]\nname = "a"\nversion = "1"\nentry = "main.conc"\n[permissions]\npython = ["prices_of_a_test"]\n'
    )
    assert cli("run", "main.conc").out == "Ok(4) 2\n"
    (tmp_path / "main.conc").write_text(SOURCE.replace("prices_of_a_test", "prices_of"))
    assert "permission denied: python=prices_of" in cli("run", "main.conc").err


def test_without_the_permission_the_run_says_how_to_grant_it(cli: Command, program: None) -> None:
    ended = cli("run", "main.conc")
    assert "grant it with --allow-python=prices_of_a_test" in ended.err and "prices_of_a_test" not in sys.modules


def test_a_test_without_mock_and_permission_fails_with_the_words_to_write(cli: Command, program: None) -> None:
    ended = cli("test", "main.conc")
    assert "PASS  mocked" in ended.out
    assert "grant it with --allow-python=prices_of_a_test), or mock it in the test: mock price { … }" in ended.out


@pytest.mark.parametrize("words", ["--allow-python=a/b", "--allow-python=", "--allow-python=1a"])
def test_wrong_modules_are_refused(cli: Command, program: None, words: str) -> None:
    assert cli("run", words, "main.conc").code == 2


def test_inspect_shows_the_functions_and_the_wanted_permission(cli: Command, program: None) -> None:
    shown = cli("inspect", "main.conc").out
    assert "wanted_permissions: python=prices_of_a_test" in shown
    assert "    price: fn price(article: String) -> Result<Int, HostError>" in shown
    assert "prices_of_a_test" not in sys.modules  # nothing is imported when a program is compiled


MODULE = """
import asyncio
from collections.abc import Awaitable, AsyncIterator, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Optional

@dataclass
class Row:
    id: int

def price(article: str) -> int: ...
def wrong_argument(article: int) -> int: ...
def wrong_result(article: str) -> str: ...
def no_arguments() -> int: ...
def more_arguments(article: str, other: str) -> int: ...
def enough(article: str, other: str = "") -> int: ...
def any_number(*articles: str) -> "int": ...
async def later(n: float) -> int | None: ...
def rows(n: int) -> Iterator[dict[str, Any]]: ...
async def arows(n: int) -> AsyncIterator[Row]: ...
def texts(n: int) -> Iterator[str]: ...
def no_rows(n: int) -> int: ...
def listed(of: list[str]) -> dict[str, list[int]]: ...
def chosen(way: Literal["a", "b"]) -> Optional[bool]: ...
def unknown(x: "NoSuchName") -> int: ...
def anything(x: Any) -> Any: ...
def pair(n: int) -> tuple[int, ...]: ...
def written(n: int) -> bytearray | None: ...
def table(n: int) -> MappingProxyType[str, tuple[int, int]]: ...
class Odd(type):
    def __subclasscheck__(cls, other): raise RuntimeError
class Own(metaclass=Odd): ...
def own(x: Own) -> Own: ...
def bare(n: int) -> Awaitable: ...
NUMBER = 3
class Client:
    @staticmethod
    def get(url: str) -> bytes: ...
"""
FITTING = """
    fn price(article: String) -> Result<Int, HostError>;
    fn enough(article: String) -> Int;
    fn any_number(a: String, b: String) -> Int;
    async fn later(n: Int) -> Int?;
    fn rows(n: Int) -> Stream<Map<String, Any>>;
    fn arows(n: Int) -> Stream<Row>;
    fn listed(of: Array<String>) -> Map<String, Array<Int>>;
    fn chosen(way: "a" | "c") -> Option<Bool>;
    fn unknown(x: Int) -> Int;
    fn of_url(url: String) -> Bytes = "Client.get";
    fn anything(x: Int) -> Int;
    fn pair(n: Int) -> Array<Int>;
    fn written(n: Int) -> Bytes?;
    fn table(n: Int) -> Map<String, Array<Int>>;
    fn own(x: Int) -> Int;
    fn bare(n: Int) -> Int;
"""
MISFITS = {
    "fn price(article: Int) -> Int;": "W0409",
    "fn wrong_argument(article: String) -> Int;": "W0409",
    "fn wrong_result(article: String) -> Int;": "W0409",
    "fn wrong_result(article: String) -> Result<Int, HostError>;": "W0409",
    "fn price(article: String) -> Bool;": "W0409",
    "fn no_arguments(n: Int) -> Int;": "W0408",
    "fn more_arguments(article: String) -> Int;": "W0408",
    "fn absent() -> Int;": "W0407",
    "fn number() -> Int = \"NUMBER\";": "W0407",
    "fn texts(n: Int) -> Stream<Int>;": "W0409",
    "fn no_rows(n: Int) -> Stream<Int>;": "W0409",
    "fn pair(n: Int) -> Map<String, Int>;": "W0409",
    "fn listed(of: Array<Int>) -> Map<String, Array<Int>>;": "W0409",
    "fn listed(of: Array<String>) -> Map<String, Array<String>>;": "W0409",
}


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "typed_of_a_test", raising=False)
    (tmp_path / "typed_of_a_test.py").write_text(MODULE)
    return 'struct Row { pub id: Int }\nextern python "typed_of_a_test" {\n    BODY\n}\nfn main() {}\n'


def test_fitting_signatures_pass(cli: Command, typed: str, tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text(typed.replace("BODY", FITTING))
    ended = cli("check", "--python", "--deny-warnings", "main.conc")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("declared", MISFITS)
def test_misfits_are_warnings_at_the_declaration(cli: Command, typed: str, tmp_path: Path, declared: str) -> None:
    (tmp_path / "main.conc").write_text(typed.replace("BODY", declared))
    assert cli("check", "main.conc").err == "" and "typed_of_a_test" not in sys.modules
    ended = cli("check", "--python", "main.conc")
    assert ended.code == 0 and ended.err.startswith("main.conc:3:") and f"warning[{MISFITS[declared]}]" in ended.err


def test_a_module_that_cannot_be_imported_is_told(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text('extern python "no_such_module" { fn f(); }\nfn main() {}\n')
    assert "warning[W0407]" in cli("check", "--python", "main.conc").err
