"""Words of other tools on the command line: each is answered with ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.cli.other_words import meant_path
from evenhand.providers.catalog import unknown

COMMANDS = {
    "test": "evenhand run",
    "tests": "evenhand run",
    "evals": "evenhand run",
    "eval": "evenhand run",
    "evaluate": "evenhand run",
    "bench": "evenhand run",
    "exec": "evenhand run",
    "grade": "evenhand run",
    "lint": "evenhand check",
    "verify": "evenhand check",
    "validate": "evenhand check",
    "estimate": "evenhand check",
    "serve": "evenhand view",
    "ui": "evenhand view",
    "dashboard": "evenhand view",
    "report": "evenhand show",
    "results": "evenhand show",
    "ls": "evenhand runs list",
    "list": "evenhand runs list",
    "diff": "evenhand compare",
    "rerun": "evenhand resume --errors",
    "continue": "evenhand resume",
    "rm": "evenhand runs delete",
    "annotate": "evenhand label",
    "models": "evenhand info providers",
    "metrics": "evenhand info scorers",
    "prompts": "evenhand prompt list",
    "datasets": "evenhand data show",
    "generate": "evenhand data generate",
    "traces": "evenhand import traces",
    "create": "evenhand init",
    "login": "evenhand doctor",
    "version": "evenhand --version",
    "help": "evenhand --help",
    "rum": "'run'",
    "chek": "'check'",
}
OPTIONS = {
    "--limit": "--first",
    "--max-samples": "--first",
    "--num_samples": "--first",
    "--epochs": "--repeat",
    "--trials": "--repeat",
    "--parallel": "--concurrency",
    "--max-connections": "--concurrency",
    "--max-workers": "--concurrency",
    "--max-budget": "--max-cost",
    "--cost-limit": "--max-cost",
    "--timeout": "--time-limit",
    "--max-retries": "--retries",
    "--judge": "--grader",
    "--provider": "--model",
    "--out": "--output",
    "--format": "--output",
    "--tags": "--tag",
    "--quiet": "--no-progress",
    "--debug": "--verbose",
    "--threshold": "--at-least",
    "--fail-under": "--at-least",
    "--last-failed": "--filter-failing",
    "--resume-from": "--resume",
    "--mock": "--offline",
    "--keyword": "-k",
    "--dry-run": "evenhand check",
    "--watch": "evenhand watch",
    "--view": "evenhand view",
    "--log-dir": "EVENHAND_HOME",
    "--temperature": "a setting of the model",
    "--maxfail": "--stop-when-decided",
    "--dataset": "evenhand run PATH",
    "--frist": "--first",
    "--max-cots": "--max-cost",
}
IDS = {
    "openai/gpt-5": "openai:gpt-5",
    "OpenAI:gpt-5": "openai:gpt-5",
    "anthropic/claude-sonnet-4-5": "anthropic:claude-sonnet-4-5",
    "google/gemini-2.5-flash": "google:gemini-2.5-flash",
    "gemini/gemini-2.5-flash": "google:gemini-2.5-flash",
    "google-gla:gemini-2.5-flash": "google:gemini-2.5-flash",
    "vertex_ai/gemini-2.5-pro": "vertex:gemini-2.5-pro",
    "ollama/llama3": "ollama:chat:llama3",
    "openrouter/meta-llama/llama-3": "openrouter:meta-llama/llama-3",
    "together_ai/x/y": "togetherai:x/y",
    "bedrock/anthropic.claude-3": "litellm:bedrock/anthropic.claude-3",
    "databricks/dbrx": "litellm:databricks/dbrx",
    "hf/meta-llama/x": "huggingface:chat:meta-llama/x",
    "mistral/large": "mistral:large",
    "mockllm/model": "echo",
    "opnai:gpt-5": "openai",
}


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of a command line that is refused."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> pytest.CaptureFixture[str]:
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    return capsys


@pytest.mark.parametrize("word", COMMANDS)
def test_a_command_of_another_tool_is_answered_with_ours(
    word: str, empty: pytest.CaptureFixture[str]
):
    """And not with the list of all."""
    said = refusal(empty, word)
    assert COMMANDS[word] in said
    assert "There are:" not in said


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_tool_is_answered_with_ours(
    option: str, empty: pytest.CaptureFixture[str]
):
    """And not with one whose letters are alike."""
    said = refusal(empty, "run", option, "3").partition("No such option")[2]
    assert OPTIONS[option] in said
    assert "one of" not in said


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("run", "`evenhand check`"),
        ("gate", "`evenhand check`"),
        ("data generate", "--max-cost USD"),
    ],
)
def test_a_preview_is_answered_with_check_only_where_check_shows_it(
    command: str, hint: str, empty: pytest.CaptureFixture[str]
):
    """Other commands that ask models have a limit of what they may spend."""
    said = refusal(empty, *command.split(), "--dry-run").partition("No such option")[2]
    assert hint in said
    assert ("check" in said) is ("check" in hint)


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_choice_of_outcomes_is_answered_with_a_filter(
    command: str, empty: pytest.CaptureFixture[str]
):
    """Which the one option for choosing trials takes."""
    assert "Did you mean '--where status:fail'?" in refusal(empty, command, "--failed")
    assert "Did you mean '--where status:error'?" in refusal(empty, command, "--only-errors")


def test_what_is_there_is_run(empty: pytest.CaptureFixture[str]):
    """Also where it is called like another tool's command."""
    Path("evals").mkdir()
    assert "To run it: evenhand run evals" in refusal(empty, "evals")


@pytest.mark.parametrize("written", ["a_evals.py::greets", "a_evals.py:greets"])
def test_an_eval_behind_its_file_is_answered_with_the_option_for_names(
    written: str, empty: pytest.CaptureFixture[str]
):
    """As pytest writes it, and as promptfoo would."""
    Path("evals").mkdir()
    Path("evals/a_evals.py").touch()
    assert "evenhand run evals/a_evals.py -k greets" in refusal(empty, "run", f"evals/{written}")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("gpt5", "openai:gpt-5"), ("cluade-sonnet-4-5", "anthropic:claude-sonnet-4-5"), ("zebra", "")],
)
def test_a_misspelt_model_without_a_vendor_is_answered_with_the_nearest(written: str, meant: str):
    """Of those whose prices are known."""
    assert (f"Did you mean '{meant}'?" in unknown(written).hint) == bool(meant)


@pytest.mark.parametrize("written", IDS)
def test_an_id_as_other_tools_write_it_is_answered_with_ours(written: str):
    """LiteLLM's, Inspect's and pydantic-ai's."""
    assert f"Did you mean '{IDS[written]}'?" in unknown(written).hint


@pytest.mark.parametrize(
    ("there", "written", "meant"),
    [
        ("prompts/refunds/", "refunds", "prompts/refunds"),
        ("prompts/refunds/", "refund", "prompts/refunds"),
        ("evals/refunds_evals.py", "refunds", "evals/refunds_evals.py"),
        ("evals/refunds_evals.py", "refunds.py", "evals/refunds_evals.py"),
        ("evals/refunds_evals.py", "evals/refuns_evals.py:12", "evals/refunds_evals.py"),
        ("evals/refunds_evals.py", "evals/refunds", "evals/refunds_evals.py"),
        ("evals/shop/", "shop", "evals/shop"),
        ("shop_evals.py", "shop", "shop_evals.py"),
        ("shop.yaml", "shop", "shop.yaml"),
        ("shop/", "zebra", ""),
    ],
)
def test_a_name_without_its_folder_or_ending_is_answered_with_the_whole(
    there: str, written: str, meant: str, empty: pytest.CaptureFixture[str]
):
    """By `run` and by `check`."""
    path = Path(there)
    path.parent.mkdir(exist_ok=True)
    if there.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.touch()
    assert meant_path(Path(written)) == meant
    for command in ("run", "check"):
        said = refusal(empty, command, written)
        assert "does not exist" in said
        assert (f"Did you mean '{meant}'?" in said) == bool(meant)
