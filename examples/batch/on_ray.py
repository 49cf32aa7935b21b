"""The same rows on a Ray cluster of three nodes on this machine, offline: `python on_ray.py [ROWS]` behind `python mails.py
[ROWS]`.

On a cluster of yours it is one flag: `concerto batch main.conc … --on ray=ADDRESS`. Needs the extra `ray`.
"""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import concerto

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
folder = tempfile.mkdtemp(prefix="cr")  # Ray's own, which goes at the end; short, since sockets lie in it
os.mkdir(os.path.join(folder, "ray"))
os.environ["RAY_TMPDIR"] = folder

import ray  # noqa: E402, behind its folder
from ray.cluster_utils import Cluster  # noqa: E402

memory = {"object_store_memory": 80 << 20}
cluster = None
try:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    for _ in range(3):
        cluster.add_node(num_cpus=1, **memory)
    here = Path(__file__).parent
    script = json.loads((here / "replies.json").read_text())
    batch = concerto.batch(
        here / "main.conc", "sort", "mails.csv", key="id", on=f"ray={cluster.address}", limit=24, offline_script=script
    )
    began = time.monotonic()
    kinds: dict[str, int] = {}
    for row in batch:
        kinds[row.value["kind"]] = kinds.get(row.value["kind"], 0) + 1
    print(kinds, f"{batch.counts.done} rows in {time.monotonic() - began:.1f} s")
finally:
    ray.shutdown()
    if cluster is not None:
        cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
