"""Writes an eval set for each task of some logs of Inspect's, with its samples, scorers and recorded answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_object, is_texts
from evenhand.doors.importers.foreign_files import moment_of
from evenhand.doors.importers.moved_in import MovedIn
from evenhand.doors.promptfoo.porting.literal import flat, literal
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.inspect_logs.log import InspectLog, read_log
from evenhand.wings.interchange.inspect_logs.transcript import resolved
from evenhand.wings.interchange.recorded_eval import (
    Check,
    RecordedEval,
    asked_model,
    model_id,
    write_evals,
)

_PROMPTING = frozenset(
    "generate system_message user_message assistant_message prompt_template chain_of_thought multiple_choice".split()
)
"""Solvers that write the prompt and ask the model once."""
_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty")
_ROLES = ("system", "user", "assistant")
MOST_EPOCHS = 100


def move_in(paths: Sequence[Path], folder: Path) -> MovedIn:
    """Writes an eval set for each task of these logs.

    Args:
        paths: Logs, `.eval` or `.json`. Of several logs of a task, the newest counts.
        folder: Where to write; it is made where it is not there.

    Raises:
        UsageError: A file cannot be read, no log has samples, or one of the files to write already exists.
    """
    notes = Notes()
    newest: dict[str, InspectLog] = {}
    for path in paths:
        log = read_log(path, notes)
        if not log.samples:
            notes.left_out(log.header.where, "this log has no samples")
            continue
        task = _about(log).text("task_display_name") or _about(log).text("task") or path.stem
        if (other := newest.get(task)) is not None:
            newer = max(other, log, key=_age)
            text = f"of the logs of task {shown(task)} the newest counts: {newer.header.where}"
            notes.changed((log if newer is other else other).header.where, text)
            log = newer
        newest[task] = log
    if not newest:
        raise UsageError(
            f"{paths[0]} holds no samples", hint="Name logs of evals that have run: logs/*.eval."
        )
    evals = {task: _eval(task, log) for task, log in newest.items()}
    rest = [one for one in notes if not one.where.endswith(".events")]  # of use to imports alone
    scorers = Path(__file__).with_name(f"{GRADERS}.py.txt")
    return write_evals(evals, folder, "inspect", scorers=scorers, notes=rest)


def _eval(task: str, log: InspectLog) -> RecordedEval:
    header, about = log.header, _about(log)
    notes = header.notes
    asks = _asks(header) and all(_messages(one) for one in log.samples)
    name = " ".join(about.text("model").split())
    model = asked_model(name, f"{about.where}.model", notes) if asks else ""
    cases: dict[str, Case] = {}
    replies: list[tuple[Sequence[str], str]] = []
    epochs = 1
    for sample in log.samples:
        epochs = max(epochs, min(sample.whole("epoch") or 1, MOST_EPOCHS))
        case = _case(sample, asks=asks)
        if case is None or case.id in cases:
            continue
        cases[case.id] = case
        output = sample.part("output")
        answer = resolved(output.value.get("completion"), _texts(sample)) if output else None
        if asks and isinstance(answer, str):
            replies.append(([str(one["content"]) for one in _messages(sample)], answer))
    notes.translated(header.where, f"task {shown(task)}, cases: {len(cases):,}")
    if epochs > 1 and replies:
        text = f"each sample has {epochs} epochs, which become repeats; offline, the answer of the first is given"
        notes.changed(header.where, text)
    return RecordedEval(
        title=task,
        about=f"{task}: a task of Inspect's, as an eval set.",
        cases=list(cases.values()),
        checks=checks_of(header),
        asks=asks,
        model=model,
        settings=_settings(about) if asks else {},
        repeats=epochs,
        replies=replies,
    )


def _asks(header: Part) -> bool:
    """Whether the solvers do no more than write a prompt and ask a model: others are code, and in no log."""
    plan = header.part("plan")
    asks = True
    for step in plan.parts("steps") if plan else ():
        solver = step.text("solver")
        if solver.rpartition("/")[2] not in _PROMPTING:
            text = f"solver {shown(solver)} is code, and not in the log: call it in application.py"
            header.notes.left_out(step.where, text)
            asks = False
    return asks


def _case(sample: Part, *, asks: bool) -> Case | None:
    id_ = sample.value.get("id")
    if isinstance(id_, bool) or not isinstance(id_, (str, int)) or id_ == "":
        sample.notes.left_out(sample.where, "this sample has no id")
        return None
    texts = _texts(sample)
    variables: dict[str, object] = {"messages": _messages(sample)} if asks else {}
    if sample.value.get("choices"):
        variables["choices"] = sample.value["choices"]
    own = sample.part("metadata")
    return Case(
        str(id_),
        variables,
        resolved(sample.value.get("input"), texts),
        sample.value.get("target"),
        description=str(id_),
        metadata=own.value if own else {},
    )


def _messages(sample: Part) -> list[dict[str, object]]:
    """The conversation up to the first answer; empty where it holds more than text."""
    messages: list[dict[str, object]] = []
    rows = resolved(sample.value.get("messages"), _texts(sample))
    for row in as_array(rows):
        message = as_mapping(row)
        if message.get("role") == "assistant" and message.get("source") != "input":
            break
        content = _text(message.get("content"))
        if content is None or message.get("role") not in _ROLES:
            return []
        messages.append({"role": message["role"], "content": content})
    return messages


def _text(content: object) -> str | None:
    if isinstance(content, str):
        return content
    blocks = content if is_array(content) else [None]
    texts = [one.get("text") if is_object(one) else None for one in blocks]
    lines = [one for one in texts if isinstance(one, str)]
    return "\n".join(lines) if len(lines) == len(blocks) else None


def _texts(sample: Part) -> Mapping[str, object]:
    return as_mapping(sample.value.get("attachments"))


def _settings(about: Part) -> dict[str, object]:
    config = about.part("model_generate_config")
    settings: dict[str, object] = {}
    for key, value in config.without().items() if config else ():
        if key in _SETTINGS:
            settings[key] = value
        elif config:
            config.notes.left_out(
                f"{config.where}.{key}", "is not a setting of a model that is set here"
            )
    return settings


def _about(log: InspectLog) -> Part:
    return log.header.part("eval") or Part({}, f"{log.header.where}.eval", log.header.notes)


def _age(log: InspectLog) -> float:
    return moment_of(_about(log).text("created")) or 0.0


GRADERS = "inspect_graders"
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "includes": ("ignore_case",),
    "match": ("location", "ignore_case", "numeric"),
    "pattern": ("pattern", "ignore_case", "match_all"),
    "answer": ("pattern",),
    "exact": (),
    "f1": ("stop_words",),
}
_NAMED = {("pattern", "pattern"): "", ("answer", "pattern"): "", ("f1", "stop_words"): ""}
"""Options that are not named here: they stand third."""
_JUDGED = {
    "model_graded_qa": "meets this criterion for a correct answer: {case.expected}",
    "model_graded_fact": "contains this fact: {case.expected}",
}
_INSTEAD = {
    "choice": "reads what the multiple_choice solver marked, which no log holds: answer('letter') reads the output",
    "multi_scorer": "is a vote of several scorers: give the task these scorers themselves, and run it once more",
}


def checks_of(header: Part) -> list[Check]:
    """The scorers of a log as expectations. What has no equal is noted with its place."""
    about = header.part("eval") or Part({}, f"{header.where}.eval", header.notes)
    scorers = about.parts("scorers") or list(_named_in_results(header))
    if not scorers:
        header.notes.left_out(f"{about.where}.scorers", "no scorer is named in the log")
    return [check for one in scorers if (check := _check(one)) is not None]


def _named_in_results(header: Part) -> Iterator[Part]:
    """The scorers that older logs name beside their results, with the options that they had."""
    results = header.part("results")
    names: set[str] = set()
    for one in results.parts("scores") if results else ():
        name = one.text("scorer") or one.text("name")
        if name and name not in names:
            names.add(name)
            yield Part({"name": name, "options": one.value.get("params")}, one.where, one.notes)


def _check(scorer: Part) -> Check | None:
    written = scorer.text("name")
    name = written.rpartition("/")[2]
    options = scorer.part("options") or Part({}, f"{scorer.where}.options", scorer.notes)
    check = None
    if name in _OPTIONS:
        check = _computed(name, options)
    elif name in _JUDGED:
        check = _judged(name, options)
    else:
        text = _INSTEAD.get(
            name, "has no equal here: write it as a function, and expect what it returns"
        )
        scorer.notes.left_out(scorer.where, f"scorer {shown(written)} {text}")
    if check is not None:
        scorer.notes.translated(scorer.where, f"scorer {shown(written)}")
    return check


def _computed(name: str, options: Part) -> Check | None:
    arguments = ["output", "case.expected"]
    for key, value in options.without().items():
        if key not in _OPTIONS[name]:
            text = f"option {shown(key)} of scorer {shown(name)} is not known here: it is scored without"
            options.notes.left_out(f"{options.where}.{key}", text)
        elif not isinstance(value, (str, bool)) and not is_texts(value):
            options.notes.left_out(f"{options.where}.{key}", f"is {shown(value)}, which is code")
            return None
        else:
            arguments.append(f"{_NAMED.get((name, key), f'{key}=')}{flat(literal(value))}")
    if name in ("pattern", "answer") and "pattern" not in options.value:
        options.notes.left_out(options.where, f"scorer {shown(name)} has no pattern")
        return None
    # What stands third is not named, and comes before what is.
    arguments[2:] = sorted(arguments[2:], key=lambda one: "=" in one.partition('"')[0])
    call = f"{name}({', '.join(arguments)})"
    imports = {GRADERS: (name,)}
    if name != "f1":
        return Check((f'expect({call}, "{name}", metric="{name}")',), imports)
    text = "f1 is a number, and Inspect has no bounds: here it passes from 0.5 on; change at_least"
    options.notes.changed(options.where, text)
    return Check((f'expect({call}, at_least=0.5, label="f1", metric="f1")',), imports)


def _judged(name: str, options: Part) -> Check:
    notes, where = options.notes, options.where
    for key, value in options.without("model").items():
        if value is not False:
            text = f"option {shown(key)} of {name}: a judge is asked in our words"
            notes.left_out(f"{where}.{key}", text)
    judge, imports = "", {"evenhand.scorers": ("Passes",)}
    if model := _judge(options):
        judge = f", judge=provider({flat(literal(model))})"
        imports["evenhand.doors.promptfoo.adapter"] = ("provider",)
    else:
        notes.changed(
            where, f"{name}: no judge that is known here: name one, with EvalSet(judge=…)"
        )
    notes.changed(where, f"{name} becomes Passes, whose judge is asked in other words")
    line = f'expect(output, Passes(f"{_JUDGED[name]}", context=f"Question: {{case.input}}"{judge}), metric="{name}")'
    return Check((line,), imports)


def _judge(options: Part) -> str:
    model = options.value.get("model")
    if is_object(model):
        model = model.get("model")
    return model_id(model) if isinstance(model, str) else ""
