"""What an installed package adds: scorers, assertion types, providers, importers, by command line and library.

The package is `tests/packages`: a module and its dist-info, on the path as an installed one is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand import score, score_batch
from evenhand.core.errors import UsageError
from evenhand.core.plugins import ASSERTIONS, SCORERS, plugin, plugins
from evenhand.core.score import Outcome
from evenhand.store.runfile import RunFile

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tests" / "packages"


def evenhand(folder: Path, *words: str, path: Path = PACKAGES) -> subprocess.CompletedProcess[str]:
    """Runs a command line where the package is installed."""
    env = {**os.environ, "PYTHONPATH": str(path), "COLUMNS": "200"}
    code = "import sys; from evenhand.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
    )


def config(folder: Path, asserts: list[dict[str, Any]], **more: Any) -> Path:
    """A promptfoo folder with one test."""
    tests = [{"vars": {"who": "Ann"}, "assert": asserts}]
    prompts = ["Dear {{who}}, thank you"]
    given = {"prompts": prompts, "providers": ["shouter:!!"], "tests": tests, **more}
    (folder / "promptfooconfig.yaml").write_text(json.dumps(given), "utf-8")
    return folder


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is on this process's path."""
    monkeypatch.syspath_prepend(str(PACKAGES))


def outcomes(folder: Path) -> dict[str, Outcome]:
    """The outcomes of the one trial of the latest run, by label."""
    with RunFile.open(max(folder.glob("**/runs/*.db"))) as run:
        (trial,) = run.trials()
    return {one.name: one for one in trial.outcomes}


def test_a_package_adds_a_provider_and_assertion_types_to_a_promptfoo_folder(tmp_path: Path):
    """Templates, `not-`, weight, metric and threshold work as for ours."""
    config(
        tmp_path,
        [
            {"type": "not-formal", "value": "{{ 'very' }}", "weight": 2, "metric": "tone"},
            {"type": "longer-than", "value": 3},
            {"type": "not-longer-than", "value": 9, "threshold": 0.1},
            {"type": "words", "threshold": 4},
            {"type": "not-words", "threshold": 5},
            {"type": "contains", "value": "DEAR ANN, THANK YOU!!"},
        ],
    )
    run = evenhand(tmp_path, "run", ".")
    assert run.returncode == 0, run.stdout + run.stderr
    found = outcomes(tmp_path)
    assert {name: (o.outcome, o.score) for name, o in found.items()} == {
        "not-formal 'very'": ("pass", 1.0),
        "LongerThan(value=3)": ("pass", 4 / 7),
        "not-LongerThan(value=9)": ("pass", 9 / 13),
        "words": ("pass", 1.0),
        "not-words": ("pass", 1.0),
        'contains "DEAR ANN, THANK YOU!!"': ("pass", 1.0),
    }
    assert (found["not-formal 'very'"].weight, found["not-formal 'very'"].metric) == (
        2,
        "tone",
    )


def test_a_count_does_not_swell_the_mean_score_of_a_promptfoo_test(tmp_path: Path):
    """Four words are no score of 4: with one half, the mean stays below the threshold of the test."""
    asserts = [{"type": "words", "threshold": 2}, {"type": "contains", "value": "nothing of it"}]
    config(tmp_path, asserts, defaultTest={"threshold": 0.6})
    assert evenhand(tmp_path, "run", ".").returncode == 1
    with RunFile.open(max(tmp_path.glob("**/runs/*.db"))) as run:
        (trial,) = run.trials()
    assert (trial.outcome, trial.score) == ("fail", 0.5)
    assert trial.outcomes[0].reason == "4"
    assert trial.outcomes[0].metadata["measured"] == 4.0


def test_a_threshold_decides_over_what_a_package_measures_and_without_one_it_is_an_error(
    tmp_path: Path,
):
    """A number alone never passes; seen before anything is sent."""
    config(tmp_path, [{"type": "longer-than", "value": 1, "threshold": 0.99}])
    assert evenhand(tmp_path, "run", ".").returncode == 1
    (found,) = outcomes(tmp_path).values()
    assert found.reason == "0.8, wanted at least 0.99: 4 words"
    config(tmp_path, [{"type": "words"}, {"type": "words", "threshold": "many"}])
    seen = evenhand(tmp_path, "check", ".")
    assert seen.returncode == 2
    assert "'words' gives a number, and has no threshold" in seen.stdout + seen.stderr
    assert "threshold is 'many', not a number" in seen.stdout + seen.stderr


def test_a_broken_package_is_named_once_and_breaks_only_what_uses_it(tmp_path: Path):
    """What cannot be imported, what makes no provider, and what is spelt wrong."""
    config(tmp_path, [{"type": "broken"}, {"type": "formel"}])
    seen = evenhand(tmp_path, "check", ".")
    said = seen.stdout + seen.stderr
    assert seen.returncode == 2
    assert "assertion type 'broken' of the package evenhand-extras 1.2.3 cannot be loaded" in said
    assert "pip uninstall evenhand-extras" in said
    assert "Did you mean 'formal'?" in said
    assert "Traceback" not in said
    config(tmp_path, [{"type": "formal", "value": "very"}], providers=["silent:x"])
    said = evenhand(tmp_path, "check", ".").stderr
    assert "provider 'silent' of the package evenhand-extras 1.2.3 is not a provider" in said


def test_a_packages_provider_says_before_anything_is_sent_that_it_lacks_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As ours do, in a config and as a judge; with the key it runs."""
    asserts = [{"type": "contains", "value": "DEAR"}]
    config(tmp_path, asserts, providers=["locked:!!"])
    refused = evenhand(tmp_path, "run", ".")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "there is no API key for locked:!!" in refused.stderr
    assert "Set EXTRAS_KEY in the environment" in refused.stderr
    assert list(tmp_path.glob("**/runs/*.db")) == []
    judged = [{"type": "llm-rubric", "value": "is polite", "provider": "locked:!!"}]
    config(tmp_path, judged)
    checked = evenhand(tmp_path, "check", ".")
    assert "there is no API key for locked:!!" in checked.stdout + checked.stderr
    monkeypatch.setenv("EXTRAS_KEY", "k")
    config(tmp_path, asserts, providers=["locked:!!"])
    assert evenhand(tmp_path, "run", ".").returncode == 0


@pytest.mark.thorough
def test_ours_goes_before_a_packages_and_that_is_said(tmp_path: Path):
    """Echo is still echo; the lists and the doctor say what is not used."""
    config(tmp_path, [{"type": "contains", "value": "Dear"}], providers=["echo"])
    assert evenhand(tmp_path, "run", ".").returncode == 0
    listed = evenhand(tmp_path, "info", "scorers").stdout
    assert "formal       evenhand-extras 1.2.3, evenhand_extras:formal\n" in listed
    ours = "not used: Evenhand has one of this name"
    for name in ("faithfulness", "contains"):
        (line,) = [x for x in listed.splitlines() if x.startswith(f"  {name} ") and "extras" in x]
        assert ours in line
    known = evenhand(tmp_path, "info", "providers").stdout
    assert "shouter  evenhand-extras 1.2.3" in known
    assert ours in known
    doctor = evenhand(tmp_path, "doctor")
    assert "provider 'shouter' of the package evenhand-extras 1.2.3" in doctor.stdout
    assert "warn  scorer 'absent' of the package evenhand-extras 1.2.3 cannot be" in doctor.stdout
    assert "warn  provider 'echo' of the package evenhand-extras 1.2.3 is not used" in doctor.stdout
    assert doctor.returncode == 0


def test_a_prompt_directory_uses_a_packages_provider_and_assertion_types(tmp_path: Path):
    """In an eval.yml, beside its own operators."""
    prompt = tmp_path / "prompts" / "greet"
    prompt.mkdir(parents=True)
    (prompt / "meta.yml").write_text(
        "id: greet\ntitle: Greet\nsummary: s\nstatus: draft\nversion: 0.1.0\n"
        "created: 2026-01-01\nupdated: 2026-01-01\ninputs:\n  - {name: who}\n"
    )
    (prompt / "prompt.xml").write_text("<prompt>Dear {{who}}, thank you</prompt>\n")
    (prompt / "eval.yml").write_text(
        "defaults: {model: 'shouter:!!'}\n"
        "cases:\n"
        "  - name: ann\n"
        "    inputs: {who: Ann}\n"
        "    assert:\n"
        "      - contains: DEAR ANN\n"
        "      - {type: longer-than, value: 3}\n"
        "      - {type: not-formal, value: very}\n"
    )
    run = evenhand(tmp_path, "run", "prompts/greet")
    assert run.returncode == 0, run.stdout + run.stderr
    assert {"LongerThan(value=3)", "not-formal 'very'"} <= outcomes(tmp_path).keys()


@pytest.mark.usefixtures("installed")
def test_a_packages_scorers_are_metrics_by_name(tmp_path: Path):
    """A function; a class, which is made of what its arguments are called; one about passages."""
    found = score(
        answer="red green",
        context=["one", "two"],
        expected="red green blue",
        metrics=["word_count", "overlap", "grounded", "token_f1"],
        home=tmp_path,
    )
    assert found["word_count"].value == 2.0
    assert found["overlap"].value == pytest.approx(2 / 3)
    assert (found["grounded"].value, found["grounded"].best) == (2.0, "low")
    assert set(found.overall_of) == {"overlap", "token_f1"}
    bare = score(answer="red", metrics=["overlap"], home=tmp_path)
    assert bare["overlap"].outcome == "not_applicable"
    rows = [{"id": "a", "answer": "x y"}, {"id": "b", "answer": "x"}]
    report = score_batch(rows, metrics=["word_count"], home=tmp_path, progress=False)
    assert report.summary()[0].mean == 1.5


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent", "scorer 'absent' of the package evenhand-extras 1.2.3 cannot be loaded"),
        ("unmakeable", "scorer 'unmakeable' of the package evenhand-extras 1.2.3 is not a class"),
        ("grouned", "Did you mean 'grounded'?"),
    ],
)
def test_a_metric_of_a_package_that_cannot_be_used_is_told(tmp_path: Path, name: str, says: str):
    """Before anything is asked, with the package's name."""
    with pytest.raises(UsageError) as told:
        score(answer="x", metrics=[name], home=tmp_path)
    assert says in str(told.value)


@pytest.mark.usefixtures("installed")
def test_a_scorer_of_a_package_that_fails_while_it_is_made_is_an_error_of_its_metric_alone(
    tmp_path: Path,
):
    """With the package's name; the other metrics are measured."""
    report = score(answer="a b", expected="no", metrics=["picky", "word_count"], home=tmp_path)
    assert report["word_count"].value == 2.0
    assert (report["picky"].outcome, report["picky"].value) == ("error", None)
    assert (
        "scorer 'picky' of the package evenhand-extras 1.2.3 cannot be made"
        in report["picky"].reason
    )
    assert "ValueError: no" in report["picky"].reason


NIGHTLY = {
    "id": "n-17",
    "time": 1_760_000_000,
    "models": ["small", "large"],
    "rows": [
        {"question": "q1", "model": "small", "ok": False, "answer": "no", "disputed": True},
        {"question": "q1", "model": "large", "ok": True, "answer": "yes"},
        {"question": "q2", "model": "small", "ok": True, "answer": "yes"},
        {"question": "q2", "model": "large", "ok": True, "answer": "yes"},
    ],
}


def nightly(folder: Path, **changed: Any) -> Path:
    """The results of the package's tool."""
    path = folder / "nightly.json"
    path.write_text(json.dumps({**NIGHTLY, **changed}), "utf-8")
    return path


def test_a_package_imports_the_results_of_its_tool_as_a_run(tmp_path: Path):
    """It is shown, compared and labelled like any other, and kept once."""
    path = nightly(tmp_path)
    done = evenhand(tmp_path, "import", str(path), "--from", "nightly")
    assert done.returncode == 0, done.stderr
    assert "2 models × 2 cases = 4 trials" in done.stdout
    shown = json.loads(evenhand(tmp_path, "show", "--json").stdout)
    assert (shown["run"]["title"], shown["totals"]["trials"]) == ("nightly", 4)
    compared = evenhand(tmp_path, "compare", ":small", ":large")
    assert "1 better, 0 worse, 1 the same" in compared.stdout
    with RunFile.open(max(tmp_path.glob("**/runs/*.db"))) as run:
        assert [(one.index, one.value) for one in run.labels()] == [(0, "fail")]
    again = evenhand(tmp_path, "import", str(path), "--from", "nightly")
    assert again.returncode == 2
    assert "already exists" in again.stderr


@pytest.mark.parametrize(
    ("importer", "changed", "says"),
    [
        ("nighly", {}, "there is no importer 'nighly'"),
        ("nighly", {}, "Did you mean 'nightly'?"),
        (
            "empty",
            {},
            "importer 'empty' of the package evenhand-extras 1.2.3 returned dict, not Recordings",
        ),
        ("nightly", {"rows": [{}]}, "1.2.3 cannot read"),
        ("nightly", {"rows": []}, "it has no trials"),
        ("nightly", {"id": " "}, "it has no id"),
        ("nightly", {"rows": NIGHTLY["rows"] * 2}, "trial 5 ('q1'): the case has a trial of"),
        ("promptfoo", {}, "holds no results of promptfoo's"),
    ],
)
def test_results_that_an_importer_cannot_use_are_refused_and_leave_no_run(
    tmp_path: Path, importer: str, changed: dict[str, Any], says: str
):
    """Where the fault is, and no traceback. Ours is used where a package has the same name."""
    path = nightly(tmp_path, **changed)
    done = evenhand(tmp_path, "import", str(path), "--from", importer)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("**/runs/*.db")) == []


def test_a_name_in_two_packages_is_told_and_never_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Which of them is meant, nobody can know."""
    for package in ("one", "two"):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[evenhand.scorers]\nsame = json:dumps\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="scorer 'same' is in several packages: one and two"):
        plugin(SCORERS, "same")
    assert [one.package for one in plugins(SCORERS)["same"]] == ["one", "two"]
    assert plugin(ASSERTIONS, "same") is None
    doctor = evenhand(tmp_path, "doctor", path=tmp_path).stdout
    assert "The name is also in two: uninstall all but one." in doctor


def test_a_run_that_uses_no_package_looks_for_none(tmp_path: Path):
    """Entry points are read once a name is none of ours, and nothing is imported for the others."""
    config(tmp_path, [{"type": "contains", "value": "Dear"}], providers=["echo"])
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('SEEN', [m for m in ('evenhand_extras',) "
        "if m in sys.modules], 'evenhand.core.plugins' in sys.modules and "
        "sys.modules['evenhand.core.plugins']._installed.cache_info().misses))\n"
        "from evenhand.cli import main\n"
        "main(['run', '.'])\n"
    )
    env = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert "SEEN [] 0" in run.stdout
