"""The hash of each function, over everything that its behaviour depends on (V-3.3).

A hash covers the instructions with what their operands name: constants, callees, types, declarations, and what those name in
turn; not the numbers under which an image holds them, apart from those in steps of memories, nor lines. What calls by one method
name may run counts in the order in which the image holds it.

Hands on `hash_functions` to the code generator, the assembler and the disassembler. It changes nothing in the image: the caller
puts the hashes into its functions. `_Graph` says what counts: a new kind of declaration that names others by numbers needs a row
in `_NAMING`. The hash of a whole image is `content_hash` in `encoding.py`.
"""

from __future__ import annotations

import hashlib
from itertools import chain

import msgpack

from . import image as i
from . import operands as k
from .declarations import DECLARED_SECTIONS
from .encoding import scan
from .opcodes import OPCODES
from .shape import default_functions, inner_functions, inner_types, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


# ----------------------------------------------------------------
# Digests of the nodes of a graph such that a node's digest covers everything it reaches, and nothing else.
#
# Nodes that reach each other are digested together, by rounds: after n rounds a digest tells apart whatever differs within n
# steps.

if TYPE_CHECKING:
    Node = tuple[bytes, list[int]]  # own content; the numbers of the nodes and lists it names, in order

_MOST_ROUNDS = 64
_LONGEST = 256  # nodes of a list whose digests stand one by one where the list is named


def digest_nodes(nodes: list[Node], lists: list[list[int]]) -> list[bytes]:
    """Return the SHA-256 of each node, 32 bytes, in order. It depends neither on the node's number nor on the order of other
    nodes. A number from `len(nodes)` on, in the edges of a node, is that of one of `lists`, none of them empty, and stands for
    the numbers of nodes in it: what many nodes name again and again costs each of them one edge."""
    edges = [*(named for _, named in nodes), *lists]
    parts: dict[int, bytes] = {}  # what goes into the digest of a node that names this one, or a list
    for group in components(edges):
        _digest_group(nodes, edges, group, parts)
    return [parts[number] for number in range(len(nodes))]


def _digest_group(nodes: list[Node], edges: list[list[int]], group: list[int], parts: dict[int, bytes]) -> None:
    """Add the parts of nodes and lists that reach each other; those of all others that they reach are there."""
    members = [number for number in group if number < len(nodes)]
    lists = [number for number in group if number >= len(nodes)]
    current = {number: _digest(nodes[number][0], []) for number in members}
    everyone = _digest(b"", sorted(current.values()))
    for _ in range(min(len(members), _MOST_ROUNDS)):
        parts |= current
        parts.update([(number, _list_part(edges[number], parts)) for number in lists])
        current = {
            number: _digest(nodes[number][0], chain((everyone,), map(parts.__getitem__, edges[number]))) for number in members
        }
    parts |= current
    parts.update([(number, _list_part(edges[number], parts)) for number in lists])


def _list_part(named: list[int], parts: dict[int, bytes]) -> bytes:
    """Return what stands for a list in the digest of a node: all digests, of a long one a digest of them."""
    whole = [parts[number] for number in named]
    return b"".join(whole) if len(whole) <= _LONGEST else _digest(b"", whole)


def _digest(content: bytes, parts: Iterable[bytes]) -> bytes:
    state = hashlib.sha256(len(content).to_bytes(8, "big"))
    state.update(content)
    for part in parts:
        state.update(part)
    return state.digest()


def components(edges: list[list[int]]) -> Iterator[list[int]]:
    """Yield the groups of nodes that reach each other (strongly connected components) as lists of their numbers, each after all
    groups that it reaches. `edges` has the numbers of the nodes that each one names. This is Tarjan's algorithm with an explicit
    stack."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in range(len(edges)):
        walk = [] if root in order else [(root, iter(edges[root]))]
        while walk:
            node, rest = walk[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                open_nodes.append(node)
                is_open.add(node)
            for inner in rest:
                if inner not in order:
                    walk.append((inner, iter(edges[inner])))
                    break
                if inner in is_open:
                    low[node] = min(low[node], order[inner])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == order[node]:
                    group = [open_nodes.pop()]
                    while group[-1] != node:
                        group.append(open_nodes.pop())
                    is_open.difference_update(group)
                    yield group


_SECTIONS = ("functions", "types", *DECLARED_SECTIONS)

# Per opcode: its name, the section of a node its operand names, whether that is a constant, whether a label.
_FORMS = tuple(
    (op.name, op.kind.table if op.kind.table in _SECTIONS else None, op.kind.table == k.CONST.table, op.kind is k.LABEL)
    for op in OPCODES
)


def hash_functions(image: i.Image) -> list[bytes]:
    """Return the hash of each function, 32 bytes, in order. Takes any image whose sections have their shape, verified or not: an
    index outside its table counts as a number. The hashes that the functions carry count for nothing."""
    graph = _Graph(image)
    return digest_nodes(graph.nodes(), graph.lists)[: len(image.functions)]


class _Graph:
    """Functions, types and declarations as nodes, numbered section after section; and `lists` of what calls by one method name
    may run, numbered behind them in the order of `methods`."""

    def __init__(self, image: i.Image) -> None:
        self.image = image
        self.pack = msgpack.Packer().pack
        self.sizes = {section: len(getattr(image, section)) for section in _SECTIONS}
        self.first: dict[str, int] = {}
        total = 0
        for section in _SECTIONS:
            self.first[section] = total
            total += self.sizes[section]
        self.errors = {index for entry in image.types if entry[0] == "errors" for index in entry[1]}
        methods = _methods(image)
        self.methods = {name: number for number, name in enumerate(methods)}
        self.lists = [[self.first[section] + index for section, index in targets] for targets in methods.values()]
        self.first["methods"], self.sizes["methods"] = total, len(methods)
        self.connections = {entry.name: number for number, entry in enumerate(image.connections)}
        self.models = {entry.name: number for number, entry in enumerate(image.models)}

    def nodes(self) -> list[Node]:
        """Return the nodes of all sections of `_SECTIONS`, in that order."""
        image = self.image
        nodes = [self._function(function) for function in image.functions]
        nodes += [self._type(index, descriptor) for index, descriptor in enumerate(image.types)]
        for section in DECLARED_SECTIONS:
            of_entry = _NAMING.get(section, _Graph._plain)
            nodes += [of_entry(self, entry) for entry in getattr(image, section)]
        return nodes

    def _plain(self, entry: i.Record) -> Node:
        """Return the node of a declaration that names nothing by a number."""
        return self._node(entry.values(), [])

    def _node(self, content: list[Any], named: list[tuple[str, int]]) -> Node:
        """Return a node with this content and edges to what it names, as (section, index); an index outside its section becomes
        content."""
        edges = [self.first[section] + index for section, index in named if index < self.sizes[section]]
        lost = [[section, index] for section, index in named if index >= self.sizes[section]]
        return self.pack([content, lost]), edges

    def _function(self, function: i.Function) -> Node:
        named = [("types", function.result), *(("types", entry[1]) for entry in function.params)]
        named += [("functions", entry[2]) for entry in function.params if entry[2] is not None]
        code, fault = scan(function.code, len(function.code))
        index_of = {offset: index for index, (offset, _, _) in enumerate(code)} | {len(function.code): len(code)}
        content = [
            function.name,
            [[name, default is None] for name, _, default in function.params],
            [function.slots, function.captures, function.cells, function.flags],
            [[*(index_of.get(offset, -1) for offset in handler[:3]), handler[3]] for handler in function.handlers],
            self._code(code, named, index_of),
            function.code if fault else b"",
        ]
        return self._node(content, named)

    def _code(
        self, code: list[tuple[int, int, int]], named: list[tuple[str, int]], index_of: dict[int, int]
    ) -> list[Any]:
        """Return instructions as content, and append to `named` what they name in another section."""
        content: list[Any] = []
        add, forms, constants = content.append, _FORMS, len(self.image.constants)
        for _, number, operand in code:
            name, section, is_constant, is_label = forms[number]
            if section is not None:
                named.append((section, operand))
                add(name)
            elif is_constant and operand < constants:
                add([name, self._constant(operand, named)])
            else:
                add([name, index_of.get(operand, -1) if is_label else operand])
        return content

    def _constant(self, index: int, named: list[tuple[str, int]]) -> Any:
        kind, value = self.image.constants[index]
        if kind == i.K_VARIANT:
            named.append(("types", value[0]))
            return [kind, value[1]]
        if kind == i.K_METHOD:
            named += [("methods", self.methods[value[0]])] if value[0] in self.methods else []
        if kind == i.K_CONFIG and value[0] in _SECTIONS:
            named.append((value[0], value[1]))
            return [kind, value[0], value[2]]
        return [kind, value]

    def _type(self, index: int, descriptor: list[Any]) -> Node:
        named = [("types", index) for index in inner_types(descriptor)]
        functions = (*inner_functions(descriptor), *default_functions(descriptor), *questions(descriptor))
        named += [("functions", index) for index in functions]
        if descriptor[0] in ("struct", "schema", "enum"):
            return self._node([_without_indexes(descriptor), index in self.errors], named)
        return self._node(_without_indexes(descriptor), named)

    def _model(self, model: i.Model) -> Node:
        named = [("memories", number) for number in i.memories_of(model)]
        named += [(section, number) for section, number, _ in model.tools if section in _SECTIONS]
        named += [] if model.computed is None else [("functions", model.computed)]
        if model.connection in self.connections:
            named.append(("connections", self.connections[model.connection]))
        named += [("models", self.models[name]) for name in i.fallbacks_of(model) if name in self.models]
        several = len(model.memory) if isinstance(model.memory, list) else model.memory is None
        scopes = [scope for _, _, scope in model.tools]
        return self._node([model.name, model.connection, model.fields, several, scopes, model.decorators], named)

    def _memory(self, memory: i.Memory) -> Node:
        named = [] if memory.of is None else [("memories", memory.of)]
        named += [] if memory.context is None else [("contexts", memory.context)]
        content = [memory.name, memory.max_messages, memory.steps, memory.of is None, memory.context is None]
        return self._node(content, named)

    def _context(self, context: i.Context) -> Node:
        """Return the node of a context: its slots, not the functions that use them."""
        named = [("types", slot[2]) for slot in context.slots]
        named += [("functions", slot[4]) for slot in context.slots if slot[4] is not None]
        return self._node([context.name, [[*slot[:2], slot[3], slot[4] is None, *slot[5:]] for slot in context.slots]], named)

    def _tool(self, tool: i.Tool) -> Node:
        methods = [[name, *rest] for name, _, *rest in tool.methods]
        named = [("types", tool.state), *(("functions", method[1]) for method in tool.methods)]
        return self._node([tool.name, tool.description, methods], named)

    def _hashmap(self, store: i.HashMap) -> Node:
        return self._node([store.name, store.path, store.shape], [("types", store.key), ("types", store.value)])

    def _index(self, index: i.Index) -> Node:
        return self._node([index.name, index.embedder, index.store], [("types", index.value)])

    def _extern(self, extern: i.Extern) -> Node:
        kind = [extern.is_async, extern.thread, extern.elements is None]
        content = [extern.name, extern.module, extern.attribute, *kind, extern.decorators]
        types = [] if extern.elements is None else [("types", extern.elements)]
        return self._node(content, [("functions", extern.function), *types])

    def _pipeline(self, pipeline: i.Pipeline) -> Node:
        named = [("types", pipeline.input), ("types", pipeline.output)]
        for _, takes, gives, _, function in pipeline.stages:
            named += [("types", index) for index in (takes, gives) if index is not None]
            named.append(("functions", function))
        return self._node([pipeline.name, [[s[0], s[1] is None, s[3]] for s in pipeline.stages]], named)

    def _schema(self, schema: i.Schema) -> Node:
        named = [("types", schema.type), *(("functions", number) for number in schema.validators)]
        return self._node([schema.name, schema.shape, schema.plain, schema.strict], named)


# Declarations that name functions, types or one another by numbers, which are no content of theirs.
_NAMING: dict[str, Callable[[_Graph, Any], Node]] = {
    "models": _Graph._model, "hashmaps": _Graph._hashmap, "memories": _Graph._memory, "schemas": _Graph._schema,
    "tools": _Graph._tool, "pipelines": _Graph._pipeline, "contexts": _Graph._context, "indexes": _Graph._index,
    "externs": _Graph._extern,
}  # fmt: skip


def _methods(image: i.Image) -> dict[str, dict[tuple[str, int], None]]:
    """Return what a call by each method name may run, in order and each once: methods of the program, and traits whose impls have
    one."""
    targets: dict[str, dict[tuple[str, int], None]] = {}
    for number, function in enumerate(image.functions):
        if function.flags & i.F_METHOD:
            name = function.name.rpartition("::")[2].rpartition(".")[2]
            targets.setdefault(name, {})["functions", number] = None
    for index, entry in enumerate(image.types):
        for number in inner_functions(entry):
            if number < len(image.functions):
                name = image.functions[number].name.rpartition("::")[2]
                for key in (name, f"{entry[1]}::{name}"):
                    targets.setdefault(key, {})["types", index] = None
    return targets


def _without_indexes(value: Any) -> Any:
    """Return a descriptor with every type number replaced by nil: edges to `inner_types` stand for them."""
    if type(value) is list:
        return [_without_indexes(inner) for inner in value]
    return None if type(value) is int else value
