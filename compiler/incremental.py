"""What earlier checks of this process came to, so that a program with one change is not checked from the beginning.

A caller that checks more than once owns a `CheckCache` and hands it to `check_source` or `examine_project`. What the bodies
of a file come to depends on its text and on the interfaces of the files it reaches: their tokens without those of
bodies. While neither changes, the bodies of the file are left out of its tree and its warnings are taken from the earlier
check. All declarations are checked each time. The diagnostics are those of a check without a cache; an image cannot be made,
since it needs every body.
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

MOST_TEXT = 64 << 20  # characters of the files that a cache remembers
MOST_RECORDS = 20_000
VERSIONS = 4  # records of one text, which may stand in several programs

# A body with one of these names is checked each time. It may make a memory, whose name is compared with those of all others,
# or be the first to name a tool of the library, which joins the tools of the program.
FAR_REACHING = frozenset((*TOOL_NAMES, "Memory", "MemoryRef"))
_WORD = re.compile(r"[A-Za-z_]\w*")
UNUSED = ("W0001", "W0011")  # reported only if the whole program has no error
CONCURRENT = "W0452"  # reported after all bodies, of one that a question began in
UNUSED_IMPORT = "W0002"  # worked out anew each time, from the imports that each file uses

ImportKey = tuple[str, int]  # a file, and which of its imports outside of blocks


def _digest(*parts: str) -> bytes:
    """Return a hash of texts that tells where each of them ends."""
    total = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.digest()


# One file.


@dataclass(slots=True)
class KnownFile(ParsedFile):
    """A parsed file with what its text says about what it depends on. `bodies` are the places of the bodies that can be left
    out; `skeleton` is the text with blanks in them, of the same length."""

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
            return ast.copied(self.interface_model)
        except RecursionError:
            tree, self.interface_model = self.interface_model, None
            return tree


def _items(items: Iterable[ast.TopLevel]) -> Iterator[ast.TopLevel]:
    """Yield items with those of the modules that are written out among them."""
    for item in items:
        yield item
        if isinstance(item, ast.Module) and item.items is not None:
            yield from _items(item.items)


def _functions(tree: ast.Program) -> Iterator[ast.Function]:
    """Yield the functions and methods of a file whose bodies nothing but calls depends on. A default method of a trait is
    none: that it has a body is a part of the trait."""
    for item in _items(tree.items):
        if isinstance(item, ast.Function):
            yield item
        elif isinstance(item, (ast.Impl, ast.Tool)):
            yield from item.methods


def _nodes(root: ast.Node) -> Iterator[ast.Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(node.children())


# An impl anywhere can change which method a call means, as the program knows them by type and by name.
WIDE = (ast.Impl, ast.Trait, ast.Tool)


def _describe(file: KnownFile, tree: ast.Program) -> None:
    """Set what the text of a parsed file says about its dependencies."""
    text = file.source.text
    file.is_wide = any(isinstance(item, WIDE) for item in _items(tree.items))
    for function in _functions(tree):
        # A clause needs the body that it stands at.
        if function.body is None or function.clauses:
            continue
        nodes = list(_nodes(function.body))
        # Items in a body belong to the program, and an import in a body orders its modules.
        if any(isinstance(node, (ast.Item, ast.ErrorExpr)) for node in nodes):
            continue
        if any(isinstance(node, ast.Ident) and node.text in FAR_REACHING for node in nodes):
            continue
        file.asks_all = file.asks_all or any(isinstance(node, ast.Mock) for node in nodes)
        file.bodies.append((function.body.span.start, function.body.span.end))
    file.skeleton = _blanked(text, file.bodies)
    interface = _tokens_of(Source(file.name, file.skeleton))
    file.words = frozenset(_WORD.findall(text))
    file.interface_words = frozenset(_WORD.findall(interface))
    file.interface = _digest(interface)
    modules = [item for item in _items(tree.items) if isinstance(item, ast.Module)]
    file.inline_modules = {module.name.text for module in modules if module.items is not None}


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
    """Which files of a program the outcome of a file depends on. Names decide: a word of the text that is the name of a
    module means the files with such a module, whatever it means there."""

    def __init__(self, project: Project, files: Mapping[str, KnownFile]) -> None:
        self.project = project
        self.files = files
        self.order = sorted(files)
        self.bits = {name: 1 << number for number, name in enumerate(self.order)}
        self.modules: dict[str, int] = {}  # by name of a module: the files
        self.parents: dict[str, set[str]] = {name: set() for name in files}  # the files with a `mod` line for it
        self.digests: dict[int, bytes] = {}  # of sets of files
        for span, file in project.declared.items():
            self.parents[file].add(span.file)
            self._name(files[span.file].source.text[span.start : span.end], file)
        for name, file in project.roots.items():
            self._name(name, file)
        for file, known in files.items():
            for name in known.inline_modules:
                self._name(name, file)
        wide = sum(self.bits[name] for name in files if files[name].is_wide)
        self.interfaces = {name: self._direct(name, files[name].interface_words) for name in files}
        self._close(wide)

    def _name(self, module: str, file: str) -> None:
        self.modules[module] = self.modules.get(module, 0) | self.bits[file]

    def _direct(self, file: str, words: frozenset[str]) -> int:
        reached = self.bits[file]
        for name in self.modules.keys() & words:
            reached |= self.modules[name]
        if "crate" in words:
            reached |= self.bits[self.project.main]
        if "super" in words:
            for parent in self.ancestors(file):
                reached |= self.bits[parent]
        return reached

    def _close(self, wide: int) -> None:
        """Make `interfaces` transitive, with all that wide files reach."""
        changed = True
        while changed:
            changed = False
            for name, reached in self.interfaces.items():
                wider = self._beyond(reached)
                changed = changed or wider != reached
                self.interfaces[name] = wider
        self.wide = self._beyond(wide)

    def _beyond(self, reached: int) -> int:
        """Return a set of files with what their interfaces reach."""
        wider = reached
        for name in self.members(reached):
            wider |= self.interfaces[name]
        return wider

    def members(self, reached: int) -> Iterator[str]:
        """Yield the names of a set of files."""
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

    def of(self, file: str, followed: Iterable[str]) -> int:
        """Return the set of files that the bodies of a file depend on; of the files in `followed` the bodies matter too."""
        if self.files[file].asks_all:
            return (1 << len(self.order)) - 1
        reached = self.wide
        for name in (file, *followed):
            reached |= self._beyond(self._direct(name, self.files[name].words))
        return reached

    def key(self, file: str, followed: Iterable[str], configuration: bytes) -> bytes:
        """Return the hash of all that the outcome of the bodies of a file depends on beside its own text. `configuration` is
        the hash of the manifest. Where a module stands among the others needs no part: what leads down to it from a module
        whose private names it may see is in the interfaces."""
        # Only as the root it has a `main` that the host starts.
        total = blake2b(configuration + (b"root" if file == self.project.main else b""), digest_size=16)
        for name in followed:
            total.update(_digest(name) + self.files[name].digest)
        total.update(self._digest_of(self.of(file, followed)))
        return total.digest()

    def _digest_of(self, reached: int) -> bytes:
        known = self.digests.get(reached)
        if known is None:
            total = blake2b(digest_size=16)
            for name in self.members(reached):
                total.update(_digest(name) + self.files[name].interface)
            known = self.digests[reached] = total.digest()
        return known


# One check.


class BodyNeeded(Exception):
    """A question of the file `asking` leads into a body of the file `needed`, which was left out."""

    def __init__(self, asking: str, needed: str) -> None:
        super().__init__(asking, needed)
        self.asking, self.needed = asking, needed


@dataclass(slots=True)
class Spent:
    """What the bodies of a file took of the limits that a program has as a whole (G-5.8 to G-5.13)."""

    match_steps: int = 0
    constants: int = 0
    forms: int = 0


class Rooms(Protocol):
    """The limits of a program as a check counts them down, and what it reports."""

    match_steps: int
    constant_room: int
    form_room: int
    diagnostics: Diagnostics


@dataclass(slots=True)
class Record:
    """What the bodies of one text came to, which holds while `key` does. `followed` are the files whose bodies a question
    led into; `unused` are warnings that a program with errors does not get; `imports` those that the bodies use."""

    key: bytes
    followed: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]
    unused: tuple[Diagnostic, ...]
    imports: frozenset[ImportKey]
    spent: Spent


class Reuse:
    """What one check takes from earlier ones, and what it notes for later ones. `kept` are the files whose bodies are left
    out, with their records: None where nobody asks what they come to. `bodies` has the places of all bodies that can be
    left out. `imports` gets the imports that each file uses, `unused` the warnings of locals."""

    def __init__(self, kept: Mapping[str, Record | None], bodies: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        self.kept = kept
        self.bodies = {file: frozenset(places) for file, places in bodies.items()}
        self.imports: dict[str, set[ImportKey]] = {}
        self.followed: dict[str, set[str]] = {}
        self.unused: list[Diagnostic] = []
        self.warnings: dict[str, list[Diagnostic]] = {}
        self.spent: dict[str, Spent] = {}
        self.is_tight = False

    def follow(self, asking: str, function: ast.Function) -> None:
        """Note that a question of the file `asking` leads into the body of a function. Raise BodyNeeded for one that was left
        out."""
        file = function.span.file
        if function.omitted is not None and self.kept[file] is not None:
            raise BodyNeeded(asking, file)
        if file != asking and file in self.bodies:
            self.followed.setdefault(asking, set()).add(file)

    def body(self, body: ast.Block | None, rooms: Rooms) -> Callable[[], None]:
        """Begin to count what the check of a body takes and warns of; the result is called at its end."""
        if body is None or (body.span.start, body.span.end) not in self.bodies.get(body.span.file, ()):
            return lambda: None
        file = body.span.file
        steps, constants, forms = rooms.match_steps, rooms.constant_room, rooms.form_room
        first = len(rooms.diagnostics.found)

        def end() -> None:
            spent = self.spent.setdefault(file, Spent())
            spent.match_steps += steps - rooms.match_steps
            spent.constants += constants - rooms.constant_room
            spent.forms += forms - rooms.form_room
            self.warnings.setdefault(file, []).extend(rooms.diagnostics.found[first:])

        return end

    def compare(self, rooms: Rooms, most_match_steps: int) -> None:
        """Set `is_tight`: whether with what the omitted bodies took a limit of the program is so near that the order of the
        checks matters. One question about patterns takes at most `most_match_steps`."""
        spent = [record.spent for record in self.kept.values() if record is not None]
        self.is_tight = bool(spent) and (
            rooms.match_steps - sum(one.match_steps for one in spent) < most_match_steps
            or rooms.constant_room < sum(one.constants for one in spent)
            or rooms.form_room < sum(one.forms for one in spent)
        )


# Many checks.

T = TypeVar("T")
Check = Callable[[Diagnostics, Reuse], T | None]


class CheckCache:
    """What the checks of one owner came to: the texts that were parsed, and a record of each text whose bodies have no error.
    The oldest are forgotten."""

    def __init__(self) -> None:
        self.texts: OrderedDict[tuple[str, bytes], KnownFile] = OrderedDict()
        self.characters = 0
        self.records: OrderedDict[tuple[str, bytes], list[Record]] = OrderedDict()
        self.needed: dict[str, set[str]] = {}  # by asking file: those whose bodies its questions led into

    def parse(self, name: str, data: bytes, with_heads: bool) -> ParsedFile:
        """Return what `parse_file` does, as a KnownFile; a text that is known is not parsed again."""
        digest = blake2b(data, digest_size=16).digest()
        known = self.texts.get((name, digest))
        if known is None:
            parsed = parse_file(name, data)
            known = KnownFile(
                parsed.source, parsed.lexical, parsed.syntactic, parsed.is_readable, parsed.tree, parsed.modules, parsed.heads,
                name, digest,
            )  # fmt: skip
            if parsed.tree is not None:
                _describe(known, parsed.tree)
            self.texts[name, digest] = known
            self.characters += len(known.source.text)
            while self.characters > MOST_TEXT and len(self.texts) > 1:
                _, oldest = self.texts.popitem(last=False)
                self.characters -= len(oldest.source.text)
        self.texts.move_to_end((name, digest))
        return known

    def give_trees(self, project: Project, omitting: Container[str] = ()) -> None:
        """Set the trees of a project that `parse` has read: new ones, without bodies in the files of `omitting`."""
        for name, file in project.files.items():
            if isinstance(file, KnownFile) and file.is_readable:
                project.trees[name] = file.interface_tree() if name in omitting else file.fresh_tree()

    def examine(self, project: Project, diagnostics: Diagnostics, whole: Iterable[str], check: Check[T]) -> T | None:
        """Check a project that `parse` has read, all of whose files have trees. `check` fills the diagnostics of the program
        that it is handed; it is called again where a body that was left out turns out to be needed. The bodies of the files
        `whole` are never left out. Return what `check` returns."""
        known = _known(project)
        reach = Reach(project, known)
        configuration = _digest() if project.manifest is None else _digest(project.manifest.source.text)
        bodies = {name: file.bodies for name, file in known.items()}
        full = set(whole)
        while True:
            kept = self._kept(known, reach, configuration, full)
            self.give_trees(project, kept)
            reuse = Reuse(kept, bodies)
            attempt = Diagnostics()
            for diagnostic in diagnostics.found:
                attempt.add(diagnostic)
            try:
                outcome = check(attempt, reuse)
            except BodyNeeded as question:
                self.needed.setdefault(question.asking, set()).add(question.needed)
                full.add(question.needed)
                continue
            # A limit that was reached, or nearly, is reached in the order of a whole check.
            if not kept or (outcome is not None and not reuse.is_tight):
                break
            full.update(known)
        for record in kept.values():
            for diagnostic in record.warnings:
                attempt.add(diagnostic)
        if not attempt.has_errors:
            for diagnostic in (*reuse.unused, *(one for record in kept.values() for one in record.unused)):
                attempt.add(diagnostic)
        for diagnostic in attempt.found:
            diagnostics.add(diagnostic)
        if outcome is not None:
            self._remember(known, reach, configuration, reuse, attempt)
        return outcome

    def examine_only(self, project: Project, whole: Container[str], check: Check[T]) -> T | None:
        """Check the files `whole` of a project, and of the others the declarations. What is wrong is not reported: this is for
        who asks about names and types of these files only."""
        known = _known(project)
        others = dict.fromkeys(name for name in known if name not in whole and not known[name].syntactic)
        self.give_trees(project, others)
        return check(Diagnostics(), Reuse(others, {}))

    def _kept(
        self, known: Mapping[str, KnownFile], reach: Reach, configuration: bytes, full: Container[str]
    ) -> dict[str, Record]:
        """Return the records that hold, by file. Files in `full` have none, and none those that a question may lead into."""
        kept: dict[str, Record] = {}
        for name, file in known.items():
            if name in full or not file.bodies:
                continue
            for record in self.records.get((name, file.digest), ()):
                same_files = all(other in known for other in record.followed)
                if same_files and record.key == reach.key(name, record.followed, configuration):
                    kept[name] = record
                    break
        asking = [name for name in known if name not in kept]
        while asking:
            for needed in self.needed.get(asking.pop(), ()):
                if kept.pop(needed, None) is not None:
                    asking.append(needed)
        return kept

    def _remember(
        self, known: Mapping[str, KnownFile], reach: Reach, configuration: bytes, reuse: Reuse, attempt: Diagnostics
    ) -> None:
        """Make records of the files whose bodies were checked, as far as no error had a part in what they came to."""
        errors = [one.span for one in attempt.found if one.is_error and one.span.file in known]
        wrong = {span.file for span in errors}
        wrong_interfaces = 0
        for span in errors:
            if not any(start <= span.start < end for start, end in known[span.file].bodies):
                wrong_interfaces |= reach.bits[span.file]
        for name, file in known.items():
            followed = tuple(sorted(reuse.followed.get(name, ())))
            if not file.bodies or name in reuse.kept or name in wrong:
                continue
            if reach.of(name, followed) & wrong_interfaces:
                continue
            own = [one for one in attempt.found if one.span.file == name and _belongs_to_bodies(one, file)]
            warnings = [one for one in (*own, *reuse.warnings.get(name, ())) if one.code not in (*UNUSED, UNUSED_IMPORT)]
            if any(other.span.file != name for one in warnings for other in one.related):
                continue  # that place moves with the text of the other file
            record = Record(
                reach.key(name, followed, configuration), followed, tuple(warnings),
                tuple(one for one in reuse.unused if one.span.file == name),
                frozenset(reuse.imports.get(name, ())), reuse.spent.get(name, Spent()),
            )  # fmt: skip
            self.records[name, file.digest] = [record, *self.records.get((name, file.digest), [])][:VERSIONS]
            self.records.move_to_end((name, file.digest))
        while len(self.records) > MOST_RECORDS:
            self.records.popitem(last=False)
        if len(self.needed) > MOST_RECORDS:
            self.needed.clear()


def _known(project: Project) -> dict[str, KnownFile]:
    return {name: file for name, file in project.files.items() if isinstance(file, KnownFile)}


def _belongs_to_bodies(diagnostic: Diagnostic, file: KnownFile) -> bool:
    """Return whether a diagnostic of the file is about one of its bodies. W0452 is what a question of the file came to."""
    return diagnostic.code == CONCURRENT or any(start <= diagnostic.span.start < end for start, end in file.bodies)
