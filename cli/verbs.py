"""The one table of commands (section 9.2 of docs/spec/orchestration.md): name, module, what it does. Parser, overview and
reference page come from it.

Hands on `VERBS`, the rows in the order of the overview, `BY_NAME` and `Verb` to `main`, `VERBS` to tools and `BY_NAME` to the
notebook too. What a command does, and its flags but `--quiet`, are in its module; nothing is imported or run here. A new command
is a row, and a module beside this one.
"""

from __future__ import annotations

NO_WARNINGS = "no warnings"


class Verb:
    """A row of the table: `name` is the word on the command line, `summary` what the command does, in a few words; `module` is
    the file in this folder, without its ending, by default that of the name; `quiet` says, for help, what `--quiet` leaves
    out."""

    __slots__ = ("name", "module", "summary", "quiet")

    def __init__(self, name: str, summary: str, *, module: str = "", quiet: str = NO_WARNINGS) -> None:
        self.name = name
        self.module = module or name
        self.summary = summary
        self.quiet = quiet


VERBS = (
    Verb("run", "run the main function of a source or image", quiet="no warnings, no emits"),
    Verb("batch", "call a function for each row of a file", quiet="no warnings, no progress, no summary"),
    Verb("compile", "write the image of a source"),
    Verb("check", "report diagnostics only"),
    Verb("init", "write a new project", quiet="print nothing"),
    Verb("repl", "try items, statements and expressions one after another", quiet="no warnings, no emits"),
    Verb("test", "run the tests of sources and images", quiet="summary and failures only"),
    Verb("fmt", "give sources the canonical layout"),
    Verb("disasm", "show the instructions of a source or image"),
    Verb("inspect", "show what a source or image holds and wants"),
    Verb("stubs", "write what Python's type checkers know of a program"),
    Verb("keygen", "make a pair of keys for signatures of images", quiet="print nothing"),
    Verb("sign", "sign an image, in a file beside it", quiet="print nothing"),
    Verb("verify", "tell whether one of some keys has signed an image", quiet="print nothing"),
    Verb("models", "list the models that connections offer, and check their keys and addresses", quiet="ids only"),
    Verb("resume", "go on with a run of a store", quiet="no warnings, no emits"),
    Verb("runs", "list, show, answer, cancel and remove the runs of a store", quiet="nothing less"),
    Verb("trace", "show a recording of a run, or compare it with a program", quiet="no warnings, no notes"),
    Verb("view", "show a recording in a browser, following a run that goes on", quiet="the address only"),
    Verb("serve", "serve the public functions of a program as a web service", quiet="no warnings, no log of requests"),
    Verb("mcp", "offer the public functions of a program as an MCP server on standard input and output"),
    Verb("pin", "accept the tools of MCP servers as they are now", quiet="not what has changed"),
    Verb("conformance", "run the programs of the conformance suite", quiet="summary and failures only"),
    Verb("lsp", "serve an editor: a language server on standard input and output"),
    Verb("version", "show the version"),
    Verb("help", "list the commands, or tell of one"),
)
BY_NAME = {verb.name: verb for verb in VERBS}
