"""`concerto init --lib`: the files of a library, a Python distribution that ships sources (P-3.3).

Hands on `library_files`, the text of each file by its path, and `name_of`, the checked name, to `init`. The package holds the
`.conc` files, an empty `__init__.py` and `py.typed`; no code of Python runs when a program uses the library. Nothing is written
or read here.
"""

from __future__ import annotations

import keyword
import os

from . import exits

TAKEN = ("concerto", "crate", "lib", "self", "std", "super")  # names with a meaning of their own in paths, or on PyPI

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "concerto-{distribution}"
version = "0.1.0"
description = "{name}: a library for Concerto"
readme = "README.md"
requires-python = ">=3.11"

# Programs find the library by this line: `use lib::{name}::…` reads the .conc files of the package.
[project.entry-points."concerto.modules"]
{name} = "{package}"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""
README = """\
# {name}

A library for [Concerto](https://pypi.org/project/concerto-lang/).

    pip install concerto-{distribution}

```concerto
use lib::{name}::greeting::greet;

fn main() {{
    println(greet("world"));
}}
```

`pip install -e .` makes the library known to programs here, `concerto test` runs its tests, `python -m build` makes the wheel.
What its code may touch is granted by the programs that use it: models need nothing, anything else a table
`[permissions.lib.{name}]` in their Concerto.toml.
"""
SOURCE = """\
/// A greeting for `name`.
pub fn greet(name: String) -> String {{
    "Hello, ${{name}}!"
}}

@test("a greeting has the name")
fn greets() {{
    assert_eq(greet("Ada"), "Hello, Ada!");
}}
"""
TESTS = """\
// As a program sees the library: `pip install -e .` makes it known here.
use lib::{name}::greeting::greet;

@test("programs can greet")
fn greets() {{
    assert(greet("Grace").ends_with("Grace!"));
}}
"""
IGNORED = "dist/\n*.egg-info/\n__pycache__/\n*.concb\n.venv/\n"


def name_of(folder: str) -> str:
    """Return the name of a library, which is that of its folder. Raise `Exit` (2) for one that is not small letters of ASCII,
    digits and `_` with a letter first, and for one of TAKEN or a keyword of Concerto or Python."""
    from ..compiler.syntax.lexer import HARD_KEYWORDS

    name = os.path.basename(os.path.abspath(folder))
    if not (name.isascii() and name.isidentifier() and name == name.lower() and name[0].isalpha()):
        wish = "".join(c if c.isascii() and c.isalnum() else "_" for c in name.lower()).strip("_")
        advice = f": write {wish}" if wish.isidentifier() and wish[0].isalpha() else ""
        raise exits.Exit(
            exits.USAGE, f"concerto init: {name!r} is no name of a library: small letters, digits and _, a letter first{advice}"
        )
    if name in TAKEN or name in HARD_KEYWORDS or keyword.iskeyword(name):
        raise exits.Exit(exits.USAGE, f"concerto init: {name!r} has a meaning of its own; a library needs another name")
    return name


def library_files(name: str) -> dict[str, str]:
    """Return the text of each file of a library of this name, by its path in the project."""
    package = f"concerto_{name}"
    words = {"name": name, "package": package, "distribution": name.replace("_", "-")}
    source = os.path.join("src", package)
    return {
        "pyproject.toml": PYPROJECT.format(**words),
        "README.md": README.format(**words),
        ".gitignore": IGNORED,
        os.path.join(source, "__init__.py"): "",
        os.path.join(source, "py.typed"): "",
        os.path.join(source, "greeting.conc"): SOURCE.format(**words),
        os.path.join("tests", "greeting.conc"): TESTS.format(**words),
    }
