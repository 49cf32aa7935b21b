"""Tasks of A2A: what a message asks of a program, and how a call and its events look to the agent that sent it (S-1.9).

Hands on `skills_of`, `asked_of`, `Message`, `Tasks` and `state_of` to the endpoint (`a2a.py`). A part of a message
is a text or JSON data: data are the arguments of a skill by name, a text is what a conversation takes. The state of a task is
read off its call, nothing is kept beside it but the id of its context.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..api.json_calls import Signature
from ..api.program import Program
from .caller import required_name
from .calls import ServedCall
from .conversations import Takes, conversing, text_of
from .events import Event, data_line
from .problems import Problem
from .questions import Question, Questions

Json = dict[str, Any]
TEXT, DATA = "text/plain", "application/json"
WORKING, ASKING, DONE = "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"
# By the code of its Problem what a call is that got no result; another one has failed.
STATES = {"cancelled": "TASK_STATE_CANCELED", "arguments": "TASK_STATE_REJECTED"}
FAILED = "TASK_STATE_FAILED"
MOST_EXACT = 1 << 53  # beyond it not every whole number is one of floating point
ARTIFACT = "result"  # the id of the one that a task has


@dataclass(frozen=True, slots=True)
class Skill:
    """What a card offers: a public function with its `signature`, None for a public model. `takes` says how a text is given to
    it, None where it takes data alone; `bound` are the parameters that come from the request."""

    name: str
    doc: str
    signature: Signature | None
    takes: Takes | None
    bound: Mapping[str, str]

    def shown(self) -> Json:
        """Return the skill as it stands in the card."""
        modes = [*([TEXT] if self.takes else []), *([DATA] if self.signature else [])]
        says = [self.doc] if self.doc else []
        if self.signature is not None:
            schema = json.dumps(self.signature.arguments(self.bound), ensure_ascii=False)
            says.append(f"Takes {'a text, or ' if self.takes else ''}a data part, an object of this JSON Schema: {schema}")
        result = TEXT if self.signature is None or self.signature.result == {"type": "string"} else DATA
        tags = ["model" if self.signature is None else "function"]
        return {"id": self.name, "name": self.name, "description": "\n\n".join(says) or "Answers a text.", "tags": tags,
                "inputModes": modes, "outputModes": [result]}  # fmt: skip


def skills_of(program: Program, bound: Mapping[str, str]) -> dict[str, Skill]:
    """Return by name what a program offers: its public functions and its public models."""
    texts = conversing(program, bound, texts=True)
    found = {one.name: Skill(one.name, one.doc, one, texts.get(one.name), bound) for one in program.signatures.values()}
    models = {name: Skill(name, doc, None, texts[name], bound) for name, doc in program.models.items()}
    return {**found, **models}


@dataclass(frozen=True, slots=True)
class Message:
    """A message of another agent: its `text`, None without a part of text, and its `data` in a list of one, [] without; the ids
    of the task and the context that it names, and the name of the skill that it asks for."""

    text: str | None
    data: list[Any]
    task: str | None
    context: str | None
    skill: str | None

    @classmethod
    def of(cls, params: Json) -> Message:
        """Return the message in the parameters of a request. Raise Problem (400) for what is none, or is not served."""
        message, configuration = params.get("message"), params.get("configuration") or {}
        if not isinstance(message, dict) or not isinstance(configuration, dict):
            raise Problem(400, "params", "`message` is an object, and `configuration`, where it is given, too")
        if configuration.get("taskPushNotificationConfig"):
            raise Problem(400, "push", "the server sends no notifications: follow the task by SubscribeToTask")
        if message.get("role") != "ROLE_USER" or not isinstance(message.get("messageId"), str) or not message["messageId"]:
            raise Problem(400, "params", "`message` has a `messageId` and the role ROLE_USER")
        texts, data = _parts(message.get("parts"))
        metadata = message.get("metadata") or {}
        skill = metadata.get("skill") if isinstance(metadata, dict) else None
        if skill is not None and not isinstance(skill, str):
            raise Problem(400, "params", "`metadata.skill` is the id of a skill of the agent card")
        return cls("".join(texts) if texts else None, data, _id(message, "taskId"), _id(message, "contextId"), skill)

    def answer(self, questions: Questions, question: Question) -> str:
        """Return the JSON text of what the message answers to a question. Raise Problem (400) for a text beside data."""
        if self.data and self.text is not None:
            raise Problem(400, "params", "an answer is a text or a data part, not both")
        return json.dumps(self.data[0]) if self.data else questions.written(question, self.text or "")


def _id(message: Json, field: str) -> str | None:
    value = message.get(field)
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise Problem(400, "params", f"`message.{field}` is a text")
    return required_name(value, f"`message.{field}`")


def _parts(parts: Any) -> tuple[list[str], list[Any]]:
    """Return the texts and the data of parts. Raise Problem (400) for what are none, and for more than one of data."""
    if not isinstance(parts, list) or not parts:
        raise Problem(400, "params", "`message.parts` is an array of at least one part")
    texts, data = [], []
    for at, part in enumerate(parts):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict) and "data" in part:
            data.append(_with_whole_numbers(part["data"]))
        elif isinstance(part, dict) and ("raw" in part or "url" in part):
            raise Problem(400, "content", f"`message.parts[{at}]` is a file; a part is a text or data")
        else:
            raise Problem(400, "params", f"`message.parts[{at}]` has a `text` or `data`")
    if len(data) > 1:
        raise Problem(400, "params", "`message.parts` has one part of data at most")
    return texts, data


def _with_whole_numbers(data: Any) -> Any:
    """Return JSON data with an Int for each number that is whole: clients send all of them as floating point (`Value` of
    Protocol Buffers), and a Float is read from either."""
    if isinstance(data, float):
        return int(data) if data.is_integer() and abs(data) <= MOST_EXACT else data
    if isinstance(data, list):
        return [_with_whole_numbers(one) for one in data]
    if isinstance(data, dict):
        return {key: _with_whole_numbers(one) for key, one in data.items()}
    return data


def asked_of(skills: Mapping[str, Skill], message: Message) -> tuple[Skill, Json]:
    """Return the skill that a message asks for and its arguments by name, of a model its messages. Raise Problem (400) where it
    is not clear which, and for parts that it does not take."""
    skill = _chosen(skills, message)
    arguments: Json = {}
    if message.data:
        if skill.signature is None or not isinstance(message.data[0], dict):
            takes = "a text" if skill.signature is None else "a data part that is an object of its arguments by name"
            raise Problem(400, "content", f"{skill.name} takes {takes}")
        arguments = dict(message.data[0])
    if message.text is not None:
        if skill.takes is None:
            raise Problem(400, "content", f"{skill.name} takes no text but a data part, an object of its arguments by name")
        name = skill.takes.parameter or "messages"
        if name in arguments:
            raise Problem(400, "params", f"the text and the data part both give `{name}`")
        arguments[name] = skill.takes.argument([{"role": "user", "content": message.text}])
    return skill, arguments


def _chosen(skills: Mapping[str, Skill], message: Message) -> Skill:
    if message.skill is not None:
        if message.skill not in skills:
            raise Problem(400, "params", f"`metadata.skill` is one of {', '.join(skills)}")
        return skills[message.skill]
    fitting = [one for one in skills.values() if message.text is None or one.takes is not None]
    if len(fitting) != 1:
        names = ", ".join(one.name for one in fitting) or "none takes a text"
        raise Problem(400, "params", f"say which skill is meant by `metadata` of the message, `skill`: {names}")
    return fitting[0]


def state_of(call: ServedCall, questions: Questions) -> str:
    """Return the state of the task that a call is."""
    if not call.ending.done():
        return WORKING if questions.of_call(call.id) is None else ASKING
    failure = call.ending.exception()
    if failure is None:
        return DONE
    return STATES.get(failure.code, FAILED) if isinstance(failure, Problem) else FAILED


class Tasks:
    """The tasks of one process: calls that messages began, and by each the id of its context. What shows a call that no message
    began raises KeyError."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self.contexts: WeakKeyDictionary[ServedCall, str] = WeakKeyDictionary()

    def shown(self, call: ServedCall, *, with_artifacts: bool = True) -> Json:
        """Return a task as it is now."""
        task = {**self.place(call, "id"), "status": self.status(call)}
        if with_artifacts and task["status"]["state"] == DONE:
            task["artifacts"] = [_artifact(part) for part in _parts_of(call.ending.result(), call)]
        return task

    def place(self, call: ServedCall, name: str = "taskId") -> Json:
        """Return the ids of a task and its context, that of the task as `name`."""
        return {name: call.id, "contextId": self.contexts[call]}

    def status(self, call: ServedCall) -> Json:
        """Return the status of a task: what it asks, or why it failed, is its message."""
        state = state_of(call, self.questions)
        if state == ASKING:
            question = self.questions.of_call(call.id)
            assert question is not None
            parts = [{"text": self.questions.message(question)}, {"data": json.loads(self.questions.shown(question))}]
            return {"state": state, "message": self.said(call, question.key, parts)}
        failure = call.ending.exception() if call.ending.done() else None
        if isinstance(failure, Problem):
            error = json.loads(failure.text(call.id))["error"]
            parts = [{"text": failure.message}, {"data": error}]
            return {"state": state, "message": self.said(call, f"{call.id}-error", parts)}
        return {"state": state}

    def said(self, call: ServedCall, ident: str, parts: list[Json]) -> Json:
        """Return a message of ours about a task."""
        return {"messageId": ident, **self.place(call), "role": "ROLE_AGENT", "parts": parts}

    def events(self, call: ServedCall, rpc: str | int, *, goes_on_behind: int) -> TaskEvents:
        """Return the form of the events of a task, in answers to the request of that id."""
        return TaskEvents(self, call, rpc, goes_on_behind)


class TaskEvents:
    """The events of a task for one reader, who knows those up to the one of that number. `is_interrupted` says that they have
    ended with a question."""

    def __init__(self, tasks: Tasks, call: ServedCall, rpc: str | int, known: int) -> None:
        self.tasks = tasks
        self.call = call
        self.rpc = rpc
        self.told_text = known > 0 and call.told_text
        self.is_interrupted = False

    def begin(self) -> bytes:
        """Return the first answer: the task."""
        return self._answer({"task": {**self.tasks.place(self.call, "id"), "status": {"state": WORKING}}})

    def told(self, event: Event) -> bytes:
        """Return the bytes for an event of the call."""
        data = json.loads(event.data)
        if event.kind == "text":
            append, self.told_text = self.told_text, True
            return self._part({"text": data["text"]}, append)
        if event.kind == "emit":
            message = self.tasks.said(self.call, f"{self.call.id}-{event.number}", [{"data": data}])
            return self._status({"state": WORKING, "message": message})
        if event.kind == "question":
            if data["key"] not in self.tasks.questions.open:  # answered already
                return b""
            self.is_interrupted = self.call.goes_on = True
        whole = b""
        if event.kind == "result" and not self.told_text:
            whole = b"".join(self._part(part, append=False) for part in _parts_of(event.data, self.call))
        return whole + self._status(self.tasks.status(self.call))

    def _part(self, part: Json, append: bool) -> bytes:
        return self._answer({"artifactUpdate": {**self.tasks.place(self.call), "artifact": _artifact(part), "append": append}})

    def _status(self, status: Json) -> bytes:
        return self._answer({"statusUpdate": {**self.tasks.place(self.call), "status": status}})

    def _answer(self, result: Json) -> bytes:
        return data_line({"jsonrpc": "2.0", "id": self.rpc, "result": result})


def _artifact(part: Json) -> Json:
    return {"artifactId": ARTIFACT, "name": ARTIFACT, "parts": [part]}


def _parts_of(result: str, call: ServedCall) -> list[Json]:
    """Return what a result is as parts of an artifact: a text, JSON data, and nothing for nil."""
    value = json.loads(result)
    if call.wanted.is_model or isinstance(value, str):
        return [{"text": text_of(result, call.wanted)}]
    return [] if value is None else [{"data": value, "mediaType": DATA}]
