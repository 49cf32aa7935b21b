"""Paths under granted roots: what they reach and what they never do (G-8.2, O-4.13, O-4.14)."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.cli.run import run_session
from concerto.compiler.pipeline import compile_source
from concerto.runtime.access import files
from concerto.runtime.access.files import OPERATIONS, Failed, Outside, walk
from concerto.runtime.access.roots import Roots
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_image


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "in" / "sub" / "b.txt").write_text("b")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("secret")
    return tmp_path


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def perform(roots: Roots, operation: str, path: str, *arguments: str) -> object:
    """The result, or `Outside` for what no root allows."""
    function, follow = OPERATIONS[operation]
    for root, components in roots.find(path):
        with contextlib.suppress(Outside), walk(root, components, follow=follow) as spot:
            return function(spot, *arguments)
    return Outside


def read(roots: Roots, path: str) -> object:
    return perform(roots, "read_file", path)


def test_below_a_root(tree: Path) -> None:
    roots = Roots(str(tree), ["in"])
    assert read(roots, "in/a.txt") == "a" and read(roots, "in/sub/b.txt") == "b"
    assert read(roots, "./in//sub/../sub/./b.txt") == "b" and read(roots, str(tree / "in" / "a.txt")) == "a"
    assert perform(roots, "list_dir", "in") == ["a.txt", "sub"] and perform(roots, "exists", "in") is True


OUTSIDE = [
    "out/secret", "in/../out/secret", "../x", "/etc/passwd", "in/../../etc/passwd", "", ".", "in/..", "/", "//etc/passwd",
    "inn", "in.txt", "in/sub/../../out/secret", "%2e%2e/out/secret", "~/x",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("operation", ["read_file", "exists", "list_dir", "file_size", "remove_file"])
def test_outside_of_every_root(tree: Path, operation: str, path: str) -> None:
    assert perform(Roots(str(tree), ["in"]), operation, path) is Outside
    assert (tree / "out" / "secret").exists()


LINKS = [
    ("../out/secret", Outside), ("/etc/passwd", Outside), ("../out", Outside), ("..", Outside), ("a.txt", "a"),
    ("sub/b.txt", "b"), ("sub/../a.txt", "a"), ("./sub/./b.txt", "b"), ("sub/../../in/a.txt", Outside),
]  # fmt: skip


@pytest.mark.parametrize(("target", "expected"), LINKS)
def test_links_are_followed_inside_only(tree: Path, target: str, expected: object) -> None:
    os.symlink(target, tree / "in" / "link")
    assert read(Roots(str(tree), ["in"]), "in/link") == expected


def test_links_in_the_middle_and_absolute_ones(tree: Path) -> None:
    os.symlink(tree / "in" / "sub", tree / "in" / "own")
    os.symlink("../../out", tree / "in" / "sub" / "away")
    roots = Roots(str(tree), ["in"])
    assert read(roots, "in/own/b.txt") == "b"
    assert read(roots, "in/sub/away/secret") is Outside and read(roots, "in/own/away/secret") is Outside


def test_a_root_reached_through_a_link(tree: Path) -> None:
    os.symlink("in", tree / "alias")
    assert read(Roots(str(tree), ["in"]), "alias/a.txt") == "a", "the path ends in the root"
    assert read(Roots(str(tree), ["alias"]), "alias/a.txt") == "a"
    assert read(Roots(str(tree), ["alias"]), "in/a.txt") == "a", "the grant is of what the link names"


def test_a_path_that_leads_out_of_one_root_may_lie_in_another(tree: Path) -> None:
    """Grants are a union, in either order (G-8.9)."""
    os.symlink("../out", tree / "in" / "away")
    os.symlink("../out/secret", tree / "in" / "one")
    for granted in (["in", "out"], ["out", "in"], ["in", "in/away"], ["in/away", "in"]):
        assert read(Roots(str(tree), granted), "in/away/secret") == "secret", granted
    for granted in (["in", "in/one"], ["in/one", "in"]):
        assert read(Roots(str(tree), granted), "in/one") == "secret", granted
        assert read(Roots(str(tree), granted), "in/away/x") is Outside, granted


def test_a_walk_has_few_descriptors(tree: Path, few_descriptors: None) -> None:
    """However many components a path or the target of a link has, and however far a link leads up again."""
    deep = "/".join(["d"] * 500)
    os.makedirs(tree / "in" / deep)
    (tree / "in" / deep / "a.txt").write_text("deep")
    os.symlink("../" * 500 + "a.txt", tree / "in" / deep / "up")
    os.symlink("../" * 501 + "out/secret", tree / "in" / deep / "away")
    os.symlink(tree / "in" / deep, tree / "in" / "down")
    os.symlink(tree / "in" / "a.txt", tree / "in" / deep / "top")
    roots = Roots(str(tree), ["in"])
    assert read(roots, f"in/{deep}/a.txt") == "deep" and read(roots, "in/down/a.txt") == "deep"
    assert read(roots, f"in/{deep}/up") == "a" and read(roots, f"in/{deep}/top") == "a"
    assert read(roots, f"in/{deep}/away") is Outside


def test_making_follows_no_way_up(tree: Path) -> None:
    os.symlink("none/../../out", tree / "in" / "link")
    roots = Roots(str(tree), ["in", "new/deep"])
    for path in ("in/link/x", "new/deep/x"):
        for root, components in roots.find(path):
            with pytest.raises(FileNotFoundError):
                walk(root, components, make=True)
    assert sorted(os.listdir(tree)) == ["in", "out"] and sorted(os.listdir(tree / "in")) == ["a.txt", "link", "sub"]
    (tree / "new").mkdir()
    assert perform(roots, "make_dir", "new/deep") is None and os.listdir(tree / "new") == ["deep"]


def test_a_circle_of_links_ends(tree: Path) -> None:
    os.symlink("y", tree / "in" / "x")
    os.symlink("x", tree / "in" / "y")
    with pytest.raises(OSError, match="symbolic"):
        read(Roots(str(tree), ["in"]), "in/x")


def test_a_root_stays_what_it_was_when_it_was_opened(tree: Path) -> None:
    roots = Roots(str(tree), ["in"])
    (tree / "in").rename(tree / "moved")
    os.symlink("out", tree / "in")
    assert perform(roots, "exists", "in/secret") is False and read(roots, "in/a.txt") == "a"


def test_a_link_that_appears_on_the_way_is_not_followed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The moment between the look at a name and its opening: the name becomes a link out of the root."""
    real = os.readlink

    def readlink(path: str, *, dir_fd: int) -> str:
        try:
            return real(path, dir_fd=dir_fd)
        finally:
            if path == "sub":
                (tree / "in" / "sub").rename(tree / "in" / "gone")
                os.symlink("../out", tree / "in" / "sub")

    monkeypatch.setattr(os, "readlink", readlink)
    with pytest.raises(OSError, match="directory|symbolic"):
        read(Roots(str(tree), ["in"]), "in/sub/secret")


def test_a_last_name_that_becomes_a_link_is_not_opened(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.readlink

    def readlink(path: str, *, dir_fd: int) -> str:
        try:
            return real(path, dir_fd=dir_fd)
        finally:
            if path == "a.txt":
                (tree / "in" / "a.txt").unlink()
                os.symlink("../out/secret", tree / "in" / "a.txt")

    monkeypatch.setattr(os, "readlink", readlink)
    with pytest.raises(OSError, match="symbolic"):
        read(Roots(str(tree), ["in"]), "in/a.txt")


def test_a_file_as_root(tree: Path) -> None:
    roots = Roots(str(tree), ["in/a.txt", "new/deep.txt"])
    assert read(roots, "in/a.txt") == "a"
    assert [read(roots, path) for path in ("in", "in/sub/b.txt", "in/a.txt.bak", "new/other.txt")] == [Outside] * 4
    (tree / "new").mkdir()
    assert perform(roots, "write_file", "new/deep.txt", "made") is None
    assert (tree / "new" / "deep.txt").read_text() == "made"


def test_writing_replaces_the_file(tree: Path) -> None:
    roots = Roots(str(tree), ["in"])
    (tree / "in" / "a.txt").chmod(0o640)
    with open(tree / "in" / "a.txt") as held:
        perform(roots, "write_file", "in/a.txt", "längst")
        assert held.read() == "a", "who had it open reads the old one"
    assert (tree / "in" / "a.txt").read_bytes() == "längst".encode()
    assert (tree / "in" / "a.txt").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tree / "in")) == ["a.txt", "sub"], "nothing is left behind"


@pytest.mark.parametrize("name", ["日" * 85, "a" * 255, "é" * 127])
def test_a_file_whose_name_is_as_long_as_a_name_can_be(tree: Path, name: str) -> None:
    perform(Roots(str(tree), ["in"]), "write_file", f"in/{name}", "x")
    assert (tree / "in" / name).read_text() == "x"


def test_a_write_that_fails_leaves_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="space"):
        perform(Roots(str(tree), ["in"]), "write_file", "in/a.txt", "b")
    assert (tree / "in" / "a.txt").read_text() == "a" and sorted(os.listdir(tree / "in")) == ["a.txt", "sub"]


def test_writing_through_a_link_writes_its_target_and_removing_removes_the_link(tree: Path) -> None:
    os.symlink("a.txt", tree / "in" / "link")
    os.symlink("../out/secret", tree / "in" / "away")
    roots = Roots(str(tree), ["in"])
    perform(roots, "write_file", "in/link", "b")
    perform(roots, "append_file", "in/link", "c")
    assert (tree / "in" / "link").is_symlink() and (tree / "in" / "a.txt").read_text() == "bc"
    assert perform(roots, "write_file", "in/away", "x") is Outside and perform(roots, "append_file", "in/away", "x") is Outside
    perform(roots, "remove_file", "in/away")
    perform(roots, "remove_file", "in/link")
    assert sorted(os.listdir(tree / "in")) == ["a.txt", "sub"] and (tree / "out" / "secret").read_text() == "secret"


def test_only_regular_files_and_directories(tree: Path) -> None:
    os.mkfifo(tree / "in" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "in" / "socket"))
        roots = Roots(str(tree), ["in"])
        for name in ("pipe", "socket"):
            assert perform(roots, "exists", f"in/{name}") is False
            for operation, *arguments in (("read_file",), ("write_file", "x"), ("append_file", "x"), ("file_size",)):
                with pytest.raises(Failed) as caught:
                    perform(roots, operation, f"in/{name}", *arguments)
                assert caught.value.variant == "NotAFile", (name, operation)


FAILURES = [
    (("read_file", "in"), "NotAFile"), (("write_file", "in/sub", "x"), "NotAFile"), (("remove_file", "in/sub"), "NotAFile"),
    (("file_size", "in"), "NotAFile"), (("list_dir", "in/a.txt"), "Io"), (("read_file", "in/bad"), "InvalidUtf8"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "variant"), FAILURES)
def test_failures(tree: Path, call: tuple[str, ...], variant: str) -> None:
    (tree / "in" / "bad").write_bytes(b"a\xff")
    with pytest.raises(Failed) as caught:
        perform(Roots(str(tree), ["in"]), *call)
    assert caught.value.variant == variant


def test_names_that_are_no_text(tree: Path) -> None:
    (tree / "in" / "sub" / os.fsdecode(b"x\xff")).write_text("")
    assert perform(Roots(str(tree), ["in"]), "list_dir", "in/sub") == ["b.txt", "x\ufffd"]


def test_a_file_larger_than_a_string(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concerto.runtime.access.files.limits.string", 3)
    (tree / "in" / "a.txt").write_text("123")
    assert read(Roots(str(tree), ["in"]), "in/a.txt") == "123"
    (tree / "in" / "a.txt").write_text("1234")
    with pytest.raises(Failed, match="larger"):
        read(Roots(str(tree), ["in"]), "in/a.txt")


@pytest.mark.parametrize(("operation", "arguments"), [("read_file", ()), ("read_bytes", ()), ("read_media", ("image",))])
def test_a_file_that_has_nothing_yet(
    tree: Path, monkeypatch: pytest.MonkeyPatch, operation: str, arguments: tuple[str, ...]
) -> None:
    class Waiting(io.FileIO):
        """As `/proc/kmsg` without a message."""

        def read(self, size: int | None = -1) -> Any:
            return None

    monkeypatch.setattr(files, "_regular", lambda spot, flags: Waiting(tree / "in" / "a.txt"))
    with pytest.raises(BlockingIOError):
        perform(Roots(str(tree), ["in"]), operation, "in/a.txt", *arguments)


def test_no_descriptor_is_left_open(tree: Path) -> None:
    os.symlink("../out/secret", tree / "in" / "away")
    before = len(os.listdir("/proc/self/fd"))
    roots = Roots(str(tree), ["in"])
    for path in ("in/a.txt", "in/away", "in/sub/b.txt", "in/none/x", "in"):
        for operation, *arguments in (("read_file",), ("exists",), ("list_dir",), ("write_file", "x"), ("append_file", "x")):
            try:
                perform(roots, operation, path, *arguments)
            except (OSError, Failed):
                continue
    roots.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("path", ["a/" * 2049, "a/" * 4_000_000, "é" * 2049])
@pytest.mark.parametrize("call", ["read_file(p)", "remove_file(p)", "make_dir(p)", 'write_file(p, "x")'])
def test_a_path_that_is_too_long_takes_no_time(tmp_path: Path, path: str, call: str) -> None:
    """Resolving millions of parts would take hours, which no deadline ends."""
    program = concerto.compile(
        f'pub fn f(p: String) -> String {{ match std::fs::{call} {{ Ok(_) => "done", Err(e) => e.message }} }}'
    )
    granted = concerto.Permissions(fs_read=(str(tmp_path),), fs_write=(str(tmp_path),))
    with program.session(permissions=granted, offline=True, budgets=concerto.Budgets(seconds=20)) as session:
        assert session.call("f", path).endswith("file name too long")


DEEP = """
use std::fs;
pub fn make(p: String) -> Result<Nil, FsError> { fs::make_dir(p) }
pub fn clear(p: String) -> Result<Nil, FsError> { fs::remove_dir(p, recursive: true) }
pub fn temporary(p: String) -> Result<Nil, FsError> { fs::make_dir("${fs::temp_dir()?}/${p}") }
@test
fn deep() {
    let folder = "d/".repeat(1000);
    fs::make_dir(folder)?;
    fs::write_file("${folder}x", "x")?;
    fs::remove_dir("d", recursive: true)?;
    assert(!fs::exists("d"));
}
"""


def test_directories_as_deep_as_a_path_can_be(
    tree: Path, few_descriptors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.setattr(tempfile, "tempdir", str(tree / "out"))
    program = concerto.compile(DEEP)
    with program.session(permissions=concerto.Permissions(fs_read=("in",), fs_write=("in",))) as session:
        session.call("make", "in/" + "d/" * 2000)
        session.call("make", "in/" + "d/" * 2000)
        (tree / "in" / "d" / "d" / "file").write_text("x")
        os.symlink(tree / "out", tree / "in" / "d" / "d" / "link")
        session.call("clear", "in/" + "d/" * 1500)
        session.call("clear", "in/d")
        session.call("temporary", "d/" * 1900)
    assert sorted(os.listdir(tree / "in")) == ["a.txt", "sub"] and os.listdir(tree / "out") == ["secret"]
    (test,) = program.test("deep", permissions=concerto.Permissions(all=True)).tests
    assert test.failure is None and sorted(os.listdir(tree)) == ["in", "out"] and os.listdir(tree / "out") == ["secret"]


@pytest.mark.parametrize("call", ['read_file("in/a.txt")', 'exists("in/a.txt")', 'make_dir("in/x/y")', "temp_dir()"])
def test_an_error_of_the_sink_is_no_failure_of_a_file(tree: Path, call: str) -> None:
    """The audit record goes to the host before the operation; nothing is left open when that fails."""
    compiled = compile_source(f"use std::fs;\nfn main() {{ let _r = fs::{call}; }}\n".encode(), "t.conc")
    assert compiled.image is not None
    loop = OfflineLoop()

    def emit(channel: str, value: object, by_runtime: bool) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    host = Host(
        emit=emit, print=print, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.0, loop=loop, folder=str(tree),  # type: ignore[arg-type]
        permissions=concerto.Permissions(all=True).granted(),
    )  # fmt: skip
    session = Session(load_image(compiled.image), host)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(BrokenPipeError):
        run_session(session)
    assert len(os.listdir("/proc/self/fd")) == before
