"""Who reads which results: some tools' are read by us, others' by installed packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.core.plugins import IMPORTERS, Plugin, plugin, plugins
from evenhand.report.interchange.imported import Imported, ImportedRun
from evenhand.report.interchange.recorded import Recordings


def names() -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    return (*OURS, *(name for name in plugins(IMPORTERS) if name not in OURS))


def read_runs(paths: Sequence[Path], importer: str) -> Recordings:
    """The runs in these files, as this importer reads them.

    Raises:
        UsageError: There is no such importer, it cannot read a file, or what it returns is not a run.
    """
    ours = OURS.get(importer)
    if ours is not None:
        return ours(paths)
    one = plugin(IMPORTERS, importer)
    if one is None:
        near = nearest(importer, names())
        raise UsageError(
            f"there is no importer '{importer}'",
            hint=f"Did you mean '{near}'?" if near else f"There are: {', '.join(names())}.",
        )
    return Recordings([Imported(_called(one, path), path, importer) for path in paths])


def _promptfoo(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.promptfoo_results.reading import read_results  # noqa: PLC0415 (on use)

    return Recordings([read_results(path) for path in paths])


def _openai_evals(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.openai_evals.export import read_export  # noqa: PLC0415 (on use)
    from evenhand.report.interchange.openai_evals.runs import runs_of  # noqa: PLC0415 (on use)

    export = read_export(paths)
    runs = [Imported(run, paths[0], "openai-evals") for run in runs_of(export)]
    return Recordings(runs, tuple(export.notes))


def _inspect(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.foreign import Notes  # noqa: PLC0415 (on use)
    from evenhand.report.interchange.inspect_logs.log import read_log  # noqa: PLC0415 (on use)
    from evenhand.report.interchange.inspect_logs.runs import run_of  # noqa: PLC0415 (on use)

    notes = Notes()
    made = [(path, run) for path in paths if (run := run_of(read_log(path, notes)))]
    runs = [Imported(run, path, "inspect") for path, run in made]
    runs.sort(key=lambda one: (one.run.created_at, one.run.id))
    return Recordings(runs, tuple(notes))


def _deepeval(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.deepeval.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _ragas(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.ragas.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _langfuse(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.langfuse.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _langsmith(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.langsmith.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _braintrust(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.braintrust.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _phoenix(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.phoenix.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _lm_eval(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.lm_eval.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


def _pydantic_evals(paths: Sequence[Path]) -> Recordings:
    from evenhand.report.interchange.pydantic_evals.reading import read  # noqa: PLC0415 (on use)

    return read(paths)


OURS: Mapping[str, Callable[[Sequence[Path]], Recordings]] = {
    "promptfoo": _promptfoo,
    "openai-evals": _openai_evals,
    "inspect": _inspect,
    "pydantic-evals": _pydantic_evals,
    "deepeval": _deepeval,
    "ragas": _ragas,
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "braintrust": _braintrust,
    "phoenix": _phoenix,
    "lm-eval": _lm_eval,
}
"""The tools whose results are read here."""


def _called(one: Plugin, path: Path) -> ImportedRun:
    read = one.load()
    if not callable(read):
        raise one.broken(f"is {read!r}, not a function of a path")
    try:
        run: object = read(path)
    except (Exception, SystemExit) as error:
        raise one.broken(f"cannot read {path}", error) from error
    if not isinstance(run, ImportedRun):
        raise one.broken(f"returned {type(run).__name__}, not an ImportedRun")
    return run
