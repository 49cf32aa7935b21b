"""Which texts may be names in an image (V125). Must not know: what they name."""

from __future__ import annotations

# Between identifiers in names of functions and declarations: paths, type arguments, and the marks codegen gives
# closures, defaults and initialisers. No space, quote or control character can occur.
_JOINTS = {ord(mark): "" for mark in ":.<>,#@$()[]?&-|+*/"}


def is_identifier(text: str) -> bool:
    """`[A-Za-z_][A-Za-z0-9_]*` (L-1.3.1)."""
    return text.isascii() and text.isidentifier()


def is_path(text: str) -> bool:
    """Identifiers, numbers and joints."""
    return text.isascii() and text.translate(_JOINTS).replace("_", "a").isalnum()


def is_unicode(text: str) -> bool:
    """No lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
