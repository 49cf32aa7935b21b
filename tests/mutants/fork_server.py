"""A plugin of pytest that collects all tests once and forks for each change, so that no change waits for imports.

The child puts the code of the changed file into the functions that are already imported, runs the tests it is asked for, and
ends at the first that fails. A change of what runs at import has no effect there; `campaign.py` gives it a process of its own.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

PIPES = "MUTANTS_PIPES"  # the numbers of two open files: requests come by the first, answers go by the second
Json = dict[str, Any]
Items = dict[str, pytest.Item]  # by name
Functions = dict[str, list[FunctionType]]  # by file, its path relative to the tree

UNFIT = "unfit"  # the answer for a change whose code does not fit into the functions


class _Failures:
    """Whether a test of this process has failed."""

    any = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.any |= report.failed


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    failures = _Failures()
    session.config.pluginmanager.register(failures)
    items = {item.nodeid: item for item in session.items}
    functions = functions_of(os.getcwd())
    gc.freeze()  # no child copies pages only to mark what is on them
    journal = Path(os.environ["XDG_CACHE_HOME"]).with_name("journal.txt")
    requests, answers = map(int, os.environ[PIPES].split())
    with os.fdopen(requests) as lines, os.fdopen(answers, "w", buffering=1) as out:
        print(json.dumps(len(items)), file=out)  # all is imported, and files may change
        for line in lines:
            print(json.dumps(_answer(json.loads(line), journal, items, functions, failures)), file=out)
    return True


def _answer(request: Json, journal: Path, items: Items, functions: Functions, failures: _Failures) -> str:
    """What the child says last: the test at which it ended, nothing if all passed, or that the change does not fit."""
    journal.write_text("")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        with journal.open("a", buffering=1) as out:
            for said in child_of(request, items, functions, failures):
                print(said, file=out)
        os._exit(0)
    end = time.monotonic() + request["seconds"]
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers that its tests have started
    return (journal.read_text().splitlines() or ["a crash before the first test"])[-1]


def child_of(request: Json, items: Items, functions: Functions, failures: _Failures) -> Iterator[str]:
    """The name of each test before it begins; an empty line at the end if none has failed."""
    if request["file"] and not replaced(functions.get(request["file"], []), request["old"], Path(request["file"]).read_text()):
        yield UNFIT
        return
    chosen = [items[name] for name in request["tests"] if name in items]
    for item, after in zip(chosen, [*chosen[1:], None], strict=True):
        yield item.nodeid
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if failures.any:
            with suppress(Exception):
                item.session._setupstate.teardown_exact(None)  # ends the servers that fixtures have started
            return
    yield ""


def functions_of(tree: str) -> Functions:
    files: dict[str, str] = {}
    by_file: Functions = {}
    gc.unfreeze()  # what is frozen is not among the objects
    for value in gc.get_objects():
        if isinstance(value, FunctionType):
            name = value.__code__.co_filename
            if name not in files:
                files[name] = os.path.relpath(os.path.realpath(name), tree)
            by_file.setdefault(files[name], []).append(value)
    return by_file


def replaced(functions: list[FunctionType], old: str, new: str) -> bool:
    """Gives each function of the text `old` its code in the text `new`; false if a function does not take it."""
    before, after = ([code for code in _codes(compile(text, "", "exec")) if code.co_name[0] != "<"] for text in (old, new))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        return False
    fresh = {(one.co_qualname, one.co_firstlineno): two for one, two in zip(before, after, strict=True)}
    for function in functions:
        code = fresh.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if code is not None:
            try:
                function.__code__ = code.replace(co_filename=function.__code__.co_filename)
            except ValueError:  # it closes over other variables than before
                return False
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
