"""Replies that are sums (O-2.62 to O-2.66): 1,000 generated enums through both SDKs and all three strategies, against servers
that keep their providers' rules. The server answers with the value that the prompt names."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import concerto
import pytest

from .mocks import Anthropic, Mock, OpenAIChat, Said

ENUMS, AT_ONCE = 1_000, 50
WAYS = [(kind, strategy) for kind in ("openai", "anthropic") for strategy in ("native", "tool", "prompt")]


class Answering(Mock):
    """A provider whose model says what stands between two `@@` of the last message, by the tool if it has to call one."""

    def think(self, body: dict[str, Any]) -> Said:
        texts = re.findall(r"@@(.*?)@@", json.dumps(body, ensure_ascii=False))
        wanted = {"value": json.loads(json.loads(f'"{texts[-1]}"'))}
        if body.get("tools"):
            tool = body["tools"][0]
            return Said(calls=[("c1", tool.get("name") or tool["function"]["name"], wanted)])
        return Said(json.dumps(wanted, ensure_ascii=False))


class OpenAI(Answering, OpenAIChat):
    pass


class Claude(Answering, Anthropic):
    pass


class Enums:
    """Enums as source, and values of them in their JSON form."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def part(self, depth: int = 0) -> tuple[str, Any]:
        """A type and a value of it as JSON."""
        pick = self.random.randrange(7 if depth < 2 else 4)
        if pick == 0:
            return "String", self.random.choice(["", "a b", "ünï \\ \"q\"", "line\nend", "null", "{}"])
        if pick == 1:
            return "Int", self.random.choice([0, -1, 7, 2**53])
        if pick == 2:
            return "Bool", self.random.random() < 0.5
        if pick == 3:
            return '"x" | "y z"', self.random.choice(["x", "y z"])
        inner, value = self.part(depth + 1)
        if pick == 4:
            return f"Array<{inner}>", [value] * self.random.randrange(3)
        if pick == 5:
            return f"Map<String, {inner}>", {"k": value}
        return "Place", {"name": "n", "at": [1, 2], "note": None}

    def declaration(self, name: str) -> tuple[str, Any]:
        """An enum with one to five variants, and a value of one of them."""
        variants, values = [], []
        for number in range(self.random.randrange(1, 6)):
            own, parts = f"V{number}", [self.part() for _ in range(self.random.randrange(4))]
            types, data = [type_ for type_, _ in parts], [value for _, value in parts]
            if not parts:
                variants.append(own)
                values.append({"variant": own, "data": None})
            elif self.random.random() < 0.5:
                names = [f"f{at}" for at in range(len(parts))]
                variants.append(f"{own} {{ {', '.join(map(': '.join, zip(names, types, strict=True)))} }}")
                values.append({"variant": own, "data": dict(zip(names, data, strict=True))})
            else:
                variants.append(f"{own}({', '.join(types)})")
                values.append({"variant": own, "data": data[0] if len(data) == 1 else data})
        return f"enum {name} {{ {', '.join(variants)} }}", self.random.choice(values)


@pytest.mark.parametrize("number", range(ENUMS // AT_ONCE))
def test_a_sum_is_what_the_model_said(number: int) -> None:
    enums = Enums(number)
    made = [enums.declaration(f"E{at}") for at in range(AT_ONCE)]
    source = "struct Place { name: String, at: Array<Int>, note: Option<String> = None }\n" + "\n".join(text for text, _ in made)
    source += '\nconnect openai_lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }'
    source += '\nconnect anthropic_lab { provider: "anthropic" }'
    for kind in ("openai", "anthropic"):
        source += f'\nmodel M_{kind} {{ provider: {kind}_lab, base: "m-1" }}'
    for at in range(AT_ONCE):
        kind = WAYS[at % len(WAYS)][0]
        source += f"\npub fn f{at}(p: String) -> Result<String, Error> {{ std::json::stringify(M_{kind}.execute<E{at}>(p)?) }}"
    program = concerto.compile(source + "\nfn main() { }")
    with OpenAI() as openai, Claude() as claude:
        for way, (kind, strategy) in enumerate(WAYS):
            lab = {"openai": {"provider": "openai", "api": "chat", "base_url": openai.url}}
            fields = {**lab.get(kind, {"base_url": claude.url}), "api_key": "key-of-the-tests", "structured": strategy}
            with program.session(connections={f"{kind}_lab": fields}) as session:
                for at in range(way, AT_ONCE, len(WAYS)):
                    value = made[at][1]
                    answered = session.call(f"f{at}", f"Say @@{json.dumps(value, ensure_ascii=False)}@@")
                    assert json.loads(answered) == value, (kind, strategy, made[at])
        # Of effort beside tools the provider tells by refusing the first request, see `test_programs.py`.
        assert (openai.broken, claude.broken) == (["chat-effort"], [])
        assert len(openai.seen) + len(claude.seen) == AT_ONCE + 1, "no reply was asked for again"
