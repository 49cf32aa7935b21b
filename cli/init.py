"""`concerto init`: the files of a new project (O-9.30 to O-9.32).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. `files` has the text of each file by its path; nothing that exists is overwritten. The providers and their starting models
come from the table of providers (`vm/providers.py`). No provider is asked, and no key is read or written.
"""

from __future__ import annotations

import os
import shlex

from ..vm.providers import PROVIDERS
from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


# Per provider: the connection its model names, and the model id (O-9.32).
STARTERS = {row.name: row.starter for row in PROVIDERS.values() if row.starter is not None}
IGNORED = ".concerto/\n*.concb\n*.effects.jsonl\n.env\n"
MANIFEST = """\
[project]
name = "{name}"
version = "0.1.0"
entry = "src/main.conc"
"""
CONNECTION = """
[connections.{connection}]
provider = "{provider}"
"""
MAIN = """\
schema Ticket {{ title: String, kind: "bug" | "task" }}

model Sorter {{
    provider: {connection},
    base: "{model}",
    system_prompt: "You sort support mail.",
}}

fn sort(mail: String) -> Result<Ticket> by Sorter {{ "Sort this mail:\\n${{mail}}" }}

fn main() {{
    match sort("The export crashes!") {{
        Ok(ticket) => emit("ticket", ticket),
        Err(error) => emit("failed", error.message),
    }}
}}

@test("a ticket is sorted")
fn sorts() {{
    mock sort {{ title: "Export", kind: "bug" }}
    assert_eq(sort("It crashes!")?.kind, "bug");
}}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the folder to make, or . for this one")
    parser.add_argument("--lib", action="store_true", help="a library that pip can install, whose sources are `lib::NAME`")
    parser.add_argument("-p", "--provider", metavar="P", default=next(iter(STARTERS)), help=f"one of {', '.join(STARTERS)}")


def execute(arguments: argparse.Namespace) -> int:
    """Write the files of a project; return 0. Raise `Exit`: 2 for an unknown provider and a name that no library can have; 1
    for a folder with a project, and for a file that exists or cannot be written, where the files before it stay."""
    if arguments.provider not in STARTERS:
        names = ", ".join(STARTERS)
        raise exits.Exit(exits.USAGE, f"concerto init: no provider {arguments.provider!r}; it is one of {names}")
    folder = arguments.name
    if arguments.lib:
        from .library_project import library_files, name_of

        written, marker = library_files(name_of(folder)), "pyproject.toml"
        steps = next_steps(folder, "pip install -e .", "concerto test", "python -m build")
    else:
        written, marker = files(folder, arguments.provider), "Concerto.toml"
        steps = next_steps(folder, "concerto test", "concerto run --offline")
    if os.path.exists(os.path.join(folder, marker)):
        raise exits.Exit(exits.FAILED, f"{os.path.join(folder, marker)} is already there")
    for path, text in written.items():
        write(os.path.join(folder, path), text)
        if not arguments.quiet:
            print(f"wrote {os.path.normpath(os.path.join(folder, path))}")
    if not arguments.quiet:
        print(steps)
    return exits.OK


def files(folder: str, provider: str) -> dict[str, str]:
    """Return the text of each file by its path in the project; the name of `folder`, without what a string of TOML cannot hold,
    becomes that of the project, "project" if nothing is left. `provider` is a name in STARTERS, else KeyError is raised."""
    connection, model = STARTERS[provider]
    declared = "" if connection == provider else CONNECTION.format(connection=connection, provider=provider)
    # What a string of TOML cannot hold as it stands: line ends and other controls, and what is no text in the file system.
    name = "".join(c for c in os.path.basename(os.path.abspath(folder)) if c.isprintable() and c not in '\\"') or "project"
    return {
        "Concerto.toml": MANIFEST.format(name=name) + declared,
        os.path.join("src", "main.conc"): MAIN.format(connection=connection, model=model),
        ".gitignore": IGNORED,
    }


def write(path: str, text: str) -> None:
    """Write a new file, and make the folders above it. Raise `Exit` (1) if it exists or cannot be written."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {path}: {error.strerror or error}") from None


def next_steps(folder: str, *commands: str) -> str:
    """Return the lines that say what to type next, in a project that was written to `folder`."""
    enter = [] if folder == "." else [f"cd {shlex.quote(folder)}"]
    return "\nnext:\n" + "\n".join([f"  {command}" for command in (*enter, *commands)])
