# Made by `concerto stubs desk.conc`; `concerto stubs desk.conc --check` tells whether it is up to date.

from typing import Any, Literal, NotRequired, Protocol, TypedDict, Unpack, final

import concerto
from concerto.api.stub_types import Array
from concerto.api.options import RunOptions

@final
class Ticket:
    """A letter, sorted."""
    __match_args__ = ("title", "kind", "urgent")
    def __init__(self, *, title: str, kind: Literal["question", "refund", "complaint"], urgent: bool) -> None: ...
    @property
    def title(self) -> str:
        """What it is about, in a few words."""
    @property
    def kind(self) -> Literal["question", "refund", "complaint"]: ...
    @property
    def urgent(self) -> bool: ...
    def __replace__(self, *, title: str = ..., kind: Literal["question", "refund", "complaint"] = ..., urgent: bool = ...) -> Ticket: ...
    def __getitem__(self, name: str, /) -> Any: ...

@final
class Customer:
    """Who writes, and how much is open."""
    __match_args__ = ("name", "open")
    def __init__(self, *, name: str, open: list[Ticket] = ...) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def open(self) -> list[Ticket]: ...
    def __replace__(self, *, name: str = ..., open: list[Ticket] = ...) -> Customer: ...
    def __getitem__(self, name: str, /) -> Any: ...

_CustomerFields = TypedDict("_CustomerFields", {"name": str, "open": NotRequired[Array[Ticket | _TicketFields | _TicketLike]]})

class _CustomerLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def open(self) -> Array[Ticket | _TicketFields | _TicketLike]: ...

_TicketFields = TypedDict("_TicketFields", {"title": str, "kind": Literal["question", "refund", "complaint"], "urgent": bool})

class _TicketLike(Protocol):
    @property
    def title(self) -> str: ...
    @property
    def kind(self) -> Literal["question", "refund", "complaint"]: ...
    @property
    def urgent(self) -> bool: ...

def answer(customer: Customer | _CustomerFields | _CustomerLike, letter: str) -> str:
    """Answer a customer in the conversation that is theirs alone. The text is emitted on `text` as it comes."""
def messages(customer: Customer | _CustomerFields | _CustomerLike) -> int:
    """How many messages the conversation with a customer has."""
async def sort(letter: str) -> Ticket:
    """Sort a letter into a ticket."""

class _Functions:
    def answer(self, customer: Customer | _CustomerFields | _CustomerLike, letter: str) -> str:
        """Answer a customer in the conversation that is theirs alone. The text is emitted on `text` as it comes."""
    def messages(self, customer: Customer | _CustomerFields | _CustomerLike) -> int:
        """How many messages the conversation with a customer has."""
    def sort(self, letter: str) -> Ticket:
        """Sort a letter into a ticket."""

class _Aio:
    async def answer(self, customer: Customer | _CustomerFields | _CustomerLike, letter: str) -> str:
        """Answer a customer in the conversation that is theirs alone. The text is emitted on `text` as it comes."""
    async def messages(self, customer: Customer | _CustomerFields | _CustomerLike) -> int:
        """How many messages the conversation with a customer has."""
    async def sort(self, letter: str) -> Ticket:
        """Sort a letter into a ticket."""

class Session(concerto.Session):
    @property
    def functions(self) -> _Functions: ...
    @property
    def aio(self) -> _Aio: ...

aio: _Aio

def session(**options: Unpack[RunOptions]) -> Session: ...
