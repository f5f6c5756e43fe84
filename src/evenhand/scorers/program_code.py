"""Questions that the user's own code answers in a language that a program of the machine runs, such as Ruby.

Each call is a process of its own, started with the file, the function and its arguments as JSON on its standard input.
It ends with all that it started when it takes too long. What it returns is read as that of a Python function.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_object
from evenhand.core.program_output import printed_until_end
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.secrets import shown
from evenhand.scorers.code_languages import CodeLanguage
from evenhand.scorers.python_code import verdict_of
from evenhand.scorers.text import quoted

DEFAULT = "get_assert"
_HERE = Path(__file__).parent


class ProgramFunction(Record, frozen=True, kw_only=True):
    """A function of such a language.

    Attributes:
        file: Its file; where there is code, the place that errors name.
        function: Its name, or `Class.method`.
        code: The lines of its body, whose last value is what it returns; None where it is in the file.
    """

    language: CodeLanguage
    file: Path
    function: str
    program: str
    folder: Path
    code: str | None = None

    @property
    def name(self) -> str:
        """What people read."""
        return self.file.name if self.code is not None else f"{self.file.name}:{self.function}"


@dataclass(frozen=True, slots=True)
class ProgramVerdict:
    """A function of (output, context) in such a language passes the output.

    Attributes:
        context: Makes the second argument.
        threshold: A score from here on passes.
        negated: What passes fails, and the other way round. An error stays an error.
    """

    source: ProgramFunction
    context: Callable[[], Mapping[str, Any]] = field(repr=False)
    threshold: float | None = None
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        result = await called(trial, self.source, output, self.context())
        return verdict_of(
            result,
            self.threshold,
            self.source.name,
            negated=self.negated,
            language=self.source.language.name,
        )

    def __str__(self) -> str:
        source = self.source
        if source.code is not None:
            lines = (line.strip() for line in source.code.splitlines())
            label = quoted(next((line for line in lines if line), ""))
        else:
            label = source.file.name if source.function == DEFAULT else source.name
        return f"{'not-' if self.negated else ''}{source.language.type} {label}"


def problem(source: ProgramFunction) -> tuple[str, str] | None:
    """What is wrong, as far as can be seen before it runs, and what to do; None for nothing."""
    if source.code is None and not source.file.is_file():
        return f"{source.file.name} does not exist", f"Looked in {source.file.parent}."
    language = source.language
    if shutil.which(source.program) is None:
        return (
            f"{source.name} needs {language.name}, and there is no '{source.program}' here",
            f"Install {language.name}, or name the program in config.{language.setting} or {language.variable}.",
        )
    return None


async def called(
    trial: Trial, source: ProgramFunction, output: object, context: Mapping[str, Any]
) -> object:
    """What such a function returns for the output and the context: any JSON.

    Raises:
        CodeError: It cannot be run, raised, took too long, or returned something that is not JSON.
    """
    name, program = source.name, source.program
    # The program is started in another folder, from which a relative path would lead elsewhere.
    file = source.file if source.code is not None else source.file.absolute()
    request = {
        "file": str(file),
        "function": source.function,
        "code": source.code,
        "arguments": [output, context],
    }
    sent = encode(request, ordered=False)
    script = str(_HERE / source.language.script)
    command = [program, script]
    printed, code, errors = await trial.call(_printed, command, source.folder, sent, name=name)
    answer = decoded(printed)
    if not is_object(answer):
        lines = shown(errors.decode("utf-8", "replace")).strip().splitlines()
        last_line = f": {lines[-1]}" if lines else ""
        raise CodeError(f"{name} gave no answer: {program} ended with code {code}{last_line}")
    if "error" in answer:
        at = f" ({file.name}:{answer['at']})" if answer.get("at") else ""
        raise CodeError(f"{name} {shown(str(answer['error']))}{at}")
    return answer.get("value")


async def _printed(
    command: Sequence[str], folder: Path, request: bytes
) -> tuple[bytes, int | None, bytes]:
    """What the process prints, its exit code and its messages."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that what it starts ends with it
    )
    out, err = await printed_until_end(process, request)
    return out, process.returncode, err
