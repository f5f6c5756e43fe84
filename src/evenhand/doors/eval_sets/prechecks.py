"""What can be known to be wrong with a set before it runs: what nobody provides, and what its lines say plainly.

How this works: parameters are looked up by name. Then the source of each eval is read, not run: a scorer that is called
with nothing but literals and names of the file can be made now as well as later, and says itself what is wrong with it;
one that measures and is expected without a bound can be seen. What hangs on a variable is left to the run, where it is
an error of its trial.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.core.arguments import misgiven_arguments
from evenhand.core.case import Case
from evenhand.core.errors import AuthError, EvenhandError, Problem, UsageError
from evenhand.core.expect import Asks
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.traits import label_of, reading, traits_of
from evenhand.doors.eval_sets.bounds import (
    misspelt,
    of_expect,
    off_scale,
    wants_none,
    wrongly_bounded,
)
from evenhand.doors.eval_sets.evalset import RESERVED, TALK, Eval, EvalSet
from evenhand.doors.eval_sets.models import EvalSetRoster
from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.scorers.function import FunctionScorer
from evenhand.scorers.judging import NAME_A_JUDGE, AsksJudge
from evenhand.scorers.jury import JudgeQuestion
from evenhand.scorers.opposite import refuse_opposite

_LOOKED_AT = 100
"""Cases, for what they have."""

_UNKNOWN = object()
_NOBODY = ""
_PURE = (
    "evenhand.scorers.",
    "evenhand.doors.eval_sets.prompt",
    "evenhand.doors.eval_sets.dataset",
    "evenhand.doors.eval_sets.evalset",
)
"""Classes of these modules do nothing when they are made but look at their arguments."""
_LOOKS = (
    ast.Expr,
    ast.Attribute,
    ast.Subscript,
    ast.Compare,
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.If,
    ast.IfExp,
    ast.While,
    ast.Assert,
)
"""What a coroutine in their place is of no use to."""
_AWAIT = "Write await expect.now(…), in an async def; or expect(…), which waits for nothing."
_MODELS = ("model", "judge")
_ASKS = ("generate", "embed", "classify", "moderate")
"""What a model is asked by; each is awaited."""


class Foreseen(Record, frozen=True):
    """What is wrong with a set.

    Attributes:
        whole: With all of it: none of its evals can be run.
        evals: With each of its evals and the fixtures that it needs, by its name.
        others: With fixtures that no eval needs.
    """

    whole: Sequence[Problem]
    evals: Mapping[str, Sequence[Problem]]
    others: Sequence[Problem] = ()

    @property
    def problems(self) -> list[Problem]:
        """All problems of the set, each once."""
        each = [problem for problems in self.evals.values() for problem in problems]
        unique = {str(problem): problem for problem in (*self.whole, *each, *self.others)}
        return list(unique.values())


def foreseen(evals: EvalSet, models: EvalSetRoster, chosen: Sequence[Eval]) -> Foreseen:
    """All that can be known to be wrong with a set's evals and fixtures.

    Args:
        chosen: The evals that are to be run: only these can lack a key.
    """
    there = evals.names(judged=models.judged)
    if not evals.evals:
        what = f"EvalSet {evals.name!r} has no evals"
        hint = "Write @evals.eval above a function."
        return Foreseen([Problem(str(evals.path), evals.line, 0, what, hint)], {})
    whole = [*evals.doubles]
    if evals.data is not None and not evals.data:
        what = f"the data of EvalSet {evals.name!r} holds no cases"
        whole.append(
            Problem(str(evals.path), evals.line, 0, what, "Without data=, an eval is run once.")
        )
    whole += _who_compares(evals, models)
    whole += _asked_for_by_none(evals)
    fixtures: dict[str, list[Problem]] = {}
    for name, function in evals.fixtures.items():
        # The place of the fixture itself, not that of a decorator's wrapper.
        code = inspect.unwrap(function).__code__
        place = (code.co_filename, code.co_firstlineno)
        fixtures[name] = [
            *unprovided(
                there,
                name,
                inspect.signature(function).parameters.values(),
                *place,
                evals.data or (),
            )
        ]
        if name in evals.over or name in RESERVED or (name == TALK and evals.subject is not None):
            what = f"a fixture cannot be called '{name}', which evals are given already"
            whole.append(Problem(*place, 0, what, "Rename it."))
        circle = _circle(name, evals.fixtures)
        if circle:
            what = f"fixtures ask for each other in a circle: {' → '.join(circle)}"
            fixtures[name].append(Problem(*place, 0, what, "Let one of them do without."))
    if callable(evals.subject):
        who = getattr(evals.subject, "__name__", "the subject")
        parameters = inspect.signature(evals.subject).parameters.values()
        # The subject makes the conversation, and so cannot be given it.
        whole += unprovided(there - {TALK}, who, parameters, str(evals.path), evals.line)
    by_eval: dict[str, list[Problem]] = {}
    needed = set[str]()
    for eval_ in evals.evals:
        place = (str(eval_.path), eval_.first)
        by_eval[eval_.name] = wrong = [
            *unprovided(there, eval_.name, eval_.parameters.values(), *place, evals.data or ())
        ]
        if _yields(eval_.function):
            what = f"{eval_.name} has a yield, so that calling it runs none of it"
            wrong.append(Problem(*place, 0, what, "A fixture may yield; an eval expects."))
        needs = asked_of(evals, eval_)
        if "judge" in needs:
            wrong += _keyless(models, models.judge, *place)
        wrong += _expected(eval_.function, models, *place)
        for name in needs & fixtures.keys():
            wrong += fixtures[name]
        needed |= needs
        if eval_ not in chosen:
            wrong[:] = [problem for problem in wrong if problem.slug != AuthError.slug]
    others = [problem for name in fixtures.keys() - needed for problem in fixtures[name]]
    return Foreseen(whole, by_eval, others)


def _asked_for_by_none(evals: EvalSet) -> Iterator[Problem]:
    """The axes, and the model, that no eval takes: all variants would be one, run again and compared with itself."""
    requested = set[str]().union(*(asked_of(evals, eval_) for eval_ in evals.evals))
    name = evals.evals[0].name
    for axis in evals.over.keys() - requested:
        what = f"over: no eval of EvalSet {evals.name!r} takes '{axis}', so its variants would all be the same"
        hint = f"Take it where it is used, in an eval, a fixture or the subject: def {name}(…, {axis}). Or remove it."
        yield Problem(str(evals.path), evals.line, 0, what, hint)
    if evals.model is not None and "model" not in {*evals.over, *requested}:
        what = f"no eval of EvalSet {evals.name!r} takes 'model', so the set's model would never be asked"
        hint = (
            f"Take it: def {name}(…, model). Or remove model=: what your application asks by itself is its own, "
            "and an axis can name it."
        )
        yield Problem(str(evals.path), evals.line, 0, what, hint)


def partly_taken(evals: EvalSet, chosen: Sequence[Eval]) -> Iterator[Problem]:
    """The axes that some evals of a set take and these don't: their variants along it are alike."""
    for eval_ in chosen:
        for axis in evals.over.keys() - asked_of(evals, eval_):
            values = len(evals.over[axis])
            what = (
                f"{eval_.name} doesn't take '{axis}', an axis of its set: it is run {values} times "
                "over, and no difference along it is one"
            )
            hint = f"Take it, or put {eval_.name} in a set without it."
            yield Problem(str(eval_.path), eval_.first, 0, what, hint)


def set_up_once(evals: EvalSet, chosen: Iterable[Eval]) -> Iterator[Problem]:
    """The fixtures of these evals that say that they cannot be made again for the same trial."""
    for eval_ in chosen:
        for name in sorted(asked_of(evals, eval_) & evals.set_up_once):
            code = inspect.unwrap(evals.fixtures[name]).__code__
            what = f"the fixture {name}, which {eval_.name} asks for, is not repeatable"
            yield Problem(code.co_filename, code.co_firstlineno, 0, what)


def asked_of(evals: EvalSet, eval_: Eval) -> set[str]:
    """All that an eval and the fixtures that it needs ask for, by name."""
    names = list(eval_.parameters)
    if callable(evals.subject):
        names += inspect.signature(evals.subject).parameters
    requested = set[str]()
    while names:
        name = names.pop()
        if name not in requested:
            requested.add(name)
            if name in evals.fixtures:
                names += inspect.signature(evals.fixtures[name]).parameters
    return requested


def _who_compares(evals: EvalSet, models: EvalSetRoster) -> Iterator[Problem]:
    """What is wrong with the judges that compare outputs, as far as they are known before there is a case."""
    place = (str(evals.path), evals.line)
    for referee in evals.referees(Case("")) if evals.compares else ():
        if not isinstance(referee, AsksJudge):
            continue
        judge = referee.judge
        written = judge if isinstance(judge, (str, Mapping)) else None
        wrong = models.wrong(written) if written is not None else None
        if judge is None and not models.judged:
            what = f"{label_of(referee)} wants a judge, and no judge is named"
            yield Problem(*place, 0, what, NAME_A_JUDGE)
        elif wrong is not None:
            yield Problem(*place, 0, wrong.message, wrong.hint)
        elif judge is None or written is not None:
            yield from _keyless(models, written or models.judge, *place)


def _keyless(models: EvalSetRoster, model: object, path: str, line: int) -> Iterator[Problem]:
    """That a model that judges in this line lacks its key."""
    wrong = models.keyless(model, judges=True)
    if wrong is not None:
        yield Problem(path, line, 0, *wrong, AuthError.slug)


def _of_cases(cases: Iterable[Case]) -> dict[str, str]:
    """What the first cases have, and how an eval reads it."""
    fields = {name: f"case.{name}" for name in ("input", "expected", "context", "metadata", "vars")}
    for case in islice(cases, _LOOKED_AT):
        fields |= {name: f"case.metadata[{name!r}]" for name in case.metadata}
        fields |= {name: f"case.vars[{name!r}]" for name in case.vars}
    return fields


def unprovided(
    there: frozenset[str],
    name: str,
    parameters: Iterable[inspect.Parameter],
    path: str,
    line: int,
    cases: Iterable[Case] = (),
) -> Iterator[Problem]:
    """What a function asks for and nobody provides.

    Args:
        cases: Those of its set, where it can be given one.
    """
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            what = f"{name} takes '{parameter.name}' by position alone, and is given all by name"
            yield Problem(path, line, 0, what, "Remove the / from its parameters.")
        elif parameter.name not in there and parameter.default is parameter.empty:
            hint = f"{did_you_mean(parameter.name, there)} ".lstrip()
            if parameter.name == "model":
                hint = "Name one: EvalSet(…, model='openai:chat:gpt-5-mini'). "
            if parameter.name == "judge":
                hint = f"{NAME_A_JUDGE} "
            if parameter.name == "self":
                hint = "An eval is a function beside its set, not a method of a class. "
            elif not hint:
                hint = f"Write @evals.fixture above a function {parameter.name}. "
            what = f"{name} asks for '{parameter.name}', which nothing provides"
            read = _of_cases(cases).get(parameter.name, "") if cases else ""
            if read:
                yield Problem(
                    path, line, 0, what, f"The cases have it: take case, and write {read}."
                )
                continue
            yield Problem(path, line, 0, what, f"{hint}There are: {', '.join(sorted(there))}.")


def _yields(function: Callable[..., Any]) -> bool:
    function = inspect.unwrap(function)
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _circle(start: str, fixtures: Mapping[str, Callable[..., Any]]) -> list[str]:
    """The way from a fixture back to itself, told of the first of its circle by name alone; empty for none."""

    def way(name: str, before: tuple[str, ...]) -> list[str]:
        for parameter in inspect.signature(fixtures[name]).parameters:
            if parameter == start:
                return [*before, name, start]
            if parameter in fixtures and parameter not in (*before, name):
                rest = way(parameter, (*before, name))
                if rest:
                    return rest
        return []

    circle = way(start, ())
    return circle if circle and min(circle) == start else []


def _expected(
    function: Callable[..., Any], models: EvalSetRoster, path: str, first: int
) -> Iterator[Problem]:
    """What is plainly wrong with the scorers in an eval's lines, and with what it expects of them."""
    function = inspect.unwrap(function)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    # There is no file; it was edited since; or its lines are part of a longer expression.
    except (OSError, SyntaxError, tokenize.TokenError):
        return
    code = function.__code__
    # A name that the function sets itself is not the module-level one, whatever that holds.
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    bounds = models.project.thresholds
    thresholds = Thresholds(bounds) if bounds else None
    yield from plain(tree, KnownValues(own, function.__globals__, thresholds), models, path, first)


def plain(
    tree: ast.AST, known: KnownValues, models: EvalSetRoster | None, path: str, first: int
) -> Iterator[Problem]:
    """What is plainly wrong in these lines; nothing of models where the set that names them is not there."""
    reported: set[str] = set()
    unawaited = _unawaited(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        line = first + node.lineno - 1
        try:
            with reading(Path(path)) as named:
                known.value(node)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with the arguments)
            what = error.message if isinstance(error, EvenhandError) else str(error)
            hint = error.hint if isinstance(error, EvenhandError) else ""
            yield Problem(path, line, 0, what, hint)
            continue
        for model in named:
            wrong = None if models is None or model.id in reported else models.wrong(model.id)
            if wrong is not None:
                reported.add(model.id)
                yield Problem(path, line, 0, wrong.message, wrong.hint)
            elif models is not None:
                yield from _keyless(models, model.id, path, line)
        called = node.func
        at_once = isinstance(called, ast.Attribute) and called.attr == "now"
        if isinstance(called, ast.Attribute) and at_once:
            called = called.value
        if isinstance(called, ast.Name) and called.id == "expect":
            what, hint = _undecided(node, known, at_once=at_once)
            judge = _judge(node, known)
            # That no judge is named is reported once for an eval, not in each line that wants one.
            if not what and models is not None and judge is None and _NOBODY not in reported:
                reported.add(_NOBODY)
                if not models.judged:
                    what, hint = "a judge is needed, and no judge is named", NAME_A_JUDGE
                yield from _keyless(models, models.judge, path, line)
            elif models is not None and isinstance(judge, str):
                yield from _keyless(models, judge, path, line)
            # A call that is not awaited is reported for that alone, below.
            if what and node not in unawaited:
                yield Problem(path, line, 0, of_expect(what), hint)
        if node in unawaited:
            yield Problem(path, line, 0, *_not_awaited(node))


def _not_awaited(call: ast.Call) -> tuple[str, str]:
    """What is wrong with a call that is not awaited, and what to do."""
    name = ast.unparse(call.func)
    if name == "expect.now":
        return "expect.now(…) is not awaited, and so nothing is expected", _AWAIT
    hint = f"Write await {name}(…), in an async def."
    return f"{name}(…) is not awaited, and so the model is not asked", hint


def _waits(call: ast.Call) -> bool:
    """Whether a call is one that has to be awaited: of `expect.now`, or of what asks `model` or `judge`."""
    called = call.func
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return False
    whose = called.value.id
    return (whose == "expect" and called.attr == "now") or (
        whose in _MODELS and called.attr in _ASKS
    )


def _unawaited(tree: ast.AST) -> set[ast.AST]:
    """The calls that wait and are plainly never awaited: their value is dropped, expected, or looked at as it is."""
    above = {inner: outer for outer in ast.walk(tree) for inner in ast.iter_child_nodes(outer)}

    def lost(node: ast.AST) -> bool:
        outer = above.get(node)
        if not isinstance(outer, (ast.Assign, ast.AnnAssign)):
            return isinstance(outer, _LOOKS) or _expects(outer, node)
        targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        uses = (n for n in above if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        return bool(names) and all(
            isinstance(above[n], _LOOKS) or _expects(above[n], n) for n in uses if n.id in names
        )

    calls = (node for node in above if isinstance(node, ast.Call))
    return {call for call in calls if _waits(call) and lost(call)}


def _expects(node: ast.AST | None, value: ast.AST) -> bool:
    """Whether this is a call of `expect` for this value."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "expect" and node.args[:1] == [value]


def _undecided(call: ast.Call, known: KnownValues, *, at_once: bool) -> tuple[str, str]:
    """What keeps an expectation from being decided, and what to do; empty where it can be, or who knows."""
    try:
        return _misbound(call, known, at_once=at_once)
    except UsageError as error:  # a function that cannot be a scorer
        return error.message, error.hint


def _misbound(call: ast.Call, known: KnownValues, *, at_once: bool) -> tuple[str, str]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    # What `*` and `**` stand for is known only when the eval runs.
    if None in named or any(isinstance(arg, ast.Starred) for arg in call.args):
        return "", ""
    slip = misspelt(name for name in named if name)
    if slip[0]:
        return slip
    numbers: dict[str, float] = {}
    for bound in ("at_least", "at_most"):
        value = known.quiet(named[bound]) if bound in named else _UNKNOWN
        if isinstance(value, (str, bool, list, tuple, dict)):
            return f"{bound} is {value!r}, not a number", ""
        if isinstance(value, (int, float)):
            numbers[bound] = value
    if len(numbers) == 2 and numbers["at_least"] > numbers["at_most"]:
        both = "at_least is {at_least!r}, and at_most is {at_most!r}: no number is both"
        return both.format(**numbers), ""
    if "at_least" in named or "at_most" in named:
        bounds = [named[bound] for bound in ("at_least", "at_most") if bound in named]
        if len(call.args) == 2 and any(known.quiet(bound) is not None for bound in bounds):
            scorer = _scorer(call.args[1], known)
            wrong = wants_none(scorer)
            return (
                wrong
                if wrong[0]
                else off_scale(scorer, numbers.get("at_least"), numbers.get("at_most"))
            )
        return "", ""
    if len(call.args) == 1 and "label" not in named:
        hint = 'Write expect(condition, "what it says").'
        return "a condition or a number needs a label", hint
    if len(call.args) == 2:
        scorer = _scorer(call.args[1], known)
        if at_once and isinstance(scorer, Asks):  # the eval looks at the answer itself
            return "", ""
        # Which threshold of the project is meant.
        unknown = isinstance(scorer, type) or "metric" in named
        if known.thresholds and (unknown or known.thresholds.bounds(scorer) != (None, None)):
            return "", ""
        return wrongly_bounded(scorer, None, None)
    return "", ""


def _scorer(node: ast.expr, known: KnownValues) -> Any:
    """The scorer that is expected of something, or its class where its arguments are not known, or `_UNKNOWN`.

    Raises:
        UsageError: It is the opposite of one that has none, or Python makes one of several, or a bool.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        operand = _scorer(node.operand, known)
        if operand is not _UNKNOWN:
            refuse_opposite(operand)
        return operand
    if isinstance(node, ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        _refuse_words(node, known)
    scorer = known.quiet(node)
    if scorer is _UNKNOWN and isinstance(node, ast.Call):
        operand = known.quiet(node.func)
        # What a function returns is not known.
        return operand if isinstance(operand, type) else _UNKNOWN
    return FunctionScorer(scorer) if inspect.isfunction(scorer) else scorer


def _refuse_words(node: ast.BoolOp | ast.UnaryOp, known: KnownValues) -> None:
    """Refuses `not`, `and` and `or` between scorers: they come to False, to the last and to the first."""
    parts = node.values if isinstance(node, ast.BoolOp) else [node.operand]
    if not all(hasattr(_scorer(part, known), "score") for part in parts):
        return
    if isinstance(node, ast.UnaryOp):
        raise UsageError(
            f"`{ast.unparse(node)}` is False, whatever the output is",
            hint=f"Write ~{ast.unparse(node.operand)}.",
        )
    both = isinstance(node.op, ast.And)
    what = f"of scorers joined by `{'and' if both else 'or'}`, only the {'last' if both else 'first'} is asked"
    any_of = "Write a function of the output that says so, or ContainsAny([…]) for texts."
    raise UsageError(what, hint="Write an expect(…) for each." if both else any_of)


def _judge(call: ast.Call, known: KnownValues) -> object:
    """Whom an expectation asks: the judge that its scorer names, None for whoever judges, `_UNKNOWN` for nobody."""
    if len(call.args) < 2:
        return _UNKNOWN
    node = call.args[1]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        node = node.operand
    judge = known.quiet(node)
    if judge is _UNKNOWN and isinstance(node, ast.Call):
        judge = known.quiet(node.func)
        # Its judge is a variable, or may be among `**options`.
        if any(keyword.arg in ("judge", None) for keyword in node.keywords):
            return _UNKNOWN
    if not isinstance(judge, JudgeQuestion) or traits_of(judge).may_ask_nobody:
        return _UNKNOWN
    return None if isinstance(judge, type) else judge.judge


class KnownValues:
    """What expressions in a function come to, as far as that can be known without running it."""

    def __init__(
        self, own: set[str], names: Mapping[str, Any], thresholds: Thresholds | None = None
    ) -> None:
        self._own = own
        self.thresholds = thresholds
        self._globals = names

    def quiet(self, node: ast.expr) -> Any:
        """The value; `_UNKNOWN` also for one that cannot be made."""
        try:
            return self.value(node)
        except Exception:  # noqa: BLE001 (told where the call itself is looked at)
            return _UNKNOWN

    def value(self, node: ast.expr) -> Any:
        """The value, or `_UNKNOWN`. Raises what a scorer raises whose arguments are known, and wrong."""
        if isinstance(node, ast.Name):
            return _UNKNOWN if node.id in self._own else self._globals.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Attribute):
            whose = self.value(node.value)
            # An attribute of any other object may be a property, which would run code.
            known = inspect.ismodule(whose) or isinstance(whose, type)
            return getattr(whose, node.attr, _UNKNOWN) if known else _UNKNOWN
        if isinstance(node, ast.Call):
            return self._made(node)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return _UNKNOWN

    def _made(self, node: ast.Call) -> Any:
        maker = self.value(node.func)
        if not isinstance(maker, type) or not maker.__module__.startswith(_PURE):
            return _UNKNOWN
        if any(keyword.arg is None for keyword in node.keywords) or any(
            isinstance(arg, ast.Starred) for arg in node.args
        ):
            return _UNKNOWN
        args = [self.quiet(arg) for arg in node.args]
        named = {str(keyword.arg): self.quiet(keyword.value) for keyword in node.keywords}
        # Before values are looked at: a misspelt name is wrong whatever its value is.
        fault = misgiven_arguments(maker, maker.__name__, args, named)
        if fault is not None:
            raise UsageError(fault[0], hint=fault[1])
        if any(value is _UNKNOWN for value in (*args, *named.values())):
            return _UNKNOWN
        try:
            return maker(*args, **named)
        except EvenhandError:
            raise
        except Exception as error:  # noqa: BLE001 (a wrong kind shows in many ways)
            raise TypeError(f"{maker.__name__}: {error}") from None
