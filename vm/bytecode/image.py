"""The image as data (V-3.2, O-10): what a compiled program is, before encoding and after decoding.

Hands on `Image`, with one record per section entry, to all of `vm/` and to the other rooms that make, run or show images; and, to
whoever of these asks, their base `Record`, the names `SECTIONS`, of which SECTIONS_BEFORE says how many are in earlier formats,
the numbers of kinds of constants (`K_…`) and flags of functions (`F_…`), the versions `FORMAT` and `STD_VERSION`, `ImageError`,
`Limits` with `DEFAULT`, `STANDARD`, and the tests of names (`is_identifier`, `is_path`, `is_unicode`). Hands on what an entry
says of others (`memories_of` and `fallbacks_of` of a model, `logs_of` of views, `memory_of_hashmap` of a hashmap) to the
verifier, the machine, the runtime and whoever else reads these entries. The encoding of a record is its fields in the order of
`__slots__`, so a new field goes to the end and `STD_VERSION` or `FORMAT` tells older readers. Only data stands here: `shape.py`
says what each field must look like, `encoding.py` how it becomes bytes, `verify.py` which rules hold between fields.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FORMAT = (0, 3)  # MAJOR, MINOR (O-10.2)
STD_VERSION = 1  # of the standard library: an image that needs a later one is refused (V003)

# Kinds of constants (O-10.5). A constant is the pair (kind, value).
K_INT, K_FLOAT, K_STRING, K_VARIANT, K_METHOD, K_BUILTIN, K_ERROR, K_CONFIG = range(8)
#   K_VARIANT: [type index, variant index]            K_METHOD: [name, argument count, trailing argument names…]
#   K_BUILTIN: [receiver kind or "", name]            K_ERROR:  [family, variant or nil, field names…]
#   K_CONFIG:  ["models", "tools", "memories" or "indexes", entry index, field name]

# Function flags (V-3.3).
F_OPTION = 1  # `?` on None returns None instead of raising
F_HIDDEN = 2  # left out of stack traces: a built-in written in the language, a default, an initialiser
F_SUSPENDS = 4  # holds an instruction that may suspend, or names a function that does
F_CLOSURE = 8  # made by CLOSURE with captured cells
F_METHOD = 32  # `Type::name`: found at run time by the type of its first parameter
F_INOUT = 64  # a method with `mut self`: its result is (result, new self)
# 16 is free: nothing sets it, and nothing reads it.


class Record:
    """A record whose fields are encoded in the order of `__slots__`; it is made of their values in the same order, and raises
    TypeError for another number of values. Equality is by fields, so that images can be compared, but the hash is that of the
    object: equal records are two keys of a dict or set."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        if len(values) != len(self.__slots__):
            raise TypeError(f"{type(self).__name__} takes {len(self.__slots__)} values, got {len(values)}")
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)

    def values(self) -> list[Any]:
        """Return the values of the fields in the order of `__slots__`, in a new list."""
        return [getattr(self, name) for name in self.__slots__]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.values() == other.values()

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class Header(Record):
    """`format`: [major, minor]; `opcodes`, `std`: versions of the opcode set and the library. `compiler`: name and version of
    what made the image. `name`: the program's name. `entry`: number of the function main, or None. `wanted`: texts of
    capabilities (O-10.21). `budgets`: limits of a run by their keys in the manifest. `pricing`: by id of the model [in, out],
    the prices of a million tokens, and where one of them is set those of `declaration_fields.py: OTHER_PRICES`, None for the
    others; prices of hosted tools only where one of them is set."""

    __slots__ = ("format", "opcodes", "std", "compiler", "name", "entry", "wanted", "budgets", "pricing")
    format: list[int]
    opcodes: int
    std: int
    compiler: str
    name: str
    entry: int | None
    wanted: list[str]
    budgets: dict[str, Any]
    pricing: dict[str, list[float | None]]


class Function(Record):
    """`params`: [name, type index, number of the function of the default or None]. `result`: type index. `slots`: number of
    locals, parameters first. `captures`: per captured cell the index of the parent's cell. `cells`: number of all cells, captured
    first. `stack`: largest depth of the operand stack. `flags`: a sum of F_…. `handlers`: [start, end, target, depth], innermost
    first; the first three are byte offsets in `code`, the end is not included, and `depth` is that of the stack to which the
    error is pushed. `lines`: see `encode_lines` in encoding.py. `hash`: 32 bytes, see hashing.py."""

    __slots__ = (
        "name", "params", "result", "slots", "captures", "cells", "stack", "flags", "code", "handlers", "lines", "hash",
    )  # fmt: skip
    name: str
    params: list[list[Any]]
    result: int
    slots: int
    captures: list[int]
    cells: int
    stack: int
    flags: int
    code: bytes
    handlers: list[list[int]]
    lines: bytes
    hash: bytes


class Schema(Record):
    """`type`: index of the struct or schema type that its values have. `shape`: the schema type that replies are checked against
    (vm/schema.py). `plain`, `strict`: JSON Schemas ready to send, `strict` None where it cannot be expressed. `validators`:
    numbers of the functions that accept a value or not, in order (O-2.18)."""

    __slots__ = ("name", "type", "shape", "plain", "strict", "validators")
    name: str
    type: int
    shape: Any
    plain: Any
    strict: Any
    validators: list[int]


class Model(Record):
    """`connection`: its name. `fields`: constant ones by name, as plain data; `computed`: number of the function that gives a Map
    of the others, run at initialisation and by each `spawn` (O-1.64), or None. `memory`: index of a memory, a list of two or
    more, or None. `tools`: [section, index, names of scopes] of what offers it tools. `decorators`: [[name, {argument:
    value}]]."""

    __slots__ = ("name", "connection", "fields", "computed", "memory", "tools", "decorators")
    name: str
    connection: str
    fields: dict[str, Any]
    computed: int | None
    memory: int | list[int] | None
    tools: list[list[Any]]
    decorators: list[list[Any]]


class Tool(Record):
    """`state`: index of the struct type of its state, which is made at initialisation. `methods`: [name, number of the function,
    name on the wire, description, shape of the arguments (vm/schema.py), their JSON Schema, key of the needed capability or None,
    class of the effect or None]; a function with one parameter more than the shape lists takes the state first (O-4.8 to O-4.11,
    O-9.37)."""

    __slots__ = ("name", "description", "state", "methods")
    name: str
    description: str
    state: int
    methods: list[list[Any]]


class Mcp(Record):
    """An MCP server (O-10.12). `fields`: those of O-4.37 to O-4.41 as plain data, secrets as names of environment variables.
    `methods`: its signatures as [name, name on the wire, description or None, shape of the arguments, shape of an object whose
    one field is the result]."""

    __slots__ = ("name", "fields", "methods")
    name: str
    fields: dict[str, Any]
    methods: list[list[Any]]


class Agent(Record):
    """`fields`: `connector`, `input_format`, `output_format`, `timeout`, and `process`, what the manifest says of the connector,
    as plain data; environment variables by name (O-10.13). `decorators` as of a model."""

    __slots__ = ("name", "fields", "decorators")
    name: str
    fields: dict[str, Any]
    decorators: list[list[Any]]


class Connection(Record):
    """`fields`: those of O-1.4 and the clauses behind it, as plain data; keys and secrets of headers as names of environment
    variables (O-10.8)."""

    __slots__ = ("name", "fields")
    name: str
    fields: dict[str, Any]


def memory_of_hashmap(name: str) -> str:
    """Return the name of the memory whose facts are the entries of a hashmap with a store (O-5.41). The hashmap is in a store if
    the image has a memory of that name, which no program can give to a memory of its own."""
    return f"hashmap::{name}"


class HashMap(Record):
    """`key`, `value`: type indexes. `path`: the file of with_persistence, or None. `shape`: of a hashmap that can offer tools,
    the shape of an object of a key and its value (O-4.22), else None."""

    __slots__ = ("name", "key", "value", "path", "shape")
    name: str
    key: int
    value: int
    path: str | None
    shape: Any


class Ledger(Record):
    """A ledger has a name and no more: its entries are not of the image."""

    __slots__ = ("name",)
    name: str


class Memory(Record):
    """`max_messages`: how many messages it keeps at most, or None. `steps`: the written ones but `retain`, by the rows of
    vm/memory_steps.py. `of`: index of the memory or view that a view is of, None for a log. `context`: index of the context whose
    slots it has, or None."""

    __slots__ = ("name", "max_messages", "steps", "of", "context")
    name: str
    max_messages: int | None
    steps: dict[str, Any]
    of: int | None
    context: int | None


def memories_of(model: Model) -> list[int]:
    """Return the indexes of a model's memories, in order; a turn is appended to the last one."""
    memory = model.memory
    return memory if isinstance(memory, list) else [] if memory is None else [memory]


def fallbacks_of(model: Model) -> list[str]:
    """Return the names of the models that take the model's calls over, in order (O-1.230); [] where `fallback` is no list."""
    names = model.fields.get("fallback")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def logs_of(memories: list[Memory]) -> list[Memory]:
    """Return for each memory the one whose log it shows, through the views between; for a memory that is no view, the memory
    itself. `memories` is the section of a verified image: where views go round in a circle, this does not end."""
    logs: dict[int, Memory] = {}
    for number in range(len(memories)):
        way = [number]
        while way[-1] not in logs and (of := memories[way[-1]].of) is not None:
            way.append(of)
        log = logs.get(way[-1], memories[way[-1]])
        logs.update(dict.fromkeys(way, log))
    return [logs[number] for number in range(len(memories))]


class Context(Record):
    """`slots`: [tier, name, type index, whether it may be written again, number of the function of the default or None], and
    behind them the name before if it has one; `TIERS` in shape.py are the words for a tier. `uses`: [number of a function with
    such a clause, "needs" or "reads", name of the memory or parameter, names of slots] (O-10.15)."""

    __slots__ = ("name", "slots", "uses")
    name: str
    slots: list[list[Any]]
    uses: list[list[Any]]


class Pipeline(Record):
    """`input`, `output`: type indexes. `stages`: [name, type index of its parameter or None, type index of what it hands on,
    decorators as those of models, number of its function]. With None it is an expression stage, whose function takes the input
    and what each stage before it has handed on (O-6.18)."""

    __slots__ = ("name", "input", "output", "stages")
    name: str
    input: int
    output: int
    stages: list[list[Any]]


class Embedder(Record):
    """`table`: what a memory with the step `embed` has of it (M-10.16)."""

    __slots__ = ("name", "table")
    name: str
    table: dict[str, Any]


class Index(Record):
    """An index of documents (O-1.241). `value`: type index of a document. `embedder`: the table of its embedder, as a memory has
    it in its step `embed`, or None for one that knows words only. `store`: the table of its store, None for one in memory. The
    functions that give text and identifier of a document are configured when a run begins."""

    __slots__ = ("name", "value", "embedder", "store")
    name: str
    value: int
    embedder: dict[str, Any] | None
    store: dict[str, Any] | None


class Extern(Record):
    """A function of Python that the program may call (P-1.1). `module` and `attribute`: where it is, dotted names. `function`:
    number of the function of the image that calls it, which has the types of its parameters and its result. `is_async`: it is
    declared as a coroutine function. `thread`: a plain function runs in a worker thread, not on the loop. `elements`: type
    index of what it gives one by one, None for one that gives one value. `decorators`: [[name, {argument: value}]] as of a
    model."""

    __slots__ = ("name", "module", "attribute", "function", "is_async", "thread", "elements", "decorators")
    name: str
    module: str
    attribute: str
    function: int
    is_async: bool
    thread: bool
    elements: int | None
    decorators: list[list[Any]]


class Test(Record):
    """`function`: its number. `expect_fail`: the test passes if it fails; `expected`: what the text of that failure contains, or
    None for any text."""

    __slots__ = ("description", "function", "expect_fail", "expected")
    description: str
    function: int
    expect_fail: bool
    expected: str | None


class Exports(Record):
    """`functions`: numbers of the public functions by name. `init`: numbers of the functions that initialise, in order."""

    __slots__ = ("functions", "init")
    functions: dict[str, int]
    init: list[int]


STANDARD = "std"  # as a library: functions that act for whoever calls them


class Library(Record):
    """What the image holds of a library that was installed where it was compiled (P-3.2). Where there is one, the code of the
    standard library, such as its tools, is the library STANDARD, without a distribution. `version`: its version; `distribution`:
    the name of what was installed; `functions`: numbers of the functions that are its code; `entries`: [section, index] of its
    declarations that name something outside; `wanted`: texts of capabilities, as in the header, where `models` stands for calls
    of models."""

    __slots__ = ("name", "version", "distribution", "functions", "entries", "wanted")
    name: str
    version: str
    distribution: str
    functions: list[int]
    entries: list[list[Any]]
    wanted: list[str]


# Sections in file order (V-3.2). None marks a list of plain entries. A section of which a program has nothing is an empty list.
SECTIONS: tuple[tuple[str, type[Record] | None], ...] = (
    ("header", Header),
    ("constants", None),
    ("types", None),
    ("schemas", Schema),
    ("functions", Function),
    ("models", Model),
    ("agents", Agent),
    ("tools", Tool),
    ("mcp", Mcp),
    ("connections", Connection),
    ("hashmaps", HashMap),
    ("ledgers", Ledger),
    ("memories", Memory),
    ("contexts", Context),
    ("pipelines", Pipeline),
    ("tests", Test),
    ("exports", Exports),
    ("source_map", None),
    ("names", None),
    ("source", None),
    ("embedders", Embedder),
    ("indexes", Index),
    ("libraries", Library),
    ("externs", Extern),
)
SECTIONS_BEFORE = {0: 20, 1: 20, 2: 22}  # how many the earlier formats 0.N had: those of later ones stand behind them


class Image(Record):
    """A program. `constants`: (kind, value), see K_…. `types`: descriptors (nested lists, see `HEADS` in shape.py, with type
    indexes for the types inside). Declared ones carry their fields: ["struct", name, [[field, type index, public, function of the
    default if any, its name before if any]]], ["schema", …], ["enum", name, [[variant, [type index…], name of each part…]]].
    `source_map`: [[file name, sha-256 bytes of its text]]; `names`: per function [[variable, its slot, or slots plus its cell,
    start, end]…], where it has a value between two offsets (V-3.9); `source`: texts. The last two are [] when stripped."""

    __slots__ = tuple(name for name, _ in SECTIONS)
    header: Header
    constants: list[tuple[int, Any]]
    types: list[Any]
    schemas: list[Schema]
    functions: list[Function]
    models: list[Model]
    agents: list[Agent]
    tools: list[Tool]
    mcp: list[Mcp]
    connections: list[Connection]
    hashmaps: list[HashMap]
    ledgers: list[Ledger]
    memories: list[Memory]
    contexts: list[Context]
    pipelines: list[Pipeline]
    tests: list[Test]
    exports: Exports
    source_map: list[list[Any]]
    names: list[list[list[Any]]]
    source: list[str]
    embedders: list[Embedder]
    indexes: list[Index]
    libraries: list[Library]
    externs: list[Extern]

    def strip(self) -> None:
        """Take source texts and names of locals out of this image, which only readers of traces and listings need (O-10.20)."""
        self.names, self.source = [], []


class ImageError(Exception):
    """An image that is refused (G-3.1). `code` is V0xx or V1xx, `message` says where and why; the text of the exception holds
    both."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


# ----------------------------------------------------------------
# What an image may hold at most (G-3.2). Only a host may ask for higher limits.


class Limits:
    """`file`, `string` and `name` are sizes in bytes, of texts in UTF-8; the others are counts. `nesting` is levels of plain data
    in one another; `stack`, `locals` (slots and cells alike) and `parameters` are per function."""

    __slots__ = (
        "file", "functions", "instructions", "constants", "string", "nesting", "stack", "locals", "parameters", "name",
    )  # fmt: skip

    def __init__(
        self,
        *,
        file: int = 8 << 20,
        functions: int = 10_000,
        instructions: int = 1_000_000,
        constants: int = 65_536,
        string: int = 1 << 20,
        nesting: int = 128,
        stack: int = 1_024,
        locals: int = 4_096,
        parameters: int = 255,
        name: int = 1 << 10,
    ) -> None:
        self.file = file
        self.functions = functions
        self.instructions = instructions
        self.constants = constants
        self.string = string
        self.nesting = nesting
        self.stack = stack
        self.locals = locals
        self.parameters = parameters
        self.name = name


DEFAULT = Limits()


# ----------------------------------------------------------------
# Which texts may be names in an image (V125).

# Between identifiers in names of functions and declarations: paths, type arguments, and the marks codegen gives
# closures, defaults and initialisers. No space, quote or control character can occur.
_JOINTS = {ord(mark): "" for mark in ":.<>,#@$()[]?&-|+*/"}


def is_identifier(text: str) -> bool:
    """Return whether a text is `[A-Za-z_][A-Za-z0-9_]*` (L-1.3.1)."""
    return text.isascii() and text.isidentifier()


def is_path(text: str) -> bool:
    """Return whether a text is a name of a function or declaration: ASCII letters, digits, `_` and the signs of `_JOINTS`, at
    least one of them no such sign."""
    return text.isascii() and text.translate(_JOINTS).replace("_", "a").isalnum()


def is_unicode(text: str) -> bool:
    """Return whether a text is valid Unicode: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
