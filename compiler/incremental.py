"""Checks that use the results of earlier checks, for the language server and for `check` of several files.

Hands on `CheckCache` to the pipeline, the checker, the language server, the command line and the plugin of pytest, `Reuse` to
resolver and checker, and `ImportKey` to the resolver. A caller that checks more than once owns a `CheckCache` and hands it to
`compile_source`, `check_source` or `examine_project`. The resolver and the checker get from it, for one check, a `Reuse`, whose
imports are named by an `ImportKey`. The result of checking the bodies of a file depends on the text of the file, on the
manifest, and on the interfaces of the files that it reaches, that is their tokens without comments and without the bodies that
can be left out. While none of these change, those bodies are left out of the tree of the file, and their warnings come from a
`Record`. Declarations, and bodies that can have an effect far away (`FAR_REACHING`), are checked each time; `_describe` tells
which can be left out. The diagnostics are the same as without a cache. An image cannot be made, since that needs every body. No
file is read here, and nothing of a program is judged: the check itself is a function of the caller.

The check of one body sometimes looks into the body of a function that it calls, for example to find out whether a function of a
memory's step asks the host. That is called a *question* of the file here. A question may lead into a body that was left out:
then `BodyNeeded` is raised, and `CheckCache.examine` checks again with that file whole.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Protocol, TypeVar

from .diagnostics import Diagnostic, Diagnostics
from .project import ParsedFile, Project, parse_file
from .resolver.names import TOOL_NAMES
from .source import Source
from .syntax import ast
from .syntax.lexer import lex
from .syntax.parse import parse

# A body with one of these names is checked each time. It may make a memory, whose name is compared with those of all others,
# or be the first to name a tool of the library, which joins the tools of the program. So is one with `E::parse`, which becomes
# a member of the enum E when a program names it.
FAR_REACHING = frozenset((*TOOL_NAMES, "Memory", "MemoryRef"))
_WORD = re.compile(r"[A-Za-z_]\w*")
ImportKey = tuple[str, int]  # a file, and which of its imports outside of blocks


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# One file.


@dataclass(slots=True)
class CachedFile(ParsedFile):
    """A parsed file with what its text says about what it depends on.

    `bodies` are the places of the bodies that can be left out, as offsets of their braces in characters, sorted; `skeleton` is
    the text with blanks in them, of the same length. `digest` is the hash of the bytes of the file, `interface` that of its
    tokens without comments and without those bodies. `words` are all words of the whole text, also those in strings and comments;
    `interface_words` those of the tokens that `interface` is made of."""

    name: str = ""
    digest: bytes = b""
    interface: bytes = b""
    words: frozenset[str] = frozenset()
    interface_words: frozenset[str] = frozenset()
    bodies: list[tuple[int, int]] = field(default_factory=list)
    skeleton: str = ""
    interface_model: ast.Program | None = None  # what `interface_tree` copies
    inline_modules: set[str] = field(default_factory=set)
    is_wide: bool = False  # it has an item of WIDE
    asks_all: bool = False  # one of its bodies asks which tools the program has

    def fresh_tree(self) -> ast.Program:
        """Return a tree that no phase has annotated. The parser's own is handed out once."""
        tree, self.tree = self.tree, None
        return tree if tree is not None else parse(self.source, Diagnostics())

    def interface_tree(self) -> ast.Program:
        """Return a tree that no phase has annotated, without the bodies that can be left out; everything else stands where it
        stands in the file."""
        if self.interface_model is None:
            self.interface_model = parse(Source(self.name, self.skeleton), Diagnostics())
            places = set(self.bodies)
            for function in _functions(self.interface_model):
                if function.body is not None and (function.body.span.start, function.body.span.end) in places:
                    function.omitted, function.body = function.body.span, None
        try:
            return ast.copy_tree(self.interface_model)
        except RecursionError:
            tree, self.interface_model = self.interface_model, None
            return tree


def _functions(tree: ast.Program) -> Iterator[ast.Function]:
    """Yield the functions and methods of a file whose bodies nothing but calls depends on. A default method of a trait is
    none: that it has a body is a part of the trait."""
    for item in ast.items_of(tree.items):
        if isinstance(item, ast.Function):
            yield item
        elif isinstance(item, (ast.Impl, ast.Tool)):
            yield from item.methods


# These can change everywhere which method a call means: the program knows them by type and by name.
WIDE = (ast.Impl, ast.Trait, ast.Tool, ast.Mcp)


def _describe(file: CachedFile, tree: ast.Program) -> None:
    """Set what the text of a parsed file says about its dependencies."""
    text = file.source.text
    file.is_wide = any(isinstance(item, WIDE) for item in ast.items_of(tree.items))
    for function in _functions(tree):
        # A clause needs the body that it stands at.
        if function.body is None or function.clauses:
            continue
        nodes = list(ast.walk(function.body))
        # Items in a body belong to the program, and an import in a body orders its modules.
        if any(isinstance(node, (ast.Item, ast.ErrorExpr)) for node in nodes):
            continue
        if any(isinstance(node, ast.Ident) and node.text in FAR_REACHING or _is_parse_of_type(node) for node in nodes):
            continue
        file.asks_all = file.asks_all or any(isinstance(node, ast.Mock) for node in nodes)
        file.bodies.append((function.body.span.start, function.body.span.end))
    file.skeleton = _blanked(text, file.bodies)
    interface = _tokens_of(Source(file.name, file.skeleton))
    file.words = frozenset(_WORD.findall(text))
    file.interface_words = frozenset(_WORD.findall(interface))
    file.interface = _digest(interface)
    modules = [item for item in ast.items_of(tree.items) if isinstance(item, ast.Module)]
    file.inline_modules = {module.name.text for module in modules if module.items is not None}


def _is_parse_of_type(node: ast.Node) -> bool:
    """Return whether a node is a path `T::parse`; names of types begin with a capital."""
    path = [segment.text for segment in node.segments] if isinstance(node, ast.PathExpr) else []
    return path[-1:] == ["parse"] and len(path) > 1 and path[-2][:1].isupper()


def _blanked(text: str, bodies: Iterable[tuple[int, int]]) -> str:
    """Return a text of the same length with blanks between the braces of these bodies, which are sorted."""
    parts, at = [], 0
    for start, end in bodies:
        parts += [text[at : start + 1], " " * (end - start - 2)]
        at = end - 1
    return "".join((*parts, text[at:]))


def _tokens_of(source: Source) -> str:
    """Return the tokens of a text, without comments, each behind a blank or, on a new line, behind a line end."""
    tokens, text, end = lex(source, Diagnostics()), source.text, 0
    parts = []
    for start, stop in zip(tokens.starts, tokens.ends, strict=True):
        parts += ["\n" if text.find("\n", end, start) >= 0 else " ", text[start:stop]]
        end = stop
    return "".join(parts).lstrip()


# One program: which files each file reaches.


class Reach:
    """Which files of a program the bodies of each file depend on. Names decide: where a word of a text is the name of a module,
    the file reaches the files with such a module, whatever the word means there. A set of files is an int with a bit for each
    (`bits`); `order` are their names in the order of the bits. `parts` has by file what the hash of a set is made of.
    `interfaces` has by file the set that its interface reaches, `wide` is the set that the interfaces with an item of WIDE reach;
    all of it is worked out when the object is made."""

    def __init__(self, project: Project, files: Mapping[str, CachedFile]) -> None:
        self.project = project
        self.files = files
        self.order = sorted(files)
        self.bits = {name: 1 << number for number, name in enumerate(self.order)}
        self.modules: dict[str, int] = {}  # by name of a module: the set of files, a bit for each
        self.parents: dict[str, set[str]] = {name: set() for name in files}  # the files with a `mod` line for it
        self.parts = {name: _digest(name) + file.interface for name, file in files.items()}
        self.digests: dict[int, bytes] = {}  # of sets of files
        for span, file in project.declared.items():
            self.parents[file].add(span.file)
            self._name(files[span.file].source.text[span.start : span.end], file)
        for name, file in project.roots.items():
            self._name(name, file)
        for library, loaded in project.libraries.items():
            if loaded.root is not None:
                self._name(library, loaded.root)
            for name, file in loaded.roots.items():
                self._name(name, file)
        for file, cached in files.items():
            for name in cached.inline_modules:
                self._name(name, file)
        self.interfaces = {name: self._direct(name, files[name].interface_words) for name in files}
        self._close()
        self.wide = self._beyond(sum(self.bits[name] for name in files if files[name].is_wide))

    def _name(self, module: str, file: str) -> None:
        self.modules[module] = self.modules.get(module, 0) | self.bits[file]

    def _direct(self, file: str, words: frozenset[str]) -> int:
        reached = self.bits[file]
        for name in self.modules.keys() & words:
            reached |= self.modules[name]
        library = self.project.libraries.get(self.project.file_libraries.get(file, ""))
        root = self.project.main if library is None else library.root
        if "crate" in words and root is not None:
            reached |= self.bits[root]
        if "super" in words:
            for parent in self.ancestors(file):
                reached |= self.bits[parent]
        return reached

    def _close(self) -> None:
        """Make `interfaces` transitive."""
        changed = True
        while changed:
            changed = False
            for name, reached in self.interfaces.items():
                wider = self._beyond(reached)
                changed = changed or wider != reached
                self.interfaces[name] = wider

    def _beyond(self, reached: int) -> int:
        """Return a set of files with what their interfaces reach."""
        wider = reached
        for name in self.members(reached):
            wider |= self.interfaces[name]
        return wider

    def members(self, reached: int) -> Iterator[str]:
        """Yield the names of a set of files, which is given by its bits."""
        while reached:
            lowest = reached & -reached
            yield self.order[lowest.bit_length() - 1]
            reached ^= lowest

    def ancestors(self, file: str) -> set[str]:
        """Return the files that declare a file by a `mod` line, and those that declare these."""
        above: set[str] = set()
        todo = [file]
        while todo:
            new = self.parents[todo.pop()] - above
            above |= new
            todo.extend(new)
        return above

    def depends_on(self, file: str, callee_files: Iterable[str]) -> int:
        """Return the files whose interfaces the bodies of a file depend on, as a bit set; `callee_files` are files whose bodies
        they depend on too, with what these reach."""
        if self.files[file].asks_all:
            return (1 << len(self.order)) - 1
        reached = self.wide
        for name in (file, *callee_files):
            reached |= self._beyond(self._direct(name, self.files[name].words))
        return reached

    def key(self, file: str, callee_files: Iterable[str], configuration: bytes) -> bytes:
        """Return the hash, 16 bytes, of all that the outcome of the bodies of a file depends on beside its own text.
        `configuration` is the hash of the manifest. The path of the file's module in the tree of modules is not hashed by itself:
        the `mod` lines that make the path, and the private names that it lets the file see, are in interfaces, and these are
        hashed."""
        # Only as the root it has a `main` that the host starts.
        total = blake2b(configuration + (b"root" if file == self.project.main else b""), digest_size=16)
        for name in callee_files:
            total.update(_digest(name) + self.files[name].digest)
        total.update(self._digest_of(self.depends_on(file, callee_files)))
        return total.digest()

    def _digest_of(self, reached: int) -> bytes:
        digest = self.digests.get(reached)
        if digest is None:
            parts = b"".join([self.parts[name] for name in self.members(reached)])
            digest = self.digests[reached] = blake2b(parts, digest_size=16).digest()
        return digest


# One check.


class BodyNeeded(Exception):
    """A question of the file `origin` leads into a body of the file `target`, which was left out."""

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(origin, target)
        self.origin, self.target = origin, target


@dataclass(slots=True)
class Consumption:
    """How much of the limits of a whole program (G-5.8 to G-5.13) the bodies of one file use: steps of the questions whether
    patterns cover every value (`match_steps`) and whether an arm can match at all (`arm_steps`), values that `constants` are made
    of, and fields of JSON `forms`."""

    match_steps: int = 0
    arm_steps: int = 0
    constants: int = 0
    forms: int = 0


class Budgets(Protocol):
    """The state of a check that has what is left of the limits of the program, and its diagnostics. The units are those of
    `Consumption`; `constant_room` and `form_room` are what is left for constants and forms."""

    match_steps: int
    arm_steps: int
    constant_room: int
    form_room: int
    diagnostics: Diagnostics


@dataclass(slots=True)
class Record:
    """The result of checking the bodies of one text, valid for programs in which `Reach.key` returns `key`. `callee_files` are
    the files whose bodies a question has led into; `unused` are the warnings that a program with errors does not get;
    `imports` are the imports that the file uses."""

    key: bytes
    callee_files: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]
    unused: tuple[Diagnostic, ...]
    imports: frozenset[ImportKey]
    consumption: Consumption


class Reuse:
    """What one check takes from earlier ones, and what it notes for later ones. The bodies of the files in `records` are left
    out; a record is None where nobody reads its diagnostics. `bodies` has the places of all bodies that can be left out, by
    file. The other fields are filled by the check: by file which of these bodies were checked, the imports that it uses, the
    files that its questions lead into, the warnings of its bodies and their consumption; `unused` has the warnings of locals;
    `is_tight` is set by `note_tightness`."""

    def __init__(self, records: Mapping[str, Record | None], bodies: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        self.records = records
        self.bodies = {file: frozenset(places) for file, places in bodies.items()}
        self.checked: dict[str, set[tuple[int, int]]] = {}
        self.imports: dict[str, set[ImportKey]] = {}
        self.callee_files: dict[str, set[str]] = {}
        self.unused: list[Diagnostic] = []
        self.warnings: dict[str, list[Diagnostic]] = {}
        self.consumption: dict[str, Consumption] = {}
        self.is_tight = False

    def follow(self, origin: str, function: ast.Function) -> None:
        """Note that a question of the file `origin` leads into the body of a function. Raise BodyNeeded for one that was left
        out, unless the record of its file is None."""
        file = function.span.file
        if function.omitted is not None and self.records[file] is not None:
            raise BodyNeeded(origin, file)
        if file != origin and file in self.bodies:
            self.callee_files.setdefault(origin, set()).add(file)

    def measure_body(self, body: ast.Block | None, budgets: Budgets) -> Callable[[], None]:
        """Begin to note what the check of a body takes of the limits of the program and which warnings it gives; return the
        function that ends this. Nothing is noted of a body that can never be left out."""
        if body is None or (body.span.start, body.span.end) not in self.bodies.get(body.span.file, ()):
            return lambda: None
        file = body.span.file
        self.checked.setdefault(file, set()).add((body.span.start, body.span.end))
        steps, arms, constants, forms = budgets.match_steps, budgets.arm_steps, budgets.constant_room, budgets.form_room
        first = len(budgets.diagnostics.found)

        def end() -> None:
            spent = self.consumption.setdefault(file, Consumption())
            spent.match_steps += steps - budgets.match_steps
            spent.arm_steps += arms - budgets.arm_steps
            spent.constants += constants - budgets.constant_room
            spent.forms += forms - budgets.form_room
            self.warnings.setdefault(file, []).extend(budgets.diagnostics.found[first:])

        return end

    def note_tightness(self, budgets: Budgets, most_match_steps: int) -> None:
        """Set `is_tight`: whether, with the consumption of the omitted bodies, a limit of the program is so near that the
        order of the checks matters. One question about patterns takes at most `most_match_steps`."""
        spent = [record.consumption for record in self.records.values() if record is not None]
        self.is_tight = bool(spent) and (
            budgets.match_steps - sum(one.match_steps for one in spent) < most_match_steps
            or budgets.arm_steps - sum(one.arm_steps for one in spent) < most_match_steps
            or budgets.constant_room < sum(one.constants for one in spent)
            or budgets.form_room < sum(one.forms for one in spent)
        )


# Many checks.

MOST_TEXT = 32 << 20  # characters of the files that a cache remembers
MOST_RECORDS = 20_000  # texts with records, and files with hints
VERSIONS = 4  # records of one text, which may stand in several programs
UNUSED = ("W0001", "W0011")  # reported only if the whole program has no error
UNUSED_IMPORT = "W0002"  # found out anew each time, from the imports that each file uses
CONCURRENT = "W0452"  # reported after all bodies, as the answer to a question

T = TypeVar("T")
Check = Callable[[Diagnostics, Reuse], T | None]


class CheckCache:
    """The results of the checks of one owner: the files that were parsed, and records, at most VERSIONS, of each whose bodies
    have no error. Both are by name and hash of the bytes. The oldest are dropped. `characters` is how long the texts are
    together. Not safe for use by several threads at once."""

    def __init__(self) -> None:
        self.texts: OrderedDict[tuple[str, bytes], CachedFile] = OrderedDict()
        self.characters = 0
        self.records: OrderedDict[tuple[str, bytes], list[Record]] = OrderedDict()
        self.hints: dict[str, set[str]] = {}  # by file: those whose bodies its questions have led into

    def parse(self, name: str, data: bytes, with_heads: bool) -> ParsedFile:
        """Return what `parse_file` does, as a CachedFile; a known text is not parsed again. The heads of paths are looked for
        even without `with_heads`, since the same text may be a part of a later check that reads other files."""
        digest = blake2b(data, digest_size=16).digest()
        file = self.texts.get((name, digest))
        if file is None:
            parsed = parse_file(name, data)
            file = CachedFile(
                parsed.source, parsed.lexical, parsed.syntactic, parsed.is_readable, parsed.tree, parsed.modules, parsed.heads,
                parsed.libraries, name, digest,
            )  # fmt: skip
            if parsed.tree is not None:
                _describe(file, parsed.tree)
            self.texts[name, digest] = file
            self.characters += len(file.source.text)
            while self.characters > MOST_TEXT and len(self.texts) > 1:
                _, oldest = self.texts.popitem(last=False)
                self.characters -= len(oldest.source.text)
        self.texts.move_to_end((name, digest))
        return file

    def give_trees(self, project: Project, files: Iterable[str], omitting: Container[str] = ()) -> None:
        """Set new trees of these files of a project that `parse` has read, without bodies in the files of `omitting`."""
        for name in files:
            file = project.files.get(name)
            if isinstance(file, CachedFile) and file.is_readable:
                project.trees[name] = file.interface_tree() if name in omitting else file.fresh_tree()

    def examine(self, project: Project, diagnostics: Diagnostics, whole: Iterable[str], check: Check[T]) -> T | None:
        """Check a project that `parse` has read, all of whose files have trees, and add what is wrong to `diagnostics`. Return
        what the last call of `check` returned.

        `check(diagnostics, reuse)` checks the trees of the project as they are then, without the bodies that `reuse` leaves out:
        it adds what it finds to the diagnostics, fills `reuse`, and returns None when it had to give up. It may raise BodyNeeded;
        then, after None, and where a limit of the program is near, it is called again with fewer bodies left out. The bodies of
        the files `whole` are never left out. BodyNeeded does not leave this method; what else `check` raises does."""
        files = _cached_files(project)
        reach = Reach(project, files)
        configuration = b"" if project.manifest is None else _digest(project.manifest.source.text)
        configuration += _libraries(project)
        bodies = {name: file.bodies for name, file in files.items()}
        complete = set(whole)
        while True:
            records = self._valid_records(files, reach, configuration, complete)
            self.give_trees(project, files, records)
            reuse = Reuse(records, bodies)
            attempt = Diagnostics()
            for diagnostic in diagnostics.found:
                attempt.add(diagnostic)
            try:
                outcome = check(attempt, reuse)
            except BodyNeeded as question:
                self.hints.setdefault(question.origin, set()).add(question.target)
                complete.add(question.target)
                continue
            # A limit that was reached, or nearly, is reached in the order of a whole check.
            if not records or (outcome is not None and not reuse.is_tight):
                break
            complete.update(files)
        for record in records.values():
            for diagnostic in record.warnings:
                attempt.add(diagnostic)
        if not attempt.has_errors:
            for diagnostic in (*reuse.unused, *(one for record in records.values() for one in record.unused)):
                attempt.add(diagnostic)
        for diagnostic in attempt.found:
            diagnostics.add(diagnostic)
        if outcome is not None:
            self._remember(files, reach, configuration, reuse, attempt)
        return outcome

    def examine_only(self, project: Project, whole: Container[str], check: Check[T]) -> T | None:
        """Check the files `whole` of a project and those with syntax errors, and of the others the declarations and the bodies
        that cannot be left out, and return what `check` returns. What is wrong is not reported: this is for who asks about names
        and types of these files only. What `check` raises passes through; BodyNeeded is never among it."""
        files = _cached_files(project)
        others = dict.fromkeys(name for name in files if name not in whole and not files[name].syntactic)
        self.give_trees(project, files, others)
        return check(Diagnostics(), Reuse(others, {}))

    def _valid_records(
        self, files: Mapping[str, CachedFile], reach: Reach, configuration: bytes, complete: Container[str]
    ) -> dict[str, Record]:
        """Return the valid records by file, without those of the files `complete` and of files that a question may lead into."""
        records: dict[str, Record] = {}
        for name, file in files.items():
            if name in complete or not file.bodies:
                continue
            for record in self.records.get((name, file.digest), ()):
                same_files = all(other in files for other in record.callee_files)
                if same_files and record.key == reach.key(name, record.callee_files, configuration):
                    records[name] = record
                    break
        origins = [name for name in files if name not in records]
        while origins:
            for target in self.hints.get(origins.pop(), ()):
                if records.pop(target, None) is not None:
                    origins.append(target)
        return records

    def _remember(
        self, files: Mapping[str, CachedFile], reach: Reach, configuration: bytes, reuse: Reuse, attempt: Diagnostics
    ) -> None:
        """Make records of the files whose bodies were checked, unless an error may have changed the result."""
        errors = [one.span for one in attempt.found if one.is_error and one.span.file in files]
        faulty = {span.file for span in errors}
        faulty_interfaces = 0
        for span in errors:
            if not any(start <= span.start < end for start, end in files[span.file].bodies):
                faulty_interfaces |= reach.bits[span.file]
        for name, file in files.items():
            callee_files = tuple(sorted(reuse.callee_files.get(name, ())))
            # No body of a module is checked whose name another module has.
            is_checked = reuse.bodies[name] <= reuse.checked.get(name, set())
            if not file.bodies or not is_checked or name in faulty:
                continue
            if reach.depends_on(name, callee_files) & faulty_interfaces:
                continue
            own = [one for one in attempt.found if one.span.file == name and _belongs_to_bodies(one, file)]
            warnings = [one for one in (*own, *reuse.warnings.get(name, ())) if one.code not in (*UNUSED, UNUSED_IMPORT)]
            # A place in another file moves with the text of that file.
            if any(place.span.file != name for one in warnings for place in (one, *one.related)):
                continue
            record = Record(
                reach.key(name, callee_files, configuration), callee_files, tuple(warnings),
                tuple(one for one in reuse.unused if one.span.file == name),
                frozenset(reuse.imports.get(name, ())), reuse.consumption.get(name, Consumption()),
            )  # fmt: skip
            self.records[name, file.digest] = [record, *self.records.get((name, file.digest), [])][:VERSIONS]
            self.records.move_to_end((name, file.digest))
        while len(self.records) > MOST_RECORDS:
            self.records.popitem(last=False)
        if len(self.hints) > MOST_RECORDS:
            self.hints.clear()


def _libraries(project: Project) -> bytes:
    """Return what the outcome of a check depends on of the environment: which libraries there are, and why others are not."""
    missing = [f"{name}: {why.message} {why.help}" for name, why in sorted(project.missing.items())]
    return _digest("\n".join([*sorted(project.libraries), *missing])) if project.libraries or missing else b""


def _cached_files(project: Project) -> dict[str, CachedFile]:
    return {name: file for name, file in project.files.items() if isinstance(file, CachedFile)}


def _belongs_to_bodies(diagnostic: Diagnostic, file: CachedFile) -> bool:
    """Return whether a diagnostic of the file belongs to one of its bodies. W0452 answers a question of the file."""
    return diagnostic.code == CONCURRENT or any(start <= diagnostic.span.start < end for start, end in file.bodies)
