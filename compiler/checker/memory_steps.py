"""The steps of a memory declaration as they are written (M-2.3 to M-2.17, M-4.2 to M-4.15): `Steps` reads a chain for the
image.

What an argument takes is said by its row (`vm/memory_steps.py`); here it gets a type and, where it is wrong, a message. A step
whose arguments are plain values needs no code here. Hands on to `memory` `Steps`, what is checked once the chain is whole
(`check_summary`, `useless_beside_only`) and DECLARE, a part of helps; `in_its_form`, which words a help for the form of the
memory, to `memory_calls` and `memory_attachments`; to `methods` `check_topic`. `found` of a `Steps` maps each step to what its
arguments say. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. What
steps mean together, and with the rest of the program, is checked in `memory`; what their functions may not do, in
`memory_effects`. FAILED (of `declarations`) stands for a value that was reported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...vm.builtins.signatures import parse_type
from ...vm.declaration_fields import milliseconds
from ...vm.memory_steps import (
    COUNT,
    DURATION,
    EVERY,
    EVICT,
    FLAG,
    FROM,
    FUNCTION,
    FUNCTIONS,
    HOLE,
    NAMES,
    OBSERVED_TOPICS,
    REDACTOR,
    RULE,
    SHARE,
    SOME,
    STEPS,
    SUMMARY,
    SUMMARY_ARGUMENTS,
    TEXT,
    Argument,
    Step,
    is_key_value,
    is_text,
)
from ...vm.memory_steps import OBSERVED_PREFIX as PREFIX
from ..hints.names import STEPS as STEPS_ELSEWHERE
from ..hints.names import did_you_mean, listed
from ..resolver.memories import is_word
from ..source import Span
from ..symbols import AgentSymbol, EmbedderSymbol, MemorySymbol, ModelSymbol, StepFunction
from ..syntax import ast
from ..types import ANY, BOOL, FLOAT, INT, MESSAGE, NEVER, STRING, Function, Open, Type, array
from .arguments import infer_all
from .context_declarations import check_context_step
from .declarations import FAILED, at_module_level, folded
from .memory_asking import FactRule, is_scoped, read_handler, read_view
from .memory_bounds import bound, known_word
from .outside import outside_functions
from .relations import ERRONEOUS, generic
from .relations import is_text as is_text_type
from .signatures import static_type
from .state import FREE, Checker, Expected

# The step `learn` (M-10.22): the name of a rule, what it observes, and its three functions.

RULE_FUNCTIONS = [name for name, row in RULE.items() if row.kind == FUNCTION]
RULE_ARGUMENTS = STEPS["learn"].own_labels
SHAPE = STEPS["learn"].example


def read_rule(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """Return what the image holds of the rule of a step `learn`: its `name`, the topic `on` ("turn" where none is written), and
    its functions, as written, under RULE_FUNCTIONS; None after a report (E2001, E2006, E4502, E4004, E4525)."""
    unnamed = [argument for argument in node.arguments if argument.name is None]
    if len(unnamed) != 1:
        infer_all(c, node.arguments)
        c.report("E2006", node.name.span, f"`learn` takes 1 argument without a name, {len(unnamed)} given", help=SHAPE)
        return None
    rule: dict[str, Any] = {"on": "turn"}
    legal = _text(c, unnamed[0].value, "the name of a rule", rule, "name")
    labels: set[str] = set()
    for argument in node.arguments:
        if argument.name is not None:
            legal = _part(c, argument.name, argument.value, labels, rule) and legal
    missing = [label for label in RULE_FUNCTIONS if label not in labels]
    if legal and missing:
        c.report("E2006", node.name.span, f"the step `learn` lacks `{missing[0]}`", help=SHAPE)
    return rule if legal and not missing else None


def _part(c: Checker, name: ast.Ident, value: ast.Expr, written: set[str], rule: dict[str, Any]) -> bool:
    label = name.text
    if label not in RULE_ARGUMENTS or label in written:
        help = did_you_mean(label, RULE_ARGUMENTS) or listed("arguments", RULE_ARGUMENTS, like=label)
        c.report("E4502", name.span, f"the step `learn` has no argument `{label}`, or it is given twice", help=help)
        return False
    written.add(label)
    if label == "on":
        return _text(c, value, "a topic", rule, label) and _observed_topic(c, value, rule["on"])
    rule[label] = step_function(c, value, RULE[label])
    return rule[label] is not FAILED


def _text(c: Checker, value: ast.Expr, what: str, rule: dict[str, Any], label: str) -> bool:
    if at_module_level(c, value, Expected(STRING, "E4502", what)) is ERRONEOUS:
        return False
    constant = folded(c, value, "E4004")
    if constant is FAILED:
        return False
    if constant == "":
        c.report("E4004", value.span, f"{what} is not empty", help="write a text")
        return False
    rule[label] = constant
    return True


def _observed_topic(c: Checker, value: ast.Expr, topic: str) -> bool:
    """Check that a topic beginning with `turn:` is one that the runtime observes (M-10.43)."""
    if not topic.startswith(PREFIX) or topic in OBSERVED_TOPICS:
        return True
    help = did_you_mean(topic, OBSERVED_TOPICS) or listed("topics of the runtime", OBSERVED_TOPICS, like=topic)
    c.report("E4525", value.span, f'the runtime observes no topic "{topic}"', help=help)
    return False


def in_its_form(memory: MemorySymbol, help: str) -> str:
    """Return a help that shows steps in the form in which the memory is declared: with fields for a block."""
    if memory.declaration.block is None:
        return help
    from ..hints.memory_fields import as_fields  # its patterns are compiled only for a report

    return as_fields(help)


def check_topic(c: Checker, node: ast.MethodCall) -> None:
    """Report W0455 for an `observe` of a memory, or of a key of one, whose topic no rule of it has, and E4525 for a topic that
    only the runtime observes; nothing where the topic is no literal, the memory is not named, or is a view."""
    memory = node.receiver
    if isinstance(memory, ast.MethodCall) and memory.name.text == "key":
        memory = memory.receiver
    symbol = memory.binding if isinstance(memory, ast.PathExpr) else None
    topics_written = [argument.value for argument in node.arguments if argument.name is None or argument.name.text == "topic"]
    topic = topics_written[0] if topics_written else None
    if not isinstance(symbol, MemorySymbol) or symbol.of is not None or not isinstance(topic, ast.StringLiteral):
        return
    if topic.value.startswith(PREFIX):
        message = f'"{topic.value}" is a topic that the runtime observes'
        c.report("E4525", topic.span, message, help=f"give it a name that does not begin with `{PREFIX}`")
        return
    topics = list(dict.fromkeys(str(rule["on"]) for rule in (symbol.steps or {}).get("learn", {}).get("learn", ())))
    if topic.value not in topics:
        help = did_you_mean(topic.value, topics) or listed("its topics", topics, like=topic.value)
        message = f'no rule of `{symbol.name}` is on "{topic.value}": nothing is learned from this'
        help = help or in_its_form(symbol, f'add `.learn("name", on: "{topic.value}", …)` to the memory')
        c.report("W0455", topic.span, message, help=help)


# The step `summary` (M-9.1, M-9.2): who summarises, when, and how the text is shown.

PARAMETERS = (STRING, array(MESSAGE))
SUMMARY_SHAPE = STEPS["summary"].example
WITH_A_ROLE = ("Prefix", "Suffix")
SAID = "said"  # in a summary that names no summariser: its written arguments, until another summary completes it


def read_summary(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """Return what the image holds of a step `summary`, with the model or function still as a symbol: who makes it under `model`,
    `function` or `host`, when under `every_turns` or `every_ms`, and the other arguments by their names; None after a report
    (E2006, E4502, E4504, E4508, E4513, E4004). One that names no summariser has the set of its written arguments under SAID, and
    is made whole by `complete_summary`."""
    by = [argument for argument in node.arguments if argument.name is None]
    if len(by) > 1:
        c.report("E2006", node.name.span, f"`summary` takes 1 argument without a name, {len(by)} given", help=SUMMARY_SHAPE)
        return None
    summary: dict[str, Any] = {}
    legal = not by or _by(c, by[0].value, summary)
    labels: set[str] = set()
    for argument in node.arguments:
        if argument.name is not None:
            if argument.name.text in labels:
                message = f"the argument `{argument.name.text}` of the step `summary` is given twice"
                c.report("E4502", argument.name.span, message, help="drop one of them")
                legal = False
            labels.add(argument.name.text)
            legal = _named(c, argument.name, argument.value, summary) and legal
    if legal and "role" in summary and summary.get("inject", WITH_A_ROLE[0]) not in WITH_A_ROLE:
        at = next(argument.name.span for argument in node.arguments if argument.name is not None and argument.name.text == "role")
        message = f"with `inject: {summary['inject']}` the summary is no message of its own, and has no role"
        c.report("E4504", at, message, help="leave `role` out, or write `inject: Prefix` or `inject: Suffix`")
        return None
    if not by:
        summary[SAID] = labels
    return summary if legal else None


def complete_summary(summary: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with what it does not say taken from another one, if it names no summariser and the other does; else the
    summary as it is (M-2.12)."""
    labels = summary.get(SAID)
    if labels is None or SAID in other:
        return summary
    taken_over = {name: value for name, value in other.items() if not ("every" in labels and name in EVERY or name in labels)}
    return {**taken_over, **{name: value for name, value in summary.items() if name != SAID}}


def check_summary(c: Checker, node: ast.MethodCall, summary: dict[str, Any]) -> bool:
    """Return whether the summary names who makes it; report one that does not (E2006)."""
    if SAID not in summary:
        return True
    message = "`summary` takes 1 argument without a name, 0 given"
    c.report("E2006", node.name.span, message, help=f"{SUMMARY_SHAPE}, or name one in `summary` of [memory.defaults]")
    return False


def _by(c: Checker, value: ast.Expr, summary: dict[str, Any]) -> bool:
    if isinstance(value, ast.PathExpr) and isinstance(value.binding, ModelSymbol):
        summary["model"] = value.binding
        return True
    with outside_functions(c, value):
        type_ = c.infer(value, Expected(Function(PARAMETERS, Open()) if isinstance(value, ast.Closure) else None))
    if type_ is ERRONEOUS:
        return False
    if type_ == STRING:
        host = _constant(c, value, STRING, "the name of a summariser of the host", bool)
        summary["host"] = host
        return host is not FAILED
    if not (isinstance(type_, Function) and type_.parameters == PARAMETERS and _gives_text(type_.result)):
        help = "a function `(previous: String, new: Array<Message>) -> String`, a model, or the name of what the host gives"
        c.report("E4508", value.span, f"`{type_}` cannot summarise", help=help)
        return False
    summary["function"] = StepFunction(value)
    return True


def _gives_text(result: Type) -> bool:
    inner = generic(result, "Result")
    text = inner[0] if inner is not None else result
    return text in (ANY, NEVER) or is_text_type(text)


def _named(c: Checker, name: ast.Ident, value: ast.Expr, summary: dict[str, Any]) -> bool:
    label = name.text
    row = SUMMARY.get(label)
    if row is not None and row.words:
        constant: Any = known_word(c, label, row.words, value) or FAILED
        if constant == FROM[0]:
            return True
    elif label == "every":
        return _every(c, value, summary)
    elif label == "max_tokens":
        constant = _constant(c, value, INT, "a constant Int of at least 1", lambda n: n >= 1)
    elif label == "text":
        constant = _summary_text(c, value)
    elif label == "prompt":
        constant = _constant(c, value, STRING, "a constant String", bool)
    else:
        help = did_you_mean(label, SUMMARY_ARGUMENTS) or listed("arguments", SUMMARY_ARGUMENTS, like=label)
        c.report("E4502", name.span, f"the step `summary` has no argument `{label}`", help=help)
        return False
    if constant is FAILED:
        return False
    summary[label] = constant
    return True


def _summary_text(c: Checker, value: ast.Expr) -> Any:
    """Return the text around a summary, with one hole for it (M-9.22); FAILED after a report."""
    constant = _constant(c, value, STRING, "a constant String", bool)
    if constant is FAILED or constant.count(HOLE) == 1:
        return constant
    message = f"`text` has {constant.count(HOLE)} places for the summary, it takes 1"
    c.report("E4513", value.span, message, help='text: "[Previous conversation summary: {}]"')
    return FAILED


def _every(c: Checker, value: ast.Expr, summary: dict[str, Any]) -> bool:
    """Read `Evict`, a number of turns, or a duration as a String."""
    if is_word(value) and isinstance(value, ast.PathExpr) and value.segments[0].text == EVICT:
        return True
    type_ = at_module_level(c, value, FREE)
    constant = folded(c, value, "E4004") if type_ in (INT, STRING) else None
    if type_ is ERRONEOUS or constant is FAILED:
        return False
    if isinstance(constant, int) and constant >= 1:
        summary["every_turns"] = constant
        return True
    ms = milliseconds(constant) if isinstance(constant, str) else None
    if ms is None:
        c.report("E4004", value.span, "`every` is `Evict`, a number of turns, or a duration", help='every: 3, every: "1h"')
        return False
    summary["every_ms"] = ms
    return True


def _constant(c: Checker, value: ast.Expr, type_: Type, words: str, legal: Any) -> Any:
    found_type = at_module_level(c, value, FREE)
    constant = folded(c, value, "E4004") if found_type == type_ else None
    if found_type is ERRONEOUS or constant is FAILED:
        return FAILED
    if constant is None or not legal(constant):
        c.report("E4004", value.span, f"this is {words}", help="write a constant of that kind")
        return FAILED
    return constant


DECLARE = 'declare it: `memory log: Memory = Memory::new().store("durable");`'


class Steps:
    """The steps of one chain, read one by one. `found`: what the arguments of each written step say, by their names in an image;
    after a report a step may be there without them. `like`: the name that the step `like` gives, None for none; `is_view`: the
    chain makes a view."""

    def __init__(self, c: Checker, is_view: bool = False, is_value: bool = False, words: Collection[str] = STEPS) -> None:
        self.c = c
        self.words = words  # names to suggest for an unknown step
        self.is_view = is_view
        self.is_value = is_value  # it makes memory values
        self.found: dict[str, dict[str, Any]] = {}
        self.like: ast.PathExpr | None = None
        self.places: dict[str, Span] = {}  # first ones, of steps and rules

    def read(self, node: ast.MethodCall) -> None:
        """Read one step of the chain into `found`, or report what is wrong: E4502 for a step that no memory has, E4507 for one
        that a view does not have, E4521 for one that a memory value does not have, E4503 for one that stands twice; else as
        `add`, or as what reads a step of its own kind (`read_summary`, `read_rule` and their like)."""
        c, name = self.c, node.name.text
        first = self.places.setdefault(name, node.name.span)
        if name not in STEPS:
            help = STEPS_ELSEWHERE.get(name) or did_you_mean(name, self.words) or listed("steps", [*self.words], len(self.words))
            c.report("E4502", node.name.span, f"a memory has no step `{name}`", help=help)
        elif self.is_view and not STEPS[name].of_view:
            message = f"`{name}` is no step of a derived view: it acts when a turn is stored"
            c.report("E4507", node.name.span, message, help="write it at the memory the view is derived from")
        elif self.is_value and STEPS[name].no_value is not None:
            c.report("E4521", node.name.span, f"a memory value has no `{name}`: {STEPS[name].no_value}", help=DECLARE)
        # Steps whose arguments are no plain values are read by functions of their own; all others by their rows.
        elif name == "allow" and is_scoped(node):
            self._scoped_allow(node)
        elif self._is_written(name):
            message = f"the step `{name}` is written twice"
            c.report("E4503", node.name.span, message, first=first, help="join them in one step")
        elif name == "like":
            self._like(node)
        elif name == "per":
            self._per(node)
        elif name == "summary":
            self.found[name] = {"summary": summary} if (summary := read_summary(c, node)) is not None else {}
        elif name == "learn":
            self._learn(node)
        elif name == "view":
            self.found[name] = {"view_with": function} if (function := read_view(c, node)) is not None else {}
        elif name == "on":
            self._on(node)
        elif name == "context":
            self.found[name] = {"context": context} if (context := check_context_step(c, node)) is not None else {}
        else:
            self.add(name, node.arguments, node.name)

    def add(self, name: str, arguments: list[ast.Argument], at: ast.Ident) -> None:
        """Read a step whose arguments are those of its rows into `found`. Report what is wrong (E2006, E4502, E4504, E4004; W0453
        for a `decay` that archives nothing), at `at` if it is missing; the step is then there without the argument and those
        behind it."""
        step = STEPS[name]
        values = self.found.setdefault(name, {})
        by_label: dict[str, ast.Argument] = {}
        for argument in arguments:
            label = argument.name.text if argument.name is not None else ""
            if label not in step.arguments or label in by_label:
                self._unknown(name, label, argument, label in by_label)
                return
            by_label[label] = argument
            row = step.arguments[label]
            value = self._value(name, row, argument.value)
            if value is FAILED:
                return
            values[row.image] = [*values.get(row.image, []), *value] if step.repeated else value
        if step.bare is not None:
            values[step.bare.image] = True
        elif not by_label:
            self.c.report("E2006", at.span, f"the step `{name}` takes at least 1 argument, 0 given", help=step.example)
        else:
            self._check_required(name, step, at)
        self._check_bounds(name, by_label)

    def _unknown(self, name: str, label: str, argument: ast.Argument, is_repeated: bool) -> None:
        infer_all(self.c, [a for a in [argument] if not is_word(a.value)])
        labels = [word for word in STEPS[name].arguments if word]
        arguments = _arguments_of(name, labels)
        if argument.name is None:
            help = f"drop it, or give it by its name; {arguments}" if labels else "drop it"
            self.c.report("E2006", argument.span, f"the step `{name}` takes fewer arguments without a name", help=help)
        elif is_repeated:
            message = f"the argument `{label}` of the step `{name}` is given twice"
            self.c.report("E4502", argument.name.span, message, help=f"drop one of them; {arguments}")
        else:
            other = next((f"; `{label}` is an argument of `{step}`" for step, row in STEPS.items() if label in row.arguments), "")
            help = f"{near} {arguments}" if (near := did_you_mean(label, labels)) else arguments + other
            self.c.report("E4502", argument.name.span, f"the step `{name}` has no argument `{label}`", help=help)

    def _value(self, step: str, row: Argument, value: ast.Expr) -> Any:
        """Return what an image holds of one argument; FAILED after a report."""
        kind = row.kind
        embedder = getattr(ast.ungrouped(value), "binding", None) if step == "embed" else None
        if isinstance(embedder, EmbedderSymbol):
            return embedder
        if kind in (FUNCTION, FUNCTIONS) or (kind == REDACTOR and not is_word(value)):
            function = step_function(self.c, value, row)
            return [function] if kind != FUNCTION and function is not FAILED else function
        if kind == COUNT:
            return bound(self.c, value, f"the bound of `{step}`", in_body=self.is_value)
        if kind == DURATION:
            return duration(self.c, value, f"`{step}`")
        if kind in (TEXT, FLAG):
            return self._constant(step, row, value)
        if kind == NAMES:
            return self._attaching(step, value)
        if kind == SHARE:
            return self._share(step, value)
        if kind == SOME:
            if not isinstance(value, ast.ArrayExpr):
                name = value.segments[0].text if is_word(value) and isinstance(value, ast.PathExpr) else ""
                help = f".{step}([{name if name in row.words else row.words[0]}])"
                self.c.report("E4502", value.span, f"`{step}` takes a list of words", help=help)
                return FAILED
            words = [known_word(self.c, step, row.words, item) for item in value.items]
            return FAILED if None in words else words
        word = known_word(self.c, step, row.words, value)
        if word is None:
            return FAILED
        return [word] if kind == REDACTOR else word

    def _constant(self, step: str, row: Argument, value: ast.Expr) -> Any:
        type_ = STRING if row.kind == TEXT else BOOL
        if at_module_level(self.c, value, Expected(type_, "E4502", f"an argument of `{step}`")) is ERRONEOUS:
            return FAILED
        constant = folded(self.c, value, "E4004")
        if constant == "" and row.takes is is_text:  # the names of stores and embedders are looked up later
            self.c.report("E4004", value.span, f"an argument of `{step}` is not empty", help="write a text")
            return FAILED
        return constant

    def _is_written(self, name: str) -> bool:
        """Return whether a step that may stand once was read before. `allow` with `facts` is a rule of its own beside the one
        that says who attaches."""
        if name == "allow":
            return bool({"allow_read", "allow_write"} & self.found.get(name, {}).keys())
        return self.like is not None if name == "like" else name in self.found and not STEPS[name].repeated

    def _scoped_allow(self, node: ast.MethodCall) -> None:
        """Add a rule for facts (M-10.35)."""
        rule = FactRule(node)
        for argument in node.arguments:
            label = argument.name.text if argument.name is not None else ""
            if label == "facts" and not rule.patterns:
                rule.patterns = argument.value.items if isinstance(argument.value, ast.ArrayExpr) else [argument.value]
            elif label in ("read", "write") and label not in rule.named:
                named = self._attaching("allow", argument.value)
                if named is FAILED:
                    return
                rule.named[label] = named
            else:
                self._unknown("allow", label, argument, label in ("facts", *rule.named))
                return
        self.found.setdefault("allow", {}).setdefault("allow_facts", []).append(rule)

    def _learn(self, node: ast.MethodCall) -> None:
        """Add a rule (M-10.22); a name stands for one rule."""
        self._one_more("learn", node, read_rule(self.c, node), "name", 'the rule "{}" is written twice', "name each rule once")

    def _on(self, node: ast.MethodCall) -> None:
        """Add a handler (M-6.37); an event has one."""
        handler = read_handler(self.c, node)
        self._one_more("on", node, handler, "event", "the event `{}` has two functions", "call both in one function")

    def _one_more(
        self, step: str, node: ast.MethodCall, said: dict[str, Any] | None, field: str, twice: str, help: str
    ) -> None:
        """Add what a repeatable step says, under a name of its own. `said` None: it was refused."""
        earlier = self.found.setdefault(step, {}).setdefault(step, [])
        if said is None:
            return
        place = node.arguments[0].span
        first = self.places.setdefault(f"{step} {said[field]}", place)
        if any(said[field] == other[field] for other in earlier):
            self.c.report("E4503", place, twice.format(said[field]), first=first, help=help)
            return
        earlier.append(said)

    def _attaching(self, step: str, value: ast.Expr) -> Any:
        """Return the models and agents of `allow`; FAILED after a report."""
        items = value.items if isinstance(value, ast.ArrayExpr) else [value]
        named = [item.binding for item in items if isinstance(item, ast.PathExpr)]
        if len(named) < len(items) or not all(isinstance(symbol, (ModelSymbol, AgentSymbol)) for symbol in named):
            self.c.report("E4502", value.span, f"`{step}` takes names of models and agents", help=".allow(write: [Planner])")
            return FAILED
        return list(dict.fromkeys(named))

    def _per(self, node: ast.MethodCall) -> None:
        """Read the names of key parts (M-7.3); they are bound to nothing in the program."""
        names: list[str] = []
        defaults: dict[str, Any] = {}
        for argument in node.arguments:
            value = argument.value
            if argument.name is None and not (isinstance(value, ast.PathExpr) and len(value.segments) == 1):
                self.c.report("E4502", argument.span, "`per` takes names of key parts", help=".per(tenant, user)")
                return
            name = argument.name.text if argument.name is not None else value.segments[0].text  # type: ignore[attr-defined]
            if name in names:
                what = f"the key part `{name}` is named twice"
                first = node.arguments[names.index(name)].span
                self.c.report("E4502", argument.span, what, first=first, help="remove one of them")
                return
            names.append(name)
            if argument.name is not None:
                defaults[name] = self._key_default(name, value)
        if not names:
            what = "the step `per` takes at least 1 argument, 0 given"
            self.c.report("E2006", node.name.span, what, help=".per(tenant, user)")
        self.found["per"] = {"keys": names, **({"key_defaults": defaults} if defaults else {})}

    def _key_default(self, name: str, value: ast.Expr) -> Any:
        """Return the value that keys without this part have (M-7.9): a constant that a key may have, or any after a report."""
        type_ = at_module_level(self.c, value, FREE)
        constant = folded(self.c, value, "E4518") if type_ in (INT, STRING) else None
        if type_ is not ERRONEOUS and constant is not FAILED and not is_key_value(constant):
            message = f"keys that were written without `{name}` get a constant String or Int"
            self.c.report("E4518", value.span, message, help=f'.per(user, {name}: "t1")')
        return constant

    def _share(self, step: str, value: ast.Expr) -> Any:
        type_ = at_module_level(self.c, value, FREE)
        if type_ is ERRONEOUS:
            return FAILED
        constant = folded(self.c, value, "E4004") if type_ in (INT, FLOAT) else None
        if constant is FAILED:
            return FAILED
        if not isinstance(constant, (int, float)) or not 0 <= constant <= 1:
            self.c.report("E4004", value.span, f"`{step}` takes a constant number from 0 to 1", help="write it as `0.5`")
            return FAILED
        return float(constant)

    def _check_bounds(self, name: str, by_label: dict[str, ast.Argument]) -> None:
        values = self.found[name]
        for label, row in STEPS[name].arguments.items():
            low = values.get(row.image)
            if row.below is not None and low is not None and is_lower(values.get(row.below, 0), low):
                message = f"`{label}` of `{name}` is not below its bound"
                if row.below not in values:
                    others = next((f", not of {other}" for other in by_label if other in ("turns", "tokens")), "")
                    message = f"`{label}` of `{name}` belongs to a bound of messages{others}"
                self.c.report("E4504", by_label[label].value.span, message, help=f"write `.{name}(40, {label}: 24)`")
        if name == "window" and "" in by_label and "turns" in by_label:
            self.c.report(
                "E4504", by_label["turns"].value.span, "a window counts messages or turns, not both",
                help="keep one of the two",
            )

    def _check_required(self, name: str, step: Step, at: ast.Ident) -> None:
        values = self.found[name]
        missing = [label for label in step.required if step.arguments[label].image not in values]
        if missing:
            unnamed = f"`{name}` takes 1 argument without a name, 0 given"
            message = f"the step `{name}` lacks `{missing[0]}`" if missing[0] else unnamed
            self.c.report("E2006", at.span, message, help=step.example)
        elif "decay_archive_below" in values and values["decay_archive_below"] <= values.get("decay_floor", 0.0):
            self.c.report(
                "W0453", at.span, "nothing is archived: `floor` is not below `archive_below`",
                help="raise `archive_below`, or lower `floor`",
            )  # fmt: skip

    def _like(self, node: ast.MethodCall) -> None:
        value = node.arguments[0].value if len(node.arguments) == 1 and node.arguments[0].name is None else None
        if isinstance(value, ast.PathExpr) and isinstance(value.binding, MemorySymbol):
            self.like = value
            return
        infer_all(self.c, node.arguments)
        self.c.report("E4502", node.name.span, "`like` takes the name of a memory", help=".like(support)")

    def complete(self, table: Mapping[str, Any]) -> None:
        """Add to `found` the steps of `like`, or of `[memory.defaults]`, that it lacks; a summary that names no summariser gets
        what it does not say (M-2.12). `table` has what the arguments of each step say, as `found`; it is not changed."""
        for name, values in table.items():
            step = STEPS[name]
            # A default is not an error where the step would not be allowed: it is left out.
            absent = (self.is_view and not step.of_view) or (self.is_value and step.no_value is not None)
            if name == "summary" and "summary" in self.found.get(name, {}):
                self.found[name] = {name: complete_summary(self.found[name][name], values.get(name, {}))}
            elif name not in self.found and name not in self.useless and step.taken_over and not absent:
                self.found[name] = values

    @property
    def useless(self) -> list[str]:
        """Return the names of the steps that have nothing to act on beside those that were read."""
        return useless_beside_only(self.is_view) if "only" in self.found else []


def useless_beside_only(is_view: bool) -> list[str]:
    """Return the steps without use where only a summary is shown (M-9.18); a log that pins still keeps what is pinned."""
    return [*(name for name, step in STEPS.items() if step.of_units), *(["pin"] if is_view else [])]


def _arguments_of(step: str, known: list[str]) -> str:
    if not known:
        return f"`{step}` has no named arguments"
    return f"{listed('arguments', known)}{' and one without a name' if '' in STEPS[step].arguments else ''}"


def is_lower(bound: Any, low: Any) -> bool:
    """Return whether a bound is known not to be above its low one; 0 stands for a bound that is not written, which is not above
    any."""
    return isinstance(bound, int) and (bound == 0 or (isinstance(low, int) and low >= bound))


def step_function(c: Checker, value: ast.Expr, row: Argument) -> Any:
    """Return a closure or the name of a function of the type that the row says, which `c.step_functions` then has too; FAILED
    after a report."""
    if at_module_level(c, value, Expected(static_type(parse_type(row.signature)))) is ERRONEOUS:
        return FAILED
    function = StepFunction(value)
    c.step_functions.append(function)
    return function


def duration(c: Checker, value: ast.Expr, what: str) -> Any:
    """Return the milliseconds of a constant duration, a text with its unit or a number of seconds (M-2.7); FAILED after a report
    (E4004)."""
    type_ = at_module_level(c, value, FREE)
    if type_ is ERRONEOUS:
        return FAILED
    constant = folded(c, value, "E4004") if type_ in (INT, FLOAT, STRING) else None
    if constant is FAILED:
        return FAILED
    ms = milliseconds(constant)
    if ms is None:
        help = 'a number and a unit, such as "30d" or "1.5h", or seconds'
        c.report("E4004", value.span, f"{what} takes a duration", help=help)
        return FAILED
    return ms
