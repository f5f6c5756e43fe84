"""The files of a config: which are meant, and what they say, each `$ref` replaced; several are put together."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_object
from evenhand.core.names import did_you_mean, nearest
from evenhand.core.record import Record
from evenhand.doors.promptfoo.environment import config_filled, declared, switched_on
from evenhand.doors.promptfoo.generated_tests import called_now
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.languages.documents.file_kinds import is_database
from evenhand.languages.documents.findings import Findings, Place, shown_path, unreadable
from evenhand.languages.documents.tree import Document, Path_, read_document
from evenhand.languages.javascript.references import CONFIG, TYPESCRIPT
from evenhand.languages.javascript.references import ENDINGS as JAVASCRIPT

NAMES = tuple(
    f"promptfooconfig.{ending}"
    for ending in ("yaml", "yml", "json", "cjs", "cts", "js", "mjs", "mts", "ts")
)
"""What a config is called in its folder; the first that is there."""

RUN_SUFFIX = ".db"
_NOT_OWN = frozenset({"node_modules", "site-packages", "venv"})
DATA = frozenset({".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"})
"""How files with cases end that cannot be configs."""

MOST_REFERRED = 200_000
"""Values that the references of a config may stand for, all together."""


class Written(Record, frozen=True):
    """What the files of a config say, their references replaced.

    Attributes:
        document: The file, or several as one.
        files: Files that it is made of, beside its own.
        lending: Keys at its top that references and aliases in it stand for.
    """

    document: Document
    value: dict[str, Any]
    files: frozenset[Path] = frozenset()
    lending: frozenset[str] = frozenset()

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self.document.file.parent


def read_written(
    paths: Sequence[Path], overrides: Overrides, env: Mapping[str, str], findings: Findings
) -> Written | None:
    """What the config that these paths stand for says. None, and its problems, where it cannot be read.

    Prompts and models beside it, or outputs, need no config: then it says nothing.

    Args:
        env: The environment that it is read in.
    """
    complete = overrides.model_outputs or (overrides.prompts and overrides.providers)
    if complete and not any(_holds(path) for path in paths):
        folder = paths[0] if paths[0].is_dir() else Path.cwd()
        return Written(Document(folder.absolute() / NAMES[0], {}), {})
    files = find_configs(paths, findings)
    if not files or findings.problems:
        return None
    documents = [_document(file, findings) for file in files]
    read = [document for document in documents if document is not None]
    if len(read) < len(documents):
        return None
    # The first is the config's own; of one in code, what it comes to is not all that it says.
    beside = {d.file for d in read if d is not read[0] or d.file.suffix in JAVASCRIPT}
    values: list[dict[str, Any]] = []
    lending = set[str]()
    for document in read:
        references = References(document, findings)
        value = document.value
        if not switched_on(env, "PROMPTFOO_DISABLE_REF_PARSER"):
            value = references.replaced(value)
        beside |= references.files
        lending |= references.lending | document.lending
        values.append(cast("dict[str, Any]", value))
    document, value = read[0], values[0]
    if len(read) > 1:
        # What a file says of the environment holds in that file; of the rest, the last word counts.
        document, value = combined(read, [_filled_by_itself(value, env) for value in values])
    return Written(document, value, frozenset(beside), frozenset(lending))


def _filled_by_itself(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """A config in its own environment; what it declares of that stays as it is written."""
    filled = config_filled(value, {**env, **declared(value, env)})
    return {**filled, "env": value["env"]} if "env" in value else filled


def _holds(path: Path) -> bool:
    return not path.is_dir() or find_config(path, Findings()) is not None


def find_config(path: Path, findings: Findings) -> Path | None:
    """The config file meant by a path: itself, or the one in the folder. None, and a problem, where there is none."""
    wrong = None if path.is_dir() else unreadable(path)
    if wrong is not None:
        findings.problem(Place(path), *wrong)
        return None
    if not path.exists():
        near = (
            nearest(path.name, [p.name for p in path.parent.glob("*")])
            if path.parent.is_dir()
            else ""
        )
        findings.problem(Place(path), "does not exist", f"Did you mean '{near}'?" if near else "")
        return None
    if not path.is_dir():
        if path.suffix not in (".yaml", ".yml", ".json") and path.suffix not in JAVASCRIPT:
            findings.problem(Place(path), *_no_config(path))
            return None
        return path.absolute()
    for name in NAMES:
        wrong = unreadable(path / name)
        if wrong is not None:
            findings.problem(Place(path / name), *wrong)
            return None
        if (path / name).is_file():
            return (path / name).absolute()
    near = nearest(NAMES[0], [p.name for p in path.glob("*.y*ml")])
    below = [shown_path(file) for file in _below(path)]
    hint = "`evenhand init`, or `init --python`, makes a folder to start from."
    if near:
        hint = f"Did you mean {path / near}?"
    elif below:
        more = "" if len(below) == 1 else f" or another of {len(below)}"
        hint = f"Name what is below it: {shlex.quote(below[0])}{more}."
    findings.problem(
        Place(path),
        "holds nothing to run: no promptfooconfig.yaml, no *_evals.py in it or below evals, no prompt directories",
        hint,
    )
    return None


def _below(folder: Path) -> list[Path]:
    """The folders with a config, and the eval files, that are at most three levels below a folder."""
    return sorted(
        path.parent if path.name in NAMES else path
        for depth in ("*", "*/*", "*/*/*")
        for name in (*NAMES[:2], "*_evals.py")
        for path in folder.glob(f"{depth}/{name}")
        if not any(p.startswith(".") or p in _NOT_OWN for p in path.relative_to(folder).parts)
    )


def _no_config(path: Path) -> tuple[str, str]:
    """Why a file that cannot be a config is not run, and what to do."""
    suffix = path.suffix.lower()
    if suffix == RUN_SUFFIX and is_database(path):
        return (
            "is the file of a run, not something to run",
            f"`evenhand show {shown_path(path)}` shows it; `evenhand resume` finishes an unfinished one.",
        )
    if suffix in DATA:
        return (
            "is data, not something to run",
            "Run what reads it: an eval set (Dataset.read), or a promptfooconfig.yaml with it as `tests`.",
        )
    return (
        f"cannot be run: a config ends in .yaml, .yml, .json, .js or .ts, not '{path.suffix}'",
        "Name a promptfooconfig.yaml, or the folder that holds one.",
    )


def find_configs(paths: Sequence[Path], findings: Findings) -> list[Path]:
    """The config files meant by paths: files, patterns, and folders with a config in them."""
    configs: list[Path] = []
    for path in paths:
        matches = [path]
        # A file may have brackets in its name: what exists is no pattern.
        if not path.exists() and any(char in str(path) for char in "*?["):
            matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (Path.glob takes no absolute pattern)
            if not matches:
                findings.problem(Place(path), "matches no file")
        for match in matches:
            file = find_config(match, findings)
            if file is not None and file not in configs:
                configs.append(file)
    return configs


def _document(path: Path, findings: Findings) -> Document | None:
    read = read_code if path.suffix in JAVASCRIPT else read_document
    document = read(path, findings)
    if document is None:
        return None
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "is not an object at its top"
        findings.problem(Place(path, 1, 1), what, "It needs prompts, providers and tests.")
        return None
    return document


class References:
    """Replaces the references of one file: `$ref`, for parts of a config that stand for other parts, or other files."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self._document = document
        self._findings = findings
        self._others: dict[Path, Document | None] = {}
        self._under_way: list[tuple[Path, str]] = []
        self._size = 0
        self.lending: set[str] = set()
        """Keys at the top of the file that references stand for, or parts of them."""

    @property
    def files(self) -> set[Path]:
        """The files that references lead to."""
        return set(self._others)

    def replaced(self, value: object) -> object:
        """The value with each `{$ref: '#/a/b'}` replaced by what is there; keys beside `$ref` go over it.

        A reference may lead into another file (`other.yaml#/a/b`). What stands under `parameters` is the schema of a
        function, whose references are its own.
        """
        return self._replaced(value, self._document, ())

    def _replaced(self, value: object, home: Document, path: Path_) -> object:
        if self._under_way:
            self._size += 1
        if self._under_way and self._size > MOST_REFERRED:
            if self._size == MOST_REFERRED + 1:
                self._findings.problem(
                    Place(self._document.file),
                    f"its $ref stand for more than {MOST_REFERRED:,} values",
                )
            return None
        if is_object(value):
            target = value.get("$ref")
            if isinstance(target, str):
                return self._target(target, value, home, path)
            return {
                k: v if k == "parameters" else self._replaced(v, home, (*path, k))
                for k, v in value.items()
            }
        if is_array(value):
            rows = enumerate(value)
            return [self._replaced(v, home, (*path, i)) for i, v in rows]
        return value

    def _target(
        self, target: str, items: Mapping[str, object], home: Document, at: Path_
    ) -> object:
        here = home.at(*at, "$ref")
        name, _, path = target.partition("#")
        document: Document | None = home
        if name:
            file = home.file.parent / name.removeprefix("file://")
            if file not in self._others:
                self._others[file] = read_document(file, self._findings, here)
            document = self._others[file]
        if document is None:
            return None
        target_value = document.value
        if document is self._document:
            self.lending.add(path.strip("/").partition("/")[0])
        for part in filter(None, path.split("/")):
            # JSON Pointer writes `/` as `~1` and `~` as `~0`; the other order would turn `~01` into `/`.
            inside = _inside(target_value, part.replace("~1", "/").replace("~0", "~"))
            if inside is None:
                there = as_mapping(target_value)
                # A schema's own references look the same, and lead to parts of the schema.
                self._findings.hint(
                    here,
                    f"$ref: '{target}' is left as it is: there is no '{part}'",
                    did_you_mean(part, there),
                )
                return dict(items)
            target_value = inside
        step = (document.file, path)
        if step in self._under_way:
            round_ = [*self._under_way[self._under_way.index(step) :], step]
            self._findings.problem(
                here,
                f"$ref: '{target}' leads back to itself: "
                + " → ".join(_reference(file, part, self._document.file) for file, part in round_),
                "Write out what is meant in one of them.",
            )
            return None
        self._under_way.append(step)
        inside_path = tuple(filter(None, path.split("/")))
        target_value = self._replaced(target_value, document, inside_path)
        self._under_way.pop()
        beside = {k: self._replaced(v, home, (*at, k)) for k, v in items.items() if k != "$ref"}
        if beside and is_mapping(target_value):
            return {**target_value, **beside}
        return target_value


def _reference(file: Path, path: str, home: Path) -> str:
    return f"{'' if file == home else file.name}#{path}"


def _inside(value: object, part: str) -> object:
    if is_mapping(value):
        return value.get(part)
    if is_array(value) and part.isdigit():
        return value[int(part)] if int(part) < len(value) else None
    return None


_LISTS = frozenset({"prompts", "providers", "targets"})
_CALLED = frozenset(
    """
    value transform postprocess transformVars contextTransform assertScoringFunction provider transformRequest
    transformResponse responseParser validateStatus sessionParser
    """.split()
)
"""Keys under which a function is called, as a file would be that has one."""


def read_code(path: Path, findings: Findings) -> Document | None:
    """A config in JavaScript or TypeScript. None, and its problems, where Node is not there or cannot read it.

    It is an object, or a function or a promise of one. Functions in it stay where they are: each is read as a reference
    to its place (`file://promptfooconfig.js:config().tests.0.assert.0.value`), as if it were in a file of its own.
    """
    from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs that are code)

    wrong = javascript.problems(javascript.function(path, CONFIG))
    for what, hint in wrong:
        findings.problem(Place(path), what, hint)
    if wrong:
        return None
    try:
        value = decode(encode(called_now(path, CONFIG, ()), ordered=False))
    except EvenhandError as error:
        newer = "TypeScript wants Node 22.18 or newer." if path.suffix in TYPESCRIPT else ""
        findings.problem(Place(path), error.message, error.hint or newer)
        return None
    refused = [where for where in _functions(value, f"file://{path.name}:{CONFIG}.", ()) if where]
    for where in refused:
        findings.problem(
            Place(path),
            f"{where} is a function, which is not called there",
            "Functions can be prompts, providers, transforms, values of assertions and assertScoringFunction.",
        )
    return Document(path, value, {})


def _functions(value: object, begins: str, path: tuple[str, ...]) -> Iterator[str]:
    """Where functions stand that nobody calls; an empty text for each that is called."""
    if isinstance(value, str):
        if value.startswith(begins):
            # Where a list of prompts or providers holds one, the reference stands a level below.
            place = path[:2] if path[0] in _LISTS and len(path) == 3 else path
            yield "" if _is_called(place) else ".".join(place)
    elif is_mapping(value):
        for key, item in value.items():
            yield from _functions(item, begins, (*path, key))
    elif is_array(value):
        for i, item in enumerate(value):
            yield from _functions(item, begins, (*path, str(i)))


def _is_called(path: tuple[str, ...]) -> bool:
    if path[0] in _LISTS and len(path) == 2:
        return True
    return path[-1] in _CALLED


_MERGED_LISTS = (
    "prompts",
    "providers",
    "targets",
    "tests",
    "scenarios",
    "extensions",
    "derivedMetrics",
)
_MODELS = ("providers", "targets")
_ONCE = frozenset({"prompts", "providers", "targets", "extensions"})
_MAPPINGS = (
    "tags",
    "env",
    "evaluateOptions",
    "commandLineOptions",
    "metadata",
    "nunjucksFilters",
    "assertionTemplates",
    "evenhand",
)


class Combined(Document):
    """Several files as one document, whose parts know which file they come from."""

    origins: dict[Path_, tuple[Document, Path_]] = field(
        default_factory=dict[Path_, tuple[Document, Path_]]
    )

    def at(self, *path: str | int) -> Place:
        """Where the part at this path is written, in whichever file."""
        # An item first: the items of one list may come from several files.
        for length in (2, 1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                document, there = origin
                return document.at(*there, *path[length:])
        return Place(self.file)


def combined(
    documents: Sequence[Document], values: Sequence[Mapping[str, Any]]
) -> tuple[Combined, dict[str, Any]]:
    """The configs as one.

    Args:
        values: What the documents come to, their references replaced.
    """
    base = documents[0].file.parent
    whole = Combined(documents[0].file, documents[0].value)
    merged: dict[str, Any] = {}
    descriptions: list[str] = []
    for document, value in zip(documents, values, strict=True):
        folder = document.file.parent
        moved = cast(
            "Mapping[str, Any]", value if folder == base else _moved(value, folder, base, ())
        )
        for key, item in moved.items():
            # Two words for one list, of which each file may use another: the first file's counts.
            name = next((word for word in _MODELS if key in _MODELS and word in merged), key)
            if name in _MERGED_LISTS:
                _extend(merged, name, item, document, whole)
                continue
            whole.origins[name,] = (document, (name,))
            if name == "description":
                descriptions.append(str(item))
            elif name == "defaultTest" and is_mapping(item):
                merged[name] = _test(merged.get(name), item)
            elif name in _MAPPINGS and is_mapping(item):
                merged[name] = {**as_mapping(merged.get(name)), **item}
            elif name == "sharing":
                merged[name] = item and merged.get(name, True)
            else:
                merged[name] = item
    if descriptions:
        merged["description"] = ", ".join(descriptions)
    whole.value = {key: merged[key] for key in merged}
    return whole, merged


def _extend(
    merged: dict[str, Any], name: str, item: object, document: Document, whole: Combined
) -> None:
    if name == "prompts" and is_mapping(item):
        item = [{"raw": raw, "label": label} for raw, label in item.items()]
    listed = is_array(item)
    items = item if listed else [item]
    there = cast("list[object]", merged.setdefault(name, []))
    for i, one in enumerate(items):
        if one is None or (name in _ONCE and one in there):
            continue
        whole.origins[name, len(there)] = (document, (name, i) if listed else (name,))
        there.append(one)
    whole.origins.setdefault((name,), (document, (name,)))


def _test(before: object, item: Mapping[str, Any]) -> dict[str, Any]:
    earlier = as_mapping(before)
    both: dict[str, Any] = {**earlier, **item}
    for key in ("vars", "options", "metadata"):
        if isinstance(earlier.get(key), Mapping) and isinstance(item.get(key), Mapping):
            both[key] = {**earlier[key], **item[key]}
    if isinstance(earlier.get("assert"), list) and isinstance(item.get("assert"), list):
        both["assert"] = [*earlier["assert"], *item["assert"]]
    return both


def _moved(value: object, folder: Path, base: Path, path: Path_) -> object:
    """The value with the files that it names, which start from `folder`, named from `base`."""
    if isinstance(value, str):
        for scheme in ("file://", "python:"):
            if value.startswith(scheme) and "{{" not in value:
                return scheme + _from(value.removeprefix(scheme), folder, base)
        # Prompts and tests name files without saying so.
        if path[:1] in (("prompts",), ("tests",)) and len(path) <= 2 and "\n" not in value:
            name = value.rpartition(":")[0] if ".py:" in value else value
            if len(name) < 400 and any(folder.glob(name) if name and name[0] != "/" else ()):
                return _from(value, folder, base)
        return value
    if is_mapping(value):
        items = value
        if path == ("prompts",):  # a map from prompts to labels
            return {cast("str", _moved(key, folder, base, path)): v for key, v in items.items()}
        return {key: _moved(item, folder, base, (*path, key)) for key, item in items.items()}
    if is_array(value):
        items = value
        return [_moved(item, folder, base, (*path, i)) for i, item in enumerate(items)]
    return value


def _from(name: str, folder: Path, base: Path) -> str:
    return name if name[:1] == "/" else os.path.relpath(folder / name, base)
