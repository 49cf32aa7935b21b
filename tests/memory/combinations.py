"""Generated programs over memories, run and compared with `plain`, request by request and dump by dump.

A program combines two steps, a shape of memory and a kind of call; a random turn order, tool rounds, retries of schemas, direct
writes and the text of everything come from the seed.
"""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from itertools import combinations
from typing import NamedTuple

import concerto
import pytest
from concerto.compiler.hints.memory_fields import as_fields
from concerto.runtime.providers.offline import OfflineProvider

from .plain import Overflow, Plain, message

METHODS = ("execute", "execute_with_schema", "chat", "stream")
SHAPES = ("one", "derived", "list", "inner", "only")
STEPS = ("summary", "clip", "redact", "pin", "window", "low", "turns", "tokens", "roles", "prune", "retain")
PAIRS = tuple(combinations(STEPS, 2))
AT_THE_LOG = ("redact", "retain")
WINDOWS = ("window", "low", "turns")
INJECT = ("System", "Prefix", "Suffix", "Prompt", "Tool")
WORDS = ("alpha", "beta", "gamma", "secret delta")
SYSTEM = "Be kind."
CALL_TOKENS = 7
MANIFEST = '[project]\nname = "%s"\nversion = "1"\nentry = "main.conc"\n[stores.s]\nkind = "host"\n'
PROGRAM = """tool T {
    description: "t",
    @describe("d") @param("q", "q") pub fn find(self, q: String) -> String { "found ${q} in a long text about ${q} and more" }
}
schema Answer { n: Int }
fn fold(previous: String, new: Array<Message>) -> String { "${previous}<${new.map(|m| m.content).join("|")}>" }
%(memories)s
model M { provider: offline, base: "m", structured: "native", system_prompt: "%(system)s"%(tools)s%(field)s }
fn asked(way: String, note: String, text: String) -> Result<Nil, Error> {
    match way {
        "execute" => { %(call)s.execute(text)?; }
        "execute_with_schema" => { %(call)s.execute_with_schema<Answer>(text)?; }
        "chat" => { %(call)s.chat([Message::assistant(note), Message::user(text)])?; }
        _ => { for c in %(call)s.stream(text)? { } }
    }
    Ok(nil)
}
pub fn ask(way: String, note: String, text: String) -> Bool { asked(way, note, text).is_ok() }
pub fn note(role: String, text: String) { %(log)s.append(role, text); }
pub fn dump() -> String { %(log)s.dump() }
pub fn seen() -> Array<Array<String>> { [%(seen)s] }
fn main() { }
"""


TELLING = (0, 6, 8, 9, 12, 14, 16, 22, 81, 207, 450, 476, 550, 728, 1068)
"""Seeds of `drawn` whose programs find the mutants of M-12.24 ff. together."""


class Case(NamedTuple):
    pair: tuple[str, str]
    shape: str
    method: str
    seed: int


def whole() -> list[tuple[tuple[str, str], str, str]]:
    """Every pair of steps in every shape by every kind of call."""
    return [(pair, shape, method) for pair in PAIRS for shape in SHAPES for method in METHODS]


def drawn(rng: random.Random) -> Case:
    return Case(rng.choice(PAIRS), rng.choice(SHAPES), rng.choice(METHODS), rng.randrange(2**31))


def _step(rng, kind, specs, at):
    """One step of a view into its spec; a view has one window."""
    spec = specs[at]
    if kind in WINDOWS and any(other in spec for other in ("window", "turns")):
        return
    match kind:
        case "summary":
            spec["summary"] = {
                "every": rng.choice((None, None, 1, 2, 3)), "whole": rng.random() < 0.4, "inject": rng.choice(INJECT),
                "role": rng.choice(("system", "user")), "text": rng.choice(("[summary] {}", "[summary] {}", "(so far: {})")),
            }  # fmt: skip
        case "clip":
            spec["clip"] = rng.choice((8, 12, 16))
        case "redact":
            specs["log"]["redact"] = lambda text: text.replace("secret", "[x]")
        case "pin":
            at_the_log = rng.random() < 0.4
            (specs["log"] if at_the_log else spec)["pin"] = [rng.choice(("system", "system", "tool"))]
        case "window":
            spec["window"] = rng.choice((2, 4, 5))
        case "low":
            spec["window"], spec["low"] = rng.choice(((6, 3), (5, 2), (4, 1)))
        case "turns":
            spec["turns"] = rng.choice((1, 2, 3))
        case "tokens":
            spec["tokens"] = rng.choice((40, 60, 90))
        case "roles":
            spec["roles"] = rng.choice((["user"], ["user", "assistant"], ["assistant"], ["user", "assistant", "tool"]))
        case "prune":
            spec["prune"] = rng.choice((0.5, 0.9))
        case "retain":
            specs["log"]["retain"] = rng.choice((6, 8))


def specs_of(case: Case, rng: random.Random):
    """Names to steps, and the names that a call attaches."""
    views = {"one": [], "derived": [("a", "log")], "list": [("a", "log"), ("b", "log")], "inner": [("a", "log"), ("b", "a")],
             "only": [("a", "log"), ("b", "a")]}[case.shape]  # fmt: skip
    specs = {"log": {"of": None}, **{name: {"of": of} for name, of in views}}
    names = [name for name, _ in views] or ["log"]
    last = case.shape == "only" and names[-1]
    for number, kind in enumerate(rng.sample(case.pair, 2)):
        at = names[min(number, len(names) - 1)]
        if at == last and kind in ("clip", "pin"):  # which have nothing to act on there
            at = names[0]
        _step(rng, kind, specs, at)
    if last:
        if "summary" not in specs[last]:
            _step(rng, "summary", specs, last)
        specs[last]["only"] = True
    for _ in range(rng.randrange(3) if len(names) > 1 else 0):
        kind, at = rng.choice(STEPS), rng.choice(names)
        if at != last or kind not in ("clip", "pin"):
            _step(rng, kind, specs, at)
    attached = {"list": ["a", "b"], "only": rng.choice((["b", "a"], ["b"]))}.get(case.shape, names[-1:])
    specs["log"]["tools"] = rng.random() < 0.6
    return specs, attached


def _written(name, spec, rng, more):
    made = [] if not spec.get("tools") else [".tools()"]
    for step in sorted(spec, key=lambda step: rng.random()):  # their order has no effect
        value = spec[step]
        match step:
            case "summary":
                every = "" if value["every"] is None else f", every: {value['every']}"
                whole = ", from: Buffer" if value["whole"] else ""
                text = "" if value["text"] == "[summary] {}" else f', text: "{value["text"]}"'
                role = f", role: {value['role'].title()}" if value["inject"] in ("Prefix", "Suffix") else ""
                made.append(f".summary(fold{every}{whole}{text}, inject: {value['inject']}{role})")
            case "redact":
                made.append('.redact(|t| t.replace("secret", "[x]"))')
            case "pin" | "roles":
                made.append(f".{step}([{', '.join(role.title() for role in value)}])")
            case "window":
                low = f", low: {spec['low']}" if "low" in spec else ""
                made.append(f".window({value}{low})")
            case "turns":
                made.append(f".window(turns: {value})")
            case "prune":
                made.append(f".prune(similar: {value})")
            case "only":
                made.append(".only(Summary)")
            case "clip" | "tokens" | "retain":
                made.append(f".{step}({value})")
    of = spec["of"]
    steps = f"{''.join(made)}{more if of is None else ''}"
    if rng.random() < 0.5:
        return f"memory {name} {{ {as_fields(steps if of is None else f'Memory::of({of}){steps}')} }}"
    return f"memory {name}: Memory = Memory::{'new()' if of is None else f'of({of})'}{steps};"


def source_of(specs, attached, rng, kind):
    keyed = rng.random() < 0.3
    offered = specs["log"]["tools"] or rng.random() < 0.5
    more = ("" if kind == "volatile" else '.store("s")') + (".per(user)" if keyed else "")
    key = '.key(user: "u")' if keyed else ""
    given = [f"{name}{key}" for name in attached]
    listed = f"[{', '.join(given)}]" if len(given) > 1 else given[0]
    by_field = not keyed and rng.random() < 0.5
    memories = [_written(name, spec, rng, more) for name, spec in specs.items()]
    rng.shuffle(memories)  # nor has that of declarations, but for which of two views folds first
    if sum("summary" in spec for spec in specs.values()) > 1:
        memories.sort(key=lambda line: list(specs).index(line.split()[1].rstrip(":")))
    text = PROGRAM % {
        "memories": "\n".join(memories), "system": SYSTEM, "tools": ", tools: [T]" if offered else "",
        "field": f", memory: {listed}" if by_field else "", "call": "M" if by_field else f"M.with_memory({listed})",
        "log": f"log{key}", "seen": ", ".join(f"{name}{key}.messages().map(|m| m.content)" for name in specs),
    }  # fmt: skip
    return text, offered


# ---------------------------------------------------------------- turns


def turns_of(case: Case, rng: random.Random, offered: bool):
    """What happens, as (method, note, text, rounds, refusals, reply), and direct writes as (role, text)."""
    made = []
    for number in range(rng.randrange(5, 9)):
        if rng.random() < 0.3:
            made.append((rng.choice(("system", "user", "assistant")), f"note {number} {rng.choice(WORDS)}"))
        method = case.method if rng.random() < 0.7 else rng.choice(METHODS)
        rounds = rng.choice((0, 0, 1, 2)) if offered else 0
        words = rng.choice(WORDS)
        reply = f'{{"n": {number}}}' if method == "execute_with_schema" else rng.choice((f"about {words}", f"reply {number}"))
        refusals = 1 if method == "execute_with_schema" and rng.random() < 0.2 else 0
        asked = f"about {words}" if rng.random() < 0.5 else f"ask {number}"
        made.append((method, f"thought {number}", asked, rounds, refusals, reply))
    return made


def script_of(turns):
    script = []
    for turn in turns:
        if len(turn) > 2:
            asked = [[{"tool": "T.find", "arguments": {"q": str(n)}}] for n in range(turn[3])]
            rounds = [{"tool_calls": calls, "tokens_out": CALL_TOKENS} for calls in asked]
            for text in [*["no json"] * turn[4], turn[5]]:
                script += [*rounds, text]
    return script


def unit_of(number):
    """A round as it is stored: the call and its result."""
    arguments = json.dumps({"q": str(number)}, separators=(",", ":"))
    text = f"found {number} in a long text about {number} and more"
    return [message("assistant", "", [("call_1", "T__find", arguments)]), message("tool", text, (), "call_1")]


def requests_of(plain: Plain, attached, turn):
    """Those of a call, and what it stores. Of a schema retry the user message only begins as said here."""
    method, note, text, rounds, refusals, reply = turn
    prompt = [*([message("assistant", note)] if method == "chat" else []), message("user", text)]
    messages, lead = plain.request(attached, prompt)
    found, stored = [], []
    for _ in range(refusals + 1):
        flying, stored = [], []
        found.append(messages)
        for number in range(rounds):
            call, result = unit_of(number)
            stored += [{**call, "tokens": CALL_TOKENS}, {**result, "tokens": None}]
            shown = {**result, "content": f"{lead}\n\n{result['content']}"} if lead and number == 0 else result
            flying += [call, shown]
            found.append([*messages, *flying])
    kept = stored if plain.specs["log"]["tools"] else []
    turn = [*({**one, "tokens": None} for one in prompt), *kept, {**message("assistant", reply), "tokens": -(-len(reply) // 4)}]
    return found, turn


def _sent(record):
    calls = [(call["id"], call["name"], json.dumps(call["arguments"], separators=(",", ":"))) for call in record.get("calls", ())]
    return message(record["role"], record["content"], calls, record.get("call_id"))


def _bare(one):
    return {name: one[name] for name in ("role", "content", "calls", "call_id")}


def same(sent, expected, retried):
    """Of a retried request the prompt is followed by why."""
    sent, expected = [_sent(one) for one in sent], [_bare(one) for one in expected]
    if retried:
        at = max(n for n, one in enumerate(expected) if one["role"] == "user")
        if len(sent) == len(expected) and sent[at]["content"].startswith(expected[at]["content"]):
            sent[at] = expected[at]
    return sent == expected, sent, expected


@contextmanager
def recording():
    """The requests of offline models, as data."""
    seen, plain = [], OfflineProvider.send

    async def send(self, request):
        seen.append(request.as_json()["messages"])
        return await plain(self, request)

    OfflineProvider.send = send
    try:
        yield seen
    finally:
        OfflineProvider.send = plain


def check(case: Case, kind: str, open_store, folder) -> tuple[int, int]:
    """Raises AssertionError for a request, a reading or a dump that is another than `plain` says; how many there were."""
    rng = random.Random(case.seed)
    specs, attached = specs_of(case, rng)
    text, offered = source_of(specs, attached, rng, kind)
    turns = turns_of(case, rng, offered)
    shown = f"{case} on {kind}\n{text}\n{turns}"
    plain = Plain(specs, lambda previous, contents: f"{previous}<{'|'.join(contents)}>", SYSTEM)
    (folder / "Concerto.toml").write_text(MANIFEST % f"p{case.seed}")
    (folder / "main.conc").write_text(text)
    program = concerto.compile(path=folder / "main.conc")
    stores = {} if kind == "volatile" else {"s": open_store()}
    requests = 0
    with recording() as seen, program.session(offline_script=script_of(turns), stores=stores) as session:
        for turn in turns:
            if len(turn) == 2:
                session.call("note", *turn)
                plain.commit([{**message(*turn), "tokens": None}], runs=False)
            else:
                seen.clear()
                try:
                    expected, stored = requests_of(plain, attached, turn)
                except Overflow:
                    assert session.call("ask", *turn[:3]) is False and not seen, shown
                    return requests, len(turns)  # the script has another reply now
                assert session.call("ask", *turn[:3]) is True, shown
                assert len(seen) == len(expected), shown
                attempt = turn[3] + 1
                for number, (sent, wanted) in enumerate(zip(seen, expected, strict=True)):
                    grows = not number % attempt or sent[: len(seen[number - 1])] == seen[number - 1]
                    assert grows, f"{shown}\n{turn}: request {number} does not begin with the one before"
                    equal, given, wished = same(sent, wanted, retried=number > turn[3])
                    assert equal, f"{shown}\n{turn}, request {number}:\nsent     {_lines(given)}\nexpected {_lines(wished)}"
                requests += len(seen)
                plain.commit(stored)
            dump = json.loads(session.call("dump"))
            _check_dump(dump, plain, f"{shown}\nafter {turn}")
            _check_views(session, plain, f"{shown}\nafter {turn}")
    return requests, len(turns)


def _lines(messages):
    return " / ".join(f"{one['role']}: {one['content']}" for one in messages)


def _check_dump(dump, plain, shown):
    """The log and the state of every view."""
    held = [(e["seq"], e["turn"], e["role"], e["tokens"], e["pinned"], _text(e)) for e in dump["log"]]
    wanted = [(e["seq"], e["turn"], e["role"], e["tokens"], e["pinned"], e["content"]) for e in plain.log]
    assert held == wanted, f"{shown}\nlog      {held}\nexpected {wanted}"
    assert (dump["next"], dump["turns"]) == (plain.next, plain.turns), shown
    for name, state in plain.states.items():
        found = dump["views"].get("" if name == "log" else name, {"cut": 0, "upto": -1, "text": "", "folded": 0})
        found = {part: found[part] for part in state}
        if "low" not in plain.specs[name]:
            found["cut"] = state["cut"]
        assert found == state, f"{shown}\n{name}: {found}, expected {state}"


def _text(entry):
    return "".join(part["text"] for part in entry["parts"] if part["kind"] in ("text", "result"))


def _check_views(session, plain, shown):
    """What each view shows when it is read; the log is read whole."""
    expected = [[entry["content"] for entry in plain.log]]
    try:
        for name in list(plain.specs)[1:]:
            view = plain.shown(name)
            units = sorted(view["pins"] + view["window"], key=lambda unit: unit[0]["seq"])
            expected.append([entry["content"] for unit in units for entry in unit])
    except Overflow:
        with pytest.raises(concerto.Panic, match="P451"):
            session.call("seen")
        return
    seen = [list(texts) for texts in session.call("seen")]
    assert seen == expected, f"{shown}\n{list(plain.specs)} show {seen}, expected {expected}"
