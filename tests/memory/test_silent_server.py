"""A database that takes a connection and says nothing is given up after the time that its address names."""

import socket
from threading import Thread

import pytest
from concerto.runtime.memory.entries import MemoryFailure
from concerto.runtime.memory.stores.postgres import PostgresStore


def test_a_server_that_never_answers_is_given_up():
    pytest.importorskip("psycopg")
    failures = []

    def connect(port):
        try:
            PostgresStore(f"postgresql://u@127.0.0.1:{port}/d?connect_timeout=1")
        except MemoryFailure as failure:
            failures.append(failure.message)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        waiting = Thread(target=connect, args=(silent.getsockname()[1],), daemon=True)
        waiting.start()
        waiting.join(20)
    assert len(failures) == 1 and "the server does not answer" in failures[0]
