"""Conversations of other frameworks, as their own guides hold them. Run by `__main__.py` in an interpreter that has them:

    PYTHON peers.py NAME ADDRESS

It needs nothing of Concerto. Each keeps the whole conversation, or its newest 20 messages where the framework has a way to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from conversation import SYSTEM, TURNS, question

os.environ.update(OPENAI_API_KEY="none", ANTHROPIC_API_KEY="none", OPENAI_AGENTS_DISABLE_TRACING="1")


def pydantic_ai(address: str, wire: str) -> None:
    from pydantic_ai import Agent

    if wire == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        model = AnthropicModel("m-1", provider=AnthropicProvider(api_key="none", base_url=address))
    else:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("m-1", provider=OpenAIProvider(api_key="none", base_url=f"{address}/v1"))
    agent = Agent(model, instructions=SYSTEM)
    history = None
    for number in range(TURNS):
        result = agent.run_sync(question(number), message_history=history)
        history = result.all_messages()


def langchain(address: str, wire: str, newest: int | None = None) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages

    if wire == "anthropic":
        from langchain_anthropic import ChatAnthropic

        model = ChatAnthropic(model="m-1", api_key="none", base_url=address)
    else:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model="m-1", api_key="none", base_url=f"{address}/v1")
    history = [SystemMessage(SYSTEM)]
    for number in range(TURNS):
        history.append(HumanMessage(question(number)))
        shown = history
        if newest is not None:
            shown = trim_messages(
                history, max_tokens=newest, token_counter=len, strategy="last", include_system=True, start_on="human"
            )
        history.append(AIMessage(model.invoke(shown).content))


def openai_agents(address: str, wire: str) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="none", base_url=f"{address}/v1")
    agent = Agent("a", instructions=SYSTEM, model=OpenAIChatCompletionsModel("m-1", client))
    session = SQLiteSession("one")
    for number in range(TURNS):
        Runner.run_sync(agent, question(number), session=session)


PEERS: dict[str, Callable[[str], None]] = {
    "pydantic-ai, OpenAI": lambda address: pydantic_ai(address, "openai"),
    "pydantic-ai, Anthropic": lambda address: pydantic_ai(address, "anthropic"),
    "langchain, OpenAI": lambda address: langchain(address, "openai"),
    "langchain, Anthropic": lambda address: langchain(address, "anthropic"),
    "langchain, newest 20, OpenAI": lambda address: langchain(address, "openai", 20),
    "langchain, newest 20, Anthropic": lambda address: langchain(address, "anthropic", 20),
    "openai-agents, OpenAI": lambda address: openai_agents(address, "openai"),
}

if __name__ == "__main__":
    PEERS[sys.argv[1]](sys.argv[2])
