"""V-3.7 and V-4.3: the image of a long program: its size, how fast it loads, what verifying costs."""

from __future__ import annotations

from functools import partial

from concerto.vm.builtins.table import ARITY, PERFORMED
from concerto.vm.bytecode.codec import decode, encode
from concerto.vm.bytecode.verify import verify
from concerto.vm.load import load_bytes

from ..execution import compiled, require
from ..figures import Figure, Target
from ..generated_source import source
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
    (loading,) = interleave([partial(load_linked, data)], plan)
    return [
        Figure(
            "load",
            loading.median * 1e3 / lines * 1e3,
            "ms/1000 lines",
            LOAD,
            spread=loading.spread,
            note="read, hash, decode, verify, link every function",
        ),
        Figure("image_size", len(data) / len(text.encode()), "×", SIZE, note="bytes of the stripped image over bytes of source"),
        Figure("image_size_with_source", whole / len(text.encode()), "×", note="the same with its source text"),
    ]


def load_linked(data: bytes) -> list[object]:
    """A program with every function linked; running links only those that are called."""
    program = load_bytes(data)
    return [program.link(code) for code in program.codes]


def verifier(plan: Plan) -> list[Figure]:
    image = decode(encode(compiled(source(500 if plan.quick else 2_500))))
    count = sum(len(facts.instructions) for facts in verify(image, ARITY, performed=PERFORMED).functions)
    (samples,) = interleave([lambda: verify(image, ARITY, performed=PERFORMED)], plan)
    note = f"{count:,} instructions"
    return [Figure("verifier", samples.median * 1e6 / count, "µs/instruction", VERIFY, spread=samples.spread, note=note)]
