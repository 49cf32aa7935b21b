"""Nothing outside of granted roots is read, written or probed, whatever a path looks like and whatever moves meanwhile (G-2.15).

CONCERTO_RACES sets how often a path is walked while another thread swaps what it leads through; the clause asks for 1,000,000
in a release.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.access.files import Failed, Outside
from concerto.runtime.access.roots import Roots, real_path

from .test_file_access import perform

RACES = int(os.environ.get("CONCERTO_RACES", "500"))
MARK = "planted secret"
UP = [
    "..", "../", "../out", "../out/secret", "./../out/secret", "sub/../../out/secret", "sub/./.././../out/secret",
    "sub//..//..//out/secret", "a.txt/../../out/secret", "none/../../out/secret", "sub/b.txt/../../../out/secret",
    "../in/../out/secret", "../in/sub/../../out/secret", "../../../../../../../../etc/passwd", "..\\..\\out\\secret", "\\..\\out",
    "%2e%2e/out/secret", "%2e%2e%2fout%2fsecret", "..%2fout/secret", "..%c0%afout/secret", "....//out/secret", "..;/out/secret",
    "..\u2215out\u2215secret", "\u2024\u2024/out/secret", "\uff0e\uff0e/out/secret", "..\u200b/out/secret", ".. /out/secret",
    "../out/secret\x00.txt", "../out/secret\n", "\x00", "~/x", "~root/x", "$HOME/x", "away/secret", "away/../out/secret", "away",
    "sub/away/secret", "to-secret", "to-etc/passwd", "to-root/etc/passwd", "self/environ", "circle/secret",
]  # fmt: skip
ABSOLUTE = [
    "/", "//", "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd",
    "/proc/self/cwd/out/secret", "/dev/stdin", "/dev/fd/0", "/./etc/passwd", "file:///etc/passwd", "out/secret", "out", "./out",
    "in", "in/..", "inn/x", "IN/a.txt", "in.txt", "", ".", "./", "..",
]  # fmt: skip
PATHS = [f"in/{path}" for path in UP] + [path for path in ABSOLUTE if path != "in"]
OPERATIONS = [
    ("read_file",), ("exists",), ("list_dir",), ("file_size",), ("write_file", "x"), ("append_file", "x"), ("remove_file",),
]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "in" / "sub" / "b.txt").write_text("b")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text(MARK)
    for name, target in (
        ("in/away", "../out"), ("in/sub/away", "../../out"), ("in/to-secret", "../out/secret"), ("in/to-etc", "/etc"),
        ("in/to-root", "/"), ("in/self", "/proc/self"), ("in/circle", "circle"),
    ):  # fmt: skip
        os.symlink(target, tmp_path / name)
    return tmp_path


def outside(tree: Path) -> Any:
    """What stands beside the root, to be the same afterwards."""
    return sorted(os.listdir(tree)), sorted(os.listdir(tree / "out")), (tree / "out" / "secret").read_text()


def reaches(tree: Path, path: str, *operation: str) -> object:
    """The result; `Outside` for what is refused, or fails as a name of nothing does."""
    try:
        return perform(Roots(str(tree), ["in"]), operation[0], path, *operation[1:])
    except (Failed, OSError, ValueError):
        return Outside


def test_there_are_sixty_paths() -> None:
    assert len(set(PATHS)) >= 60


@pytest.mark.parametrize("path", PATHS, ids=ascii)
def test_no_path_leads_out(tree: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "out")  # the directory of the process is none of a program's
    before = outside(tree)
    for operation in OPERATIONS:
        found = reaches(tree, path, *operation)
        written = operation[0] in ("write_file", "append_file", "remove_file")
        assert found in (Outside, False) or (written and found is None), (operation, found)
        if path in ("in/to-secret", "in/away/secret", "out/secret", "in/../out/secret") and operation[0] == "exists":
            assert found is Outside, "not even whether it is there"
        assert outside(tree) == before, operation


@contextlib.contextmanager
def swapping(link: Path, targets: tuple[str, str]) -> Iterator[None]:
    """Meanwhile the name is now a link to the one, now to the other; the change is one rename."""
    end = threading.Event()

    def swap() -> None:
        number = 0
        while not end.is_set():
            beside = f"{link}.{number % 2}"
            os.symlink(targets[number % 2], beside)
            os.replace(beside, link)
            number += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


RACED: dict[str, tuple[str, tuple[str, str], str, Callable[[object], bool]]] = {
    "the last name": ("in/link", ("a.txt", "../out/secret"), "in/link", lambda found: found in ("a", Outside)),
    "a name on the way": ("in/way", ("sub", "../out"), "in/way/secret", lambda found: found is Outside),
    "a link to a link": ("in/hop", ("sub", "away"), "in/hop/b.txt", lambda found: found in ("b", Outside)),
}


@pytest.mark.parametrize("race", RACED)
def test_no_swap_of_links_lets_anything_out(tree: Path, race: str) -> None:
    name, targets, path, allowed = RACED[race]
    os.symlink(targets[0], tree / name)
    before = outside(tree)
    seen: set[object] = set()
    written = f"{name}/planted" if race == "a name on the way" else path
    with swapping(tree / name, targets):
        for _ in range(RACES):
            seen.add(reaches(tree, path, "read_file"))
            reaches(tree, written, "write_file", "a" if race == "the last name" else "b")
    assert all(map(allowed, seen)), seen
    assert outside(tree) == before
    assert race == "a name on the way" or len(seen) == 2, "the swap was met in both states"


@contextlib.contextmanager
def vanishing(link: Path, target: str) -> Iterator[None]:
    """Meanwhile the name is a link, a file, or nothing."""
    end = threading.Event()

    def change() -> None:
        while not end.is_set():
            os.symlink(target, link)
            os.unlink(link)
            link.touch()
            os.unlink(link)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_a_link_that_changes_while_it_is_resolved_is_no_exception(tree: Path) -> None:
    """Of 17,119 look-ups 68 were FileNotFoundError: between its two looks at a link the system's resolver met another one."""
    link = tree / "beside"
    with vanishing(link, "in/a.txt"):
        for _ in range(max(RACES, 2_000)):
            path = real_path(str(link))
            assert path in (str(link), str(tree / "in" / "a.txt"))
            assert all(root.real == str(tree / "in") for root, _ in Roots(str(tree), ["in"]).find("beside/x"))


@pytest.mark.parametrize("fails", [1, 3, 10**6])
def test_a_resolver_that_fails(tree: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    """Once or twice it is asked again; for ever, the path counts as written, which no root holds."""
    os.symlink("in/a.txt", tree / "beside")
    roots = Roots(str(tree), ["in"])
    plain, times = os.path.realpath, iter(range(fails))

    def failing(path: str) -> str:
        if next(times, None) is not None:
            raise FileNotFoundError(2, "No such file or directory")
        return plain(path)

    monkeypatch.setattr(os.path, "realpath", failing)
    assert perform(roots, "read_file", "beside") == ("a" if fails < 8 else Outside)
    assert perform(roots, "read_file", "in/a.txt") == "a"
