"""Front door: expectations in pytest. The fixtures `expect` and `judge`, the markers `cases` and `repeats`.

How this works: `expect` records while a test runs; when its body is done, all that it expects is settled together, and
the test fails with a line for each expectation that was missed. What could not be settled is told apart: a test with
nothing but that is an error, neither passed nor failed. All tests of a session (of a worker, with xdist) are trials of
one run, which is kept like any other. Nothing of that is made, or even imported, before a test asks for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest

if TYPE_CHECKING:
    from evenhand.core.case import Case
    from evenhand.core.provider import Provider
    from evenhand.doors.eval_sets.dataset import Dataset
    from evenhand.doors.eval_sets.expect import Expect
    from evenhand.doors.eval_sets.thresholds import Thresholds
    from evenhand.doors.pytest_plugin.attempts import Attempts
    from evenhand.doors.pytest_plugin.report_lines import JudgesStanding
    from evenhand.doors.pytest_plugin.session_run import SessionRun, TestTrial

SESSION_RUN: pytest.StashKey[SessionRun] = pytest.StashKey()
TRIAL: pytest.StashKey[TestTrial] = pytest.StashKey()
EXPECT: pytest.StashKey[Expect] = pytest.StashKey()
REPEAT: pytest.StashKey[int] = pytest.StashKey()
ATTEMPTS: pytest.StashKey[dict[int, Attempts]] = pytest.StashKey()
LATE: pytest.StashKey[list[str]] = pytest.StashKey()
STANDING: pytest.StashKey[JudgesStanding] = pytest.StashKey()
RECORDED: pytest.StashKey[list[str]] = pytest.StashKey()
CUT_OFF: pytest.StashKey[bool] = pytest.StashKey()
REPORTED: pytest.StashKey[dict[str, Any]] = pytest.StashKey()

_MARKERS = (
    "cases(dataset): one test for each row of a .csv, .json or .jsonl file beside the test, given as `case`.",
    "repeats(n, at_least=1.0): run the test n times; it passes if at least this share of them does.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options."""
    group = parser.getgroup("evenhand", "expectations of LLM applications")
    group.addoption(
        "--evenhand-live",
        action="store_true",
        help="Ask models over the network; without it, answers of earlier runs are all there is.",
    )
    group.addoption("--evenhand-judge", metavar="MODEL", help="The model that judges.")
    group.addoption(
        "--evenhand-cassette",
        metavar="FILE",
        help="Answer all calls from FILE. Where it isn't there, ask models and record it; not where CI is set.",
    )
    group.addoption(
        "--evenhand-record", action="store_true", help="Ask models, and record the cassette again."
    )
    parser.addini("evenhand_cassette", "The cassette, relative to pytest's root folder.")
    parser.addini(
        "evenhand_record_calls",
        "Record the model calls of all HTTP clients of the code under test (default: true).",
        type="bool",
        default=True,
    )
    parser.addini("evenhand_judge", "The model that judges, e.g. anthropic:claude-sonnet-4-5.")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the markers known, and lends keys while a cassette is replayed."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(_Notes(config))
    if config.getoption("evenhand_cassette") or config.getini("evenhand_cassette"):
        from evenhand.doors.pytest_plugin.cassette import lend_keys

        lend_keys(config)


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> None:
    """Has the process guarded before the first file is imported that may expect something."""
    from evenhand.doors.pytest_plugin.guarding import guard_for

    guard_for(collector)


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Says that the session has ended in order; whatever ends the process from here on doesn't change its exit code."""
    from evenhand.doors.pytest_plugin.guarding import finish

    finish(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test for each case, and looks at the arguments of `repeats`."""
    cases = _marker(metafunc.definition, "cases")
    if cases is not None:
        dataset = _dataset(metafunc, cases)
        if "case" not in metafunc.fixturenames:
            _refuse(metafunc, "has the marker 'cases', and no parameter 'case'")
        metafunc.parametrize("case", list(dataset), ids=[case.id for case in dataset])
    repeats = _marker(metafunc.definition, "repeats")
    if repeats is not None:
        from evenhand.doors.pytest_plugin.repeats import asked

        try:
            asked(repeats)
        except ValueError as error:
            _refuse(metafunc, str(error))


def _marker(item: pytest.Item, name: str) -> pytest.Mark | None:
    """A test's marker of this name, if it is ours: a test without `expect` may have one of its own project's."""
    mark = item.get_closest_marker(name)
    fixtures: list[str] = getattr(item, "fixturenames", [])
    if mark is None or "expect" in fixtures:
        return mark
    lines = [str(line) for line in item.config.getini("markers") if line not in _MARKERS]
    if any(re.match(rf"{name}\b", line) for line in lines):
        return None
    return mark if name != "cases" or "case" in fixtures else None


def _dataset(metafunc: pytest.Metafunc, mark: pytest.Mark) -> Dataset:
    from evenhand.core.errors import UsageError
    from evenhand.doors.eval_sets.dataset import Dataset

    if len(mark.args) != 1 or mark.kwargs:
        _refuse(metafunc, "cases takes one argument: a file, a Dataset, or a list of rows")
    source = mark.args[0]
    try:
        if isinstance(source, (str, os.PathLike)):
            folder = metafunc.definition.path.parent
            return Dataset.read(folder / cast("str | os.PathLike[str]", source))
        return source if isinstance(source, Dataset) else Dataset(source)
    except UsageError as error:
        _refuse(metafunc, str(error))


def _refuse(metafunc: pytest.Metafunc, what: str) -> NoReturn:
    pytest.fail(f"{metafunc.definition.nodeid}: {what}", pytrace=False)


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> Provider | None:
    """The model that judges: `--evenhand-judge`, or `evenhand_judge` in pytest's configuration; else the project's.

    That is `judge` below `[tool.evenhand]` in pyproject.toml, or EVENHAND_JUDGE. A fixture of your own with this name
    goes before them all; it may return an id or a provider.
    """
    config = request.config
    named = config.getoption("evenhand_judge") or config.getini("evenhand_judge")
    if named:
        return _judge(config.rootpath, str(named))
    judge = _judge(request.path.parent)
    if judge is not None:
        return judge
    node = cast("pytest.Function", request.node)
    if "judge" in node.fixturenames:  # asked for by name; `expect` can do without
        from evenhand.doors.pytest_plugin.session_run import NAME_A_JUDGE

        pytest.fail(f"no judge is named\n  {NAME_A_JUDGE}", pytrace=False)
    return None


def _thresholds(folder: Path) -> Thresholds:
    from evenhand.core.errors import ConfigError
    from evenhand.doors.eval_sets.thresholds import Thresholds
    from evenhand.languages.documents.project import project_for

    try:
        return Thresholds(project_for(folder).thresholds)
    except ConfigError as error:
        pytest.fail(str(error), pytrace=False)


def _judge(folder: Path, name: str = "") -> Provider | None:
    """Who judges in this folder: the model with this name, or else by default; None for nobody."""
    from evenhand.core.errors import ConfigError, UsageError
    from evenhand.providers.roster import Roster, default_judge

    try:
        roster = Roster(folder, os.environ)
        return roster.judge_of(default_judge(name, "pytest", roster.project, os.environ))
    except ConfigError as error:
        pytest.fail(str(error), pytrace=False)
    except UsageError as error:
        pytest.fail(f"the judge: {error}", pytrace=False)


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Iterator[Expect]:
    """Says what is expected: it records and goes on. All is settled when the test's body is done."""
    from evenhand.doors.eval_sets.conditions import conditions_in
    from evenhand.doors.eval_sets.expect import Expect
    from evenhand.doors.eval_sets.models import calls_recorded
    from evenhand.engine.process import own_process
    from evenhand.engine.strays import strays_told, trials_carried
    from evenhand.engine.trial import present

    item = cast("pytest.Function", request.node)
    judges = request.getfixturevalue("judge")
    if isinstance(judges, str):
        judges = _judge(request.config.rootpath, judges)
    trial = _session_run(item).trial(
        _attempts(item),
        _function(item),
        _row(item),
        cast("Provider | None", judges),
        conditions_in(item.function).asserts,
    )
    item.stash[TRIAL] = trial
    thresholds = _thresholds(request.path.parent)
    item.stash[EXPECT] = expect = Expect(trial, thresholds)
    token = present.set(trial)  # what the application under test asks by itself is this test's
    records = bool(request.config.getini("evenhand_record_calls"))
    around = calls_recorded() if records else contextlib.nullcontext()
    with own_process(), strays_told(warn=True), trials_carried(), around:
        yield expect
    # An async test that asked for it by name set it in its task.
    with contextlib.suppress(ValueError):
        present.reset(token)
    del item.stash[TRIAL], item.stash[EXPECT]
    session_run = item.config.stash.get(SESSION_RUN, None)  # none where the session was interrupted
    late = session_run.late(trial) if session_run is not None else []
    if late:
        pytest.fail("\n".join(late), pytrace=False)


def _session_run(item: pytest.Function) -> SessionRun:
    """The session's run, made when the first test asks for it."""
    from evenhand.core.errors import StoreError, UsageError
    from evenhand.doors.pytest_plugin.cassette import cassette_for
    from evenhand.doors.pytest_plugin.repeats import count_of
    from evenhand.doors.pytest_plugin.session_run import SessionRun
    from evenhand.languages.documents.project import calibrated_for

    config = item.config
    if SESSION_RUN not in config.stash:
        planned: dict[str, int] = {}
        folders = {item.path.parent}
        for other in item.session.items:
            if isinstance(other, pytest.Function) and "expect" in other.fixturenames:
                name = _function(other)
                planned[name] = planned.get(name, 0) + count_of(other)
                folders.add(other.path.parent)
        # A test may ask for `expect` by request.getfixturevalue; its `fixturenames` then do not list it.
        planned.setdefault(_function(item), 1)
        try:
            live = bool(config.getoption("evenhand_live"))
            config.stash[SESSION_RUN] = SessionRun(
                config.rootpath,
                planned,
                live=live,
                calibrated=calibrated_for(folders),
                cassette=cassette_for(config),
            )
        except (StoreError, UsageError) as error:
            pytest.fail(str(error), pytrace=False)
    return config.stash[SESSION_RUN]


def _attempts(item: pytest.Function) -> Attempts:
    """The attempts at the present repeat of a test: plugins run one again that failed."""
    from evenhand.doors.pytest_plugin.repeats import least_of

    repeat, row = item.stash.get(REPEAT, 0), _row(item)
    of_item = item.stash.setdefault(ATTEMPTS, {})
    if repeat not in of_item:
        of_item[repeat] = _session_run(item).attempts(
            item.nodeid,
            _function(item),
            repeat,
            row.description if row is not None else "",
            least_of(item),
        )
    return of_item[repeat]


def _row(item: pytest.Function) -> Case | None:
    """The row that a test is given, if any."""
    from evenhand.core.case import Case

    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return case if isinstance(case, Case) else None


def _function(item: pytest.Function) -> str:
    """The test without its parameters."""
    return item.nodeid[: -len(item.name)] + (item.originalname or item.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Settles what the test expected, once its body is done."""
    try:
        result = yield
    except (
        pytest.skip.Exception,
        pytest.xfail.Exception,
        pytest.exit.Exception,
        KeyboardInterrupt,
    ):
        raise
    except BaseException as error:
        from evenhand.core.errors import JudgeError

        trial = item.stash.get(TRIAL, None)
        refusal = _refusal(error, trial, item.config.rootpath) if trial is not None else ""
        if trial is not None:
            _settle(item, trial, shown_by_pytest=trial.raised(error))
        if refusal:
            settled = item.stash[REPORTED]
            item.stash[REPORTED] = {**settled, "undecided": "fail" not in settled["states"]}
            raise pytest.fail.Exception(refusal, pytrace=False) from None
        # `expect.now` had no answer to give: no verdict
        if trial is not None and trial.places and isinstance(error, JudgeError):
            item.stash[REPORTED]["undecided"] = "fail" not in item.stash[REPORTED]["states"]
        raise
    trial = item.stash.get(TRIAL, None)
    if trial is None:
        return result
    item.stash[EXPECT].finish()
    trial.left_running()
    if not trial.places and not trial.problems:
        item.warn(pytest.PytestWarning(f"{item.nodeid} is given `expect`, and expects nothing"))
        return result
    _settle(item, trial)
    return result


def _refusal(error: BaseException, trial: TestTrial, root: Path) -> str:
    """What to say where the application's call was refused, as the SDK's exception tells; empty for anything else.

    The traceback is the SDK's own from one end to the other, and the test has no verdict.
    """
    from evenhand.core.errors import NotRecorded
    from evenhand.core.users_code import is_users
    from evenhand.doors.pytest_plugin.session_run import LIVE_HINT, WITHOUT_LIVE

    halted = trial.own.halted if trial.own is not None else None
    missed = halted if isinstance(halted, NotRecorded) else None
    if missed is None and WITHOUT_LIVE not in str(error):
        return ""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    place = f"{_below(root, frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
    if missed is not None:
        return f"{place}{missed}"
    what = "a model was not asked: no answer to this question is stored,"
    return f"{place}{what} {WITHOUT_LIVE}\n  {LIVE_HINT}"


def _below(root: Path, file: str) -> str:
    """A file's name as pytest writes it: from its root folder, where it is below that."""
    return os.path.relpath(file, root) if Path(file).is_relative_to(root) else file


def _settle(item: pytest.Item, trial: TestTrial, *, shown_by_pytest: int | None = None) -> None:
    """Settles a test's expectations, notes them for the report, and fails the test where it has not failed already.

    Args:
        shown_by_pytest: The place of the outcome that is what the test's body raised, where it has failed already.
    """
    from evenhand.doors.pytest_plugin.report_lines import lines, summary

    session_run = item.config.stash[SESSION_RUN]
    result = session_run.settle(trial, _attempts(cast("pytest.Function", item)))
    failing = result.outcome in ("fail", "error") and shown_by_pytest is None
    if shown_by_pytest is not None and result.outcomes:
        outcomes = list(result.outcomes)
        del outcomes[shown_by_pytest]
        result = replace(result, outcomes=tuple(outcomes), error=None)
    item.stash[REPORTED] = {
        "run": str(session_run.path),
        "undecided": failing and result.outcome == "error",
        "states": [o.outcome for o in result.outcomes] or ["error"] * len(trial.places),
        "calls": result.calls,
        "cached": result.cached,
    }
    listed = lines(result, trial.places)
    section = listed.others if failing else listed.all
    if section:
        item.add_report_section("call", "expectations", "\n".join(section))
    if failing:
        message = [summary(result), *listed.missed, *listed.errors]
        pytest.fail("\n".join(message), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts what was settled on the report, where it goes from a worker to whoever prints."""
    report = yield
    settled = item.stash.get(REPORTED, None) if call.when == "call" else None
    if settled is not None:
        del item.stash[REPORTED]
        report.__dict__["evenhand"] = settled
    if isinstance(item, pytest.Function) and (
        "expect" in item.fixturenames or ATTEMPTS in item.stash
    ):
        from evenhand.doors.pytest_plugin.reconciling import reconcile

        of_item = item.stash.get(ATTEMPTS, {}).get(item.stash.get(REPEAT, 0))
        if of_item is None and report.failed:  # not even set up
            with contextlib.suppress(pytest.fail.Exception):  # without a run, there is no trial
                of_item = _attempts(item)
        session_run = item.config.stash.get(SESSION_RUN, None)
        if session_run is not None:
            reconcile(session_run, of_item, item, call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """A test without a verdict is an error."""
    settled = getattr(report, "evenhand", None)
    if settled and settled["undecided"] and report.when == "call" and report.failed:
        return "error", "E", "ERROR"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Notes a test for the guardian, and runs one with the marker `repeats` as often as that says."""
    from evenhand.doors.pytest_plugin.guarding import note

    note(item.config, item.nodeid)
    if not isinstance(item, pytest.Function) or _marker(item, "repeats") is None:
        return None
    from evenhand.doors.pytest_plugin.repeats import run

    run(item, nextitem, REPEAT)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says what the expectations came to, and where to look at them again."""
    for line in terminalreporter.config.stash.get(LATE, ()):
        terminalreporter.write_line(f"evenhand: after the test had ended: {line}", red=True)
    for line in terminalreporter.config.stash.get(RECORDED, ()):
        terminalreporter.write_line(f"evenhand: {line}")
    settled = _settled(terminalreporter)
    stash, quiet = terminalreporter.config.stash, terminalreporter.config.get_verbosity() < 0
    standing = stash.get(STANDING, None)
    if standing is not None and (standing.undecided or not quiet):
        for line in standing.lines:
            terminalreporter.write_line(line, red=standing.undecided)
    if not settled or quiet:
        return
    from evenhand.doors.pytest_plugin.report_lines import closing

    terminalreporter.write_line(closing(settled))


def _settled(reporter: Any) -> list[dict[str, Any]]:
    """What the expectations of all tests came to, also of those that workers ran."""
    settled = [
        (report, report.evenhand)
        for reports in reporter.stats.values()
        for report in reports
        if hasattr(report, "evenhand")
    ]
    # Of a test that a plugin ran again, the last attempt counts; all of them asked models.
    return [{**one, "states": []} if report.outcome == "rerun" else one for report, one in settled]


class _Notes:
    """Notes that a session is cut off, whatever its exit code is, and which subtests failed."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_keyboard_interrupt(self) -> None:
        """Notes Ctrl-C or `pytest.exit`."""
        self._config.stash[CUT_OFF] = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a subtest that failed."""
        if SESSION_RUN in self._config.stash:
            from evenhand.doors.pytest_plugin.reconciling import note_subtest

            note_subtest(self._config, report)


def _cut_off(config: pytest.Config, exitstatus: int) -> bool:
    """Whether a session ends before its tests do, for another reason than --maxfail."""
    early = {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR}
    return config.stash.get(CUT_OFF, False) or exitstatus in early or _left_alone(config)


def _left_alone(config: pytest.Config) -> bool:
    """Whether the process that hands out the tests to this worker of xdist has died. A worker then ends as ever."""
    workers = [one for one in config.pluginmanager.get_plugins() if hasattr(one, "workerid")]
    channels: list[Any] = [one.channel for one in workers if hasattr(one, "channel")]
    for channel in channels:
        try:
            # An open channel only times out; one whose other end has died returns or raises at once.
            channel.waitclose(timeout=0.02)
        except channel.TimeoutError:
            continue
        except (channel.RemoteError, EOFError, OSError):
            return True
        return True
    return False


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Ends the session's run, and looks at its judges: where calibration is required, all have to have one."""
    session_run = session.config.stash.get(SESSION_RUN, None)
    if session_run is not None:
        del session.config.stash[SESSION_RUN]
        session_run.close(interrupted=_cut_off(session.config, exitstatus))
        session.config.stash[RECORDED] = session_run.notes
        late = session_run.late()
        if late:
            session.config.stash[LATE] = late
            session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    settled = (
        [] if reporter is None or hasattr(session.config, "workerinput") else _settled(reporter)
    )
    if any(one["calls"] for one in settled):
        from evenhand.doors.pytest_plugin.report_lines import standing_of

        runs = dict.fromkeys(Path(one["run"]) for one in settled)
        session.config.stash[STANDING] = standing = standing_of(runs)
        if standing.undecided:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
