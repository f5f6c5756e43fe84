"""Numbers on the command line, in configs and in the environment: a message with the range, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main

DIGITS = "9" * 5000
MONEY = ("nan", "NaN", "inf", "-inf", "1e400", "-1", "x", "", DIGITS)
WHOLE = ("nan", "inf", "0", "-1", "1.5", "99999999999", "1e3", "x", "", DIGITS)
SECONDS = ("nan", "inf", "1e400", "0", "-1", "x", "", "1e12")
SEED = ("nan", "x", "1.5", "99999999999999999999")
SPENDING = {"--max-cost": MONEY, "-j": WHOLE[:-2], "--concurrency": WHOLE, "--time-limit": SECONDS}
PART = {
    "--repeat": WHOLE,
    "--first": WHOLE,
    "--sample": WHOLE,
    "--seed": SEED,
    "--delay": ("nan", "inf", "-1", "x", "1e300"),
}
COMMANDS: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {
    ("run",): {**SPENDING, **PART},
    ("check",): PART,
    ("resume",): SPENDING,
    ("retry",): SPENDING,
    ("compare", "a", "b"): {"--margin": ("nan", "inf", "1e400", "-1", "x")},
    ("cache", "explain"): {"--first": WHOLE},
    ("view",): {"--port": ("nan", "-1", "70000", "x", "1.5")},
    ("prompt", "log", "x"): {"--last": WHOLE},
    ("prompt", "send", "x"): {"--time-limit": SECONDS},
    ("dataset", "show", "x.csv"): {"--first": ("nan", "-1", "1.5", "99999999999")},
    ("dataset", "split", "x.csv"): {"--seed": SEED},
    ("dataset", "enrich", "x.csv", "--to", "y.csv"): {"--max-cost": MONEY, "-j": WHOLE[:-2]},
    ("dataset", "generate", "x", "--to", "y.csv", "--model", "echo"): {
        "--max-cost": MONEY,
        "-j": WHOLE[:-2],
        "--per-document": WHOLE,
    },
}


def exited(*words: str) -> int:
    """With what a command line exits."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    code = ended.value.code
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        pytest.param(command, option, value, id=f"{' '.join(command[:2])} {option} {value[:20]}")
        for command, options in COMMANDS.items()
        for option, values in options.items()
        for value in values
    ],
)
def test_a_number_out_of_its_range_is_a_message_with_the_range_and_exits_with_2(
    command: tuple[str, ...], option: str, value: str, capsys: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Whatever it is: nothing of it reaches a clock, a table or a file."""
    monkeypatch.chdir(tmp_path)
    assert (
        exited(*command, f"{option}={value}" if option.startswith("--") else f"{option}{value}")
        == 2
    )
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "Invalid value for" in said
    if option != "--port":
        assert "number" in said
        assert " from " in said
    assert len(said) < 1000
    assert list(tmp_path.iterdir()) == []


def config(**more: Any) -> dict[str, Any]:
    """A config of one test."""
    return {
        "prompts": ["hi"],
        "providers": ["echo"],
        "tests": [{"assert": [{"type": "contains", "value": "hi"}]}],
        **more,
    }


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"evaluateOptions": {"repeat": 10**9}}, "repeat is 1000000000, not a whole number from 1"),
        ({"evaluateOptions": {"repeat": float("nan")}}, "repeat is '.nan'"),
        ({"evaluateOptions": {"maxConcurrency": float("inf")}}, "maxConcurrency is '.inf'"),
        ({"evaluateOptions": {"maxConcurrency": 1.5}}, "maxConcurrency is 1.5"),
        ({"evaluateOptions": {"delay": -1}}, "delay is -1, not a number of milliseconds from 0"),
        ({"evaluateOptions": {"timeoutMs": 1e300}}, "timeoutMs is 1e+300"),
        ({"evaluateOptions": {"maxEvalTimeMs": "long"}}, "maxEvalTimeMs is 'long'"),
        ({"commandLineOptions": {"filterFirstN": -3}}, "filterFirstN is -3"),
        ({"commandLineOptions": {"filterSample": 10**30}}, "filterSample is 1000"),
        ({"commandLineOptions": {"filterSampleSeed": 10**30}}, "filterSampleSeed is 1000"),
        ({"commandLineOptions": {"filterRange": f"0:{10**30}"}}, "is not a range"),
        (
            {"providers": [{"id": "echo", "delay": float("inf")}]},
            "delay of provider echo is '.inf'",
        ),
        (
            {"providers": [{"id": "openai:m", "config": {"timeoutMs": float("nan")}}]},
            "timeoutMs is '.nan'",
        ),
        ({"providers": [{"id": "exec:true", "config": {"timeout": 1e300}}]}, "timeout is 1e+300"),
        (
            {"defaultTest": {"options": {"repeat": 10**12}}, "tests": [{"vars": {"a": 1}}]},
            "repeat is 1000000000000, not a whole number from 1 to 1,000,000",
        ),
    ],
    ids=str,
)
def test_the_same_numbers_in_a_config_are_refused_with_their_place(
    more: dict[str, Any], says: str, capsys: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """And the same range."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptfooconfig.yaml").write_text(
        json.dumps(config(**more)).replace("NaN", ".nan").replace("Infinity", ".inf")
    )
    assert exited("check", *()) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert says in said
    assert "promptfooconfig.yaml:1:" in said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PROMPTFOO_PASS_RATE_THRESHOLD", "nan"),
        ("PROMPTFOO_PASS_RATE_THRESHOLD", "-5"),
        ("PROMPTFOO_PASS_RATE_THRESHOLD", "1e400"),
        ("PROMPTFOO_EVAL_TIMEOUT_MS", "inf"),
        ("PROMPTFOO_MAX_EVAL_TIME_MS", "-1"),
        ("PROMPTFOO_FAILED_TEST_EXIT_CODE", "256"),
        ("PROMPTFOO_FAILED_TEST_EXIT_CODE", DIGITS),
    ],
)
def test_so_are_those_of_the_environment(
    variable: str, value: str, capsys: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """They are said by the name of their variable."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, value)
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config()))
    assert exited("run", "--no-progress") == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert variable in said
    assert not (tmp_path / ".evenhand").exists()
