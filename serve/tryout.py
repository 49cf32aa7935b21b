"""The page of a served program, by which a person tries its functions, watches a stream and answers questions (S-1.1).

Hands on `page` and `policy` to the application. The page is what stands in the folder `page/`, in one file; it loads nothing, and
speaks with its own server only. What functions there are it asks for. Both raise OSError where a file of that folder cannot be
read.
"""

from __future__ import annotations

import functools
import hashlib
import os
from base64 import b64encode

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")


@functools.cache
def page() -> str:
    """Return the page."""
    style, script = _file("try.css"), _file("try.js")
    return _file("try.html").replace("%STYLE%", style).replace("%SCRIPT%", script)


@functools.cache
def policy() -> str:
    """Return the Content-Security-Policy of the page: its own style and script, and its own server."""
    return (
        f"default-src 'none'; style-src '{_hash('try.css')}'; script-src '{_hash('try.js')}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _file(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _hash(name: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(_file(name).encode()).digest()).decode()
