"""Libraries that only some programs need, and how somebody without them gets them.

Hands on `install_advice`. Must not know: who needs a library.
"""

from __future__ import annotations

DISTRIBUTION = "concerto-lang"


def install_advice(extra: str) -> str:
    """The command that installs what an extra lists, the libraries by their own names: it works whether Concerto came as a
    checkout or as a wheel. Where Concerto itself is not installed, the place that lists them."""
    required = _required(extra)
    if not required:
        return f"install what the extra `{extra}` in pyproject.toml lists"
    from shlex import quote

    return f"python -m pip install {' '.join(map(quote, required))}"


def _required(extra: str) -> list[str]:
    """The requirements of an extra, as the installed metadata has them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    parts = (row.partition(";") for row in rows)
    return [name.strip() for name, _, marker in parts if marker.replace("'", '"').strip() == f'extra == "{extra}"']
