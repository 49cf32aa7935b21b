"""Directories that end with a run, standard input as a path, what tests leave behind (L-7.3.8, O-8.25)."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import concerto
import pytest

SOURCE = """
use std::fs;
pub fn temporary() -> Result<Map<String, Any>, Error> {
    let folder = fs::temp_dir()?;
    fs::make_dir("${folder}/a/b")?;
    fs::write_bytes("${folder}/a/b/c", Bytes::from_hex("ff")?)?;
    let held = fs::read_bytes("${folder}/a/b/c")?.to_hex();
    let refused = fs::write_file("${folder}/../escaped", "x").is_err();
    Ok({ "folder": folder, "held": held, "names": fs::list_dir(folder)?, "refused": refused })
}
pub fn input() -> String { match fs::read_file("/dev/stdin") { Ok(s) => s, Err(e) => e.message } }
pub fn clear(p: String) -> Result<Nil, FsError> { fs::remove_dir(p, recursive: true) }
@test
fn writes() {
    assert_eq(fs::read_file("data.txt")?, "kept");
    fs::write_file("data.txt", "changed")?;
    fs::write_file("made.txt", "x")?;
    assert_eq(fs::list_dir(".")?.contains("made.txt"), true);
    assert_eq(fs::read_file("data.txt")?, "changed");
}
@test
fn removes() { fs::remove_file("data.txt")?; assert(!fs::exists("data.txt")); }
@test @expect_fail("a folder of its own")
fn elsewhere() { fs::write_file("OUTSIDE", "x")?; }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inner = tmp_path / "project"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return inner


def granted(**scopes: Any) -> concerto.Permissions:
    return concerto.Permissions(**scopes)


@pytest.mark.parametrize("then", ["", 'fs::write_file(folder, "x")?;'])
def test_a_temporary_directory_may_be_removed_before_the_session_ends(folder: Path, then: str) -> None:
    removes = "let folder = fs::temp_dir()?; fs::remove_dir(folder, recursive: true)?;"
    program = concerto.compile(f"use std::fs; pub fn removed() -> Result<String, Error> {{ {removes} {then} Ok(folder) }}")
    with program.session(permissions=granted(fs_write=True)) as session:
        made = session.call("removed")
    assert os.path.isfile(made) == bool(then)


def test_a_temporary_directory_ends_with_the_session(folder: Path) -> None:
    program = concerto.compile(SOURCE)
    with program.session(permissions=granted(fs_write=("out",))) as session:
        found = session.call("temporary")
        assert (found["held"], found["names"], found["refused"]) == ("ff", ["a"], True)
        assert os.path.isdir(found["folder"])
    assert os.listdir(folder.parent / "temporary") == [] and os.listdir(folder) == []
    with program.session() as session, pytest.raises(concerto.ProgramError, match="PermissionDenied"):
        session.call("temporary")


@pytest.mark.parametrize("is_known", [True, False], ids=["one that is gone", "none"])
def test_without_a_place_for_temporary_directories_there_is_an_err(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in …")

    if is_known:
        (folder.parent / "temporary").rmdir()
    else:
        monkeypatch.setattr(tempfile, "gettempdir", none)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(tempfile, "_get_default_tempdir", none)
    program = concerto.compile(SOURCE)
    with program.session(permissions=granted(fs_write=("out",))) as session:
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("temporary")
        assert str(raised.value) == "FsError::Io: no temporary directory can be made: no such file or directory"
    with program.session() as session, pytest.raises(concerto.ProgramError, match="PermissionDenied"):
        session.call("temporary")
    (test,) = program.test("elsewhere", permissions=granted(all=True)).tests
    assert test.failure is not None and "no temporary directory can be made" in test.failure


def test_standard_input_is_no_file(folder: Path) -> None:
    with concerto.compile(SOURCE).session(permissions=granted(all=True)) as session:
        assert "std::io::read_all()" in session.call("input")


def test_removing_a_directory_follows_no_link(folder: Path) -> None:
    precious = folder.parent / "precious"
    precious.mkdir()
    (precious / "a").write_text("a")
    (folder / "old").mkdir()
    (folder / "old" / "link").symlink_to(precious)
    (folder / "top").symlink_to(precious)
    with concerto.compile(SOURCE).session(permissions=granted(fs_write=(".",))) as session:
        session.call("clear", "old")
        with pytest.raises(concerto.ProgramError, match="not a directory"):
            session.call("clear", "top")
        with pytest.raises(concerto.ProgramError, match="granted directory itself"):
            session.call("clear", ".")
    assert (precious / "a").read_text() == "a" and not (folder / "old").exists()


def test_tests_change_no_file_of_the_project(folder: Path) -> None:
    (folder / "data.txt").write_text("kept")
    outside = folder.parent / "outside.txt"
    report = concerto.compile(SOURCE.replace("OUTSIDE", str(outside))).test(permissions=granted(all=True))
    assert [test.failure for test in report.tests] == [None, None, None]
    assert os.listdir(folder) == ["data.txt"] and (folder / "data.txt").read_text() == "kept"
    assert not outside.exists() and os.listdir(folder.parent / "temporary") == []


FAILS = """
use std::fs;
pub fn failures() -> Array<String> {
    fs::write_file("new", "x");
    fs::make_dir("d/e");
    fs::write_file("d/e/f", "x");
    let all = [fs::make_dir("old"), fs::make_dir("old/x"), fs::make_dir("new"), fs::make_dir("new/x/y"), fs::make_dir("d/e/f/g")];
    let listed = [fs::list_dir("old"), fs::list_dir("new"), fs::list_dir("d/e/f"), fs::list_dir("none")];
    all.map(|one| one.unwrap_err().message).concat(listed.map(|one| one.unwrap_err().message))
}
@test
fn fails_alike() { emit("failed", failures()); assert_eq(fs::read_file("old")?, "old"); }
"""


def test_what_fails_in_a_run_fails_alike_in_a_test(folder: Path) -> None:
    program = concerto.compile(FAILS)
    (folder / "old").write_text("old")
    report = program.test(permissions=granted(all=True))
    with program.session(permissions=granted(all=True)) as session:
        expected = session.call("failures")
    assert [test.failure for test in report.tests] == [None]
    assert [emit.payload for emit in report.tests[0].emits] == [expected]
