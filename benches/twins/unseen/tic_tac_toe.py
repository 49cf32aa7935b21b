"""Tic-tac-toe played to its end by minimax from several first moves."""

from enum import Enum


class Cell(Enum):
    EMPTY = 0
    CROSS = 1
    NOUGHT = 2


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
OTHER = {Cell.CROSS: Cell.NOUGHT, Cell.NOUGHT: Cell.CROSS}


def winner(board):
    for a, b, c in LINES:
        if board[a] is not Cell.EMPTY and board[a] is board[b] and board[b] is board[c]:
            return board[a]
    return Cell.EMPTY


def best(board, player):
    won = winner(board)
    if won is not Cell.EMPTY:
        return (10 if won is player else -10, -1)
    score = -100
    place = -1
    for i, cell in enumerate(board):
        if cell is Cell.EMPTY:
            following = list(board)
            following[i] = player
            value = -best(following, OTHER[player])[0]
            if value > score:
                score, place = value, i
    return (0, -1) if place < 0 else (score, place)


def main(n, emit):
    scores = []
    games = []
    for i in range(n):
        board = [Cell.EMPTY] * 9
        board[i * 2 % 9] = Cell.CROSS
        board[(i * 5 + 1) % 9] = Cell.NOUGHT
        board[(i * 7 + 3) % 9] = Cell.CROSS
        player = Cell.NOUGHT
        moves = ""
        while True:
            score, place = best(board, player)
            if place < 0:
                scores.append(score)
                break
            board[place] = player
            player = OTHER[player]
            moves += str(place)
        games.append(moves)
    emit("scores", scores)
    emit("games", games)
