"""An interpreter of Brainfuck: brackets matched once, then a loop over characters."""


def jumps(code):
    opened = []
    found = {}
    for i, c in enumerate(code):
        if c == "[":
            opened.append(i)
        elif c == "]":
            if not opened:
                raise ValueError(f"a bracket too many at {i}")
            start = opened.pop()
            found[start] = i
            found[i] = start
    if opened:
        raise ValueError(f"{len(opened)} brackets are open")
    return found


def run(code, given):
    targets = jumps(code)
    cells = [0] * 100
    cell = read = at = 0
    out = []
    while at < len(code):
        match code[at]:
            case ">":
                cell += 1
            case "<":
                cell -= 1
            case "+":
                cells[cell] = (cells[cell] + 1) % 256
            case "-":
                cells[cell] = (cells[cell] + 255) % 256
            case ".":
                out.append(cells[cell])
            case ",":
                cells[cell] = given[read] if read < len(given) else 0
                read += 1
            case "[":
                if cells[cell] == 0:
                    at = targets[at]
            case "]":
                if cells[cell] != 0:
                    at = targets[at]
        at += 1
    return out


HELLO = "++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++."
SQUARES = (
    "++++[>+++++<-]>[<+++++>-]+<+[>[>+>+<<-]++>>[<<+>>-]>>>[-]++>[-]+>>>+[[-]++++++>>>]<<<[[<++++++++<++>>-]+<.<[>----<-]<]<<"
    "[>>>>>[>>>[-]+++++++++<[>-<-]+++++++++>[-[<->-]+[<<<]]<[>+<-]>]<<-]<<-]"
)


def main(n, emit):
    total = 0
    shown = []
    for i in range(n):
        shown = run(HELLO, [])
        total += sum(shown) + i
    numbers = run(SQUARES, [])
    emit("sum", total)
    emit("shown", shown)
    emit("squares", [len(numbers), sum(numbers)])
    try:
        run("[[]", [])
        emit("broken", "none")
    except ValueError as e:
        emit("broken", str(e))
