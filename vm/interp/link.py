"""From a verified image to a program that runs: operands resolved to objects, jumps to nodes (V-2.4).

Hands on `Program` to the machine, the translated tier, snapshots, the runtime and the rooms above it; `Trust`, the type of its
level, to the API and to journals; `load_bytes` and `load_image`, which verify before they link, to the API, the command line and
whoever else begins with bytes or an image; `run_costs` to the translated tier; what concerns runs of opcodes (`run_names`,
`tiling`, …) to `tools/choose_runs.py`. A function is linked at its first call into nodes; a node is the list [opcode number of
the loop, operand, next node, its marks in the loop's search tree]. No file is read here: callers bring the bytes or the image.
"""

from __future__ import annotations

from bisect import bisect_left

from ..builtins.modules import ARITY, PERFORMED, performed_row, row_of
from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.declarations import DECLARATIONS
from ..bytecode.encoding import content_hash, decode, position_at, positions_at
from ..bytecode.opcodes import OPCODES
from ..bytecode.shape import listed_functions
from ..bytecode.verify import verify
from ..bytecode.verify_code import unplaced_returns
from ..generated.loop import FUSED, NUMBERS, node
from ..memory_steps import MADE
from ..schema import DeclaredTypes
from ..values import (
    NONE,
    EnumType,
    EnumValue,
    KeyedRef,
    MemoryRef,
    StructType,
    Variant,
    make_struct_class,
)
from ..values.types import kind_of_type, plain_name
from .context_slots import linked_slots
from .linked import GROUP_SIZES, Code, ErrorForm, HostFunction, LoopSite, PythonFunction, Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import Any, Literal

    from ..bytecode.image import Image
    from ..bytecode.verify import FunctionFacts, Verified

    # Compiled in this process; its hash named by the host; signed by a key that the host trusts; anything else (G-1.2).
    Trust = Literal["local", "pinned", "signed", "foreign"]


# Runs of linked opcodes that one node stands for (superinstructions). They exist in linked code only and change
# nothing but speed.

# For runs all opcodes that push their linked operand are the same one, CONST.
_CONSTANTS = ("INT", "NIL", "TRUE", "FALSE", "NONE", "MODEL", "MEMORY", "SCHEMA", "TOOL")
_NAMES = ["CONST" if op.name in _CONSTANTS else op.name for op in OPCODES]
_SIZES = [GROUP_SIZES[op.kind] if op.starred else None for op in OPCODES]
LONGEST_GROUP = 3  # sizes of counted groups up to which runs tell opcodes apart
# A local that grows by a text, which the loop appends in place: this run comes before all others, which must not hold its parts
GROWING = ("CONCAT", "STORE")


def run_names(nodes: list[list[Any]], opcodes: list[int]) -> list[str]:
    """Return the name of each instruction in the table of runs: its opcode's, CONST for one of _CONSTANTS, with `/n` behind it
    where its counted group has n values, at most LONGEST_GROUP."""
    names = []
    for one, opcode in zip(nodes, opcodes, strict=True):
        size_of = _SIZES[opcode]
        size = LONGEST_GROUP + 1 if size_of is None else size_of(one[1])
        names.append(f"{_NAMES[opcode]}/{size}" if size <= LONGEST_GROUP else _NAMES[opcode])
    return names


def fuse(nodes: list[list[Any]], opcodes: list[int], targets: set[int], apart: set[int]) -> None:
    """Replace runs of opcodes by one node each, in place, so that as few nodes as possible are met from the first instruction on,
    and from each of `targets`, to which control may come from elsewhere. Such a one may stand within the run of those before it
    too; those in `apart` are in no run. The nodes inside a run stay in `nodes` for positions, and for frames that go on there."""
    names = run_names(nodes, opcodes)
    operands = [one[1] for one in nodes]
    following = [one[2] for one in nodes]
    lengths = best_lengths(names, apart, FUSED, _LENGTHS)
    fused: set[int] = set()
    for start in (0, *targets):
        at = start
        while at < len(nodes) and at not in fused:
            fused.add(at)
            length = lengths[at]
            run = None if at in apart else FUSED.get(tuple(names[at : at + length]))
            if run is not None:
                number, places = run
                held = [operands[at + place] for place in places]
                nodes[at][:] = node(number, held[0] if len(held) == 1 else tuple(held), following[at + length - 1])
            at += length


def lengths_of(runs: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return the lengths of runs of several opcodes, longest first, by the names of their first two; GROWING has 2 whatever
    `runs` are."""
    lengths_by_pair: dict[tuple[str, ...], set[int]] = {GROWING: {2}}
    for run in runs:
        if len(run) > 1:
            lengths_by_pair.setdefault(run[:2], set()).add(len(run))
    return {pair: tuple(sorted(lengths, reverse=True)) for pair, lengths in lengths_by_pair.items()}


_LENGTHS = lengths_of(FUSED)


def tiling(names: list[str], runs: Container[tuple[str, ...]], lengths: dict[tuple[str, ...], tuple[int, ...]]) -> list[int]:
    """Return the lengths of the runs, 1 for a single instruction, that make the fewest nodes of straight instructions, as
    `best_lengths` has them."""
    best = best_lengths(names, set(), runs, lengths)
    tiles = []
    at = 0
    while at < len(names):
        tiles.append(best[at])
        at += best[at]
    return tiles


def best_lengths(
    names: list[str], apart: set[int], runs: Container[tuple[str, ...]], lengths: dict[tuple[str, ...], tuple[int, ...]]
) -> list[int]:
    """Return for each instruction the length of the run, 1 for it alone, with which the fewest nodes are met from there to the
    end, GROWING being taken wherever it stands. No run holds an instruction in `apart`. `lengths`: of `runs`, as `lengths_of`
    returns them."""
    # Dynamic programming from the end: `fewest[at]` nodes are enough for the instructions from `at` on.
    end = len(names)
    chosen = [1] * end
    fewest = [0] * (end + 1)
    barrier = end  # the next instruction that is in no run, or the end
    for at in range(end - 1, -1, -1):
        fewest[at] = fewest[at + 1] + 1
        pair = tuple(names[at : at + 2])
        for length in lengths.get(pair, ()):
            if at + length > barrier:
                continue
            if pair == GROWING or (fewest[at + length] + 1 < fewest[at] and tuple(names[at : at + length]) in runs):
                fewest[at], chosen[at] = fewest[at + length] + 1, length
        if at in apart:
            chosen[at], fewest[at] = 1, fewest[at + 1] + 1
            barrier = at
    return chosen


_BEFORE = (NUMBERS["ENTER"], NUMBERS["LOOP"], NUMBERS["LEAVE_TOOL"])  # nodes of no instruction, before one
_NUMBER = tuple(NUMBERS[op.name] for op in OPCODES)
_LITERALS = {"NIL": None, "TRUE": True, "FALSE": False, "NONE": NONE}


class Program:
    """A verified image, linked function by function. All sessions of a program share it, so it holds no state of a run.
    `shared_classes`: classes of declared types by declaration, which the programs of one session share; new ones are entered into
    it.

    `image` is its image, `verified` that with the facts of the verifier. By number of the entry in the image: `types` (its rows
    as nested tuples), `classes` (value class or enum type of a declared type, None for another), `descriptors` (types as the
    machine checks values by them), `codes` (functions) and `constants` (as instructions need them). `declared` has the declared
    types by name, `channels` the names of declared channels, `slots` those of contexts by memory and name; `server_methods` and
    `tool_methods` have the names of parameters by (server or tool, method); `memories` the handles of the memories by number;
    `externs` the functions of Python; `language_methods`, `methods`, `trait_methods` and `partial` the functions that are
    methods, as the methods of these names below say. `uncounted` is what `leave_alone` has stopped counting; `halt` is the node
    into which the bottom frame of a task returns; `trust` is the level of the image (G-1.2); `host` is what an embedder keeps of
    the program, None until then."""

    def __init__(self, verified: Verified, shared_classes: dict[Any, Any] | None = None) -> None:
        image = verified.image
        self.shared_classes = {} if shared_classes is None else shared_classes
        self.verified = verified
        self.image = image
        self.types = [_nested(t) for t in image.types]
        errors = {index for t in image.types if t[0] == "errors" for index in t[1]}
        self.classes = [self._class_of(t, index in errors) for index, t in enumerate(image.types)]
        self._whole: dict[int, Any] = {}  # descriptors by number of the type
        self._kinds: dict[int, Any] = {}  # the same without what is inside
        self.descriptors = [self._descriptor(i) for i in range(len(image.types))]
        self.declared = DeclaredTypes(self.types, self.classes, self.descriptors)
        self.codes = [Code(self, n, f, self.begin) for n, f in enumerate(image.functions)]
        for library in image.libraries:
            for number in library.functions:
                self.codes[number].library = library.name
        self.constants = [self._constant(kind, value) for kind, value in image.constants]
        self.memories = [_memory(m, log) for m, log in zip(image.memories, im.logs_of(image.memories), strict=True)]
        self.handles: dict[str, list[Any]] = {  # by section, in the order of the entries
            kind.section: [kind.handles[0](entry.name) for entry in getattr(image, kind.section)]
            for kind in DECLARATIONS
            if kind.handles
        }
        self.handles["memories"] = self.memories
        self.externs = [PythonFunction(e, image.functions[e.function], self.descriptors) for e in image.externs]
        self.channels = {plain_name(function.name) for function in listed_functions(image, "channels")}
        self.slots = linked_slots(image, self.descriptors, self.codes)
        self.server_methods = {(m.name, row[0]): tuple([f[0] for f in row[3][3]]) for m in image.mcp for row in m.methods}
        self.tool_methods = {(t.name, m[0]): tuple([f[0] for f in m[4][3]]) for t in image.tools for m in t.methods}
        self.language_methods = self._language_methods()
        self.methods = self._methods()
        self.trait_methods = self._trait_methods()
        self.implemented = {at[-1] for table in (self.methods, self.trait_methods) for at in table}  # method names of any impl
        self.partial = self._partial()
        self.uncounted: list[tuple[Code, LoopSite | None]] = []
        self.translation: Any = None  # of `vm/jit/`, once something is worth translating
        # of the host, or None: `read()` gives what other processes have translated (V-7.2), `making(n)` hears of a part
        self.kept: Any = None
        self.kept_in: dict[str, Any] = {}  # the like by folder, for the hosts that keep it
        self.content_hash: str | None = None  # of the file it was read from
        self.trust: Trust = "foreign"
        self.host: Any = None
        self.layout: Any = None  # of vm/snapshot, once something is written or read
        self.halt: list[Any] = node(NUMBERS["HALT"], None, None)
        self._tables = self._operand_tables()

    def begin(self, code: Code) -> list[Any]:
        """Return a node that enters a function and links it, so that its first run is charged whether it is linked or not."""
        return node(NUMBERS["LINK"], code, None)

    def handle(self, section: str, number: int, scope: list[str]) -> Any:
        """Return the handle of declaration `number`, from 0, of a section of the image whose declarations have handles, or of a
        scope of it."""
        handle = self.handles[section][number]
        return type(handle)(handle.name, tuple(scope)) if scope else handle

    def is_fallible(self, code: Code) -> bool:
        """Return whether a function returns a Result."""
        return bool(self.types[self.image.functions[code.number].result][0] == "result")

    # ------------------------------------------------------------ tables

    def _class_of(self, entry: Any, is_error: bool) -> Any:
        """Return the value class or enum type of a declared type, None for other types."""
        declaration = (_nested(entry), is_error)
        if declaration not in self.shared_classes:
            self.shared_classes[declaration] = self._new_class(entry, is_error)
        return self.shared_classes[declaration]

    def _new_class(self, entry: Any, is_error: bool) -> Any:
        if entry[0] in ("struct", "schema"):
            names = [field[0] for field in entry[2]]
            return make_struct_class(StructType(plain_name(entry[1]), names, entry[0], key=entry[1], is_error=is_error))
        if entry[0] == "enum":
            variants = [Variant(v[0], len(v[1]), tuple(v[2:])) for v in entry[2]]
            return EnumType(plain_name(entry[1]), variants, key=entry[1], is_error=is_error)
        return None

    def _descriptor(self, number: int) -> Any:
        """Return the nested descriptor of a type for `values/casts.py`. Types share the descriptors of their parts, so there are
        as many as types in the table; the verifier bounds how deep they nest and how many parts a walk meets."""
        if number not in self._whole:
            self._whole[number] = self._new_descriptor(self.image.types[number], self._descriptor)
        return self._whole[number]

    def _kind(self, number: int) -> Any:
        """Return the descriptor of a type that implements a trait. The trait asks for the kind of a value only, and may itself
        occur inside the type, so what is inside is `any`. No impl of the language is for a trait: that is `any` too."""
        if number not in self._kinds:
            entry = self.image.types[number]
            inside = self._kind if entry[0] == "nilable" else _any
            self._kinds[number] = ("any",) if entry[0] == "trait" else self._new_descriptor(entry, inside)
        return self._kinds[number]

    def _new_descriptor(self, entry: Any, part: Callable[[int], Any]) -> Any:
        """Return a descriptor; `part` gives those of the types inside."""
        kind = entry[0]
        if kind in ("struct", "schema", "enum"):
            return (kind, entry[1])
        if kind == "trait":
            return (kind, entry[1], tuple([self._kind(row[0]) for row in entry[2]]))
        if kind in ("array", "option", "nilable", "map", "result", "set", "queue", "stack"):
            return (kind, *map(part, entry[1:]))
        if kind == "tuple":
            return (kind, tuple(map(part, entry[1])))
        if kind == "fn":
            return (kind, tuple(map(part, entry[1])), part(entry[2]))
        return _nested(entry)

    def _constant(self, kind: int, value: Any) -> Any:
        if kind == im.K_VARIANT:
            return EnumValue(self.classes[value[0]], value[1], None)
        if kind == im.K_METHOD:
            return Site(value[0], value[1], tuple(value[2:]))
        if kind == im.K_BUILTIN:
            row = row_of(value[0], value[1])
            if row is not None:
                return row.body, ARITY[value[0], value[1]]
            row = performed_row(value[0], value[1])
            return None if row is None else HostFunction(row.effect, row.prepare, row.at_once, PERFORMED[value[0], value[1]])
        if kind == im.K_ERROR:
            return ErrorForm(value[0], value[1], tuple(value[2:]))
        if kind == im.K_CONFIG:
            return tuple(value)
        return value

    def _language_methods(self) -> dict[tuple[str, str], Code]:
        """Return the built-in methods that are written in the language, by kind and name: hidden functions `Kind::method`."""
        codes = {}
        for code in self.codes:
            kind, _, name = code.label.partition("::")
            if code.hidden and name:
                codes[kind, name] = code
        return codes

    def _methods(self) -> dict[tuple[str, str], Code]:
        """Return the methods of the program by type and name."""
        codes = {}
        for code in self.codes:
            if self.image.functions[code.number].flags & im.F_METHOD and not code.hidden:
                kind, dot, name = code.label.rpartition(".")  # of a model
                if not dot:
                    kind, _, name = code.label.rpartition("::")
                codes[kind + dot, name] = code
        return codes

    def _trait_methods(self) -> dict[tuple[str, str, str], dict[Code, None]]:
        """Return the methods of impls of traits by trait, kind of receiver and name; under the trait "" those of all traits, for
        receivers whose type is not known when compiling. Where there is more than one, the arguments choose at run time."""
        codes: dict[tuple[str, str, str], dict[Code, None]] = {}
        for entry in self.image.types:
            for index, numbers in entry[2] if entry[0] == "trait" else ():
                kind = kind_of_type(self.image.types[index])
                for code in [self.codes[number] for number in numbers]:
                    name = code.label.rpartition("::")[2]
                    for trait in (entry[1], ""):
                        codes.setdefault((trait, kind, name), {})[code] = None
        return codes

    def _partial(self) -> dict[tuple[str, frozenset[str]], Code]:
        """Return the hidden methods `T::name::givenN`, which supply the defaults of the parameters that they do not have, by
        `T::name` and the names of the parameters that they have."""
        codes = {}
        for code in self.codes:
            function = self.image.functions[code.number]
            if function.flags & im.F_METHOD and code.hidden:
                parameters = frozenset([name for name, _, _ in function.params[1:]])
                codes[code.label.rpartition("::")[0], parameters] = code
        return codes

    # ------------------------------------------------------------ linking

    def link(self, code: Code) -> list[Any]:
        """Return the node by which a function is entered; the first time its nodes are built."""
        if code.nodes:
            return code.entry
        listing = self.verified.functions[code.number]
        instructions = listing.instructions
        at = listing.index_of
        nodes: list[list[Any]] = [node(_NUMBER[number], operand, None) for _, number, operand in instructions]
        # operands of jumps are nodes, so all nodes exist before the first operand is resolved
        for before, following in zip(nodes, nodes[1:], strict=False):
            before[2] = following
        costs = run_costs([OPCODES[number].flow for _, number, _ in instructions])
        for i, (_, number, operand) in enumerate(instructions):
            nodes[i][1] = self._operand(code, OPCODES[number], operand, i, listing, nodes, costs)
        self._hook_loops(code, nodes, instructions, listing.depths, at)
        unplaced = unplaced_returns(self.verified, code.number)
        # such a RETURN sets the place of an Err that has none yet (L-5.11.3)
        for i in unplaced:
            nodes[i][:] = node(NUMBERS["RETURN_RESULT"], code.way_by(i), nodes[i][2])
        fuse(nodes, [number for _, number, _ in instructions], self._targets(code, instructions, at), unplaced)
        code.nodes = nodes
        code.cost = costs[0]
        code.entry = node(NUMBERS["ENTER"], code, nodes[0])
        return code.entry

    def untranslated(self, code: Code) -> None:
        """Let calls of a function go straight to its first node, without counting: it stays with the interpreter."""
        code.entry = code.nodes[0]

    def leave_alone(self, code: Code, site: LoopSite | None = None) -> None:
        """Stop counting a function's calls, or with `site` the rounds of that loop in it, because the machine that runs it does
        not translate."""
        if site is None:
            self.untranslated(code)
        else:
            site.unhook()
        self.uncounted.append((code, site))

    def count_again(self) -> None:
        """Count again what `leave_alone` stopped counting, for a machine that translates."""
        for code, site in self.uncounted:
            if site is None:
                code.entry = node(NUMBERS["ENTER"], code, code.nodes[0])
            else:
                site.hook()
        self.uncounted = []

    def _hook_loops(self, code: Code, nodes: list[list[Any]], instructions: Any, depths: list[int], at: dict[int, int]) -> None:
        """Send the back edges of each loop to its head through a node LOOP, which counts rounds."""
        sites: dict[int, list[Any]] = {}
        records: dict[int, LoopSite] = {}
        for index, (_, number, operand) in enumerate(instructions):
            if OPCODES[number].name == "JUMP" and at[operand] <= index and depths[index] >= 0:
                head = at[operand]
                if head not in sites:
                    site = LoopSite(code, head, depths[head], nodes[head], records)
                    sites[head] = site.counting = node(NUMBERS["LOOP"], site, nodes[head])
                nodes[index][1][0] = sites[head]
                sites[head][1].jumps.append(nodes[index][1])

    def _targets(self, code: Code, instructions: Any, at: dict[int, int]) -> set[int]:
        """Return the indexes of the instructions that jumps and handlers go to."""
        jumps = {at[operand] for _, number, operand in instructions if OPCODES[number].kind is k.LABEL}
        return jumps | {at[handler[2]] for handler in self.image.functions[code.number].handlers}

    def _operand(
        self, code: Code, op: Any, operand: int, index: int, listing: FunctionFacts, nodes: Any, costs: list[int]
    ) -> Any:
        if op.kind is k.LABEL:
            target = listing.index_of[operand]
            return [nodes[target], costs[target]] if op.name == "JUMP" else (nodes[target], costs[target])
        if op.name in ("TRY", "THROW", "POP_TRY"):
            return *self._handler(code, index, listing, nodes, costs), code.way_by(index)
        if op.name == "ERR":
            return code.way_by(index)
        return self.resolve_operand(op, operand)

    def _operand_tables(self) -> dict[k.OperandKind, list[Any]]:
        """Return the tables that operands are indexes of, by operand kind."""
        constants = (k.CONST, k.VARIANT, k.METHOD, k.BUILTIN, k.HOST, k.ERROR, k.NAME, k.CONFIG)
        return {
            **dict.fromkeys(constants, self.constants), k.FUNCTION: self.codes, k.EXTERN: self.externs,
            **{kind: self.handles[kind.table] for kind in k.KINDS if kind.table in self.handles},
        }  # fmt: skip

    def resolve_operand(self, op: Any, operand: int) -> Any:
        """Return what an operand stands for at run time: the entry of the table that it is an index of, the descriptor or class
        of a type (for PARSE_AS with `declared`), the attribute of a field, else the number itself; of an opcode without operand
        its literal, None without one."""
        kind = op.kind
        if kind in self._tables:
            return self._tables[kind][operand]
        if kind is k.TYPE:
            if op.name == "PARSE_AS":
                return self.descriptors[operand], self.declared
            return self.classes[operand] if op.name == "STRUCT" else self.descriptors[operand]
        if kind is k.NONE:
            return _LITERALS.get(op.name)
        return f"f{operand}" if kind is k.FIELD else operand

    def _handler(
        self, code: Code, index: int, listing: FunctionFacts, nodes: Any, costs: list[int]
    ) -> tuple[Any, int, int, bool]:
        """Return what an error at an instruction does: (handler node or None, its cost, values to drop beneath the error, whether
        a None leaves the function as None)."""
        depth = listing.depths[index]
        if index in listing.handlers:
            target, depth_below = listing.handlers[index]
            return nodes[target], costs[target], depth - 1 - depth_below, False
        return None, 0, depth - 1, code.returns_option

    # ------------------------------------------------------------ positions

    def positions(self, code: Code, following: Iterable[Any]) -> list[tuple[str, int, int]]:
        """Return (file, line, column) of the instruction before each of the nodes `following`; line and column from 1, 0 where
        nothing is known."""
        return self._places(code, [self._offset(code, one) for one in following])

    def _places(self, code: Code, offsets: list[int]) -> list[tuple[str, int, int]]:
        places, files = positions_at(self.image.functions[code.number].lines, offsets), self.image.source_map
        return [(files[file][0] if file < len(files) else "", line, column) for file, line, column in places]

    def locals_of(self, code: Code, frames: Iterable[tuple[Any, list[Any], list[Any]]]) -> list[dict[str, Any]]:
        """Return for each of these frames of a function (node that it goes on with, locals, cells) the variables that have a
        value at the instruction before, by name; an inner one hides an outer one of its name. They are {} for an image without
        names (V-3.9). Nothing is copied."""
        framed = [(self._offset(code, following), slots, cells) for following, slots, cells in frames]
        rows = self._rows_at({offset for offset, _, _ in framed}, code.number)
        return [_variables(rows[offset], slots, cells) for offset, slots, cells in framed]

    def _rows_at(self, offsets: set[int], number: int) -> dict[int, list[list[Any]]]:
        """Return the rows of names of function `number` that hold at each of these code offsets."""
        order = sorted(offsets)
        rows: dict[int, list[list[Any]]] = {offset: [] for offset in order}
        for row in self.image.names[number] if self.image.names else ():
            for offset in order[bisect_left(order, row[2]) : bisect_left(order, row[3])]:
                rows[offset].append(row)
        return rows

    def _offset(self, code: Code, following: Any) -> int:
        """Return the code offset of the instruction before a node."""
        return self.verified.functions[code.number].instructions[self.index_before(code, following)][0]

    def index_before(self, code: Code, following: Any) -> int:
        """Return the index of the instruction before a node: a frame holds the node to go on with, not the one that called. None,
        and a node of no instruction, stands for the end of the function."""
        if following is not None and following[0] in _BEFORE:
            following = following[2]
        index = code.index_of(following)
        return max((len(code.nodes) if index is None else index) - 1, 0)

    def behind(self, code: Code, following: Any) -> Any:
        """Return the node behind the next instruction, of a frame that goes on with `following`; None at the end. A node that
        stands for several instructions names another one."""
        if following is not None and following[0] in _BEFORE:
            following = following[2]
        index = code.index_of(following)
        return None if index is None or index + 1 >= len(code.nodes) else code.nodes[index + 1]

    def place_of(self, code: Code, index: int) -> tuple[str, int, int]:
        """Return (file, line, column) of the instruction of this index; line and column from 1, 0 where nothing is known."""
        return self._places(code, [self.verified.functions[code.number].instructions[index][0]])[0]

    def start_of(self, function: int) -> tuple[str, int, int] | None:
        """Return (file, line, column), the last two from 1, where the body of function number `function` begins; None where no
        position is known."""
        file, line, column = position_at(self.image.functions[function].lines, 0)
        return (self.image.source_map[file][0], line, column) if line and file < len(self.image.source_map) else None


def _variables(rows: list[list[Any]], slots: list[Any], cells: list[Any]) -> dict[str, Any]:
    """Return the values of the variables of these rows of names (V-3.9) in a frame."""
    variables = {}
    for name, place, _, _ in rows:
        if place < len(slots):
            variables[name] = slots[place]
        elif cells[place - len(slots)] is not None:
            variables[name] = cells[place - len(slots)].value
    return variables


def _memory(memory: im.Memory, base: im.Memory) -> MemoryRef | KeyedRef:
    """Return the handle of a declared memory that shows the log of `base`. A view of a keyed memory has the same keys (M-7.3);
    the declaration that memory values are made from is keyed by their numbers and bounds (M-2.19)."""
    parts = base.steps.get("made")
    names = tuple(base.steps.get("keys", ())) if parts is None else (MADE, *parts)
    return KeyedRef(memory.name, names) if names else MemoryRef(memory.name)


def run_costs(flows: list[str]) -> list[int]:
    """Return the fuel of the straight run that begins at each instruction, one per instruction up to and including the next one
    that never falls through. `flows`: of the opcodes."""
    costs = [0] * len(flows)
    length = 0
    for i in range(len(flows) - 1, -1, -1):
        length = 1 if flows[i] in ("jump", "stop") else length + 1
        costs[i] = length
    return costs


def _any(number: int) -> Any:
    return ("any",)


def _nested(value: Any) -> Any:
    return tuple(_nested(v) for v in value) if isinstance(value, (list, tuple)) else value


# From bytes to a program that can run: decode, verify, link; nothing skips a step (V-4.1, G-3.1).


def load_bytes(data: bytes, demand: Callable[[bytes], None] | None = None, trust: Trust = "foreign") -> Program:
    """Return the program of an image file, given as its bytes, with its hash in `content_hash`. `demand`: as for `decode`;
    `trust` is the level of an image that it does not refuse. Raises ImageError: V0xx when it cannot be decoded, V1xx when a
    rule refuses it; and what `demand` raises."""
    program = load_image(decode(data, demand=demand), trust=trust)
    program.content_hash = content_hash(data)
    return program


def load_image(image: Image, shared_classes: dict[Any, Any] | None = None, trust: Trust = "foreign") -> Program:
    """Return the program of an image that this process has made or decoded; it is verified like any other (G-4.1). `trust` is
    "local" for one that was compiled in this process, or that `import` has kept beside the source that it was compiled of:
    nothing else may say so, since a project's permissions are for its own source (G-1.2). `shared_classes`: as for `Program`.
    Raises ImageError (V1xx)."""
    program = Program(verify(image, ARITY, performed=PERFORMED), shared_classes)
    program.trust = trust
    return program
