"""What an editor shows of a program: the language server of `concerto lsp` (O-9.25).

Everything is read off what the compiler finds out: trees, types, symbols, tables of rows. Only `server` speaks the protocol and
imports its library; the other modules answer in plain records, in offsets of code points and, where they say so, in the numbers
that the protocol counts in. Nothing stands in this file itself: `cli/lsp.py` takes `serve` from `server`. Programs are not run,
and no file is written.
"""
