"""Reads program files: chunks, further files, front matter, expectations (C-3.1 to C-5.8).

Hands on `read_file` to `suite`, `parse_block` to `blocks`, `read_object` to `images`, `parse` to tests, and `wire_files` to the
runner. It knows where comments stand and which program they belong to; what a key means is for its reader (`keys.py`,
`expectations.py`), and what a driver does with the `Program` for the runner.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources.abc import Traversable
from typing import Any

from . import keys
from .comments import Comment, line_comments, split_expectations, without_comments_and_strings
from .expectations import READERS, demands_something
from .notation import Malformed, memory_items
from .records import ExpectedEmit, ExpectedMemory, Program, SuiteError

_CHUNK = "//====="
_FILE = re.compile(r"//----- (\S+\.conc)\s*$")
_KEY = re.compile(
    r"(?P<word>[A-Za-z]+~?)(?P<shift>[+-]\d+)?(?P<args>(?:[ \t]+\w+){0,2})[ \t]*:(?:[ \t]+(?P<value>.*)|)$"
)
_DECLARED = {"reply": "model", "agent": "agent", "mcp": "mcp"}
_KEY_VARIABLE = re.compile(r'api_key\s*:\s*env\(\s*"(\w+)"|api_key_env\s*:\s*"(\w+)"')
_HEADERS = re.compile(r"headers\s*:\s*\{[^}]*\}")
_HEADER_VARIABLE = re.compile(r'env\(\s*"(\w+)"')
_PREDECLARED_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_DATA_KEYS = {"memory", "emits", "connections", "memories", "mutate"}


def read_file(path: Traversable, ident: str, beside: Traversable | None = None) -> list[Program]:
    """Return the programs of the file at `path`, with what the JSON file `beside` it holds, if there is one. `ident` is its path
    below `tests/`. Raise SuiteError as `parse`, and for a JSON file that holds no object."""
    text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    expectations = read_object(beside) if beside is not None else {}
    return parse(text, ident, str(path), expectations)


def read_object(path: Traversable) -> dict[str, Any]:
    """Return the JSON object in a file. Raise SuiteError, which names the file, for any other content."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise SuiteError(str(path), error.lineno, f"no JSON: {error.msg}") from None
    except ValueError as error:  # of bytes that are no UTF-8
        raise SuiteError(str(path), 1, f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise SuiteError(str(path), 1, "no JSON object")
    return value


def parse(text: str, ident: str, path: str = "", data: dict[str, Any] | None = None) -> list[Program]:
    """Return all programs of the text of one file, in order. `path` is told in errors, `ident` if it is empty; `data` is the
    content of `.expect.json`. Raise SuiteError for an error of the suite."""
    path, data = path or ident, data or {}
    chunks = list(_chunks(text))
    if data and len(chunks) > 1:
        raise SuiteError(path, 1, "a file with .expect.json holds one program")
    if unknown := set(data) - _DATA_KEYS:
        raise SuiteError(path, 1, f"unknown key in .expect.json: {', '.join(sorted(unknown))}")
    programs: list[Program] = []
    for number, (offset, lines) in enumerate(chunks, 1):
        name = ident if len(chunks) == 1 else f"{ident}#{number}"
        programs.append(_Reader(Program(name, path), offset, lines, data, programs[0] if programs else None).read())
    return programs


_BLOCK = "C-2.6"  # the clause of blocks of documents


def parse_block(text: str, ident: str, path: str, line: int) -> Program:
    """Return the program of a fenced block of the specification, which stands behind `line` lines of `path` (C-2.6). It is
    checked; one whose first line is `// run` also runs, at level 4, with the expectations it holds. Raise SuiteError as
    `parse`."""
    runs = text.split("\n", 1)[0].strip() == "// run"
    clause = Program("", "", clause=_BLOCK, level=4 if runs else 0)
    program = _Reader(Program(ident, path), line, text.splitlines(keepends=True), {}, clause).read(strict=runs)
    if runs:
        return program
    stripped = Program(ident, path, _BLOCK, level=0, mode="check", lines=program.lines, files=program.files)
    stripped.offsets, stripped.diagnostics = program.offsets, program.diagnostics
    return stripped


def _chunks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield for each chunk the number of lines before it, and its lines with their ends."""
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    start = 0
    for at, line in enumerate(lines):
        if line.rstrip("\r\n") == _CHUNK:
            yield start, lines[start:at]
            start = at + 1
    yield start, lines[start:]


class _Reader:
    """Reads one chunk into its `Program`. `offset` counts the lines before the chunk; `first` is the first program of the file,
    whose clauses and level it takes over; `group` is the number of the last group of `emit~`."""

    def __init__(
        self, program: Program, offset: int, lines: list[str], data: dict[str, Any], first: Program | None
    ) -> None:
        self.program, self.offset, self.lines, self.data, self.first = program, offset, lines, data, first
        self.file, self.group = "main.conc", 0

    def read(self, strict: bool = True) -> Program:
        """Return the program, which is filled in place. Raise SuiteError for an error; unless `strict` a program may lack clause,
        level and expectations."""
        program = self.program
        program.lines = len(self.lines)
        if self.first:
            program.clause, program.also, program.level = self.first.clause, self.first.also, self.first.level
        self._split_files()
        for self.file, text in program.files.items():
            self._read_comments(text)
        self._data()
        if strict:
            self._finish()
        self._key_variables()
        return program

    def _split_files(self) -> None:
        name, start = "main.conc", 0
        for at, line in enumerate([*self.lines, "//----- end.conc"]):
            match = _FILE.match(line)
            if not match:
                continue
            if name in self.program.files:
                raise SuiteError(self.program.path, self.offset + at, f"file {name} stands twice")
            self.program.files[name] = "".join(self.lines[start:at])
            self.program.offsets[name] = self.offset + start
            name, start = match.group(1), at + 1

    def _read_comments(self, text: str) -> None:
        front = _front_matter(text) if self.file == "main.conc" else 0
        last_emit = -2
        for comment in line_comments(text):
            for part in split_expectations(comment.text):
                count = len(self.program.emits)
                self._comment(comment, part, comment.line <= front, comment.line - last_emit <= 1)
                if len(self.program.emits) > count:
                    last_emit = comment.line

    def _comment(self, comment: Comment, part: str, front: bool, adjacent: bool) -> None:
        at = self.offset_of(comment.line)
        match = _KEY.match(part)
        if not match:
            return
        word, args = match["word"], (match["args"] or "").split()
        if word not in READERS:
            self._unknown(word, args, front, at)
            return
        if args and not keys.takes(word, args):
            return
        try:
            line = self._line(comment, word, match["shift"])
            place = keys.Place(self.file, line, at, comment.alone, front, bool(match["shift"]))
            READERS[word](self.program, args, (match["value"] or "").strip(), place)
        except Malformed as error:
            raise SuiteError(self.program.path, at, f"{word}: {error}") from None
        if word == "emit~":
            self._join_group(adjacent)

    def _line(self, comment: Comment, word: str, shift: str | None) -> int:
        if shift not in (None, "+1", "-1"):
            raise Malformed(f"only {word}+1 and {word}-1 move an expectation")
        return comment.line + int(shift or 0)

    def _join_group(self, adjacent: bool) -> None:
        emits = self.program.emits
        if not (adjacent and len(emits) > 1 and emits[-2].group is not None):
            self.group += 1
        emits[-1] = replace(emits[-1], group=self.group)

    def _unknown(self, word: str, args: list[str], front: bool, at: int) -> None:
        """Raise SuiteError for an unknown key in the front matter, and for one that is misspelt anywhere (C-3.2)."""
        near = [key for key in READERS if keys.distance_at_most_1(word.lower(), key)]
        near = [key for key in near if not args or keys.takes(key, args)]
        if near:
            raise SuiteError(self.program.path, at, f"unknown key {word!r}, close to {near[0]!r}")
        if front and not args:
            raise SuiteError(self.program.path, at, f"unknown key {word!r}")

    def offset_of(self, line: int) -> int:
        """Return the line in the program file of a line of the file that is read; both count from 1."""
        return self.program.offsets[self.file] + line

    def _data(self) -> None:
        """Take over what `.expect.json` holds: long memories and emits, host connections, earlier memories, an image mutation."""
        program = self.program
        program.connections = self.data.get("connections", {})
        program.memories = self.data.get("memories", {})
        program.mutate = self.data.get("mutate", [])
        for channel, payload in self.data.get("emits", []):
            program.emits.append(ExpectedEmit(((channel, payload),), None, self.offset + 1))
        program.memory = [self._memory(wanted) for wanted in program.memory]

    def _memory(self, wanted: ExpectedMemory) -> ExpectedMemory:
        if wanted.items != ("expect",):
            return wanted
        text = self.data.get("memory", {}).get(wanted.name)
        if text is None:
            raise SuiteError(self.program.path, wanted.at, f".expect.json has no memory {wanted.name!r}")
        return ExpectedMemory(wanted.name, memory_items(text), wanted.at)

    def _finish(self) -> None:
        program, first = self.program, self.offset + 1
        if not program.clause:
            raise SuiteError(program.path, first, "no clause")
        if program.level < 0:
            raise SuiteError(program.path, first, "no level")
        if not demands_something(program):
            raise SuiteError(program.path, first, "the answer ok alone would pass: no expectation (C-3.5)")
        if program.mutate and not program.reject:
            raise SuiteError(program.path, first, "a mutated image needs reject")
        self._check_names()

    def _check_names(self) -> None:
        """Raise SuiteError for a key without NAME where the program declares several that it may mean (C-4.2). A reply of a block
        may be for whichever model asks next (C-2.6)."""
        code = without_comments_and_strings("".join(self.program.files.values()))
        replies = [] if self.program.clause == _BLOCK else [("reply", self.program.replies)]
        unnamed = replies + [(word, {name: 0}) for word, name in self.program.scripts]
        for word, names in unnamed:
            declared = re.findall(rf"\b{_DECLARED[word]}\s+\w+\s*\{{", code) if word in _DECLARED else []
            if "" in names and len(declared) > 1:
                raise SuiteError(self.program.path, self.offset + 1, f"{word} needs a name: several are declared")

    def _key_variables(self) -> None:
        text = "".join(self.program.files.values())
        named = [first or second for first, second in _KEY_VARIABLE.findall(text)]
        named += [name for headers in _HEADERS.findall(text) for name in _HEADER_VARIABLE.findall(headers)]
        defaults = dict.fromkeys((*_PREDECLARED_KEYS, *named), "test-key")
        self.program.env = {**defaults, **self.program.env}


def _front_matter(text: str) -> int:
    """Return the number of the last line of the comment lines at the top, 0 for none; a `#!` line may stand before them."""
    count = 0
    for line in text.lstrip("\ufeff").split("\n"):
        if not (line.startswith("//") or (count == 0 and line.startswith("#!"))):
            break
        count += 1
    return count


def wire_files(program: Program) -> dict[str, Any]:
    """Return the files of a program as the protocol carries them: text, or `{"base64": …}` for bytes that are no UTF-8."""
    return {name: _content(text) for name, text in program.files.items()}


def _content(text: str) -> Any:
    raw = text.encode("utf-8", errors="surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode("ascii")}
    return text
