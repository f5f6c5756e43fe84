"""What looks like a secret in files that are committed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenhand.core.scrubbing import scrubbed, scrubbed_text


@pytest.mark.parametrize("value", ["hunter2", "hunter!!", "x9!kfjw"])
def test_a_password_has_letters_and_digits_or_signs(value: str):
    """In a sentence, under a name, and in JSON in a text."""
    assert scrubbed_text(f"my password is {value}x.") == "my password is [redacted]."
    assert scrubbed({"password": value}) == {"password": "[redacted]"}
    assert scrubbed_text(json.dumps({"password": value})) == '{"password": "[redacted]"}'


@pytest.mark.parametrize("value", ["hunter", "123456", "a1!", "$TOKEN_1x", "<your key 1>"])
def test_a_word_a_number_and_a_placeholder_are_none(value: str):
    """Nor is what is very short."""
    assert scrubbed({"password": value}) == {"password": value}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (r'{"password": "\u0068unter22"}', {"password": "[redacted]"}),
        ('{"password": "hunter22", "hunter22": 1}', {"password": "[redacted]", "hunter22": 1}),
        ('{"a":  [{"token": "x9!kfjw"}]}', {"a": [{"token": "[redacted]"}]}),
    ],
)
def test_json_in_a_text_is_clean_however_it_is_written(text: str, clean: Any):
    """With escapes, and where the same text stands for something else, too."""
    assert json.loads(scrubbed_text(text)) == clean
