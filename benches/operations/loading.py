"""V-3.7 and V-4.3: the image of a long program: its size, how fast it loads, what verifying costs."""

from __future__ import annotations

from functools import partial

from concerto.vm.builtins.modules import ARITY, PERFORMED
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.verify import verify
from concerto.vm.interp.link import load_bytes

from ..execution import compiled, require
from ..figures import Figure, Target
from ..generated_source import source
from ..reference import per_round, rounds
from ..sampling import Plan, interleave

LOAD = Target("V-3.7", 15)
SIZE = Target("V-3.7", 1)
VERIFY = Target("V-4.3", 3)


def image_loading(plan: Plan) -> list[Figure]:
    text = source(500 if plan.quick else 2_500)
    lines = text.count("\n")
    image = compiled(text)
    whole = len(encode(image))
    image.strip()
    data = encode(image)
    require(len(load_linked(data)), len(image.functions))
    ready, whole_program, known = interleave([partial(load_bytes, data), partial(load_linked, data), rounds], plan)
    each, linked = (1e6 * samples.median / lines for samples in (ready, whole_program))
    rounds_a_line = ready.median / lines / per_round(known)
    how = "read, hash, decode, verify, link"
    return [
        Figure(
            "load", each, "ms/1000 lines", LOAD, ratio=rounds_a_line, spread=ready.spread,
            note=f"{how}; functions link when first called; ratio: rounds a line",
        ),  # fmt: skip
        Figure("load_linked", linked, "ms/1000 lines", spread=whole_program.spread, note=f"{how} every function at once"),
        Figure("image_size", len(data) / len(text.encode()), "×", SIZE, note="bytes of the stripped image over bytes of source"),
        Figure("image_size_with_source", whole / len(text.encode()), "×", note="the same with its source text"),
    ]


def load_linked(data: bytes) -> list[object]:
    """A program with every function linked."""
    program = load_bytes(data)
    return [program.link(code) for code in program.codes]


def verifier(plan: Plan) -> list[Figure]:
    image = decode(encode(compiled(source(500 if plan.quick else 2_500))))
    count = sum(len(facts.instructions) for facts in verify(image, ARITY, performed=PERFORMED).functions)
    samples, known = interleave([lambda: verify(image, ARITY, performed=PERFORMED), rounds], plan)
    each = samples.median / count
    note = f"{count:,} instructions; ratio: rounds an instruction"
    rounds_each = each / per_round(known)
    return [Figure("verifier", each * 1e6, "µs/instruction", VERIFY, ratio=rounds_each, spread=samples.spread, note=note)]
