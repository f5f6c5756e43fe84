"""`evenhand doctor`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import doctor as module
from evenhand.cli.doctor import Finding, doctor

SECRET = "sk-live-abcdefghijklmnop"


@pytest.fixture(autouse=True)
def _no_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_CACHE", raising=False)


def stated(findings: list[Finding], word: str) -> Finding:
    """The one finding that has this word in it."""
    (found,) = [finding for finding in findings if word in finding.what]
    return found


def test_all_is_well_in_a_working_environment(tmp_path: Path):
    """With a key and a writable folder nothing is wrong."""
    findings = doctor(tmp_path, {"OPENAI_API_KEY": SECRET})
    assert [f for f in findings if f.state == "bad"] == []
    assert stated(findings, "Python").state == "ok"
    assert stated(findings, "keys set").what == "keys set: OPENAI_API_KEY"


def test_all_packages_that_are_needed_are_looked_for():
    """Those that pyproject.toml names; uvloop is not there on every platform."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    named = [re.match(r"[\w-]+", one) for one in project["project"]["dependencies"]]
    assert {one[0] for one in named if one} == {*module.PACKAGES, "uvloop"}


def test_each_setting_of_the_project_is_shown_with_its_line(tmp_path: Path):
    """Those of a gate, too."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.evenhand]\nbatch = true\ncanaries = 3\n[tool.evenhand.gate]\nmargin = 0.1\n"
        'baseline = "b.evn"\nundecided = "pass"\nmetrics = ["passed"]\n'
    )
    settings = [
        one.what for one in doctor(tmp_path, {}, tmp_path) if one.what.startswith("project: ")
    ]
    said = [re.sub(r" \(.*pyproject.toml:(\d)\)$", r" in line \1", one[9:]) for one in settings]
    assert said == [
        "canaries = 3 in line 3",
        "batch = true in line 2",
        f"gate.baseline = {tmp_path / 'b.evn'} in line 6",
        "gate.margin = 0.1 in line 5",
        "gate.undecided = pass in line 7",
        "gate.metrics = passed in line 8",
    ]


def test_no_key_is_ever_shown(tmp_path: Path):
    """Neither keys nor the passwords in addresses appear in what is said."""
    env = {
        "OPENAI_API_KEY": SECRET,
        "ANTHROPIC_API_KEY": f" {SECRET}",
        "OPENAI_BASE_URL": f"https://me:{SECRET}@example.com/v1",
        "HTTPS_PROXY": f"http://me:{SECRET}@proxy.example.com:3128",
    }
    said = "\n".join(map(str, doctor(tmp_path, env)))
    assert SECRET not in said
    assert "calls go to example.com" in said
    assert "calls go through proxy.example.com:3128" in said


def test_a_key_with_a_line_break_is_warned_of(tmp_path: Path):
    """A key that was pasted with a line break would be refused by the vendor."""
    finding = stated(doctor(tmp_path, {"OPENAI_API_KEY": f"{SECRET}\n"}), "line break")
    assert finding.state == "warn"


def test_no_key_at_all_is_a_warning_with_a_way_out(tmp_path: Path):
    """Without a key one can still run offline: what lies here, or an example."""
    finding = stated(doctor(tmp_path, {"OPENAI_API_KEY": " "}, tmp_path), "no key")
    assert finding.state == "warn"
    assert finding.hint.endswith("try without: evenhand init my-evals")
    (tmp_path / "offline.jsonl").write_text("")
    finding = stated(doctor(tmp_path, {}, tmp_path), "no key")
    assert finding.hint.endswith("try without: evenhand run --offline")


@pytest.mark.parametrize("address", ["localhost:8000/v1", "https:///v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_bad(tmp_path: Path, address: str):
    """An address without scheme or host cannot be called."""
    assert stated(doctor(tmp_path, {"OPENAI_BASE_URL": address}), "not an address").state == "bad"


def test_looking_writes_nothing(tmp_path: Path):
    """Folders that are not there are not made."""
    findings = doctor(tmp_path / "home", {})
    assert "will keep runs" in stated(findings, "runs,").what
    assert list(tmp_path.iterdir()) == []


def test_runs_and_cache_are_counted(tmp_path: Path):
    """Folders that are there are described."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "A.db").write_bytes(b"x" * 1_500_000)
    assert "keeps runs: 1 file, 1.5 MB" in stated(doctor(tmp_path, {}), "keeps runs").what


def test_a_file_in_place_of_the_folder_is_bad(tmp_path: Path):
    """Runs cannot be kept below a file."""
    (tmp_path / "home").write_text("", "utf-8")
    assert stated(doctor(tmp_path / "home", {}), "runs cannot be kept").state == "bad"


def test_a_read_only_folder_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs cannot be kept where nobody may write."""

    def nobody(path: Path, mode: int) -> bool:
        return False

    monkeypatch.setattr(os, "access", nobody)
    assert "read-only" in stated(doctor(tmp_path, {}), "runs cannot be kept").what


@pytest.mark.parametrize(("free", "state"), [(10**10, "ok"), (5 * 10**8, "warn"), (10**6, "bad")])
def test_space_on_the_disk_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str
):
    """Little space is a warning, next to none is bad."""
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage)
    assert stated(doctor(tmp_path, {}), "free on the disk").state == state


def test_a_clock_in_the_past_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With a clock of 1970 no certificate is valid."""
    monkeypatch.setattr(module.time, "time", lambda: 86_400.0)
    assert stated(doctor(tmp_path, {}), "the clock").state == "bad"


def test_a_missing_package_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An install that lost a package is told how to be made whole."""
    real: Callable[[str], str] = module.metadata.version

    def version(name: str) -> str:
        if name in ("quickjs-ng", "uvloop", "anthropic"):
            raise module.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(module.metadata, "version", version)
    findings = doctor(tmp_path, {})
    assert stated(findings, "not installed: quickjs-ng").state == "bad"
    assert stated(findings, "uvloop").state == "warn"


def test_a_finding_reads_as_state_then_what_then_what_to_do():
    """The state stands in a column of its own, the hint below what it belongs to."""
    assert str(Finding("bad", "no disk", "Buy one.")) == "bad   no disk\n      Buy one."
    assert str(Finding("ok", "all well")) == "ok    all well"
