"""How deep YAML is nested, before it is read: the parser is C and recursive, and would end the process."""

from __future__ import annotations

import re

from evenhand.core.encoding import DEEPEST, TooDeep

_NESTS = re.compile(r"^[-?: ]{400}", re.MULTILINE)


def refuse_yaml_depth(text: str) -> None:
    """Raises where the text is nested deeper than anybody means.

    Raises:
        TooDeep: It is nested more than DEEPEST levels deep.
        yaml.YAMLError: It is no YAML.
    """
    # Parsing takes long, so only text with many brackets or a very deep indentation is parsed twice.
    if text.count("[") + text.count("{") <= DEEPEST and not _NESTS.search(text):
        return
    import yaml  # noqa: PLC0415 (a folder of JSON files has no use for it)

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise TooDeep(f"it is nested more than {DEEPEST} levels deep")
