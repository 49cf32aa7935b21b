"""`concerto inspect`: header, hash, sections with sizes, declarations, wanted permissions, key variables (O-9.19).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. `facts_of` collects everything as plain data, which `--json` prints as it is and `lines_of` turns into lines. A new fact
is a key in `facts_of`. The image has been verified before. Nothing of the program is run, no connection is asked, and no key is
read.
"""

from __future__ import annotations

from . import exits
from .inputs import load_image_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..vm.bytecode.image import Context, Function, Image, Library, Memory, Model


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source or an image")
    parser.add_argument("--json", action="store_true", help="as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the facts of an image; return 0. Raise `Exit`: 2 for connections that are configured wrongly, and as `load_image_of`,
    2, 65, 66 or 74 for a FILE of another implementation, with errors, that cannot be read or that is refused."""
    image, data = load_image_of(arguments.file, quiet=arguments.quiet)
    facts = facts_of(image, data)
    if arguments.json:
        import json

        print(json.dumps(facts, ensure_ascii=False))
    else:
        print("\n".join(lines_of(facts)))
    return exits.OK


def facts_of(image: Image, data: bytes) -> dict[str, Any]:
    """Return what an image holds, as data for JSON. `data` are its bytes. Raise `Exit` (2) for connections that a run would
    refuse."""
    from ..vm.bytecode.encoding import content_hash
    from ..vm.bytecode.image import STANDARD, memory_of_hashmap

    header = image.header
    sizes = section_sizes(image)
    stores = {memory_of_hashmap(hashmap.name) for hashmap in image.hashmaps}
    named = [memory for memory in image.memories if memory.name not in stores]
    return {
        "name": header.name,
        "format": ".".join(map(str, header.format)),
        "compiler": header.compiler,
        "hash": content_hash(data),
        "bytes": len(data),
        "entry": None if header.entry is None else image.functions[header.entry].name,
        # An empty section takes one byte.
        "sections": {name: size for name, size in sizes.items() if size > 1},
        "functions": declared_functions(image),
        "channels": _questions(image, "channels"),
        "functions_by_models": _questions(image, "by_model"),
        "externs": _externs(image),
        "models": {m.name: {"connection": m.connection, **m.fields, **_attached(image, m)} for m in image.models},
        "agents": {a.name: a.fields for a in image.agents},
        "servers": {s.name: {**s.fields, "tools": [method[0] for method in s.methods]} for s in image.mcp},
        "schemas": [s.name for s in image.schemas],
        "tools": {t.name: [method[2] for method in t.methods] for t in image.tools},
        "effects": {method[2]: method[7] for t in image.tools for method in t.methods if method[7] is not None},
        "memories": [_memory(image, m) for m in named],
        "prompt_caches": {m.name: _prompt_cache(m) for m in named if m.of is None and not _computes(m)},
        "contexts": [_context(image, c) for c in image.contexts],
        "hashmaps": [{"name": h.name, "path": h.path, **_store_of(image, h.name)} for h in image.hashmaps],
        "ledgers": [e.name for e in image.ledgers],
        "embedders": {e.name: {name: part for name, part in e.table.items() if name != "name"} for e in image.embedders},
        "indexes": {
            i.name: {"embedder": (i.embedder or {}).get("name"), "store": (i.store or {}).get("name")} for i in image.indexes
        },
        "pipelines": {p.name: [stage[0] for stage in p.stages] for p in image.pipelines},
        "connections": {c.name: c.fields for c in image.connections},
        "libraries": [
            {
                "name": library.name, "version": library.version, "distribution": library.distribution,
                "functions": [image.functions[number].name for number in library.functions if _is_declared(image, number)],
                **_outward(image, library), "wanted_permissions": library.wanted,
            }
            for library in image.libraries
            if library.name != STANDARD
        ],
        "wanted_permissions": header.wanted,
        "key_variables": key_variables(image),
    }


def _outward(image: Image, library: Library) -> dict[str, list[str]]:
    """Return the declarations of a library that name something outside, by section."""
    names: dict[str, list[str]] = {}
    for section, number in library.entries:
        names.setdefault(section, []).append(getattr(image, section)[number].name)
    return names


def _is_declared(image: Image, number: int) -> bool:
    from ..vm.bytecode.image import F_CLOSURE, F_HIDDEN

    return not image.functions[number].flags & (F_CLOSURE | F_HIDDEN)


def _questions(image: Image, kind: str) -> dict[str, str]:
    """Return the signatures of the functions that an image lists as channels, or as by models, by their names (V-3.10)."""
    from ..vm.bytecode.shape import listed_functions
    from ..vm.interp.link import load_image

    functions = listed_functions(image, kind)
    descriptors = load_image(image).descriptors if functions else []
    return {function.name: _signature(function, descriptors) for function in functions}


def _signature(function: Function, descriptors: list[Any]) -> str:
    from ..vm.values.types import type_text

    parameters = ", ".join(f"{name}: {type_text(descriptors[type_])}" for name, type_, _ in function.params)
    result = descriptors[function.result]
    return f"({parameters})" + ("" if result == ("nil",) else f" -> {type_text(result)}")


def _externs(image: Image) -> dict[str, Any]:
    """Return the functions of Python by module, with what Python calls them and their signatures (P-1.5)."""
    from ..vm.interp.link import load_image

    descriptors = load_image(image).descriptors if image.externs else []
    modules: dict[str, Any] = {}
    for extern in image.externs:
        word = "async fn " if extern.is_async else "fn "
        signature = f"{word}{extern.name}{_signature(image.functions[extern.function], descriptors)}"
        modules.setdefault(extern.module, {})[extern.attribute] = signature
    return modules


def _attached(image: Image, model: Model) -> dict[str, Any]:
    """Return the memories that a model's field names, as it is written there."""
    # One memory is a number in the image, several are a list.
    names = [image.memories[number].name for number in ([model.memory] if isinstance(model.memory, int) else model.memory or [])]
    return {"memory": names if len(names) > 1 else names[0]} if names else {}


def _store_of(image: Image, hashmap: str) -> dict[str, Any]:
    """Return the store of a hashmap whose entries are in one."""
    from ..vm.bytecode.image import memory_of_hashmap

    own = memory_of_hashmap(hashmap)
    return next(({"store": memory.steps["store"]} for memory in image.memories if memory.name == own), {})


def _memory(image: Image, memory: Memory) -> dict[str, Any]:
    """Return a memory with its steps (M-2.13)."""
    of = {} if memory.of is None else {"of": image.memories[memory.of].name}
    context = {} if memory.context is None else {"context": image.contexts[memory.context].name}
    step_rows = {
        name: _fact_rules(value) if name == "allow_facts" else _step(image, _by_event(name, value))
        for name, value in memory.steps.items()
    }
    steps = {"steps": step_rows} if step_rows else {}
    return {"name": memory.name, "max_messages": memory.max_messages, **of, **context, **steps}


def _fact_rules(rules: list[Any]) -> list[dict[str, Any]]:
    """Return the rules of `allow_facts` (M-10.35): facts by name, a slot or tier with where it is."""
    return [
        {"name": ", ".join(f"{name} ({tier})" if tier else name for tier, name in patterns), "read": readers, "write": writers}
        for patterns, readers, writers in rules
    ]


def _computes(memory: Memory) -> bool:
    """Return whether a run computes bounds of the memory (M-2.14, M-2.18): only then is it known how much requests have in
    common."""
    return "bounds" in memory.steps or bool(memory.steps.get("made"))


def _prompt_cache(memory: Memory) -> dict[str, Any]:
    """Return how much of a request equals the one before once the memory is full, in percent, and what would keep more."""
    from ..runtime.memory.policy import advice, bound_of, prefix_share

    help = advice(memory.max_messages, memory.steps)
    share = prefix_share(bound_of(memory.max_messages, memory.steps))
    return {"same_percent": share, **({"help": help} if help is not None else {})}


def _context(image: Image, context: Context) -> dict[str, Any]:
    """Return a context with its slots and the functions that use them (O-10.15)."""
    from ..vm.bytecode.disasm import type_text

    slots = {}
    for tier, name, type_index, mutable, default, *was in context.slots:
        words = [tier, "mut" if mutable else "fixed", type_text(image, type_index), *(["default"] if default is not None else [])]
        slots[name] = " ".join([*words, *(f"was {before}" for before in was)])
    uses: dict[str, list[str]] = {}
    for number, word, memory, used in context.uses:
        uses.setdefault(image.functions[number].name, []).append(f"{word} {', '.join(f'{memory}.{slot}' for slot in used)}")
    return {"name": context.name, "slots": slots, "functions": uses}


def _by_event(step: str, value: Any) -> Any:
    """Return the functions of the step `on` by the words of their events; other steps as they are."""
    return {handler["event"]: handler["with"] for handler in value} if step == "on" else value


def _step(image: Image, value: Any) -> Any:
    """Return the arguments of a step; of a function its name and where it stands."""
    from ..vm.memory_steps import is_function

    if is_function(value):
        return _step_function(image, *value)
    if isinstance(value, dict):
        return {key: _step(image, part) for key, part in value.items()}
    return [_step(image, part) for part in value] if isinstance(value, list) else value


def _step_function(image: Image, memory: int, number: int) -> str:
    """Return what initialisation sets as a step: the instruction before the one that hands it over makes the function."""
    from ..vm.bytecode import operands
    from ..vm.bytecode.encoding import scan
    from ..vm.bytecode.image import K_CONFIG
    from ..vm.bytecode.opcodes import OPCODES

    this_step = (K_CONFIG, ["memories", memory, f"step{number}"])
    for function in (image.functions[entry] for entry in image.exports.init):
        before: int | None = None
        for offset, opcode, operand in scan(function.code, len(function.code))[0]:
            op = OPCODES[opcode]
            if op.kind is operands.CONFIG and image.constants[operand] == this_step:
                if before is None:  # it is computed where the step stands
                    return f"a function at {_place(image, function, offset)}"
                step_function = image.functions[before]
                return f"{step_function.name} at {_place(image, step_function, 0)}"
            # Any other instruction in between means that the function is computed.
            before = operand if op.kind is operands.FUNCTION else None
    return "a function"


def _place(image: Image, function: Function, offset: int) -> str:
    from ..vm.bytecode.encoding import position_at

    file, line, column = position_at(function.lines, offset)
    return f"{image.source_map[file][0]}:{line}:{column}" if file < len(image.source_map) else "an unknown place"


def declared_functions(image: Image) -> list[str]:
    """Return the functions with a name of their own: neither closures nor what the compiler adds, such as defaults of
    fields."""
    return [f.name for number, f in enumerate(image.functions) if _is_declared(image, number)]


def section_sizes(image: Image) -> dict[str, int]:
    """Return how many bytes each section of the image takes, by its name."""
    import msgpack

    from ..vm.bytecode.image import SECTIONS
    from ..vm.bytecode.shape import lower

    return {name: len(msgpack.packb(part)) for (name, _), part in zip(SECTIONS, lower(image), strict=True)}


def key_variables(image: Image) -> list[str]:
    """Return the names, sorted, of the environment variables that hold keys of the connections that models and embedders use.
    Raise `Exit` (2) for connections that a run would refuse."""
    from ..runtime.connections import check_connections, resolve_all
    from ..runtime.errors import ConfigFailure

    declared = {c.name: c.fields for c in image.connections}
    try:
        check_connections([declared])
        connections = resolve_all([declared])
    except ConfigFailure as failure:  # as a run refuses it
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None
    # Only connections that something uses need their key.
    used = {m.connection for m in image.models} | {m.steps.get("embed", {}).get("connection", "") for m in image.memories}
    used |= {e.table.get("connection", "") for e in image.embedders}
    used |= {i.embedder.get("connection", "") for i in image.indexes if i.embedder is not None}
    return sorted({variable for name in used if name in connections for variable in connections[name].secret_variables})


def lines_of(facts: dict[str, Any], indent: str = "") -> list[str]:
    """Return `name: value` lines, indented by `indent`; what an object holds stands below it, two columns further in. A list of
    objects, each with a `name` of its own, is shown as an object by these names; any other list stands on its line, and what is
    empty is `none`."""
    lines = []
    for name, value in facts.items():
        if _are_named(value):
            value = {row["name"]: {key: part for key, part in row.items() if key != "name"} for row in value}
        if isinstance(value, dict) and value:
            lines += [f"{indent}{_text(name)}:", *lines_of(value, indent + "  ")]
        else:
            lines.append(f"{indent}{_text(name)}: {_text(value)}")
    return lines


def _are_named(value: Any) -> bool:
    """Return whether a value is a list of objects, each with a name of its own. What a program writes into fields may be any
    list."""
    if not isinstance(value, list) or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in value):
        return False
    return 0 < len(value) == len({row["name"] for row in value})


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, dict) and value:
        import json

        text = json.dumps(value, ensure_ascii=False)
        return text if text.isprintable() else json.dumps(value)
    if isinstance(value, str) and not value.isprintable():
        return ascii(value)  # whoever made the image must not write to the terminal
    return "none" if value is None or value == {} else str(value)
