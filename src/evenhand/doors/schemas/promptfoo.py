"""promptfoo's configs, as they are read here."""

from __future__ import annotations

from evenhand.core.json_schema import (
    REFERENCE,
    TABLE,
    TEXT,
    Part,
    defined,
    document,
    either,
    one_or_more,
)
from evenhand.core.table import schema_of
from evenhand.doors.promptfoo.checking import KEYS as TEST_KEYS
from evenhand.doors.promptfoo.checking import OPTIONS as TEST_OPTIONS
from evenhand.doors.promptfoo.config import KEYS, OPTIONS
from evenhand.doors.promptfoo.models import KEYS as PROVIDER_KEYS
from evenhand.doors.promptfoo.overrides import KEYS as LINE_KEYS
from evenhand.doors.promptfoo.prompt_files import KEYS as PROMPT_KEYS
from evenhand.doors.promptfoo.simulated_users import OWN_USER, OwnUser
from evenhand.doors.schemas.assertion import assertion, assertions


def schema() -> Part:
    """Of a promptfooconfig.yaml."""
    return document(
        "promptfoo config, as Evenhand reads it",
        {**_config(), "additionalProperties": {"type": "object"}},  # what `$ref` refers to
        assertion=assertion(),
        # What is not the test's own goes to the model, so any other key is taken.
        options={**schema_of(TEST_OPTIONS), "additionalProperties": True},
        prompt=schema_of(PROMPT_KEYS),
        provider=schema_of(PROVIDER_KEYS, required=["id"]),
        test=_test(),
    )


def _config() -> Part:
    tests = one_or_more(either(TEXT, defined("test"), _source(), REFERENCE))
    providers = one_or_more(either(TEXT, defined("provider"), _by_id(), REFERENCE))
    return schema_of(
        KEYS,
        {
            "prompts": either(one_or_more(either(TEXT, defined("prompt"))), TABLE),
            "providers": providers,
            "targets": providers,
            "tests": tests,
            "scenarios": {"type": "array", "items": either(TEXT, TABLE)},
            "defaultTest": either(TEXT, defined("test")),
            "evaluateOptions": schema_of(OPTIONS),
            "commandLineOptions": _line_options(),
        },
    )


def _test() -> Part:
    parts = {"options": defined("options"), "provider": _user(), "assert": assertions()}
    return schema_of(TEST_KEYS, parts)


def _user() -> Part:
    """Anything; an `evenhand:user` with the keys that it takes."""
    config = schema_of(OwnUser)
    own = {"type": "object", "required": ["id"], "properties": {"id": {"const": OWN_USER}}}
    return {"if": own, "then": {"properties": {"config": either(config, REFERENCE)}}}


def _by_id() -> Part:
    """`openai:gpt-5-mini: {config: …}`."""
    return {"type": "object", "minProperties": 1, "maxProperties": 1, "not": {"required": ["id"]}}


def _source() -> Part:
    """A file of tests with settings, or a generator of them: `{path: file://tests.py:make, config: …}`."""
    return {"type": "object", "required": ["path"]}


def _line_options() -> Part:
    return {"type": "object", "properties": {name: {} for name in sorted(LINE_KEYS)}}
