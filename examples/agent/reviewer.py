"""A child process that Concerto drives: one JSON message per line, in and out. It needs the standard library only."""

import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def ask(**message):
    say(**message)
    return json.loads(sys.stdin.readline())["value"]


longest = json.loads(sys.stdin.readline())["params"]["longest_line"]
say(type="init_ack", version="1")
for line in sys.stdin:
    asked = json.loads(line)
    found = []
    for number, text in enumerate(asked["prompt"].splitlines(), 1):
        say(type="progress", line=number)
        if len(text) > longest and ask(type="question", id=f"q{number}", message=f"line {number} is long; report it?"):
            found.append(number)
    say(type="result", in_reply_to=asked["id"], text=f"{len(found)} long line(s)", lines=found)
