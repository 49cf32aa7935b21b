"""Equal sources give equal bytes, wherever and however they are compiled; an image says nothing of its maker (V-3.4)."""

import getpass
import os
import shutil
import subprocess
import sys

import pytest
from concerto.vm.bytecode.encoding import MAGIC

from ..command import EXAMPLES, environment

NAMES = sorted(path.name for path in EXAMPLES.glob("*.conc"))
# Compiles every file named, in one process: a process costs more than a compilation.
COMPILE_ALL = """
import sys
from concerto.cli.main import main
for name in sys.argv[1:]:
    if main(["compile", name]) != 0:
        sys.exit(f"{name} does not compile")
"""
SETTINGS = [
    {"PYTHONHASHSEED": "0", "LANG": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LANG": "de_DE.ISO-8859-1", "LC_ALL": "POSIX", "TZ": "Asia/Tokyo", "SECRET_OF_MINE": "s3cr3t-value"},
    {"PYTHONHASHSEED": "4294967295", "LANG": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONUTF8": "0", "PYTHONOPTIMIZE": "2"},
]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Per setting, from a path of its own: name of the source -> bytes of its image; and those paths."""
    made, folders = [], []
    for number, extra in enumerate(SETTINGS):
        folder = tmp_path_factory.mktemp("somewhere" * (number + 1))
        folders.append(folder)
        for name in NAMES:
            shutil.copy(EXAMPLES / name, folder / name)
        words = NAMES if number % 2 else [str(folder / name) for name in NAMES]
        command = [sys.executable, "-c", COMPILE_ALL, *words]
        subprocess.run(command, cwd=folder, env=environment(**extra), check=True, timeout=60)
        made.append({name: (folder / name).with_suffix(".concb").read_bytes() for name in NAMES})
    return made, folders


@pytest.mark.parametrize("name", NAMES)
def test_equal_bytes(images, name):
    made, _ = images
    assert made[0][name].startswith(MAGIC)
    assert len({image[name] for image in made}) == 1


def test_nothing_of_the_place_it_was_made_in(images):
    made, folders = images
    places = [str(folder) for folder in folders] + [str(EXAMPLES), os.getcwd(), sys.prefix, "/tmp", "s3cr3t-value", "Tokyo"]
    user = getpass.getuser()
    for image in made[0].values():
        for text in places + [f"{user}@", f"/{user}", f"home/{user}"]:
            assert text.encode() not in image
