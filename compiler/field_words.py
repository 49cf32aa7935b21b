"""The words that fields of declarations take, as Strings (O-1.4 to O-1.15, O-1.51, O-4.37, O-7.3).

Hands on `FIELD_WORDS` by the name of the field. Must not know: which declaration has the field, who reads it.
"""

from __future__ import annotations

FIELD_WORDS: dict[str, tuple[str, ...]] = {
    "provider": ("openai", "anthropic", "google", "ollama", "custom", "offline"),
    "api": ("auto", "responses", "chat"),
    "unsupported": ("error", "drop"),
    "structured": ("auto", "native", "tool", "prompt"),
    "backoff": ("none", "linear", "exponential"),
    "transport": ("stdio", "http"),
    "input_format": ("text", "json"),
    "output_format": ("text", "json"),
}
