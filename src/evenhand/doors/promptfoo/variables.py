"""The variables of tests: written out, in files, or named by a pattern."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from evenhand.core.json_shapes import as_mapping, is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.doors.assertions.code_files import file_problems
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.case_variables import asks_for_absent, is_code
from evenhand.doors.promptfoo.environment import secret_named
from evenhand.doors.promptfoo.variable_files import is_bytes, unreadable
from evenhand.languages.documents.findings import At, Findings, Place, matching
from evenhand.languages.documents.tree import read_document, read_text
from evenhand.languages.templates.rendering import Templates, has_tags


class VariableReader(Record, frozen=True, kw_only=True):
    """Reads the variables of one config's tests.

    Attributes:
        base: The folder that paths start from.
        findings: Are told what is wrong.
        templates: Fill in their tags.
        files: Is told which files they name.
        checking: Whether to look for all that may be wrong.
    """

    base: Path
    env: Mapping[str, str]
    findings: Findings
    templates: Templates
    files: set[Path]
    checking: bool = True

    def read(self, written: object, at: At) -> dict[str, Any]:
        if written is None:
            return {}
        if is_mapping(written):
            return {
                str(k): self._globbed(v.removesuffix("\n") if isinstance(v, str) else v, k, at)
                for k, v in written.items()
            }
        variables: dict[str, Any] = {}
        for reference in written if is_array(written) else [written]:
            if not isinstance(reference, str):
                self.findings.problem(at("vars"), f"vars is {written!r}, not an object")
                return {}
            for file in self._files_of(reference, at("vars")):
                document = read_document(file, self.findings, at("vars"))
                self.files.add(file)
                if document is not None and is_mapping(document.value):
                    variables.update(document.value)
        return variables

    def _files_of(self, reference: str, place: Place) -> list[Path]:
        """The files of variables that `vars: …` names: beside the file that it stands in, or beside the config."""
        name = reference.removeprefix("file://")
        beside = place.file.parent / name
        return matching(beside) or matching(self.base / name) or [beside]

    def look_at_unspread(self, written: object, at: At) -> None:
        """Notes patterns of files, where no case is made of each file: a prompt would have the files' names in it."""
        for name, value in as_mapping(written).items():
            if is_pattern(value):
                self.findings.problem(
                    at("vars", name),
                    f"{value} is a pattern of files, and disableVarExpansion makes no case for each",
                    "Name one file, or take disableVarExpansion away.",
                )

    def _globbed(self, value: object, name: str, at: At) -> object:
        if not is_pattern(value):
            return value
        files = matching(self.path_of(value))
        if not files and self.checking:
            self.findings.problem(
                at("vars", name), f"no file matches {value.removeprefix('file://')}"
            )
        if not Path(value.removeprefix("file://")).is_absolute():
            # As written: with the folder's own place in it, a case would have another id in each copy of the folder.
            files = [Path(os.path.relpath(path, self.base)) for path in files]
        return [f"file://{path.as_posix()}" for path in files]

    def kinds(self, variables: Mapping[str, Any], at: At) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that name files, and those with tags to fill in."""
        files: set[str] = set()
        tagged: set[str] = set()
        for name, value in variables.items():
            for text in value if is_array(value) else (value,):
                if not isinstance(text, str):
                    continue
                if text.startswith("file://"):
                    files.add(name)
                    if self.checking:
                        self._look_at_file(text, name, at)
                elif has_tags(text):
                    tagged.add(name)
                    self._look_for_secrets(text, name, at)
                    looks = self.checking and not asks_for_absent(text, variables)
                    wrong = self.templates.problem(text) if looks else None
                    if wrong:
                        self.findings.problem(at("vars", name), wrong)
        return frozenset(files), frozenset(tagged)

    def _look_for_secrets(self, text: str, name: str, at: At) -> None:
        secret = secret_named(text, self.env) if self.checking else ""
        if secret:
            self.findings.problem(
                at("vars", name),
                f"variable '{name}' names {{{{ env.{secret} }}}}, which looks like a secret:"
                " what a variable holds is sent to models and stored",
                "A provider's config may use it. What is not secret, keep under a name that does not say so.",
            )

    def look_at_data(self, variables: Mapping[str, Any], at: At) -> None:
        for name, value in variables.items():
            if type(value) is str and value.startswith("file://"):
                self.findings.hint(
                    at(),
                    f"'{name}' is taken as it is: no file is read for a value in a data file",
                    "Name files in the config itself, or in a YAML file of tests.",
                )
            elif type(value) is str and "env" in value and secret_named(value, self.env):
                self.findings.hint(
                    at(),
                    f"'{name}' names a secret of the environment, and is taken as it is",
                    "What a variable holds is sent to models and stored.",
                )

    def _look_at_file(self, reference: str, name: str, at: At) -> None:
        path = self.path_of(reference)
        if is_code(reference):
            self.files.add(self.base / split_reference(reference, "")[0])
            for what, hint in file_problems(reference, self.base, "get_var"):
                self.findings.problem(at("vars", name), what, hint)
        elif not path.is_file():
            folder = path.parent
            near = (
                did_you_mean(path.name, [p.name for p in folder.glob("*")])
                if folder.is_dir()
                else ""
            )
            target = reference.removeprefix("file://")
            hint = near or f"Looked in {folder}."
            if "\n" in target:
                target = f"'{target.splitlines()[0]} …'"
                hint = (
                    "A variable that begins with file:// is the path of a file, with all its lines."
                )
            self.findings.problem(at("vars", name), f"{target} does not exist", hint)
        elif path not in self.files:
            self.files.add(path)
            wrong = unreadable(path)
            if wrong:
                self.findings.problem(at("vars", name), *wrong)
            elif not is_bytes(path):
                text = read_text(path, self.findings, at("vars", name))
                self._look_for_secrets(text or "", name, at)

    def path_of(self, reference: str) -> Path:
        """The file that a variable names."""
        return self.base / reference.removeprefix("file://")


def is_pattern(value: object) -> TypeGuard[str]:
    """Whether a variable names files by a pattern."""
    return isinstance(value, str) and value.startswith("file://") and any(c in value for c in "*?[")
