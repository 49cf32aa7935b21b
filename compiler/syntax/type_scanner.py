"""Looks ahead over the spelling of a type: does `<` open type arguments (L-2.5.4), and where does a type end.

Hands on `TypeScanner` to the token filter. What the names denote is not known here, nothing is reported, and the tokens stay as
they are. A scan is one pass without recursion, so input of any depth is safe; every answer that it comes to know on the way, of
lists and of types, is remembered, so that all scans of a file together take linear time. What may begin a type is told by
`_Scan.operand`, what may follow one by `_Scan.after`.
"""

from __future__ import annotations

from .lexer import TokenList


class TypeScanner:
    """Answers for one raw token list, in which `<` is LT and `>` is GT or the first half of GE. A row is the index of a token."""

    def __init__(self, tokens: TokenList) -> None:
        self.types = tokens.types
        self.values = tokens.values
        self.closes: dict[int, int] = {}  # row of `<` -> row of its `>`, -1 if it compares
        self.ends: dict[int, int] = {}  # row where a type begins -> row after it, -1 if none does

    def closing(self, row: int) -> int:
        """Return the row of the `>` or `>=` that closes the list opened by the `<` at `row`, or -1 if that `<` compares. KeyError
        for the row of another token."""
        if row not in self.closes:
            _Scan(self).run(row, whole_list=True)
        return self.closes[row]

    def type_end(self, row: int) -> int:
        """Return the row after the type that begins at `row`, or -1 if no type begins there or it breaks off."""
        if row not in self.ends:
            self.ends[row] = _Scan(self).run(row, whole_list=False)
        return self.ends[row]


class _Scan:
    """One scan. `open` holds the rows of the open `<` and `(`; `expecting` says that a type must or may come next. `begun` holds,
    outermost bracket first, the rows where types begin that have not ended yet: several behind `|` and `->`, since a type that
    begins there ends with the whole."""

    def __init__(self, scanner: TypeScanner) -> None:
        self.scanner = scanner
        self.open: list[int] = []
        self.expecting = True
        self.optional = False  # a closer may come instead: after an opener or a comma
        self.in_bound = [False]
        self.begun: list[list[int]] = [[]]
        self.function_params: set[int] = set()  # rows of `(` after `fn`
        self.after_params = False  # just behind `fn (…)`
        self.path_end = False  # the previous token ends a path, so `<` may follow

    def run(self, row: int, whole_list: bool) -> int:
        """Scan from `row` and return the row behind what was scanned, or -1. `whole_list`: `row` is a `<`, and the scan
        ends behind its `>`; else it ends behind one type."""
        at = row
        if whole_list:
            self.push(row)
            at = row + 1
        while True:
            step = self.operand(at) if self.expecting else self.after(at, whole_list)
            if step < 0:
                self.fail(at)
                return -1
            if step == 0:
                self.end_types(at)
                return at
            at += step
            if whole_list and not self.open:
                return at

    def fail(self, at: int) -> None:
        """Every list and type still open breaks at the same row, except that `>=` would close the innermost list alone."""
        # What is remembered here answers for them without another scan.
        if not self.expecting:
            self.end_types(at)  # these are complete: what breaks is around them
        spared = self.scanner.types[at] == "GE" and len(self.open) > 1
        for row in self.open[:-1] if spared else self.open:
            if self.scanner.types[row] == "LT":
                self.scanner.closes[row] = -1
        # A scan from a type around the innermost list would meet the `>=` with no other list open.
        for level, rows in enumerate(self.begun):
            if not (spared and level == len(self.begun) - 2):
                self.scanner.ends.update(dict.fromkeys(rows, -1))

    def end_types(self, at: int) -> None:
        """Remember that the types begun inside the innermost bracket end before `at`."""
        rows = self.begun[-1]
        if rows:
            self.scanner.ends.update(dict.fromkeys(rows, at))
            rows.clear()

    def push(self, row: int) -> int:
        self.open.append(row)
        self.in_bound.append(False)
        self.begun.append([])
        self.expecting = self.optional = True
        return 1

    def close(self, row: int) -> int:
        """Close the innermost bracket with the token at `row`, and remember the answer for a `<`."""
        self.end_types(row)
        opener = self.open.pop()
        self.in_bound.pop()
        self.begun.pop()
        self.expecting = self.path_end = False
        self.after_params = opener in self.function_params
        if self.scanner.types[opener] == "LT":
            self.scanner.closes[opener] = row
        return 1

    def operand(self, at: int) -> int:
        """Read the beginning of a type; return the number of rows it takes, or -1 if no type begins here."""
        types = self.scanner.types
        kind = types[at]
        if kind == "IDENT":
            return self.path(at)
        if kind == "STRING":
            self.begun[-1].append(at)
            self.expecting = self.path_end = self.after_params = False
            return 1
        if kind == "LPAREN":
            self.begun[-1].append(at)
            return self.push(at)
        if kind == "FN" and types[at + 1] == "LPAREN":
            self.begun[-1].append(at)
            self.function_params.add(at + 1)
            return 1 + self.push(at + 1)
        if self.optional and self.open and self.closes_here(kind):
            return self.close(at)
        return -1

    def path(self, at: int) -> int:
        """Read `a::b::Name`; return the number of rows, or -1 if the last name is no type: types begin with a capital
        letter (E1014)."""
        types, end = self.scanner.types, at
        while types[end + 1] == "COLONCOLON" and types[end + 2] == "IDENT":
            end += 2
        last = str(self.scanner.values[end])
        # Names of types begin with a capital letter, which tells `f<T>` from `a<b`.
        if not last[:1].isupper():
            return -1
        self.begun[-1].append(at)
        self.expecting = self.after_params = False
        self.path_end = True
        return end - at + 1

    def after(self, at: int, whole_list: bool) -> int:
        """Read what follows a complete type; return the number of rows, 0 where a single type ends, -1 where a list breaks."""
        kind = self.scanner.types[at]
        path_end, after_params = self.path_end, self.after_params
        self.path_end = self.after_params = False
        if kind == "LT" and path_end:
            return self.push(at)
        if kind == "QUESTION":
            return 1
        if kind == "ARROW" and after_params:
            return self.expect(optional=False)
        if kind == "PIPE":
            return self.expect(optional=False)
        if not self.open:
            return 0
        if self.closes_here(kind):
            return self.close(at)
        # Behind what follows, another type begins in the same bracket; a type by itself would end here.
        if kind == "COMMA":
            self.end_types(at)
            self.in_bound[-1] = False
            return self.expect(optional=True)
        if kind == "COLON" and path_end and not self.in_bound[-1]:
            self.end_types(at)
            self.in_bound[-1] = True
            return self.expect(optional=False)
        if kind == "PLUS" and self.in_bound[-1]:
            self.end_types(at)
            return self.expect(optional=False)
        return -1

    def expect(self, optional: bool) -> int:
        """Note that a type comes next, or with `optional` a closing bracket in its place."""
        self.expecting, self.optional = True, optional
        return 1

    def closes_here(self, kind: str) -> bool:
        opener = self.scanner.types[self.open[-1]]
        if opener == "LPAREN":
            return kind == "RPAREN"
        # `>=` closes only the outermost list: `= …` must follow it.
        return kind == "GT" or (kind == "GE" and len(self.open) == 1)
