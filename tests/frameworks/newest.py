"""Tests the newest releases of agent frameworks, and writes the matrix of what works: `just frameworks`.

    python tests/frameworks/newest.py [FRAMEWORK]... [--in FOLDER] [--kept] [--pinned]

Each framework gets an environment of its own below FOLDER. With --pinned, the ten most used frameworks are installed as
the matrix has them, with everything that they require as it was on the day of that test; nothing is written.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.frameworks.checks import CHECKS, applies, expected  # noqa: E402
from tests.frameworks.frameworks import FRAMEWORKS, Framework  # noqa: E402

PAGE = ROOT / "docs" / "frameworks-matrix.md"
ENVIRONMENTS = ROOT / ".frameworks"
RESULTS = Path(__file__).parent / "results.json"
MOST_USED = (
    *("openai_agents", "langchain_openai", "pydantic_ai", "llama_index", "smolagents"),
    *("crewai", "google_adk", "dspy", "autogen", "haystack"),
)
"""What --pinned tests where nothing is named."""
Pins = Mapping[str, Any]
"""What the matrix has of a framework: `versions` by package, and the `date` of the test."""
_ABOUT = """# Frameworks: what works

```python
from evenhand import recording

with recording.install() as installed:  # eval sets and pytest do this by themselves
    print(installed)  # which HTTP libraries are wrapped, and what can't be recorded
```

{intro}

| framework | doesn't work | doesn't apply | tested | versions |
| --- | --- | --- | --- | --- |
{rows}

Each row is an agent with one tool, in an eval set, without a line for Evenhand in it. `tests/frameworks` checks it
against a [fake provider](fake-provider.md), whose ledger counts what a vendor would charge:

- *recorded*: every call of the ledger is in the run, with tokens and cost
- *tools*: every tool call is a [step](agents.md#what-a-step-is) with its arguments and result
- *failures*: a tool that raises is a step that failed
- *streaming*: streamed answers are recorded in the same way
- *stream tokens*: the framework asks the vendor to count the tokens of streams
- *resume*: after `kill -9`, `resume` pays for no finished call again
- *replay*: `--replay latest` passes without a network
- *budget*: a `--max-cost` below the price of one call sends nothing
- *batch*: all turns of the agent go through [batches](batches.md)

Batches don't take streams, nor calls of Gemini's own SDK, Azure and OpenRouter. Strands and magentic always stream,
and report a tool's failure to the model only.

The last two are [servers](frameworks.md#agents-behind-a-server): of each answer, a recording client records one HTTP
call, and reads model and tool calls from it.

`just frameworks` installs the newest releases, runs the checks and writes this page. `--pinned` tests the ten most used
as they stand here, as CI does. [How to use each framework](frameworks.md).
"""


def environment(framework: Framework, folder: Path, *, kept: bool, pins: Pins | None) -> str:
    """The interpreter of an environment that has the framework and this Evenhand.

    Args:
        framework: What is installed.
        folder: Environments are below it.
        kept: Whether one that is there is used as it is.
        pins: The versions and the day that the matrix has; None for the newest releases.
    """
    if framework.server:
        return _node(framework, folder / framework.agent, kept=kept, pins=pins)
    place = folder / _named(framework.packages[0])
    python = place / "bin" / "python"
    uv = [str(Path(sys.executable).with_name("uv")), "--system-certs", "-q"]
    if not python.exists():
        subprocess.run([*uv, "venv", "--python", sys.executable, str(place)], check=True)
    elif kept:
        return str(python)
    wanted, until = list(framework.packages), ["--upgrade"]
    if pins is not None:
        wanted = [f"{one.partition('<')[0]}=={pins['versions'][_named(one)]}" for one in wanted]
        until = ["--exclude-newer", pins["date"]]
    install = [*uv, "pip", "install", "--python", str(python), *until]
    subprocess.run([*install, "-e", str(ROOT), *wanted], check=True)
    return str(python)


def _node(framework: Framework, place: Path, *, kept: bool, pins: Pins | None) -> str:
    """The Node of an environment that has the framework, from npm; see `environment`."""
    node = place / "node_modules" / ".bin" / "node"
    if node.exists() and kept:
        return str(node)
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true, "type": "module"}\n', "utf-8")
    packages, until = [*framework.packages], []
    if pins is not None:
        packages = [f"{_named(one)}@{pins['versions'][_named(one)]}" for one in packages]
        until = ["--before", f"{pins['date']}T23:59:59Z"]
    install = ["npm", "install", "--no-fund", "--no-audit", "--no-package-lock", *until]
    subprocess.run([*install, *packages], check=True, cwd=place, stdout=subprocess.DEVNULL)
    return str(node)


def _named(package: str) -> str:
    """The name of a package without its version or extras.

    >>> _named("@ai-sdk/openai"), _named("node@22"), _named("pydantic-ai-slim[openai]")
    ('@ai-sdk/openai', 'node', 'pydantic-ai-slim')
    """
    return package[0] + re.split(r"[@<\[]", package[1:])[0]


def versions(framework: Framework, python: str) -> dict[str, str]:
    """The versions of the framework's packages."""
    if framework.server:
        modules = Path(python).parents[1]
        return {
            name: json.loads((modules / name / "package.json").read_text("utf-8"))["version"]
            for name in map(_named, framework.packages)
        }
    names = [_named(package) for package in framework.packages]
    code = (
        "import json, sys; from importlib.metadata import version; "
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def tested(framework: Framework, python: str) -> dict[str, Any]:
    """What the checks came to."""
    outcomes: dict[str, str] = {}
    for name, check in CHECKS.items():
        if not applies(framework, name):
            continue
        try:
            check(framework, python)
        except Exception:  # noqa: BLE001 (whatever goes wrong is a result)
            outcomes[name] = "no"
            if expected(framework, name):
                print(f"{framework.agent}: {name}\n{traceback.format_exc()}", file=sys.stderr)
        else:
            outcomes[name] = "yes"
        print(f"{framework.agent}: {name}: {outcomes[name]}", flush=True)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return {"versions": versions(framework, python), "date": today, "outcomes": outcomes}


def page(results: Mapping[str, Any]) -> str:
    """The page of the matrix."""
    rows = list(_rows(results))
    intro = (
        "In eval sets and in pytest, the [model calls of a framework are recorded](recording.md) without a line of "
        f"yours. {len(rows)} combinations were tested with the newest releases at these dates. All {len(CHECKS)} "
        "checks hold, except where a row says otherwise."
    )
    return _ABOUT.format(intro=intro, rows="\n".join(rows))


def _rows(results: Mapping[str, Any]) -> Iterable[str]:
    for framework in FRAMEWORKS:
        result = results.get(framework.agent)
        if result is not None:
            shown = [
                name for name in map(_named, framework.packages) if name in result["versions"]
            ][:2]
            named = ", ".join(f"{name} {result['versions'][name]}" for name in shown)
            outcomes = {name: result["outcomes"].get(name) for name in CHECKS}
            failing = ", ".join(name for name, outcome in outcomes.items() if outcome == "no")
            absent = ", ".join(name for name, outcome in outcomes.items() if outcome is None)
            cells = (framework.title, failing, absent, result["date"], named)
            yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def main() -> int:
    """Tests the frameworks that are named, or all; returns 1 where something that should hold doesn't."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="FRAMEWORK")
    parser.add_argument("--in", dest="folder", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--kept", action="store_true", help="use environments as they are")
    parser.add_argument("--pinned", action="store_true", help="test what the matrix has")
    words = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    failures = 0
    agents = words.agents or (MOST_USED if words.pinned else [one.agent for one in FRAMEWORKS])
    for framework in FRAMEWORKS:
        if framework.agent not in agents:
            continue
        if framework.server and shutil.which("npm") is None:
            print(f"{framework.agent}: skipped, as npm isn't installed", file=sys.stderr)
            continue
        pins = results[framework.agent] if words.pinned else None
        python = environment(framework, words.folder, kept=words.kept, pins=pins)
        result = tested(framework, python)
        failures += sum(
            outcome == "no" and expected(framework, name)
            for name, outcome in result["outcomes"].items()
        )
        if words.pinned:
            continue
        results[framework.agent] = result
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
        PAGE.write_text(page(results), "utf-8")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
