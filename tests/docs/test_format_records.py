"""The records of documents: their pages, their schemas and what is written follow from them."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, UnsetType, defstruct

from evenhand.analysis.gates.gate_document import GateChange
from evenhand.analysis.trust.agreement import AgreementStatistics
from evenhand.core.document import Key, as_object

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"
_KEY = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


ELSEWHERE = {
    "batch_waves": "an option of the command line",
    "ended_at": "a batch of Anthropic's",
    "low_confidence": "a column of data frames",
    "more_steps": "handed to the record by name",
    "named_scores": "what a user's function returns",
    "p_alone": "a column of data frames",
    "started_s": "a step of other tools",
    "without_kind": "a key of failures.yml",
}
"""Keys that are written in code too, where they are another thing."""


def _packaging(name: str = "formats") -> Any:
    path = FORMATS.parents[1] / "packaging" / "docs_site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_site_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_pages_are_those_of_the_records():
    """Made anew, each page is as it is: `just formats` writes them."""
    formats = _packaging()
    where = formats.places()
    for page in formats.pages():
        assert formats.with_tables(page, where) == page.read_text("utf-8"), page.name


def test_each_schema_describes_every_key_that_the_page_has(tmp_path: Path):
    """Also of the objects inside: what validates against it has the shape of the tables."""
    formats = _packaging()
    formats.write_schemas(tmp_path)
    schema = json.loads((tmp_path / "gate-1.schema.json").read_text("utf-8"))
    change = schema["$defs"]["GateChange"]["properties"]["now"]
    assert change["description"] == "the same in the run"
    assert change["anyOf"] == [{"type": "number"}, {"type": "null"}]
    for page in formats.whole_pages():
        schema = json.loads((tmp_path / f"{page.stem}.schema.json").read_text("utf-8"))
        keys = {key for part in schema["$defs"].values() for key in part["properties"]}
        assert set(_KEY.findall(page.read_text("utf-8"))) <= keys


def test_a_new_key_is_written_read_and_described_by_its_class_alone():
    """A field more in a class of `evenhand.gate/1`: the page's row, the schema and both ways follow from it."""
    formats = _packaging()
    field = ("doubt", Annotated[float | None, Key("of it", "0 to 1", null="not known")], None)
    longer = defstruct("Longer", [field], bases=(GateChange,), frozen=True, kw_only=True)
    table = formats.table(longer, "gate-1.md", formats.places())
    assert table.splitlines()[-1] == "| `doubt` | number | 0 to 1 | not known | of it |"
    about = msgspec.json.schema(longer)["$defs"]["Longer"]["properties"]["doubt"]
    assert about["description"] == "of it"
    row = as_object(longer(case="a", name="a", verdict="worse", doubt=0.5))
    assert list(row)[-1] == "doubt"
    assert msgspec.json.decode(json.dumps(row), type=longer).doubt == 0.5


def _files_of(key: str, *folders: str) -> list[str]:
    """The files in which a key stands, but for tests."""
    root = FORMATS.parents[1]
    return [
        str(path.relative_to(root))
        for folder in ("src/evenhand", "packaging", "page/src", *folders)
        for path in (root / folder).rglob("*")
        if path.suffix in (".py", ".md", ".ts", ".tsx")
        and re.search(rf"\b{key}\b", path.read_text("utf-8"))
    ]


@pytest.mark.parametrize(
    "key", ["batch_cost_usd", "latency_high_s", "missing_shards", "more_steps", "not_used"]
)
def test_a_key_of_a_document_stands_in_at_most_four_files(key: str):
    """The class, what fills it, and the page; one more where the value comes from elsewhere."""
    assert 2 <= len(files := _files_of(key, "docs")) <= 4, files


@pytest.mark.parametrize("key", ["at_least_once", "behind_first", "by_votes", "saved_usd"])
def test_a_key_of_a_run_s_document_stands_in_at_most_four_files(key: str):
    """What computes it, what writes it, and the page."""
    assert 2 <= len(files := _files_of(key, "docs")) <= 4, files


@pytest.mark.parametrize("key", ["inputs_from", "should_match", "should_not_match"])
def test_a_key_of_an_eval_yml_stands_in_at_most_four_files(key: str):
    """The table, and the page; more where commands write it. The schema for editors is made of the table."""
    assert 2 <= len(files := _files_of(key, "docs")) <= 4, files


@pytest.mark.parametrize("key", ["ac1", "tau_b"])
def test_a_statistic_of_calibrate_stands_in_at_most_four_files(key: str):
    """Its formulas and its declaration: what is printed and written follow, and so does the page's table."""
    assert 2 <= len(files := _files_of(key)) <= 4, files


def test_each_statistic_of_judges_and_rankings_is_on_the_page_of_calibrations():
    """One that is declared, and not described, shows here."""
    rows = _KEY.findall((FORMATS / "calibration-1.md").read_text("utf-8"))
    missing = [name for name in AgreementStatistics.__struct_fields__ if rows.count(name) < 2]
    where = "`CalibrationJudge` and `CalibrationRanking`, `analysis/trust/calibration_document.py`"
    assert not missing, f"declare {missing} in {where} too, then `just formats`"


def test_no_code_writes_by_hand_a_key_that_one_format_has():
    """It is a field of its record, and no text in quotes. Keys of one word are left out: code has the same words."""
    pages = [set(_KEY.findall(page.read_text("utf-8"))) for page in FORMATS.glob("*-1.md")]
    counts = Counter(key for keys in pages for key in keys)
    own = {key for key, count in counts.items() if count == 1 and "_" in key}
    assert len(own) > 60
    files = (FORMATS.parents[1] / "src" / "evenhand").rglob("*.py")
    quoted = {key for file in files for key in re.findall(r'"(\w+_\w+)"', file.read_text("utf-8"))}
    assert own & quoted == ELSEWHERE.keys()


def test_the_types_of_the_page_are_those_of_the_records():
    """Made anew, the file is as it is: `just formats` writes it."""
    types = _packaging("page_types")
    assert types.text() == types.FILE.read_text("utf-8")


def test_a_new_key_of_a_shape_is_typed_by_its_class_alone():
    """With what it means, and null and absence as TypeScript has them; what has no form there is refused."""
    types = _packaging("page_types")
    fields = [
        ("doubt", Annotated[float | None, Key("of it", "0 to 1", null="not known")]),
        ("words", Sequence[Literal["a", "b"]] | UnsetType, UNSET),
        ("pairs", list[tuple[int, str | None]], msgspec.field(default_factory=list)),
    ]
    shape = defstruct("Shape", fields, frozen=True, kw_only=True)
    assert types.interface("Longer", shape).splitlines()[-5:] == [
        "  /** of it; 0 to 1; null: not known */",
        "  readonly doubt: number | null;",
        '  readonly words?: readonly ("a" | "b")[];',
        "  readonly pairs: readonly (readonly [number, string | null])[];",
        "}",
    ]
    with pytest.raises(TypeError, match="no form in TypeScript"):
        types.type_of(complex)
