"""A program with a library, imported from Python: what is kept holds while the library is the same (P-2.1.2, P-3.1)."""

from __future__ import annotations

import sys
from pathlib import Path

import concerto
import pytest
from concerto.api import compiled_files

from .installed import install

PROGRAM = "use lib::shapes::area;\npub fn twice(n: Int) -> Int { area(n) * 2 }\n"
LIBRARY = "pub fn area(n: Int) -> Int { n * n }\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "desk.conc").write_text(PROGRAM)
    return install(tmp_path / "site", "concerto-shapes", "1.2.0", "shapes = shapes_pkg", {"shapes_pkg/mod.conc": LIBRARY})


def twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bool]:
    """What the program gives of 3, and whether it was compiled."""
    compiled: list[str] = []
    real = compiled_files.compiled_file
    monkeypatch.setattr(compiled_files, "compiled_file", lambda path, asked: compiled.append(path) or real(path, asked))
    program = compiled_files.program_of_file(str(folder / "desk.conc"), "test")
    monkeypatch.setattr(compiled_files, "compiled_file", real)
    with program.session() as session:
        return session.call("twice", 3), bool(compiled)


def test_what_is_kept_holds_while_the_library_is_the_same(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert twice(tmp_path, monkeypatch) == (18, True)
    assert twice(tmp_path, monkeypatch) == (18, False)
    (site / "shapes_pkg" / "mod.conc").write_text(LIBRARY.replace("n * n", "n + n"))
    assert twice(tmp_path, monkeypatch) == (12, True)
    assert twice(tmp_path, monkeypatch) == (12, False)
    (site / "concerto_shapes-1.2.0.dist-info").rename(site / "concerto_shapes-1.3.0.dist-info")
    metadata = site / "concerto_shapes-1.3.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.2.0", "1.3.0"))
    assert twice(tmp_path, monkeypatch) == (12, True)
    for path in (site / "concerto_shapes-1.3.0.dist-info").iterdir():
        path.unlink()
    (site / "concerto_shapes-1.3.0.dist-info").rmdir()
    with pytest.raises(concerto.CompileError, match="there is no library `shapes`"):
        twice(tmp_path, monkeypatch)
