"""Providers and judges: the forms that configs write them in, and what is said of those that are wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt
from evenhand.doors.promptfoo.config import read_config
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.models import FolderModels, Subject
from evenhand.doors.promptfoo.overrides import Chosen, Overrides
from evenhand.engine.code import CodeHost
from evenhand.languages.documents.findings import Findings, Place
from evenhand.providers.chat import ChatProvider
from evenhand.providers.wrapped import Paused


def models(folder: Path, config: Mapping[str, object], **env: str) -> tuple[FolderModels, Findings]:
    """The models of a config."""
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps(config))
    findings = Findings()
    found = read_config([path], Chosen(env=env), findings)
    assert found is not None
    return FolderModels(found, findings), findings


def subjects(folder: Path, *providers: object) -> tuple[list[Subject], Findings]:
    """The columns that a list of providers comes to."""
    made, findings = models(folder, {"providers": list(providers)})
    return made.subjects(), findings


def test_all_forms_of_a_provider_are_read(tmp_path: Path) -> None:
    """A text, an object with an id, an object named by its id, and a file of these."""
    (tmp_path / "more.yaml").write_text("- id: openai:gpt-4o\n  label: four\n- echo\n")
    found, findings = subjects(
        tmp_path,
        "echo",
        {"id": "openai:chat:gpt-4o-mini", "label": "mini"},
        {"openai:gpt-4o": {"label": "big"}},
        "file://more.yaml",
    )
    assert not findings.problems
    assert [column.provider.label for column in found] == ["echo", "mini", "big", "four", "echo"]


def test_two_providers_of_one_id_keep_their_own_prompts(tmp_path: Path) -> None:
    """Entries do not overwrite each other."""
    found, _ = subjects(
        tmp_path,
        {"id": "echo", "label": "a", "prompts": ["x"]},
        {"id": "echo", "label": "b", "prompts": "y*"},
    )
    assert [column.takes("x") for column in found] == [True, False]
    assert [column.takes("yes") for column in found] == [False, True]


def test_settings_are_read_from_files(tmp_path: Path) -> None:
    """Tools and schemas are often kept in files of their own."""
    (tmp_path / "tools.json").write_text('[{"type": "function"}]')
    made, findings = models(
        tmp_path, {"providers": [{"id": "openai:gpt-4o", "config": {"tools": "file://tools.json"}}]}
    )
    (column,) = made.subjects()
    assert not findings.problems
    assert getattr(column.provider, "config")["tools"] == [{"type": "function"}]  # noqa: B009 (not of the protocol)
    assert tmp_path / "tools.json" in made.files


def test_files_of_providers_see_the_environment(tmp_path: Path) -> None:
    """A file that `providers` names is read as if it stood in the config."""
    (tmp_path / "providers.yaml").write_text(
        '- {id: "{{ env.PROVIDER }}", label: "by {{ env.PLACE }}",\n'
        '   config: {k: "{{ env.PLACE }}", t: "file://t.yaml"}}\n'
    )
    (tmp_path / "t.yaml").write_text("deep: ['{{ env.PLACE | upper }}']")
    env = {"PROVIDER": "openai:gpt-4o", "PLACE": "rome"}
    made, findings = models(tmp_path, {"providers": ["file://providers.yaml"]}, **env)
    (column,) = made.subjects()
    assert not findings.problems
    assert not findings.hints
    assert column.provider.label == "by rome"
    assert getattr(column.provider, "config")["k"] == "rome"  # noqa: B009 (not of the protocol)
    assert getattr(column.provider, "config")["t"] == {"deep": ["ROME"]}  # noqa: B009 (the same)


@pytest.mark.parametrize(
    ("provider", "what", "hint"),
    [
        ("opnai:gpt-4o", "provider 'opnai:gpt-4o' is not known", "Did you mean 'openai'?"),
        ("python:no.py", "no.py does not exist", "Looked in"),
        (5, "a provider is 5", ""),
        ({"label": "x", "config": {}}, "a provider has no id", "id:"),
        ({"id": "echo", "prompts": 5}, "prompts of provider echo is 5", ""),
        ({"id": "echo", "config": []}, "config of provider echo is []", ""),
        (
            {"id": "openai:gpt-4o", "config": {"tools": "file://no.json"}},
            "no.json does not exist",
            "Looked in",
        ),
        ({"id": "echo", "transform": "file://t.js"}, "t.js does not exist", "Looked in"),
        ({"id": "echo", "transform": "output.trim("}, "not JavaScript", "line"),
    ],
)
def test_what_is_wrong_with_a_provider_is_said(
    tmp_path: Path, provider: object, what: str, hint: str
) -> None:
    """All at load, before anything is asked."""
    made, findings = subjects(tmp_path, "echo", provider)
    broken = [column.problem for column in made if column.problem]
    (problem,) = [*findings.problems, *broken]
    assert what in problem.what
    assert hint in problem.hint


@pytest.mark.parametrize("written", [{}, {"providers": []}, {"targets": []}])
def test_no_providers_are_a_problem(tmp_path: Path, written: dict[str, object]) -> None:
    """With an example of one: a run of no trials shows nothing."""
    made, findings = models(tmp_path, {"prompts": ["x"], **written})
    assert made.subjects() == []
    assert "there are no providers" in findings.problems[0].what


def test_what_has_no_effect_is_a_hint(tmp_path: Path) -> None:
    """An unknown key, a shell variable."""
    _, findings = subjects(
        tmp_path,
        {"id": "openai:gpt-4o", "lable": "x", "config": {"apiKey": "${OPENAI_KEY}"}},
    )
    assert not findings.problems
    said = " ".join(f"{hint.what} {hint.hint}" for hint in findings.hints)
    assert "'lable'" in said
    assert "Did you mean 'label'?" in said
    assert "{{env.NAME}}" in said


def test_a_judge_is_made_once(tmp_path: Path) -> None:
    """A thousand assertions that name it share its connections and limits."""
    made, _ = models(tmp_path, {})
    place = Place(tmp_path)
    first = made.judge({"id": "openai:gpt-4o"}, place)
    assert made.judge({"id": "openai:gpt-4o"}, place) is first
    assert made.judges == [first]


def test_the_default_judge_is_one_whose_key_is_set(tmp_path: Path) -> None:
    """And it is said which it is."""
    made, findings = models(tmp_path, {}, ANTHROPIC_API_KEY="k")
    judge = made.default_judge(Place(tmp_path))
    assert judge is not None
    assert judge.id.startswith("anthropic:")
    assert "are judged by" in findings.hints[0].what
    none, _ = models(tmp_path, {})
    assert none.default_judge(Place(tmp_path)) is None


def test_a_model_that_is_evaluated_thinks_aloud_and_one_that_judges_does_not(
    tmp_path: Path,
) -> None:
    """As promptfoo shows thoughts; a config that says otherwise is obeyed."""
    quiet = {"id": "openai:o3", "config": {"showThinking": False}}
    made, _ = models(tmp_path, {"providers": ["openai:o3", quiet, {"id": "openai:o3", "delay": 5}]})
    first, second, third = (column.provider for column in made.subjects())
    assert isinstance(first, ChatProvider)
    assert isinstance(second, ChatProvider)
    assert isinstance(third, Paused)
    assert isinstance(third.provider, ChatProvider)
    assert (first.shows_thoughts, second.shows_thoughts) == (True, False)
    assert (third.provider.shows_thoughts, third.delay_s) == (True, 0.005)


async def test_a_model_with_a_delay_is_asked_a_moment_later(tmp_path: Path) -> None:
    """It is otherwise what it was."""
    made, _ = models(tmp_path, {"providers": [{"id": "echo", "delay": 20, "label": "slow"}]})
    (column,) = made.subjects()
    provider, host = column.provider, CodeHost()
    started = time.perf_counter()
    answer = await provider.send(provider.request(Prompt.of("x")), host)
    assert time.perf_counter() - started >= 0.02
    assert (provider.reply(answer.body).text, provider.label, provider.id) == ("x", "slow", "echo")
    assert (provider.paid, provider.account, provider.tasks) == (False, "", {"generate"})
    await provider.close()


def test_a_judge_that_makes_no_embeddings_is_told(tmp_path: Path) -> None:
    """Another model is asked then, with texts that the user did not mean for it."""
    (tmp_path / "j.js").write_text("module.exports = (prompt) => prompt")
    (tmp_path / "e.js").write_text(
        "module.exports = { callEmbeddingApi: () => ({embedding: [1]}) }"
    )
    hints: dict[str, list[str]] = {}
    for name in ("j.js", "e.js"):
        config = {
            "prompts": ["x"],
            "providers": ["echo"],
            "tests": [
                {"assert": [{"type": "similar", "value": "x", "provider": f"file://{name}"}]}
            ],
        }
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
        hints[name] = [
            str(hint) for hint in load(tmp_path, Chosen(env={"OPENAI_API_KEY": "k"})).hints
        ]
    assert any("file://j.js makes no embeddings" in hint for hint in hints["j.js"])
    assert any("embeddings are made by openai" in hint for hint in hints["j.js"])
    assert not hints["e.js"]


def test_slips_in_the_settings_of_a_vendors_model_are_hints(tmp_path: Path) -> None:
    """Near names, and texts in place of numbers; settings of one's own code, and new ones, are left alone."""
    (tmp_path / "bot.py").write_text("def call_api(*_): return 1")
    settings = {"temprature": 0.2, "max_tokens": "many", "brand_new": 1, "top_p": "{{ env.P }}"}
    _, findings = subjects(
        tmp_path,
        {"id": "openai:gpt-4o", "config": settings},
        {"id": "python:bot.py", "config": settings},
    )
    assert not findings.problems
    assert [(hint.what, hint.hint) for hint in findings.hints] == [
        ("{{env.P}} in a setting is not set", "Set P, in the environment or in a .env file."),
        (
            "setting 'temprature' of provider openai:gpt-4o is not known",
            "Did you mean 'temperature'?",
        ),
        (
            "max_tokens of provider openai:gpt-4o is 'many', not a number",
            "Write max_tokens: 1, say.",
        ),
    ]


def test_a_grader_that_nobody_knows_is_refused_also_where_no_model_judges(tmp_path: Path) -> None:
    """It would only be missed once an assertion needs it."""
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["a"], "providers": ["echo"], "tests": [{"vars": {}}]}))
    with pytest.raises(UsageError, match="--grader: provider 'openia:gpt-5' is not known"):
        load(path, Chosen(overrides=Overrides(grader="openia:gpt-5"), env={}))


def test_callbacks_of_tools_are_not_silently_left_out(tmp_path: Path) -> None:
    """In promptfoo, they are, and their results are the output."""
    config = {"apiKey": "k", "functionToolCallbacks": {"add": "(args) => args"}}
    (subject,), _ = subjects(tmp_path, {"id": "openai:chat:m", "config": config})
    (hint,) = subject.hints
    assert "functionToolCallbacks of provider openai:chat:m are not called" in str(hint)


@pytest.mark.parametrize(
    "written",
    [
        "openai:chat:{{env.NAMES_IT}}",
        "{{ env.NAMES_IT or 'echo' }}",
        "file://{{env['NAMES_IT']}}.py",
    ],
)
def test_a_provider_whose_id_names_a_variable_that_is_not_set_says_which(
    written: str, tmp_path: Path
) -> None:
    """A provider whose id names a variable that is not set says which, and is never asked by that name."""
    ((subject,), _) = subjects(tmp_path, written)
    (problem,) = subject.problems
    assert problem.what == f"provider '{written}' names NAMES_IT, which is not set"
    assert problem.hint == "Set NAMES_IT, in the environment or in a .env file."
