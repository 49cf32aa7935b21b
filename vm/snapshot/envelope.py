"""The bytes around a snapshot, the state of a run or of a session as bytes (G-13.7, G-13.9): magic and format, what it is of,
SHA-256; read in the order of G-3.1.

`seal` and `unseal` turn plain data to bytes and back; what is read is bounded before it is built (V-3.5), and canonical.
`layout_of` numbers the types of a program, and `SnapshotError` has the codes of images: V001 size, V002 magic, V003 format,
V004 hash, V005 of another program, V006 decoding, V007 canonical form, V008 shape.

Hands these on to the other files of `snapshot/`, with `fits`, `misshapen`, `identity_of` and the protocols of what they ask of
each other (`Writer`, `Reader`) and of the host (`Secrets`, `Heads`); `SnapshotError` also to the API and the journal
(`runtime/journal/`), `identity_of` to the journal, the calls that the API keeps (`api/stored_calls.py`) and `concerto trace`,
which tell by it whether what was kept is of a program, `misshapen` to `runtime/session/state.py`. Nothing here reads or writes a
file, or knows what a body is made of: rows of values are for `kinds.py`, `writer.py` and `reader.py`.
"""

from __future__ import annotations

import hashlib

import msgpack

from ..bytecode.declarations import DECLARATIONS
from ..bytecode.encoding import content_hash, encode, precheck_msgpack
from ..bytecode.image import STD_VERSION, ImageError, logs_of
from ..values.casts import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..interp.link import Program
    from ..interp.linked import Code
    from ..interp.tasks import Task
    from ..values import Cell, MemoryRef, Stream


# ----------------------------------------------------------------
# What is wrong with a snapshot, or with a value that none can hold (G-13.8, G-13.9).


class SnapshotError(Exception):
    """A snapshot, or a value in one, that is refused. `code` is one of V001 to V008; `message` says why, and mostly what to
    do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def misshapen(what: str) -> SnapshotError:
    """Return the error for bytes that no writer of this format makes."""
    return SnapshotError("V008", f"{what}; take the bytes as they were written")


MAGIC = b"\x8fCONCS"  # the first byte is no text in any encoding of text
FORMAT = (1, 0)
LARGEST = 64 << 20  # bytes of a snapshot
_HEAD = len(MAGIC) + len(FORMAT)
_HASH = hashlib.sha256().digest_size
_NESTING = 16  # rows are flat: values stand in them by number
_FREE = 512 << 20  # what rows may cost in memory: a million Ints of one byte each are a value a program may hold


def seal(what: str, identity: str, body: Any) -> bytes:
    """Return the bytes of a snapshot of kind `what`, a text for messages, of the image with the hash `identity`. `body` is plain
    data. Raises SnapshotError V001 beyond LARGEST bytes."""
    head = MAGIC + bytes(FORMAT) + _packed([what, STD_VERSION, identity, body])
    if len(head) + _HASH > LARGEST:
        size = f"{len(head) + _HASH} bytes, the limit is {LARGEST}"
        raise SnapshotError("V001", f"the {what} has {size}; keep less in it, or keep it in a store")
    return head + hashlib.sha256(head).digest()


def unseal(data: bytes, what: str, program: Program) -> Any:
    """Return the body of a snapshot of kind `what` of this program: plain data whose shape is not checked. Raises SnapshotError,
    V001 to V008, for anything else, and ImageError as `identity_of`."""
    _check_frame(data, what)
    payload = bytes(memoryview(data)[_HEAD:-_HASH])
    parts = _read(payload, what)
    if type(parts) is not list or len(parts) != 4 or type(parts[2]) is not str:
        raise misshapen(f"the {what} has no head")
    if parts[0] != what:
        raise misshapen(f"these are no bytes of a {what}")
    identity = identity_of(program)
    if parts[2] != identity:
        name = program.image.header.name
        reason = f"the {what} is of the program {parts[2]}, this is {name}, {identity}"
        raise SnapshotError("V005", f"{reason}; load the image it was made with")
    if parts[1] != STD_VERSION:  # the hash covers it too: only a forged one gets here
        raise misshapen(f"the {what} names another standard library than its image")
    return parts[3]


def identity_of(program: Program) -> str:
    """Return the hash of a program's image in hexadecimal digits; it is computed once. Raises ImageError as `encode`, for an
    image that was made in this process and cannot be encoded."""
    layout = layout_of(program)
    if not layout.identity:
        layout.identity = content_hash(encode(program.image))
    return layout.identity


def _check_frame(data: bytes, what: str) -> None:
    if len(data) > LARGEST:
        raise SnapshotError("V001", f"the {what} has {len(data)} bytes, the limit is {LARGEST}; nothing writes so much")
    if len(data) <= _HEAD + _HASH:
        raise SnapshotError("V001", f"{len(data)} bytes hold no {what}; take all that was written")
    if data[: len(MAGIC)] != MAGIC:
        raise SnapshotError("V002", f"these bytes are no {what} of Concerto; give what was written as one")
    major, minor = data[len(MAGIC) : _HEAD]
    if major != FORMAT[0] or minor > FORMAT[1]:
        needed, present = f"{major}.{minor}", f"{FORMAT[0]}.{FORMAT[1]}"
        raise SnapshotError("V003", f"the {what} needs Concerto snapshot format {needed}; this is {present}; use that release")
    if hashlib.sha256(memoryview(data)[:-_HASH]).digest() != data[-_HASH:]:
        raise SnapshotError("V004", f"the {what} is damaged: its hash does not fit its content; take another copy of it")


def _read(payload: bytes, what: str) -> Any:
    size = len(payload)
    try:
        precheck_msgpack(payload, _NESTING, _FREE)
        value = msgpack.unpackb(
            payload, raw=False, use_list=True, strict_map_key=True, max_str_len=size, max_bin_len=size, max_array_len=size,
            max_map_len=size, max_ext_len=0, unicode_errors="surrogatepass",
        )  # fmt: skip
    except (ImageError, ValueError, msgpack.UnpackException, RecursionError) as error:
        reason = error.message if isinstance(error, ImageError) else str(error)
        raise SnapshotError("V006", f"the {what} cannot be decoded: {reason}; take the bytes as they were written") from None
    if _packed(value) != payload:
        raise SnapshotError("V007", f"the {what} is not in canonical form; take the bytes as they were written")
    return value


def _packed(value: Any) -> bytes:
    return msgpack.packb(value, use_bin_type=True, unicode_errors="surrogatepass")  # type: ignore[no-any-return]


# ----------------------------------------------------------------
# What a program declares, as snapshots name it: types and functions by number, handles by name (G-13.7).
#
# Made once per program, when something of it is first written or read.


class Layout:
    """What the `program` declares. `numbers`: of struct classes and enum types by the `id` of the class; `names`: of declarations
    by kind of handle; `keys` and `stores`: the names of the key parts and of the store (None for none) of each memory; `types`:
    the declared types; `identity`: the hash of the image, once it was asked for."""

    __slots__ = ("program", "identity", "numbers", "names", "keys", "stores", "types")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.identity = ""
        self.numbers = {id(cls): number for number, cls in enumerate(program.classes) if cls is not None}
        image = program.image
        self.names = {
            handle.__name__: frozenset([entry.name for entry in getattr(image, kind.section)])
            for kind in DECLARATIONS
            for handle in kind.handles
        }
        self.keys = {ref.name: tuple(getattr(ref, "names", ())) for ref in program.memories}
        # of a view it is that of the memory whose log it shows (M-2.13)
        stores = [log.steps.get("store", {}).get("name") for log in logs_of(image.memories)]
        self.stores = dict(zip([entry.name for entry in image.memories], stores, strict=True))
        self.types = program.declared

    def fields(self, number: int) -> tuple[Any, Any]:
        """Return the class of the struct or schema with this type number, and the descriptors of its fields. Raises one of
        `reader.WRONG` for another number."""
        entry = self.program.types[number]
        cls = self.types.struct_class(entry[1])
        return cls, cls.decl.types

    def variant(self, number: int, variant: int) -> tuple[Any, Any]:
        """Return the enum with this type number, and its variant of that number with the descriptors of its payload as `types`.
        Raises one of `reader.WRONG` where there is no such."""
        decl = self.types.enum_type(self.program.types[number][1])
        return decl, decl.variants[variant]


def layout_of(program: Program) -> Layout:
    """Return the layout of a program, which is made once."""
    if program.layout is None:
        program.layout = Layout(program)
    layout: Layout = program.layout
    return layout


def fits(value: Any, descriptor: Any) -> bool:
    """Return whether a value may stand where the type is declared: the machine, and the host behind it, rely on that. Only its
    kind counts, and an Int may stand for a Float."""
    wanted = descriptor[1] if descriptor[0] == "nilable" else descriptor
    return (type(value) is int and wanted[0] == "float") or matches(value, descriptor)


# ----------------------------------------------------------------
# What the encodings of kinds ask of who writes and who reads a snapshot; `writer` and `reader` have the behaviour.

if TYPE_CHECKING:
    class Secrets(Protocol):
        """What the host knows of secrets (G-10.3): in values of a snapshot their names stand for them."""

        def clean(self, text: str) -> str:
            """Return the text as a sink shows it, without secrets."""

        def parts_of(self, text: str) -> list[str]:
            """Return a text as an odd number of parts: text, name of a secret, text, name, …, text."""

        def value(self, name: str) -> str:
            """Return the secret of a name, or what a sink shows in its place where the program may not have it."""

    class Heads(Protocol):
        """Returns, for a handle of a memory, the name of its store and the version of its log (M-14.6)."""

        def __call__(self, ref: MemoryRef) -> tuple[str | None, int]: ...

    class Writer(Protocol):
        """Who writes a snapshot (`writer.Writer`): it gives the numbers and forms by which a row names other things. `place`: the
        form of a value that was written; `clean`: a text without secrets; `head`: as `Heads`; `stream_key`: the key of the effect
        that began a reply on its way; the others: numbers. Raises SnapshotError for what no snapshot can hold."""

        secrets: Secrets
        program: Program

        def place(self, value: Any) -> Any: ...
        def clean(self, text: str) -> str: ...
        def head(self, ref: MemoryRef) -> tuple[str | None, int]: ...
        def function(self, code: Code) -> int: ...
        def type_number(self, cls: Any, value: Any) -> int: ...
        def cell(self, cell: Cell) -> int: ...
        def stream_key(self, stream: Stream) -> str: ...
        def task(self, task: Task) -> int: ...

    class Reader(Protocol):
        """Who reads a snapshot (`reader.Reader`): it gives the things that numbers and forms in a row stand for; `list`, `text`,
        `flag` and `index` give a list, text, Bool or number from 0 itself, `declared` a name that the program declares as that
        kind of handle, `joined` a text of parts with names of secrets between them. `holes`: a struct may lack values of fields;
        `streams`: replies on their way, by `stream_key`; `memories`: handles read so far, with versions. Its methods raise
        SnapshotError, or one of `reader.WRONG`, for a part that stands for nothing."""

        secrets: Secrets
        program: Program
        layout: Layout
        streams: dict[str, Stream]
        memories: list[tuple[MemoryRef, int]]
        holes: bool

        def stream_effect(self, key: Any) -> Any: ...
        def value(self, form: Any) -> Any: ...
        def values(self, forms: Any) -> list[Any]: ...
        def list(self, form: Any) -> list[Any]: ...
        def text(self, form: Any) -> str: ...
        def joined(self, parts: Any) -> str: ...
        def flag(self, form: Any) -> bool: ...
        def index(self, form: Any) -> int: ...
        def function(self, number: Any) -> Code: ...
        def cell(self, number: Any) -> Cell: ...
        def task(self, number: Any) -> Task: ...
        def declared(self, kind: str, name: Any) -> str: ...
