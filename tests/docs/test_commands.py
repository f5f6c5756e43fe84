"""Every command of the documentation is run: page by page, block by block, as somebody types them who follows it.

A page has one folder, which its commands share (`command_worlds.py`). A provider on this machine answers instead of the
vendors, and programs that serve until they are stopped are stopped once they do. Lines that aren't run are listed in
`command_worlds.NOT_RUN`, each with why; their options, recipes and files are checked to exist.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest
from tests.docs.command_worlds import NOT_RUN, ROOT, RUN_ELSEWHERE, WORLDS, World
from tests.e2e.test_label_and_calibrate import Screen

from evenhand.cli.verbs import evenhand
from evenhand.testing import FakeProvider, Rule, Script

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
LONGEST_S = 120
MOST_NOT_RUN = 14
"""Lines that may be left out: as many as there were when the last one was added."""
VERDICTS = (0, 1, 3, 6)
"""Exit codes of a command that did what it was asked to: passed, failed, undecided, waiting for a batch."""
SERVING = re.compile(r"evenhand (view|watch|listen$|listen --idle|data .*--review$)")
TERMINAL = re.compile(r"evenhand label (?!.*--(from|to|codes)\b)")
LABELS = re.compile(r"evenhand label latest --from (\w+\.csv)")
PAIR = {"quotes": ["It lies on the Seine."], "question": "Which river?", "answer": "The Seine"}
JUDGED = json.dumps(
    {
        "reasoning": "So it is.", "reason": "So it is.", "pass": True, "passes": True, "score": 1,
        "confidence": 0.9, "winner": "first", "cases": [],
        "questions": [], "claims": [], "entities": [], "sub_questions": [],
    }
)  # fmt: skip
pytestmark = pytest.mark.timeout(600)


def named(page: Path) -> str:
    """A page, as the lists of this folder name it."""
    return page.relative_to(ROOT).as_posix()


def lines_of(page: Path) -> list[str]:
    """The lines of the page's blocks, in their order."""
    blocks = BLOCK.findall(page.read_text("utf-8"))
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def why_not(page: str, line: str) -> tuple[str, str] | None:
    """The entry of `NOT_RUN` that a line is under; None for one that is run."""
    under = [(of, start) for of, start in NOT_RUN if of == page and line.startswith(start)]
    return max(under, key=lambda entry: len(entry[1]), default=None)


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    """Answers whatever is asked; a judge is content."""
    rules = [
        Rule(("Seine",), {"pairs": [PAIR]}),
        Rule(("reasoning|JSON",), JUDGED),
        Rule(("Be warm",), "dear customer, a parcel"),
        Rule(("ten words",), "a parcel, soon"),
        Rule((), "a parcel"),
    ]
    with FakeProvider(Script(rules)) as fake:
        yield fake


@dataclass
class Shell:
    """Where commands are typed.

    Attributes:
        root: The folder of the page.
        env: The environment.
        fixed: Variables that no line of the page changes.
        folder: The current folder.
    """

    root: Path
    env: dict[str, str]
    fixed: Mapping[str, str]
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.root
        self.env.update(self.fixed)

    def type(self, line: str) -> str:
        """Types a line; what is wrong with what came of it, or nothing."""
        line = self.filled(re.sub(r"\s+#.*$", "", line))
        if line.startswith("cd "):
            self.folder = self.root / line[3:]
            return "" if self.folder.is_dir() else "there is no such folder"
        if match := re.fullmatch(r"export (\w+)=(\S*)", line):
            self.env[match[1]] = self.fixed.get(match[1], match[2])
            return ""
        if (match := LABELS.match(line)) and (self.folder / match[1]).is_file():
            self.label(self.folder / match[1])
        if SERVING.match(line):
            return self.served(line)
        if TERMINAL.match(line):
            return self.pressed(line)
        try:
            ended = subprocess.run(
                self.words(line), cwd=self.folder, env=self.env, capture_output=True, text=True,
                timeout=LONGEST_S, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"it takes longer than {LONGEST_S} s"
        told = f"{ended.stdout[-600:]}\n{ended.stderr[-1500:]}"
        bad = ended.returncode not in VERDICTS or "Traceback" in ended.stderr
        return f"exit code {ended.returncode}: {told}" if bad else ""

    def label(self, path: Path) -> None:
        """What a person does in a spreadsheet: writes a verdict on each output. Ours likes every other one."""
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
        choices = ("first", "second") if "first" in rows[0] else ("pass", "fail")
        for number, row in enumerate(rows):
            row["verdict"] = row["verdict"] or choices[number % 2]
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)

    def filled(self, line: str) -> str:
        """The line with the run that there is in the place of the one that the page has."""
        runs = sorted(self.folder.rglob(".evenhand/runs/*.db"), key=lambda path: path.stem)
        if runs:
            line = re.sub(r"\b01M7YPHZRR\b", runs[0].stem[:14], line)
            line = re.sub(r"\bRUN\b", runs[-1].stem[:14], line)
        return line.replace(".venv/bin/evenhand", "evenhand")

    def words(self, line: str) -> list[str]:
        """A command of ours as words, so that it is started warm; anything else as a shell's line."""
        if line.startswith("evenhand ") and not re.search(r"[|&<>$;]", line.partition("'")[0]):
            words = shlex.split(line)[1:]
            spread = [
                sorted(str(path.relative_to(self.folder)) for path in self.folder.glob(word))
                or [word]
                if "*" in word and "/" in word
                else [word]
                for word in words
            ]
            return [*COMMAND, *(word for part in spread for word in part)]
        return ["/bin/sh", "-ec", line]

    def pressed(self, line: str) -> str:
        """A program that reads keys: somebody looks at the first output, and quits."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            self.words(line), cwd=self.folder, env=self.env, stdin=theirs, stdout=theirs,
            stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        screen = Screen(ours)
        try:
            if "--rule" not in line:
                screen.wait("rule: ")
                screen.type("\r")
            screen.wait("q quit")
            screen.type("q")
            return "" if process.wait(LONGEST_S) == 0 else screen.text
        except AssertionError as error:
            process.kill()
            process.wait()
            return str(error)
        finally:
            os.close(ours)

    def served(self, line: str) -> str:
        """A program that serves: it is interrupted once it says so."""
        output = self.root / "served.txt"
        with output.open("wb") as out:
            process = subprocess.Popen(
                self.words(line), cwd=self.folder, env=self.env, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        until = time.monotonic() + LONGEST_S
        while time.monotonic() < until and process.poll() is None:
            if re.search(r"http://|saved as|watching", output.read_text("utf-8", "replace")):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return f"it doesn't end: {output.read_text('utf-8', 'replace')}"
        told = output.read_text("utf-8", "replace")
        nothing = code == 5 and "listen" in line  # no application sent anything
        fine = (code in (*VERDICTS, 130) or nothing) and "Traceback" not in told
        return "" if fine else f"exit code {code}: {told[-1500:]}"


def typed_all(shell: Shell, world: World, lines: Sequence[str]) -> dict[str, str]:
    """Types lines of a page, one after the other; by line, what is wrong."""
    for line in world.before:
        assert shell.type(line) == "", line
    problems: dict[str, str] = {}
    first = dict(world.meanwhile)
    for line in lines:
        start = max((one for one in first if line.startswith(one)), key=len, default="")
        for earlier in first.pop(start, ()):
            assert (problem := shell.type(earlier)) == "", (line, earlier, problem)
        if problem := shell.type(line):
            problems[line] = problem
    return problems


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize(
    "page", [one for one in PAGES if lines_of(one) and named(one) not in RUN_ELSEWHERE], ids=named
)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, provider: FakeProvider):
    """One after the other, in the folder that the page is about. No line is run and listed as one that isn't."""
    name = named(page)
    typed = [line for line in lines_of(page) if why_not(name, line) is None]
    if not typed:
        return
    world = WORLDS.get(name, World())
    for part in world.files:
        part(tmp_path)
    program = tmp_path / "bin" / "evenhand"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{COMMAND[2]}" "$@"\n', "utf-8")
    program.chmod(0o755)
    env = {**os.environ, **provider.env(), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    env |= {"BROWSER": "true", "EVENHAND_JUDGE": "openai:chat:gpt-5-mini"}
    env["SLACK_WEBHOOK"] = f"{provider.url}/hook"
    with world.beside() as fixed:
        problems = typed_all(Shell(tmp_path, env, fixed or {}), world, typed)
    assert problems == {}, "\n\n".join(f"$ {line}\n{said}" for line, said in problems.items())


def test_what_is_not_run_is_there_and_has_a_reason():
    """No entry is left over from a line that has gone, and few lines are under one."""
    used = {why_not(named(page), line) for page in PAGES for line in lines_of(page)}
    assert NOT_RUN.keys() - used == set()
    assert all(NOT_RUN.values())
    told = [path for why in NOT_RUN.values() for path in re.findall(r"\btests/[\w/.]*\w", why)]
    assert [path for path in told if not (ROOT / path).exists()] == []
    for page, test in RUN_ELSEWHERE.items():
        assert Path(page).stem.removeprefix("coming-from-") in (ROOT / test).read_text(
            "utf-8"
        ).replace("_", "-")
    every = [(named(page), line) for page in PAGES for line in lines_of(page)]
    skipped = [one for one in every if why_not(*one) is not None]
    assert len(skipped) <= MOST_NOT_RUN, f"{len(skipped)} of {len(every)} lines are not run"


def parse(words: Sequence[str]) -> None:
    """Reads the words of one of our commands with its parser, which refuses an unknown command or option."""
    command: click.Command = evenhand
    context = click.Context(command)
    rest = list(words)
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None, name
        command = found
        context = click.Context(command, info_name=name, parent=context)
    command.make_parser(context).parse_args(rest)


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (named(page), line)
        for page in PAGES
        for line in lines_of(page)
        if why_not(named(page), line)
    ],
)
def test_a_line_that_is_not_run_names_what_there_is(page: str, line: str):
    """Our options are known to the parser; recipes, extras, files and build arguments exist."""
    checks = 0
    for part in line.split("&&"):
        words = shlex.split(part, comments=True)
        starts = [at for at, word in enumerate(words) if re.fullmatch(r"evenhand(:[\d.]+)?", word)]
        for start in starts:
            if words[start + 1 :] and "build" not in words[:start]:
                parse(words[start + 1 :])
                checks += 1
        if Path(words[0]).name == "pip":
            ask = [sys.executable, "-m", "pip", words[1], "--help"]
            manual = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
            options = {word for word in words if word.startswith("-")}
            assert options <= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", manual))
            checks += 1
        for before, word in zip(["", *words], words, strict=False):
            if before.endswith("just"):
                recipe = rf"^{word}\b[^\n]*:"
                assert re.search(recipe, (ROOT / "justfile").read_text("utf-8"), re.MULTILINE), word
                checks += 1
            elif before == "--build-arg":
                name = word.partition("=")[0]
                assert f"ARG {name}" in (ROOT / "packaging/Containerfile").read_text("utf-8")
                checks += 1
            elif re.match(r"(packaging|requirements|tests)/", word):
                assert (ROOT / word).exists(), word
                checks += 1
            elif extra := re.fullmatch(r"evenhand\[(\w+)\]", word):
                assert re.search(
                    rf"^{extra[1]} = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
                )
                checks += 1
    assert checks, f"{page}: nothing of this line is checked: {line}"
