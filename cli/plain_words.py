"""The plain command line: whole names of options, `--name value`, `--name=value`, files. It is read without argparse, whose
import and whose formatter, made anew for each option, took an eighth of a start (V-8.6).

Hands on `PlainWords` to `main`; a verb describes its flags to it as it would to an `ArgumentParser`. Whatever is out of the
ordinary, help and every mistake, is left to argparse: a test compares the two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


KNOWN_ACTIONS = (None, "store_true", "append")


class PlainWords:
    """The flags and files of one verb: it is told them by `add_argument`, and then reads words by them. `rows` has all of them,
    as the name under which the value goes and the row, `files` those that are no options, `options` the others by each name.
    `usage` and `epilog` are only there to be set: argparse prints help."""

    __slots__ = ("options", "files", "rows", "usage", "epilog")

    def __init__(self) -> None:
        self.options: dict[str, tuple[str, dict[str, Any]]] = {}  # by each name: where the value goes, the row
        self.files: list[tuple[str, dict[str, Any]]] = []
        self.rows: list[tuple[str, dict[str, Any]]] = []
        self.usage = ""
        self.epilog = ""

    def add_argument(self, *names: str, **row: Any) -> None:
        """Keep an option or a file, described as for `ArgumentParser.add_argument`; nothing is checked. An action outside of
        KNOWN_ACTIONS, or a second row for files, makes `read` leave all to argparse. No row may have what is not known here:
        `nargs` and `const` of an option, `nargs` of files other than `?` and `*`, a default that `type` has to convert."""
        named = next((name for name in names if name.startswith("--")), names[0])
        entry = row.get("dest") or named.lstrip("-").replace("-", "_"), row
        self.rows.append(entry)
        if names[0].startswith("-"):
            self.options.update(dict.fromkeys(names, entry))
        else:
            self.files.append(entry)

    def add_argument_group(self, title: str, description: str) -> PlainWords:
        """Return this parser: groups are for help."""
        return self

    def read(self, words: Sequence[str]) -> dict[str, Any] | None:
        """Return the values of the words, those behind the verb, by the names of attributes that argparse would give them,
        defaults too; None if argparse has to read them. Raises nothing."""
        if len(self.files) > 1 or any(row.get("action") not in KNOWN_ACTIONS for _, row in self.rows):
            return None
        values = {name: False if row.get("action") == "store_true" else row.get("default") for name, row in self.rows}
        try:
            files = self._read_options(words, values)
            if any(row.get("required") and values[name] is None for name, row in self.rows):
                return None
            return values if self._put_files(files, values) else None
        except Exception:  # of the type of a value: argparse has the words for it
            return None

    def _read_options(self, words: Sequence[str], values: dict[str, Any]) -> list[str]:
        """Set the values of options, and return the files. Raise ValueError where that takes more than a look."""
        files: list[str] = []
        behind = -1  # the last file: they stand together
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if not word.startswith("-") or word == "-":
                # argparse has rules of its own for files on both sides of an option.
                if files and behind != at - 1:
                    raise ValueError(word)
                files.append(word)
                behind = at
                continue
            name, equals, text = word.partition("=")
            if name not in self.options or (equals and text in ("", "--")):
                raise ValueError(word)
            target, row = self.options[name]
            if row.get("action") == "store_true":
                if equals:
                    raise ValueError(word)
                values[target] = True
                continue
            if not equals:
                text = words[at] if at < len(words) else "-"
                at += 1
                # A value that looks like an option is a mistake more often than a value.
                if text.startswith("-"):
                    raise ValueError(word)
            value = _converted(row, text)
            values[target] = [*(values[target] or ()), value] if row.get("action") == "append" else value
        return files

    def _put_files(self, files: list[str], values: dict[str, Any]) -> bool:
        """Set the files; return whether they are as many as the verb takes."""
        if not self.files:
            return not files
        name, row = self.files[0]
        if row.get("nargs") == "*":
            values[name] = [_converted(row, file) for file in files]
            return True
        if len(files) == 1:
            values[name] = _converted(row, files[0])
        return len(files) == 1 or (not files and row.get("nargs") == "?")


def _converted(row: dict[str, Any], text: str) -> Any:
    value = row.get("type", str)(text)
    if "choices" in row and value not in row["choices"]:
        raise ValueError(text)
    return value
