"""`evenhand doctor`: is everything in place? It looks, sends nothing, writes nothing, and shows no key."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from evenhand.cli.plugin_listing import checked
from evenhand.core.built_parts import is_built, missing
from evenhand.core.document import Key, as_object
from evenhand.core.errors import ConfigError
from evenhand.core.record import Record
from evenhand.core.wing import hook
from evenhand.languages.documents.findings import shown_path
from evenhand.languages.documents.project import project_for
from evenhand.store.run_lookup import cache_folder, run_folder

SCHEMA = "evenhand.doctor/1"
State = Literal["ok", "warn", "bad"]

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE = 1_000_000_000
NO_SPACE = 50_000_000
BUILT_AFTER = 1_763_683_200  # seconds since 1970: 2025-11-21, before there was anything to install
PACKAGES = (
    "aiohttp",
    "click",
    "jsonschema-rs",
    "justhtml",
    "msgspec",
    "pycurl",
    "pyyaml",
    "quickjs-ng",
    "snowballstemmer",
)
"""What an installation cannot do without; uvloop is looked for by itself."""
PARTS = {
    "the viewer's page": ("evenhand.wings.viewer", "static", "app.js"),
    "Nunjucks, for templates with more than names": (
        "evenhand.languages.javascript",
        "libraries",
        "nunjucks.js",
    ),
    "the SQL parsers of is-sql and contains-sql": (
        "evenhand.languages.javascript",
        "libraries",
        "big-integer.js",
    ),
}
SDKS = ("anthropic", "openai")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
ADDRESSES = ("ANTHROPIC_BASE_URL", "OPENAI_API_BASE_URL", "OPENAI_BASE_URL")
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")


class DoctorDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.doctor/1`."""

    schema: Annotated[str, Key("`evenhand.doctor/1`")]
    findings: Annotated[
        list[Finding], Key("all that was looked at, in the order in which it is printed")
    ]


class Finding(Record, frozen=True):
    """One thing that was looked at."""

    state: Annotated[
        State,
        Key(
            "`ok`; `warn`, which may be as you want it; or `bad`, which stops a run (the exit code is 2 then)"
        ),
    ]
    what: Annotated[str, Key("what was found; never a key")]
    hint: Annotated[str, Key("what to do about it; empty for nothing")] = ""

    def __str__(self) -> str:
        return f"{self.state:<5} {self.what}" + (f"\n      {self.hint}" if self.hint else "")


def doctor(home: Path, env: Mapping[str, str], folder: Path | None = None) -> list[Finding]:
    """Looks at Python, packages, keys, addresses, the project, folders, space, clock and cases, in that order.

    Args:
        home: The folder that keeps, or will keep, the runs.
        folder: Where the project is looked for; by default where one stands.
    """
    return [
        *_python(),
        *_packages(),
        *_parts(),
        *_added(),
        *_keys(env, folder or Path.cwd()),
        *_addresses(env),
        *_project(folder or Path.cwd()),
        *_folders(home),
        *_clock(),
        *_cases(folder or Path.cwd()),
    ]


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """What `evenhand doctor --json` prints: `evenhand.doctor/1`."""
    return as_object(DoctorDocument(schema=SCHEMA, findings=list(findings)))


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= OLDEST_PYTHON:
        yield Finding("ok", f"Python {version}, SQLite {sqlite3.sqlite_version}")
    else:  # somebody runs it from a source tree
        yield Finding("bad", f"Python {version} is too old", "Evenhand needs Python 3.11 or later.")


def _packages() -> Iterator[Finding]:
    missing = [name for name in PACKAGES if not _version(name)]
    if missing:
        yield Finding(
            "bad",
            f"not installed: {', '.join(missing)}",
            "Install Evenhand again, in the way that you installed it.",
        )
    else:
        yield Finding("ok", f"all {len(PACKAGES)} packages that Evenhand needs")
    if sys.platform != "win32" and not _version("uvloop"):
        yield Finding(
            "warn", "uvloop is not installed", "Runs take about twice the time: pip install uvloop"
        )
    versions = [f"{name} {_version(name)}" for name in SDKS if _version(name)]
    if versions:
        yield Finding("ok", f"SDKs, for graders of yours that use them: {', '.join(versions)}")


def _parts() -> Iterator[Finding]:
    lacking = [what for what, place in PARTS.items() if not is_built(*place)]
    for what in lacking:
        absent = missing(what)
        yield Finding("warn", absent.message, absent.hint)
    if not lacking:
        yield Finding("ok", "the viewer's page, Nunjucks and the SQL parsers are there")


def _added() -> Iterator[Finding]:
    """What other packages add. One that is broken stops only the runs that use it."""
    for one, wrong, hint in checked():
        if wrong:
            yield Finding("warn", wrong, hint)
        else:
            yield Finding("ok", str(one))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _keys(env: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    names = [name for name in KEYS if env.get(name, "").strip()]
    for name in names:
        if env[name] != env[name].strip():
            yield Finding(
                "warn",
                f"{name} begins or ends with a space or a line break",
                "Set it again without them.",
            )
    if names:
        yield Finding("ok", f"keys set: {', '.join(names)}")
    else:
        without = "run --offline" if (folder / "offline.jsonl").is_file() else "init my-evals"
        yield Finding(
            "warn",
            f"no key set: neither {' nor '.join(KEYS)}",
            f"Set the one of your vendor, or try without: evenhand {without}",
        )


def _addresses(env: Mapping[str, str]) -> Iterator[Finding]:
    for name in ADDRESSES:
        address = env.get(name, "")
        if not address:
            continue
        host, problem = _host(address)
        if problem:
            yield Finding(
                "bad",
                f"{name} is not an address: {problem}",
                f"Set it like {name}=https://example.com/v1",
            )
        else:
            yield Finding("ok", f"{name} is set: calls go to {host}")
    for name in PROXIES:
        if env.get(name):
            host, _ = _host(env[name])
            yield Finding("ok", f"{name} is set: calls go through {host or 'what it names'}")


def _project(folder: Path) -> Iterator[Finding]:
    """What [tool.evenhand] says, with its lines, or what is wrong with it."""
    try:
        project = project_for(folder)
    except ConfigError as error:
        for problem in error.problems:
            yield Finding("bad", problem.summary, problem.hint)
        return
    if not project.path:
        yield Finding("ok", "no [tool.evenhand] in a pyproject.toml: defaults hold")
        return
    gate = project.gate
    baseline = gate.baseline and shown_path(Path(gate.baseline))
    settings: dict[str, object] = {
        "judge": project.judge.id if project.judge else None,
        "timeout": project.timeout_s,
        "retries": project.retries,
        "time-limit": project.time_limit_s,
        "calibrated": project.calibrated or None,
        "canaries": project.canaries,
        "batch": "true" if project.batch else None,
        "gate.baseline": baseline or None,
        "gate.margin": gate.margin,
        "gate.undecided": gate.undecided or None,
        "gate.metrics": ", ".join(gate.metrics) or None,
        **{f"threshold.{name}": value for name, value in project.thresholds.items()},
    }
    for name, value in settings.items():
        if value is not None:
            line = project.lines.get(name, 0)
            place = shown_path(Path(project.path)) + (f":{line}" if line else "")
            text = value if isinstance(value, str) else f"{value:g}"
            yield Finding("ok", f"project: {name} = {text} ({place})")
    for name in project.tables:
        yield Finding("ok", f"project: [tool.evenhand.{name}] ({shown_path(Path(project.path))})")


def _cases(folder: Path) -> Iterator[Finding]:
    """Cases of the folder's config that can't fail."""
    if line := cast("Callable[[Path], str]", hook("cant_fail_in"))(folder):
        yield Finding("warn", line.partition(":")[0], "`evenhand audit` says which.")


def _host(address: str) -> tuple[str, str]:
    """The host of an address, without name and password; and what is wrong with it."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        return "", str(error)
    if parts.scheme not in ("http", "https"):
        return host, "it does not begin with http:// or https://"
    return host, "" if host else "it names no host"


def _folders(home: Path) -> Iterator[Finding]:
    yield _folder("runs", run_folder(home))
    yield _folder("the cache", cache_folder(home))
    yield _space(home)


def _folder(what: str, folder: Path) -> Finding:
    there = _existing(folder)
    if not there.is_dir():
        return Finding(
            "bad",
            f"{what} cannot be kept in {folder}: {there} is a file",
            "Set EVENHAND_HOME to a folder.",
        )
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            "bad",
            f"{what} cannot be kept in {folder}: {there} is read-only",
            "Set EVENHAND_HOME to another folder.",
        )
    if folder != there:
        return Finding("ok", f"{folder} will keep {what}, from the first run on")
    files = list(folder.glob("*.db"))
    size = sum(path.stat().st_size for path in files) / 1e6
    return Finding(
        "ok",
        f"{folder} keeps {what}: {len(files)} {'file' if len(files) == 1 else 'files'}, {size:.1f} MB",
    )


def _existing(folder: Path) -> Path:
    """The nearest thing above, or the folder itself, that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _space(home: Path) -> Finding:
    free = shutil.disk_usage(_existing(home)).free
    amount = f"{free / 1e9:.1f} GB" if free >= LITTLE_SPACE else f"{free / 1e6:.0f} MB"
    if free < NO_SPACE:
        return Finding(
            "bad",
            f"{amount} free on the disk of {home}",
            "A run keeps every reply: make room first.",
        )
    if free < LITTLE_SPACE:
        return Finding(
            "warn", f"{amount} free on the disk of {home}", "A run of 10,000 rows can take 100 MB."
        )
    return Finding("ok", f"{amount} free on the disk of {home}")


def _clock() -> Iterator[Finding]:
    now = time.time()
    today = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(now))
    if now < BUILT_AFTER:
        yield Finding(
            "bad",
            f"the clock says {today}",
            "Set it: with a wrong clock, no vendor's certificate is valid.",
        )
    else:
        yield Finding("ok", f"the clock says {today}")
