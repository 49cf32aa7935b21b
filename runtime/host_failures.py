"""What an exception of the host's own code becomes: its whole text for program and log, a neutral one for models (G-9.10).

Hands on `ToolError`, whose text is meant for a model, and what is said of any exception. Must not know: values of the host,
tools, emits, messages.
"""

from __future__ import annotations

from ..vm.values import ErrorValue, display
from ..vm.values.errors import FOR_MODEL
from .errors import MESSAGE_LENGTH
from .outside_text import clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STORE_FAILURES = ("Store", "Corrupt", "Version")  # variants of MemoryError whose text is that of a library


class ToolError(Exception):
    """Raised by code of the host (a tool function, a handler of awaited emits): its text is meant for the model."""


def exception_text(error: BaseException) -> str:
    """What it says, cleaned and of at most 2,000 code points; its class where it says nothing or fails to say it."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return clean_text(text)[:MESSAGE_LENGTH] or class_name(error)


def class_name(error: BaseException) -> str:
    return clean_text(type(error).__name__)[:100]


def full_text(error: BaseException) -> str:
    """For a log."""
    text, name = exception_text(error), class_name(error)
    return name if text == name else f"{name}: {text}"


def message_and_fields(clean: Callable[[str], str], what: str, error: Exception) -> tuple[str, dict[str, Any]]:
    """Of the error value that an exception becomes; `what` names the code that raised it, `clean` takes secrets out."""
    message = clean(exception_text(error))
    told = message if isinstance(error, ToolError) else neutral_text(what, error)
    return message, {FOR_MODEL: told}


def neutral_text(what: str, error: BaseException) -> str:
    return f"{what} failed ({class_name(error)})"


def model_text(error: Any) -> str:
    """What a model is told of an error."""
    if type(error) is not ErrorValue:
        return display(error)
    told = error.fields.get(FOR_MODEL)
    if type(told) is str:
        return told
    if error.family == "MemoryError" and error.variant in STORE_FAILURES:
        return "the store of the memory failed"
    return display(error)


def for_model(error: Any) -> dict[str, str]:
    """The field of an error that is made of another one, so that a model is told no more of it."""
    told = model_text(error)
    return {} if told == display(error) else {FOR_MODEL: told}
