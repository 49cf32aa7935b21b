"""Words of other languages where this one has another word or form: tables for the helps of syntax errors (L-2.6.8).

Must not know: where a word stands.
"""

from __future__ import annotations

CLOSURE = "a closure is written `|a, b| …`"
# Words that begin a declaration elsewhere.
ITEMS = {
    "class": "use `struct`",
    "interface": "use `trait`",
    "protocol": "use `trait`",
    **dict.fromkeys(("import", "from", "include", "require"), "write `use std::json;`"),
    "def": "use `fn`",
    "func": "use `fn`",
    "fun": "use `fn`",
    "function": "use `fn`",
    "var": "use `let` or `let mut`; at module level `const NAME: T = …;`",
}
WORDS = {
    **ITEMS,
    "switch": "use `match`",
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`",
    "var": "use `let` or `let mut`",
    "new": "call a constructor, such as `T::new()`, or write a struct literal",
    "null": "write `nil`",
    "elif": "write `else if`",
    "elsif": "write `else if`",
    "elseif": "write `else if`",
    "spawn": "`spawn` takes a call or an `async` block: `spawn f()`",
    "assert": "call it: `assert(a == b)`, or `assert_eq(a, b)`",
    "raise": "use `throw`",
    "foreach": "write `for x in xs { … }`",
    "lambda": CLOSURE,
    "not": "logical not is `!`",
    "and": "logical and is `&&`",
    "or": "logical or is `||`",
}
# Words that begin a block elsewhere and here a struct literal or a call.
BLOCKS = {
    **dict.fromkeys(("except", "rescue"), "use `catch`"),
    "finally": "there is no `finally`; write the code behind the `try`",
    "do": "use `loop` with `break`",
    "unless": "write `if !…`",
    "until": "write `while !…`",
}
