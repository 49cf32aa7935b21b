"""`concerto models`: which models a connection offers, and what is wrong when it offers none (O-1.233).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. A connection is asked through the same client as by a run: with its key, headers, address and time limit. `asked` gives an
`Answer` for each; how it is printed is decided here too, and so is what to do about each kind of failure (`advice`). No model is
called, and no program is run.
"""

from __future__ import annotations

import os
import sys

from ..compiler.source import visible
from . import exits
from .inputs import compilation, is_image, load_image_of, read
from .run import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..runtime.connections import ConnectionSettings
    from ..runtime.errors import CallFailure
    from ..runtime.providers.sdk import SdkProvider
    from ..vm.bytecode.image import Model

    Layer = Mapping[str, Mapping[str, Any]]

SECONDS = 30.0  # to wait for a list, where the connection sets no timeout


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "connection", metavar="CONNECTION", nargs="?",
        help="its name; default: those that the models of the program use, without a program those whose key is set",
    )
    help = "the source or image that declares connections; default: that of the project, if there is one"
    parser.add_argument("--program", metavar="FILE", help=help)
    parser.add_argument("--env-file", metavar="FILE", help="NAME=value lines; variables that are set win")
    parser.add_argument("--json", action="store_true", help="print one JSON object: by connection what it answers")


def execute(arguments: argparse.Namespace) -> int:
    """Ask the connections; return 0 if each gives its list, else 1. Raise `Exit`: 2 for a name that no connection has, for one
    that is configured wrongly and where there is none to ask; as `load_image_of`, 2, 65, 66 or 74 for a FILE of another
    implementation, with errors, that cannot be read or that is refused; as `environment`, 66 or 2 for the file of
    `--env-file`."""
    env = environment(arguments.env_file)
    layer, models = _declared(arguments)
    names = _chosen(arguments.connection, layer, models, env)
    settings = [_settings(name, layer, env) for name in names]
    answers = asked(settings, env)
    if arguments.json:
        import json

        print(json.dumps({answer.settings.name: answer.as_json(env) for answer in answers}, ensure_ascii=False))
    else:
        for answer in answers:
            _print(answer, models, env, alone=len(answers) == 1, quiet=arguments.quiet)
    return exits.FAILED if any(answer.failure is not None for answer in answers) else exits.OK


# Which connections there are, and which are asked.


def _declared(arguments: argparse.Namespace) -> tuple[Layer, Sequence[Model]]:
    """Return the fields of the connections of the program by name, and its models. Of a project whose source has errors, what
    its manifest says."""
    if arguments.program is not None:
        image, _ = load_image_of(arguments.program, quiet=True)
        return {one.name: one.fields for one in image.connections}, image.models
    from ..compiler.manifest import Manifest
    from ..compiler.manifest_file import NAME, find_manifest

    path = find_manifest(os.getcwd())
    if path is None:
        return {}, ()
    manifest = Manifest(path)
    entry = None if manifest.entry is None else os.path.join(manifest.folder, manifest.entry)
    if entry is not None and os.path.isfile(entry):
        data = read(entry)
        result = None if is_image(data) else compilation(entry, data)
        if result is not None and result.image is not None:
            return {one.name: one.fields for one in result.image.connections}, result.image.models
        name = os.path.relpath(entry)
        print(f"{name} does not compile (`concerto check` says why): only the connections of {NAME} are known", file=sys.stderr)
    return manifest.connections, ()


def _chosen(name: str | None, layer: Layer, models: Sequence[Model], env: Mapping[str, str]) -> list[str]:
    from ..vm.providers import PREDECLARED, PROVIDERS

    every = [*dict.fromkeys([*layer, *PREDECLARED])]
    if name is not None:
        if name not in every:
            from difflib import get_close_matches

            near = "".join(f"; did you mean {other}?" for other in get_close_matches(name, every, n=1))
            near = near or ("; a program is named by `--program`" if name.endswith((".conc", ".concb")) else "")
            raise exits.Exit(exits.USAGE, f"there is no connection {name}{near}\nconnections are: {', '.join(every)}")
        return [name]
    used = [*dict.fromkeys(model.connection for model in models)] or [*layer]
    keyed = [n for n in PREDECLARED if any(env.get(name, "").strip() for name in PROVIDERS[n].key_variables)]
    chosen = used or keyed
    if not chosen:
        variables = ", ".join(dict.fromkeys(variable for n in PREDECLARED for variable in PROVIDERS[n].key_variables))
        raise exits.Exit(
            exits.USAGE, f"name a connection: `concerto models {every[0]}`; connections are: {', '.join(every)}\n"
            f"without a name those are asked whose key is set, and none of {variables} is",
        )  # fmt: skip
    return chosen


def _settings(name: str, layer: Layer, env: Mapping[str, str]) -> ConnectionSettings:
    from ..runtime.connections import check_connections, resolve
    from ..runtime.errors import ConfigFailure

    try:
        check_connections([{name: layer[name]}] if name in layer else [])
        return resolve(name, [layer], env)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None


# Asking.


class Answer:
    """What a connection answered: the `ids` of its models, or the `failure`, which is None if it gave the list. `place` is the
    address that was asked, without secrets, empty where the settings have none, as for the built-in offline provider; `provider`
    is what asked, None for the built-in one; `settings` are those of the connection."""

    __slots__ = ("settings", "place", "provider", "ids", "failure")

    def __init__(
        self, settings: ConnectionSettings, place: str, provider: SdkProvider | None, ids: Sequence[str] = (),
        failure: CallFailure | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.provider = provider
        self.place = place
        self.ids = ids
        self.failure = failure

    def as_json(self, env: Mapping[str, str]) -> dict[str, Any]:
        """Return what `--json` prints of this connection: `provider` and `base_url`, and either its `models`, or the `error`
        (kind, variant, message) and `help`, what to do about it, as `advice`."""
        about = {"provider": self.settings.provider, "base_url": self.place}
        if self.failure is None:
            return {**about, "models": list(self.ids)}
        error = {"kind": self.failure.kind, "variant": self.failure.variant, "message": self.failure.message}
        return {**about, "error": error, "help": advice(self, env)}


def asked(connections: Sequence[ConnectionSettings], env: Mapping[str, str]) -> list[Answer]:
    """Ask connections for their models, all at the same time, and return the answers in the order of the connections. A
    connection whose call fails has its failure in its answer. `env` has the keys. Raise RuntimeError where an event loop runs."""
    import asyncio

    async def ask_all() -> list[Answer]:
        return await asyncio.gather(*(_ask(settings, env) for settings in connections))

    return asyncio.run(ask_all())


async def _ask(settings: ConnectionSettings, env: Mapping[str, str]) -> Answer:
    if not settings.row.wires:  # the offline provider is built in
        return Answer(settings, "", None, [settings.default_model or ""])
    from ..runtime.access.secrets import Redactor
    from ..runtime.errors import CallFailure
    from ..runtime.providers.pool import wire_class
    from ..runtime.providers.sdk import shown_address
    from ..runtime.records import SideRequest

    place = shown_address(settings.base_url) if settings.base_url else ""
    provider = wire_class(settings)(settings, env, Redactor())
    try:
        ids = await provider.model_ids(SideRequest(settings.name, settings.name, settings.timeout or SECONDS))
        return Answer(settings, place, provider, ids)
    except CallFailure as failure:
        return Answer(settings, place, provider, failure=failure)
    finally:
        await provider.aclose()


# What to do about a failure.


def advice(answer: Answer, env: Mapping[str, str]) -> str:
    """Return what to do about the failure of an answer, which has one; empty where its message says it, or where there is nothing
    to advise. `env` are the variables in which keys and proxies are looked for."""
    failure, settings = answer.failure, answer.settings
    assert failure is not None
    status, variant = failure.fields.get("status"), failure.variant
    variable = settings.key_variable(env)
    match failure.kind, variant:
        case "ConnectionError", "MissingKey" if settings.row.account is not None and not settings.names_key:
            return ""  # the message has all the ways
        case "ConnectionError", "MissingKey":
            return f"set it: `export {variable}=…`, or name a file of NAME=value lines: `--env-file .env`"
        case "ConnectionError", "AuthenticationFailed":
            return _about_the_key(answer, status, variable)
        case "ConnectionError", "NetworkError":
            return _about_the_address(settings, answer.place, env)
        case "TimeoutError", _:
            return f"the address answers too slowly or not at all: is it the right one? It is {answer.place}"
        case "AgentError", "ModelNotFound":
            return f"there is no list of models at {answer.place}/models: {_about_the_path(settings)}"
        case "AgentError", "InvalidResponse":
            return f"what answers at {answer.place} is no API of models: {_about_the_path(settings)}"
        case "AgentError", "RateLimited":
            return "key and address are right; the provider wants fewer requests, or an account that pays"
        case "ConnectionError", "ProviderUnavailable" if status is not None and status >= 500:
            return "address and key got there; the provider itself fails: try again later, and look at its status page"
        case "AgentError", "InvalidRequest":
            return f"the endpoint refuses to be asked: {_about_the_path(settings)}"
    return ""


def _about_the_key(answer: Answer, status: int | None, variable: str | None) -> str:
    settings, place = answer.settings, answer.place
    if answer.provider is not None and settings.row.account is not None and not settings.names_key:
        who = f"{place} refuses who asks {answer.provider.asked_as()}"
        return "" if status is None else f"{who}: is it the right account, and may it use these models?"
    if status is None:
        return f"copy the key into {variable} again, without quotes and line ends"
    if variable is None and settings.api_key is None:
        name = f"{settings.name.upper()}_KEY"
        return f'the endpoint wants a key, and the connection names none: `api_key: env("{name}")`, or `api_key_env = "{name}"`'
    what = "takes the key, but not for this" if status == 403 else "does not take the key"
    return f"{place} {what}: is {variable} the key of this provider, whole, still valid, and of the right project?"


def _about_the_address(settings: ConnectionSettings, place: str, env: Mapping[str, str]) -> str:
    if settings.row.served_by is not None:
        return f"is it running? `{settings.row.served_by}` starts it; the address is {place}"
    proxy = next((name for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy") if env.get(name)), None)
    way = f"; requests go by the proxy of {proxy}" if proxy is not None else ""
    return f"does a server run there, and is base_url right? It is {place}{way}"


def _about_the_path(settings: ConnectionSettings) -> str:
    if settings.row.base_url is not None and settings.base_url == settings.row.base_url:
        return "the provider may have changed it"
    ends, written = settings.row.address_ends, (settings.base_url or "").rstrip("/")
    if not ends:
        return "the base_url of this API has no path, unless a proxy is in between"
    return "is base_url the address of an API of this kind?" if written.endswith(ends) else f"its base_url mostly ends in {ends}"


# Printing. Ids go to stdout, all else to stderr.


def _print(answer: Answer, models: Sequence[Model], env: Mapping[str, str], *, alone: bool, quiet: bool) -> None:
    settings = answer.settings
    if answer.failure is not None:
        print(f"error: {answer.failure.message}", file=sys.stderr)
        help = advice(answer, env)
        if help:
            print(f"  help: {help}", file=sys.stderr)
        return
    if not alone:
        print(f"{settings.name}:")
    for id in sorted(answer.ids):
        shown = visible(id)  # what a server says must not write to the terminal
        print(shown if alone else f"  {shown}")
    if quiet:
        return
    count = f"{len(answer.ids)} model{'' if len(answer.ids) == 1 else 's'}"
    if not answer.place:
        print(f"{settings.name}: built in, without an endpoint", file=sys.stderr)
        return
    assert answer.provider is not None
    print(f"{settings.name}: {count} at {answer.place}, asked {answer.provider.asked_as()}", file=sys.stderr)
    if not answer.provider.lists_ids:
        print("  note: these are models that may be deployed; a request names a deployment of yours", file=sys.stderr)
        return
    for note in _missing(answer, models):
        print(f"  note: {note}", file=sys.stderr)


def _missing(answer: Answer, models: Sequence[Model]) -> list[str]:
    """Return a note for each model of the program that uses this connection and whose id is not in the list; an id may be an
    alias that lists do not have."""
    from difflib import get_close_matches

    offered = {id.removeprefix("models/") for id in answer.ids}
    notes = []
    for model in models:
        base = model.fields.get("base")
        id = answer.settings.model_id(base) if base is None or isinstance(base, str) else None
        if model.connection == answer.settings.name and id is not None and id.removeprefix("models/") not in offered:
            near = "".join(f"; did you mean {other}?" for other in get_close_matches(id, sorted(offered), n=1))
            notes.append(f"model {model.name} asks for {id}, which is not in the list{near}")
    return notes
