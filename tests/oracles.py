"""What requests are checked with: the parameter types of both SDKs, which nobody here wrote.

Two traps of those types: nested iterables validate lazily, so they are walked; unknown keys are dropped, so what comes out must
equal what went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any


@cache
def parameter_types() -> dict[str, Any]:
    from anthropic.types import MessageCreateParams
    from openai.types.chat import CompletionCreateParams
    from openai.types.responses import ResponseCreateParams
    from pydantic import TypeAdapter

    types = {"chat": CompletionCreateParams, "responses": ResponseCreateParams, "anthropic": MessageCreateParams}
    return {name: TypeAdapter(kind) for name, kind in types.items()}


def check_request(wire: str, arguments: dict[str, Any]) -> None:
    """Arguments of an SDK, or the body it sends: valid, and no key the SDK does not know."""
    sent = {key: value for key, value in arguments.items() if key not in ("extra_body", "extra_headers")}
    seen = _plain(parameter_types()[wire].validate_python(sent))
    assert json.loads(json.dumps(seen)) == json.loads(json.dumps(sent))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "model_dump"):  # a part of a reply, which may go back as it is
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
