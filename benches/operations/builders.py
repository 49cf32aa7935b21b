"""V-8.3: a builder chain built and dropped. The empty loop around it is measured too and taken off."""

from __future__ import annotations

from ..execution import Concerto, require
from ..figures import Figure, Target
from ..sampling import Plan, Samples, interleave

CHAIN = Target("V-8.3", 1.5)

PROGRAM = """\
memory chat: Memory = Memory::new();

tool Clock {
    description: "tells the time",

    @describe("the hour")
    pub fn hour(self) -> Int { 1 }
}

model Helper {
    provider: openai,
    base: "gpt-5.4-mini",
}

fn main() {
    let mut rounds = 0;
    for _ in 0..COUNT {
        CHAIN
        rounds += 1;
    }
    emit("rounds", rounds);
}
"""
ONE = "let _ = Helper.with_memory(chat);"
TWO = "let _ = Helper.with_memory(chat).with_tools([Clock]);"


class Builder:
    """The twin: an immutable builder as one writes it by hand."""

    __slots__ = ("model", "memory", "tools")

    def __init__(self, model: str, memory: object = None, tools: tuple[object, ...] = ()) -> None:
        self.model = model
        self.memory = memory
        self.tools = tools

    def with_memory(self, memory: object) -> Builder:
        return Builder(self.model, memory, self.tools)

    def with_tools(self, tools: list[object]) -> Builder:
        return Builder(self.model, self.memory, (*self.tools, *tools))


def builder_dispatch(plan: Plan) -> list[Figure]:
    count = 10_000 if plan.quick else 40_000
    empty, one, two = (_program(chain, count) for chain in ("", ONE, TWO))
    base, single, double, twin = interleave([empty.run, one.run, two.run, lambda: _twin(count)], plan)
    hand = twin.median / count
    return [
        _figure("builder", double, base, count, hand, "M.with_memory(m).with_tools([T])", CHAIN),
        _figure("builder_link", single, base, count, hand, "M.with_memory(m), against the same twin", None),
    ]


def _program(chain: str, count: int) -> Concerto:
    program = Concerto(PROGRAM.replace("COUNT", str(count)).replace("CHAIN", chain), tier="interp")
    require(program.output(), [f"rounds {count}"])
    return program


def _figure(name: str, samples: Samples, base: Samples, count: int, hand: float, note: str, target: Target | None) -> Figure:
    each = (samples.median - base.median) / count
    return Figure(name, each * 1e6, "µs/chain", target, ratio=each / hand, spread=samples.spread, note=note)


def _twin(count: int) -> None:
    memory = object()
    clock = object()
    builder = Builder("Helper")
    for _ in range(count):
        builder.with_memory(memory).with_tools([clock])
