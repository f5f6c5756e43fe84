"""Templates against what Nunjucks itself made of them under Node; `nunjucks_cases.mjs` says how they were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import TemplateError
from evenhand.languages.javascript.nunjucks import Nunjucks
from evenhand.languages.templates.rendering import NO_CONFIG, left_open

render = NO_CONFIG.render

OTHERWISE = frozenset({"{{ s.constructor }}", "}} %} #}"})
"""What lies behind a value is not to be had here; text that opens no tag is text, and no error."""

_VARS, *CASES = (
    json.loads(line)
    for line in (Path(__file__).parent / "nunjucks_cases.jsonl").read_text("utf-8").splitlines()
)
VARS: dict[str, Any] = {**_VARS["vars"], "env": {"PLACE": "here"}}


@pytest.mark.parametrize("case", CASES, ids=[f"{i}" for i in range(len(CASES))])
def test_a_template_comes_to_what_nunjucks_made_of_it(case: dict[str, Any]) -> None:
    """The same text; where Nunjucks fails, an error, but for tags left open, which are text here as in promptfoo."""
    template = case["template"]
    if "random" in template or template in OTHERWISE:
        pytest.skip("chance, or other than Nunjucks on purpose")
    if "error" not in case:
        assert render(template, VARS) == case["text"]
    elif left_open(template):
        assert render(template, VARS) == template
    else:
        with pytest.raises(TemplateError) as caught:
            render(template, VARS)
        kind, _, said = case["error"].partition(": ")
        if kind in ("Error", "Template render error"):  # Nunjucks's words; others are the engine's
            assert caught.value.message.endswith(said)


def test_an_engine_of_its_own_has_nothing_of_ours() -> None:
    """A template sees the process's environment, and what it is given."""
    said = Nunjucks({}).compiled("{{ process }}{{ require }}{{ console }}{{ globalThis }}")({})
    assert said == ""
