"""Translated code that is kept: what may be used, what is as if it were not there, and that no run shows which (V-7.2, G-3.7)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.session import code_cache, code_files
from concerto.runtime.session.code_cache import CodeCache, Kept
from concerto.runtime.session.session import run_offline
from concerto.vm import BEGAN
from concerto.vm.jit import functions, tier

from ..command import environment
from .test_equal_tiers import DEEP, LONG, PANICS, SUSPENDS
from .tiers import loaded, session_of

PROGRAMS = Path(__file__).resolve().parents[2] / "benches" / "programs"
HOT = 'fn f(n: Int) -> Int { let mut s = 0; for i in 0..n { s += i % 7; } s } fn main() { emit("sum", f(500)); }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "code"


@pytest.fixture
def nothing_is_translated(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on."""
    return lambda: monkeypatch.setattr(functions, "Function", lambda *_: pytest.fail("it is translated again"))


def shown(source: str, cache: CodeCache, *, counted: bool = True) -> tuple[Any, ...]:
    """Emits, the panic with its trace, and the fuel of a process that begins without translations."""
    emits: list[Any] = []
    session = session_of(source, "both", emits, counted=counted)
    session.program.kept = kept = cache.of(session.program)
    outcome = run_offline(session)
    kept.save()
    panic = outcome.panic and (str(outcome.panic), outcome.panic.position, outcome.panic.trace)
    return emits, panic, outcome.fuel


def kept_of(source: str, folder: Path, lines: list[str]) -> Kept:
    made = loaded(source)
    made.kept = CodeCache(str(folder), lines.append).of(made)
    return made.kept


def filled(folder: Path, source: str = HOT) -> Path:
    """The file of a source."""
    shown(source, CodeCache(str(folder)))
    (file,) = folder.iterdir()
    return file


def finds(folder: Path, source: str = HOT) -> bool:
    return kept_of(source, folder, []).read() is not None


# ---------------------------------------------------------------- what is kept serves


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("source", [HOT, DEEP, SUSPENDS, LONG, *PANICS.values()])
def test_kept_code_shows_the_same(
    source: str, counted: bool, folder: Path, nothing_is_translated: Callable[[], None]
) -> None:
    first = shown(source, CodeCache(str(folder)), counted=counted)
    assert finds(folder, source)
    nothing_is_translated()
    assert shown(source, CodeCache(str(folder)), counted=counted) == first


@pytest.mark.parametrize("file", sorted(PROGRAMS.glob("*.conc")), ids=lambda file: file.stem)
def test_every_kind_of_part_can_be_kept(file: Path, folder: Path, nothing_is_translated: Callable[[], None]) -> None:
    """Whatever the translator knows of a part is plain data."""
    source = file.read_text(encoding="utf-8")
    (size,) = re.findall(r"^// sizes: .* test (\d+)$", source, re.M)
    source = re.sub(r"^fn size\(\) -> Int \{ \d+ \}$", f"fn size() -> Int {{ {size} }}", source, flags=re.M)
    first = shown(source, CodeCache(str(folder)), counted=False)
    nothing_is_translated()
    assert shown(source, CodeCache(str(folder)), counted=False) == first


def test_more_is_added_to_what_was_kept(folder: Path) -> None:
    source = HOT.replace("f(500)", 'if args().len() > 0 { g(500) } else { f(500) }').replace("fn main", "GfM").replace(
        "GfM", "fn g(n: Int) -> Int { let mut s = 0; for i in 0..n { s += f(i); } s } fn main"
    ).replace("fn f", "use std::env::args; fn f")
    parts = []
    for arguments in ((), ("x",), ()):
        session = session_of(source, "both", [])
        session.host.args = arguments
        session.program.kept = kept = CodeCache(str(folder)).of(session.program)
        run_offline(session)
        before = kept.saved
        kept.save()
        parts.append((before, kept.saved))
    (nothing, few), (again, more), (most, same) = parts
    assert nothing == 0 < few == again < more == most == same


def test_the_command_translates_once(tmp_path: Path) -> None:
    """Neither a folder of the program nor a name in it changes; the translator is not even loaded."""
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "main.conc"
    file.write_text(HOT, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "concerto", "compile", str(file)], check=True, env=environment())
    show = (
        "import sys\nfrom concerto.cli.main import main\ncode = main(sys.argv[1:])\n"
        "print(code, [m for m in ('tier', 'functions', 'flow') if f'concerto.vm.jit.{m}' in sys.modules])"
    )
    base = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*flags: str, name: str = "main.conc", **extra: str) -> tuple[list[str], list[str]]:
        words = [sys.executable, "-c", show, "run", *flags, name]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(**(extra or base)), cwd=tmp_path / "work")
        return done.stdout.splitlines(), done.stderr.splitlines()

    translating, using = "0 ['tier', 'functions', 'flow']", "0 ['tier']"
    assert run("--no-code-cache") == (["[emit:sum] 1494", translating], [])
    assert not (tmp_path / "cache").exists()
    assert run("--tier", "interp")[0] == ["[emit:sum] 1494", "0 []"]
    assert not (tmp_path / "cache").exists()
    assert run() == (["[emit:sum] 1494", translating], [])
    code = tmp_path / "cache" / "concerto" / "code"
    (file,) = code.iterdir()
    assert [code.stat().st_mode & 0o777, file.stat().st_mode & 0o777] == [0o700, 0o600]
    assert run() == (["[emit:sum] 1494", using], [])
    assert run(name="main.concb") == (["[emit:sum] 1494", using], [])  # the same image from its file
    assert run("--debug")[1] == [f"translated code: read {file}"]
    assert run("--no-code-cache")[0] == ["[emit:sum] 1494", translating]
    assert run(HOME="relative", XDG_CACHE_HOME="relative")[0] == ["[emit:sum] 1494", translating]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["main.conc", "main.concb"]
    file.write_bytes(b"")
    code.chmod(0o770)
    assert run("--debug") == (
        ["[emit:sum] 1494", translating],
        [f"translated code: none {done}: {code} can be written by others" for done in ("read", "kept")],
    )


def test_a_session_keeps_code_where_its_host_says(folder: Path, nothing_is_translated: Callable[[], None]) -> None:
    with concerto.compile(HOT).session(code_cache=folder) as session:
        session.run()
    nothing_is_translated()
    found: list[Any] = []
    with concerto.compile(HOT).session(code_cache=str(folder)) as session:
        session.on("sum", found.append)
        session.run()
    assert found == [1494]


def test_sessions_of_one_program_keep_code_in_the_folder_of_their_own_host(folder: Path) -> None:
    program = concerto.compile(HOT)
    other = folder.with_name("other")
    times = []
    for place in (folder, other, folder, other):
        with program.session(code_cache=place) as session:
            session.run()
        (file,) = place.iterdir()
        times.append(file.stat().st_ino)
    assert finds(folder) and finds(other)
    assert times[:2] == times[2:]  # nothing is written twice


# ---------------------------------------------------------------- what may not be relied upon


def test_only_a_folder_that_this_user_alone_can_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder)
    for mode in (0o770, 0o702, 0o777, 0o1777):
        folder.chmod(mode)
        assert not finds(folder), oct(mode)
    folder.chmod(0o755)
    assert finds(folder)
    linked = folder.with_name("linked")
    linked.symlink_to(folder)
    assert not finds(linked)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    lines: list[str] = []
    assert kept_of(HOT, folder, lines).read() is None
    assert lines == [f"translated code: none read: {folder} belongs to another user"]


def test_only_a_file_that_this_user_alone_can_write(folder: Path) -> None:
    file = filled(folder)
    file.chmod(0o620)
    assert not finds(folder)
    file.chmod(0o600)
    other = folder.with_name("other")
    file.rename(other)
    file.symlink_to(other)
    assert not finds(folder)
    file.unlink()
    os.mkfifo(file, 0o600)
    assert not finds(folder)
    file.unlink()
    file.mkdir(0o700)
    assert not finds(folder)
    file.rmdir()
    other.rename(file)
    assert finds(folder)


def test_nothing_is_written_where_others_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    shown(HOT, CodeCache(str(folder)))
    assert not list(folder.iterdir())


def test_damaged_files_are_never_decoded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = filled(folder)
    whole = file.read_bytes()
    damaged = [b"", whole[:7], whole[:50], whole[:-1], whole + b"\0", whole[::-1]]
    damaged += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(0, len(whole), 7)]
    with monkeypatch.context() as patched:
        patched.setattr(code_files.marshal, "loads", lambda data: pytest.fail("it is decoded"))
        for data in damaged:
            file.write_bytes(data)
            assert not finds(folder)
    assert shown(HOT, CodeCache(str(folder)))[0] == [("sum", "1494")]
    assert finds(folder)  # it was written anew


def test_what_is_too_large_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = filled(folder).stat().st_size
    monkeypatch.setattr(code_files, "LARGEST", size)
    assert finds(folder)
    monkeypatch.setattr(code_files, "LARGEST", size - 1)
    assert not finds(folder)
    lines: list[str] = []
    shown(HOT + " fn g() {}", CodeCache(str(folder), lines.append))
    assert len(list(folder.iterdir())) == 1 and "the limit is" in lines[-1]


def test_a_file_under_the_name_of_another_is_not_used(folder: Path) -> None:
    file = filled(folder)
    other = kept_of(HOT.replace("7", "8"), folder, [])
    file.rename(folder / other.name)
    assert other.read() is None


def test_the_key_holds_image_python_and_translator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder)
    assert not finds(folder, HOT.replace("7", "8"))
    for owner, name, value in (
        (sys, "version", sys.version + "+"),
        (code_cache, "sources", lambda *_: [("link.py", 1, 1)]),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, value)
            assert not finds(folder), name
    assert finds(folder)


def test_sources_that_changed_under_the_process_key_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"interp/link.py", "jit/tier.py", "bytecode/opcodes.py"} < {name for name, _, _ in code_cache.translator(BEGAN)}
    now = time.time_ns()  # what the process runs is older than the cache, which is made later
    monkeypatch.setattr(code_cache, "sources", lambda *_: [("link.py", 1, now)])
    cache = CodeCache(str(folder))
    assert shown(HOT, cache)[0] == [("sum", "1494")]
    assert not folder.exists()
    monkeypatch.setattr(code_cache, "sources", lambda *_: [])  # they lie in an archive
    assert shown(HOT, cache)[0] == [("sum", "1494")]
    assert not folder.exists()


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")])
def test_what_cannot_be_written_is_not(error: OSError, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    lines: list[str] = []
    filled(folder)
    monkeypatch.setattr(os, "utime", refuse)
    assert finds(folder)
    monkeypatch.setattr(os, "makedirs", refuse)
    assert shown(HOT + " ", CodeCache(str(folder.with_name("none")), lines.append))[0] == [("sum", "1494")]
    assert lines[-1] == f"translated code: none kept: {str(error.strerror).lower()}"


def test_a_reason_that_passes_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(tier, "compile", full, raising=False)
        assert shown(HOT, CodeCache(str(folder)))[0] == [("sum", "1494")]
    assert not folder.exists()


# ---------------------------------------------------------------- several processes, and the room they take


def test_readers_see_whole_files_while_others_write(folder: Path) -> None:
    filled(folder)

    def write(_: int) -> None:
        for _ in range(20):
            kept = kept_of(HOT, folder, [])
            code_files.write(str(folder), kept.name, kept.key(), ({}, {0: b"x" * 100_000}))

    with ThreadPoolExecutor(3) as pool:
        written = [pool.submit(write, n) for n in range(3)]
        reader = kept_of(HOT, folder, lines := [])
        while not all(done.done() for done in written):
            assert reader.read() is not None, lines
        assert [done.result() for done in written] == [None] * 3
    assert len(list(folder.iterdir())) == 1


def test_the_longest_unused_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(0o700)
    monkeypatch.setattr(code_files, "FILES", 3)
    for n in range(3):
        code_files.write(str(folder), f"{n}.code", b"k" * 32, [n])
        os.utime(folder / f"{n}.code", (n, n))
    assert code_files.read(str(folder), "0.code", b"k" * 32) == [0]
    code_files.write(str(folder), "3.code", b"k" * 32, [3])
    assert sorted(os.listdir(folder)) == ["0.code", "2.code", "3.code"]
    monkeypatch.setattr(code_files, "ROOM", (folder / "3.code").stat().st_size * 2)
    code_files.write(str(folder), "4.code", b"k" * 32, [4])
    assert len(os.listdir(folder)) == 2 and "4.code" in os.listdir(folder)


def test_what_a_killed_process_left_goes(folder: Path) -> None:
    folder.mkdir(0o700)
    for name in ("old.tmp", "new.tmp", "note.txt"):
        (folder / name).write_text("", encoding="utf-8")
    os.utime(folder / "old.tmp", (1, 1))
    os.utime(folder / "note.txt", (1, 1))
    code_files.write(str(folder), "0.code", b"k" * 32, [0])
    assert sorted(os.listdir(folder)) == ["0.code", "new.tmp", "note.txt"]


def test_a_writer_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    lines: list[str] = []
    shown(HOT, CodeCache(str(folder), lines.append))
    assert not os.listdir(folder)
    assert lines[-1] == "translated code: none kept: no space left on device"


def test_the_first_run_says_that_it_translates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-9.51: once that takes long; a later run, which translates nothing, says nothing."""
    lines: list[str] = []
    shown(HOT, CodeCache(str(folder), progress=lines.append))
    assert lines == []  # too short to be told
    (file,) = folder.iterdir()
    file.unlink()
    monkeypatch.setattr(code_cache, "PATIENCE", -1.0)
    shown(HOT, CodeCache(str(folder), progress=lines.append))
    assert len(lines) >= 2 and set(lines[1::2]) == {""}
    assert all(line.startswith("translating this program for later runs: part ") for line in lines[::2])
    lines.clear()
    shown(HOT, CodeCache(str(folder), progress=lines.append))
    assert lines == []
