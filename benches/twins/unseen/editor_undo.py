"""An editor of lines with undo and redo: functions change the editor and give it back, or refuse."""

from dataclasses import dataclass, field


class Refusal(Exception):
    pass


@dataclass(slots=True)
class Insert:
    line: int
    text: str


@dataclass(slots=True)
class Delete:
    line: int
    text: str


@dataclass(slots=True)
class Replace:
    line: int
    old: str
    new: str


@dataclass(slots=True)
class Editor:
    lines: list = field(default_factory=list)
    done: list = field(default_factory=list)
    undone: list = field(default_factory=list)


def inverse(edit):
    match edit:
        case Insert(line, text):
            return Delete(line, text)
        case Delete(line, text):
            return Insert(line, text)
        case Replace(line, old, new):
            return Replace(line, new, old)


def applied(editor, edit):
    match edit:
        case Insert(line, text):
            editor.lines.insert(line, text)
        case Delete(line, _):
            del editor.lines[line]
        case Replace(line, _, new):
            editor.lines[line] = new
    return editor


def edited(editor, edit):
    applied(editor, edit)
    editor.done.append(edit)
    editor.undone = []
    return editor


def line(editor, at):
    if at >= len(editor.lines):
        raise Refusal("no line")
    return editor.lines[at]


def undo(editor):
    if not editor.done:
        raise Refusal("nothing to undo")
    edit = editor.done.pop()
    editor.undone.append(edit)
    return applied(editor, inverse(edit))


def redo(editor):
    if not editor.undone:
        raise Refusal("nothing to redo")
    edit = editor.undone.pop()
    editor.done.append(edit)
    return applied(editor, edit)


def step(editor, i):
    at = i * 7919 % 1000
    match i % 8:
        case 3:
            return edited(editor, Delete(at, line(editor, at)))
        case 4 | 6:
            return edited(editor, Replace(at, line(editor, at), f"new {i}"))
        case 5:
            return undo(editor)
        case 7:
            return redo(editor) if i % 3 == 0 else redo(undo(editor))
    return edited(editor, Insert(len(editor.lines), f"line {i}"))


def main(n, emit):
    editor = Editor()
    refused = {}
    for i in range(n):
        try:
            editor = step(editor, i)
        except Refusal as why:
            refused[str(why)] = refused.get(str(why), 0) + 1
    emit("lines", [len(editor.lines), len(editor.done), len(editor.undone)])
    emit("refused", refused)
    emit("letters", len("\n".join(editor.lines)))
    emit("first", editor.lines[0])
