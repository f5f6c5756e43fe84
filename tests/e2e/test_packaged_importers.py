"""Importers of installed packages: they can do what ours can, and what is wrong with one is told with its package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.interchange.exports import EXPORTS, saved

from evenhand.cli import main
from evenhand.core.errors import UsageError
from evenhand.core.wing import our_parts
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.importers.registry import read_runs

PACKAGE = "of the package acme-importer 0.1"
RETURNS = "returns Recordings"
Run = Callable[..., str]
OURS = {name: part.place for name, part in our_parts("importers").items()}
ROOT = Path(__file__).resolve().parents[2]


def installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, source: str = "", **places: str
) -> Path:
    """A package with importers: its module, which no other test has loaded, and its dist-info."""
    module = re.sub(r"\W", "_", f"acme_{folder.parent.name}_{folder.name}")
    site = folder / "site"
    info = site / "acme_importer-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-importer\nVersion: 0.1\n")
    named = places or {"acme": f"{module}:read"}
    points = "".join(f"{name} = {place}\n" for name, place in named.items())
    (info / "entry_points.txt").write_text(f"[evenhand.importers]\n{points}")
    (site / f"{module}.py").write_text(PRELUDE + source)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(folder)
    return site


PRELUDE = '''
from evenhand.doors.importers import *
from evenhand.core.run import RunMeta, TrialResult

def run(path, **changed):
    """A run with one trial."""
    trial = ImportedTrial(case="1", outcome="pass", output="ok")
    return ImportedRun(
        **{"id": path.stem, "title": "acme", "created_at": 0, "variants": ["m"], "trials": [trial], **changed}
    )

class Own:
    """A run that is not `recordings`'."""
    def __init__(self, run, trials=None, labels=()):
        (self.made,) = recordings("acme", [run]).runs
        self.meta = self.made.meta
        self.given = trials
        self.said = labels
    def trials(self):
        yield from self.made.trials() if self.given is None else self.given()
    def labels(self):
        yield from self.said

class Late:
    """Trials of a file that is gone when they are read the fourth time."""
    def __init__(self, trials):
        self.trials, self.reads = trials, 0
    def __len__(self):
        return len(self.trials)
    def __iter__(self):
        self.reads += 1
        if self.reads > 3:
            raise KeyError("gone")
        return iter(self.trials)
'''


def export(tool: str, folder: Path) -> Sequence[Path]:
    """Files of a tool's."""
    if tool in EXPORTS:
        return EXPORTS[tool](folder)
    if tool == "openai-evals":
        return [ROOT / "examples" / "openai-evals" / "openai-evals.jsonl"]
    return [saved(folder / f"{tool}.json", OTHERS[tool])]


OTHERS: Mapping[str, Any] = {
    "promptfoo": {
        "evalId": "eval-abc-2026",
        "results": {
            "version": 3,
            "timestamp": "2026-11-21T09:37:20.850Z",
            "prompts": [{"raw": "Say {{x}}", "label": "Say {{x}}", "provider": "a"}],
            "results": [
                {
                    "testIdx": 0,
                    "promptIdx": 0,
                    "success": True,
                    "score": 1,
                    "vars": {"x": "v"},
                    "prompt": {"raw": "Say v"},
                    "response": {"output": "v"},
                    "gradingResult": {"pass": True, "score": 1, "reason": "", "comment": "good"},
                }
            ],
            "stats": {},
        },
        "config": {"description": "D", "tests": []},
    },
    "inspect": {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "sums",
            "model": "m",
            "created": "2026-01-02T03:04:05+00:00",
            "eval_id": "e",
        },
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "input": "2+2?",
                "target": "4",
                "messages": [],
                "output": {"model": "m", "choices": []},
                "scores": {"includes": {"value": "C"}},
            }
        ],
    },
    "pydantic-evals": {
        "name": "sums",
        "cases": [{"name": "one", "inputs": "2+2?", "expected_output": "4"}],
    },
    "traces": {
        "resourceSpans": [
            {
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": "0af7651916cd43dd8448eb211c80319c",
                                "spanId": "b7ad6b7169203331",
                                "name": "chat m",
                                "startTimeUnixNano": "1760000000000000000",
                                "endTimeUnixNano": "1760000001000000000",
                                "attributes": [
                                    {
                                        "key": "gen_ai.operation.name",
                                        "value": {"stringValue": "chat"},
                                    },
                                    {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
                                ],
                            }
                        ]
                    }
                ]
            }
        ]
    },
}


def whole(recordings: Recordings) -> list[object]:
    """All that an import would keep or print."""
    runs = [(one.meta, list(one.trials()), list(one.labels())) for one in recordings.runs]
    return [runs, list(recordings.notes), list(recordings.datasets)]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line; what it prints."""

    def command(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        assert ended.value.code == code, printed.out + printed.err
        return printed.out if code == 0 else printed.err

    return command


@pytest.mark.parametrize("tool", OURS)
def test_an_importer_of_ours_gives_in_a_package_what_it_gives_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
):
    """All paths, runs, datasets, labels, and notes, also those that come while trials are read."""
    installed(tmp_path, monkeypatch, acme=OURS[tool])
    paths = export(tool, tmp_path / "files")
    built_in, packaged = (whole(read_runs(paths, name)) for name in (tool, "acme"))
    assert packaged == built_in
    assert any(built_in)


def test_a_copy_of_our_reader_in_a_package_gives_what_ours_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
):
    """By the command, too: two experiments, and their dataset in a file."""
    reader = ROOT / "src/evenhand/wings/interchange/langsmith.py"
    installed(tmp_path, monkeypatch, copied="acme_langsmith:read")
    (tmp_path / "site" / "acme_langsmith.py").write_text(reader.read_text("utf-8"), "utf-8")
    paths = EXPORTS["langsmith"](tmp_path / "files")
    assert whole(read_runs(paths, "copied")) == whole(read_runs(paths, "langsmith"))
    documents: list[Any] = []
    for tool in ("copied", "langsmith"):
        home = tmp_path / tool
        home.mkdir()
        monkeypatch.chdir(home)
        document = json.loads(run("import", tool, *map(str, paths), "--json"))
        assert document.pop("importer") == tool
        for one in document["runs"]:
            assert Path(one.pop("file")).is_file()
        documents.append(document)
    assert documents[0] == documents[1]
    assert len(documents[0]["runs"]) == 2
    assert len(documents[0]["datasets"]) == 1


WRONG = {
    "old form": (
        "def read(path):\n    return run(path)",
        "cannot read a.json, b.json: AttributeErr",
    ),
    "one run": (
        "def read(paths):\n    return run(paths[0])",
        "returned ImportedRun, not Recordings",
    ),
    "list": (
        "def read(paths):\n    return [run(p) for p in paths]",
        "returned list, not Recordings",
    ),
    "none": ("def read(paths):\n    pass", "returned NoneType, not Recordings"),
    "async": (
        "async def read(paths):\n    return recordings('a', [])",
        "returned coroutine, not R",
    ),
    "generator": (
        "def read(paths):\n    yield run(paths[0])",
        "returned generator, not Recordings",
    ),
    "class": ("class read:\n    def __init__(self, paths): pass", "returned read, not Recordings"),
    "no argument": (
        "def read():\n    return 1",
        "cannot be called with a list of paths: TypeError: to",
    ),
    "two": (
        "def read(path, name):\n    return 1",
        "called with a list of paths: TypeError: missing",
    ),
    "no function": ("read = 5", "is int, not a function of paths"),
    "raises": (
        "def read(paths):\n    return {}['rows']",
        "cannot read a.json, b.json: KeyError: 'rows'",
    ),
    "exits": (
        "def read(paths):\n    raise SystemExit(3)",
        "cannot read a.json, b.json: SystemExit: 3",
    ),
    "absent": ("", "cannot be loaded: AttributeError: module"),
    "bare run": (
        "def read(paths):\n    return Recordings([run(paths[0])])",
        "returned Recordings with a run that is ImportedRun, not one that `recordings` made",
    ),
    "lazy runs": (
        "def read(paths):\n    return Recordings(map(run, paths))",
        "whose runs are map, not",
    ),
    "text for runs": (
        "def read(paths):\n    return Recordings('abc')",
        "whose runs are str, not a list",
    ),
    "no runs": (
        "def read(paths):\n    return Recordings(None)",
        "whose runs are NoneType, not a list",
    ),
    "notes": (
        "def read(paths):\n    return recordings('a', [(paths[0], run(paths[0]))], notes=['left out'])",
        "returned Recordings with a note that is str, not a Note",
    ),
    "note of numbers": (
        "def read(paths):\n    return recordings('a', [(paths[0], run(paths[0]))], notes=[Note(1, 2, 3)])",
        "returned Recordings with a note",
    ),
    "datasets": (
        "def read(paths):\n    return Recordings([], (), [{'name': 'd'}])",
        "returned Recordings with a dataset that is dict, not a RecordedDataset",
    ),
    "cases": (
        "def read(paths):\n    return Recordings([], (), [RecordedDataset('d', [{'id': '1'}], 'a.json')])",
        "a RecordedDataset",
    ),
    "case of numbers": (
        "def read(paths):\n    return Recordings([], (), [RecordedDataset('d', [Case(5)], 'a.json')])",
        "returned a Case in which something is of the wrong type: `id` is a whole number, not text",
    ),
    "own trials": (
        "def read(paths):\n    return Recordings([Own((p, run(p)), lambda: [1]) for p in paths])",
        "gave a TrialResult that is int",
    ),
    "own trials raise": (
        "def read(paths):\n    return Recordings([Own((p, run(p)), lambda: {}['x']) for p in paths])",
        "cannot read its run: KeyError: 'x'",
    ),
    "own labels": (
        "def read(paths):\n    return Recordings([Own((p, run(p)), labels=['good']) for p in paths])",
        "gave a NewLabel that is str",
    ),
    "gone later": (
        "def read(paths):\n    return recordings('a', [(p, run(p, trials=Late(run(p).trials))) for p in paths])",
        "cannot read its run: KeyError: 'gone'",
    ),
}
FIELDS = {
    "ImportedRun": {
        "id": (5, None, ""),
        "title": (None, 5),
        "created_at": ("now", None, float("nan"), -1),
        "variants": ("m", [5], None, []),
        "trials": (None, 5, [{}], [None], []),
        "took_s": ("long",),
        "settings": ([], "x"),
    },
    "ImportedTrial": {
        "case": (5, None, ""),
        "variant": ("0", None, 1, 0.5),
        "repeat": ("0", None, -1),
        "outcome": ("passed", True, 1),
        "score": ("high", float("nan"), [1]),
        "error": (5,),
        "outcomes": (5, [{}], "pass"),
        "vars": ([1], "x", {1: 2}),
        "latency_s": ("fast",),
        "cost_usd": ("cheap",),
        "tokens_in": ("many", 0.5),
        "tokens_out": ("many",),
        "metadata": ("x", {1: 2}),
        "judged": ({"passed": True}, 1),
        "steps": ([{}], 5, "x"),
        "labels": ([1], {"verdict": "great"}, {"opinion": "fail"}, {"score": 9}),
    },
}


@pytest.mark.parametrize(("source", "says"), WRONG.values(), ids=WRONG)
def test_an_importer_that_returns_or_raises_something_else_gets_one_message_and_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, source: str, says: str
):
    """The package, what is wrong, and what an importer returns; no traceback, no file."""
    installed(tmp_path, monkeypatch, source)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    message = " ".join(run("import", "acme", "a.json", "b.json", code=2).split())
    assert message.startswith(f"evenhand: importer 'acme' {PACKAGE} ")
    assert says in message
    assert "Traceback" not in message
    if source:
        assert RETURNS in message
    assert "pip uninstall acme-importer" in message
    assert list(tmp_path.glob("**/runs/*.db")) == []


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        (record, field, value)
        for record, fields in FIELDS.items()
        for field, values in fields.items()
        for value in values
    ],
)
def test_a_field_of_the_wrong_type_is_told_with_its_package_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str, field: str, value: object
):
    """Nobody has type-checked a package: garbage that Python lets through would be found in the run file."""
    written = repr(value).replace("nan", "float('nan')")
    change = f"{{{field!r}: {written}}}"
    source = (
        f"def read(paths):\n    return recordings('acme', [(p, run(p, **{change})) for p in paths])\n"
        if record == "ImportedRun"
        else "def read(paths):\n"
        f"    given = {{'case': '1', 'outcome': 'pass', **{change}}}\n"
        "    return recordings('acme', [(p, run(p, trials=[ImportedTrial(**given)])) for p in paths])\n"
    )
    installed(tmp_path, monkeypatch, source)
    with pytest.raises(UsageError) as told:
        read_runs([tmp_path / "a.json"], "acme")
    assert PACKAGE in told.value.message
    assert "a.json: importer 'acme' returned a run that cannot be kept" in told.value.message
    assert whole_of_words(field, told.value.message)


def whole_of_words(field: str, message: str) -> bool:
    """Whether a message names a field, in code or in words."""
    words = {"labels": "label", "error": "error", "judged": "judged"}
    return words.get(field, field.rstrip("s")) in message


def test_a_mistake_of_the_users_is_told_in_the_importers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
):
    """What is wrong with the file is no fault of the package's."""
    source = (
        "def read(paths):\n    raise UsageError(f'{paths[0]} is empty', hint='Export it anew.')\n"
    )
    installed(tmp_path, monkeypatch, source)
    message = run("import", "acme", "a.json", code=2)
    assert message == f"evenhand: importer 'acme' {PACKAGE}: a.json is empty\n  Export it anew.\n"


def test_a_package_can_read_bit_by_bit_and_say_more_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
):
    """As ours do that read files too large for memory: notes that come late are printed, too."""
    source = (
        "def read(paths):\n"
        "    notes = Notes()\n"
        "    own = Own((paths[0], run(paths[0])))\n"
        "    def trials():\n"
        "        notes.left_out('a.json', 'the last line')\n"
        "        yield from own.made.trials()\n"
        "    own.given = trials\n"
        "    return Recordings([own], notes)\n"
    )
    installed(tmp_path, monkeypatch, source)
    assert "the last line" in run("import", "acme", "a.json")
    assert len(list(tmp_path.glob("**/runs/*.db"))) == 1


def test_datasets_of_a_package_become_files_and_eval_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
):
    """Of a tool that has datasets and no runs."""
    source = (
        "def read(paths):\n"
        "    cases = [Case('1', input='2+2?', expected='4')]\n"
        "    return recordings('acme', [], [RecordedDataset('sums', cases, 'a.json')])\n"
    )
    installed(tmp_path, monkeypatch, source)
    (tmp_path / "a.json").write_text("{}")
    assert "sums.jsonl" in run("import", "acme", "a.json")
    assert "evals/sums_evals.py" in run("init", "--from", "acme", "a.json", "moved")
    assert "Equals(case.expected)" in (tmp_path / "moved/evals/sums_evals.py").read_text("utf-8")


def test_the_doctor_says_which_importer_is_not_used_and_which_cannot_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
):
    """Every name of ours goes before a package's, `traces` as well."""
    places = {**dict.fromkeys(OURS, "json:loads"), "mute": "json:codecs", "fine": "json:loads"}
    installed(tmp_path, monkeypatch, **places)
    output = run("doctor")
    for name in OURS:
        assert f"importer '{name}' {PACKAGE} is not used" in output
    assert f"importer 'mute' {PACKAGE} is module, not a function of paths" in " ".join(
        output.split()
    )
