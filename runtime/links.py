"""The path behind links.

Hands on `real_path`. Must not know: roots, permissions.
"""

from __future__ import annotations

import os

ATTEMPTS = 8  # while somebody changes the links that are read


def real_path(path: str) -> str:
    """The absolute path with its links resolved; never an error: what cannot be resolved, since a link on the way changes all the
    time or the text is no path, stands as it is written."""
    for _ in range(ATTEMPTS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
        except ValueError:  # NUL
            break
    return os.path.abspath(path)
