"""One refund in Concerto and in three peers: lines, calls that are repeated after kills, what a step costs.

    python -m benches.durable                   everything that is installed: half an hour on a quiet machine
    python -m benches.durable --kills 0         only what a step costs; `--rounds 0` leaves that out
    python -m benches.durable --only dbos       some of them; `--write` renews docs/generated/durable-peers.*

`make bench-durable-peers` installs the peers, each into an environment of its own. What is measured stands in build/durable/, and
what stands there of an earlier run is shown too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.memory import servers

from . import steps
from .chart import page, svg
from .judging import history_of, judged
from .kills import LATENCY, campaign
from .lines import written
from .server import Server
from .temporal_server import temporal_server
from .variants import PROGRAMS, ROOT, TEMPORAL_SERVER, VARIANTS, Place, Variant, python_of

FOLDER = ROOT / "build" / "durable"
PAGES = ROOT / "docs" / "generated"
PACKAGES = {"langgraph": ("langgraph", "langgraph-checkpoint-sqlite"), "dbos": ("dbos",), "temporal": ("temporalio",)}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Services:
    """The environment of the processes, and the pids of the services that were started for them. `missing` tells by name what
    could not be started."""

    def __init__(self, stack: ExitStack, wanted: Sequence[str]) -> None:
        self.environment = {**os.environ, "OPENAI_API_KEY": "none"}
        self.pids: dict[str, int] = {}
        self.missing: dict[str, str] = {}
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="durable-")))
        try:
            server = stack.enter_context(servers.postgres_server(syncs=True))
            address = server.url.rpartition("/")[0]
            self.environment.update(DBOS_SYSTEM_DATABASE_URL=f"{address}/refunds", CONCERTO_STORE=server.url)
            self.pids["postgres"] = server.process.pid
        except pytest.skip.Exception as error:
            self.missing["postgres"] = str(error)
        if "temporal" in wanted and TEMPORAL_SERVER.exists() and python_of("temporal").exists():
            address, process = stack.enter_context(temporal_server(TEMPORAL_SERVER, python_of("temporal"), self.folder))
            self.environment["TEMPORAL_ADDRESS"] = address
            self.pids["temporal"] = process.pid
        elif "temporal" in wanted:
            self.missing["temporal"] = f"{TEMPORAL_SERVER.relative_to(ROOT)} or its interpreter is not there"

    def place(self, name: str) -> Place:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return Place(folder, dict(self.environment))


def kill(variant: Variant, place: Place, kills: int, seed: int) -> None:
    with serving() as server:
        place.environment.update(server.environment, OPENAI_BASE_URL=server.environment["MODEL_URL"])
        histories = campaign(variant, place, server, kills, seed, say)
    keep(f"kills-{variant.name}", [asdict(history) for history in histories])


@contextmanager
def serving() -> Iterator[Server]:
    server = Server(LATENCY)
    try:
        yield server
    finally:
        server.close()


def keep(name: str, value: Any) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def kept(name: str) -> Any:
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def figures() -> dict[str, Any]:
    """All that was measured, in the form of docs/generated/durable-peers.json."""
    variants = {}
    for variant in VARIANTS:
        histories = kept(f"kills-{variant.name}")
        variants[variant.name] = {
            "title": variant.title,
            "lines": written(PROGRAMS / variant.program),
            "versions": versions(variant.name),
            "kills": judged([history_of(each) for each in histories]) if histories else None,
        }
    return {"machine": kept("machine"), "variants": variants, "steps": kept("steps") or {}}


def versions(peer: str) -> list[str]:
    if peer not in PACKAGES or not python_of(peer).exists():
        return []
    code = "import sys; from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in sys.argv[1:]), sep='\\n')"
    done = subprocess.run([str(python_of(peer)), "-c", code, *PACKAGES[peer]], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def machine() -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1),
        "python": platform.python_version(),
    }  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m benches.durable", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [variant.name for variant in VARIANTS]
    options.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    options.add_argument("--kills", type=int, default=100, help="so many kills of each (100)")
    options.add_argument("--seed", type=int, default=1, help="of the moments of the kills (1)")
    options.add_argument("--together", action="store_true", help="the kills of all at the same time")
    options.add_argument("--rounds", type=int, default=5, help="so many rounds of steps (5)")
    options.add_argument("--write", action="store_true", help="renew docs/generated/durable-peers.json and .svg")
    chosen = options.parse_args()
    if chosen.kills or chosen.rounds:
        measure(chosen)
    found = figures()
    print("\n".join(page(found)))
    if chosen.write:
        (PAGES / "durable-peers.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (PAGES / "durable-peers.svg").write_text(svg(found), encoding="utf-8")
    return 0


def measure(chosen: argparse.Namespace) -> None:
    with ExitStack() as stack:
        services = Services(stack, chosen.only)
        there = []
        for variant in (variant for variant in VARIANTS if variant.name in chosen.only):
            lacks = variant.missing() or services.missing.get({"dbos": "postgres"}.get(variant.name, variant.name), "")
            if lacks:
                say(f"{variant.name} is left out, it needs: {lacks}")
            else:
                there.append(variant)
        keep("machine", machine())
        if chosen.kills:
            with ThreadPoolExecutor(len(there) if chosen.together else 1) as pool:
                jobs = [pool.submit(kill, each, services.place(each.name), chosen.kills, chosen.seed) for each in there]
                for job in jobs:
                    job.result()
        if chosen.rounds:
            kinds = {variant.name for variant in there} | {"bare"}
            rows = [row for row in steps.ROWS if row.name.partition("-")[0] in kinds and steps.is_there(row, services.pids)]
            keep("steps", steps.measured(rows, services.place("steps"), services.pids, chosen.rounds, say))


sys.exit(main())
