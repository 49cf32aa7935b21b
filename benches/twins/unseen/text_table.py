"""Rows of cells as a text table: widths of columns, cells aligned left or right, a rule below the head."""


def padded(text, width, align):
    return text.ljust(width) if align == "left" else text.rjust(width)


def thousands(n):
    digits = str(n)
    out = []
    for i, digit in enumerate(digits):
        if i > 0 and (len(digits) - i) % 3 == 0:
            out.append(",")
        out.append(digit)
    return "".join(out)


def columns(titles, rows):
    out = []
    for at, (title, align) in enumerate(titles):
        width = len(title)
        for row in rows:
            if len(row[at]) > width:
                width = len(row[at])
        out.append((title, align, width))
    return out


def line(cells, table):
    out = []
    for cell, (_, align, width) in zip(cells, table, strict=True):
        out.append(padded(cell, width, align))
    return "| " + " | ".join(out) + " |"


def main(n, emit):
    rows = []
    for i in range(n):
        rows.append([f"item {i * 37 % 1000}", thousands(i * i * 13), "yes" if i % 3 == 0 else "no", f"{i % 28 + 1}.11."])
    table = columns([("name", "left"), ("cents", "right"), ("open", "left"), ("day", "right")], rows)
    lines = [line([title for title, _, _ in table], table), "|" + "|".join(["-" * (width + 2) for _, _, width in table]) + "|"]
    for row in rows:
        lines.append(line(row, table))
    emit("lines", len(lines))
    emit("length", len("\n".join(lines)))
    emit("last", lines[-1])
