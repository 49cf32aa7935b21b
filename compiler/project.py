"""The files of a program: from the compiled file to every module it names, lexed and parsed; and where they lie on disk
(L-8.1, O-9.1).

Hands on `load` to the pipeline, to `roots` (which programs a folder holds) and to the language server, with `no_files` and the
type `Parser` to the first two, the type `Reader` to the first and `Refused` to the last; `parse_file` to the pipeline,
`incremental` and the REPL, `ParsedFile` to the latter two and `roots`; `locate` and `Location` to the command line, the API,
`roots` and the language server; `read_below` to `installed`, which finds libraries; `Project` to resolver, checker,
`incremental` and language server; and `module_files` to the resolver. `load` returns a `Project` with the trees and with the
file behind each module; it touches no file itself, but reads through a function of the caller. `locate` returns a `Location`,
which reads files under the project root only (G-5.3). Where the file of a module lies is said by `module_files`, which names may
be modules by `Heads`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .diagnostics import Diagnostic, Diagnostics
from .libraries import HEAD, FindLibrary, Loaded, NoLibrary, library_path, no_libraries
from .manifest import Manifest, MemoryTables
from .manifest_file import find_manifest
from .source import Source, Span
from .syntax import ast
from .syntax.lexer import TokenList, lex
from .syntax.parse import MAX_BYTES, decode_source, parse_tokens


class Refused(Exception):
    """A file that exists but must not or cannot be read; the text says why."""


# Returns the bytes of a file by its name relative to the project root, parts joined by `/`; None if there is none. Raises Refused
# for a file that must not or cannot be read.
Reader = Callable[[str], bytes | None]


def no_files(name: str) -> bytes | None:
    """Return None: the reader of a program of one file."""
    return None


@dataclass(slots=True)
class ParsedFile:
    """What lexing and parsing made of one file. `lexical` and `syntactic` are the diagnostics of the two. `is_readable`: it was
    decoded and has no lexical error, so that it has a tree, unless a cache keeps that; of any other file `modules`, `heads` and
    `libraries` are empty. `modules` are the names of its lines `mod name;`; `heads` are the names that may be modules of the
    project root, with their places, in source order; `libraries` are the two names behind each `lib::`, with the place of the
    first, the second "" where there is none."""

    source: Source
    lexical: list[Diagnostic] = field(default_factory=list)
    syntactic: list[Diagnostic] = field(default_factory=list)
    is_readable: bool = False
    tree: ast.Program | None = None
    modules: list[ast.Ident] = field(default_factory=list)
    heads: list[tuple[str, Span]] = field(default_factory=list)
    libraries: list[tuple[str, str, Span]] = field(default_factory=list)


def parse_file(name: str, data: bytes, with_heads: bool = True) -> ParsedFile:
    """Lex and parse the bytes of the file `name`. What is wrong stands in the result; nothing is raised.
    Without `with_heads` no `heads` are looked for: nothing could read the files that they lead to."""
    lexical, syntactic = Diagnostics(), Diagnostics()
    source = decode_source(name, data, lexical)
    if source is None:  # the diagnostic still points into the text as far as it can be read
        return ParsedFile(Source(name, data.decode("utf-8", "replace")), lexical.found)
    tokens = lex(source, lexical)
    if lexical.has_errors:
        return ParsedFile(source, lexical.found)
    heads = path_heads(tokens) if with_heads else Heads()
    tree = parse_tokens(source, tokens, syntactic)
    own = set(_declared_names(tree.items)) if heads.plain or heads.imported else set()
    rows = heads.candidates(tokens, own)
    places = [(str(tokens.values[at]), Span(name, tokens.starts[at], tokens.ends[at])) for at in rows]
    libraries = [
        (str(tokens.values[at]), "" if item is None else str(tokens.values[item]), Span(name, tokens.starts[at], tokens.ends[at]))
        for row in heads.heads_of_libraries(tokens, rows)
        for at, item in library_names(tokens, row)
    ]
    return ParsedFile(source, lexical.found, syntactic.found, True, tree, list(_module_lines(tree.items)), places, libraries)


def _module_lines(items: Iterable[ast.TopLevel]) -> Iterator[ast.Ident]:
    """Yield the names of all `mod name;`. A module written out in braces has no file, but modules inside it may."""
    return (item.name for item in ast.items_of(items) if isinstance(item, ast.Module) and item.items is None)


# Returns what `parse_file` does, for the same arguments; it may know the file from an earlier check.
Parser = Callable[[str, bytes, bool], ParsedFile]


@dataclass(slots=True)
class Project:
    """The parsed files by name, with their trees and texts, and what the manifest says that their check needs. `main` is the name
    of the root file; `trees` lacks files with lexical errors; `declared` has the file of each `mod name;` that has one, by the
    place of the name; `roots` the files of modules of the project root that paths name, by that name; `rejected` is what the
    checking phase reports about the files of modules; `agents` is what the manifest says of agents by name, None without a
    manifest. `libraries` are those that paths name, by name, `missing` why there is none of a name, and `file_libraries` the
    library of each file that belongs to one."""

    main: str
    trees: dict[str, ast.Program] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    files: dict[str, ParsedFile] = field(default_factory=dict)
    declared: dict[Span, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    connections: dict[str, dict[str, object]] = field(default_factory=dict)  # those of the manifest, with their fields
    rejected: list[tuple[str, Span, str, str]] = field(default_factory=list)  # code, place, message, help
    agents: Mapping[str, Mapping[str, object]] | None = None
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # MCP servers of the manifest, with their fields
    memory_tables: MemoryTables = field(default_factory=MemoryTables)
    manifest: Manifest | None = None
    libraries: dict[str, Loaded] = field(default_factory=dict)
    missing: dict[str, NoLibrary] = field(default_factory=dict)
    file_libraries: dict[str, str] = field(default_factory=dict)

    @classmethod
    def single(cls, tree: ast.Program, source: Source) -> Project:
        """Return the project of one parsed file: its tree and text, and nothing of other files or a manifest."""
        return cls(source.name, {source.name: tree}, {source.name: source})

    @property
    def is_readable(self) -> bool:
        """Return whether every file could be lexed, and so has a tree: names of one without would all be unknown."""
        return all(file.is_readable for file in self.files.values())

    def configure(self, manifest: Manifest) -> None:
        """Take over what the manifest says of the connections, agents, servers and memories of the program."""
        self.connections, self.agents, self.servers = manifest.connections, manifest.agents, manifest.servers
        self.memory_tables = manifest.memory_tables
        self.manifest = manifest


def load(
    main: str,
    data: bytes,
    read: Reader,
    diagnostics: Diagnostics,
    parse: Parser = parse_file,
    find_library: FindLibrary = no_libraries,
) -> Project:
    """Read, lex and parse the file `main`, whose bytes are `data`, and all files it leads to, in libraries too. What lexing finds
    is reported to `diagnostics`; what parsing finds only if lexing found no error (L-4.1.2). Files of modules that were refused
    (E1004) or are ambiguous (E1011) stand in `Project.rejected`. What `read` raises passes through, except Refused; so does what
    `find_library` raises, except NoLibrary."""
    return _Loader(main, read, parse, find_library).run(data, diagnostics)


class _Loader:
    """One loading: a queue of files, each of which may add others."""

    def __init__(self, main: str, read: Reader, parse: Parser, find_library: FindLibrary) -> None:
        self.project = Project(main)
        self.read = read
        self.parse = parse
        self.find_library = find_library
        self.lexical = Diagnostics()
        self.syntactic = Diagnostics()
        self.waiting: list[tuple[str, bytes]] = []
        self.absent: set[str] = set()

    def run(self, data: bytes, diagnostics: Diagnostics) -> Project:
        """Return the project, read from the root file on."""
        self.waiting.append((self.project.main, data))
        self.project.sources[self.project.main] = Source(self.project.main, "")
        # First in, first out: files are reported in the order in which they are named.
        while self.waiting:
            self._file(*self.waiting.pop(0))
        phases = [self.lexical] if self.lexical.has_errors else [self.lexical, self.syntactic]
        for phase in phases:
            for diagnostic in phase.found:
                diagnostics.add(diagnostic)
        return self.project

    def _file(self, name: str, data: bytes) -> None:
        # Without anything to read from there is nothing that a head could lead to.
        with_heads = self.read is not no_files or self.find_library is not no_libraries
        parsed = self.project.files[name] = self.parse(name, data, with_heads)
        self.project.sources[name] = parsed.source
        for diagnostic in parsed.lexical:
            self.lexical.add(diagnostic)
        for diagnostic in parsed.syntactic:
            self.syntactic.add(diagnostic)
        if parsed.tree is not None:
            self.project.trees[name] = parsed.tree
        library = self.project.libraries.get(self.project.file_libraries.get(name, ""))
        folder = name.rpartition("/")[0]
        for module in parsed.modules:  # their files stand beside the declaring one (L-8.1.2)
            module_file = self._module_file(folder, module.text, module.span, library)
            if module_file is not None:
                self.project.declared[module.span] = module_file
        for head, span in parsed.heads:
            self._root_module(head, span, library)
        for named, item, span in parsed.libraries:
            self._of_library(named, item, span, library)

    def _root_module(self, name: str, span: Span, library: Loaded | None) -> None:
        """Find the file of a module of the root of the project, or of a library, which needs no `mod` (L-8.1.2)."""
        folder = "" if library is None else library_path(library.library.name)
        roots = self.project.roots if library is None else library.roots
        key = f"{folder}/{name}" if folder else name
        # Each name is looked for once, however often it is used.
        if name in roots or key in self.absent:
            return
        file = self._module_file(folder, name, span, library)
        if file is None:
            self.absent.add(key)
        else:
            roots[name] = file

    def _of_library(self, name: str, item: str, span: Span, home: Loaded | None) -> None:
        """Find the library that a path of a file of `home` begins with, and the file of its module `item`. Where the project, or
        the library around the file, has a module `lib`, the path means that (P-3.1)."""
        if HEAD in (self.project.roots if home is None else home.roots) or name in self.project.missing:
            return
        loaded = self.project.libraries.get(name)
        if loaded is None:
            try:
                loaded = self.project.libraries[name] = Loaded(self.find_library(name))
            except NoLibrary as missing:
                self.project.missing[name] = missing
                return
            root = library_path(name, "mod.conc")
            loaded.root = root if self._exists(root, span, loaded) else None
        if item:
            self._root_module(item, span, loaded)

    def _module_file(self, folder: str, name: str, span: Span, library: Loaded | None) -> str | None:
        """Return the file of a module, or None; report E1011 once where both spellings exist."""
        first, second = module_files(folder, name)
        files = [place for place in (first, second) if self._exists(place, span, library)]
        message = f"both `{first}` and `{second}` exist"
        if len(files) == 2 and not any(reported == message for _, _, reported, _ in self.project.rejected):
            self.project.rejected.append(("E1011", span, message, "delete one of them"))
        return files[0] if files else None

    def _exists(self, name: str, span: Span, library: Loaded | None) -> bool:
        """Return whether the file exists. One that was not read before is queued."""
        home = "" if library is None else library.library.name
        if name in self.project.sources and self.project.file_libraries.get(name, "") == home:
            return True
        try:
            data = self._bytes(name, library)
            if data is not None and name in self.project.sources:
                raise Refused(f"another file of the program is called `{name}` too")
        except Refused as refused:
            advice = "move it into the project"
            if library is not None:
                advice = f"install another version of {library.library.distribution}"
            self.project.rejected.append(("E1004", span, f"`{name}` cannot be read: {refused}", advice))
            return False
        if data is None:
            return False
        self.project.sources[name] = Source(name, "")
        if library is not None:
            self.project.file_libraries[name] = home
        self.waiting.append((name, data))
        return True

    def _bytes(self, name: str, library: Loaded | None) -> bytes | None:
        if library is None:
            return self.read(name)
        return library.library.read(name.removeprefix(library_path(library.library.name) + "/"))


def module_files(folder: str, name: str) -> tuple[str, str]:
    """Return the two files in which the text of a module may stand, relative to the project root as `folder` is: `name.conc`,
    then `name/mod.conc`."""
    prefix = f"{folder}/" if folder else ""
    return f"{prefix}{name}.conc", f"{prefix}{name}/mod.conc"


def _declared_names(items: Iterable[ast.TopLevel]) -> Iterable[str]:
    """Yield the names that the items of a file declare, those inside its modules included: a path that begins with one of them
    means that, not a module of the project root."""
    for item in ast.items_of(items):
        name = getattr(item, "name", None)
        if name is not None:
            yield name.text


@dataclass(slots=True)
class Heads:
    """Token rows of names that may be modules of the project root. `plain`: first segments of paths, which an import or a
    declaration of the file may mean as well; `imported`: those of a `use`; `rooted`: the first name behind `crate` or `super`, in
    a `use` also behind `self`, and each first name of a group there. `bound` are the names that a `use` brings in by a path of
    several segments."""

    plain: list[int] = field(default_factory=list)
    imported: list[int] = field(default_factory=list)
    rooted: list[int] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)

    def candidates(self, tokens: TokenList, own: set[str]) -> list[int]:
        """Return the rows to which the file, which declares the names `own`, gives no other meaning, in the order of the source:
        all of `rooted`, those of `imported` that are not in `own`, those of `plain` that are in neither `own` nor `bound`."""
        values = tokens.values
        plain = [at for at in self.plain if values[at] not in own and values[at] not in self.bound]
        return sorted((*self.rooted, *plain, *(at for at in self.imported if values[at] not in own)))

    def heads_of_libraries(self, tokens: TokenList, candidates: Iterable[int]) -> list[int]:
        """Return those rows of `candidates` with which paths into libraries may begin."""
        rooted = set(self.rooted)
        return [at for at in candidates if tokens.values[at] == HEAD and at not in rooted]


def library_names(tokens: TokenList, start: int) -> Iterator[tuple[int, int | None]]:
    """Yield the rows of the name of a library and of the first name behind it, None without one, for each path of the `lib` at
    row `start`: several where a `use` has groups, as `lib::{a::b, c::{d, e}}`. A path may come twice."""
    types, at = tokens.types, start + 1
    path: list[int] = []  # rows of the names behind `lib`
    groups: list[int] = []  # of each group around: the length of the path before it
    while True:
        while types[at] == "COLONCOLON" and types[at + 1] == "IDENT":
            path.append(at + 1)
            at += 2
        if types[at] == "COLONCOLON" and types[at + 1] == "LBRACE":
            groups.append(len(path))
            at += 1
        else:
            if path:
                yield path[0], path[1] if len(path) > 1 else None
            at = _end_of_part(types, at) if groups else at
            while groups and types[at] == "RBRACE":
                groups.pop()
                at += 1
            if not groups or types[at] != "COMMA":
                return
        at += 1  # behind the `{` or `,`
        del path[groups[-1] :]
        if types[at] == "IDENT":
            path.append(at)
            at += 1


def _end_of_part(types: Sequence[str], at: int) -> int:
    """Return the row of what ends a part of a group, behind `as name` or `::*`; of the last token where nothing does."""
    while at < len(types) - 1 and types[at] not in ("COMMA", "RBRACE", "SEMI"):
        at += 1
    return at


def path_heads(tokens: TokenList) -> Heads:
    """Return the heads of all paths with `::` and of every `use` of a file, in one pass over its tokens. It runs before parsing,
    so that the files of a program are known even where one does not parse."""
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
    """Note the heads of one `use`; return the row behind it."""
    types, values, at = tokens.types, tokens.values, start
    relative = _is_relative(tokens, start)
    depth = 0  # of groups
    while at < len(types) - 1 and types[at] != "SEMI":
        before = types[at - 1]
        depth += (types[at] == "LBRACE") - (types[at] == "RBRACE")
        if types[at] == "IDENT":
            # Behind `crate::super::` the first name, and each first one of a group there.
            behind = at - 2 if before == "COLONCOLON" and depth == 0 else -1
            if before in ("LBRACE", "COMMA") and depth == 1:
                behind = _group_of(types, start) - 2
            if relative and behind >= start and _is_relative(tokens, behind) and not _is_relative(tokens, at):
                heads.rooted.append(at)
            elif at == start and not relative:
                heads.imported.append(at)
            if at > start and types[at + 1] in ("SEMI", "COMMA", "RBRACE"):
                heads.bound.add(str(values[at]))
        at += 1
    return at


def _is_relative(tokens: TokenList, row: int) -> bool:
    return tokens.types[row] == "SELF" or tokens.values[row] in ("crate", "super")


def _group_of(types: Sequence[str], start: int) -> int:
    """Return the row of the first `{` of a `use`."""
    return next(row for row in range(start, len(types)) if types[row] == "LBRACE")


def _path(tokens: TokenList, start: int, heads: Heads) -> int:
    """Note the head of a path; return the row behind the path."""
    types, values, at = tokens.types, tokens.values, start
    # `super::super::a`: the first name that is no `super` is the head.
    relative = values[start] in ("crate", "super")
    if not relative:
        heads.plain.append(start)
    while types[at] == "COLONCOLON" or (types[at] == "IDENT" and types[at + 1] == "COLONCOLON"):
        at += 1
        if relative and types[at] == "IDENT" and values[at] != "super":
            heads.rooted.append(at)
            relative = False
    return max(at, start + 1)


@dataclass(slots=True)
class Location:
    """Where a program lies. `root` is an absolute path without links; `file` is the compiled file relative to it, parts
    joined by `/`; `manifest` is that of the project, or None."""

    root: str
    file: str
    manifest: Manifest | None = None

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file by its name relative to the root, or None, and raise Refused, as `read_below` does."""
        return read_below(self.root, name, "the project root")


def read_below(root: str, name: str, what: str) -> bytes | None:
    """Return the bytes of a file by its name relative to a folder, parts joined by `/`, at most MAX_BYTES + 1 of them; None if
    there is none that is spelt just so. `root` is a real path, `what` the words for it. Raise Refused for a file outside of the
    folder, by links or by `..` (G-5.3), and for files that cannot be read or whose directory cannot be listed."""
    path = os.path.join(root, *name.split("/"))
    real = os.path.realpath(path)
    try:
        if not os.path.isfile(real) or not _has_this_spelling(path):
            return None
        # Links were followed before this check that the file lies under the root.
        if os.path.commonpath([root, real]) != root:
            raise Refused(f"it lies outside {what}")
        with open(real, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Refused(error.strerror or str(error)) from None


def _has_this_spelling(path: str) -> bool:
    """Return whether the directory lists the file under just this name: a file system that ignores case must not change
    what a program means."""
    folder, name = os.path.split(path)
    if name == "mod.conc" and not _has_this_spelling(folder):
        return False
    return name in os.listdir(folder)


def locate(path: str) -> Location:
    """Return the project of a source file, which need not exist. Its root is the directory of the manifest's entry if it has one
    and the file lies below that directory, else the directory of the file. What is wrong with the manifest stands in
    `Manifest.diagnostics`."""
    real = os.path.realpath(path)
    folder_of_file = os.path.dirname(real)
    path_of_manifest = find_manifest(folder_of_file)
    manifest = None if path_of_manifest is None else Manifest(path_of_manifest)
    root = folder_of_file
    if manifest is not None and manifest.entry is not None:
        folder = os.path.dirname(os.path.realpath(os.path.join(manifest.folder, manifest.entry)))
        root = folder if os.path.commonpath([folder, real]) == folder else folder_of_file
    return Location(root, os.path.relpath(real, root).replace(os.sep, "/"), manifest)
