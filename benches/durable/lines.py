"""Lines of programs that somebody has to write: those that hold something else than a comment.

    python -m benches.durable.lines FILE …

Hands on `written`.
"""

from __future__ import annotations

import sys
from pathlib import Path

COMMENTS = {".py": "#", ".conc": "//"}


def written(path: Path) -> int:
    """Count the lines of a file that are neither blank nor a comment. Raises ValueError for a file of another language."""
    if path.suffix not in COMMENTS:
        raise ValueError(f"{path}: lines of {path.suffix or 'files without an ending'} are not counted here")
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return sum(bool(line) and not line.startswith(COMMENTS[path.suffix]) for line in lines)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(written(Path(name)), name)
