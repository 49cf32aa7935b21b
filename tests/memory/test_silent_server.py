"""A database that takes a connection and says nothing is given up after the time that its address names; one that ends a
connection is connected to anew."""

import os
import socket
from contextlib import closing
from threading import Thread

import pytest
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.postgres import PostgresStore

from . import servers


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


def test_a_connection_that_the_server_ended_is_opened_anew(postgres_url):
    with closing(PostgresStore(postgres_url, schema="ended")) as store:
        memory = Memory(Policy(), name="chat", store=store)
        memory.append("user", "x")
        ((own,),) = store._rows("SELECT pg_backend_pid()")
        with servers.connected(postgres_url) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [own])
        memory.append("user", "y")
        assert [message.content for message in memory.messages()] == ["x", "y"]


def test_a_descriptor_that_select_does_not_take():
    pytest.importorskip("psycopg")
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1_100
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("the system allows no descriptor of 1024")
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    taken = []
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            while not taken or taken[-1] < 1_024:
                taken.append(os.dup(silent.fileno()))
            with pytest.raises(MemoryFailure, match="the server does not answer"):
                PostgresStore(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=1")
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
