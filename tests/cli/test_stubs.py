"""`concerto stubs` (P-2.3)."""

from __future__ import annotations

from pathlib import Path

SOURCE = "/// Doc.\npub fn add(a: Int, b: Int = 3) -> Int { a + b }\n"


def test_a_stub_is_written_beside_the_source(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sums.conc").write_text(SOURCE)
    assert cli("stubs", "sums.conc") == (0, "", "")
    text = Path("sums.pyi").read_text()
    assert 'def add(a: int, b: int = ...) -> int:\n    """Doc."""\n' in text
    assert cli("stubs", "sums.conc", "-o", "-") == (0, text, "")
    assert cli("stubs", "sums.conc", "-o", "other.pyi") == (0, "", "") and Path("other.pyi").read_text() == text
    assert cli("stubs", "sums.conc", "--check") == (0, "", "")
    Path("sums.pyi").write_bytes(text.replace("\n", "\r\n").encode())
    assert cli("stubs", "sums.conc", "--check") == (0, "", "")


def test_a_stub_that_is_stale_or_missing(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sums.conc").write_text(SOURCE)
    way = "`concerto stubs sums.conc -o sums.pyi`\n"
    assert cli("stubs", "sums.conc", "--check") == (1, "", f"sums.pyi is not there; write it: {way}")
    assert not Path("sums.pyi").exists()
    cli("stubs", "sums.conc")
    Path("sums.conc").write_text(SOURCE.replace("b: Int = 3", "b: Int"))
    before = Path("sums.pyi").read_bytes()
    assert cli("stubs", "sums.conc", "--check")[0::2] == (1, f"sums.pyi is stale; write it again: {way}")
    assert Path("sums.pyi").read_bytes() == before


def test_a_package_and_standard_input(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop").mkdir()
    Path("shop/mod.conc").write_text("mod prices;\npub fn total() -> Int { prices::price() }\n")
    Path("shop/prices.conc").write_text("pub fn price() -> Int { 1 }\n")
    assert cli("stubs", "shop/mod.conc") == (0, "", "")
    text = Path("shop/__init__.pyi").read_text()
    assert "def prices_price() -> int: ..." in text and "def total() -> int: ..." in text
    code, out, err = cli("stubs", "-", stdin=SOURCE.encode())
    assert (code, err) == (0, "") and "def add(" in out


def test_what_cannot_be_done(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sums.conc").write_text(SOURCE)
    Path("broken.conc").write_text("pub fn f() -> Int { x }")
    assert cli("stubs", "sums.conc", "-o", "sums.conc") == (2, "", "sums.conc is no name of a stub, which ends in .pyi\n")
    assert Path("sums.conc").read_text() == SOURCE
    assert cli("stubs", "sums.conc", "-o", "-", "--check")[::2] == (2, "--check compares with a file: name it with -o\n")
    code, out, err = cli("stubs", "broken.conc")
    assert (code, out) == (65, "") and "broken.conc:1:21: error[E1001]" in err and not Path("broken.pyi").exists()
    assert cli("stubs", "nowhere.conc")[::2] == (66, "cannot read nowhere.conc: No such file or directory\n")
    code, out, err = cli("stubs", "sums.conc", "-o", "nowhere/sums.pyi")
    assert (code, err) == (1, "cannot write nowhere/sums.pyi: No such file or directory\n")
    Path("folder.pyi").mkdir()
    assert cli("stubs", "sums.conc", "-o", "folder.pyi")[0] == 1
    assert cli("stubs", "sums.conc", "-o", "folder.pyi", "--check")[::2] == (66, "cannot read folder.pyi: Is a directory\n")
    cli("compile", "sums.conc")
    assert cli("stubs", "sums.concb")[::2] == (2, "sums.concb is an image, not a source\n")
