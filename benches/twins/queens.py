"""The queens of a chess board."""


def place(n, row, columns):
    if row == n:
        return 1
    found = 0
    for column in range(n):
        free = True
        for earlier in range(row):
            other = columns[earlier]
            distance = row - earlier
            if other == column or other == column + distance or other == column - distance:
                free = False
                break
        if free:
            found += place(n, row + 1, [*columns, column])
    return found


def main(n, emit):
    emit("solutions", place(n, 0, []))
