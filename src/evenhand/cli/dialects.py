"""Where the front doors meet: which of them a path is for, and what one lends to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.core.expect import Expectation
    from evenhand.documents.findings import Findings, Place
    from evenhand.registry.assertions import Judges, Lend, Make, Seen
    from evenhand.registry.library import Library

_CONFIG = "promptfooconfig."


def prompts_meant(paths: Sequence[str]) -> tuple[Library, list[str]] | None:
    """The prompts that these paths stand for, all of one repository; None where one of them stands for none.

    A folder with a promptfoo config is promptfoo's, whatever else it holds.
    """
    from evenhand.registry.library import prompts_at  # noqa: PLC0415 (once it is known what is asked)

    library, ids = None, dict[str, None]()
    for text in paths:
        path = Path(text)
        if path.is_dir() and any(path.glob(f"{_CONFIG}*")):
            return None
        found = prompts_at(path) if path.exists() else None
        if found is None or (library is not None and found[0] != library):
            return None
        library = found[0]
        ids.update(dict.fromkeys(found[1]))
    return (library, list(ids)) if library is not None else None


def lent_assertions(env: Mapping[str, str], base: Path) -> Lend:
    """Reads promptfoo's assertions, for those who are not promptfoo's.

    Args:
        env: The environment, for models that an assertion names.
        base: The folder that its paths start from; its project names who judges, where nobody else does.
    """
    from evenhand.documents.project import project_for  # noqa: PLC0415 (once there are some)

    named = project_for(base).judge
    project = named.id if named else ""

    def read(
        said: Mapping[str, Any], place: Place, findings: Findings, judges: Judges
    ) -> Make | None:
        from evenhand.core.errors import UsageError  # noqa: PLC0415 (once there is one)
        from evenhand.promptfoo.assertions.assertion import Assertion, Cell, split  # noqa: PLC0415 (see above)
        from evenhand.promptfoo.assertions.kinds import kind_of, type_problem  # noqa: PLC0415 (see above)
        from evenhand.promptfoo.assertions.preparing import prepared  # noqa: PLC0415 (see above)
        from evenhand.promptfoo.assertions.problems import problems  # noqa: PLC0415 (see above)
        from evenhand.registry.judging import default_judge  # noqa: PLC0415 (see above)
        from evenhand.registry.models import Models  # noqa: PLC0415 (see above)

        name, negated = split(str(said["type"]))
        unknown = type_problem(str(said["type"]))
        if unknown is not None:
            findings.problem(place, *unknown)
            return None
        assertion = Assertion(
            name,
            negated,
            _read_in(said.get("value"), base, place, findings),
            said.get("threshold"),
            said.get("weight", 1.0),
            str(said.get("metric") or ""),
            transform=str(said.get("transform") or ""),
            config=said.get("config") or {},
            base=base,
            place=str(place),
            more=said,
        )
        judge = said.get("provider")
        if kind_of(name).asks == "generate":
            judge = judge or default_judge(judges.named, project, env, judges.otherwise).written
        if judge:
            try:
                assertion = replace(assertion, judge=Models(env, base, judges.prices)(str(judge)))
            except UsageError as error:
                findings.problem(place, error.message, error.hint)
                return None
        wrong = problems(assertion)
        for what in wrong:
            findings.problem(place, *what)
        if wrong:
            return None
        make = prepared(assertion)

        def expected(seen: Seen) -> Expectation:
            return make(
                Cell(
                    seen.output, seen.prompt, seen.variables, {}, seen.model, seen.model, seen.reply
                )
            )

        return expected

    return read


def _read_in(value: object, base: Path, place: Place, findings: Findings) -> object:
    """An assertion's value, with the file of data or text that it names read in; code is left to those who run it."""
    from evenhand.documents.tree import read_document, read_text  # noqa: PLC0415 (once there is one)

    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    path = base / value.removeprefix("file://")
    if path.suffix in (".json", ".yaml", ".yml"):
        document = read_document(path, findings, place)
        return document.value if document is not None else None
    if path.suffix in (".txt", ".md"):
        return (read_text(path, findings, place) or "").strip()
    return value
