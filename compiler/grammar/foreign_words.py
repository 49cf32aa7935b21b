"""Words of other languages where this one has another word or form: tables for the helps of syntax errors (L-2.6.8).

Must not know: where a word stands.
"""

from __future__ import annotations

WORDS = {
    "switch": "use `match`",
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`: `try { … } catch Error(e) { … } …`",
    "null": "write `nil`",
    "elif": "write `else if`",
    "elsif": "write `else if`",
    "elseif": "write `else if`",
    "spawn": "`spawn` takes a call or an `async` block: `spawn f()`",
    "assert": "call it: `assert(a == b)`, or `assert_eq(a, b)`",
    "foreach": "write `for x in xs { … }`",
    "not": "logical not is `!`",
    "and": "logical and is `&&`",
    "or": "logical or is `||`",
}
# Words that begin a block elsewhere and here a struct literal or a call.
BLOCKS = {
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`: `try { … } catch Error(e) { … } …`",
    "do": "use `loop`: `loop { … if !again { break; } }`",
    "unless": "write `if !…`",
    "until": "write `while !…`",
    "switch": "use `match`: `match x { 1 => …, _ => … }`",
    "unsafe": "leave out `unsafe`",
}
