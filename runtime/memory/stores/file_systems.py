"""Whether a folder is on a network file system, where SQLite's locks do not hold (M-8.12). Must not know: stores."""

from __future__ import annotations

import os

NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs", "davfs")
MOUNTS = "/proc/self/mounts"


def is_on_network(folder: str, mounts: str = MOUNTS) -> bool:
    """By the longest mount point above the folder; where the system keeps no such table nothing is refused."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            rows = [line.split() for line in table]
    except OSError:
        return False
    real = os.path.join(os.path.realpath(folder), "")
    best = ("", "")
    for row in rows:
        point = os.path.join(row[1].encode().decode("unicode_escape"), "")
        if real.startswith(point) and len(point) >= len(best[0]):
            best = (point, row[2])
    return best[1] in NETWORK
