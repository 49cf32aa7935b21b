"""A Temporal server of one process, with its state in an SQLite file.

Hands on `temporal_server`. The program is `cmd/server` of the Go module `go.temporal.io/server`, built by
`make bench-durable-peers`; the configuration is the one that a single machine needs, with free ports.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.memory.servers import free_port, running

REGISTER = """
import asyncio, sys
from datetime import timedelta
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client

async def main():
    client = await Client.connect(sys.argv[1])
    request = RegisterNamespaceRequest(namespace="default")
    request.workflow_execution_retention_period.FromTimedelta(timedelta(days=3))
    await client.workflow_service.register_namespace(request)

asyncio.run(main())
"""
DYNAMIC = {"history.transferProcessorMaxPollRPS": [{"value": 1000}]}
"""The default of 20 a second for each shard would make a step of a model that takes no time wait until it has lasted 100 ms."""
START = 60.0  # seconds until a namespace can be registered and is known everywhere


def configuration(folder: Path, ports: dict[str, int]) -> dict[str, Any]:
    """The two stores are one file; it waits for the disk with each commit, as the server's own examples do."""
    attributes = {"cache": "private", "setup": True, "journal_mode": "wal", "synchronous": 2}
    sql = {
        "pluginName": "sqlite", "databaseName": str(folder / "temporal.db"), "connectAddr": "localhost", "connectProtocol": "tcp",
        "connectAttributes": attributes, "maxConns": 1, "maxIdleConns": 1, "maxConnLifetime": "1h",
    }  # fmt: skip
    services = {}
    for name in ("frontend", "matching", "history", "worker"):
        rpc = {"grpcPort": ports[name], "membershipPort": ports[f"{name}-members"], "bindOnLocalHost": True}
        services[name] = {"rpc": rpc | ({"httpPort": ports["http"]} if name == "frontend" else {})}
    active = {
        "enabled": True, "initialFailoverVersion": 1, "rpcName": "frontend", "rpcAddress": f"localhost:{ports['frontend']}",
    }  # fmt: skip
    return {
        "log": {"stdout": True, "level": "warn"},
        "persistence": {
            "defaultStore": "file", "visibilityStore": "file", "numHistoryShards": 1, "datastores": {"file": {"sql": sql}},
        },
        "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"}},
        "services": services,
        "clusterMetadata": {
            "enableGlobalNamespace": False, "failoverVersionIncrement": 10, "masterClusterName": "active",
            "currentClusterName": "active", "clusterInformation": {"active": active},
        },
        "dcRedirectionPolicy": {"policy": "noop"},
        "dynamicConfigClient": {"filepath": str(folder / "dynamic.yaml"), "pollInterval": "10s"},
    }  # fmt: skip


@contextmanager
def temporal_server(program: Path, python: Path, folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield its address and its process, once workflows can be started. Raises RuntimeError when it does not answer."""
    names = ["frontend", "matching", "history", "worker"]
    ports = {name: free_port() for name in [*names, *(f"{name}-members" for name in names), "http"]}
    file = folder / "temporal.yaml"  # JSON is YAML
    file.write_text(json.dumps(configuration(folder, ports)), encoding="utf-8")
    (folder / "dynamic.yaml").write_text(json.dumps(DYNAMIC), encoding="utf-8")
    address = f"127.0.0.1:{ports['frontend']}"
    command = [str(program), "--config-file", str(file), "--allow-no-auth", "start"]
    with running(command, ports["frontend"], cwd=folder) as process:
        _register(python, address)
        yield address, process


def _register(python: Path, address: str) -> None:
    until = time.monotonic() + START
    while True:
        done = subprocess.run([str(python), "-c", REGISTER, address], capture_output=True, text=True)
        if done.returncode == 0 or "already exists" in done.stderr:
            time.sleep(12)  # the services read the list of namespaces every ten seconds
            return
        if time.monotonic() > until:
            raise RuntimeError(f"the Temporal server takes no namespace: {done.stderr.splitlines()[-1:]}")
        time.sleep(1)
