"""What `coverage.py` does: it compares the clauses of the specification with those that programs, tests and benches show.

Hands on `main` to `coverage.py`, and `elsewhere` to `tools/gen_memory_map.py`. It reads `docs/spec/`, the programs of the suite,
and `elsewhere.txt`, which names the tests that show a clause; it writes `clauses.jsonl`, with `--bless` only. A new rule for the
suite is a function that returns lines, which `main` adds to `broken`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import re
import statistics
from pathlib import Path

from . import suite
from .records import Program
from .specification import ID, Clause, order, read_clauses, stray_musts

PROJECT = suite.ROOT.parent
RULES = frozenset({"rule", "invariant"})  # of Hypothesis: the machine that has them is a test


def main(argv: list[str]) -> int:
    """Print what is covered and what is broken, and return the exit status: 1 if something is broken, else 0. `argv` are the
    words behind the command's name. Argparse ends `--help` and wrong options with SystemExit."""
    options = _arguments(argv)
    clauses = read_clauses(PROJECT / "docs" / "spec")
    if options.bless:
        changed = bless(clauses, suite.ROOT / "clauses.jsonl")
        print("conformance/clauses.jsonl " + ("changed" if changed else "unchanged"))
    programs, broken = suite.load()
    shown, missing_tests = elsewhere(suite.ROOT / "elsewhere.txt")
    unshown, bad_rows = unbuilt(PROJECT / "docs" / "spec" / "unbuilt.md")
    broken += missing_tests + bad_rows + claims(programs)
    passed = _passed(programs, options.results)
    named = {ident for program in passed for ident in program.clauses} | set(shown)
    broken += _structure(clauses, programs, shown, unshown) + changed_texts(clauses, suite.ROOT / "clauses.jsonl")
    broken += required(clauses, named, unshown) + claimed_unbuilt(programs, shown, unshown)
    print_coverage(clauses, named, options.list)
    print(f"shown elsewhere: {len(shown)}; not shown yet, with a reason: {len(unshown)}")
    broken += print_lengths(programs)
    for line in broken:
        print(f"BROKEN  {line}")
    return 1 if broken else 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("conformance/coverage.py", description="Clause coverage of the suite.")
    parser.add_argument("--results", metavar="FILE", help="outcomes of run.py --results: only passing programs count")
    parser.add_argument("--list", metavar="PREFIX", default="", help="print the uncovered ids that begin so")
    parser.add_argument("--bless", action="store_true", help="write clauses.jsonl anew")
    return parser.parse_args(argv)


def _passed(programs: list[Program], results: str | None) -> list[Program]:
    if not results:
        return programs
    outcomes = json.loads(Path(results).read_text(encoding="utf-8"))
    return [program for program in programs if outcomes.get(program.ident) == "pass"]


def unbuilt(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return by clause the reason why nothing shows it yet (C-10.2), from the table in the file at `path`, and a line for each
    row that is wrong. A file that does not exist has no rows."""
    reasons: dict[str, str] = {}
    broken: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
        if not line.startswith("|") or line in ("| Why | Clause |", "|---|---|"):
            continue
        match = re.fullmatch(rf"\| ([^|]+[.;]) \| ({ID}) \|", line)
        if not match:
            broken.append(f"{path.name}:{number}: a sentence and one id")
        elif match[2] in reasons:
            broken.append(f"{path.name}:{number}: {match[2]} a second time")
        else:
            reasons[match[2]] = match[1]
    return reasons, broken


def claims(programs: list[Program]) -> list[str]:
    """Return a line for each program that names more clauses than what it expects can be about (C-10.6)."""
    most = suite.suite()["limits"]["maximum_clauses"]
    broken = [f"{p.path}: names {len(p.clauses)} clauses, more than {most}" for p in programs if len(p.clauses) > most]
    return broken + [
        f"{p.path}: names {len(p.clauses)} clauses with {p.expectations} expectations, more than two and two for each"
        for p in programs
        if len(p.clauses) > 2 + 2 * p.expectations
    ]


def claimed_unbuilt(programs: list[Program], shown: dict[str, str], unshown: dict[str, str]) -> list[str]:
    """Return a line for each clause of `unshown`, the table of `unbuilt.md`, that a program or a test names: it is either shown
    or in that table."""
    by = {ident: program.path for program in programs for ident in program.clauses} | shown
    return [
        f"{by[ident]}: names {ident}, which docs/spec/unbuilt.md says is not shown: {reason} Take that row out if it is now"
        for ident, reason in unshown.items()
        if ident in by
    ]


def elsewhere(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return by clause the test that shows it (C-10.5), from the lines of the file at `path`, and a line for each that is wrong:
    it has a bad form, or names a test that does not exist."""
    shown: dict[str, str] = {}
    broken: list[str] = []
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(rf"({ID})\t(\S+)", line)
        if not match:
            broken.append(f"{path.name}:{number}: an id, a tab, the path of a test")
        elif not _test_exists(match[1], match[2]):
            broken.append(f"{path.name}:{number}: no test function, or bench with a target of {match[1]}: {match[2]}")
        else:
            shown[match[1]] = match[2]
    return shown, broken


def _test_exists(ident: str, shown: str) -> bool:
    """Return whether `shown`, a `file::name`, is a test function that does something, or a bench that has a target of the clause
    (C-10.5)."""
    file, _, name = shown.partition("::")
    path = PROJECT / file
    if not path.is_file() or path.suffix != ".py" or not name:
        return False
    functions, targets = _contents(path)
    if file.startswith("benches/"):
        return name in functions and ident in targets
    return functions.get(name, False)


@functools.cache
def _contents(path: Path) -> tuple[dict[str, bool], frozenset[str]]:
    """Return the functions of a file by name, with whether each is a test, or a rule of a state machine, that asserts or calls
    anything; and the clauses of the targets that a bench has."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            does = any(isinstance(part, (ast.Assert, ast.Call)) for each in node.body for part in ast.walk(each))
            names = {getattr(getattr(one, "func", one), "id", "") for one in node.decorator_list}
            functions[node.name] = does and (node.name.startswith("test_") or not RULES.isdisjoint(names))
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Target"]
    first = [node.args[0] for node in called if node.args]
    return functions, frozenset([str(one.value) for one in first if isinstance(one, ast.Constant)])


def _structure(
    clauses: list[Clause], programs: list[Program], shown: dict[str, str], unshown: dict[str, str]
) -> list[str]:
    """Return a line for each id that is defined twice or that nobody defines, and each `must` outside of clauses; or one line for
    a specification without clauses."""
    if not clauses:
        return ["docs/spec defines no clause"]
    broken, places = [], dict[str, Clause]()
    for clause in clauses:
        if places.setdefault(clause.ident, clause) is not clause:
            broken.append(f"{clause.document}:{clause.line}: {clause.ident} is defined twice")
    for program in programs:
        broken += [f"{program.path}: unknown clause {i}" for i in program.clauses if i not in places]
    broken += [f"elsewhere.txt: unknown clause {ident}" for ident in shown if ident not in places]
    broken += [f"unbuilt.md: unknown clause {ident}" for ident in unshown if ident not in places]
    return broken + stray_musts(PROJECT / "docs" / "spec")


def required(clauses: list[Clause], named: set[str], unshown: dict[str, str]) -> list[str]:
    """Return a line for each clause that nothing shows and no reason excuses. `named` are the clauses that something shows."""
    missing = [clause.ident for clause in clauses if clause.ident not in named and clause.ident not in unshown]
    return [f"{ident} is covered by nothing; docs/spec/unbuilt.md gives no reason" for ident in missing]


def print_coverage(clauses: list[Clause], named: set[str], listed: str) -> None:
    """Print for each document how many of its clauses are in `named`, and the ids of the others that begin with `listed`, if that
    is not empty."""
    documents: dict[str, set[str]] = {}
    for clause in clauses:
        documents.setdefault(clause.document, set()).add(clause.ident)
    for document, idents in documents.items():
        hit, total = len(idents & named), len(idents)
        print(f"{document:20} {hit:4} / {total:4}  {100 * hit // max(1, total):3} %")
        uncovered = sorted((i for i in idents - named if listed and i.startswith(listed)), key=order)
        if uncovered:
            print("  uncovered:", " ".join(uncovered))
    every = {clause.ident for clause in clauses}
    print(f"{'all':20} {len(every & named):4} / {len(every):4}")


def print_lengths(programs: list[Program]) -> list[str]:
    """Print the median and the greatest length of the programs, in lines, and return a line for each limit that is broken
    (C-2.3)."""
    lengths = [program.lines for program in programs if program.path.endswith(".conc")]
    if not lengths:
        return []
    limits = suite.suite()["limits"]
    median, longest = statistics.median(lengths), max(lengths)
    print(f"programs: {len(programs)}, median {median:g} lines, longest {longest}")
    broken = [f"{p.path}: {p.lines} lines" for p in programs if p.lines > limits["maximum_lines"]]
    if median >= limits["median_lines"]:
        broken.append(f"the median length is {median:g} lines, not under {limits['median_lines']}")
    return broken


def table(clauses: list[Clause]) -> str:
    """Return the text of `clauses.jsonl`: a JSON object for each clause."""
    rows = [{"id": c.ident, "document": c.document, "kind": c.kind, "hash": c.hash} for c in clauses]
    return "".join(json.dumps(row) + "\n" for row in rows)


def bless(clauses: list[Clause], path: Path) -> bool:
    """Write `clauses.jsonl` to `path`; return whether its text has changed."""
    text = table(clauses)
    old_text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(text, encoding="utf-8")
    return text != old_text


def changed_texts(clauses: list[Clause], path: Path) -> list[str]:
    """Return a line for each clause whose text does not have the hash of the file at `path`, and for each that only one of the
    two has."""
    if not path.exists():
        return ["clauses.jsonl is missing: run with --bless"] if clauses else []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    old, new = {row["id"]: row["hash"] for row in rows}, {clause.ident: clause.hash for clause in clauses}
    broken = [f"{i}: its text has changed since clauses.jsonl was written" for i in new if old.get(i, new[i]) != new[i]]
    broken += [f"{ident} is not in clauses.jsonl" for ident in new if ident not in old]
    return broken + [f"{ident} is in clauses.jsonl but not in docs/spec" for ident in old if ident not in new]
