"""Performs the text of a PDF (O-1.245), by pypdf, the extra `pdf`, which is imported with the first one.

Hands on `perform` to `table.py`. A PDF comes from anywhere, so it is read in a thread of its own, within SECONDS and the time of
the run: when nobody waits any more, that thread ends. What decoded parts may have together pypdf bounds itself. A fault of the
document, or of pypdf with it, is an Err of MediaError.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from io import BytesIO

from ...vm.values import Err, ErrorValue, Ok
from ...vm.values.text import cut_to
from ..access.secrets import whole_text
from ..errors import install_advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pypdf import PdfReader

    from ...vm.interp.effects import Effect
    from ..running import EffectContext


SECONDS = 60.0  # for the whole document
MOST_PAGES = 10_000
BETWEEN_PAGES = "\n\n"
LONGEST_REASON = 200  # characters of what pypdf says of a fault
_SILENT = logging.NullHandler()


class Failed(Exception):
    """Why there is no text: the `variant` of MediaError (Unsupported without pypdf, Timeout, TooLarge, or Unreadable for a
    damaged or encrypted document) and the reason."""

    def __init__(self, variant: str, reason: str) -> None:
        super().__init__(reason)
        self.variant = variant
        self.reason = reason


class Stopped(BaseException):
    """Raised in a thread that is to read no longer: no `except Exception` of pypdf catches it."""


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Return the Ok of the text of the PDF that is the payload of the effect, a Media with content, or an Err of MediaError.
    Whoever cancels this ends the thread that reads."""
    media = effect.payload
    loop = run.work.loop
    over = run.future()

    def tell() -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(lambda: over.done() or over.set_result(None))

    hold_clock = getattr(loop, "hold_clock", lambda change: None)  # a virtual clock stands still meanwhile
    hold_clock(1)
    reading = Reading(media.content.data, run.machine.value_bytes, tell)
    try:
        await over
    finally:
        reading.stop()
        hold_clock(-1)
    outcome = reading.outcome
    if isinstance(outcome, str):
        return Ok(outcome)
    name = media.get("name")
    place = "" if name is None else f"{name}: "
    return Err(ErrorValue("MediaError", outcome.variant, f"{place}{outcome.reason}", {}))


class Reading:
    """A thread that reads a PDF, three times as slowly as pypdf by itself, since it looks at each call whether to go on.
    `outcome` is its text, of at most `most_bytes` bytes in UTF-8, or why there is none; `tell` is called, in any thread and
    perhaps twice, when it is there, SECONDS are over or the thread was stopped."""

    def __init__(self, data: bytes, most_bytes: int, tell: Callable[[], None]) -> None:
        self.outcome: str | Failed = Failed("Timeout", f"its text was not found within {SECONDS:g} s")
        self._tell = tell
        self._is_stopped = False
        self._timer = threading.Timer(SECONDS, self._expire)
        self._timer.daemon = True
        self._timer.start()
        threading.Thread(target=self._run, args=(data, most_bytes), name="concerto-pdf", daemon=True).start()

    def stop(self) -> None:
        """Let the thread end at the next call that it makes. Any thread may call this."""
        self._timer.cancel()
        self._is_stopped = True

    def _expire(self) -> None:
        self.stop()
        self._tell()

    def _run(self, data: bytes, most_bytes: int) -> None:
        with suppress(Stopped):
            sys.settrace(self._look)  # of this thread alone
            try:
                outcome: str | Failed = text_of(data, most_bytes)
            except Failed as failed:
                outcome = failed
            finally:
                sys.settrace(None)
            self.outcome = outcome
        self._tell()

    def _look(self, frame: object, event: str, argument: object) -> None:
        """Called by Python where the thread calls a function, as it would call a debugger: what is raised here is raised
        there."""
        if self._is_stopped:
            raise Stopped


def text_of(data: bytes, most_bytes: int) -> str:
    """Return the text of a PDF, its pages with an empty line between them, those without text left out. Raises Failed, also for a
    text of more than `most_bytes` bytes in UTF-8 and for more than MOST_PAGES pages; Stopped passes through."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError
    except ImportError:
        reason = f"its text is found by pypdf, the extra `pdf`, which is not installed: {install_advice('pdf')}"
        raise Failed("Unsupported", reason) from None
    logging.getLogger("pypdf").addHandler(_SILENT)  # else Python writes its warnings to standard error
    try:
        return _joined(PdfReader(BytesIO(data)), most_bytes)
    except Failed:
        raise
    except LimitReachedError as error:
        raise Failed("TooLarge", f"its parts are larger than is read: {_said(error)}") from None
    except (FileNotDecryptedError, DependencyError) as error:
        raise Failed("Unreadable", f"it is encrypted: {_said(error)}") from None
    except RecursionError:
        raise Failed("Unreadable", "it is no sound PDF: its parts nest too deeply") from None
    except Exception as error:  # pypdf raises any kind for what is damaged, as its documentation says
        raise Failed("Unreadable", f"it is no sound PDF: {_said(error)}") from None


def _joined(reader: PdfReader, most_bytes: int) -> str:
    texts: list[str] = []
    size = 0
    for number, page in enumerate(reader.pages):
        if number == MOST_PAGES:
            raise Failed("TooLarge", f"it has more than {MOST_PAGES} pages")
        text = whole_text(page.extract_text()).strip()
        if text:
            size += len(text.encode()) + len(BETWEEN_PAGES)
            texts.append(text)
        if size - len(BETWEEN_PAGES) > most_bytes:
            raise Failed("TooLarge", f"its text is longer than a String may be ({most_bytes} bytes)")
    return BETWEEN_PAGES.join(texts)


def _said(error: Exception) -> str:
    return cut_to(f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": "), LONGEST_REASON)
