import ast
import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.core import source_code
from evenhand.core.encoding import digest
from evenhand.core.source_code import fields_in, text_of_code
from evenhand.core.users_code import keep_text, text_of_node

SAMPLE = '''
from __future__ import annotations
from functools import wraps

ONE, TWO = (lambda x: x > 1), (lambda x: (lambda y: y)(x) > 2)


def grade(output: str, *, limit: int = 2, words=("a", "b")) -> bool:
    """Whether it is good."""
    text = f"{output!r:>{limit}} and {limit=} {'x' if output else f'{output}'}" "tail" f"{1:}"
    several = [w.upper() for w in words if w in output and -limit < 3**2]
    try:
        assert several, f"none of {words}"
    except* ValueError:
        pass
    match output:
        case {"a": [x, *rest], **more} if x:
            return True

    def inner(a: int | None = None, /, b=...) -> None:
        """Within."""
        nonlocal text
        text += "é"

    return 1 <= len(several) < limit and 1_000 > 1e3 or b"x" in output or 1j


class Shape:
    """A shape."""

    sides: int
    name: str | None = None

    async def drawn(self, points):
        return [point async for point in points]
'''
ASKED = """
import sys
from types import CodeType

sys.path.insert(0, sys.argv[1])
from evenhand.core.source_code import fields_in, text_of_code

def codes_in(code):
    for one in code.co_consts:
        if isinstance(one, CodeType) and one.co_name in ("grade", "drawn", "<lambda>", "Shape"):
            if one.co_name != "Shape":
                yield one
            yield from codes_in(one)

for code in codes_in(compile(open(sys.argv[2]).read(), sys.argv[2], "exec")):
    print(text_of_code(code))
print(fields_in(sys.argv[2], "Shape"))
"""


def told_by(python: str, folder: Path) -> str:
    """What the module says of the sample where this interpreter runs it, with nothing of ours installed."""
    (folder / "sample.py").write_text(SAMPLE)
    command = [python, "-I", "-c", ASKED, str(Path(source_code.__file__).parents[2]), "sample.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_what_code_says_is_the_same_in_every_version_of_python(tmp_path: Path):
    """Each runs the gate of a baseline that another one made: so this digest is written down."""
    text = told_by(sys.executable, tmp_path)
    assert digest(text)[:8] == "023ab7fb"
    assert "Whether it is good" not in text
    assert "Within" not in text


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_another_python_of_this_machine_says_the_same(tmp_path: Path, version: str):
    """Whichever there are; CI has one."""
    python = shutil.which(f"python{version}")
    works = python and subprocess.run([python, "-V"], capture_output=True, check=False).returncode
    if python is None or works != 0:
        pytest.skip(f"there is no Python {version} here")
    assert told_by(python, tmp_path) == told_by(sys.executable, tmp_path)


def same(function: Callable[..., object]) -> Callable[..., object]:
    """A decorator."""
    return function


def test_a_function_is_found_by_its_first_line_decorated_or_not():
    """Without its decorators."""

    @same
    @functools.cache
    def decorated(x: int) -> int:
        return x + 1

    def plain(y):
        return y + 1

    assert "id='x'" in text_of_code(decorated.__wrapped__.__code__)
    assert "same" not in text_of_code(decorated.__wrapped__.__code__)
    assert "id='y'" in text_of_code(plain.__code__)


def test_of_lambdas_in_one_line_each_is_known_apart():
    """By their columns."""
    one, two, around = lambda x: x > 1, lambda x: x > 2, lambda x: (x, lambda y: y > 3)
    texts = [text_of_code(each.__code__) for each in (one, two, around)]
    assert len({*texts}) == 3
    assert ["value=2" in text for text in texts] == [False, True, False]
    within = next(each for each in around.__code__.co_consts if hasattr(each, "co_code"))
    assert "id='x'" not in text_of_code(within)


def test_code_without_source_says_nothing():
    """As it was made while something ran."""
    made: dict[str, Callable[[], None]] = {}
    exec("def made(): pass", made)
    assert not text_of_code(made["made"].__code__)
    assert fields_in(__file__, "Nothing") is None
    assert fields_in("", "Nothing") is None


def test_a_file_that_was_written_is_read_again(tmp_path: Path):
    """As `watch` and notebooks do."""
    file = tmp_path / "graders.py"
    texts: list[str] = []
    for bound in (10, 2000):
        file.write_text(f"def grade(output):\n    return len(output) < {bound}\n")
        space: dict[str, Callable[[str], bool]] = {}
        exec(compile(file.read_text(), file, "exec"), space)
        texts.append(text_of_code(space["grade"].__code__))
    assert ["value=10)" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = 1  # a remark", "x = (1)"),
        ("def f(a: int) -> str: ...", "def f(a): ..."),
        ("'a' 'b'", "'ab'"),
        ("f'a' f'b{c}'", "f'ab{c}'"),
        ("x: int = 1", "x: float = 1"),
    ],
)
def test_layout_and_annotations_are_no_part_of_what_code_says(one: str, two: str):
    """They do nothing."""
    assert text_of_node(ast.parse(one)) == text_of_node(ast.parse(two))


@pytest.mark.parametrize(
    "edited", ["return len(output) < 90", "return len(output) > 9", "return output"]
)
def test_code_whose_file_was_edited_since_it_was_imported_says_nothing(tmp_path: Path, edited: str):
    """A run that is under way would record the edited check, and the next run would be of the same one."""
    file = tmp_path / "graders.py"
    file.write_text("def grade(output):\n    return len(output) < 9\n")
    space: dict[str, Callable[[str], bool]] = {}
    exec(compile(file.read_text(), file, "exec"), space)
    file.write_text(f"def grade(output):\n    {edited}\n")
    assert not text_of_code(space["grade"].__code__)


def test_code_that_was_read_before_its_file_was_edited_is_known(tmp_path: Path):
    """Plans have modules read once they are imported."""
    file = tmp_path / "graders.py"
    file.write_text("def grade(output):\n    return len(output) < 9\n")
    space: dict[str, Callable[[str], bool]] = {}
    exec(compile(file.read_text(), file, "exec"), space)
    keep_text(str(file))
    file.write_text("def grade(output):\n    return True\n")
    assert "value=9)" in text_of_code(space["grade"].__code__)
