"""How many of our modules a run passes through: those whose functions are called, not only imported.

    python bench/journey.py             # the counts
    python bench/journey.py -v          # and each module, with how many of its functions ran

Who debugs a run must hold what it passes through. Three journeys are measured in this process: a promptfoo row with one
`contains`, a trial of an eval set with one, both without their tables, and `evenhand show` of a saved run. What runs
while a module is imported isn't counted. Exits with 1 where a journey passes through more modules than it may.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import evenhand
from evenhand.cli import main

HOME = str(Path(evenhand.__file__).parent) + os.sep

ROW, TRIAL, SHOW = (
    "a promptfoo row with one contains",
    "a trial of an eval set with one contains",
    "show of a saved run",
)
MOST = {ROW: 100, TRIAL: 85, SHOW: 35}
"""Modules that a journey may pass through."""

CONFIG = """
prompts: ["Say {{word}}"]
providers: [echo]
tests:
  - vars: {word: hello}
    assert: [{type: contains, value: hello}]
"""

EVALS = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Contains

greetings = EvalSet("greetings", data=[Case(id="hello", input="hello")])


@greetings.eval
def says_it(case: Case, expect: Expect) -> None:
    expect(f"Say {case.input}", Contains("hello"))
"""


def _is_imported(frame: FrameType | None) -> bool:
    """Whether it runs because a module is being imported, as what makes a class or a table does."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap_external>":
            return True
        frame = frame.f_back
    return False


class Passed:
    """The functions that run while it listens, on this thread and on those started meanwhile."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code not in self._codes and not _is_imported(frame):
            self._codes.add(frame.f_code)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def modules(self) -> Counter[str]:
        """How many functions ran of each module of ours. Bodies of modules and classes are not functions."""
        # The bodies of modules and classes keep their names in a dict: they lack CO_OPTIMIZED.
        return Counter(
            code.co_filename.removeprefix(HOME).removesuffix(".py").replace(os.sep, ".")
            for code in self._codes
            if code.co_filename.startswith(HOME) and code.co_flags & inspect.CO_OPTIMIZED
        )


def journey(*words: str) -> Counter[str]:
    """Runs a command in this process and counts what it passes through."""
    passed = Passed()
    output = io.StringIO()
    sys.argv = ["evenhand", *words]
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        contextlib.suppress(SystemExit),
        passed.listening(),
    ):
        main()
    return passed.modules()


def measured() -> dict[str, Counter[str]]:
    """Each journey by its name, each in a folder of its own."""
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        saved, promptfoo, evals = (Path(folder, name) for name in ("saved", "promptfoo", "evals"))
        for place in (saved, promptfoo, evals):
            place.mkdir()
        for place in (saved, promptfoo):
            (place / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
        (evals / "greetings_evals.py").write_text(EVALS, "utf-8")
        os.chdir(saved)
        # In a process of its own: what a run imports, `show` would find there.
        command = [sys.executable, "-m", "evenhand", "run", "--no-table", "--no-progress"]
        subprocess.run(command, check=True, capture_output=True)
        counts[SHOW] = journey("show")
        os.chdir(promptfoo)
        counts[ROW] = journey("run", "--no-table", "--no-progress")
        os.chdir(evals)
        counts[TRIAL] = journey("run", "--no-table", "--no-progress", "greetings_evals.py")
        os.chdir("/")
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-v", action="store_true", help="name the modules")
    verbose = parser.parse_args().v
    counts = measured()
    for name, modules in counts.items():
        print(
            f"{len(modules):4} modules of {MOST[name]} at most, {modules.total():4} functions: {name}"
        )
        for module, functions in sorted(modules.items()) if verbose else ():
            print(f"     {functions:4}  {module}")
    sys.exit(any(len(modules) > MOST[name] for name, modules in counts.items()))
