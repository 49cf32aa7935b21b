"""Parameters a wire or a model does not take: an error that names them, or left out and noted (O-1.47, O-1.134).

Hands on the parameters to send and the notes of those left out. Must not know: which wire it is.
"""

from __future__ import annotations

from ..records import Request
from .base import origin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..connections import ConnectionSettings

# Parameter of the record: what the program calls it, then every name a wire gives it.
WIRE_NAMES = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "stop": ("stop_sequences", "stop"),
}


def require_carried(request: Request, settings: ConnectionSettings, name: str, wire: str) -> None:
    """Refuses a parameter the wire has no place for, unless the connection says `unsupported: "drop"`."""
    if name in request.params and settings.unsupported != "drop":
        raise origin_of(request).not_sent("AgentError", "InvalidRequest", not_carried(name, wire))


def not_carried(name: str, wire: str) -> str:
    return f"{WIRE_NAMES[name][0]} is not carried by {wire}"


def without_param(request: Request, name: str) -> Request:
    """The same request without one parameter."""
    values = {slot: getattr(request, slot) for slot in Request.__slots__}
    values["params"] = {key: value for key, value in request.params.items() if key != name}
    return Request(**values)
