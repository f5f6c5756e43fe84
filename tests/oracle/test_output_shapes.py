"""The output of each vendor's model in a promptfoo config, against what promptfoo 0.123 made of the same answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.oracle.shapes.answers import ANSWERS, asked, encoded

from evenhand.doors.promptfoo.config import read_config
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.languages.documents.findings import Findings
from evenhand.providers.roster import Roster

RECORDED = json.loads((Path(__file__).parent / "shapes" / "recorded.json").read_text())
ASKED = [one for one in asked("http://127.0.0.1:9") if one[0] in RECORDED]


@pytest.mark.parametrize(("api", "id_", "form", "config"), ASKED, ids=lambda one: str(one)[:60])
def test_an_answer_is_the_output_that_promptfoo_makes_of_it(
    api: str, id_: str, form: str, config: dict[str, object], tmp_path: Path
) -> None:
    """Text, JSON without and with a format, calls, text beside calls, and what hosted tools did."""
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"providers": [{"id": id_, "config": config}]}))
    findings = Findings()
    read = read_config([path], Chosen(env={}), findings)
    assert read is not None
    (subject,) = FolderModels(read, findings).subjects()
    outputs = {}
    for shape, recorded in RECORDED[api][f"{id_} {form}"].items():
        ours = subject.provider.reply(encoded(ANSWERS[api][shape])).output
        outputs[shape] = ours, recorded.get("output")
    # Where promptfoo has no output at all, what was asked for is kept: see "calls without output".
    different = {
        shape: (ours, theirs)
        for shape, (ours, theirs) in outputs.items()
        if ours != theirs and (theirs is not None or ours is None)
    }
    assert not different


def test_outside_of_promptfoo_configs_one_rule_holds_for_all_vendors() -> None:
    """A schema has its text read, and nothing else does, whoever is asked."""
    answer = encoded(ANSWERS["chat"]["object"])
    for id_ in ("openai:chat:m", "mistral:m", "azure:chat:m", "openrouter:m"):
        base = {"apiKey": "k", "apiBaseUrl": "http://127.0.0.1:9"}
        for form, kind in (("json_schema", dict), ("json_object", str), ("text", str)):
            config = {**base, "response_format": {"type": form}}
            provider = Roster(Path(), {}).make(id_, config=config)
            assert isinstance(provider.reply(answer).output, kind), (id_, form)
