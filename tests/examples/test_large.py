"""The large example: no warning, the same output from source and from an image, canonical layout, and large indeed."""

import shutil

from ..command import EXAMPLES, concerto

LARGE = EXAMPLES / "large"
FILES = sorted(LARGE.rglob("*.conc"))
GOLDEN = EXAMPLES.parent / "tests" / "examples" / "large.golden.txt"


def test_source_and_shipped_image_give_the_golden_output(tmp_path, bless):
    home = tmp_path / "home"
    shutil.copytree(LARGE, home)
    from_source = concerto("run", "main.conc", "--offline", cwd=home, PYTHONHASHSEED="1")
    if bless:
        GOLDEN.write_text(from_source.out)
    assert from_source == (0, GOLDEN.read_text(), "")  # a warning would stand on stderr
    assert concerto("compile", "main.conc", "-o", tmp_path / "shipped", cwd=home, PYTHONHASHSEED="2") == (0, "", "")
    shutil.rmtree(home)
    assert concerto("run", "shipped", "--offline", cwd=tmp_path, PYTHONHASHSEED="3") == from_source


def test_nothing_is_a_surprise():
    """The program compares its own tables; the golden file must not bless a difference."""
    golden = GOLDEN.read_text()
    assert "[emit:schema] 75 samples" in golden
    assert "[emit:play:restored] true" in golden
    for sign in ("[emit:schema:surprise]", "accepted: ", "no fault: ", "not JSON: ", "nothing matches"):
        assert sign not in golden


def test_the_layout_is_canonical():
    assert concerto("fmt", "--check", *FILES, cwd=LARGE) == (0, "", "")


def test_it_is_a_program_of_three_thousand_lines_in_three_directories():
    lines = sum(path.read_text().count("\n") for path in FILES)
    assert 3_000 <= lines <= 4_500
    assert {path.parent.name for path in FILES} == {"large", "schema", "rules", "adventure"}
