"""The colours of a source: what each character of it is, for editors and for pages.

`classes` is the one table, read off the compiler's own tokens; `textmate` makes a grammar of it, `pygments_lexer` a lexer for
Pygments, and the language server its semantic tokens. What names denote and which types they have is not known here: the language
server adds that. This file itself hands on nothing; a new colour begins as a row of the table in `classes`.
"""
