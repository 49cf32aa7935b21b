"""The part of a traceback that belongs to the functions of a host, for programs that called them (P-1.4).

Hands on `python_part` to `python_functions.py`. Frames of this package and of Python's imports before the first of the host are
left out, the exceptions that it was raised from too. Secrets are not taken out here.
"""

from __future__ import annotations

import os
import traceback
from types import TracebackType

from ..runtime.access.secrets import clean_text

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
IMPORTING = "<frozen importlib"  # how the files of Python's own import are named
LONGEST = 16_000  # characters


def python_part(error: BaseException) -> str:
    """Return the traceback of an exception from the first frame of the host's code on, as Python prints it, cleaned and of at
    most LONGEST characters; the class alone for an exception that cannot be printed."""
    try:
        lines = traceback.format_exception(type(error), error, _outside(error.__traceback__), chain=False)
        text = clean_text("".join(lines)).rstrip()
    except BaseException:  # of an exception whose methods raise
        return type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:200]}\n…\n{text[-(LONGEST - 203):]}"


def _outside(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and _is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_own(file: str) -> bool:
    own = file.startswith(OWN) and not file.startswith((os.path.join(OWN, "tests"), os.path.join(OWN, ".venv")))
    return own or file.startswith(IMPORTING) or file.endswith(f"importlib{os.sep}__init__.py")
