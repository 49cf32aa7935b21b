"""Libraries as the compiler sees them (P-3.1): `lib::NAME` is a folder of sources that the caller has found.

Hands on `Library`, `NoLibrary` and `FindLibrary` to whoever hands libraries in; `no_libraries`, the finder of a program that
has none; `Loaded`, what `project` has read of one, to the phases; `library_path`, the name of a file of a library, and
`attributed`, which makes of diagnostics in files of libraries what the user of a library is told; and HEAD, the word that paths
into libraries begin with, to `project`, the resolver and the language server. Nothing is looked for and no file is read here:
`installed.py` looks into the Python environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from .diagnostics import Diagnostic

HEAD = "lib"  # the first name of a path into a library, where no item of the program has it


@dataclass(slots=True)
class Library:
    """A library that was found: its `name` behind `lib::`, the `version` and name of the `distribution` that declares it, and
    `read`, which returns the bytes of its files by their name relative to its folder as a `project.Reader` does. `folder` is that
    folder as an absolute path, "" where there is none on disk."""

    name: str
    version: str
    distribution: str
    read: Callable[[str], bytes | None]
    folder: str = ""


class NoLibrary(Exception):
    """There is no such library, or it cannot be used. `code` is E1004, or E1012 where two distributions declare it; `message` and
    `help` are those of the diagnostic."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


# Returns the library of a name, an identifier. Raises NoLibrary.
FindLibrary = Callable[[str], Library]


def no_libraries(name: str) -> Library:
    """Raise NoLibrary (E1004): the finder where no environment is looked at."""
    raise NoLibrary("E1004", f"there is no library `{name}`", "libraries are not looked for here")


@dataclass(slots=True)
class Loaded:
    """What was read of a library: `root` is the file of its root module, `mod.conc` in its folder, None where it has none;
    `roots` are the files of the modules beside it that paths name, by that name. Names of files are those of `library_path`."""

    library: Library
    root: str | None = None
    roots: dict[str, str] = field(default_factory=dict)


def library_path(library: str, name: str = "") -> str:
    """Return what a file of a library, `name` relative to its folder, is called in positions: `lib/NAME/path.conc`."""
    return f"{HEAD}/{library}/{name}" if name else f"{HEAD}/{library}"


def attributed(
    diagnostics: Iterable[Diagnostic], files: Mapping[str, str], libraries: Mapping[str, Loaded]
) -> Iterator[Diagnostic]:
    """Yield the diagnostics; an error in a file of a library says whose it is, and warnings there, which its author has to mend,
    are left out. `files` has by file the name of its library, `libraries` those libraries by name."""
    for diagnostic in diagnostics:
        name = files.get(diagnostic.span.file)
        if name is None:
            yield diagnostic
        elif diagnostic.is_error:
            library = libraries[name].library
            yield replace(diagnostic, message=f"in the library `{name}` {library.version}: {diagnostic.message}")
