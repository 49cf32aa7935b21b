"""`concerto runs`: the runs of a store: list them, show one, answer it, cancel it, remove old ones (O-9.76).

Hands on `configure` and `execute` to `main`. What a store holds, and what it refuses, is for `runtime/journal/run_store.py`. No
run goes on here: an answer is kept for `resume`.
"""

from __future__ import annotations

import json
import sys
import time

from ..vm.bytecode.disasm import printable
from . import exits
from .journals import add_store_flags, open_store, refusing, told_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..runtime.journal.rows import JournalRefused
    from ..runtime.journal.run_store import RunRow, RunStore

ACTIONS = ("list", "show", "answer", "cancel", "prune")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `runs`."""
    parser.add_argument("action", metavar="ACTION", nargs="?", default="list", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument("words", metavar="WORD", nargs="*", help="show ID, cancel ID, answer ID KEY JSON")
    add_store_flags(parser, "the run store (required)")
    parser.add_argument("--days", type=float, default=30.0, metavar="N", help="prune: runs that were over N days ago (30)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.usage = "concerto runs [list | show ID | answer ID KEY JSON | cancel ID | prune] --store PATH [options]"


def execute(arguments: argparse.Namespace) -> int:
    """Do what is asked of a store and return 0. Raise `Exit`: 2 for words that do not fit, 74 for what the store refuses and
    where there is none, 1 where the library of its database is not installed."""
    if arguments.store is None:
        raise exits.Exit(exits.USAGE, "runs: --store names the run store")
    wanted = {"list": 0, "show": 1, "answer": 3, "cancel": 1, "prune": 0}[arguments.action]
    if len(arguments.words) != wanted:
        given = len(arguments.words)
        raise exits.Exit(exits.USAGE, f"runs {arguments.action} takes {wanted or 'no'} words behind it, given {given}")
    store: RunStore = refusing(arguments.store, lambda: open_store(arguments, must_exist=True))
    try:
        refusing(arguments.store, lambda: _do(arguments, store))
    finally:
        store.close()
    return exits.OK


def _do(arguments: argparse.Namespace, store: RunStore) -> None:
    action, words = arguments.action, arguments.words
    if action == "list":
        damaged: list[JournalRefused] = []
        _list(store.runs(damaged), arguments.json)
        for refused in damaged[:-1]:
            print(refused, file=sys.stderr)
        if damaged:
            raise damaged[-1]
    elif action == "show":
        _show(store.run(words[0]), arguments.json)
    elif action == "cancel":
        run = store.run(words[0]).id
        store.cancel(run)
        print(f"cancelled {run}")
    elif action == "prune":
        print(f"removed {store.prune(time.time() - arguments.days * 86_400)} runs")
    else:
        row = store.run(words[0])
        run = row.id
        from ..runtime.schema.lenient_json import JsonRefused, parse_json

        try:
            value = parse_json(words[2])
        except JsonRefused as refused:
            text = f"runs answer: {words[2]!r} is no JSON ({refused}); a text stands in double quotes"
            raise exits.Exit(exits.USAGE, text) from None
        _require_fitting(store, row, words[1], value)
        store.answer(run, words[1], {"json": value})
        way = f"go on with: concerto resume {run} --store {store.name}" if row.call is None else "a server with the store goes on"
        print(f"kept; {way}")


class _DefaultIsComputed(Exception):
    """Whether an answer fits is seen only where functions of the program run."""


def _require_fitting(store: RunStore, row: RunRow, key: str, value: Any) -> None:
    """Raise `Exit` (2) for an answer that is not of the type that the channel declares, as far as that can be told without
    running the program."""
    from ..api.json_calls import Misfitting, answer_types, fitting
    from ..vm.bytecode.image import ImageError
    from ..vm.interp.link import load_bytes
    from ..vm.panics import Panic

    def computed(function: Any) -> Any:
        raise _DefaultIsComputed

    wait = next((wait for wait in row.waits if wait["key"] == key), None)
    if wait is None:
        return  # the store refuses it, and says what the run waits for
    try:
        program = load_bytes(store.image(row.image))
        declared = answer_types(program).get(wait["channel"])
        if declared is not None:
            fitting(program, computed, value, declared, f"the answer for {key} ({wait['channel']})")
    except (_DefaultIsComputed, ImageError):
        return  # it is looked at when the run goes on
    except Misfitting as misfit:
        raise exits.Exit(exits.USAGE, f"runs answer: {misfit}") from None
    except Panic as panic:  # beyond the limits of values
        raise exits.Exit(exits.USAGE, f"runs answer: {panic.message}") from None


def _list(rows: list[RunRow], as_json: bool) -> None:
    if as_json:
        print(json.dumps([told_of(row) for row in rows], ensure_ascii=False))
        return
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.created))
        waits = ", ".join(f"{wait['channel']} ({wait['key']})" for wait in row.waits)
        of = printable(row.header.program) + (f"  {row.call['function']}" if row.call else "")
        print(f"{row.id}  {row.state:9}  {when}  {of}{f'  waits for {waits}' if waits else ''}")


def _show(row: RunRow, as_json: bool) -> None:
    told = told_of(row)
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
        return
    for name, value in told.items():
        if name in ("created", "changed"):
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        print(f"{name:8}  {printable(text)}")
