"""The libraries that are installed in the Python environment of this process (P-3.1): the one place that looks for them.

Hands on `installed_library`, the `FindLibrary` of the command line, the API, the REPL, `roots` and the language server;
`installed_names` to the language server for completion, and to the command line, which watches the folders of libraries;
`module_names` to the language server. A library is declared by an entry point of the group `concerto.modules`, `NAME =
PACKAGE`; the folder of that package is found without importing it, so that compiling a program runs no code of a library.
Nothing is looked at before the first path that begins with `lib::`; what was found is kept until a folder of `sys.path`
changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from ..vm.record import record
from .hints.names import did_you_mean
from .libraries import Library, NoLibrary
from .project import read_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "concerto.modules"
_PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
SHOWN = 20  # names that a help lists


@record
class Declared:
    """One entry point of the group: the `distribution` that has it, with its `version`, and its value, a `package`. `source` is
    what Python knows of the distribution."""

    distribution: str
    version: str
    package: str
    source: Distribution


def installed_library(name: str) -> Library:
    """Return the installed library of a name. Raise NoLibrary: E1012 where several distributions declare it, E1004 where none
    does or what it declares cannot be used. None of its files is read yet: its `read` raises `project.Refused` for one that may
    not be read."""
    rows = _declared().get(name, [])
    if not rows:
        raise _missing(name)
    if len(rows) > 1:
        named = " and ".join(f"{row.distribution} {row.version}" for row in rows)
        advice = f"uninstall one of them: `pip uninstall {rows[-1].distribution}`"
        raise NoLibrary("E1012", f"the library `{name}` is declared by {len(rows)} distributions: {named}", advice)
    (row,) = rows
    folder = _folder(name, row)
    place = f"the package {row.package} of {row.distribution}"
    return Library(name, row.version, row.distribution, lambda path: read_below(folder, path, place), folder)


def installed_names() -> list[str]:
    """Return the names of the installed libraries, sorted, those that several distributions declare among them."""
    return sorted(name for name in _declared() if name.isidentifier())


def module_names(library: Library) -> list[str]:
    """Return the names of the modules in the folder of a library, sorted; none where it has no folder or that cannot be
    read."""
    try:
        names = os.listdir(library.folder) if library.folder else []
    except OSError:
        return []
    files = {name.removesuffix(".conc") for name in names if name.endswith(".conc") and name != "mod.conc"}
    folders = {name for name in names if os.path.isfile(os.path.join(library.folder, name, "mod.conc"))}
    return sorted(name for name in files | folders if name.isidentifier())


def _missing(name: str) -> NoLibrary:
    names = installed_names()
    near = did_you_mean(name, names)
    there = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    help = f"`pip install` a distribution that declares it; libraries in this environment: {there or 'none'}"
    return NoLibrary("E1004", f"there is no library `{name}`", f"{near}, or {help}" if near else help)


# What is declared, kept with the state of the folders that it was read from.
_kept: tuple[object, dict[str, list[Declared]]] | None = None


def _declared() -> dict[str, list[Declared]]:
    """Return what distributions declare, by name of the library, in the order of `sys.path`. The first distribution of a name
    hides later ones, as for Python. One whose metadata cannot be read declares nothing."""
    global _kept
    state = tuple((path, _changed(path)) for path in sys.path)
    if _kept is None or _kept[0] != state:
        from importlib.metadata import distributions

        _kept = state, _rows(distributions())
    return _kept[1]


def _changed(path: str) -> int:
    """Return when a folder was last changed, 0 for what is none."""
    try:
        return os.stat(path or ".").st_mtime_ns
    except OSError:
        return 0


def _rows(found: Iterable[Distribution]) -> dict[str, list[Declared]]:
    rows: dict[str, list[Declared]] = {}
    seen: set[str] = set()
    for distribution in found:
        try:
            points = distribution.entry_points.select(group=GROUP)
            if not points:
                continue
            named, version = str(distribution.metadata["Name"]), str(distribution.version)
        except Exception:  # a file of somebody else's distribution: whatever is wrong with it must not break every compilation
            continue
        key = re.sub(r"[-_.]+", "-", named).lower()
        if key in seen:
            continue
        seen.add(key)
        for point in points:
            rows.setdefault(point.name, []).append(Declared(_plain(named), _plain(version), point.value, distribution))
    return rows


def _plain(text: str) -> str:
    """Return a text of metadata as a message and an image can hold it."""
    return "".join(c for c in text if c.isascii() and c.isprintable())[:100] or "?"


def _folder(name: str, row: Declared) -> str:
    """Return the folder of the package of a row as a real path. Raise NoLibrary."""
    wrong = f"the library `{name}` of {row.distribution} {row.version} cannot be used: "
    if _PACKAGE.fullmatch(row.package) is None:
        raise NoLibrary("E1004", f"{wrong}its entry point {ascii(row.package)} names no package", _to_author(name))
    # Where the distribution was unpacked; for one that is installed editable the import system knows the place.
    beside = os.path.realpath(str(row.source.locate_file(row.package.replace(".", "/"))))
    places = [beside] if os.path.isdir(beside) else _search(row.package)
    if places is None:
        raise NoLibrary("E1004", f"{wrong}there is no package {row.package}", "install it again, or tell its author")
    folders = sorted({os.path.realpath(place) for place in places if os.path.isdir(place)})
    if not folders:
        why = "lies in an archive" if places else "is a module and no package"
        raise NoLibrary("E1004", f"{wrong}{row.package} {why}: its sources must be files of a folder", _to_author(name))
    if len(folders) > 1:
        raise NoLibrary("E1004", f"{wrong}the package {row.package} is spread over {len(folders)} folders", _to_author(name))
    return folders[0]


def _to_author(name: str) -> str:
    return f"its author has to write `{name} = PACKAGE`, a folder of .conc files, under [project.entry-points.\"{GROUP}\"]"


def _search(package: str) -> list[str] | None:
    """Return the folders of a package, [] for a module that is none; None where there is nothing. The finders of `sys.path` and
    of editable installations are asked for the first name of its path, below it folders count; nothing is imported."""
    first, *rest = package.split(".")
    specs = (finder.find_spec(first, None, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    try:
        spec = next((spec for spec in specs if spec is not None), None)
        places = None if spec is None else list(spec.submodule_search_locations or ())
    except Exception:  # of a finder that somebody has installed
        return None
    for name in rest:
        inside = [os.path.join(place, name) for place in places or ()]
        places = [path for path in inside if os.path.isdir(path)]
        if not places and not any(os.path.isfile(f"{path}.py") for path in inside):
            return None
    return places
