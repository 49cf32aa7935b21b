"""What may be written in `Concerto.toml`, by example: the helps of its errors (O-9.8).

Hands on `example` and `suggestion` to `compiler/manifest.py`, which reads the file and reports; and HEADERS and EXAMPLES, of
which tests read every row as a manifest and compare the keys with those that the manifest reads. Nothing is read or reported
here.
"""

from __future__ import annotations

from collections.abc import Sequence

from .names import did_you_mean, listed

# How the tables begin, by their path.
HEADERS = {
    "project": "[project]",
    "permissions": "[permissions]",
    "connections": "[connections.main]",
    "pricing": '[pricing."gpt-5.4-mini"]',
    "budgets": "[budgets]",
    "agents": "[agents.Worker]",
    "mcp": "[mcp.Library]",
    "python": '[python."shop.prices"]',
    "stores": "[stores.shared]",
    "embedders": "[embedders.small]",
    "memory": "[memory]",
    "memory.defaults": "[memory.defaults]",
    "serve": "[serve]",
}
COMMAND = {"command": 'command = "python3"\nargs = ["worker.py"]', "args": 'args = ["worker.py"]'}
PROCESS = {"timeout": "timeout = 30", "env": 'env = { API_KEY = "WORKER_API_KEY", MODE = { value = "production" } }'}
PRICES = "input_per_million = 0.25\noutput_per_million = 2.0"
# Per table and key the lines that are right.
EXAMPLES: dict[str, dict[str, str]] = {
    "project": {"name": 'name = "app"', "version": 'version = "0.1.0"', "entry": 'entry = "main.conc"'},
    "permissions": {
        "fs": 'fs = ["data"]',
        "fs_read": 'fs_read = ["data"]',
        "fs_write": 'fs_write = ["data"]',
        "net": 'net = ["api.example.com"]',
        "env": 'env = ["API_KEY"]',
        "run": 'run = ["git"]',
        "python": 'python = ["shop.prices"]',
        "tools": "tools = { Shell = false }",
        "lib": 'lib = { greet = { fs_read = ["data"], models = false } }',
    },
    "connections": {
        "provider": 'provider = "openai"',
        "api_key_env": 'api_key_env = "OPENAI_API_KEY"',
        "base_url": 'base_url = "https://api.example.com/v1"',
        "default_model": 'default_model = "gpt-5.4-mini"',
        "models": 'models = { small = "gpt-5.4-mini" }',
        "timeout": "timeout = 30",
        "organization": 'organization = "org-1"',
        "project": 'project = "proj-1"',
        "region": 'region = "us-east-1"',
        "api_version": 'api_version = "2024-10-21"',
        "profile": 'profile = "work"',
        "auth": 'auth = "token"',
        "api": 'api = "chat"',
        "unsupported": 'unsupported = "drop"',
        "structured": 'structured = "native"',
        "media_bytes": "media_bytes = 20000000",
        "media_tokens": "media_tokens = 1500",
        "cache_prompt": "cache_prompt = true",
        "replies": 'replies = ["Hello."]',
        "retry": "retry = { max_attempts = 3 }",
        "rate_limit": "rate_limit = { requests_per_minute = 60 }",
        "breaker": "breaker = { failures = 5, seconds = 30 }",
        "headers": 'headers = { X-Team = "tools", X-Token = { env = "TEAM_TOKEN" } }',
        "extra": "extra = { parallel_tool_calls = false }",
    },
    "pricing": {
        "input_per_million": PRICES,
        "output_per_million": PRICES,
        "cached": f"{PRICES}\ncached = 0.025",
        "cache_write": f"{PRICES}\ncache_write = 0.3",
        "web_search": f"{PRICES}\nweb_search = 10",
        "code_execution": f"{PRICES}\ncode_execution = 0.05",
    },
    "budgets": {
        "steps": "steps = 50",
        "depth": "depth = 4",
        "seconds": "seconds = 60",
        "tokens": "tokens = 100000",
        "cost": "cost = 0.5",
        "model_calls": "model_calls = 200",
    },
    "agents": {
        **COMMAND,
        **PROCESS,
        "transport": 'transport = "stdio"',
        "protocol": 'protocol = "acp"',
        "working_dir": 'working_dir = "workers"',
        "params": 'params = { mode = "fast" }',
    },
    "mcp": {
        **COMMAND,
        **PROCESS,
        "transport": 'transport = "http"',
        "url": 'url = "https://mcp.example.com"',
        "headers": 'headers = { X-Token = { env = "MCP_TOKEN" } }',
    },
    "python": {"thread": "thread = false"},
    "stores": {
        "kind": 'kind = "sqlite"',
        "path": 'kind = "sqlite"\npath = "notes.db"',
        "url_env": 'url_env = "STORE_URL"',
    },
    "embedders": {
        "connection": 'connection = "main"\nmodel = "text-embedding-3-small"',
        "model": 'connection = "main"\nmodel = "text-embedding-3-small"',
        "kind": 'kind = "host"',
    },
    "memory": {
        "namespace": 'namespace = "support"',
        "defaults": "defaults = { window = 40 }",
    },
    "serve": {"keys": 'keys = { user = "header:X-User" }'},
    "memory.defaults": {
        "retain": "retain = 500",
        "window": "window = 40",
        "tokens": "tokens = 4000",
        "clip": "clip = 500",
        "weight": "weight = 2",
        "prune": "prune = 0.9",
        "tools": "tools = true",
        "redact": 'redact = "Pii"',
        "on_failure": 'on_failure = "Record"',
        "on_conflict": 'on_conflict = "Fork"',
        "store": 'store = "durable"',
        "embed": 'embed = "offline"',
        "ttl": 'ttl = "30d"',
        "roles": 'roles = ["User", "Assistant"]',
        "summary": 'summary = { model = "Shortener", every = 3, inject = "Prompt" }',
    },
}


def example(path: tuple[str, ...]) -> str | None:
    """Return the help that shows how the key to which `path` leads, such as `("stores", "shared", "path")`, is written; for a key
    that the table does not have, or a path that ends at a table, how the table begins. Return None for an unknown table and for
    an empty path."""
    if not path or path[0] not in EXAMPLES:
        return None
    # A key of [memory.defaults] is reported with the table `memory`.
    rows = EXAMPLES[path[0]] | EXAMPLES.get(f"{path[0]}.defaults", {})
    keys = path[2:] if "." in HEADERS[path[0]] else path[1:]  # behind the name of `[stores.NAME]`
    line = rows.get(keys[0]) if keys else None
    if line is None:
        return f"write {_quoted(HEADERS[path[0]])} with {_quoted(next(iter(rows.values())))}"
    return f"write {_quoted(line)}"


def _quoted(lines: str) -> str:
    return " and ".join(f"`{line}`" for line in lines.split("\n"))


def suggestion(what: str, name: str, names: Sequence[str]) -> str | None:
    """Return the help for a name that a table does not have: the nearest one, else all of them; None without names. `what` is
    their plural noun."""
    return did_you_mean(name, names) or listed(what, names, len(names))
