"""The command line: `main` finds the verb, imports its module, runs it, and turns what happens into an exit code (O-9.10).

Hands on `main` to the entry points, `run_words` and `overview` to `cli/help.py`, and `parsed` to the notebook, whose magics take
the flags of verbs. Each verb is a module with `configure(parser)`, which describes its flags, and `execute(arguments)`, which
returns an exit code or raises `Exit`; a verb that runs programs also has `words_of` and `hint_of` (`cli/run.py`) for words that
are neither options nor files. A new verb is a row in `cli/verbs.py` and such a module. What a command does is not known here;
words that are plain are read without argparse (`cli/plain_words.py`). Nothing that only some commands need is imported at the
top: the start of `concerto run` is measured (V-8.6).
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

from . import exits, terminal
from .plain_words import PlainWords
from .verbs import BY_NAME, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from .verbs import Verb


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the process, and return the exit code of O-9.10. Argparse ends `--help` (0) and wrong
    options (2) by SystemExit, which passes through. Every other failure becomes a code, most of them with a line on stderr; with
    CONCERTO_TRACEBACK set, a defect of Concerto is raised instead."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    try:
        code = run_words(words, alone=argv is None)
        sys.stdout.flush()
        return code
    except exits.Exit as leaving:
        if leaving.message:
            print(leaving.message, file=sys.stderr)
        return leaving.code
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:  # the reader has gone and wants no message
        discard_output()
        return exits.FAILED
    except OSError as error:  # of a stream: verbs report files themselves
        if not _has_working_directory():
            print("the working directory is gone: somebody has removed it; go to one that is there", file=sys.stderr)
            return exits.NO_INPUT
        discard_output()
        print(f"cannot write the output: {error.strerror or error}", file=sys.stderr)
        return exits.FAILED
    except Exception as error:  # a defect: say so in one line; CONCERTO_TRACEBACK=1 shows where
        if os.environ.get("CONCERTO_TRACEBACK"):
            raise
        print(f"internal error: {type(error).__name__}: {error} (CONCERTO_TRACEBACK=1 shows where)", file=sys.stderr)
        return exits.INTERNAL


def run_words(words: list[str], *, alone: bool = False) -> int:
    """Run the verb that the words name, and return its exit code. `alone` says that the process serves this command only. Raise
    `Exit` for what ends the command early, and SystemExit as `parsed` does; what the verb raises passes through."""
    if not words:
        raise exits.Exit(exits.USAGE, overview())
    if words[0] in ("-h", "--help"):
        words = ["help"]
    if words[0] in ("-V", "--version"):
        words = ["version"]
    terminal.choose_colour("auto")
    verb = BY_NAME.get(words[0])
    if verb is None:
        # Other languages run a file without a verb.
        if words[0].endswith((".conc", ".concb")):
            command = " ".join(["concerto run", *words])
            raise exits.Exit(exits.USAGE, f"concerto: {words[0]} is a file, not a command: write `{command}`")
        if words[0] in INSTALLING:
            raise exits.Exit(exits.USAGE, f"concerto: no command {words[0]!r}: {_installing(words[1:])}")
        raise exits.Exit(exits.USAGE, f"concerto: no command {words[0]!r}{_nearest(words[0], BY_NAME)}\n\n{overview()}")
    import importlib

    module = importlib.import_module(f".{verb.module}", __package__)
    split = getattr(module, "words_of", None)  # a verb whose command line is more than options and files
    own_words, beside = split(words[1:]) if split is not None else (words[1:], {})
    # argparse is loaded only for help, mistakes and unusual words: it would take an eighth of the start.
    plain = PlainWords()
    describe(plain, verb, module)
    values = plain.read(own_words)
    hint = module.hint_of(words[1:]) if split is not None else ""
    arguments: argparse.Namespace | SimpleNamespace
    if values is not None:
        arguments = SimpleNamespace(**beside, **values, alone=alone)
    else:
        arguments = parsed(verb, module, own_words, hint, {**beside, "alone": alone})
    terminal.choose_colour(arguments.color)
    if vars(arguments).get("watch"):
        from .watch import watch

        return watch(words, arguments)
    # A verb with an optional FILE takes the entry of the project.
    if vars(arguments).get("file", "") is None or vars(arguments).get("files") == []:
        from .inputs import entry_file

        arguments.file = entry_file()
        arguments.files = [arguments.file]
    try:
        return int(module.execute(arguments))
    except exits.Exit as ended:
        if ended.code == exits.NO_INPUT:
            ended.message += hint
        raise


# What other languages call it; libraries are Python distributions (P-3.3).
INSTALLING = ("add", "install", "remove", "uninstall", "update", "publish")


def _installing(names: list[str]) -> str:
    """Return the advice for a command that would install libraries."""
    name = next((word for word in names if not word.startswith("-")), "NAME")
    return f"libraries are Python distributions: write `pip install {name}`, then `use lib::…`; `pip list` shows what is there"


def describe(parser: argparse.ArgumentParser | PlainWords, verb: Verb, module: ModuleType) -> None:
    """Tell a parser the flags and files of a verb."""
    parser.add_argument("-q", "--quiet", action="store_true", help=verb.quiet)
    help = "auto (the default): on a terminal, unless NO_COLOR is set, and where FORCE_COLOR is"
    parser.add_argument("--color", choices=terminal.COLOURS, default="auto", help=help)
    module.configure(parser)


def parsed(verb: Verb, module: ModuleType, words: list[str], hint: str, beside: dict[str, object]) -> argparse.Namespace:
    """Return the values of the words by argparse, which prints help and mistakes itself and then raises SystemExit (0 or 2).
    `hint` is added to its message about words that it does not know; `beside` are values that no flag sets."""
    import argparse

    parser = argparse.ArgumentParser(prog=f"concerto {verb.name}", description=verb.summary, allow_abbrev=False)
    describe(parser, verb, module)
    arguments, unknown = parser.parse_known_args(words, argparse.Namespace(**beside))
    if unknown:
        flags = [flag for action in parser._actions for flag in action.option_strings]
        near = _nearest(unknown[0].partition("=")[0], flags) if unknown[0].startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{near}{hint or _behind_dashes(verb, words, unknown)}")
    return arguments


def _behind_dashes(verb: Verb, words: list[str], unknown: list[str]) -> str:
    """Return the advice for `run FILE a b`: the arguments of a program stand behind `--`."""
    if verb.name != "run" or any(word.startswith("-") for word in unknown):
        return ""
    before = [word for word in words if word not in unknown]
    return f"; arguments of the program stand behind --: `concerto run {' '.join([*before, '--', *unknown])}`"


def prepare_streams() -> None:
    """Make output UTF-8 whatever the locale, so that equal runs print equal bytes. A stream that is closed becomes one that
    takes everything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, it stays for the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def discard_output() -> None:
    """Throw away what is left in the buffer: it would fail again at shutdown, with a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _nearest(word: str, names: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def overview() -> str:
    """Return the list of commands."""
    width = max(len(v.name) for v in VERBS)
    rows = "\n".join(f"  {v.name:<{width}}  {v.summary}" for v in VERBS)
    return f"usage: concerto COMMAND [options]\n\n{rows}\n\n`concerto COMMAND --help` tells more."
