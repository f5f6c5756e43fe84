"""One cell: what a model is sent, what graders see, what is expected."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import ConfigError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import CallRole, Model, Prompt, Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.variant import Variant
from evenhand.doors.promptfoo.case_variables import resolved
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine.code import CodeHost
from evenhand.languages.templates.rendering import NO_CONFIG


class Answers:
    """A model that answers with what it is told to, and remembers what it was sent."""

    name = "fake"

    def __init__(self, trial: HandTrial) -> None:
        self._trial = trial

    async def generate(self, prompt: Prompt | str) -> Reply:
        assert isinstance(prompt, Prompt)
        self._trial.sent.append(prompt)
        text = self._trial.answer or prompt.text
        self._trial.reply = Reply(text, text, latency_s=0.01, cost_usd=0.0)
        return self._trial.reply


class HandTrial:
    """A trial without an engine: calls user code at once, keeps what is expected."""

    def __init__(self, planned: PlannedTrial, answer: str = "") -> None:
        self.planned = planned
        self.answer = answer
        self.reply: Reply | None = None
        self.sent: list[Prompt] = []
        self.shown: Mapping[str, Any] = planned.case.vars
        self.expectations: list[Expectation] = []
        self._host = CodeHost()

    @property
    def case(self) -> Case:
        return self.planned.case

    @property
    def variant(self) -> Variant:
        return self.planned.variant

    @property
    def repeat(self) -> int:
        return self.planned.repeat

    def show(
        self,
        variables: Mapping[str, Any],
        description: str = "",
        test: Mapping[str, Any] | None = None,
    ) -> None:
        del description, test
        self.shown = variables

    def answered(self, prompt: Prompt, reply: Reply) -> None:
        self.prompted = prompt
        self.reply = reply

    def model(self, provider: Provider, role: CallRole) -> Model:
        del provider, role
        return Answers(self)

    def expect(self, expectation: Expectation) -> None:
        self.expectations.append(expectation)

    async def load(self, path: Path, name: str) -> Callable[..., Any]:
        return await self._host.load(path, name)

    async def call(
        self,
        function: Callable[..., Awaitable[Any] | Any],
        *args: object,
        name: str,
        limit_s: float | None = None,
    ) -> Any:
        return await self._host.call(function, *args, name=name, limit_s=limit_s)

    def lasting(self, make: Callable[[float], Any]) -> Any:
        return self._host.lasting(make)

    async def scores(self) -> list[Score]:
        """What the expectations come to."""
        found: list[Score] = []
        for expectation in self.expectations:
            score = expectation.scorer.score(expectation.value, self)
            found.append(await score if inspect.isawaitable(score) else score)
        return found


async def run(folder: Path, config: Mapping[str, object], answer: str = "") -> Sequence[HandTrial]:
    """Runs every trial of a config by hand."""
    (folder / "promptfooconfig.json").write_text(json.dumps({"providers": ["echo"], **config}))
    trials: list[HandTrial] = []
    for planned in load(folder, Chosen(env={})).trials():
        trial = HandTrial(planned, answer)
        as_trial: Trial = trial
        await planned.body(as_trial)
        trials.append(trial)
    return trials


async def test_files_are_read_and_trimmed_before_anything_sees_them(tmp_path: Path) -> None:
    """The prompt and the grader get the text, and the results show it."""
    (tmp_path / "a.txt").write_text('\n "quoted" {{x}}\n\n')
    (tmp_path / "grader.py").write_text(
        "def get_assert(output, context):\n    return context['vars']['a'] == output\n"
    )
    (trial,) = await run(
        tmp_path,
        {
            "prompts": ["{{a}}"],
            "tests": [
                {
                    "vars": {"a": "file://a.txt"},
                    "assert": [{"type": "python", "value": "file://grader.py"}],
                }
            ],
        },
    )
    assert trial.sent[0].text == '"quoted" {{x}}'
    assert trial.shown == {"a": '"quoted" {{x}}'}
    assert [score.passed for score in await trial.scores()] == [True]


async def test_yaml_files_become_json_and_pictures_become_data_urls(tmp_path: Path) -> None:
    """As promptfoo gives them to templates."""
    (tmp_path / "a.yaml").write_text("k: [1, yes]\n")
    (tmp_path / "p.png").write_bytes(b"\x89PNG")
    (trial,) = await run(
        tmp_path,
        {"prompts": ["x"], "tests": [{"vars": {"a": "file://a.yaml", "p": "file://p.png"}}]},
    )
    assert trial.shown == {"a": '{"k":[1,"yes"]}', "p": "data:image/png;base64,iVBORw=="}


async def test_prompt_functions_get_the_variables_by_name(tmp_path: Path) -> None:
    """And what they return is sent as it is."""
    (tmp_path / "prompts.py").write_text("def ask(article):\n    return f'Q: {article}'\n")
    (trial,) = await run(
        tmp_path, {"prompts": ["prompts.py:ask"], "tests": [{"vars": {"article": "{{no}}"}}]}
    )
    assert trial.sent[0].text == "Q: {{no}}"


async def test_transforms_of_the_provider_come_before_those_of_the_test(tmp_path: Path) -> None:
    """And assertions see what comes out."""
    (tmp_path / "t.py").write_text(
        "def get_transform(output, context):\n    return output + context['vars']['x']\n"
    )
    (trial,) = await run(
        tmp_path,
        {
            "prompts": ["p"],
            "providers": [{"id": "echo", "transform": "output + '1'"}],
            "defaultTest": {"options": {"transform": "file://t.py"}},
            "tests": [{"vars": {"x": "2"}, "assert": [{"type": "equals", "value": "p12"}]}],
        },
    )
    assert [score.passed for score in await trial.scores()] == [True]


async def test_an_output_that_is_given_asks_nobody(tmp_path: Path) -> None:
    """`providerOutput` grades what was said elsewhere."""
    (trial,) = await run(
        tmp_path,
        {
            "prompts": ["p"],
            "tests": [{"providerOutput": "said", "assert": [{"type": "equals", "value": "said"}]}],
        },
    )
    assert trial.sent == []
    assert [score.passed for score in await trial.scores()] == [True]


async def test_prefix_and_suffix_stand_around_text_and_functions(tmp_path: Path) -> None:
    """From the config they are templates."""
    (tmp_path / "prompts.py").write_text("def ask(x):\n    return 'f'\n")
    trials = await run(
        tmp_path,
        {
            "prompts": ["t", "prompts.py:ask"],
            "defaultTest": {"options": {"prefix": "<{{x}} ", "suffix": ">"}},
            "tests": [{"vars": {"x": "1"}}],
        },
    )
    assert [trial.sent[0].text for trial in trials] == ["<1 t>", "<1 f>"]


async def test_prompts_know_which_repeat_it_is(tmp_path: Path) -> None:
    """From 0, in texts and chats; assertions and results do not, as in promptfoo."""
    trials = await run(
        tmp_path,
        {
            "prompts": ["{{x}} {{ __repeatIndex + 1 }}", '["{{__repeatIndex}}"]'],
            "evaluateOptions": {"repeat": 2},
            "tests": [
                {"vars": {"x": "v"}, "assert": [{"type": "equals", "value": "{{__repeatIndex}}"}]}
            ],
        },
    )
    assert sorted("".join(trial.sent[0].text.split()) for trial in trials) == [
        '["0"]', '["1"]', "v1", "v2",
    ]  # fmt: skip
    assert [trial.shown for trial in trials] == [{"x": "v"}] * 4
    assert not any("0" in str(trial.expectations[0].scorer) for trial in trials)


async def test_a_prefix_from_a_table_is_data(tmp_path: Path) -> None:
    """No tag in it is filled in."""
    (tmp_path / "t.csv").write_text("x,__prefix\n1,{{x}} \n")
    (trial,) = await run(tmp_path, {"prompts": ["p {{x}}"], "tests": "t.csv"})
    assert trial.sent[0].text == "{{x}} p 1"


async def test_expectations_come_in_the_order_in_which_they_are_written(tmp_path: Path) -> None:
    """The defaults' first; with their weights and metrics."""
    (trial,) = await run(
        tmp_path,
        {
            "prompts": ["p"],
            "defaultTest": {"assert": [{"type": "contains", "value": "{{x}}", "weight": 2}]},
            "tests": [
                {
                    "vars": {"x": "p"},
                    "assert": [{"type": "equals", "value": "q", "metric": "m {{x}}"}],
                }
            ],
        },
    )
    assert [(e.weight, e.metric) for e in trial.expectations] == [(2.0, ""), (1.0, "m p")]
    assert [score.passed for score in await trial.scores()] == [True, False]


def test_variables_are_filled_into_variables(tmp_path: Path) -> None:
    """In whatever order they are written."""
    variables = {"a": "{{b}}!", "b": "{{c}}?", "c": "x"}
    assert resolved(variables, frozenset(), frozenset({"a", "b"}), tmp_path, NO_CONFIG)[1] == {
        "a": "x?!",
        "b": "x?",
        "c": "x",
    }


async def test_more_than_names_is_filled_into_variables_of_prompts_that_are_text_only(
    tmp_path: Path,
) -> None:
    """Chats in JSON, assertions and results have filters, members and blocks as they are written, as in promptfoo."""
    variables = {"x": "v", "o": {"k": 1}, "a": "{{x}}", "u": "{{x}} {{ x | upper }} {{u2}}"}
    variables |= {"u2": "{{o.k}}{% if x %}y{% endif %}", "z": "{{x}} {{nope}}"}
    text, chat = await run(
        tmp_path,
        {
            "prompts": ["{{a}} {{u}} {{z}}", '["{{a}} {{u}} {{z}}"]'],
            "tests": [{"vars": variables, "assert": [{"type": "equals", "value": "{{u}}"}]}],
        },
    )
    plain = "v {{ x | upper }} {{o.k}}{% if x %}y{% endif %}"
    assert text.sent[0].text == "v v V 1y v {{nope}}"
    assert json.loads(chat.sent[0].text) == [f"v {plain} v {{{{nope}}}}"]
    for trial in (text, chat):
        assert trial.shown is not None
        assert trial.shown["u"] == trial.sent[0].vars["u"] == plain
        assert plain in str(trial.expectations[0].scorer)


def test_data_that_is_filled_in_is_not_looked_at_again(tmp_path: Path) -> None:
    """A tag in a value stays text, wherever the value goes."""
    variables = {"a": "say {{b}}", "b": "{{c}}", "c": "secret"}
    assert (
        resolved(variables, frozenset(), frozenset({"a"}), tmp_path, NO_CONFIG)[1]["a"]
        == "say {{c}}"
    )


def test_data_is_not_looked_at_again_beside_variables_that_are(tmp_path: Path) -> None:
    """Though a variable beside it has tags of its own, and in whatever order they are filled in."""
    variables = {"a": "{{b}} {{c}}", "b": "{{d}}", "c": "{{ 7 * 7 }} {{d}} {{b}}", "d": "x"}
    found = resolved(variables, frozenset(), frozenset({"a", "b"}), tmp_path, NO_CONFIG)[1]
    assert found["a"] == "x {{ 7 * 7 }} {{d}} {{b}}"


def test_tags_in_a_variables_file_are_filled_in(tmp_path: Path) -> None:
    """As if its text stood in the config; what names nothing, and text that is no template, stays as it is."""
    (tmp_path / "a.txt").write_text("{{b}} {{ b | upper }} {{c}}\n", "utf-8")
    (tmp_path / "d.txt").write_text("{% for %} {{b}}", "utf-8")
    variables = {"a": "file://a.txt", "b": "x", "d": "file://d.txt"}
    plain, filled = resolved(variables, frozenset({"a", "d"}), frozenset(), tmp_path, NO_CONFIG)
    assert plain["a"] == "x {{ b | upper }} {{c}}"
    assert filled["a"] == "x {{ b | upper }} {{c}}"
    assert plain["d"] == filled["d"] == "{% for %} {{b}}"
    (tmp_path / "a.txt").write_text("{{b}} {{ b | upper }}", "utf-8")
    _, filled = resolved(variables, frozenset({"a"}), frozenset(), tmp_path, NO_CONFIG)
    assert filled["a"] == "x X"


def test_a_secret_that_a_variables_file_names_is_refused(tmp_path: Path) -> None:
    """It would be sent to the model."""
    (tmp_path / "a.txt").write_text("{{ env.SHOP_API_KEY }}", "utf-8")
    config = {
        "prompts": ["{{a}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"a": "file://a.txt"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="looks like a secret"):
        load(tmp_path, Chosen(env={"SHOP_API_KEY": "s3cr3t-of-the-shop"}))


def test_a_long_row_of_variables_is_filled_in_to_its_end(tmp_path: Path) -> None:
    """Whoever is first, and though each is named twice."""
    variables = {"v0": "x"} | {
        f"v{i}": f"{{{{v{i - 1}}}}}{{{{ v{i - 1} | trim }}}}" for i in range(1, 13)
    }
    names = frozenset(variables) - {"v0"}
    assert resolved(variables, frozenset(), names, tmp_path, NO_CONFIG)[1]["v12"] == "x" * 2**12


def test_variables_that_name_each_other_come_to_an_end(tmp_path: Path) -> None:
    """Each takes the other as it is written."""
    variables = {"a": "{{b}}", "b": "{{a}}"}
    assert set(resolved(variables, frozenset(), frozenset({"a", "b"}), tmp_path, NO_CONFIG)[1]) == {
        "a",
        "b",
    }


def test_what_names_nothing_stays_as_it_is(tmp_path: Path) -> None:
    """Text about templates is text."""
    variables = {"a": "write {{name}} here"}
    assert resolved(variables, frozenset(), frozenset({"a"}), tmp_path, NO_CONFIG)[1] == variables
