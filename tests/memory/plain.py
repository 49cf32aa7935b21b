"""A memory and its views said with lists: what the laws over combinations compare requests and dumps with.

It knows the clauses of docs/spec/memory.md and nothing of the runtime: no laziness, no stores, every view computed from the whole
log. Messages are dictionaries, a unit is a list of them.
"""

from __future__ import annotations

import re


def weigh(*texts):
    return 4 + -(-sum(len(text.encode()) for text in texts) // 4)


def weight_of(entry):
    id = "." * 8  # what an id weighs
    calls = [text for _, name, arguments in entry["calls"] for text in (name, arguments, id)]
    return weigh(entry["content"], *calls, id if entry["call_id"] else "")


def units_of(entries):
    found = []
    for entry in entries:
        if entry["role"] == "tool":
            found[-1].append(entry)
        else:
            found.append([entry])
    return found


def message(role, content, calls=(), call_id=None):
    return {"role": role, "content": content, "calls": list(calls), "call_id": call_id}


class Overflow(Exception):
    """System message and pins exceed the budget."""


class Plain:
    """`specs`: by name, the log first and a view behind what it is of: `of` and the steps. `fold(previous, contents)`."""

    def __init__(self, specs, fold, system=None):
        self.specs = specs
        self.fold = fold
        self.system = system
        self.log = []
        self.next = self.turns = 0
        self.states = {name: {"cut": 0, "upto": -1, "text": "", "folded": 0} for name in specs}

    # ------------------------------------------------------------ what a view shows

    def chain(self, name):
        of = self.specs[name].get("of")
        return [name] if of in (None, "log") else [*self.chain(of), name]

    def in_roles(self, name, unit):
        roles = self.specs[name].get("roles")
        if roles is None or not unit:
            return unit
        if unit[0]["role"] not in roles:
            return []
        if not unit[0]["calls"] or "tool" in roles:
            return unit
        text = {**unit[0], "calls": []}
        return [{**text, "tokens": weight_of(text)}] if text["content"] else []

    def clipped(self, name, unit):
        limit = self.specs[name].get("clip")
        if limit is None:
            return unit
        made = unit[:1]
        for entry in unit[1:]:
            if weigh(entry["content"]) > limit:
                text = entry["content"]
                while text and weigh(text + " [clipped]") > limit:
                    text = text[:-1]
                entry = {**entry, "content": text + " [clipped]"}
                entry["tokens"] = weight_of(entry)
            made.append(entry)
        return made

    def unpruned(self, name, pins, rest):
        limit = self.specs[name].get("prune")
        if limit is None:
            return rest
        turns = sorted({unit[0]["turn"] for unit in rest}, reverse=True)
        hidden, newer = set(), []
        for turn in turns:
            own = [unit for unit in rest if unit[0]["turn"] == turn]
            words = {word for unit in own for entry in unit for word in re.findall(r"\w+", entry["content"])}
            stays = not words or any(unit[0]["calls"] for unit in own) or any(pin[0]["turn"] == turn for pin in pins)
            if not stays and any(len(words & other) / len(words | other) >= limit for other in newer):
                hidden.add(turn)
            elif words:
                newer.append(words)
        return [unit for unit in rest if unit[0]["turn"] not in hidden]

    def before_window(self, name, bare=False, covered=None, budgets=True):
        """Pins, and what roles and prune leave."""
        spec = self.specs[name]
        of = spec.get("of")
        if of in (None, "log"):
            given = units_of(self.log)
        else:
            inner = self.shown(of, bare, covered, budgets=budgets)
            given = sorted(inner["pins"] + inner["window"], key=lambda unit: unit[0]["seq"])
        own = spec.get("pin", ()) if of is not None else ()
        pins = [unit for unit in given if unit[0]["pinned"] or any(entry["role"] in own for entry in unit)]
        rest = [unit for unit in given if unit not in pins]
        rest = [left for unit in rest if (left := self.in_roles(name, unit))]
        return pins, self.unpruned(name, pins, rest)

    def shown(self, name, bare=False, covered=None, outside=None, budgets=True):
        """`outside`: the tokens of system message and prompt, for the view a request takes; `bare`: by windows alone."""
        spec, state = self.specs[name], self.states[name]
        if not bare and "summary" in spec:
            covered = state["upto"] if covered is None else min(covered, state["upto"])
        only = spec.get("only") and not bare  # takes no unit, so that nothing overflows in the views it is of
        pins, rest = ([], []) if only else self.before_window(name, bare, covered, budgets)
        if not bare:
            rest = [self.clipped(name, unit) for unit in rest]
        texts = []
        if not bare and "summary" in spec and state["text"]:
            summary = spec["summary"]
            texts = [(summary["inject"], summary["role"], summary["text"].replace("{}", state["text"]))]
        room = None
        if not bare and budgets and "tokens" in spec:
            fixed = sum(entry["tokens"] for unit in pins for entry in unit)
            system, prompt = outside or (0, 0)
            if system + fixed > spec["tokens"]:
                raise Overflow
            fixed += system + prompt
            if texts and fixed + weigh(texts[0][2]) > spec["tokens"]:
                texts = []
            room = spec["tokens"] - fixed - sum(weigh(text) for _, _, text in texts)
        window, pinned = [], sum(map(len, pins))
        for unit in rest[::-1]:
            tried = [unit, *window]
            count = sum(map(len, tried))
            refused = "turns" in spec and len({one[0]["turn"] for one in tried}) > spec["turns"]
            if "low" in spec:
                refused = refused or unit[0]["seq"] < state["cut"]
            elif "window" in spec:
                refused = refused or count + pinned > spec["window"]
            if refused and not (covered is not None and unit[-1]["seq"] > covered):
                break
            if room is not None and sum(entry["tokens"] for one in tried for entry in one) > room:
                break
            window = tried
        return {"pins": pins, "window": window, "texts": texts}

    # ------------------------------------------------------------ a request

    def request(self, attached, prompt):
        """Parts 1 to 6 of M-4.17 for the messages of a prompt, and the text before the first result."""
        system = 0 if self.system is None else weigh(self.system)
        asked = sum(weigh(one["content"]) for one in prompt)
        views = [self.shown(name, outside=(system, asked)) for name in attached]
        texts = [text for view in views for text in view["texts"]]

        def placed(place):
            return [message(role, text) for where, role, text in texts if where == place]

        def joined(place):
            return [text for where, _, text in texts if where == place]

        best = {}
        for view in views:
            for unit in view["pins"] + view["window"]:
                known = best.get(unit[0]["seq"], [])
                best[unit[0]["seq"]] = unit if len(unit) > len(known) else known
        starts = [view["window"][0][0]["seq"] for view in views if view["window"]]
        first = min(starts, default=self.next)
        before = [entry for seq in sorted(best) if seq < first for entry in best[seq]]
        behind = [entry for seq in sorted(best) if seq >= first for entry in best[seq]]
        head = "\n\n".join([*([] if self.system is None else [self.system]), *joined("System")])
        lead = "\n\n".join([*joined("Prompt"), prompt[-1]["content"]])
        messages = [
            *([message("system", head)] if head else []),
            *before, *placed("Prefix"), *behind, *placed("Suffix"), *prompt[:-1], message("user", lead),
        ]  # fmt: skip
        return messages, "\n\n".join(joined("Tool"))

    # ------------------------------------------------------------ a commit

    def commit(self, messages, runs=True):
        """`messages`: of one turn, each with its tokens or None. Folds follow the turn of a run."""
        redact = self.specs["log"].get("redact")
        made = []
        for one in messages:
            entry = {**one, "seq": self.next + len(made), "turn": self.turns, "pinned": False}
            if redact is not None:
                entry["content"] = redact(entry["content"])
                entry["calls"] = [(id, name, redact(arguments)) for id, name, arguments in entry["calls"]]
            if entry["tokens"] is None or entry["content"] != one["content"]:
                entry["tokens"] = weight_of(entry)
            made.append(entry)
        for unit in units_of(made):
            pinned = any(entry["role"] in self.specs["log"].get("pin", ()) for entry in unit)
            for entry in unit:
                entry["pinned"] = pinned
        self.next += len(made)
        self.turns += 1
        self.log += made
        self.leave(self.covered(), units_of(made)[-1][0]["seq"])
        for name in self.specs:
            self.move_cut(name)
        for name in self.specs if runs else ():
            self.summarise(name)

    def left_of(self, name, unit):
        """By the roles of the chain; a view shows what it pins."""
        for level in self.chain(name):
            own = self.specs[level].get("pin", ()) if level != "log" else ()
            pinned = unit and (unit[0]["pinned"] or any(entry["role"] in own for entry in unit))
            if level == name or not pinned:
                unit = self.in_roles(level, unit)
        return unit

    def covered(self):
        return min((self.states[name]["upto"] for name in self.specs if "summary" in self.specs[name]), default=None)

    def leaving(self, covered, newest):
        """Units that leave, oldest first (M-4.2, M-9.5)."""
        most = self.specs["log"].get("retain")
        gone, left = [], len(self.log)
        for unit in units_of(self.log) if most is not None else ():
            if unit[0]["pinned"]:
                continue
            if left <= most or unit[-1]["seq"] >= newest or (covered is not None and unit[-1]["seq"] > covered):
                break
            gone.append(unit)
            left -= len(unit)
        return gone

    def leave(self, covered, newest):
        for unit in self.leaving(covered, newest):
            self.log = [entry for entry in self.log if entry not in unit]

    def newest(self):
        """Where the newest unit that could leave begins."""
        return max((unit[-1]["seq"] for unit in units_of(self.log) if not unit[0]["pinned"]), default=0)

    def move_cut(self, name):
        """M-4.10."""
        spec, state = self.specs[name], self.states[name]
        if "low" not in spec:
            return
        covered = state["upto"] if "summary" in spec else None
        pins, rest = self.before_window(name, covered=covered, budgets=False)
        pinned = sum(map(len, pins))
        rest = [unit for unit in rest if unit[0]["seq"] >= state["cut"]]
        if sum(map(len, rest)) + pinned > spec["window"]:
            while rest and sum(map(len, rest)) + pinned > spec["low"]:
                rest = rest[1:]
            state["cut"] = rest[0][0]["seq"] if rest else self.next

    def summarise(self, name):
        """M-9.3 to M-9.5, M-9.16, M-9.21."""
        spec, state = self.specs[name], self.states[name]
        if "summary" not in spec:
            return
        uncovered = [unit for unit in units_of(self.log) if unit[-1]["seq"] > state["upto"]]
        first, inside = 0, []
        for level in self.chain(name):
            view = self.shown(level, bare=True)
            inside = sorted(view["pins"] + view["window"], key=lambda unit: unit[0]["seq"])
            first = max(first, view["window"][0][0]["seq"] if view["window"] else self.next)
        seen = {unit[0]["seq"] for unit in inside}
        last = max((unit[-1]["seq"] for unit in self.leaving(None, self.newest())), default=-1)
        outside = [
            unit for unit in uncovered if (unit[0]["seq"] < first and unit[0]["seq"] not in seen) or unit[0]["seq"] <= last
        ]
        every = spec["summary"]["every"]
        due = every is not None and self.turns - state["folded"] >= every
        folded = outside if every is None else uncovered if outside or due else []
        if not folded:
            return
        given = [self.left_of(name, unit) for unit in folded]
        if spec["summary"]["whole"]:
            folded = uncovered
            others = [self.left_of(name, unit) for unit in uncovered if unit[0]["seq"] not in seen]
            given = sorted([*inside, *filter(None, others)], key=lambda unit: unit[0]["seq"])
        contents = [entry["content"] for unit in given for entry in unit]
        if contents:
            state["text"] = self.fold(state["text"], contents)
        state["upto"], state["folded"] = folded[-1][-1]["seq"], self.turns
        self.leave(self.covered(), self.newest())
