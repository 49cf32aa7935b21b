#!/usr/bin/env python3
"""The null driver: it claims every level and answers `ok` to everything, and does nothing else.

`selftest.py` starts it; every program must fail under it (C-9.4).
"""

import json
import sys

HELLO = {
    "event": "hello",
    "name": "null",
    "version": "1",
    "spec": "1.0",
    "protocol": 1,
    "levels": [0, 1, 2, 3, 4, 5, 6],
    "features": [],
    "routes": ["interp"],
}

for line in sys.stdin:
    message = json.loads(line)
    if message["op"] == "bye":
        break
    answer = HELLO if message["op"] == "hello" else {"id": message["id"], "status": "ok", "exit": 0}
    print(json.dumps(answer), flush=True)
