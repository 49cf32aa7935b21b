"""The family of errors that is meant where another one has no such variant (L-4.1.5).

Hands on `family_help`. Must not know: scopes, the families themselves.
"""

from __future__ import annotations

from ...vm.values.errors import FAMILIES, is_family
from .spelling import listed


def family_help(owner: str, name: str) -> str | None:
    """Of a family below `owner`, since its errors are met where those of `owner` are: a variant of this name, or those of the
    family whose name it begins with (`AgentError::SchemaValidation`)."""
    below = [family for family in FAMILIES.values() if family.name != owner and is_family(family.name, owner)]
    for family in below:
        if name in family.variants:
            return f"write `{family.name}::{name}`"
    for family in below:
        word = family.name.removesuffix("Error")
        if word and name.startswith(word):
            variants = listed("its variants", [*family.variants], like=name.removeprefix(word))
            return f"these errors are of the family `{family.name}`{f': {variants}' if variants else ''}"
    return None
