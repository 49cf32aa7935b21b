"""`import concerto.importer`, then programs are modules (P-2.1, P-2.2): what is found, what is kept, and what is refused."""

from __future__ import annotations

import asyncio
import copy
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import concerto
import concerto.importer
import pytest
from concerto.api import compiled_files, python_modules
from concerto.api.imports import Finder, install

SOURCE = """\
/// A parcel.
pub struct Parcel { pub weight: Float = 1.5, pub to: String }
struct Inner { x: Int }
struct Reached { x: Int }
/// Add.
///
/// Two numbers.
pub fn add(a: Int, b: Int = 3) -> Int { a + b }
pub async fn later(text: String) -> Result<String> { text }
pub fn send(parcel: Parcel, class: String = "a" + "b") -> String { "${parcel.to} ${parcel.weight} ${class}" }
pub fn reached() -> Array<Reached> { [Reached { x: 1 }] }
pub fn fails() -> Result<Int> { throw "no" }
fn hidden(inner: Inner) -> Int { inner.x }
pub fn session() -> Int { hidden(Inner { x: 7 }) }
hashmap seen: HashMap<String, Int> = HashMap::new();
pub fn count() -> Int { seen["n"] = (seen.get("n") ?? 0) + 1; seen["n"] }
"""
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a file into a folder of `sys.path`; modules of it, and what was set for them, are gone at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = set(sys.modules)

    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    yield written
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        if hasattr(module, "__program__"):
            python_modules._MODULES.pop(name).end()
            del sys.modules[name]
    python_modules._EVERY.clear()


def fresh(name: str) -> Any:
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def recompiled(monkeypatch: pytest.MonkeyPatch, name: str) -> bool:
    """Import a module anew, and say whether its source was compiled for it."""
    compiled: list[str] = []
    whole = compiled_files.compiled_file

    def noted(path: str, asked: dict[str, bytes | None]) -> Any:
        compiled.append(path)
        return whole(path, asked)

    with monkeypatch.context() as patch:
        patch.setattr(compiled_files, "compiled_file", noted)
        fresh(name)
    return bool(compiled)


def test_a_program_is_a_module(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    assert isinstance(module, ModuleType) and module.__file__.endswith("parcels.conc")
    assert module.add(1) == 4 and module.add(a=1, b=1) == 2
    assert asyncio.run(module.later("x")) == "x" and inspect.iscoroutinefunction(module.later)
    assert not inspect.iscoroutinefunction(module.add) and inspect.isfunction(module.add)
    assert asyncio.run(module.aio.add(2)) == 5 and inspect.iscoroutinefunction(module.aio.add)
    assert asyncio.run(copy.copy(module.aio).add(2)) == 5
    assert module.send(module.Parcel(to="Oslo")) == "Oslo 1.5 ab"
    assert module.send({"to": "Bern", "weight": 2.5}, class_="x") == "Bern 2.5 x"
    assert type(module.reached()[0]) is module.Reached
    with pytest.raises(concerto.ProgramError, match="no"):
        module.fails()
    with pytest.raises(TypeError, match=r"argument 'a' of add: expected Int, got str"):
        module.add("1")
    with pytest.raises(TypeError, match=r"add\(a, b=…\): lacks 'a'"):
        module.add()


def test_documentation_and_signatures(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    assert module.add.__doc__ == "Add.\n\nTwo numbers." and module.Parcel.__doc__ == "A parcel."
    assert str(inspect.signature(module.add)) == "(a: int, b: int = 3) -> int"
    assert str(inspect.signature(module.later)) == "(text: str) -> str"
    assert str(inspect.signature(module.send)) == "(parcel: parcels.Parcel, class_: str = ...) -> str"
    assert inspect.get_annotations(module.reached) == {"return": list[module.Reached]}
    assert (module.add.__name__, module.add.__module__) == ("add", "parcels")


def test_what_the_module_has(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    expected = {
        "Parcel", "Reached", "add", "later", "send", "reached", "fails", "session_", "count", "aio", "session", "Session",
    }  # fmt: skip
    assert set(module.__all__) == expected and expected <= set(dir(module))
    assert module.session_() == 7  # the name `session` is the module's own
    with pytest.raises(AttributeError, match="module 'parcels' has no attribute 'Inner'"):
        _ = module.Inner
    with pytest.raises(AttributeError, match="parcels has no public function 'hidden'; its functions are add"):
        _ = module.aio.hidden
    space: dict[str, Any] = {}
    exec("from parcels import *", space)
    assert space["add"] is module.add and "Inner" not in space


def test_functions_share_a_session_and_others_do_not(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    assert [module.count(), module.count(), asyncio.run(module.aio.count())] == [1, 2, 3]
    with module.session() as other:
        assert isinstance(other, module.Session) and isinstance(other, concerto.Session)
        assert other.functions.count() == 1 and other.call("count") == 2
        assert asyncio.run(other.aio.count()) == 3
        assert sorted(dir(other.functions)) == ["add", "count", "fails", "later", "reached", "send", "session_"]
        assert other.functions.later("y") == "y"  # without an event loop, the async one too
    assert module.count() == 4

    async def inside() -> None:
        module.count()

    with pytest.raises(RuntimeError, match=r"write `await parcels\.aio\.count\(…\)`"):
        asyncio.run(inside())


def test_a_forked_process_has_its_own_session(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    module.count()
    here = python_modules._MODULES["parcels"]
    first = here.shared()
    here._process += 1  # as a child process sees it
    assert not here.has_begun and here.shared() is not first and module.count() == 1
    first.close()


def test_options(write: Write, tmp_path: Path) -> None:
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "reader.conc"\n[permissions]\nfs_read = ["data"]\n')
    write("data/a.txt", "content")
    source = """
        use std::fs;
        model M { provider: openai, base: "m" }
        pub fn ask(q: String) -> Result<String> by M { q }
        pub fn read(path: String) -> Result<String> { fs::read_file(path)? }
    """
    write("reader.conc", source)
    module = fresh("reader")
    # Of the project: what the manifest permits, as for `concerto run`.
    assert module.read(str(tmp_path / "data" / "a.txt")) == "content"
    with pytest.raises(RuntimeError, match="the shared session of reader has begun; call configure before"):
        concerto.configure("reader", offline=True)
    module = fresh("reader")
    concerto.configure(offline_script=["of all"])
    assert module.ask("?") == "of all"
    module = fresh("reader")
    concerto.configure(module, offline_script=["of this one"])
    assert module.ask("?") == "of this one"
    with module.session(offline_script=["its own"], permissions=concerto.Permissions()) as other:
        assert other.functions.ask("?") == "its own"
        with pytest.raises(concerto.ProgramError, match="permission denied"):
            other.functions.read(str(tmp_path / "data" / "a.txt"))


def test_pins_beside_the_source_count(write: Write) -> None:
    write("parcels.conc", SOURCE)
    write("Concerto.pins.json", "no pins")
    with pytest.raises(ValueError, match=r"mcp_pins: .*Concerto\.pins\.json: "):
        fresh("parcels").count()


def test_functions_of_any_name(write: Write) -> None:
    write("names.conc", "pub fn _module() -> Int { 1 }\npub fn _session() -> Int { 2 }\npub fn __init__() -> Int { 3 }")
    module = fresh("names")
    assert (module._module(), asyncio.run(module.aio._session()), module.aio._module.__name__) == (1, 2, "_module")
    assert module.x__init__() == 3
    with module.session() as session:
        assert (session.functions._module(), session.functions._session(), session.functions.x__init__()) == (1, 2, 3)


def test_wrong_options(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    with pytest.raises(TypeError, match="unknown option 'oflline'"):
        concerto.configure(oflline=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="offline is 3"):
        concerto.configure(module, offline=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothere is no imported program; imported are"):
        concerto.configure("nothere", offline=True)
    with pytest.raises(TypeError, match="unknown option"):
        module.session(nonsense=1)


# ---------------------------------------------------------------- what is found


def test_packages(write: Write) -> None:
    write("shop/mod.conc", "mod prices;\npub fn total() -> Int { prices::price() * 2 }")
    write("shop/prices.conc", "pub fn price() -> Int { 21 }")
    write("shop/tools.py", "VALUE = 5")
    write("plain/__init__.py", "")
    write("plain/inner.conc", "pub fn f() -> Int { 1 }")
    assert fresh("shop").total() == 42 and fresh("shop").prices_price() == 21
    assert fresh("shop.tools").VALUE == 5  # Python's own files beside it
    assert fresh("shop.prices").price() == 21
    assert fresh("plain.inner").f() == 1
    assert importlib.util.find_spec("shop").submodule_search_locations is not None  # type: ignore[union-attr]


def test_a_file_of_python_wins_at_its_place(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("twice.conc", "pub fn f() -> Int { 1 }")
    write("twice.py", "f = lambda: 2")
    assert fresh("twice").f() == 2
    write("first/both.conc", "pub fn f() -> Int { 1 }")
    write("second/both.py", "f = lambda: 2")
    monkeypatch.syspath_prepend(str(tmp_path / "second"))
    monkeypatch.syspath_prepend(str(tmp_path / "first"))
    assert fresh("both").f() == 1
    monkeypatch.setattr(sys, "path", [str(tmp_path / "second"), *sys.path])
    assert fresh("both").f() == 2
    write("json.conc", "pub fn f() -> Int { 1 }")
    assert sys.modules["json"] is json  # and what is loaded stays


@pytest.mark.parametrize(
    "name", ["..", "a/b", "../parcels", "a\0b", "", "x" * 5000, "éa", "parcels.conc", "mod", "con cert", "/etc/passwd", "\ud800"]
)
def test_hostile_names(write: Write, name: str) -> None:
    write("parcels.conc", SOURCE)
    finder = install("0")
    assert finder.find_spec(name) is None or name == "mod"
    assert finder.find_spec(f"x.{name}", ["/nowhere", "\0", "parcels.conc"]) is None


def test_places_that_are_none(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write("parcels.conc", SOURCE)
    (tmp_path / "folder.conc").mkdir()
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(sys, "path", ["/nowhere", 5, b"bytes", None, str(tmp_path / "parcels.conc"), *sys.path])
    assert fresh("parcels").add(1) == 4
    with pytest.raises(ModuleNotFoundError):
        fresh("folder")
    assert fresh("empty").__spec__.loader.__class__.__name__ == "NamespaceLoader"  # Python's, as before


def test_installing_twice_changes_nothing() -> None:
    assert install("other") is install("0") and sum(isinstance(each, Finder) for each in sys.meta_path) == 1


# ---------------------------------------------------------------- what is kept


def kept(tmp_path: Path, name: str = "parcels") -> list[Path]:
    return [tmp_path / "__pycache__" / f"{name}.concb", tmp_path / "__pycache__" / f"{name}.concb.json"]


def test_an_unchanged_program_is_not_compiled_again(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write("parcels.conc", SOURCE)
    assert recompiled(monkeypatch, "parcels") and not recompiled(monkeypatch, "parcels")
    image, record = kept(tmp_path)
    assert concerto.load(image).content_hash == concerto.compile(path=source).content_hash
    assert fresh("parcels").add.__doc__ == "Add.\n\nTwo numbers."
    assert inspect.iscoroutinefunction(fresh("parcels").later)
    assert fresh("parcels").__program__.trust == "local"
    os.utime(source)  # by content, not by time
    assert not recompiled(monkeypatch, "parcels")
    write("parcels.conc", SOURCE.replace("b: Int = 3", "b: Int = 4"))
    assert recompiled(monkeypatch, "parcels") and fresh("parcels").add(1) == 5
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import concerto.importer, parcels\n"
    program += "print(parcels.add(1), any(name.startswith('concerto.compiler.s') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/")
    assert (done.stdout, done.stderr) == ("5 False\n", "")


CHANGES: dict[str, tuple[str, str]] = {
    "a module": ("shop/prices.conc", "pub fn price() -> Int { 22 }"),
    "a module of a module": ("shop/inner.conc", "pub fn n() -> Int { 2 }"),
    "the manifest": ("Concerto.toml", '[project]\nname = "p"\nversion = "2"\nentry = "shop/mod.conc"\n'),
    "a nearer manifest": ("shop/Concerto.toml", '[project]\nname = "q"\nversion = "1"\nentry = "mod.conc"\n'),
    "a module that was not there": ("shop/std.conc", "pub fn f() -> Int { 1 }"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_file_of_the_program_counts(write: Write, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "shop/mod.conc"\n')
    write("shop/mod.conc", "mod prices;\nuse std::math;\npub fn total() -> Int { math::max(prices::price(), 0) }")
    write("shop/prices.conc", "use crate::inner;\npub fn price() -> Int { inner::n() }")
    write("shop/inner.conc", "pub fn n() -> Int { 1 }")
    assert recompiled(monkeypatch, "shop") and not recompiled(monkeypatch, "shop")
    name, text = CHANGES[change]
    write(name, text)
    assert recompiled(monkeypatch, "shop") and not recompiled(monkeypatch, "shop")


def test_another_version_compiles_again(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("parcels.conc", SOURCE)
    assert recompiled(monkeypatch, "parcels")
    finder = install("0")
    monkeypatch.setattr(finder, "release", "99.0")
    assert recompiled(monkeypatch, "parcels") and not recompiled(monkeypatch, "parcels")


def damaged(data: bytes) -> Iterator[bytes]:
    yield from (b"", b"\n", data[: len(data) // 2], data[:-1], data + b"x", b"\xff" * 40, b"\0" * len(data))
    yield data.replace(b"a", b"b", 1)


@pytest.mark.parametrize("which", [0, 1])
def test_damaged_files_count_as_none(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    write("parcels.conc", SOURCE)
    fresh("parcels")
    place = kept(tmp_path)[which]
    whole = place.read_bytes()
    for data in damaged(whole):
        place.write_bytes(data)
        assert recompiled(monkeypatch, "parcels"), data[:40]
        assert place.read_bytes() == whole
    place.unlink()
    place.mkdir()  # what can be neither read nor replaced
    assert recompiled(monkeypatch, "parcels") and fresh("parcels").add(1) == 4
    assert [path.name for path in place.parent.iterdir() if "." + str(os.getpid()) in path.name] == []


def test_a_record_of_our_form_with_other_content_counts_as_none(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashlib import sha256

    write("parcels.conc", SOURCE)
    fresh("parcels")
    record = kept(tmp_path)[1]
    whole = json.loads(record.read_bytes().partition(b"\n")[2])
    wrong: list[Any] = [None, [], 5, "x", {}, {**whole, "files": 3}, {**whole, "files": None}, {**whole, "root": 7}]
    for data in wrong:
        text = json.dumps(data).encode()
        record.write_bytes(sha256(text).hexdigest().encode() + b"\n" + text)
        assert recompiled(monkeypatch, "parcels"), data


def test_a_folder_that_cannot_be_written_keeps_nothing(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("parcels.conc", SOURCE)
    (tmp_path / "__pycache__").write_text("a file where the folder would be")
    assert recompiled(monkeypatch, "parcels") and recompiled(monkeypatch, "parcels")
    (tmp_path / "__pycache__").unlink()

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(compiled_files.os, "makedirs", refused)
        assert fresh("parcels").add(1) == 4
    assert not (tmp_path / "__pycache__").exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    fresh("parcels")
    assert not (tmp_path / "__pycache__").exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    fresh("parcels")
    assert list((tmp_path / "elsewhere").rglob("parcels.concb")) and not (tmp_path / "__pycache__").exists()


# ---------------------------------------------------------------- what is refused


def test_a_broken_program_is_an_import_error(write: Write) -> None:
    source = write("broken.conc", "pub fn f() -> Int { nmae }\npub fn g() -> Int { true }")
    with pytest.raises(ImportError) as raised:
        fresh("broken")
    error = raised.value
    assert isinstance(error, concerto.CompileError) and (error.name, error.path) == ("broken", str(source))
    assert [each.code for each in error.diagnostics if each.severity == "error"] == ["E1001", "E2023"]
    assert "broken.conc:1:21: error[E1001]: undefined name `nmae`" in str(error) and "^^^^" in str(error)
    assert "broken" not in sys.modules
    write("broken.conc", "pub fn f() -> Int { 1 }")
    assert fresh("broken").f() == 1


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"\0" * 100, b"fn f(", "pub fn é() {}".encode(), b"{" * 5000])
def test_bytes_that_are_no_program(write: Write, content: bytes) -> None:
    write("broken.conc", "").write_bytes(content)
    with pytest.raises(ImportError, match="broken.conc"):
        fresh("broken")


def test_a_source_that_cannot_be_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write("parcels.conc", SOURCE)
    spec = importlib.util.find_spec("parcels")
    assert spec is not None
    source.unlink()
    with pytest.raises(ImportError, match=r"parcels\.conc cannot be read: No such file or directory"):
        importlib.util.module_from_spec(spec).__spec__.loader.exec_module(importlib.util.module_from_spec(spec))  # type: ignore[union-attr]


def test_a_broken_manifest_is_an_import_error(write: Write) -> None:
    write("Concerto.toml", "[project\n")
    write("parcels.conc", SOURCE)
    with pytest.raises(concerto.CompileError, match=r"Concerto\.toml:1:\d+: error\[E4004\]"):
        fresh("parcels")


# ---------------------------------------------------------------- threads and reloading


def test_threads_that_import_at_once(write: Write) -> None:
    write("parcels.conc", SOURCE)
    barrier, found = threading.Barrier(8), []

    def load() -> None:
        barrier.wait()
        module = importlib.import_module("parcels")
        found.append((module, module.Parcel, module.add, module.count()))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({id(module) for module, *_ in found}) == 1
    assert len({made for _, made, *_ in found}) == 1 and sorted(count for *_, count in found) == list(range(1, 9))


def test_processes_that_import_at_once(write: Write, tmp_path: Path) -> None:
    write("parcels.conc", SOURCE)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import concerto.importer, parcels; print(parcels.add(1))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        for _ in range(4)
    ]
    assert [each.communicate() for each in running] == [(b"4\n", b"")] * 4
    assert sorted(path.name for path in (tmp_path / "__pycache__").iterdir()) == ["parcels.concb", "parcels.concb.json"]


def test_loading_again(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    assert module.count() == 1 and module.add(1) == 4
    write("parcels.conc", SOURCE.replace("pub fn add", "pub fn plus"))
    importlib.reload(module)
    assert module.count() == 1 and module.plus(1) == 4 and not hasattr(module, "add")


def test_the_way_back_in_an_interactive_session(write: Write) -> None:
    write("parcels.conc", SOURCE)
    module = fresh("parcels")
    assert repr(module.aio).startswith("<functions of parcels: add, count") and "parcels" in repr(module)
    assert module.__spec__.loader.get_source("parcels") == SOURCE


def test_a_kept_program_knows_the_keys_of_its_project(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    project = '[project]\nname = "chat"\nversion = "1"\nentry = "chat.conc"\n'
    write("chat/Concerto.toml", f'{project}[serve.keys]\nuser = "header:x-user"\n')
    path = write("chat/chat.conc", "pub fn hello(user: String) -> String { user }")
    monkeypatch.syspath_prepend(str(path.parent))
    keys = []
    for compiled in (True, False):
        assert recompiled(monkeypatch, "chat") is compiled
        keys.append(dict(sys.modules["chat"].__program__.serve_keys))
    assert keys[0] == keys[1] and keys[0] != {}


def test_a_module_is_loaded_again_within_an_event_loop(write: Write) -> None:
    write("again.conc", SOURCE)

    async def twice() -> list[int]:
        module = importlib.import_module("again")
        counts = [await module.aio.count(), await module.aio.count()]
        shared = module.aio
        module = importlib.reload(module)
        await asyncio.sleep(0)
        assert module.aio is not shared
        return [*counts, await module.aio.count()]

    assert asyncio.run(twice()) == [1, 2, 1]
