"""The images that the verifier refuses, kept as bytes in the conformance suite: `conformance/images/verifier-*.json` (G-4.3)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.rules import RULES
from concerto.vm.bytecode.verify import verify

from .builder import BUILTINS
from .test_verify import CASES, shrinking

FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "images"


def goldens() -> dict[str, dict[str, Any]]:
    """File name to content, for every refused image."""
    refused = {rule: case.refused for rule, case in CASES.items()} | {"V126": [shrinking(40), shrinking(400)]}
    return {
        f"verifier-{rule}-{number}.json": {
            "about": RULES[rule],
            "clause": "G-4.3",
            "reject": f"{rule} verify",
            "bytes": base64.b64encode(encode(image)).decode(),
        }
        for rule, images in refused.items()
        for number, image in enumerate(images, 1)
    }


def test_the_suite_holds_every_refused_image(bless: bool) -> None:
    wanted = {name: json.dumps(content, indent=1) + "\n" for name, content in goldens().items()}
    if bless:
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.glob("verifier-*.json"):
            path.unlink()
        for name, text in wanted.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("verifier-*.json")} == wanted


@pytest.mark.parametrize("path", sorted(FOLDER.glob("verifier-*.json")), ids=lambda path: path.stem)
def test_image_is_refused(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(ImageError) as caught:
        verify(decode(base64.b64decode(content["bytes"])), BUILTINS)
    assert f"{caught.value.code} verify" == content["reject"]
