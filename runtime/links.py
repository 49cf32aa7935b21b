"""The path behind links.

Hands on `real_path` and `is_too_long`. Must not know: roots, permissions.
"""

from __future__ import annotations

import os

ATTEMPTS = 8  # while somebody changes the links that are read
LONGEST = 4096  # bytes, as Linux has it; Python takes time with the square of the length to resolve one


def is_too_long(path: str) -> bool:
    """Whether no system takes it for a path."""
    return len(path) > LONGEST or len(path.encode("utf-8", "replace")) > LONGEST


def real_path(path: str) -> str:
    """The absolute path with its links resolved; never an error: what cannot be resolved, since a link on the way changes all the
    time or the text is no path or too long for one, stands as it is written."""
    if is_too_long(path):
        return os.path.abspath(path)
    for _ in range(ATTEMPTS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
        except ValueError:  # NUL
            break
    return os.path.abspath(path)
