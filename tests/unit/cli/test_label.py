"""What `evenhand label` says of slips: names of metrics, rules, and files that somebody changed."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenhand.cli import main
from evenhand.cli.labelling import label_in_terminal
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.run_lookup import called, find

JUDGE = Path(__file__).parents[3] / "examples/judge"
Evenhand = Callable[..., tuple[object, str]]


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Evenhand:
    """Runs a command in a folder with a run of twelve cases, judged under `policy`: its exit code and stderr."""
    for file in JUDGE.iterdir():
        if file.is_file() and file.name != "baseline.evn":
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code or 0, capsys.readouterr().err

    run("run", "--offline", "--first", "12", "--exit-zero")
    return run


def called_latest() -> str:
    """What the latest run is called in commands."""
    return called(Path.cwd(), find(Path.cwd(), None))


@pytest.mark.parametrize(
    "rest", [(), ("--to", "x.csv"), ("--rule", "no scorn"), ("--unsure", "0.1"), ("--draw", "3")]
)
def test_a_misspelt_metric_is_named_before_anything_else(evenhand: Evenhand, rest: tuple[str, ...]):
    """Not a terminal that is missing, nor a draw."""
    code, told = evenhand("label", "latest", "--metric", "polcy", *rest)
    assert code == 2
    assert "no judge gave a verdict on 'polcy'\n  Did you mean 'policy'?" in told
    assert "terminal" not in told


def test_a_rule_is_kept_and_said_to_be(evenhand: Evenhand):
    """With what comes next, which is a draw where there is none."""
    code, told = evenhand("label", "--rule", "no scorn")
    assert code == 0
    run = called_latest()
    assert f"the rule for policy is kept; next: evenhand label {run} --draw 12 --to" in told
    evenhand("label", "--draw", "3", "--to", "x.csv")
    assert f"next: evenhand label {run} --to draw.csv" in evenhand("label", "--rule", "kind")[1]


@pytest.mark.parametrize("rest", [("--to", "taken.csv"), ("--to", "none/x.csv"), ()])
def test_what_cannot_be_labelled_is_not_drawn(evenhand: Evenhand, rest: tuple[str, ...]):
    """A draw is kept for good: one that nobody can fill in would take outputs from the next one."""
    Path("taken.csv").touch()
    assert evenhand("label", "--draw", "3", *rest)[0] == 2
    assert "has been drawn yet\n  Say how many: --draw 12." in evenhand("label", "--to", "y.csv")[1]
    assert evenhand("label", "--draw", "3", "--to", "y.csv")[0] == 0


@pytest.mark.parametrize("name", ["draw.xlsx", "draw", "draw.tsv", "draw.json"])
def test_a_file_is_what_its_name_promises(evenhand: Evenhand, name: str):
    """CSV text in a workbook's name would open nowhere; refused, nothing is drawn."""
    code, told = evenhand("label", "--draw", "3", "--to", name)
    assert code == 2
    assert f"{name}: what to label is written as .csv or .jsonl" in told
    assert "--to draw.csv opens in a spreadsheet" in told
    assert not Path(name).exists()
    assert "has been drawn yet" in evenhand("label", "--to", "y.csv")[1]


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_spreadsheet_may_separate_columns_with_something_else(
    evenhand: Evenhand, delimiter: str, quoting: int
):
    """Spreadsheets save semicolons where numbers have commas, and tabs as "Unicode text"."""
    evenhand("label", "--draw", "3", "--to", "x.csv")
    with Path("x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with Path("y.csv").open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, rows[0], delimiter=delimiter, quoting=quoting)  # pyright: ignore[reportArgumentType] (a member of csv's)
        table.writeheader()
        table.writerows({**row, "verdict": "pass"} for row in rows)
    code, told = evenhand("label", "--from", "y.csv", "--by", "ana")
    assert code == 0, told
    assert told.startswith("3 labels by ana"), told


def test_a_draw_that_comes_to_fewer_says_why(evenhand: Evenhand):
    """There are no more, or an earlier draw has the others; asked for again, a draw is the same."""
    assert "only" not in evenhand("label", "--draw", "7", "--seed", "1", "--to", "x.csv")[1]
    code, told = evenhand("label", "--draw", "60", "--seed", "2", "--to", "y.csv")
    assert code == 0
    number = int(told.split("only ", 1)[1].split()[0])
    assert (
        f"only {number} outputs could be drawn: earlier draws have the run's other judged outputs"
        in told
    )
    assert f"{number} items to label" in told


def _filled_in(source: Path, to: Path, inclusions: dict[int, str]) -> None:
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        row["verdict"] = "pass"
        row["inclusion"] = inclusions.get(number, row["inclusion"])
    with to.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)


def test_an_inclusion_that_was_changed_is_said_to_be_ignored(evenhand: Evenhand, tmp_path: Path):
    """The labels are kept: how likely an output was to be drawn is the run's to say."""
    evenhand("label", "--draw", "6", "--to", "x.csv")
    _filled_in(tmp_path / "x.csv", tmp_path / "y.csv", {0: "1", 1: "often", 2: "0,5", 3: "50 %"})
    code, told = evenhand("label", "--from", "y.csv")
    assert code == 0
    assert "y.csv: `inclusion` of 2 labels is not what the run says; it is ignored" in told
    assert "6 labels by" in told


def test_a_file_that_was_written_before_a_later_draw_is_not_said_to_be_changed(
    evenhand: Evenhand, tmp_path: Path
):
    """Each draw makes every output likelier to have been drawn."""
    evenhand("label", "--draw", "4", "--to", "x.csv")
    evenhand("label", "--draw", "4", "--to", "later.csv")
    for name in ("x.csv", "later.csv"):
        _filled_in(tmp_path / name, tmp_path / "y.csv", {})
        code, told = evenhand("label", "--from", "y.csv")
        assert (code, "inclusion" in told) == (0, False)


def test_labels_of_another_metric_than_the_named_one_are_refused(
    evenhand: Evenhand, tmp_path: Path
):
    """None is kept."""
    config = (tmp_path / "promptfooconfig.yaml").read_text()
    start = config.index("    - type: llm-rubric")
    end = config.index("tests: messages.csv")
    second = config[start:end].replace("policy\n", "tone\n", 1)
    (tmp_path / "promptfooconfig.yaml").write_text(config[:end] + second + config[end:])
    evenhand("run", "--offline", "--first", "4", "--exit-zero")
    evenhand("label", "--draw", "3", "--to", "x.csv")
    _filled_in(tmp_path / "x.csv", tmp_path / "y.csv", {})
    code, told = evenhand("label", "--from", "y.csv", "--metric", "policy")
    assert code == 2
    assert "y.csv also has labels of 'tone', which --metric doesn't name" in told
    assert "6 labels" in evenhand("label", "--from", "y.csv")[1]


def test_a_document_of_labels_is_of_their_codes(evenhand: Evenhand):
    """What else `label` does prints none, and says so."""
    assert "--json needs --codes" in evenhand("label", "--json")[1]
    assert evenhand("label", "--codes", "--json")[0] == 0


def test_items_of_several_metrics_are_explained(evenhand: Evenhand):
    """Five outputs of two metrics are ten rows to fill in; one metric may be chosen."""
    Path("two").mkdir()
    rubrics = "".join(f"    - {{type: llm-rubric, value: {one}, metric: {one}}}\n" for one in "ab")
    Path("two/promptfooconfig.yaml").write_text(
        "prompts: ['Hi {{n}}']\nproviders: [openai:chat:gpt-5-mini]\ndefaultTest:\n  assert:\n"
        f"{rubrics}tests: [{', '.join(f'{{vars: {{n: {n}}}}}' for n in range(6))}]\n",
        "utf-8",
    )
    Path("two/offline.jsonl").write_text('{"match": "", "reply": {"reason": "ok", "pass": true}}\n')
    evenhand("run", "two", "--offline")
    told = evenhand("label", "latest", "--draw", "5", "--to", "x.csv")[1]
    assert "10 items (5 outputs × 2 metrics; --metric chooses) to label written to x.csv" in told
    told = evenhand("label", "latest", "--draw", "1", "--metric", "a", "--to", "y.csv")[1]
    assert "1 item to label written to y.csv" in told


def test_items_are_no_product_where_some_outputs_have_one_metric_alone(evenhand: Evenhand):
    """Four outputs have one of two metrics, and two both: eight items, and not six times two."""
    Path("two").mkdir()
    rubrics = [f"{{type: llm-rubric, value: {one}, metric: {one}}}" for one in "ab"]
    tests = [f"{{vars: {{n: {n}}}, assert: [{', '.join(rubrics[n < 4 :])}]}}" for n in range(6)]
    Path("two/promptfooconfig.yaml").write_text(
        "prompts: ['Hi {{n}}']\nproviders: [openai:chat:gpt-5-mini]\n"
        f"tests: [{', '.join(tests)}]\n",
        "utf-8",
    )
    Path("two/offline.jsonl").write_text('{"match": "", "reply": {"reason": "ok", "pass": true}}\n')
    evenhand("run", "two", "--offline")
    told = evenhand("label", "latest", "--draw", "6", "--to", "x.csv")[1]
    assert "8 items (6 outputs, 2 metrics; --metric chooses) to label written to x.csv" in told


def fill(source: str, to: str) -> None:
    """Writes a sheet in which everything passes."""
    with Path(source).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with Path(to).open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, list(rows[0]))
        sheet.writeheader()
        sheet.writerows({**row, "verdict": "pass"} for row in rows)


def test_a_later_run_names_the_one_that_has_the_labels(evenhand: Evenhand):
    """A gate makes a run as well: then the latest run isn't the one that people labelled."""
    labelled = called_latest()
    evenhand("label", "--draw", "12", "--to", "draw.csv")
    fill("draw.csv", "filled.csv")
    evenhand("label", "--from", "filled.csv", "--by", "ann")
    evenhand("run", "--offline", "--first", "12", "--exit-zero")
    later = called_latest()
    assert later != labelled
    for words in (("calibrate",), ("calibrate", "latest", "--json")):
        told = evenhand(*words)[1]
        assert f"! run {labelled} has 12 labels: evenhand calibrate {labelled}" in told
        assert "next:" not in told
    code, told = evenhand("calibrate", "--try", "model=openai:gpt-5-mini", "--offline")
    assert code == 2
    assert f"Run {labelled} has 12 labels: name it instead." in told
    code, told = evenhand("label", "--to", "more.csv")
    assert code == 2
    assert f"nothing of run {later} has been drawn yet\n  Run {labelled} has 12 labels" in told
    told = evenhand("label", "--codes")[1]
    assert f"evenhand label {labelled} --codes" in told


def test_a_sheet_of_another_run_is_not_mistaken_for_one_of_the_latest(evenhand: Evenhand):
    """The same answers, later: the labels would count for nothing there."""
    drawn = called_latest()
    evenhand("label", "--draw", "6", "--seed", "1", "--to", "draw.csv")
    fill("draw.csv", "filled.csv")
    script = Path("offline.jsonl").read_text("utf-8")
    rules = [json.loads(line) for line in script.splitlines()]
    others = [
        {**rule, "reply": f"Indeed. {rule['reply']}"} if isinstance(rule["reply"], str) else rule
        for rule in rules
    ]
    Path("offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in others), "utf-8")
    evenhand("run", "--offline", "--first", "12", "--exit-zero")
    evenhand(
        "label", "--draw", "6", "--seed", "1", "--to", "others.csv"
    )  # the same places, with other outputs
    Path("offline.jsonl").write_text(script, "utf-8")
    evenhand("run", "--offline", "--first", "12", "--exit-zero")
    told = evenhand("label", "latest", "--from", "filled.csv", "--by", "ann")[1]
    assert f"! filled.csv is a draw of run {drawn}, not of run {called_latest()}" in told
    assert f"next: evenhand label {drawn} --from filled.csv --by ann" in told
    assert " has a draw: evenhand label " in evenhand("calibrate")[1]


def test_calibrate_names_its_run_and_proposes_what_can_be_labelled(
    evenhand: Evenhand, capsys: pytest.CaptureFixture[str]
):
    """Twelve outputs: all of them are too few, so that none is to be labelled before there are more."""
    run = called_latest()
    with pytest.raises(SystemExit):
        main(("calibrate",))
    printed = capsys.readouterr()
    assert printed.out.startswith(f"run {run} · Returns, judged")
    few = "! calibrate needs 30 labels, of 10 cases or more; policy has 12 outputs of 12 cases: add"
    assert few in printed.err
    assert printed.err.splitlines()[-1] == "next: add cases, then evenhand run --offline"
    evenhand("label", "--draw", "12", "--to", "draw.csv")
    fill("draw.csv", "filled.csv")
    evenhand("label", "--from", "filled.csv")
    told = evenhand("calibrate")[1]
    assert few in told
    assert "next: evenhand label" not in told


def test_a_code_without_a_verdict_is_not_called_outside_the_draw(
    evenhand: Evenhand, capsys: pytest.CaptureFixture[str]
):
    """The output is drawn, and waits for its verdict."""
    evenhand("label", "--draw", "12", "--to", "draw.csv")
    path = find(Path.cwd(), None)
    append_labels(path, [NewLabel(0, "code", "rude", "ann")])
    with pytest.raises(SystemExit):
        main(("label", "--codes"))
    assert "nothing is labelled" in capsys.readouterr().out
    fill("draw.csv", "filled.csv")
    lines = Path("filled.csv").read_text("utf-8").splitlines(keepends=True)
    Path("some.csv").write_text(
        "".join(line for line in lines if not line.startswith("0,")), "utf-8"
    )
    evenhand("label", "--from", "some.csv", "--by", "ann")
    with pytest.raises(SystemExit):
        main(("label", "--codes"))
    printed = capsys.readouterr().out
    assert "failure codes of 11 labelled outputs of the draw" in printed
    assert "1 without a verdict yet" in printed
    assert "outside" not in printed


def test_a_code_alone_is_said_to_be_no_verdict(evenhand: Evenhand, monkeypatch: pytest.MonkeyPatch):
    """In the terminal, at once and in the end: else somebody gives codes for an hour, and none counts."""
    evenhand("label", "--draw", "12", "--to", "draw.csv")
    monkeypatch.setattr("evenhand.cli.labelling.need_terminal", lambda _: None)
    with CliRunner().isolation(input="kind\ncrude\nspq") as (out, *_):
        label_in_terminal(find(Path.cwd(), None), (), "ann", None)
        shown = out.getvalue().decode()
    assert "your failure code: rude\nA verdict is still missing: press p or f." in shown
    assert shown.count("still missing") == 1
    assert "1 output with a failure code, a note or a score, but without a verdict" in shown
    assert "1 label by ann" in shown
