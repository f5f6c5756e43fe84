"""A test of a promptfoo config, asked again with its prompt, its variables or its model edited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenhand.core.editing import CannotAsk, editable_data, models_among
from evenhand.core.encoding import encode
from evenhand.core.plan import Edit, Editable, Plan, PlannedTrial, Selection
from evenhand.core.record import Record
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.doors.promptfoo.body import CellBody
from evenhand.doors.promptfoo.models import Subject
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.prompts import AnyPrompt, TextPrompt
from evenhand.doors.promptfoo.reader import KeptTests
from evenhand.doors.promptfoo.survey import survey_of
from evenhand.doors.promptfoo.tests import Test
from evenhand.doors.promptfoo.variants import Combination
from evenhand.languages.templates.rendering import reads_environment
from evenhand.providers.roster import look_at_vendor

_NAMES_FILE = r"file://[^\"]*\{[{%]"


class FolderEditor(Record, frozen=True):
    """Asks trials of a config again. Implements `evenhand.core.plan.Editor`."""

    folder: Folder

    def editable(self, trial: PlannedTrial) -> Editable:
        """What of a trial can be edited.

        Raises:
            CannotAsk: Its output is not a model's.
        """
        body = _body(trial)
        pair, test = body.pair, body.test
        if test.provider_output is not None:
            raise CannotAsk("this cell's output is stored in its test: no model is asked")
        why = self._no_prompt(pair.prompt, test)
        notes = [why] if why else []
        values = editable_data(body.variables)
        why = self._no_values(test)
        if why:
            values = {}
            notes.append(why)
        variants = (other.variant for other in self.folder.pairs)
        models, answering = models_among(variants, pair.variant.model)
        if test.subject is not None:
            answering = None
            notes.append(f"The test itself names its model, {test.subject.provider.label}.")
        if test.expected.contests:
            notes.append("Assertions that compare variants are left out: there is one.")
        return Editable(
            prompt=None if self._no_prompt(pair.prompt, test) else pair.prompt.raw,
            values=values,
            models=models,
            model=answering,
            notes=tuple(notes),
        )

    def _no_prompt(self, prompt: AnyPrompt, test: Test) -> str:
        """Why a prompt can't be edited; empty where it can."""
        if not isinstance(prompt, TextPrompt):
            return f"The prompt can't be edited: {prompt.path.name} makes it."
        if reads_environment(f"{test.prefix}{prompt.raw}{test.suffix}"):
            return "The prompt can't be edited: it names variables of the environment."
        return ""

    def _no_values(self, test: Test) -> str:
        """Why variables can't be edited; empty where they can."""
        hooks = self.folder.trial_hooks
        if hooks is not None and hooks.hooks.at("beforeEach"):
            return "Variables can't be edited: an extension (beforeEach) may set them."
        if re.search(_NAMES_FILE, encode([test.raw, test.shown]).decode()):
            return "Variables can't be edited: the test names files by them."
        return ""

    def edited(self, trial: PlannedTrial, edit: Edit) -> Plan:
        """The plan of one trial, edited.

        Raises:
            CannotAsk: The prompt or the model can't be used so.
        """
        body = _body(trial)
        test = _edited_test(body.test, body.variables, edit)
        pair = self._pair(body.pair, edit)
        problem = test.problem or pair.refuses(test)
        if problem is not None:
            raise CannotAsk(problem.what, hint=problem.hint)
        folder = self.folder
        one = replace(
            folder,
            config=replace(folder.config, selection=Selection(repeats=1)),
            pairs=[pair],
            subjects=[pair.subject],
            tests=replace(folder.tests, problems={}, memory=_OneTest(test)),
            selector=Selector(Selection()),
            survey=survey_of(test, pair),
            hints=(),
            broken=(),
        )
        plan = one.plan()
        plan.editor = FolderEditor(one)
        return plan

    def _pair(self, pair: Combination, edit: Edit) -> Combination:
        prompt, subject = pair.prompt, self._subject(pair, edit)
        if edit.prompt is not None and isinstance(prompt, TextPrompt):
            prompt = _edited_prompt(prompt, edit.prompt)
        model = subject.provider
        variant = Variant(
            0,
            " ".join(prompt.label.split()),
            model.label,
            prompt.raw,
            model.id,
            cluster=pair.variant.cluster,
        )
        return Combination(
            variant=variant,
            prompt=prompt,
            subject=subject,
            base=pair.base,
            templates=pair.templates,
        )

    def _subject(self, pair: Combination, edit: Edit) -> Subject:
        """The model that is asked."""
        if edit.variant is not None:
            return next(p.subject for p in self.folder.pairs if p.variant.index == edit.variant)
        if not edit.model:
            return pair.subject
        config = self.folder.config
        look_at_vendor(edit.model)
        subject = self.folder.models.of_test(edit.model, config.at("providers"), config.base)
        if subject is None:
            raise CannotAsk(f"provider {edit.model!r:.60} is not known")
        return subject


class _OneTest(KeptTests):
    """A test in the place of all that are written."""

    def __init__(self, test: Test) -> None:
        super().__init__(())
        self._only = [test]

    def tests(self) -> Sequence[Test]:
        """The one."""
        return self._only


def _body(trial: PlannedTrial) -> CellBody:
    body = trial.body
    if not isinstance(body, CellBody):
        raise CannotAsk("this cell asks no model")
    return body


def _edited_test(test: Test, variables: Mapping[str, Any], edit: Edit) -> Test:
    """A test with these variables; of those that were typed none names a file, or has tags that are filled in."""
    values, typed = {**variables, **edit.values}, edit.values.keys()
    subject = None if edit.model or edit.variant is not None else test.subject
    written = {**test.shown, "vars": values} if "vars" in test.shown or typed else test.shown
    return replace(
        test,
        variables=values,
        files=test.files - typed,
        tagged=test.tagged - typed,
        expected=replace(test.expected, contests=()),
        spread=False,
        prompts=None,
        providers=None,
        repeats=1,
        shown=written,
        subject=subject,
    )


def _edited_prompt(prompt: TextPrompt, text: str) -> TextPrompt:
    """A prompt with this text, in which no variable of the environment is seen."""
    if reads_environment(text):
        raise CannotAsk(
            "a prompt that is typed here can't name variables of the environment: {{ env.… }}",
            hint="Write what it stands for.",
        )
    return TextPrompt(
        label=prompt.label,  # by which it is compared with the original, also where that is its text
        raw=text,
        config=prompt.config,
        place=prompt.place,
        id=prompt.id,
        templates=prompt.templates.sealed(),
    )
