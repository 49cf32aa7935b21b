"""The agent of `main.conc`, a child process that Concerto drives: it reports the lines of a prompt that are longer than
`longest_line`, a parameter of `Concerto.toml`, and asks before it reports one.

One JSON message per line goes in and out. Only the standard library is needed.
"""

import json
import sys


def say(**message):
    """Send one message."""
    print(json.dumps(message), flush=True)


def ask(**message):
    """Send a question and return the value of its answer."""
    say(**message)
    return json.loads(sys.stdin.readline())["value"]


longest = json.loads(sys.stdin.readline())["params"]["longest_line"]
say(type="init_ack", version="1")
for line in sys.stdin:
    request = json.loads(line)
    long_lines = []
    for number, text in enumerate(request["prompt"].splitlines(), 1):
        say(type="progress", line=number)
        if len(text) > longest and ask(type="question", id=f"q{number}", message=f"line {number} is long; report it?"):
            long_lines.append(number)
    say(type="result", in_reply_to=request["id"], text=f"{len(long_lines)} long line(s)", lines=long_lines)
