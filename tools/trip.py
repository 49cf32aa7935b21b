"""How much of the product one run enters: files and functions, by room. `python tools/trip.py [ARGUMENTS OF concerto]`

Without arguments `concerto run examples/conversation.conc --offline`. Counts what is called in this thread and in those the
command starts; importing a module enters its file, and none of its functions. The package `concerto` must be importable.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "batches", "cli", "colours", "compiler", "lsp", "notebook", "runtime", "serve", "vm")


def place_of(file: str) -> str | None:
    """Return the path under the repository of a file of the product, None for any other file."""
    if file.startswith("<"):  # of Python itself, or made at run time
        return None
    path = Path(file)
    try:
        inside = path.resolve().relative_to(ROOT)
    except ValueError:
        return None
    return str(inside) if inside.parts[0] in ROOMS or len(inside.parts) == 1 else None


def trip(arguments: list[str]) -> dict[str, set[str]]:
    """Return the functions that the command calls, by file, none of a file that it only imports. Raise SystemExit if it ends with
    another code than 0."""
    codes: dict[int, CodeType] = {}  # by identity: modules with nothing but a docstring may be equal

    def called(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes[id(frame.f_code)] = frame.f_code

    from concerto.cli.main import main

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    if code:
        raise SystemExit(f"the command ended with {code}")
    functions: dict[str, set[str]] = {}
    places: dict[str, str | None] = {}
    for one in codes.values():
        file = one.co_filename
        if file not in places:
            places[file] = place_of(file)
        place = places[file]
        if place is None:
            continue
        names = functions.setdefault(place, set())
        # A body of a module, a class or a comprehension is no function.
        is_function = one.co_flags & inspect.CO_OPTIMIZED and not one.co_qualname.endswith(">")
        if is_function:
            names.add(one.co_qualname)
    return functions


def main(arguments: list[str]) -> int:
    """Print the table for a command; return the exit status 0. Raise SystemExit as `trip`."""
    functions_by_file = trip(arguments or ["run", str(ROOT / "examples" / "conversation.conc"), "--offline"])
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for place, names in functions_by_file.items():
        room = place.split("/")[0]
        files[room] += 1
        functions[room] += len(names)
    print(f"{'room':<12}{'files':>7}{'functions':>11}")
    for room in sorted(files):
        print(f"{room:<12}{files[room]:>7}{functions[room]:>11}")
    print(f"{'all':<12}{sum(files.values()):>7}{sum(functions.values()):>11}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
