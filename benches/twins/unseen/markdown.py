"""Markdown lines to HTML: headings, lists, emphasis and code by scanning, one state for the open list."""

from enum import Enum


class Block(Enum):
    PARAGRAPH = 0
    ITEMS = 1
    CODE = 2


ESCAPES = {"<": "&lt;", "&": "&amp;"}


def inline(text):
    out = ""
    strong = code = False
    i = 0
    while i < len(text):
        c = text[i]
        if c == "`":
            out += "</code>" if code else "<code>"
            code = not code
        elif not code and c == "*" and text[i + 1 : i + 2] == "*":
            out += "</b>" if strong else "<b>"
            strong = not strong
            i += 1
        else:
            out += ESCAPES.get(c, c)
        i += 1
    return out


def heading(line):
    level = 0
    while line[level : level + 1] == "#":
        level += 1
    return (level, line[level + 1 :]) if level > 0 and line[level : level + 1] == " " else None


def html(text):
    out = []
    block = Block.PARAGRAPH
    for line in text.splitlines():
        if block is Block.CODE:
            if line == "```":
                out.append("</pre>")
                block = Block.PARAGRAPH
            else:
                out.append(line)
        elif line == "```":
            out.append("<pre>")
            block = Block.CODE
        elif block is Block.ITEMS and not line.startswith("- "):
            out.append("</ul>")
            block = Block.PARAGRAPH
        elif line.startswith("- "):
            if block is Block.PARAGRAPH:
                out.append("<ul>")
            out.append(f"<li>{inline(line[2:])}</li>")
            block = Block.ITEMS
        else:
            found = heading(line)
            if found is None:
                out.append(f"<p>{inline(line)}</p>")
            else:
                level, title = found
                out.append(f"<h{level}>{inline(title)}</h{level}>")
    return "\n".join(out)


def main(n, emit):
    letters = 0
    last = ""
    for i in range(n):
        text = f"# Title {i}\nSome **bold** text & `code < {i}`\n- one\n- **two**\n\n## Part\n```\nlet x = {i};\n```\nEnd of {i}."
        last = html(text)
        letters += len(last)
    emit("letters", letters)
    emit("last", last)
