"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import functools
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "evenhand"
MODULES = sorted(PACKAGE.rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "types", "misc", "lib"}
HEAVY = {"aiohttp", "click", "jsonschema_rs", "quickjs", "uvloop", "yaml"}
MOST_PACKAGES = 30
Rule = Callable[[list[ast.AST]], Iterator[str]]
"""Finds what breaks it among the nodes of a module."""
OF_THEIR_OWN = ("promptfoo", "assertions", "templates")
"""Rooms whose public classes have names that no other room has."""


def _without_docstring(nodes: list[ast.AST]) -> Iterator[str]:
    module = next(node for node in nodes if isinstance(node, ast.Module))
    if not ast.get_docstring(module):
        yield "has no docstring"


def _participles(nodes: list[ast.AST]) -> Iterator[str]:
    participles = set("found said asked kept shown seen made wanted told given".split())
    fields = {
        field.target
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    for name in nodes:
        if (
            isinstance(name, ast.Name)
            and name.id in participles
            and isinstance(name.ctx, ast.Store)
            and name not in fields
        ):
            yield f"{name.lineno} {name.id}"


def _pronouns(nodes: list[ast.AST]) -> Iterator[str]:
    pronoun = re.compile(
        r"(It|Its|They|Them|Theirs?|These|Those|Such|The same|One of them|Wh(at|ether) it)\b"
    )
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            if pronoun.match(docstring):
                yield docstring.partition("\n")[0]


def _crowded_calls(nodes: list[ast.AST]) -> Iterator[str]:
    foreign = {"partial", "call_later", "only"}  # of functions that take what they pass on by place
    for call in nodes:
        if isinstance(call, ast.Call) and len(call.args) >= 7:
            name = ast.unparse(call.func).rpartition(".")[2]
            if name not in foreign and not any(isinstance(a, ast.Starred) for a in call.args):
                yield f"{call.lineno} {name}"


def _possessive_groups(nodes: list[ast.AST]) -> Iterator[str]:
    for text in (node.value for node in nodes if isinstance(node, ast.Constant)):
        pattern = text.decode("latin-1") if isinstance(text, bytes) else text
        # What begins so goes on after a group.
        if isinstance(pattern, str) and re.search(r"^[*+]\+\S", pattern):
            yield pattern
        if isinstance(pattern, str) and re.search(
            r"[^(]\)[*+]\+", re.sub(r"\[[^]]+\]", "x", pattern)
        ):
            yield pattern


RULES = (_without_docstring, _participles, _pronouns, _crowded_calls, _possessive_groups)


@functools.cache
def exceptions() -> dict[Rule, list[str]]:
    """The places that break each of the rules. A module is parsed once, and forgotten: all trees take a gigabyte."""
    places: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    for path in MODULES:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        for rule in RULES:
            places[rule] += [f"{path.relative_to(PACKAGE)}: {place}" for place in rule(nodes)]
    return places


def tracked() -> Iterator[Path]:
    """The files that are kept under version control, or would be."""
    skipped = {
        *(".git", ".venv", ".evenhand", "__pycache__", "build", "dist", "htmlcov", "node_modules")
    }
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name != ".git" and not path.name.startswith(".coverage"):
            yield path
        elif path.is_dir() and (path.name == ".ci" or not path.name.startswith(".")):
            yield from (
                p for p in sorted(path.rglob("*")) if p.is_file() and not skipped & set(p.parts)
            )


def test_no_file_is_too_long_for_one_reason():
    """A module of more than 600 lines hides a second noun."""
    long = {str(p.relative_to(ROOT)): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {name: lines for name, lines in long.items() if lines > 600} == {}


def test_no_module_has_a_vague_name():
    """A module is named after a noun; none is a drawer for the rest."""
    names = {part for p in MODULES for part in p.relative_to(PACKAGE).with_suffix("").parts}
    assert names & VAGUE == set()


def test_no_public_module_hides_behind_an_underscore():
    """A leading underscore marks a private name in a module, never a file."""
    assert [p.name for p in MODULES if re.match(r"_[^_]", p.name)] == []


def test_a_class_of_these_rooms_has_a_name_of_its_own():
    """Whoever reads the name of one knows which it is."""
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        place = str(path.relative_to(PACKAGE))
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            homes.setdefault(name, []).append(place)
    twins = {name: places for name, places in homes.items() if len(places) > 1}
    ours = {n: p for n, p in twins.items() if any(one.startswith(OF_THEIR_OWN) for one in p)}
    assert ours == {}


def absent(name: str) -> bool:
    """Whether a name in dots of this package, such as `stats.multiple.Half`, leads to no module or nothing in one."""
    place = PACKAGE
    for part in name.split("."):
        inside = place if place.is_file() else place / "__init__.py"
        if (place / part).is_dir():
            place /= part
        elif (place / f"{part}.py").is_file():
            place /= f"{part}.py"
        elif not inside.is_file() or not re.search(rf"\b{part}\b", inside.read_text("utf-8")):
            return True
    return False


def test_files_and_modules_that_comments_send_readers_to_are_there():
    """`bench/coverage.py`, `analysis/gates/gate_verdict.py`, `stats.multiple`: all are named where they are."""
    rooms = sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__")
    tops = sorted(p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith("."))
    file = re.compile(rf"`((?:{'|'.join([*tops, *rooms])})/[\w./-]+\.\w+)`")
    dotted = re.compile(rf"`(?:evenhand\.)?((?:{'|'.join(rooms)})(?:\.[A-Za-z_]\w*)+)`")
    astray: list[str] = []
    for path in MODULES:
        text = path.read_text("utf-8")
        names = [
            *(n for n in file.findall(text) if not any((r / n).is_file() for r in (ROOT, PACKAGE))),
            *(n for n in dotted.findall(text) if absent(n)),
        ]
        astray += [f"{path.relative_to(PACKAGE)}: {name}" for name in names]
    assert astray == []


def test_one_module_knows_what_a_terminal_takes():
    """What asks for text without colours, or says that a line can't be rewritten, is read in one place."""
    asking = re.compile(r"\"(?:NO_COLOR|TERM)\"")
    places = [str(p.relative_to(PACKAGE)) for p in MODULES if asking.search(p.read_text("utf-8"))]
    assert places == ["core/wording/ink.py"]


def test_every_module_says_what_it_is_for():
    """The docstring of a module is the first thing that a reader meets."""
    assert exceptions()[_without_docstring] == []


@pytest.mark.parametrize("code", ["import evenhand", "from evenhand.cli import main; main(['-V'])"])
def test_starting_up_loads_nothing_heavy(code: str):
    """`import evenhand` and `evenhand --version` import none of the big libraries."""
    script = f"import sys; {code}; print(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert set(done.stdout.split()) & HEAVY == set()


def test_no_file_knows_this_machine():
    """Nothing that is shipped names a folder of one machine, or a package registry."""
    folders = "root|home|work|opt|Users"
    hosts = r"pypi\.org|pythonhosted\.org|npmjs\.org|crates\.io"
    foreign = re.compile(rf"(?<![\w.~*])/(?:{folders})/[\w.]|{hosts}")
    found: dict[str, str] = {}
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        hit = foreign.search(text)
        if hit and path != Path(__file__).resolve():
            found[str(path.relative_to(ROOT))] = text[max(0, hit.start() - 30) : hit.end() + 30]
    assert found == {}


def test_no_run_lies_among_the_files_of_the_project():
    """A test that keeps its runs in the current folder leaves files here that nobody wrote."""
    written = {"runs", "key", "latest", "cache.db"}
    assert [p.name for p in ROOT.iterdir() if p.name in written or p.suffix == ".db"] == []


def test_what_the_gate_leaves_out_is_run_each_night_and_before_a_release():
    """One recipe runs every test. Both of the gate's leave out what is marked thorough, and nothing else."""
    recipes = re.findall(
        r"^(\w+):\n    (.*pytest.*)$", (ROOT / "justfile").read_text("utf-8"), re.MULTILINE
    )
    chosen = {name: re.findall(r"-m (\S+ \S+)", line) for name, line in recipes}
    assert chosen["unit"] == chosen["lanes"] == ['"not thorough"']
    assert chosen["thorough"] == []
    nightly = (ROOT / ".github/workflows/thorough.yml").read_text("utf-8")
    assert "schedule:" in nightly
    assert "just thorough" in nightly
    assert "`just thorough`" in (ROOT / "docs/releasing.md").read_text("utf-8")


def test_ci_runs_what_the_readme_says():
    """The README, the contributing guide and CI give one and the same test command."""
    commands = re.findall(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    command = commands[-1]
    assert "just all" in command
    assert (ROOT / ".ci" / "run").read_text("utf-8").splitlines()[-1] == command
    assert command in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_pins_have_hashes_and_cover_what_is_declared():
    """Development installs from pins that say which bytes, and that hold all that the project needs."""
    text = (ROOT / "requirements" / "dev.txt").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert [line[:60] for line in lines if "--hash=sha256:" not in line] == []
    pinned = {Requirement(line.split("--hash")[0]).name.lower() for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {Requirement(line).name.lower() for line in project["dependencies"]}
    for line in (ROOT / "requirements" / "dev.in").read_text("utf-8").splitlines():
        if name := line.partition("#")[0].strip():
            wanted.add(Requirement(name).name.lower())
    assert wanted - pinned == set()


def test_installing_it_stays_small():
    """An install without extras is at most 30 packages."""
    seen: set[str] = set()
    waiting = ["evenhand"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name.lower().replace("_", "-"))
    assert len(seen) <= MOST_PACKAGES, sorted(seen)


def test_every_ignored_rule_has_its_reason():
    """Each rule that the linter leaves out has words beside it."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    start = text.index("ignore = [")
    block = text[start : text.index("\n]", start)].splitlines()[1:]
    rules = [line.strip() for line in block if line.strip().startswith('"')]
    assert [rule for rule in rules if not re.search(r'",\s+# \S', rule)] == []


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80, 0, 0)])
def test_no_test_reaches_another_machine(address: tuple[str, int]):
    """A test that connects to anything but loopback is stopped."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as end, pytest.raises(AssertionError, match="this machine only"):
        end.connect(address)
    with pytest.raises(AssertionError, match="this machine only"):
        socket.getaddrinfo("example.com", 80)


def test_no_variable_is_named_by_a_participle():
    """`problems`, `message` or `request` say what a variable holds; `found`, `said` and `asked` don't."""
    assert exceptions()[_participles] == []


def test_no_docstring_begins_with_a_pronoun():
    """The first line of a docstring stands alone: not "It in the keys of x" but "The check as a dict"."""
    assert exceptions()[_pronouns] == []


def test_no_call_has_seven_positional_arguments():
    """Two numbers that change places are a wrong verdict that no type checker sees: name them."""
    assert exceptions()[_crowded_calls] == []


def test_no_pattern_repeats_a_group_possessively():
    """Before Python 3.11.5, `(…)*+` loses its place where the group only begins to fit: `(?>(…)*)` doesn't."""
    assert exceptions()[_possessive_groups] == []
