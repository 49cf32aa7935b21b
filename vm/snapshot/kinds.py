"""The closed set of value kinds, each with its one encoding (V-5.8, G-13.8); there is no fallback.

Hands on `KINDS` and `kind_of` to the writer and the reader, and the forms of iterators (`is_iterator`, `lower_iterator`,
`read_iterator`) and of payloads (`lower_payload`, `read_payload`, `same_form`) to `machine.py`. A form is plain data that stands
for a value; functions take the writer as `w`, the reader as `r`. Bytes are made and checked in `envelope.py`, not here. A row of
the heap is the number of the kind, which is its place in `KINDS`, and fields in which other values stand by number. Scalars and
short Strings stand in fields as they are, `None` as `[]`; they have no rows. Structural values refer to rows before their own, so
no value holds itself; closures refer to cells, handles of tasks to tasks, which have tables of their own. A new kind goes to the
end: its place is part of the format.
"""

from __future__ import annotations

from collections import deque

from ..bytecode.image import Pipeline
from ..declaration_fields import CALL_SETTINGS, MODEL
from ..interp import effects
from ..interp.linked import PythonFunction
from ..values import (
    INT_MAX,
    INT_MIN,
    UNSET,
    AgentRef,
    Array,
    Closure,
    EmbedderRef,
    EnumValue,
    Err,
    ErrorValue,
    HashMapRef,
    HostStream,
    IndexRef,
    ItemStream,
    KeyedRef,
    LedgerQuery,
    LedgerRef,
    Map,
    McpRef,
    MemoryRef,
    ModelBuilder,
    ModelRef,
    Ok,
    PipelineRef,
    Queue,
    RangeValue,
    SchemaRef,
    Set,
    Some,
    Stack,
    Stream,
    Struct,
    TaskHandle,
    ToolRef,
    TypedStream,
    key_of,
    make_set,
)
from ..values.containers import base64_of, from_base64
from ..values.errors import FAMILIES, FIELD_TYPES
from ..values.media import KINDS as KINDS_OF_MEDIA
from ..values.media import Refused, content_of, link_to
from ..values.objects import RECORDS, Media, Response
from ..values.ways import HALF, MOST
from .envelope import SnapshotError, fits, misshapen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from ..interp.link import Program
    from ..values.media import Content
    from ..values.objects import Way
    from .envelope import Reader, Writer


# ----------------------------------------------------------------
# The way of an error in its row (L-5.11.4): nothing for none, else a list of functions by number, each with the index of its
# instruction, and a number by itself where places are left out.


def lower_way(w: Writer, way: Way) -> list[Any]:
    """Return the fields of a row for a way: none for an empty one. Places of an earlier program of the session are left out, and
    with them the number of a long way."""
    own = [place for place in way if type(place) is int or place[0].home is w.program]
    if len(own) < len(way):
        own = [place for place in own if type(place) is not int]
    places = [place if type(place) is int else [w.function(place[0]), place[1]] for place in own]
    return [places] if places else []


def read_way(r: Reader, form: Any = None) -> Way:
    """Return the way of a row, () for none. Raises SnapshotError, or one of `reader.WRONG`, for one that no program
    makes."""
    if form is None:
        return ()
    left_out = [at for at, place in enumerate(r.list(form)) if type(place) is int]
    whole = [HALF] if len(form) == MOST + 1 else []
    if not 0 < len(form) <= MOST + 1 or left_out != whole or whole and form[HALF] < 1:
        raise misshapen("an error with a way that none has")
    return tuple([place if type(place) is int else _place(r, place) for place in form])


def _place(r: Reader, place: Any) -> Any:
    number, index = r.list(place)
    code = r.function(number)
    if r.index(index) >= len(r.program.verified.functions[code.number].instructions) or code.hidden:
        raise misshapen(f"a place that {code.label} has not")
    return code, index


if TYPE_CHECKING:
    Parts = Callable[[Any], Iterable[Any]]
    Lower = Callable[[Writer, Any], list[Any]]
    Build = Callable[..., Any]


ANY = ("any",)  # of fields that no family names: a host may add them


class Kind:
    """The encoding of one kind of value. `number`: its place in KINDS; `name`: for people; `classes`: the classes of its values;
    `parts`: returns the values inside, which are written first; `lower`: returns the fields of its row, or raises SnapshotError;
    `build`: returns the value of such fields, or raises SnapshotError or one of the errors in `reader.WRONG`."""

    __slots__ = ("number", "name", "classes", "parts", "lower", "build")

    def __init__(self, name: str, classes: tuple[type, ...], parts: Parts, lower: Lower, build: Build) -> None:
        self.number = 0
        self.name = name
        self.classes = classes
        self.parts = parts
        self.lower = lower
        self.build = build


def _nothing(value: Any) -> tuple[Any, ...]:
    return ()


# ---------------------------------------------------------------- text, containers


def _no_row(w: Writer, value: Any) -> list[Any]:
    raise AssertionError("the writer finds secrets itself")


def _text(r: Reader, text: Any) -> str:
    return r.text(text)


def _container(cls: type, storage: type) -> Kind:
    """Return the kind of Array, Queue or Stack: the mark and the items."""

    def lower(w: Writer, value: Any) -> list[Any]:
        return [bool(value.shared), list(map(w.place, value.items))]

    def build(r: Reader, shared: Any, items: Any) -> Any:
        container: Any = cls(storage(r.values(items)))
        container.shared = r.flag(shared)
        return container

    return Kind(cls.__name__.lower(), (cls,), lambda value: value.items, lower, build)


def _lower_set(w: Writer, value: Set) -> list[Any]:
    return [bool(value.shared), list(map(w.place, value.items.values()))]


def _build_set(r: Reader, shared: Any, items: Any) -> Set:
    values = r.values(items)
    result = make_set(values)
    if len(result.items) != len(values):
        raise misshapen("a Set holds one value twice")
    result.shared = r.flag(shared)
    return result


def _lower_map(w: Writer, value: Map) -> list[Any]:
    return [bool(value.shared), [place for entry in value.entries() for place in map(w.place, entry)]]


def _map_parts(value: Map) -> list[Any]:
    return [part for entry in value.entries() for part in entry]


def _build_map(r: Reader, shared: Any, entries: Any) -> Map:
    values = r.values(entries)
    if len(values) % 2:
        raise misshapen("a Map holds a key without a value")
    result = Map({key_of(values[at]): values[at + 1] for at in range(0, len(values), 2)})
    if len(result.items) * 2 != len(values):
        raise misshapen("a Map holds one key twice")
    result.shared = r.flag(shared)
    return result


def _build_tuple(r: Reader, items: Any) -> tuple[Any, ...]:
    return tuple(r.values(items))


# ---------------------------------------------------------------- declared types and records


def _lower_struct(w: Writer, value: Any) -> list[Any]:
    return [w.type_number(type(value), value), bool(value.shared), list(map(w.place, value.values()))]


def _build_struct(r: Reader, number: Any, shared: Any, fields: Any) -> Any:
    cls, types = r.layout.fields(r.index(number))
    return _filled(r, cls, types, shared, fields, r.holes)


def _filled(r: Reader, cls: Any, types: Any, shared: Any, fields: Any, holes: bool, later: tuple[Any, ...] = ()) -> Any:
    """Return a struct of these fields. `holes`: a field may lack its value, which the program is about to compute
    (`json::parse_as`). `later`: the values of fields that the writer did not know yet."""
    values = [*r.values(fields), *later]
    fitting = [fits(value, kind) or (holes and value is None) for value, kind in zip(values, types, strict=True)]
    if not all(fitting):
        raise misshapen(f"fields that no {cls.decl.name} has")
    struct = cls.of(values)
    struct.shared = r.flag(shared)
    return struct


# The last fields of a Response, which one of a snapshot from before has not: the tokens of O-1.221, then `reasoning`, then
# `citations`, of which each has an Array of its own.
COUNTED_LATER = (0, 0, 0, None)
LACKING = (1, 2, 5)  # how many of them it may lack
# Records whose last field, `media`, one of a snapshot from before has not.
ATTACHED_LATER = ("Message", "Prompt", "Entry")


def _record_parts(value: Any) -> Iterable[Any]:
    if type(value) is Response:
        return (*value.values(), *value.run[1])
    return value.values() if type(value) is not Media else (*value.values(), *_content_parts(value.content))


def _content_parts(content: Content | None) -> tuple[Any, ...]:
    """Return what makes the content of a Media anew: its kind, and its bytes or the address of a link; nothing for none."""
    return () if content is None else (content.kind, content.url if content.data is None else content.data)


def _lower_record(w: Writer, value: Any) -> list[Any]:
    fields = [value.decl.name, bool(value.shared), list(map(w.place, value.values()))]
    if type(value) is Response:
        fields += [w.clean(value.run[0]), list(map(w.place, value.run[1]))]
    elif type(value) is Media:
        fields += map(w.place, _content_parts(value.content))
    return fields


def _build_media(r: Reader, media: Any, kind: Any = None, content: Any = None) -> Any:
    if kind is not None:
        of, data = r.value(kind), r.value(content)
        if of not in KINDS_OF_MEDIA or type(data) not in (str, bytes):
            raise misshapen("a Media whose content is none")
        try:
            media.content = content_of(of, data) if type(data) is bytes else link_to(of, data)
        except Refused as refused:
            raise misshapen(f"a Media whose content is none: {refused.reason}") from None
    return media


def _build_record(r: Reader, name: Any, shared: Any, fields: Any, *run: Any) -> Any:
    cls = RECORDS[r.text(name)]
    missing = len(cls.decl.types) - len(r.list(fields))
    later: tuple[Any, ...] = ()
    if cls is Response and missing in LACKING:
        later = (*COUNTED_LATER[5 - missing :], Array([]))
    elif name == "ModelUsage" and missing == 1:  # `hosted_calls`
        later = (0,)
    elif name in ATTACHED_LATER and missing == 1:
        later = (Array([]),)
    record = _filled(r, cls, cls.decl.types, shared, fields, False, later)
    if cls is Media:
        return _build_media(r, record, *run)
    if cls is Response:
        of, messages = run
        run_messages = tuple(r.values(messages))
        if any(type(message) is not RECORDS["Message"] for message in run_messages):
            raise misshapen("a Response of a run whose messages are none")
        record.of_run((r.text(of), run_messages))
    elif run:
        raise misshapen(f"a {name} with a run")
    return record


def _lower_enum(w: Writer, value: EnumValue) -> list[Any]:
    payload = None if value.payload is None else list(map(w.place, value.payload))
    return [w.type_number(value.decl, value), value.variant, value.shared, payload]


def _build_enum(r: Reader, number: Any, variant: Any, shared: Any, payload: Any) -> EnumValue:
    decl, row = r.layout.variant(r.index(number), r.index(variant))
    values = None if payload is None else tuple(r.values(payload))
    if len(values or ()) != row.arity or not all(map(fits, values or (), row.types)):
        raise misshapen(f"a payload that no {decl.name}::{row.name} has")
    value = EnumValue(decl, variant, values)
    value.shared = r.flag(shared)
    return value


def _lower_error(w: Writer, value: ErrorValue) -> list[Any]:
    fields = [part for name, field in value.fields.items() for part in (name, w.place(field))]
    return [value.family, value.variant, w.place(value.message), fields, *lower_way(w, value.way)]


def _build_error(r: Reader, family: Any, variant: Any, message: Any, fields: Any, *way: Any) -> ErrorValue:
    row = FAMILIES[r.text(family)]
    if variant is not None and variant not in row.variants:
        raise misshapen(f"an error {family}::{variant}")
    names, values = list(map(r.text, r.list(fields)[::2])), r.values(r.list(fields)[1::2])
    if not all(fits(field, FIELD_TYPES.get(name, ANY)) for name, field in zip(names, values, strict=True)):
        raise misshapen(f"fields that no {family} has")
    error = ErrorValue(family, variant, r.text(r.value(message)))
    error.fields = dict(zip(names, values, strict=True))
    error.way = read_way(r, *way)
    return error


# ---------------------------------------------------------------- wrappers, ranges, functions


def _wrapper(cls: type) -> Kind:
    def lower(w: Writer, value: Any) -> list[Any]:
        return [getattr(value, "shared", False), w.place(value.value)]

    def build(r: Reader, shared: Any, inner: Any) -> Any:
        wrapper: Any = cls(r.value(inner))
        wrapper.shared = r.flag(shared)
        return wrapper

    return Kind(cls.__name__.lower(), (cls,), lambda value: (value.value,), lower, build)


def _lower_bytes(w: Writer, value: bytes) -> list[Any]:
    """Return Base64, or pieces of it with names of secrets between them (G-10.3): secrets are searched in the bytes as text."""
    parts = w.secrets.parts_of(value.decode("latin-1"))
    if len(parts) == 1:
        return [base64_of(value)]
    return [[part if at % 2 else base64_of(part.encode("latin-1")) for at, part in enumerate(parts)]]


def _build_bytes(r: Reader, form: Any) -> bytes:
    if type(form) is list:
        parts = list(map(r.text, form))
        if len(parts) % 2 == 0:
            raise misshapen("Bytes that end in a secret's name")
        return b"".join(r.secrets.value(part).encode() if at % 2 else _of_base64(part) for at, part in enumerate(parts))
    return _of_base64(r.text(form))


def _of_base64(text: str) -> bytes:
    data = from_base64(text)
    if type(data) is not bytes:
        raise misshapen("Bytes that are no base64")
    return data


def _lower_err(w: Writer, value: Err) -> list[Any]:
    return [getattr(value, "shared", False), w.place(value.value), *lower_way(w, value.way)]


def _build_err(r: Reader, shared: Any, inner: Any, *way: Any) -> Any:
    error: Any = Err(r.value(inner), read_way(r, *way))
    error.shared = r.flag(shared)
    return error


def _build_range(r: Reader, start: Any, end: Any, inclusive: Any) -> RangeValue:
    return RangeValue.checked(r.value(start), r.value(end), r.flag(inclusive))


def _lower_closure(w: Writer, value: Closure) -> list[Any]:
    return [w.function(value.function), [None if cell is None else w.cell(cell) for cell in value.cells]]


def _build_closure(r: Reader, function: Any, cells: Any) -> Closure:
    code = r.function(function)
    if len(r.list(cells)) != len(code.captures):
        raise misshapen(f"a function value of {code.label} with {len(cells)} cells")
    return Closure(code, [None if cell is None else r.cell(cell) for cell in cells])  # type: ignore[misc]


# ---------------------------------------------------------------- handles


def _handle(cls: type) -> Kind:
    def build(r: Reader, name: Any) -> Any:
        return cls(r.declared(cls.__name__, name))

    return Kind(cls.__name__, (cls,), _nothing, lambda w, value: [value.name], build)


def _build_model(r: Reader, name: Any, instance: Any) -> ModelRef:
    return ModelRef(r.declared("ModelRef", name), r.index(instance))


def _lower_memory(w: Writer, value: MemoryRef) -> list[Any]:
    key = [w.clean(part) if type(part) is str else part for part in value.key]
    branch = w.clean(value.branch)
    return [value.name, branch, key, *w.head(MemoryRef(value.name, branch, tuple(key)))]


def _build_memory(r: Reader, name: Any, branch: Any, key: Any, store: Any, version: Any) -> MemoryRef:
    names = r.layout.keys[r.declared("MemoryRef", name)]
    if len(r.list(key)) not in (0, len(names)) or any(type(part) not in (str, int) for part in key):
        raise misshapen(f"a key that the memory {name} has not")
    if store != r.layout.stores[name]:
        raise misshapen(f"a store that the memory {name} has not")
    memory = MemoryRef(name, r.text(branch), tuple(key))
    r.memories.append((memory, r.index(version)))
    return memory


def _build_keyed(r: Reader, name: Any) -> KeyedRef:
    names = r.layout.keys[r.declared("KeyedRef", name)]
    if not names:
        raise misshapen(f"the memory {name} has no keys")
    return KeyedRef(name, names)


def _scoped(cls: type) -> Kind:
    def lower(w: Writer, value: Any) -> list[Any]:
        return [value.name, list(map(w.clean, value.scope))]

    def build(r: Reader, name: Any, scope: Any) -> Any:
        constructor: Any = cls
        return constructor(r.declared(cls.__name__, name), tuple(map(r.text, r.list(scope))))

    return Kind(cls.__name__, (cls,), _nothing, lower, build)


def _builder_parts(value: ModelBuilder) -> list[Any]:
    meta = () if value.turn is None else (value.turn[1],)
    attached = [part for part in (value.memory, value.context) if part is not UNSET]
    return [value.model, *attached, *value.tools, *meta, *_texts_of(value.settings)]


def _texts_of(plain: Any) -> list[str]:
    """Return the texts in the settings of one call, which are plain data."""
    if type(plain) is str:
        return [plain]
    parts = plain.values() if type(plain) is dict else plain if isinstance(plain, list | tuple) else ()
    return [text for part in parts for text in _texts_of(part)]


def _lower_settings(w: Writer, settings: dict[str, Any]) -> list[Any]:
    """Return the settings of one call, and behind them the texts that have rows of their own, since a secret may be in them: the
    way to each, and its place."""
    apart: list[Any] = []

    def lowered(part: Any, way: list[Any]) -> Any:
        if type(part) is str and type(place := w.place(part)) is list:
            apart.append([way, place])
            return ""
        if type(part) is dict:
            return {w.clean(name): lowered(inner, [*way, w.clean(name)]) for name, inner in part.items()}
        if isinstance(part, list | tuple):
            return [lowered(inner, [*way, at]) for at, inner in enumerate(part)]
        return part

    public = lowered(settings, [])
    return [public, apart] if apart else [public]


def _put_back(r: Reader, settings: Any, apart: Any) -> None:
    """Put the texts that stand apart into the settings of one call. Raises SnapshotError for a way that leads to none."""
    for row in r.list(apart):
        way, place = r.list(row)
        part = settings
        try:
            *to, last = r.list(way)
            for step in to:
                part = part[step]
            if part[last] != "":
                raise misshapen("a builder with settings that none has")
            part[last] = r.text(r.value(place))
        except (KeyError, IndexError, TypeError, ValueError):
            raise misshapen("a builder with settings that none has") from None


def _lower_builder(w: Writer, value: ModelBuilder) -> list[Any]:
    memory, context = ([] if part is UNSET else [w.place(part)] for part in (value.memory, value.context))
    turn = None if value.turn is None else [value.turn[0], w.place(value.turn[1])]
    own = [] if value.settings is None else _lower_settings(w, value.settings)
    return [w.place(value.model), memory, value.auto, context, list(map(w.place, value.tools)), value.without_tools, turn, *own]


def _build_builder(
    r: Reader, model: Any, memory: Any, auto: Any, context: Any, tools: Any, without_tools: Any, turn: Any, settings: Any = None,
    apart: Any = (),
) -> ModelBuilder:  # fmt: skip
    of, offered = r.value(model), tuple(r.values(tools))
    attached, contexts = ([r.value(part) for part in r.list(setting)] for setting in (memory, context))
    tokens, meta = (None, None) if turn is None else (r.list(turn)[0], r.value(turn[1]))
    memories = attached[0] if attached and type(attached[0]) is tuple else [part for part in attached if part is not None]
    fitting = type(of) in (ModelRef, AgentRef) and all(type(part) is MemoryRef for part in memories)
    fitting = fitting and all(type(tool) in _OFFERED for tool in offered) and max(len(attached), len(contexts)) < 2
    if not fitting or type(tokens) not in (int, type(None)) or type(meta) not in (Map, type(None)):
        raise misshapen("a builder with settings that none has")
    if apart:
        _put_back(r, settings, apart)
    if settings is not None and not (type(settings) is dict and all(_is_setting(*row) for row in settings.items())):
        raise misshapen("a builder with settings that none has")
    return ModelBuilder(
        of, attached[0] if attached else UNSET, r.flag(auto), contexts[0] if contexts else UNSET, offered, r.flag(without_tools),
        None if turn is None else (tokens, meta), settings,
    )  # fmt: skip


def _is_setting(name: object, value: Any) -> bool:
    return type(name) is str and name in CALL_SETTINGS and MODEL[name].takes(value)


_OFFERED = (ToolRef, McpRef, HashMapRef, LedgerRef, MemoryRef, IndexRef)


# ---------------------------------------------------------------- tasks and streams


def _lower_task(w: Writer, value: TaskHandle) -> list[Any]:
    return [w.task(value.task), value.name]


def _build_task(r: Reader, task: Any, name: Any) -> TaskHandle:
    return TaskHandle(r.task(task), r.text(name))


def _lower_stream(w: Writer, value: Stream) -> list[Any]:
    key = w.stream_key(value) if value.response is None else None
    return [value.name, key, w.place(value.response), value.walked, w.place(value.failure)]


def _build_stream(r: Reader, name: Any, key: Any, response: Any, walked: Any, failure: Any) -> Stream:
    stream = Stream(r.declared("ModelRef", name), None)
    _fill_stream(r, stream, key, response, walked, failure)
    return stream


def _fill_stream(r: Reader, stream: Stream, key: Any, response: Any, walked: Any, failure: Any) -> None:
    stream.response, stream.walked, stream.failure = r.value(response), r.flag(walked), r.value(failure)
    if type(stream.response) is not (type(None) if key else Response) or type(stream.failure) not in (Err, type(None)):
        raise misshapen("a stream that ended in neither a Response nor an Err")
    if key is not None:
        stream.effect = r.stream_effect(key)
        r.streams[key] = stream


def _lower_typed_stream(w: Writer, value: TypedStream) -> list[Any]:
    return [*_lower_stream(w, value), w.place(value.outcome), value.attempt]


def _build_typed_stream(
    r: Reader, name: Any, key: Any, response: Any, walked: Any, failure: Any, outcome: Any, attempt: Any
) -> TypedStream:
    stream = TypedStream(r.declared("ModelRef", name), None)
    _fill_stream(r, stream, key, response, walked, failure)
    stream.outcome, stream.attempt = r.value(outcome), r.index(attempt)
    if type(stream.outcome) not in (Ok, Err, type(None)):
        raise misshapen("a typed stream with an outcome that is no Result")
    return stream


def _lower_item_stream(w: Writer, value: ItemStream) -> list[Any]:
    return [w.place(value.stream), value.field]


def _build_item_stream(r: Reader, stream: Any, field: Any) -> ItemStream:
    whole = r.value(stream)
    if type(whole) is not TypedStream:
        raise misshapen("elements of what is no typed stream")
    return ItemStream(whole, r.text(field))


def _host_stream_parts(value: HostStream) -> list[Any]:
    return [*value.arguments, *(value.items or ())]


def _number_in(declared: Sequence[Any], one: Any) -> int:
    """Return the number of a declaration of the program. Raises SnapshotError V008 for one of an earlier program."""
    try:
        return declared.index(one)
    except ValueError:
        raise SnapshotError("V008", f"{one.name} belongs to an earlier program; use that of this program") from None


def _lower_host_stream(w: Writer, value: HostStream) -> list[Any]:
    items = None if value.items is None else list(map(w.place, value.items))
    number = _number_in(w.program.externs, value.function)
    return [value.key, number, list(map(w.place, value.arguments)), items, value.asked, value.ended, value.walked]


def _build_host_stream(
    r: Reader, key: Any, number: Any, arguments: Any, items: Any, asked: Any, ended: Any, walked: Any
) -> HostStream:
    function = r.program.externs[r.index(number)]
    given = None if items is None else [r.value(place) for place in r.list(items)]
    stream = HostStream(r.text(key), function, [r.value(place) for place in r.list(arguments)], given)
    stream.asked, stream.ended, stream.walked = r.index(asked), r.flag(ended), r.flag(walked)
    return stream


KINDS: tuple[Kind, ...] = (
    Kind("text", (str,), _nothing, lambda w, value: [value], _text),
    Kind("text with secrets", (), _nothing, _no_row, lambda r, parts: r.joined(parts)),
    _container(Array, list),
    Kind("map", (Map,), _map_parts, _lower_map, _build_map),
    Kind("set", (Set,), lambda value: value.items.values(), _lower_set, _build_set),
    _container(Queue, deque),
    _container(Stack, list),
    Kind("tuple", (tuple,), lambda value: value, lambda w, value: [list(map(w.place, value))], _build_tuple),
    Kind("struct", (Struct,), lambda value: value.values(), _lower_struct, _build_struct),
    Kind("record", tuple(RECORDS.values()), _record_parts, _lower_record, _build_record),
    Kind("enum", (EnumValue,), lambda value: value.payload or (), _lower_enum, _build_enum),
    Kind("error", (ErrorValue,), lambda value: (value.message, *value.fields.values()), _lower_error, _build_error),
    _wrapper(Some),
    _wrapper(Ok),
    Kind("err", (Err,), lambda value: (value.value,), _lower_err, _build_err),
    Kind("range", (RangeValue,), _nothing, lambda w, value: [value.start, value.end, value.inclusive], _build_range),
    Kind("closure", (Closure,), _nothing, _lower_closure, _build_closure),
    Kind("ModelRef", (ModelRef,), _nothing, lambda w, value: [value.name, value.instance], _build_model),
    Kind("MemoryRef", (MemoryRef,), _nothing, _lower_memory, _build_memory),
    Kind("KeyedRef", (KeyedRef,), _nothing, lambda w, value: [value.name], _build_keyed),
    *map(_handle, (AgentRef, SchemaRef, PipelineRef, ToolRef, McpRef)),
    *map(_scoped, (HashMapRef, LedgerRef, LedgerQuery)),
    Kind("builder", (ModelBuilder,), _builder_parts, _lower_builder, _build_builder),
    Kind("task", (TaskHandle,), _nothing, _lower_task, _build_task),
    Kind("stream", (Stream,), lambda value: (value.response, value.failure), _lower_stream, _build_stream),
    Kind("bytes", (bytes,), _nothing, _lower_bytes, _build_bytes),
    Kind(
        "typed stream", (TypedStream,), lambda value: (value.response, value.failure, value.outcome), _lower_typed_stream,
        _build_typed_stream,
    ),
    Kind("item stream", (ItemStream,), lambda value: (value.stream,), _lower_item_stream, _build_item_stream),
    *map(_handle, (EmbedderRef, IndexRef)),
    Kind("stream of Python", (HostStream,), _host_stream_parts, _lower_host_stream, _build_host_stream),
)
for _number, _kind in enumerate(KINDS):
    _kind.number = _number
_BY_CLASS = {cls: kind for kind in KINDS for cls in kind.classes}
_STRUCT = _BY_CLASS[Struct]


def kind_of(value: Any) -> Kind:
    """Return the kind of a value that has a row, as scalars and the Option None have not. Raises SnapshotError V008 for any
    other."""
    kind = _BY_CLASS.get(type(value))
    if kind is None and isinstance(value, Struct):
        kind = _STRUCT
    if kind is None:
        raise SnapshotError("V008", f"a value of {type(value).__name__} has no form in a snapshot")
    return kind


# ----------------------------------------------------------------
# Walks over values that have begun, as they stand on operand stacks (G-13.7): what is still to come.
#
# A Python iterator is copied by its own description, so that looking at what remains takes nothing from it.

if TYPE_CHECKING:
    class IteratorWriter(Protocol):
        """Who writes a walk: `put` writes a value and returns its form."""

        def put(self, value: Any) -> Any: ...

    class IteratorReader(Protocol):
        """Who reads a walk: `values` gives the values of a list of forms, `list` a list itself, or raises."""

        def values(self, forms: Any) -> list[Any]: ...
        def list(self, form: Any) -> list[Any]: ...


# Of what `iterate` walks over, with the ranges that Python keeps apart by size.
_WALKED: tuple[Iterable[Any], ...] = ([], (), "", "é", b"", deque(), {}.values(), range(1), range(1 << 70))
ITERATOR_KINDS = frozenset(type(iter(walked)) for walked in _WALKED)
RANGE, ITEMS = 0, 1


def is_iterator(value: Any) -> bool:
    """Return whether a value is a walk that has begun, as ITERATE pushes one."""
    return type(value) in ITERATOR_KINDS


def lower_iterator(w: IteratorWriter, walk: Iterator[Any]) -> list[Any]:
    """Return the form of a walk that has begun: a range by its bounds, anything else by the values that are still to come. The
    walk itself stays where it is. Raises SnapshotError V008 for what no snapshot can hold."""
    description: Any = walk.__reduce__()
    if type(description) is not tuple:
        raise SnapshotError("V008", "a walk that cannot be described; end it first")
    make, arguments, *place = description
    if arguments and type(arguments[0]) is range:
        remaining = arguments[0][place[0] if place and place[0] else 0 :]
        return [RANGE, remaining.start, max(remaining.start, remaining.stop)]
    twin = make(*arguments)
    if place and place[0] is not None:
        twin.__setstate__(place[0])
    return [ITEMS, [w.put(value) for value in twin]]


def read_iterator(r: IteratorReader, form: Any) -> Iterator[Any]:
    """Return a walk over the values that the form lists, or over its range. Raises SnapshotError or one of `reader.WRONG`."""
    kind, *parts = r.list(form)
    if kind == RANGE:
        start, stop = parts
        if type(start) is not int or type(stop) is not int or not INT_MIN <= start <= stop <= INT_MAX + 1:
            raise misshapen("a walk over no range")
        return iter(range(start, stop))
    (items,) = parts
    if kind != ITEMS:
        raise misshapen("a walk over nothing that is known")
    return iter(r.values(items))


# ----------------------------------------------------------------
# What effects ask of the host, as parts of a snapshot (G-13.7: what a task waits for).
#
# A payload is made of values, UNSET, pipelines and functions of Python of the image, the records of `effects`, and plain lists,
# tuples and dicts of such. By `same_form` a reader checks a stored payload against the effect that the host performs.

if TYPE_CHECKING:
    class PayloadWriter(Protocol):
        """Who writes a payload: `put` writes a value and returns its form."""

        program: Program

        def put(self, value: Any) -> Any: ...

    class PayloadReader(Protocol):
        """Who reads a payload: `value` gives the value of a form, `index` and `list` a number from 0 or a list itself, or
        raise."""

        program: Program

        def value(self, form: Any) -> Any: ...
        def index(self, form: Any) -> int: ...
        def list(self, form: Any) -> list[Any]: ...


PAYLOAD_RECORDS: tuple[Any, ...] = (
    effects.EmitPayload, effects.StoreFile, effects.ModelCall, effects.ModelLife, effects.ServerUse, effects.ToolUse,
    effects.MemoryUse, effects.AgentCall, effects.EmbedUse, effects.IndexUse, effects.ServerRead,
    effects.ExternCall,
)  # fmt: skip
VALUE, LIST, TUPLE, DICT, LEFT_OUT, PIPELINE, RECORD, EXTERN = range(8)
# The last slot of records of versions that did not have it: answers had no type, calls no media.
ADDED_LATER: dict[Any, list[Any]] = {
    effects.EmitPayload: [VALUE, None], effects.ModelCall: [TUPLE, []], effects.AgentCall: [TUPLE, []],
}  # fmt: skip


def lower_payload(w: PayloadWriter, payload: Any) -> list[Any]:
    """Return the form of an effect's payload, what it asks of the host. Raises SnapshotError V008 for a value that no snapshot
    can hold."""
    kind = type(payload)
    if kind is list or kind is tuple:
        return [LIST if kind is list else TUPLE, [lower_payload(w, part) for part in payload]]
    if kind is dict:
        return [DICT, [part for key, value in payload.items() for part in (w.put(key), lower_payload(w, value))]]
    if payload is UNSET:
        return [LEFT_OUT]
    if kind is Pipeline:
        return [PIPELINE, _number_in(w.program.image.pipelines, payload)]
    if kind is PythonFunction:
        return [EXTERN, _number_in(w.program.externs, payload)]
    if kind in PAYLOAD_RECORDS:
        slots = [lower_payload(w, getattr(payload, name)) for name in kind.__slots__]
        return [RECORD, PAYLOAD_RECORDS.index(kind), slots]
    return [VALUE, w.put(payload)]


def read_payload(r: PayloadReader, form: Any) -> Any:
    """Return the payload of a form. Raises SnapshotError or one of `reader.WRONG` for a form that no payload has; whether the
    record is one that the effect may have, `same_form` says."""
    kind, *parts = r.list(form)
    if kind == LEFT_OUT and not parts:
        return UNSET
    if kind == RECORD:
        number, slots = parts
        cls = PAYLOAD_RECORDS[r.index(number)]
        record = cls.__new__(cls)
        rows = list(r.list(slots))
        if cls in ADDED_LATER and len(rows) == len(cls.__slots__) - 1:
            rows.append(ADDED_LATER[cls])
        for name, slot in zip(cls.__slots__, rows, strict=True):
            setattr(record, name, read_payload(r, slot))
        return record
    (part,) = parts
    if kind == VALUE:
        return r.value(part)
    if kind == PIPELINE:
        return r.program.image.pipelines[r.index(part)]
    if kind == EXTERN:
        return r.program.externs[r.index(part)]
    rows = r.list(part)
    if kind in (LIST, TUPLE):
        return (list if kind == LIST else tuple)(read_payload(r, row) for row in rows)
    if kind == DICT:
        return {r.value(key): read_payload(r, row) for key, row in zip(rows[::2], rows[1::2], strict=True)}
    raise misshapen("an effect that asks for nothing that is known")


def same_form(payload: Any, performed: Any) -> bool:
    """Return whether a stored payload asks the same of the host as the one that it performs: the same records, lists, tuples,
    dicts, texts, Ints and Bools, whatever other values of the same classes stand in it."""
    if type(payload) is not type(performed):
        return False
    if type(performed) in PAYLOAD_RECORDS:
        return all(same_form(getattr(payload, name), getattr(performed, name)) for name in type(performed).__slots__)
    if type(performed) is list or type(performed) is tuple:
        return len(payload) == len(performed) and all(map(same_form, payload, performed))
    if type(performed) is dict:
        return list(payload) == list(performed) and all(map(same_form, payload.values(), performed.values()))
    return type(performed) not in (str, int, bool) or payload == performed
