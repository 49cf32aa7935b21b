"""Libraries in the environment: found by their entry points, without running code of theirs (P-3.1)."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from concerto.cli.watch import _library_folders
from concerto.compiler.diagnostics import Diagnostic
from concerto.compiler.incremental import CheckCache
from concerto.compiler.installed import installed_library, installed_names, module_names
from concerto.compiler.libraries import NoLibrary
from concerto.compiler.pipeline import Compilation, compile_source
from concerto.lsp.analysis import analyse, definition_of, occurrence_at
from concerto.lsp.features import complete
from concerto.vm.bytecode.encoding import decode, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from .installed import install

SHAPES = {
    "shapes_pkg/circle.conc": "pub fn area(r: Float) -> Float { r * r }\n",
    "shapes_pkg/__init__.py": "raise SystemExit(9)\n",
}
USE = "use lib::shapes::circle::area;\nfn main() { println(area(2.0)); }\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def compiled(text: str, cache: CheckCache | None = None) -> Compilation:
    return compile_source(text.encode(), "main.conc", emit=cache is None, cache=cache, find_library=installed_library)


def errors(text: str) -> list[tuple[str, str, str | None]]:
    return [(d.code, d.message, d.help) for d in compiled(text).diagnostics.ordered()]


def test_a_library_is_found_and_nothing_of_it_is_imported(site: Path) -> None:
    install(site, "concerto-shapes", "1.2.0", "shapes = shapes_pkg", SHAPES)
    result = compiled(USE)
    assert not result.diagnostics.found and "shapes_pkg" not in sys.modules
    assert result.image is not None
    (library,) = decode(encode(result.image)).libraries
    assert (library.name, library.version, library.distribution, library.wanted) == ("shapes", "1.2.0", "concerto-shapes", [])
    assert [result.image.functions[number].name for number in library.functions] == ["area"]
    assert sorted(name for name, _ in result.image.source_map) == ["lib/shapes/circle.conc", "main.conc"]


def test_two_distributions_with_one_name(site: Path) -> None:
    install(site, "concerto-shapes", "1.2.0", "shapes = shapes_pkg", SHAPES)
    install(site, "other-shapes", "3", "shapes = shapes_pkg", {})
    ((code, message, help),) = errors(USE)
    assert code == "E1012" and "concerto-shapes 1.2.0" in message and "other-shapes 3" in message
    assert help is not None and "pip uninstall" in help


def test_the_first_of_two_copies_of_one_distribution_counts(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "concerto-shapes", "2.0", "shapes = shapes_pkg", SHAPES)
    before = site.parent / "before"
    install(before, "concerto_shapes", "1.0", "shapes = shapes_pkg", SHAPES)
    monkeypatch.syspath_prepend(str(before))
    assert installed_library("shapes").version == "1.0"


def test_the_help_names_the_import_from_a_library(site: Path) -> None:
    more = {**SHAPES, "shapes_pkg/square.conc": "pub fn side(a: Float) -> Float { area(a) }\n"}
    install(site, "concerto-shapes", "1.2.0", "shapes = shapes_pkg", more)
    uses = "use lib::shapes::circle;\nuse lib::shapes::square;\n"
    found = errors(uses + "fn main() { area(1.0); circle::area(2.0); square::side(1.0); }\n")
    helps = {help for code, _, help in found if code == "E1001"}
    assert helps == {"add `use lib::shapes::circle::area;`", "add `use crate::circle::area;`"}


def test_a_missing_library_names_those_that_are_there(site: Path) -> None:
    install(site, "concerto-shapes", "1.2.0", "shapes = shapes_pkg", SHAPES)
    ((code, message, help),) = errors("use lib::shaps::a;\nfn main() { println(a); }\n")
    assert (code, message) == ("E1004", "there is no library `shaps`")
    assert help is not None and "did you mean `shapes`?" in help and "pip install" in help and "shapes" in installed_names()


@pytest.mark.parametrize(
    ("package", "part"),
    [
        ("..", "names no package"),
        ("../shapes_pkg", "names no package"),
        ("/etc", "names no package"),
        ("shapes_pkg:area", "names no package"),
        ("shapes_pkg [extra]", "names no package"),
        ("nowhere", "there is no package nowhere"),
        ("nowhere.inner", "there is no package nowhere.inner"),
        ("single", "is a module and no package"),
        ("json.decoder", "is a module and no package"),
        ("zipped", "lies in an archive"),
        ("spread", "is spread over 2 folders"),
    ],
)
def test_hostile_entry_points(site: Path, package: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = site / "meta"
    install(metadata, "concerto-shapes", "1", f"shapes = {package}", {})
    (site / "single.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    with zipfile.ZipFile(site / "archive.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "")
    for name in ("one", "two"):
        (site / name / "spread").mkdir(parents=True)
        monkeypatch.syspath_prepend(str(site / name))
    monkeypatch.syspath_prepend(str(site / "archive.zip"))
    monkeypatch.syspath_prepend(str(metadata))
    ((code, message, help),) = errors(USE)
    assert code == "E1004" and part in message and "concerto-shapes 1" in message and help


def test_broken_metadata_of_others_breaks_nothing(site: Path) -> None:
    install(site, "concerto-shapes", "1.2.0", "shapes = shapes_pkg", SHAPES)
    (site / "broken-1.dist-info").mkdir()
    (site / "broken-1.dist-info" / "entry_points.txt").write_bytes(b"[concerto.modules]\nno equals sign\n\xff\xfe")
    install(site, "nameless", "1", "odd name = shapes_pkg", {})
    (site / "nameless-1.dist-info" / "METADATA").write_bytes(b"\x00\xff")
    assert not compiled(USE).diagnostics.found


def test_links_and_texts_of_a_package(site: Path, tmp_path: Path) -> None:
    install(site, "concerto-shapes", "1", "shapes = shapes_pkg", {**SHAPES, "shapes_pkg/odd.conc": b"pub fn f() { \xff }"})
    (tmp_path / "secret.conc").write_text("pub fn area(r: Float) -> Float { r }\n", encoding="utf-8")
    (site / "shapes_pkg" / "out.conc").symlink_to(tmp_path / "secret.conc")
    (first, *_) = errors("use lib::shapes::out::area;\nfn main() { println(area(1.0)); }\n")
    assert first[0] == "E1004" and "outside the package shapes_pkg of concerto-shapes" in first[1]
    (first, *_) = errors("use lib::shapes::odd::f;\nfn main() { f(); }\n")
    assert first[1].startswith("in the library `shapes` 1:") and "UTF-8" in first[1]


def test_the_import_system_is_asked_for_editable_packages(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "concerto-shapes", "1", "shapes = inner.shapes_pkg", {})
    place = tmp_path / "work" / "inner" / "shapes_pkg"
    place.mkdir(parents=True)
    (place / "circle.conc").write_text(SHAPES["shapes_pkg/circle.conc"], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "work"))
    assert installed_library("shapes").folder == str(place)
    assert not compiled(USE).diagnostics.found


def test_what_is_installed_later_is_found_by_the_same_process(site: Path) -> None:
    with pytest.raises(NoLibrary):
        installed_library("late")
    cache = CheckCache()
    text = "fn main() { println(lib::late::one()); }\n"
    assert [d.code for d in compiled(text, cache).diagnostics.ordered()] == ["E1004"]
    install(site, "late", "1", "late = late_pkg", {"late_pkg/mod.conc": "pub fn one() -> Int { 1 }\n"})
    assert compiled(text, cache).diagnostics.found == []
    (site / "late_pkg" / "mod.conc").write_text('pub fn one() -> Int { 1 + "a" }\n', encoding="utf-8")
    messages = [d.message for d in compiled(text, cache).diagnostics.ordered()]
    assert len(messages) == 1 and messages[0].startswith("in the library `late` 1:")


def test_a_program_without_libraries_looks_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text("fn main() { println(1); }\n", encoding="utf-8")
    program = (
        "import sys\nfrom concerto.cli.main import main\n"
        f"code = main(['check', {str(tmp_path / 'a.conc')!r}])\nprint(code, 'importlib.metadata' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 False"


PIECES = (
    "lib", "::", "{", "}", ",", "shapes", "circle", "area", "self", "crate", "super", "as", "*", "use ", ";", "(", "<", "\n",
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24))
def test_whatever_stands_behind_lib_ends_in_diagnostics(pieces: list[str]) -> None:
    compiled("use lib::" + " ".join(pieces))
    compiled("fn main() { lib::" + " ".join(pieces) + " }")


def test_groups_of_imports(site: Path) -> None:
    b = "pub fn c() -> Int { 2 }\npub fn d() -> Int { 3 }\n"
    more = {"shapes_pkg/mod.conc": "pub fn a() -> Int { 1 }\n", "shapes_pkg/b.conc": b}
    install(site, "concerto-shapes", "1", "shapes = shapes_pkg", {**SHAPES, **more})
    install(site, "late", "1", "late = late_pkg", {"late_pkg/mod.conc": "pub fn one() -> Int { 1 }\n"})
    text = "use lib::{shapes::{self, a as first, b::{c, d,}, circle::*}, late::one,};\n"
    result = compiled(text + "fn main() { println(shapes::a(), first(), c(), d(), area(1.0), one()); }\n")
    assert not result.diagnostics.found and sorted(result.libraries) == ["late", "shapes"]


def test_watch_looks_at_the_libraries_that_sources_use(site: Path, tmp_path: Path) -> None:
    install(site, "concerto-shapes", "1", "shapes = shapes_pkg", SHAPES)
    install(site, "late", "1", "late = late_pkg", {"late_pkg/mod.conc": ""})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.conc").write_text(USE, encoding="utf-8")
    assert _library_folders([str(tmp_path / "work")], []) == {str(site / "shapes_pkg")}
    (tmp_path / "work" / "main.conc").write_text("fn main() { println(shapes); }", encoding="utf-8")
    assert _library_folders([str(tmp_path / "work")], []) == set()


def offers(path: Path, text: str) -> list[str]:
    return [offer.name for offer in complete(text, len(text), lambda changed: analyse(str(path), changed, {}, CheckCache()))]


def test_editors_look_into_libraries(site: Path, tmp_path: Path) -> None:
    root = "pub fn hello() {}\nfn own() {}\n"
    install(site, "concerto-shapes", "1", "shapes = shapes_pkg", {**SHAPES, "shapes_pkg/mod.conc": root})
    main = tmp_path / "main.conc"
    analysis = analyse(str(main), USE, {}, CheckCache())
    occurrence = occurrence_at(analysis, USE.index("area(2.0)"))
    assert occurrence is not None
    span = definition_of(occurrence)
    assert span is not None and analysis.path_of(span.file) == str(site / "shapes_pkg" / "circle.conc")
    assert module_names(installed_library("shapes")) == ["circle"]
    assert "shapes" in offers(main, "fn main() { lib::")
    assert offers(main, "fn main() { lib::shapes::") == ["circle", "hello"]
    assert offers(main, "fn main() { lib::shapes::circle::") == ["area"]


def test_errors_of_a_library_are_attributed_for_editors_too(site: Path, tmp_path: Path) -> None:
    wrong = {"shapes_pkg/circle.conc": "pub fn area(r: Float) -> Int { r }\n"}
    install(site, "concerto-shapes", "1", "shapes = shapes_pkg", wrong)
    found: list[Diagnostic] = analyse(str(tmp_path / "main.conc"), USE, {}, CheckCache()).diagnostics
    assert [d.message.partition(":")[0] for d in found] == ["in the library `shapes` 1"]
