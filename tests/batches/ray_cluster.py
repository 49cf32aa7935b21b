"""A Ray cluster of some nodes on this machine, in a temporary folder of its own, which is torn down whatever happens."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cluster(nodes: int, cpus: int = 1) -> Iterator[Any]:
    """The first node is that of the driver, and has no CPU for workers: any other may be removed."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
    import ray
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="cr")  # short: sockets lie in it
    os.mkdir(os.path.join(folder, "ray"))
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = folder
    made = None
    try:
        memory = {"object_store_memory": 80 << 20}
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
        made.workers = [made.add_node(num_cpus=cpus, **memory) for _ in range(nodes)]
        made.wait_for_nodes()
        yield made
    finally:
        if ray.is_initialized():
            ray.shutdown()
        if made is not None:
            made.shutdown()
        os.environ.pop("RAY_TMPDIR")
        if before is not None:
            os.environ["RAY_TMPDIR"] = before
        shutil.rmtree(folder, ignore_errors=True)
