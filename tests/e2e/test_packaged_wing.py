"""A stranger's package brings through one record what our own wings bring; installed by pip, beside Evenhand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.wings.interchange.exports import EXPORTS

from evenhand.doors import importers

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tests/packages/acme_evals"
OURS = ROOT / "src/evenhand/wings/interchange/langsmith.py"
OWN = "\nfrom evenhand.core.encoding import digest, encode\n"
"""What our reader has besides what packages may import: a hash."""
Evenhand = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.timeout(300)


def moved_out(text: str) -> str:
    """Our own reader of LangSmith's exports, as a package has it: it imports what packages may import."""
    names: list[str] = []

    def noted(match: re.Match[str]) -> str:
        names.extend(one.strip() for one in re.split(r"[,\n]", match[1].strip("()")) if one.strip())
        return ""

    text = re.sub(r"^from evenhand\.\S+ import (\([^)]*\)|.*)\n", noted, text, flags=re.MULTILINE)
    public = sorted(set(names) & set(importers.__all__))
    assert set(names) - set(public) == {"digest", "encode"}
    begin = "from __future__ import annotations\n"
    return text.replace(
        begin, f"{begin}\nfrom evenhand.doors.importers import {', '.join(public)}\n{OWN}"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with Evenhand, its dependencies, and the package, which pip has installed."""
    folder = tmp_path_factory.mktemp("acme")
    source = folder / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "acme_evals/reading.py").write_text(moved_out(OURS.read_text("utf-8")))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    purelib = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    (purelib / "evenhand.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n")
    install = ["install", "-q", "--no-deps", "--no-build-isolation", source]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, *install],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def evenhand(site: Path, tmp_path: Path) -> Evenhand:
    """Runs the command line with the package installed."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [site, "-c", "from evenhand.cli import main; main()", *words],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("name", ["__init__", "longest", "tsv", "smoke"])
def test_the_package_is_the_example_of_the_page(name: str) -> None:
    """Word for word."""
    code = (PACKAGE / "acme_evals" / f"{name}.py").read_text("utf-8").partition('"""\n\n')[2]
    assert f"```python\n{code}```" in (ROOT / "docs/write-a-wing.md").read_text("utf-8")


def test_the_package_keeps_the_promises_of_a_wing(site: Path, tmp_path: Path) -> None:
    """It runs the check on itself, with a file that its importer reads."""
    code = (
        "import sys; from pathlib import Path; from acme_evals import WING; "
        "from evenhand.testing import check_wing; "
        "check_wing(WING, files={'acme': [Path(p) for p in sys.argv[1:]]})"
    )
    files = EXPORTS["langsmith"](tmp_path)
    done = subprocess.run([site, "-c", code, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_its_commands_are_commands(evenhand: Evenhand, tmp_path: Path) -> None:
    """Help lists them, ends with examples, and a slip finds them; --json, settings and exit codes hold."""
    listed = evenhand("--help").stdout
    assert re.search(r"^  longest +List the longest outputs of a run\.$", listed, re.MULTILINE)
    assert "evenhand longest latest" in evenhand("longest", "--help").stdout
    assert "longest" in evenhand("longes").stderr
    ran = evenhand("smoke", "echo", "--json", "--no-progress")
    assert (ran.returncode, json.loads(ran.stdout)["passed"]) == (0, 2), ran.stderr
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand.acme]\nmost = 1\n")
    (run,) = (tmp_path / ".evenhand" / "runs").glob("*.db")
    document = json.loads(evenhand("longest", str(run), "--json").stdout)
    assert (document["schema"], len(document["outputs"])) == ("acme.longest/1", 1)
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand.acme]\nmots = 1\n")
    slip = evenhand("longest", str(run))
    assert (slip.returncode, slip.stderr.count("pyproject.toml:2")) == (2, 1)
    assert "Did you mean 'most'?" in slip.stderr
    schema = json.loads(evenhand("info", "schema", "acme.longest/1").stdout)
    assert "Longest" in json.dumps(schema)


def test_its_study_is_resumed_as_ours_are(evenhand: Evenhand, tmp_path: Path) -> None:
    """`resume` ends with what the study came to, and its exit code."""
    assert evenhand("smoke", "echo", "--no-progress").stdout == "echo: 2 of 2\n"
    (run,) = (tmp_path / ".evenhand" / "runs").glob("*.db")
    again = evenhand("resume", str(run), "--no-progress")
    assert (again.returncode, again.stdout) == (0, "echo: 2 of 2\n"), again.stderr


def test_it_reads_and_writes_files(evenhand: Evenhand, tmp_path: Path) -> None:
    """Its importer reads what ours reads, to the same runs; its format is one of `export`'s, by name and ending."""
    files = [str(one) for one in EXPORTS["langsmith"](tmp_path / "exports")]
    theirs = json.loads(evenhand("import", "acme", *files, "--json").stdout)
    assert theirs["runs"] or theirs["datasets"]
    assert evenhand("smoke", "echo", "--no-progress").returncode == 0
    run = max((tmp_path / ".evenhand" / "runs").glob("*.db"), key=lambda path: path.stat().st_mtime)
    for to in ("results.tsv", "other.txt"):
        done = evenhand("export", str(run), "--to", to, *(["--format", "tsv"] * (to[0] == "o")))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / to).read_text().count("\tpass\t") == 2
    refused = evenhand("export", str(run), "--to", "x.docx").stderr
    assert "tsv" in refused


def with_wing(source: str, folder: Path) -> Evenhand:
    """Runs command lines in a folder where a package has the wing of this source."""
    info = folder / "site/bad_wing-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-wing\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[evenhand.wings]\nbad = bad:WING\n")
    (folder / "site/bad.py").write_text(source)
    code = "from evenhand.cli import main; main()"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(folder / "site")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("WING = 3", "is int, not a Wing"),
        (
            (
                "from evenhand.wings import Command, Wing\n"
                "WING = Wing(name='bad', commands={'run': Command('bad:x', ''), 'probe': Command('bad:x', '')})"
            ),
            "commands 'probe', commands 'run'",
        ),
        (
            "from evenhand.wings import Wing\nWING = Wing(name='bad', commands={'longest': 'bad:longest'})",
            "`commands[...]` is text, not an object",
        ),
        (
            (
                "from evenhand.wings import Exporter, Wing\n"
                "WING = Wing(name='bad', exporters={'tsv': Exporter('bad:write', 'tsv')})"
            ),
            "`exporters[...].endings` is text, not a list",
        ),
        (
            "from evenhand.wings import Wing\nWING = Wing(name='bad', studies={'look': print})",
            "is no Wing that can be used: ",
        ),
    ],
)
def test_doctor_says_what_of_a_wing_is_not_used(source: str, told: str, tmp_path: Path) -> None:
    """One that cannot be loaded, or whose names are ours; no other command breaks for it."""
    run = with_wing(source, tmp_path)
    said = " ".join(run("doctor").stdout.split())
    assert "bad-wing 0.1" in said
    assert told in said
    assert run("--help").returncode == run("probe", "--help").returncode == 0


def test_what_a_packages_format_raises_is_a_fault_of_the_package(tmp_path: Path) -> None:
    """In one message with its name, and no file is written."""
    run = with_wing(
        "from evenhand.wings import Exporter, Wing\ndef write(run): ...\n"
        "WING = Wing(name='bad', exporters={'tsv': Exporter('bad:write', ('tsv',))})",
        tmp_path,
    )
    config = "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    assert run("run", "--no-table").returncode == 0
    ended = run("export", "latest", "--to", "x.tsv")
    assert ended.returncode == 2
    assert "bad:write raised TypeError: write() takes 1 positional argument" in ended.stderr
    assert "pip uninstall bad-wing" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "x.tsv").exists()
