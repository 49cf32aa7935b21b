"""Exit codes (O-9.10), and the one exception that carries one to `main`.

Hands on the codes and `Exit` to the verbs and to `main`, which prints the message and ends with the code; `Exit` also to the
notebook, which shows the message. Nothing here ends the process. 65, 66, 70, 74 and 75 are numbers of sysexits.h. One code is not
here: 77, for a run that ended with a denied permission, is the `exit_code` of the `Outcome` in `runtime/session/session.py`,
which the verbs `run` and `resume` return.
"""

from __future__ import annotations

OK = 0
# An Err from `main`, a panic, a failed test, clause or row, a difference that `fmt --check` found, an output that cannot be
# written, a project that `init` would overwrite, a store that another process holds, a library that is not installed.
FAILED = 1
USAGE = 2  # options or arguments that the verb does not take, what a file of a flag may not hold, a wrong configuration
COMPILE_ERRORS = 65  # the source has errors, or warnings with `--deny-warnings`; there is no main to run, or nothing to serve
NO_INPUT = 66  # an input that does not exist or cannot be read
INTERNAL = 70  # an error of Concerto itself
IMAGE_REJECTED = 74  # an image, a recording or a store of runs is refused
# A run of a store waits for an answer, with which `resume` goes on, or a batch is with its provider (EX_TEMPFAIL).
WAITING = 75
TERMINATED = 143  # SIGTERM: 128 + its number
INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT, as shells have it


class Exit(Exception):
    """Ends the command with `code`, a number of this module; `message`, if it is not empty, goes to stderr."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
