"""SHA-256 without OpenSSL, which hashlib sets up as a whole: that costs a start more than the hash of an image (V-8.6).

Hands on `sha256` as hashlib has it. Must not know: what is hashed.
"""

from __future__ import annotations

import sys

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as sha256
    else:
        from _sha256 import sha256 as sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # of another Python
    from hashlib import sha256 as sha256
