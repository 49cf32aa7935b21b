"""The build backend: that of setuptools, and one archive of the suite's programs in the wheel (C-9.5).

In the repository and in the source distribution the programs are files, for people who read and change them. Two thousand small
files would take longest of all when a wheel is installed, so there they are `conformance/programs.zip`, which
`conformance/suite.py` reads. Equal programs give equal bytes. Hands on the hooks of `__all__` to whatever builds the package
(`[build-system]` of `pyproject.toml`); all but `build_wheel` are those of setuptools. What else is in the wheel is decided by
`pyproject.toml`, what else is in the source distribution by `MANIFEST.in`.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = (
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
)  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "conformance"
ARCHIVED = ("tests", "images", "expected-fail")  # folders of the suite
BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)  # of zip files


def build_wheel(directory: str, settings: dict[str, object] | None = None, metadata: str | None = None) -> str:
    """Build the wheel into a directory, and return its name."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools would take what an earlier build left there
    with archive_of_programs():
        return str(build_meta.build_wheel(directory, settings, metadata))


@contextmanager
def archive_of_programs() -> Iterator[Path]:
    """Have the archive beside the programs, and take it away again: the repository has the files themselves."""
    path = SUITE / "programs.zip"
    write_archive(path)
    try:
        yield path
    finally:
        path.unlink()


def write_archive(path: Path) -> None:
    """Write the files of the archived folders, sorted by name, all of one time."""
    files = sorted(file for folder in ARCHIVED for file in (SUITE / folder).rglob("*") if file.is_file())
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(SUITE).as_posix(), BEGINNING_OF_TIME)
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
