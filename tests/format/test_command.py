"""`concerto fmt`: what it writes, prints and leaves alone, and its exit codes (O-9.10, O-9.17)."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from concerto.cli.main import main

UGLY = "fn main( ){ emit( 'ü' ,1 )}\n"
PRETTY = "fn main() { emit('ü', 1) }\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.conc"
    path.write_text(UGLY, "utf-8")
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_formats_in_place(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(file)]) == 0
    assert file.read_text("utf-8") == PRETTY
    assert capfd.readouterr() == ("", "")


def test_a_canonical_file_is_not_written(file: Path) -> None:
    main(["fmt", str(file)])
    os.utime(file, (1, 1))
    assert main(["fmt", str(file)]) == 0
    assert file.stat().st_mtime == 1


def test_check_lists_files_and_writes_nothing(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good.conc"
    good.write_text(PRETTY, "utf-8")
    assert main(["fmt", "--check", str(good), str(file)]) == 1
    assert capfd.readouterr().out == f"{file}\n"
    assert file.read_text("utf-8") == UGLY
    assert main(["fmt", "--check", str(good)]) == 0


def test_diff_is_unified_and_writes_nothing(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--diff", str(file)]) == 0
    assert capfd.readouterr().out == f"--- {file}\n+++ {file} (formatted)\n@@ -1 +1 @@\n-{UGLY}+{PRETTY}"
    assert file.read_text("utf-8") == UGLY
    assert main(["fmt", "--diff", "--check", str(file)]) == 1


def test_diff_tells_a_missing_line_end(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    stdin(monkeypatch, PRETTY.rstrip().encode())
    assert main(["fmt", "--diff", "-"]) == 0
    assert "\n\\ No newline at end of file\n" in capfd.readouterr().out


def test_stdin_goes_to_stdout(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    stdin(monkeypatch, UGLY.encode())
    assert main(["fmt", "-"]) == 0
    assert capfd.readouterr().out == PRETTY


@pytest.mark.parametrize("text", ["fn main( {\n", 'fn main() { "x }\n', "fn f() { 1 ] }\n"])
def test_a_file_with_syntax_errors_stays_untouched(file: Path, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = file.with_name("wrong.conc")
    wrong.write_text(text, "utf-8")
    assert main(["fmt", str(wrong), str(file)]) == 65
    assert wrong.read_text("utf-8") == text
    assert file.read_text("utf-8") == PRETTY, "the other files are formatted"
    assert "wrong.conc:1:" in capfd.readouterr().err


def test_an_error_outweighs_a_difference(file: Path) -> None:
    wrong = file.with_name("wrong.conc")
    wrong.write_bytes(b"\xff")
    assert main(["fmt", "--check", str(file), str(wrong)]) == 65


def test_a_program_that_only_the_checker_refuses_is_formatted(file: Path) -> None:
    file.write_text("fn main( ){ undefined( ) }", "utf-8")
    assert main(["fmt", str(file)]) == 0
    assert file.read_text("utf-8") == "fn main() { undefined() }\n"


def test_missing_files_and_images(tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(tmp_path / "none.conc")]) == 66
    image = tmp_path / "a.concb"
    assert main(["compile", str(file), "-o", str(image)]) == 0
    before = image.read_bytes()
    assert main(["fmt", str(image)]) == 2
    assert image.read_bytes() == before


def test_replacing_keeps_permissions_and_links(file: Path, tmp_path: Path) -> None:
    file.chmod(0o754)
    link = tmp_path / "link.conc"
    link.symlink_to(file)
    assert main(["fmt", str(link)]) == 0
    assert link.is_symlink() and file.read_text("utf-8") == PRETTY
    assert file.stat().st_mode & 0o777 == 0o754
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.conc", "link.conc"]


def test_a_failing_rename_leaves_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    assert main(["fmt", str(file)]) == 1  # 66 is for inputs (O-9.10)
    assert file.read_text("utf-8") == UGLY
    assert [path.name for path in file.parent.iterdir()] == ["a.conc"]


def test_windows_line_ends_and_the_byte_order_mark_go(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbffn main() {\r\n    emit("a", """x\r\n  y""")\r\n}\r\n')
    assert main(["fmt", str(file)]) == 0
    assert file.read_bytes() == b'fn main() {\n    emit("a", """x\n  y""")\n}\n'


def test_comments_are_kept_and_a_second_time_changes_nothing(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text("// one\nfn main( ){ // two\n/* three */ emit( 'a',1 ) // four\n}\n// five\n", "utf-8")
    assert main(["fmt", str(file)]) == 0
    text = file.read_text("utf-8")
    assert text == "// one\nfn main() { // two\n    /* three */ emit('a', 1) // four\n}\n// five\n"
    assert main(["fmt", "--check", str(file)]) == 0 and main(["fmt", str(file)]) == 0
    assert file.read_text("utf-8") == text
