"""A line that suggests the next command repeats what the first one was given."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from evenhand.cli.run_request import Asked
from evenhand.cli.selecting import answering, asked_for, selecting
from evenhand.core.run import RunMeta
from evenhand.render.command_words import typed, typed_for


@click.command()
@click.argument("paths", nargs=-1)
@selecting
@answering
def parsed(paths: tuple[str, ...], **options: object) -> Asked:
    """What these words ask for."""
    return asked_for(paths, options)


def again(*words: str) -> list[str]:
    """The words that are suggested after these."""
    return shlex.split(typed(parsed.main([*words], standalone_mode=False).record()))


@pytest.mark.parametrize(
    "words",
    [
        "my-evals --offline",
        "evals/a_evals.py:12 other_evals.py -k refunds --tag slow --model openai:gpt-5 --strict --offline",
        "'my folder/promptfooconfig.yaml' --filter 'a|b' --first 3 --sample 2 --seed 7 --repeat 2",
        ". --filter-metadata lang=en --filter-metadata kind=x --filter-range 2:5 --filter-pattern q",
        "x -p 'Say {{q}}' -r openai:gpt-5 -t tests.csv --var 'name=O B' --prompt-prefix 'a b' --grader m --delay 20",
        "prompts/refunds --case 'a b' --definitions ragas",
        "x -x file://hooks.py:afterAll --env-file one.env --filter-prompts p --filter-providers m --strict-prompts",
    ],
)
def test_every_option_that_says_what_is_run_is_repeated(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As it would be typed in a shell, with paths from where one stands; the current folder needs none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "offline.jsonl").touch()
    for name in ("my-evals", "x", "my folder", "evals", "prompts/refunds"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "offline.jsonl").touch()
    expected = [word for word in shlex.split(words) if word != "."]
    assert sorted(again(*shlex.split(words))) == sorted(expected)
    assert parsed.main(again(*shlex.split(words)), standalone_mode=False) == parsed.main(
        shlex.split(words), standalone_mode=False
    )


def test_a_run_that_judged_outputs_again_is_suggested_without_the_run_that_had_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It took that run's cases whatever came of them, for which no option exists: there is a baseline of it, too."""
    from evenhand.cli.regrade import _ANY
    from evenhand.cli.run_request import Failing

    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    request = replace(parsed.main(["x"], standalone_mode=False), failing=Failing("run.db", _ANY))
    assert typed(request.record()) == " x"


def test_no_option_of_a_run_is_forgotten():
    """A new one is repeated, or named here as one that says nothing of what is run."""
    from evenhand.render import command_words as module

    known = {*module._TEXTS.values(), *module._OVER.values(), *module._REST.values()}
    known |= {*module._FAILING.values(), "--filter-metadata", "--filter-range", "--var"}
    of_the_run_alone = {"--description", "--run-tag", "-c"}
    options = {tuple(one.opts) for one in parsed.params if isinstance(one, click.Option)}
    assert {opts[0] for opts in options if not known & set(opts)} == of_the_run_alone


def test_a_run_that_no_command_made_has_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Or nothing, where that is the current folder."""
    monkeypatch.chdir(tmp_path)

    def said(source: Path | str) -> str:
        fields = {"title": "t", "planned": 1, "case_count": 1, "repeats": 1, "created_at": 1.0}
        return typed_for(
            RunMeta("01A", fingerprint="f", variants=(), source=os.fspath(source), **fields)  # type: ignore[arg-type]
        )

    assert said(tmp_path / "a b.py") == " 'a b.py'"
    assert (said(tmp_path), said("")) == ("", "")
