"""EvalSets: a file's worth of evals, what they run over, and what they share."""

from __future__ import annotations

import atexit
import copy
import inspect
import math
import sys
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from evenhand.core.arguments import checked, checked_class, past_checks
from evenhand.core.case import Case
from evenhand.core.contest import Referee
from evenhand.core.errors import Problem, UsageError
from evenhand.core.gate_terms import GateTerms, read_gate_terms
from evenhand.core.json_shapes import is_mapping
from evenhand.core.provider import Provider, judge_id, misset
from evenhand.core.ranges import REPEATS, SHARE
from evenhand.core.record import Record
from evenhand.core.requirement import Bound
from evenhand.core.wording.words import count
from evenhand.doors.eval_sets.dataset import Dataset

if TYPE_CHECKING:
    from evenhand.doors.conversations.conversation import Conversation

F = TypeVar("F", bound=Callable[..., Any])

MOST_VARIANTS = 10_000
"""Combinations of the axes of a set."""

RESERVED = ("case", "expect", "model", "judge", "repeat")
"""Parameters that every eval may ask for (`model` and `judge` where the set names one)."""

TALK = "talk"
"""What evals are given of a set whose subject is a conversation."""


class Eval(Record, frozen=True, kw_only=True):
    """One function of a set.

    Attributes:
        path: The file it stands in.
        tags: For selection, the set's included.
        description: The first line of its docstring.
    """

    name: str
    function: Callable[..., Any]
    path: Path
    first: int
    last: int
    tags: frozenset[str]
    description: str

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The eval's parameters, by name."""
        return inspect.signature(self.function).parameters


@checked_class
class EvalSet:
    """Functions over a dataset.

    Args:
        name: For reports.
        data: The cases; without any, each eval is run once.
        model: The model that evals are given as `model`: an id such as `openai:chat:gpt-5-mini`, one with settings,
            `{"id": …, "config": {"temperature": 0}}`, or a provider.
        judge: The model that judges, written likewise; or a list of ids, each in place of the one before when that
            is over its quota or out of reach; or a cascade, `{"first": …, "then": …}`.
        over: Axes to run over, each a list; every combination is a variant. `model` may be one of them.
        repeats: How often each case is run.
        cluster: The variable of the cases, or the key of their metadata, that says which belong together, such as the
            document that they ask about. Each cluster counts once in rates, intervals, comparisons and gates.
        tags: For selection.
        pass_rate: The share of trials, 0 to 1, that must pass in each variant for the run to pass. Without it and
            without `require`, all must.
        require: What the mean of a metric over the run has to be, in each variant that measures it: by the name of a
            metric, of an expectation, or `score`, `latency` (seconds) and `cost` (US dollars a trial). Without
            `pass_rate`, nothing else decides whether the run passes.
        compare: Who compares the outputs of a case's variants with each other, once all are there: referees, or a
            function that gives them for each case. Their outcomes join those of the evals; who loses fails.
        files: The folder that `file` reads from; `files` beside the set's own file by default.
        gate: What `evenhand gate` compares the set with, and how much worse it accepts.
        cassette: The file that answers all that the set's trials ask, relative to the set's own file. The first run
            records it; `evenhand run --record` does so again.
        subject: A `Conversation` that each trial has first, or a function, plain or async, that makes one: it is given
            `case`, `model`, axes and fixtures by name. What was said is given to evals as `talk`, and is their output.
        show_thinking: Whether thoughts in the text of an answer, such as `<think>…</think>`, are a part of what is
            scored. A model's own `showThinking` goes before it.
    """

    def __init__(
        self,
        name: str,
        *,
        data: Dataset | Iterable[Case | Mapping[str, Any]] | None = None,
        model: str | Mapping[str, Any] | Provider | None = None,
        judge: str | Sequence[str] | Mapping[str, Any] | Provider | None = None,
        over: Mapping[str, Sequence[Any]] | None = None,
        repeats: int = 1,
        cluster: str = "",
        tags: Iterable[str] = (),
        pass_rate: float | None = None,
        require: Mapping[str, Bound] | None = None,
        compare: Sequence[Referee] | Callable[[Case], Sequence[Referee]] = (),
        files: str | Path | None = None,
        gate: GateTerms | None = None,
        cassette: str | Path | None = None,
        subject: Conversation | Callable[..., object] | None = None,
        show_thinking: bool = False,
    ) -> None:
        _check_kinds(name, over, require, compare)
        lines = len(name.strip().splitlines())
        wrong = [] if lines == 1 and "\n" not in name else ["a set needs a name of one line"]
        wrong += filter(None, [REPEATS.problem("repeats", repeats)])
        wrong += _no_key(cluster)
        wrong += _misrequired(pass_rate, require or {})
        for one in judge if isinstance(judge, (list, tuple)) and judge else (judge,):
            # Most are None or an id, which is what it stands for.
            wrong += _not_a_model(
                "judge", one if one is None or isinstance(one, str) else judge_id(one)
            )
        wrong += _misgated(gate)
        axes, mistakes = _axes(over)
        wrong += mistakes
        wrong += _not_a_subject(subject, axes)
        wrong += [_no_tags(tags)] if isinstance(tags, str) else []
        referees: Sequence[Referee] = () if callable(compare) else compare
        wrong += [
            f"compare has {one!r}, which compares nothing"
            for one in referees
            if not hasattr(one, "compare")
        ]
        for one in axes.get("model", [model]):
            wrong += _not_a_model("model", one)
        variants = math.prod(map(len, axes.values()))
        if variants > MOST_VARIANTS:
            each = " × ".join(f"{len(values):,} of {axis}" for axis, values in axes.items())
            wrong.append(
                f"over comes to {each} variants, and there can be no more than {MOST_VARIANTS:,}"
            )
        if wrong:
            raise UsageError(f"EvalSet {name!r}: {'; '.join(wrong)}")
        frame = inspect.currentframe()
        caller = past_checks(frame.f_back) if frame else None
        self.name = name
        self.path = Path(caller.f_code.co_filename) if caller else Path()
        self.line = caller.f_lineno if caller else 0
        _remind_to_run(self.path, caller.f_globals if caller else {})
        self.data = data if data is None or isinstance(data, Dataset) else Dataset(data)
        self.model = model
        self.judge = judge
        self.over = axes
        self.repeats = repeats
        self.cluster = cluster
        self.tags = frozenset(tags)
        self.pass_rate = pass_rate
        self.require = dict(require or {})
        self._compare = compare
        self.evals: list[Eval] = []
        self.fixtures: dict[str, Callable[..., Any]] = {}
        self.set_up_once: set[str] = set()
        self.doubles: list[Problem] = []
        self.files = Path(files) if files else self.path.parent / "files"
        self.cassette = self.path.parent / cassette if cassette else None
        self.subject = subject
        self.show_thinking = show_thinking
        self.gate = gate and gate.within(self.path.parent)

    @overload
    def eval(self, function: F, /) -> F: ...
    @overload
    def eval(self, /, *, tags: Iterable[str] = ...) -> Callable[[F], F]: ...

    @checked
    def eval(
        self, function: F | None = None, /, *, tags: Iterable[str] = ()
    ) -> F | Callable[[F], F]:
        """Adds a function, plain or async, to the set. Its parameters are given by name.

        Raises:
            UsageError: It is no function, or its tags are no list.
        """
        _need_set(self, "eval")
        if isinstance(tags, str):
            raise UsageError(f"EvalSet {self.name!r}: {_no_tags(tags)}")

        def add(function: F) -> F:
            code = _code(function)
            try:
                lines, first = inspect.getsourcelines(function)
            # Typed at a prompt, or made by exec: there is no file. Or it was edited since it was read.
            except (OSError, tokenize.TokenError):
                first = code.co_firstlineno
                # Without a file to count in, the compiled code knows its last line.
                lines = range(max(line or first for _, _, line in code.co_lines()) - first + 1)
            text = (inspect.getdoc(function) or "").partition("\n")[0]
            path = Path(code.co_filename)
            earlier = {e.name: e for e in self.evals}.get(function.__name__)
            if earlier is not None:
                self._double("evals", earlier.name, path, first, earlier.path, earlier.first)
                self.evals.remove(earlier)
            self.evals.append(
                Eval(
                    name=function.__name__,
                    function=function,
                    path=path,
                    first=first,
                    last=first + len(lines) - 1,
                    tags=self.tags | frozenset(tags),
                    description=text,
                )
            )
            return function

        return add if function is None else add(function)

    @property
    def compares(self) -> bool:
        """Whether the outputs of every case's variants are compared with each other."""
        return not callable(self._compare) and bool(self._compare)

    def referees(self, case: Case) -> Sequence[Referee]:
        """Who compares the outputs of this case's variants."""
        return self._compare(case) if callable(self._compare) else self._compare

    @overload
    def fixture(self, function: F, /) -> F: ...
    @overload
    def fixture(self, /, *, repeatable: bool = ...) -> Callable[[F], F]: ...

    @checked
    def fixture(
        self, function: F | None = None, /, *, repeatable: bool = True
    ) -> F | Callable[[F], F]:
        """Adds a fixture: what it returns, or yields, is given to evals that ask for it by its name.

        It is made for each trial; what stands after the `yield` is run afterwards, whatever happened.

        Args:
            function: The function, plain or async.
            repeatable: Whether it can be made again for the same trial, as runs with `--batch` do. They refuse evals
                that ask for one that can't.
        """
        _need_set(self, "fixture")

        def add(function: F) -> F:
            self._add_fixture(function)
            if not repeatable:
                self.set_up_once.add(function.__name__)
            return function

        return add if function is None else add(function)

    def _add_fixture(self, function: Callable[..., Any]) -> None:
        earlier = self.fixtures.get(function.__name__)
        if earlier is not None:
            code, was = _code(function), _code(earlier)
            first = code.co_firstlineno
            path, before = Path(code.co_filename), Path(was.co_filename)
            self._double("fixtures", function.__name__, path, first, before, was.co_firstlineno)
        self.fixtures[function.__name__] = function
        # Typed anew in a notebook, it may be repeatable now.
        self.set_up_once.discard(function.__name__)

    def _double(
        self, kind: str, name: str, path: Path, line: int, earlier: Path, earlier_line: int
    ) -> None:
        """Notes that two have one name. Typed anew in a notebook, the later one just takes the place of the earlier."""
        if earlier.is_file():
            what = f"two {kind} of this set are called {name}, the other in line {earlier_line}"
            self.doubles.append(Problem(str(path), line, 0, what, "Rename one."))

    def file(self, name: str) -> Path:
        """A file below the set's `files` folder.

        Raises:
            UsageError: It is not there, or lies outside.
        """
        folder = self.files.resolve()
        try:
            # Resolved before it is compared, so that neither `..` nor a link leads outside.
            path = (folder / name).resolve()
            there = path.is_file()
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            # No text, a NUL, links in a circle.
            raise UsageError(f"file {name!r} cannot be read: {error}") from None
        if not path.is_relative_to(folder):
            raise UsageError(f"file {name!r} lies outside of {folder}")
        if not there:
            raise UsageError(f"file {name!r} does not exist", hint=f"Looked in {folder}.")
        return path

    def names(self, *, judged: bool) -> frozenset[str]:
        """All that an eval of this set may ask for. `judged`: somebody is named to judge, by the set or elsewhere."""
        names = {"case", "expect", "repeat", *self.over, *self.fixtures}
        if self.model is not None:
            names.add("model")
        if judged:
            names.add("judge")
        if self.subject is not None:
            names.add(TALK)
        return frozenset(names)

    def with_model(self, model: str) -> EvalSet:
        """The eval set with this model for all that it names: the evals' model, and each value of the axis `model`."""
        other = copy.copy(self)
        other.over = {axis: values for axis, values in self.over.items() if axis != "model"}
        other.model = model
        return other

    def uncompared(self) -> EvalSet:
        """The eval set without what compares its variants."""
        other = copy.copy(self)
        other._compare = ()  # noqa: SLF001 (its own class)
        return other

    def __repr__(self) -> str:
        return f"<EvalSet {self.name}: {count(len(self.evals), 'eval')}>"


def _need_set(evals: object, method: str) -> None:
    if not isinstance(evals, EvalSet):
        hint = f"Make a set, and add to it: evals = EvalSet('…'), then @evals.{method}."
        raise UsageError(f"@EvalSet.{method} adds to no set", hint=hint)


def _check_kinds(name: object, over: object, require: object, compare: object) -> None:
    """Refuses arguments of another kind, which nothing else could be said of."""
    if not isinstance(name, str):
        hint = 'Write EvalSet("support", data=…).'
        raise UsageError(f"EvalSet: its name is {name!r:.60}, not a text", hint=hint)
    for what, value, example in (
        ("over", over, "over={'model': ['openai:chat:gpt-5', 'openai:chat:gpt-5-mini']}"),
        ("require", require, "require={'accuracy': at_least(0.9)}"),
    ):
        if value is not None and not isinstance(value, Mapping):
            message = f"EvalSet {name!r}: {what} is {value!r:.60}, not a dict"
            raise UsageError(message, hint=f"Write {example}.")
    axes = cast("Mapping[object, object]", over or {})
    for axis, values in axes.items():
        if not isinstance(values, Iterable):
            raise UsageError(
                f"EvalSet {name!r}: the axis '{axis}' is {values!r:.60}, not a list of values"
            )
    if not callable(compare) and not isinstance(compare, Iterable):
        hint = "Write compare=[Ranking(criteria='…')]."
        raise UsageError(f"EvalSet {name!r}: compare is {compare!r:.60}, not a list", hint=hint)


def _no_key(cluster: object) -> list[str]:
    """What is wrong with the name of what cases belong to."""
    if isinstance(cluster, str):
        return []
    return [f"cluster is {cluster!r:.60}, not the name of a variable or a key of metadata"]


def _misgated(gate: object) -> list[str]:
    """What is wrong with what a gate goes by."""
    if gate is None:
        return []
    if not isinstance(gate, GateTerms):
        return [f"gate is {gate!r:.60}: write GateTerms('baseline.evn', margin=0.03)"]
    wrong: list[str] = []
    read_gate_terms(
        {key: value for key, value in asdict(gate).items() if value not in (None, "", ())},
        lambda _, what, hint: wrong.append(f"{what} ({hint})"),
    )
    return wrong


def _not_a_model(role: str, value: object) -> list[str]:
    """What is wrong with a model that is neither an id nor a provider. Whether an id is known is looked up later."""
    if value is None or (isinstance(value, str) and value.strip()):
        return []
    if hasattr(value, "request") and not isinstance(value, type):
        return []
    if is_mapping(value) and "id" in value:
        return [f"{role}= {what}" for what in misset(value)]
    if inspect.isroutine(value):
        file = f"name its file, {role}='file://answers.py:{value.__name__}'"
        return [
            f"{role}= takes a model, and {value.__name__} is a function: call it in the eval, or {file}"
        ]
    remedy = (
        f"write an id, {role}='openai:chat:gpt-5-mini', or one with settings, "
        f"{role}={{'id': 'openai:chat:gpt-5-mini', 'config': {{'temperature': 0}}}}"
    )
    if role == "judge" and isinstance(value, Mapping):
        remedy += "; a cascade has the keys 'first', 'then' and 'risk'"
    return [f"{role}= takes a model, and this is {value!r}: {remedy}"]


def _axes(over: Mapping[str, Sequence[Any]] | None) -> tuple[dict[str, list[Any]], list[str]]:
    """The values of each axis, and what is wrong with them."""
    if over is not None and not isinstance(over, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
        return {}, [f"over is {over!r}, not axes by name: over={{'model': ['…', '…']}}"]
    axes: dict[str, list[Any]] = {}
    wrong: list[str] = []
    for axis, values in (over or {}).items():
        several = isinstance(values, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
        # One more than there may be shows that there are too many, also of values that never end.
        axes[axis] = list(islice(values, MOST_VARIANTS + 1)) if several else []
        if isinstance(values, str) or not axes[axis]:
            example = f"[{values!r}, …]" if values else "[…]"
            wrong.append(f"the axis '{axis}' is {values!r}, not a list of values: write {example}")
        elif isinstance(values, (Mapping, set, frozenset)):
            keys_only = "dict, and its keys alone would be the values"
            what = keys_only if isinstance(values, Mapping) else "set, without an order"
            named = "[Prompt('short', '…'), …] has prompts with names"
            wrong.append(f"the axis '{axis}' is a {what}: write a list; {named}")
        if axis in RESERVED and axis != "model":
            wrong.append(f"an axis cannot be called '{axis}', which every eval is given")
    return axes, wrong


def _not_a_subject(subject: object, over: Mapping[str, object]) -> list[str]:
    """What is wrong with a subject that is neither a conversation nor makes one."""
    if subject is None:
        return []
    if TALK in over:
        return [f"an axis cannot be called '{TALK}', which evals are given of the subject"]
    if isinstance(subject, type) or not (callable(subject) or hasattr(subject, "max_turns")):
        return [
            f"subject is {subject!r:.60}: write subject=Conversation(agent, user), or a function that returns one"
        ]
    return []


def _misrequired(pass_rate: float | None, require: Mapping[str, Bound]) -> list[str]:
    """What is wrong with what a set requires."""
    wrong: list[str] = []
    problem = SHARE.problem("pass_rate", pass_rate)
    if problem:
        wrong.append(problem)
    for name, bound in require.items():
        if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] (users' code is not checked)
            wrong.append(f"require[{name!r}] is {bound!r}: write at_least(…) or at_most(…)")
        if name in ("", "passed", "pass_rate"):
            wrong.append(f"require has {name!r}: write pass_rate=… for the share that passes")
    return wrong


def _no_tags(tags: str) -> str:
    return f"tags is {tags!r}, not a list of tags"


def _code(function: Callable[..., Any]) -> CodeType:
    """Where a function stands, under its decorators."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        hint = "Write @evals.eval above a def; tags are given by name, @evals.eval(tags=['slow'])."
        raise UsageError(f"{function!r} is not a function", hint=hint)
    return code


_not_run: list[Path] = []
"""Files that Python was started with, and whose sets nobody has run."""


def _remind_to_run(file: Path, names: Mapping[str, Any]) -> None:
    """Notes that a set was made in a file.

    Args:
        names: The file's globals, which say whether it is the program.
    """
    if names.get("__name__") != "__main__" or _not_run or not file.is_file():
        return
    _not_run.append(file)
    atexit.register(_remind)


def forget_reminder() -> None:
    """Notes that somebody plans a run."""
    _not_run.clear()


def _remind() -> None:
    if _not_run and not hasattr(sys, "last_type"):  # or else it has ended with an exception
        name = _not_run[0].name
        sys.stderr.write(f"{name}: no eval was run\n  Run them: evenhand run {name}\n")
