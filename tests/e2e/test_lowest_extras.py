"""The lowest version that each extra allows has what is imported from it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("mcp", "otel", "parquet", "pdf", "remote", "team", "text", "xlsx")
"""Those from which names are imported: LiteLLM and Ray are asked by attribute."""
PACKAGES = frozenset(
    "cryptography httpx2 jwt mcp obstore openpyxl opentelemetry psycopg pyarrow pypdf sacrebleu".split()
)

pytestmark = pytest.mark.timeout(600)


def imports(node: ast.AST) -> Iterator[str]:
    """The lines that import from these packages, without those for type checkers alone."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
        yield from (f"from {node.module} import {alias.name}" for alias in node.names)
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        yield from (f"import {name}" for name in names if name.partition(".")[0] in PACKAGES)
    for child in ast.iter_child_nodes(node):
        yield from imports(child)


@pytest.mark.thorough
def test_the_lowest_version_of_each_extra_has_every_name_that_is_imported(tmp_path: Path) -> None:
    """Else an installation that the extra allows says that the library is missing."""
    lines = sorted(
        {
            line
            for path in (ROOT / "src/evenhand").rglob("*.py")
            if not {"scaffolds", "starters"} & set(path.parts)
            for line in imports(ast.parse(path.read_text("utf-8")))
        }
    )
    assert {line.split()[1].partition(".")[0] for line in lines} >= PACKAGES - {"cryptography"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    python = tmp_path / "venv/bin/python"
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"],
        [
            "uv",
            "pip",
            "install",
            "-q",
            "--system-certs",
            "--python",
            python,
            "--resolution",
            "lowest-direct",
            *listed,
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    code = "import sys\nfor line in sys.stdin:\n  try: exec(line)\n  except ImportError as error: print(line, error)"
    tried = subprocess.run(
        [python, "-c", code], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert (tried.stdout, tried.returncode) == ("", 0), tried.stderr
