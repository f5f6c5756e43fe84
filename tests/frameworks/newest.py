"""Tests the newest releases of agent frameworks, and writes the matrix of what works: `just frameworks`.

    python tests/frameworks/newest.py [FRAMEWORK]... [--in FOLDER] [--kept]

Each framework gets an environment of its own below FOLDER. Packages come from the index that pip is set up for.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
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
RESULTS = Path(__file__).parent / "results.json"
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

LangChain has OpenAI count a stream's tokens only with `stream_usage=True`. Batches don't take streams, nor calls of
Gemini's own SDK, Azure and OpenRouter. Strands reports a tool's failure to the model only.

`just frameworks` installs the newest releases, runs the checks and writes this page.
[How to use each framework](frameworks.md).
"""


def environment(framework: Framework, folder: Path, *, kept: bool) -> str:
    """The interpreter of an environment that has the framework and this Evenhand."""
    place = folder / framework.packages[0].partition("[")[0]
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    elif kept:
        return str(python)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "-q",
        "--upgrade",
        "--upgrade-strategy",
        "eager",
    ]
    subprocess.run([*install, "-e", str(ROOT), *framework.packages], check=True)
    return str(python)


def versions(framework: Framework, python: str) -> dict[str, str]:
    """The versions of the framework's packages."""
    names = [package.partition("[")[0] for package in framework.packages]
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
            named = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
            outcomes = {name: result["outcomes"].get(name) for name in CHECKS}
            failing = ", ".join(name for name, outcome in outcomes.items() if outcome == "no")
            absent = ", ".join(name for name, outcome in outcomes.items() if outcome is None)
            cells = (framework.title, failing, absent, result["date"], named)
            yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def main() -> int:
    """Tests the frameworks that are named, or all; returns 1 where something that should hold doesn't."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="FRAMEWORK")
    parser.add_argument("--in", dest="folder", type=Path, default=ROOT / ".frameworks")
    parser.add_argument("--kept", action="store_true", help="use environments as they are")
    words = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    failures = 0
    for framework in FRAMEWORKS:
        if words.agents and framework.agent not in words.agents:
            continue
        python = environment(framework, words.folder, kept=words.kept)
        result = results[framework.agent] = tested(framework, python)
        failures += sum(
            outcome == "no" and expected(framework, name)
            for name, outcome in result["outcomes"].items()
        )
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
        PAGE.write_text(page(results), "utf-8")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
