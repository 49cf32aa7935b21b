"""Accounts and transfers: errors as exceptions of the program's own."""

from dataclasses import dataclass


class BankError(Exception):
    pass


class NoAccount(BankError):
    def __init__(self, owner):
        self.owner = owner

    def reason(self):
        return f"no account of {self.owner}"


class TooLittle(BankError):
    def __init__(self, missing):
        self.missing = missing

    def reason(self):
        return "far too little" if self.missing > 500 else "too little"


class Frozen(BankError):
    def __init__(self, owner):
        self.owner = owner

    def reason(self):
        return f"{self.owner} is frozen"


class Nothing(BankError):
    def reason(self):
        return "nothing to do"


@dataclass(slots=True)
class Account:
    owner: str
    cents: int
    frozen: bool


class Bank:
    def __init__(self):
        self.accounts = {}
        self.log = []

    def account(self, owner):
        found = self.accounts.get(owner)
        if found is None:
            raise NoAccount(owner)
        if found.frozen:
            raise Frozen(owner)
        return found

    def withdraw(self, owner, cents):
        account = self.account(owner)
        if account.cents < cents:
            raise TooLittle(cents - account.cents)
        account.cents -= cents
        return account.cents

    def deposit(self, owner, cents):
        account = self.account(owner)
        account.cents += cents
        return account.cents

    def transfer(self, source, to, cents):
        if cents == 0:
            raise Nothing
        self.account(to)
        left = self.withdraw(source, cents)
        self.deposit(to, cents)
        self.log.append(f"{source}>{to}:{cents}")
        return left


def main(n, emit):
    names = ["ann", "bob", "cid", "dan", "eve"]
    bank = Bank()
    for name in names:
        bank.accounts[name] = Account(name, 5000, name == "dan")
    reasons = {}
    left = 0
    for i in range(n):
        to = "zoe" if i % 50 == 0 else names[i * 7 % 5]
        try:
            left += bank.transfer(names[i * 3 % 5], to, i * 11 % 900)
        except BankError as error:
            why = error.reason()
            reasons[why] = reasons.get(why, 0) + 1
    emit("left", left)
    emit("log", len(bank.log))
    emit("reasons", reasons)
    emit("cents", [account.cents for account in bank.accounts.values()])
