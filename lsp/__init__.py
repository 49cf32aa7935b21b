"""What an editor shows of a program: the language server of `concerto lsp` (O-9.25).

Everything is read off what the compiler found: trees, types, symbols, row tables. Only `server` knows the protocol and its
library; the other modules answer in plain records and in offsets.
"""
