"""The documentation says what is so."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from evenhand.cli import exits
from evenhand.cli.verbs import evenhand
from evenhand.core.errors import EvenhandError
from evenhand.core.gate_terms import GateTerms
from evenhand.core.record import Record
from evenhand.core.table import names_of
from evenhand.doors.assertions.kinds import INSTEAD, SUPPORTED
from evenhand.doors.prompt_directories.eval_yml import (
    Defaults,
    EvalCase,
    EvalTable,
    Judging,
    Price,
    Queries,
)
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.languages.documents.failures_yml import read_codebook
from evenhand.languages.documents.project import Project
from evenhand.providers.catalog import KEYS, SCHEMES
from evenhand.scorers.catalog import scorers
from evenhand.wings.judge_checks.judge_variants import read_variants

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> Iterator[object]:
    """The code blocks of all pages in one language."""
    for page in PAGES:
        for i, (found, code) in enumerate(BLOCK.findall(page.read_text("utf-8"))):
            if found == language:
                yield pytest.param(code, id=f"{page.relative_to(ROOT)}:{i}")


def commands() -> Mapping[str, click.Command]:
    """Every command, those in groups under both words."""
    context = click.Context(evenhand)
    found: dict[str, click.Command] = {}
    for name in evenhand.list_commands(context):
        command = evenhand.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            inside = {
                inner: command.get_command(context, inner)
                for inner in command.list_commands(context)
            }
            found.update({f"{name} {inner}": one for inner, one in inside.items() if one})
    return found


def options(command: click.Command, *, shown: bool = False) -> set[str]:
    """The options of a command, as they are typed; all of them, or those that the help shows."""
    return {
        text
        for parameter in command.params
        if isinstance(parameter, click.Option) and not (shown and parameter.hidden)
        for text in (*parameter.opts, *parameter.secondary_opts)
    }


def headings(page: Path) -> set[str]:
    """The anchors of a page."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("code", [*blocks("python")])
def test_python_in_the_documentation_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each block runs by itself, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec", dont_inherit=True), {"__name__": "block"})


KINDS = "kinds: [{name: invents a fee, rule: Names a price., ratified: {by: A, on: 2026-01-01}}]"


@pytest.mark.parametrize("code", [*blocks("yaml")])
def test_yaml_in_the_documentation_is_known_to_the_reader(code: str, tmp_path: Path):
    """Put into a whole config, or a file of judges, each block loads without a problem and without a hint."""
    if code.startswith("# judges.yml"):
        (tmp_path / "judges.yml").write_text(code, "utf-8")
        (tmp_path / "judge.txt").write_text("{{output}}", "utf-8")
        assert len(read_variants(["judges.yml"], tmp_path)) == code.count("\n  ")
        return
    if code.startswith("kinds:"):
        (tmp_path / "failures.yml").write_text(code, "utf-8")
        assert all(kind.is_ratified for kind in read_codebook(tmp_path / "failures.yml").kinds)
        return
    config = {
        "prompts": ["{{message}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"message": "x"}, "assert": [{"type": "contains", "value": "x"}]}],
    }
    config |= yaml.safe_load(code)
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config), "utf-8")
    (tmp_path / "grader.py").write_text("def get_assert(output, context): return True\n", "utf-8")
    (tmp_path / "failures.yml").write_text(KINDS, "utf-8")
    (tmp_path / "tests.csv").write_text("message,__expected\nx,x\n", "utf-8")
    (tmp_path / "prompts").mkdir()
    for name in ("plain", "strict"):
        for ending in ("txt", "md"):
            (tmp_path / "prompts" / f"{name}.{ending}").write_text("{{message}}", "utf-8")
    keys = dict.fromkeys(
        (*re.findall(r"env\.(\w+)", code), "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "k"
    )
    assert list(load(tmp_path, Chosen(env=keys)).hints) == []


WHOLE = [
    one
    for one in blocks("yaml")
    if "audit.md" not in one.id
    and {"prompts", "providers", "tests"} <= yaml.safe_load(one.values[0]).keys()
]
"""Whole configs, but for those of the page that shows what `evenhand audit` reports."""


@pytest.mark.parametrize("code", WHOLE)
def test_no_whole_config_of_the_documentation_passes_an_echo(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Readers copy examples: a subject that repeats the question passes none of them."""
    (tmp_path / "promptfooconfig.yaml").write_text(code, "utf-8")
    (tmp_path / "tests.csv").write_text("message,__expected\nx,equals:y\n", "utf-8")
    (tmp_path / "grader.py").write_text("def get_assert(output, context): return True\n", "utf-8")
    (tmp_path / "prompts").mkdir()
    for name in ("plain", "strict"):
        (tmp_path / "prompts" / f"{name}.md").write_text("{{message}}", "utf-8")
    with pytest.raises(SystemExit):
        evenhand(["audit", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["cases"] > 0
    survivors = {one["subject"]: one["survived"] for one in document["subjects"]}
    assert survivors.get("echo", 0) == 0


@pytest.mark.parametrize("code", [*blocks("sh")])
def test_every_command_in_the_documentation_exists(code: str):
    """Each `evenhand …` names a command and options that there are."""
    known = commands()
    for line in re.findall(r"(?<![\w-])evenhand ([^&|>\n]+)", code):
        plain = re.sub(r"'[^']*'", "…", line)  # a text, which may have options of its own
        words = plain.partition(" -- ")[0].split()  # what follows is a command of its own
        command = known.get(" ".join(words[:2])) or known[words[0]]
        used = {word for word in words if word.startswith("-") and word != "-"}
        assert used <= options(command), line


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    """Links between pages lead to a page that is there, and to a heading that it has."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    broken: list[str] = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        if not aim.exists() or (anchor and anchor not in headings(aim)):
            broken.append(target)
    assert broken == []


def test_the_index_lists_every_page():
    """All but the decisions, of which it has the first."""
    index = (DOCS / "index.md").read_text("utf-8")
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    pages = [one for one in pages if not one.startswith("decisions/") and one != "index.md"]
    assert [one for one in pages if f"({one})" not in index] == []


def test_the_path_from_the_installation_to_ci_is_short():
    """The sections that the index names first have 4,000 words, up to their next heading, or fewer."""
    index = (DOCS / "index.md").read_text("utf-8")
    steps = re.findall(r"^\d\. .+$", index, re.MULTILINE)
    words = 0
    for name, anchor in re.findall(r"\(([\w-]+\.md)#([\w-]+)\)", "\n".join(steps)):
        parts = re.split(r"^#+ (?=.+\n\n)", (DOCS / name).read_text("utf-8"), flags=re.MULTILINE)
        found = {
            re.sub(r"[^\w\- ]", "", part.partition("\n")[0].lower()).replace(" ", "-"): part
            for part in parts
        }
        words += len(found[anchor].split())
    assert len(steps) == 5
    assert 2000 < words <= 4000


def reference() -> Any:
    """What makes the site's page on commands."""
    path = ROOT / "packaging" / "docs_site" / "commands.py"
    spec = importlib.util.spec_from_file_location("docs_site_commands", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_option_is_documented():
    """The page on commands has a section for each command, and in it each option that the help shows, and examples."""
    parts = re.split(r"^### evenhand (.+)$", reference().page(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    shown = {name: one for name, one in commands().items() if not one.hidden}
    assert sections.keys() == shown.keys()
    missing = [
        f"{name} {option}"
        for name, command in shown.items()
        for option in options(command, shown=True)
        if not re.search(rf"`{re.escape(option)}[ `]", sections[name])
    ]
    assert missing == []
    assert [name for name, text in sections.items() if f"\nevenhand {name}" not in text] == []
    assert "`-n`, `--first`, `--filter-first-n N` | Run only the first N cases" in sections["run"]
    assert "As for [`evenhand run`](#evenhand-run): `--filter`, " in sections["gate"]
    assert "Accept becoming worse by this much" in sections["gate"]
    assert "Default: 20. |" in sections["runs history"]


def test_a_command_with_its_help_option_leads_to_its_place_on_the_page_on_commands():
    """On the site; not in code blocks, not in links, and not where there is no such command."""
    text = "See `evenhand runs list --help` and `evenhand run --help-all`.\n```sh\n`evenhand run --help`\n```\n"
    linked = reference().linked(f"{text}`evenhand fly --help`, [`evenhand run --help`](x)", "r.md")
    assert (
        linked
        == text.replace(
            "`evenhand runs list --help`",
            "[`evenhand runs list --help`](r.md#evenhand-runs-list)",
        ).replace("`evenhand run --help-all`", "[`evenhand run --help-all`](r.md#evenhand-run)")
        + "`evenhand fly --help`, [`evenhand run --help`](x)"
    )


def test_every_assertion_type_is_documented():
    """The page that goes through promptfoo line by line names each assertion that works."""
    text = (DOCS / "promptfoo-differences.md").read_text("utf-8")
    missing = [name for name in sorted(SUPPORTED) if f"`{name}`" not in text]
    assert not missing, f"`just formats` writes {missing} into docs/promptfoo-differences.md"


def test_the_tables_on_promptfoo_are_those_of_the_code():
    """Made anew, the pages are as they are: `just formats` writes them."""
    path = Path(__file__).with_name("promptfoo_tables.py")
    spec = importlib.util.spec_from_file_location("promptfoo_tables", path)
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    texts = [page.read_text("utf-8") for page in tables.PAGES]
    fresh = [tables.with_tables(text) == text for text in texts]
    assert all(fresh), "`just formats` writes the tables of the pages on promptfoo anew"
    named = re.findall(r"<!-- table: (\w+) -->", "".join(texts))
    assert sorted(named) == sorted(tables.TABLES)


def test_the_readme_counts_the_assertion_types_that_are_not_run():
    """As many as the code refuses."""
    words = {3: "three", 4: "four", 5: "five"}
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"only {words[len(INSTEAD)]} assertion types aren't supported" in text


def test_every_provider_is_documented():
    """A row of the page on providers has each id of the catalogue, with its key. No row has another."""
    text = (DOCS / "providers.md").read_text("utf-8")
    table = text[text.index("| asks | ids | key |") :].partition("\n\n")[0]
    cells = [line.split(" | ") for line in table.splitlines()[2:]]
    found = {
        form: key.strip(" |`") for _, forms, key in cells for form in re.findall(r"`(.+?)`", forms)
    }
    known = {form: KEYS.get(form.partition(":")[0]) or "" for form in SCHEMES}
    apart = dict(found.items() ^ known.items())
    assert not apart, f"the table of docs/providers.md and `providers/catalog.py` differ: {apart}"


def test_every_scorer_is_documented():
    """Each class of evenhand.scorers that can be asked of an output is used or named on a page."""
    text = "".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    missing = [e.name for e in scorers() if not re.search(rf"\b{e.name}\b", text)]
    assert not missing, f"{missing} are on no page of docs/: choose-a-scorer.md lists scorers"


def test_every_environment_variable_is_documented():
    """Whatever variable the code reads is on the command-line page."""
    text = (DOCS / "command-line.md").read_text("utf-8")
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"env(?:iron)?\.get\(\s*\"([A-Z_]+)\"", path.read_text("utf-8"))
    }
    assert "EVENHAND_HOME" in read
    assert {name for name in read if name not in text and name != "TERM"} == set()


@pytest.mark.parametrize(
    ("page", "tables"),
    [
        ("command-line.md", (Project, GateTerms)),
        ("prompt-directories.md", (EvalTable, Defaults, Judging, Price, EvalCase, Queries)),
    ],
    ids=["pyproject.toml", "eval.yml"],
)
def test_every_key_of_a_table_that_users_write_is_documented(
    page: str, tables: tuple[type[Record], ...]
):
    """Its page has it as code, in a text or an example."""
    text = (DOCS / page).read_text("utf-8")
    code = "".join(re.findall(r"```.+?```|`[^`]+`", text, re.DOTALL))
    names = {name for table in tables for name in names_of(table)}
    missing = [name for name in sorted(names) if not re.search(rf"(?<![\w-]){name}(?![\w-])", code)]
    assert not missing, f"docs/{page} doesn't explain {missing}"


def test_every_error_has_a_section():
    """Each error's slug is a heading of the page on errors, and each heading is a slug."""

    def tree(kind: type[EvenhandError]) -> Iterator[type[EvenhandError]]:
        yield kind
        for child in kind.__subclasses__():
            yield from tree(child)

    slugs = {kind.slug for kind in tree(EvenhandError) if kind.__module__.startswith("evenhand.")}
    apart = (headings(DOCS / "errors.md") - {"errors"}) ^ slugs
    assert not apart, f"sections of docs/errors.md and slugs of errors differ: {sorted(apart)}"


def test_the_exit_codes_are_those_of_the_command_line():
    """The command-line page, the help text and the code have the same exit codes."""
    text = (DOCS / "command-line.md").read_text("utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    named = {
        value
        for name, value in vars(exits).items()
        if name.isupper() and isinstance(value, int) and name not in ("SHOWN", "PROMPTFOO_FAILED")
    }
    assert documented == named | {143}
    help_text = click.Context(evenhand).get_help()
    section = help_text[help_text.index("Exit codes:") :].partition("Runs are kept")[0]
    assert {int(code) for code in re.findall(r"\b(\d+) [a-zS]", section)} == documented


def test_files_of_the_repository_that_pages_name_are_there() -> None:
    """In `tests/`, `bench/`, `packaging/`, `page/` and `src/`; a maintainer adds the keys of who may release."""
    file = re.compile(r"`(?:python )?((?:tests|bench|packaging|page|src)/[\w./-]+\.\w+)")
    added = {"packaging/allowed_signers"}
    names = {(page.name, name) for page in PAGES for name in file.findall(page.read_text("utf-8"))}
    gone = {(page, name) for page, name in names if not (ROOT / name).is_file()}
    assert {each for each in gone if each[1] not in added} == set()
    assert len(names) > 20
