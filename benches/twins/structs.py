"""Attributes of small objects."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Account:
    owner: str
    balance: int
    rate: int
    moves: int


def interest(account):
    return account.balance * account.rate // 1000


def main(n, emit):
    account = Account("ada", 1000, 3, 0)
    for i in range(n):
        account.balance = account.balance + i % 11 - 4
        account.moves = account.moves + 1
        if account.moves % 16 == 0:
            account.balance = account.balance + interest(account)
        if account.balance > 100000:
            account = Account(account.owner, 1000, account.rate, account.moves)
    emit("account", asdict(account))
