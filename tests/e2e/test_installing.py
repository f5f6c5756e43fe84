"""What is built from npm's packages is in the distributions, with its licences; where it could not be, it is said."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import twine.commands.check

import evenhand

ROOT = Path(__file__).parents[2]
PARTS = (
    "evenhand/wings/viewer/static/app.js",
    "evenhand/wings/viewer/static/app.css",
    "evenhand/wings/viewer/static/live.js",
    "evenhand/languages/javascript/libraries/nunjucks.js",
    "evenhand/languages/javascript/libraries/big-integer.js",
    "evenhand/languages/javascript/libraries/sql.json.xz",
)
REDISTRIBUTED = {
    "a-sync-waterfall", "asap", "big-integer", "diff", "marked", "node-sql-parser", "nunjucks", "preact",
}  # fmt: skip
LARGEST = 3_400_000
"""Bytes of a wheel: an installation is to stay small."""
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from 3.11.4 on
UNREACHABLE = "http://127.0.0.1:9/"
CONFIG = """
prompts: ["Say {{ word | upper }}"]
providers: [echo]
tests:
  - vars: {word: hello}
    assert: [{type: is-sql}]
"""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the repository has, without anything that was built."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    copy = tmp_path / "checkout"
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


def built(kind: str, source: Path, out: Path, **env: str) -> Path:
    """A distribution, by the backend that pyproject.toml names."""
    out.mkdir(exist_ok=True)
    code = f"import build_backend, sys; print(build_backend.build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source / "packaging"), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / done.stdout.split()[-1]


def with_parts(copy: Path) -> None:
    """The parts as they were built in this checkout."""
    shutil.copytree(ROOT / "licenses", copy / "licenses")
    for folder in ("wings/viewer/static", "languages/javascript/libraries"):
        shutil.copytree(ROOT / "src/evenhand" / folder, copy / "src/evenhand" / folder)
    shutil.copy2(ROOT / "page/.built-from", copy / "page")


def test_what_is_built_is_not_in_the_repository(checkout: Path) -> None:
    """Nor is any other code that somebody else wrote."""
    there = [path.relative_to(checkout).as_posix() for path in checkout.rglob("*")]
    assert not [name for name in there if name.removeprefix("src/") in PARTS]
    assert not [name for name in there if re.search(r"\.min\.(js|css)$|node_modules", name)]


@pytest.mark.thorough
def test_a_wheel_from_the_source_distribution_has_all_parts_and_licences_and_needs_no_node(
    checkout: Path, tmp_path: Path
) -> None:
    """Without a Node, and without a registry."""
    with_parts(checkout)
    archive = built("sdist", checkout, tmp_path / "dist", PATH="/nowhere")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", **SAFELY)
    (source,) = (tmp_path / "unpacked").iterdir()
    wheel = built("wheel", source, tmp_path / "dist", PATH="/nowhere", EVENHAND_REQUIRE_PARTS="1")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(packed.read(about).decode())
    assert names.issuperset(PARTS)
    files = metadata.get_all("License-File") or []
    assert {Path(name).stem for name in files} == REDISTRIBUTED | {"LICENSE"}
    assert all(f"{Path(about).parent.as_posix()}/licenses/{name}" in names for name in files)
    for word in ("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Unlicense"):
        assert word in metadata["License-Expression"].split(" AND ")
    assert metadata["Version"] == evenhand.__version__
    assert wheel.stat().st_size < LARGEST
    assert twine.commands.check.check([str(wheel), str(archive)], strict=True) is False


def test_the_page_names_whose_code_is_in_it() -> None:
    """A report that is passed on has the page in it, and no folder of licences."""
    head = (ROOT / "src/evenhand/wings/viewer/static/app.js").read_text("utf-8")[:1000]
    assert all(re.search(rf"\* {name} [\d.]+, .*Copyright", head) for name in ("diff", "marked"))


@pytest.mark.thorough
def test_where_npm_cannot_be_reached_the_rest_is_built_and_says_what_is_missing(
    checkout: Path, tmp_path: Path
) -> None:
    """The viewer, templates with more than names, and is-sql; all else works."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    alone = {"npm_config_registry": UNREACHABLE, "npm_config_cache": str(tmp_path / "cache")}
    wheel = built("wheel", checkout, tmp_path / "dist", **alone)
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    assert not [name for name in PARTS if (site / name).exists()]

    def evenhand(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from evenhand.cli import main; main()", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    missing = "this installation was built without"
    looked = evenhand("view", "--no-browser")
    assert looked.returncode == 2, looked.stderr
    assert f"{missing} the viewer's page" in looked.stderr
    assert "Install Evenhand again" in looked.stderr
    config = tmp_path / "promptfooconfig.yaml"
    config.write_text(CONFIG)
    refused = evenhand("run")
    assert refused.returncode == 2, refused.stderr
    assert re.search(rf"promptfooconfig\.yaml:2:\d+: .*{missing} Nunjucks", refused.stderr)
    assert re.search(rf"promptfooconfig\.yaml:6:\d+: .*{missing} the SQL parsers", refused.stderr)
    config.write_text(CONFIG.replace(" | upper", "").replace("is-sql", "equals, value: Say hello"))
    early = evenhand("run", "-o", "report.html")
    assert early.returncode == 2
    assert f"{missing} the viewer's page" in early.stderr
    assert not (tmp_path / ".evenhand/runs").exists()
    assert evenhand("run").returncode == 0
    exported = evenhand("export", "--to", "report.html")
    assert exported.returncode == 2
    assert f"{missing} the viewer's page" in exported.stderr
