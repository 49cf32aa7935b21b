"""`std::media` (O-1.200): what a Media is by its first bytes, and how it is shown.

Hands on to `table`, which files them, the signatures MEDIA and OF_FILES with their functions, the RECORD, and `text`.
Files are read by the host.
"""

import hashlib
import re
from urllib.parse import urlsplit

from ..scopes import DECLARED
from ..values import Any, Case, Failure, Panic, Rec, ok

KINDS = ("image", "audio", "document")
MARKS = {
    "image/png": rb"\x89PNG\r\n\x1a\n", "image/jpeg": rb"\xff\xd8\xff", "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP", "audio/wav": rb"RIFF....WAVE", "application/pdf": rb"%PDF-",
    "audio/mpeg": rb"ID3.{7}|\xff[\xe2\xe3\xf2\xf3\xfa\xfb][^\x00-\x0f\xf0-\xff].",
}  # fmt: skip


def described(kind: str, data: bytes, name: str | None, path: str | None = None) -> dict[str, Any]:
    """Return the fields of a Media of some bytes. Raise Failure for what is none, with the field `path` if there is
    one."""
    fields = {} if path is None else {"path": path}
    if len(data) > 20 << 20:
        raise Failure("TooLarge", f"{len(data)} bytes", **fields)
    mime = next((mime for mime, mark in MARKS.items() if re.match(mark, data, re.DOTALL)), None)
    if mime is None and kind == "document" and data and b"\0" not in data:
        mime = "text/plain" if data.decode(errors="replace").encode() == data else None
    if mime is None:
        raise Failure("UnknownContent", "no such content", **fields)
    group = mime.partition("/")[0]
    if (group if group in KINDS else "document") != kind:
        raise Failure("OtherKind", f"it is {mime}", **fields)
    return {"kind": kind, "mime": mime, "bytes": len(data), "hash": hashlib.sha256(data).hexdigest(), "name": name}


def checked(kind: str) -> str:
    """Return a kind; panic P013 for what is none."""
    if kind not in KINDS:
        raise Panic("P013", f"no kind of a Media: {kind}")
    return kind


def of_bytes(kind: str, data: bytes, name: str | None) -> Case:
    """Return the Media of some bytes, as a Result."""
    return ok(Rec(DECLARED["Media"], described(checked(kind), data, name)))


def link(kind: str, url: str) -> Case:
    """Return the Media of an address, as a Result; nothing is fetched. Raise Failure for no address of http or
    https."""
    checked(kind)
    try:
        parts = urlsplit(url) if len(url) <= 2048 and not re.search(r"[^\x21-\x7e]|[\\<>\"{}|^`]", url) else None
        if parts is None or parts.port == -1 or not parts.hostname or parts.scheme not in ("http", "https"):
            raise ValueError
    except ValueError:
        raise Failure("InvalidUrl", f"no link: {url}") from None
    digest = hashlib.sha256(url.encode()).hexdigest()
    return ok(Rec(DECLARED["Media"], {"kind": kind, "mime": "", "bytes": 0, "hash": digest, "name": url}))


def text(media: Rec) -> str:
    """Return the Display text of a Media; sizes from 1000 bytes on are rounded to kB, from 999.5 kB on to MB."""
    kind, mime, size, _, name = media.fields.values()
    unit = f"{size} B" if size < 1000 else f"{(size + 500) // 1000} kB"
    if size >= 999_500:
        unit = f"{(size + 50_000) // 100_000 / 10:.1f} MB"
    return f"<{' '.join(filter(None, [kind, name, unit if mime else None]))}>"


RECORD = "struct Media { kind: String, mime: String, bytes: Int, hash: String, name: String? }"
MEDIA = {"bytes(kind: String, data: Bytes, name: String? = nil) -> Result<Media, MediaError>": of_bytes,
    "link(kind: String, url: String) -> Result<Media, MediaError>": link}  # fmt: skip


def of_file(kind: str) -> Any:
    """Return the function that reads a file as a Media of a kind."""
    def run(world: Any, path: str) -> Case:
        name = path.rstrip("/").rpartition("/")[2]
        return ok(Rec(DECLARED["Media"], described(kind, world.host.fs_read_bytes(path, "read_media"), name, path)))

    return run


OF_FILES = {f"{kind}(path: String) -> Result<Media, MediaError>": of_file(kind) for kind in KINDS}
