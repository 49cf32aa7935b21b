"""Images at random for hypothesis: every one can be encoded, hardly any passes the verifier."""

from __future__ import annotations

from typing import Any

from concerto.vm.bytecode import image as i
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.encoding import encode_instructions, encode_lines
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.bytecode.shape import HEADS
from concerto.vm.memory_steps import ON_CONFLICT, ROLES
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from .builder import empty_image

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", '"', "\\", "; no comment", "\n", "\r\n", "\u2028", "\x85", "\x00", "\u202e", "\U0001f600", "@1:", "[functions]"]
)
FLOAT = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1e308, 5e-324, 0.1, float("inf"), float("-inf"), float("nan")])
INT = st.integers(-(1 << 63), (1 << 63) - 1)
SMALL = st.integers(0, 6)
NATURAL = SMALL | st.integers(0, (1 << 32) - 1)
POSITIVE = st.integers(1, 2**63 - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | INT | FLOAT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(TEXT, PLAIN, max_size=3)
STEPS = st.fixed_dictionaries(
    {},
    optional={
        "roles": st.lists(st.sampled_from(ROLES), max_size=3), "prune": st.floats(0, 1), "tokens": st.integers(1, (1 << 63) - 1),
        "tools": st.just(True), "on_conflict": st.sampled_from(ON_CONFLICT),
    },
)  # fmt: skip
BYTES = st.binary(max_size=9)
DIGEST = st.binary(min_size=32, max_size=32)

CONSTANT = st.one_of(
    st.tuples(st.just(i.K_INT), INT),
    st.tuples(st.just(i.K_FLOAT), FLOAT),
    st.tuples(st.just(i.K_STRING), TEXT),
    st.tuples(st.just(i.K_VARIANT), st.lists(NATURAL, min_size=2, max_size=2)),
    st.tuples(st.just(i.K_METHOD), st.tuples(TEXT, NATURAL, TEXT).map(list)),
    st.tuples(st.just(i.K_BUILTIN), st.tuples(TEXT, TEXT).map(list)),
    st.tuples(st.just(i.K_ERROR), st.tuples(TEXT, st.none() | TEXT, TEXT).map(list)),
    st.tuples(st.just(i.K_CONFIG), st.tuples(TEXT, NATURAL, TEXT).map(list)),
)
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "T": NATURAL,
    "L": st.lists(NATURAL, max_size=3),
    "N": TEXT,
    "O": TEXT,
    "W": st.lists(TEXT, max_size=3),
    "F": st.lists(st.tuples(TEXT, NATURAL, st.booleans()).map(list), max_size=3),
    "V": st.lists(st.tuples(TEXT, st.lists(NATURAL, max_size=2)).map(list), max_size=3),
    "D": st.lists(st.tuples(NATURAL, TEXT).map(list), max_size=2),
    "Q": st.lists(NATURAL, max_size=3),
    "I": st.lists(st.tuples(NATURAL, st.lists(NATURAL, max_size=2)).map(list), max_size=3),
}
TYPE = st.sampled_from(sorted(HEADS)).flatmap(
    lambda head: st.tuples(st.just(head), *(ARGUMENTS[letter] for letter in HEADS[head])).map(list)
)


@st.composite
def codes(draw: st.DrawFn) -> dict[str, Any]:
    """Code, handlers and lines that belong together, or any bytes at all."""
    if draw(st.integers(0, 3)) == 0:
        handlers = st.lists(st.lists(NATURAL, min_size=4, max_size=4), max_size=2)
        return {"code": draw(BYTES), "handlers": draw(handlers), "lines": draw(BYTES)}
    rows = draw(st.lists(st.sampled_from(OPCODES), max_size=20))
    target = st.integers(0, len(rows))
    program = [
        (op.number, draw(target if op.kind is k.LABEL else NATURAL) if op.kind is not k.NONE else 0) for op in rows
    ]
    guess = draw(st.dictionaries(target, st.integers(0, 200), max_size=3))
    encoded, offsets = encode_instructions(program, guess)
    handlers = [[*(offsets[draw(target)] for _ in range(3)), draw(NATURAL)] for _ in range(draw(st.integers(0, 2)))]
    places = sorted(draw(st.sets(st.sampled_from(offsets), max_size=6)))
    lines = encode_lines((offset, draw(SMALL), draw(SMALL), draw(SMALL)) for offset in places)
    return {"code": encoded, "handlers": handlers, "lines": lines}


@st.composite
def functions(draw: st.DrawFn) -> i.Function:
    body = draw(codes())
    params = draw(st.lists(st.tuples(TEXT, NATURAL, st.none() | NATURAL).map(list), max_size=2))
    sizes = [draw(NATURAL), draw(st.lists(SMALL, max_size=2)), draw(NATURAL), draw(NATURAL), draw(NATURAL)]
    return i.Function(
        draw(TEXT), params, draw(NATURAL), *sizes, body["code"], body["handlers"], body["lines"], draw(DIGEST)
    )


@st.composite
def images(draw: st.DrawFn) -> i.Image:
    prices = st.lists(FLOAT | INT, min_size=2, max_size=2)
    of_caches = st.lists(st.none() | FLOAT, min_size=2, max_size=2)
    pricing = st.dictionaries(TEXT, prices | st.builds(list.__add__, prices, of_caches), max_size=2)
    budgets = draw(st.dictionaries(TEXT, NATURAL, max_size=2))
    header = i.Header(
        list(i.FORMAT), 1, 1, draw(TEXT), draw(TEXT), draw(st.none() | NATURAL), draw(st.lists(TEXT)), budgets, draw(pricing)
    )
    decorators = st.lists(st.tuples(TEXT, FIELDS).map(list), max_size=2)
    maybe, some = st.none() | NATURAL, st.lists(NATURAL, max_size=2)
    offering = st.tuples(TEXT, NATURAL, st.lists(TEXT, max_size=2)).map(list)
    attached = maybe | st.lists(NATURAL, min_size=2, max_size=3)
    model = st.builds(i.Model, TEXT, TEXT, FIELDS, maybe, attached, st.lists(offering, max_size=2), decorators)
    method = st.tuples(TEXT, NATURAL, TEXT, TEXT, PLAIN, PLAIN, st.none() | TEXT, st.none() | TEXT).map(list)
    signature = st.tuples(TEXT, TEXT, st.none() | TEXT, PLAIN, PLAIN).map(list)
    schema = st.builds(i.Schema, TEXT, NATURAL, PLAIN, PLAIN, PLAIN, some)
    tool = st.builds(i.Tool, TEXT, TEXT, NATURAL, st.lists(method, max_size=2))
    slot = st.tuples(st.sampled_from(["persistent", "session", "ephemeral"]), TEXT, NATURAL, st.booleans(), maybe).map(list)
    use = st.tuples(NATURAL, st.sampled_from(["needs", "reads"]), TEXT, st.lists(TEXT, max_size=2)).map(list)
    return empty_image(
        header=header,
        constants=draw(st.lists(CONSTANT, max_size=6)),
        types=draw(st.lists(TYPE, max_size=4)),
        schemas=draw(st.lists(schema, max_size=2)),
        functions=draw(st.lists(functions(), max_size=3)),
        models=draw(st.lists(model, max_size=2)),
        tools=draw(st.lists(tool, max_size=2)),
        mcp=draw(st.lists(st.builds(i.Mcp, TEXT, FIELDS, st.lists(signature, max_size=2)), max_size=2)),
        hashmaps=draw(st.lists(st.builds(i.HashMap, TEXT, NATURAL, NATURAL, st.none() | TEXT, PLAIN), max_size=2)),
        connections=draw(st.lists(st.builds(i.Connection, TEXT, FIELDS), max_size=2)),
        memories=draw(st.lists(st.builds(i.Memory, TEXT, st.none() | POSITIVE, STEPS, maybe, maybe), max_size=2)),
        contexts=draw(st.lists(st.builds(i.Context, TEXT, st.lists(slot, max_size=2), st.lists(use, max_size=2)), max_size=2)),
        exports=i.Exports(draw(st.dictionaries(TEXT, NATURAL, max_size=2)), draw(st.lists(NATURAL, max_size=2))),
        source_map=draw(st.lists(st.tuples(TEXT, DIGEST).map(list), max_size=2)),
        source=draw(st.lists(TEXT, max_size=2)),
    )


SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
