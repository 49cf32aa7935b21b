"""Exit codes (O-9.10), and the one exception that carries one to `main`. 65, 66, 70 and 74 are those of sysexits.h."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
COMPILE_ERRORS = 65
NO_INPUT = 66
INTERNAL = 70
IMAGE_REJECTED = 74
INTERRUPTED = 130


class Exit(Exception):
    """Ends the command with `code`; `message`, if any, goes to stderr."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
