"""Where a program's files lie: the project root on disk, and reading under it only (L-8.1.1, O-9.1, G-5.3).

Hands on `Location`, which names the compiled file relative to its root and reads the others. The only place of the compiler
that touches files, with `manifest`. Must not know: what a source holds; of the manifest more than its entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .diagnostics import Diagnostics
from .manifest import Manifest, MemoryTables, find_manifest
from .source import Source, Span
from .syntax import ast
from .syntax.lexer import TokenList, lex
from .syntax.parse import MAX_BYTES, decode_source, parse_tokens

# ----------------------------------------------------------------
# The files of a program: from the compiled file to every module it names, lexed and parsed (L-8.1, L-4.1.2).
#
# Hands on `Project`, the trees with the file behind each `mod name;` and behind each module of the project root. Files are read
# through a function of the caller; no file is touched here.


class Refused(Exception):
    """A file that exists but must not or cannot be read; the text says why."""


# Gives the bytes of a file by its name relative to the project root, parts joined by `/`; None if there is none.
Reader = Callable[[str], bytes | None]


def no_files(name: str) -> bytes | None:
    """The reader of a program of one file."""
    return None


@dataclass(slots=True)
class Project:
    """The parsed files by name. `declared`: the file of each `mod name;` that has one; `roots`: those of modules of the
    project root; `rejected`: for the checking phase, what is wrong with the files of modules; `agents`: what the manifest says of
    agents by name, None without a manifest."""

    main: str
    trees: dict[str, ast.Program] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    declared: dict[ast.Module, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    connections: dict[str, dict[str, object]] = field(default_factory=dict)  # those of the manifest, with their fields
    rejected: list[tuple[str, Span, str, str]] = field(default_factory=list)  # code, place, message, help
    agents: Mapping[str, Mapping[str, object]] | None = None
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # MCP servers of the manifest, with their fields
    memory_tables: MemoryTables = field(default_factory=MemoryTables)
    manifest: Manifest | None = None

    @classmethod
    def single(cls, tree: ast.Program, source: Source) -> Project:
        """A program of one parsed file."""
        return cls(source.name, {source.name: tree}, {source.name: source})

    def configure(self, manifest: Manifest) -> None:
        """Take over what the manifest says of the names of the program."""
        self.connections, self.agents, self.servers = manifest.connections, manifest.agents, manifest.servers
        self.memory_tables = manifest.memory_tables
        self.manifest = manifest


def load(main: str, data: bytes, read: Reader, diagnostics: Diagnostics) -> Project:
    """Reads, lexes and parses the file `main` and all it leads to. Of the two phases the first with an error is reported."""
    return _Loader(main, read).run(data, diagnostics)


class _Loader:
    def __init__(self, main: str, read: Reader) -> None:
        self.project = Project(main)
        self.read = read
        self.lexical = Diagnostics()
        self.syntactic = Diagnostics()
        self.waiting: list[tuple[str, bytes]] = []
        self.absent: set[str] = set()

    def run(self, data: bytes, diagnostics: Diagnostics) -> Project:
        self.waiting.append((self.project.main, data))
        self.project.sources[self.project.main] = Source(self.project.main, "")
        while self.waiting:
            self._file(*self.waiting.pop(0))
        phases = [self.lexical] if self.lexical.has_errors else [self.lexical, self.syntactic]
        for phase in phases:
            for found in phase.found:
                diagnostics.add(found)
        return self.project

    def _file(self, name: str, data: bytes) -> None:
        source = decode_source(name, data, self.lexical)
        if source is None:  # the diagnostic still points into the text as far as it can be read
            self.project.sources[name] = Source(name, data.decode("utf-8", "replace"))
            return
        self.project.sources[name] = source
        before = len(self.lexical.found)
        tokens = lex(source, self.lexical)
        if any(found.is_error for found in self.lexical.found[before:]):
            return
        heads = path_heads(tokens) if self.read is not no_files else Heads()
        tree = self.project.trees[name] = parse_tokens(source, tokens, self.syntactic)
        self._declared_modules(name, tree.items)
        own = set(_declared_names(tree.items)) if heads.plain or heads.imported else set()
        for at in heads.wanted(tokens, own):
            self._root_module(str(tokens.values[at]), Span(name, tokens.starts[at], tokens.ends[at]))

    # ------------------------------------------------------------ which files

    def _declared_modules(self, file: str, items: Iterable[ast.TopLevel]) -> None:
        """`mod name;` stands for a file beside the declaring one (L-8.1.2)."""
        folder = file.rpartition("/")[0]
        for item in items:
            if not isinstance(item, ast.Module):
                continue
            if item.items is not None:
                self._declared_modules(file, item.items)
                continue
            found = self._module_file(folder, item.name.text, item.name.span)
            if found is not None:
                self.project.declared[item] = found

    def _root_module(self, name: str, span: Span) -> None:
        """A module of the project root needs no `mod` (L-8.1.2)."""
        if name in self.project.roots or name in self.absent:
            return
        found = self._module_file("", name, span)
        if found is None:
            self.absent.add(name)
        else:
            self.project.roots[name] = found

    def _module_file(self, folder: str, name: str, span: Span) -> str | None:
        first, second = module_files(folder, name)
        found = [place for place in (first, second) if self._exists(place, span)]
        message = f"both `{first}` and `{second}` exist"
        if len(found) == 2 and not any(known == message for _, _, known, _ in self.project.rejected):
            self.project.rejected.append(("E1011", span, message, "delete one of them"))
        return found[0] if found else None

    def _exists(self, name: str, span: Span) -> bool:
        """Whether the file is there; one met for the first time is queued."""
        if name in self.project.sources:
            return True
        try:
            data = self.read(name)
        except Refused as refused:
            self.project.rejected.append(("E1004", span, f"`{name}` cannot be read: {refused}", "move it into the project"))
            return False
        if data is None:
            return False
        self.project.sources[name] = Source(name, "")
        self.waiting.append((name, data))
        return True


def module_files(folder: str, name: str) -> tuple[str, str]:
    """Where the text of a module may stand."""
    prefix = f"{folder}/" if folder else ""
    return f"{prefix}{name}.conc", f"{prefix}{name}/mod.conc"


def _declared_names(items: Iterable[ast.TopLevel]) -> Iterable[str]:
    """Names a file's modules declare: a path that begins with one of them means that, not a module of the project root."""
    for item in items:
        name = getattr(item, "name", None)
        if name is not None:
            yield name.text
        if isinstance(item, ast.Module) and item.items is not None:
            yield from _declared_names(item.items)


# ---------------------------------------------------------------- names that may be modules of the project root


@dataclass(slots=True)
class Heads:
    """Token numbers of names that may be modules of the project root. `plain`: first segments of paths, which an import or a
    declaration of the file may mean as well; `imported`: those of a `use`; `rooted`: names after `crate` or `super`. `bound`:
    names that a `use` brings in."""

    plain: list[int] = field(default_factory=list)
    imported: list[int] = field(default_factory=list)
    rooted: list[int] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)

    def wanted(self, tokens: TokenList, own: set[str]) -> list[int]:
        """Those that the file itself, which declares `own`, gives no other meaning; in source order."""
        values = tokens.values
        plain = [at for at in self.plain if values[at] not in own and values[at] not in self.bound]
        return sorted((*self.rooted, *plain, *(at for at in self.imported if values[at] not in own)))


def path_heads(tokens: TokenList) -> Heads:
    """One pass over the tokens of a file."""
    heads = Heads()
    types, at, last = tokens.types, 0, len(tokens.types) - 1
    while at < last:
        if types[at] == "USE":
            at = _imported(tokens, at + 1, heads)
        elif types[at] == "IDENT" and types[at + 1] == "COLONCOLON":
            at = _path(tokens, at, heads)
        else:
            at += 1
    return heads


def _imported(tokens: TokenList, start: int, heads: Heads) -> int:
    types, at = tokens.types, start
    relative = types[start] == "SELF" or tokens.values[start] in ("crate", "super")
    while at < len(types) - 1 and types[at] != "SEMI":
        if types[at] == "IDENT":
            if relative:
                heads.rooted.append(at)
            elif at == start:
                heads.imported.append(at)
            if at > start and types[at + 1] in ("SEMI", "COMMA", "RBRACE"):
                heads.bound.add(str(tokens.values[at]))
        at += 1
    return at


def _path(tokens: TokenList, start: int, heads: Heads) -> int:
    """Notes the head of a path and goes behind the path."""
    types, values, at = tokens.types, tokens.values, start
    relative = values[start] in ("crate", "super")
    if not relative:
        heads.plain.append(start)
    while types[at] == "COLONCOLON" or (types[at] == "IDENT" and types[at + 1] == "COLONCOLON"):
        at += 1
        if relative and types[at] == "IDENT" and values[at] != "super":
            heads.rooted.append(at)
            relative = False
    return max(at, start + 1)


# ----------------------------------------------------------------

@dataclass(slots=True)
class Location:
    """The root, an absolute path without links, the compiled file relative to it, parts joined by `/`, and the manifest if there
    is one."""

    root: str
    file: str
    manifest: Manifest | None = None

    def read(self, name: str) -> bytes | None:
        """A file under the root; None if there is none. Links that lead out of the root are refused (G-5.3)."""
        path = os.path.join(self.root, *name.split("/"))
        real = os.path.realpath(path)
        if not os.path.isfile(real) or not _spelled_so(path):
            return None
        if os.path.commonpath([self.root, real]) != self.root:
            raise Refused("it lies outside the project root")
        try:
            with open(real, "rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise Refused(error.strerror or str(error)) from None


def _spelled_so(path: str) -> bool:
    """Whether the directory lists the file under just this name: a system that ignores case must not change a program."""
    folder, name = os.path.split(path)
    if name == "mod.conc" and not _spelled_so(folder):
        return False
    return name in os.listdir(folder)


def locate(path: str) -> Location:
    """The project of a source file: its root is the directory of the manifest's entry, else of the file itself."""
    real = os.path.realpath(path)
    own = os.path.dirname(real)
    found = find_manifest(own)
    manifest = None if found is None else Manifest(found)
    root = own
    if manifest is not None and manifest.entry is not None:
        folder = os.path.dirname(os.path.realpath(os.path.join(manifest.folder, manifest.entry)))
        root = folder if os.path.commonpath([folder, real]) == folder else own
    return Location(root, os.path.relpath(real, root).replace(os.sep, "/"), manifest)
