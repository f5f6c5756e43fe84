"""What a program or a function of the user's consists of, as far as its answers may depend on it.

A changed file is another model: an answer that was cached for the old one must not stand for the new one.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenhand.core.definition import LETTERS, file_digest
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import (
    as_array,
    as_mapping,
    is_number,
    number,
    texts_in,
)
from evenhand.core.listed_steps import amount, listed_steps
from evenhand.core.message import Prompt, Reply, Usage
from evenhand.core.provider import Provider, ReadsFiles
from evenhand.core.users_code import imported_names
from evenhand.providers.wrapped import Wrapped

MOST_FILES = 2_000
LARGEST = 4_000_000
_NOT_CODE = frozenset({"node_modules", "venv", "site-packages", "__pycache__"})


_CODE = frozenset(
    ".py .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .sh .bash .go .rs .java .kt .scala .swift .c .cc .cpp .h .hpp .cs"
    " .php .pl .lua .r .R .jl .ex .exs .clj".split()
)
_RECIPES: Mapping[str, str] = {
    "make": "GNUmakefile makefile Makefile",
    "just": "justfile Justfile .justfile",
    "rake": "Rakefile",
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), "package.json"),
    **dict.fromkeys(("cargo",), "Cargo.toml"),
}
"""Which files say what these programs run."""
_TEXTS = frozenset(
    ".txt .md .prompt .j2 .jinja .jinja2 .njk .mustache .hbs .tmpl .tpl .xml .json .yaml .yml .toml".split()
)
"""What prompts and settings that code reads are written in."""
_PATH = re.compile(r"[^\0\r\n]{1,250}\.\w{1,8}")
_FILE_NAME = re.compile(rb"[\w.-]+\.\w{1,8}\b")
_WRITTEN = re.compile(
    rb"""([\w.-]+\.\w{1,8})["'`]\s*(?:,\s*(?:mode\s*=\s*)?["'][wax]|\)\s*\.(?:write_|open\(\s*["'][wax]))"""
    rb"""|(?:write|append)File(?:Sync)?\(\s*[^,;]{0,200}?([\w.-]+\.\w{1,8})["'`]"""
)
"""A file that code writes, such as a log: it would be another one after each call."""


def command_files(words: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """The files that a command runs, as far as its words say: files, code of folders and modules, lines for a shell.

    Args:
        words: The program and its arguments.
        folder: Where it is run.
    """
    return tuple(dict.fromkeys(path for path in _run_by(words, folder) if path.is_file()))


def _run_by(words: Sequence[str], folder: Path) -> Iterator[Path]:
    for before, word in zip(("", *words), words, strict=False):
        path = folder / word
        yield path
        if " " in word:  # a line for a shell
            with suppress(ValueError):
                yield from _run_by(shlex.split(word), folder)
        elif before == "-m":  # a module of Python's
            module = folder / word.replace(".", "/")
            yield module.with_name(f"{module.name}.py")
            yield from (module / "__init__.py", module / "__main__.py")
        elif path.is_dir():
            with suppress(OSError):  # one may not look into it
                yield from sorted(one for one in path.iterdir() if one.suffix in _CODE)
        for name in _RECIPES.get(path.name, "").split():
            yield folder / name


def code_digest(*files: Path, below: Path | None = None) -> str:
    """A hash of these files, of all code in and below their folders, and of the texts there that it names.

    Files that are not there count nothing. Hidden folders, virtual environments and files of more than 4 MB are left
    out, and no more than 2,000 are read.

    Args:
        below: A folder whose code counts, too, whichever files there are.
    """
    code, texts = _code_and_texts(files, below)
    parts: list[bytes] = []
    for path, content in sorted({**code, **texts}.items()):
        parts += [path.name.encode("utf-8", "replace"), content]
    return digest(*parts)


def files_mark(values: object, *places: Path) -> str:
    """A mark that changes with the files that values name, such as a variable `data/a.pdf`; empty where none does.

    Args:
        values: Variables and settings, as deep as they are.
        places: The folders that relative paths may start from.
    """
    digests = {
        name: [file_digest(path) for path in (place / name for place in places) if path.is_file()]
        for name in {text for text in texts_in(values) if _PATH.fullmatch(text)}
    }
    known = {name: each for name, each in digests.items() if each}
    return digest(encode(known))[:LETTERS] if known else ""


def named_texts(files: Iterable[Path]) -> Mapping[Path, bytes]:
    """The texts in and below the folders of these files that code there names and doesn't write: prompts, settings."""
    return _code_and_texts(files)[1]


def _code_and_texts(
    files: Iterable[Path], folder: Path | None = None
) -> tuple[dict[Path, bytes], dict[Path, bytes]]:
    """The code in and below the folders of files, these among it, and the texts that it names; what each holds."""
    there = {file.resolve() for file in files if file.is_file()}
    folders = {file.parent for file in there} | ({folder.resolve()} if folder else set())
    below = {path for each in folders for path in _files_below(each)}
    sources = sorted(there | {path for path in below if path.suffix in _CODE})[:MOST_FILES]
    code = {path: _content(path) for path in sources}
    named = {name for content in code.values() for name in _FILE_NAME.findall(content)}
    for content in code.values():
        named.difference_update(*_WRITTEN.findall(content))
    texts = sorted(
        path
        for path in below - code.keys()
        if path.suffix in _TEXTS and path.name.encode("utf-8", "replace") in named
    )
    return code, {path: _content(path) for path in texts[: MOST_FILES - len(code)]}


def _content(path: Path) -> bytes:
    """What a file holds; nothing of one that is too large, or can't be read."""
    try:
        return path.read_bytes() if path.stat().st_size <= LARGEST else b""
    except OSError:
        return b""


def with_imports(files: Iterable[Path]) -> Iterator[Path]:
    """Files, each once, with the Python files beside them that they import."""
    waiting, known = list(files), set[Path]()
    while waiting:
        file = waiting.pop()
        if file in known or not file.is_file():
            continue
        known.add(file)
        yield file
        if file.suffix == ".py":
            for name in _imports(file):
                waiting += [file.parent / f"{name}.py", file.parent / name / "__init__.py"]


def own_code(provider: Provider) -> str:
    """A digest of a provider's files and of what these import beside them; empty of one that has none.

    Other files of the folder have no part in it, as they have in the identity of a request: an answer that was cached
    must never stand for another one, but most changes beside a judge don't make it another judge.
    """
    digests = sorted(file_digest(file).encode() for file in code_files(provider))
    return digest(*digests)[:LETTERS] if digests else ""


def code_files(provider: Provider) -> Iterator[Path]:
    """A provider's files, each once, with what these import beside them; none of one that has none."""
    inner = provider.provider if isinstance(provider, Wrapped) else provider
    return with_imports(inner.files) if isinstance(inner, ReadsFiles) else iter(())


def _imports(file: Path) -> tuple[str, ...]:
    """The modules that a file imports, as paths from its folder."""
    try:
        status = file.stat()
        return _imports_of(file, (status.st_mtime_ns, status.st_size))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


@lru_cache(maxsize=256)
def _imports_of(file: Path, stamp: tuple[int, int]) -> tuple[str, ...]:
    del stamp  # so that a file that was written is read again
    names: dict[str, None] = {}
    for module, _, parts in imported_names(ast.parse(file.read_bytes())):
        path = module.replace(".", "/")
        names[path] = None
        names |= {f"{path}/{part}".strip("/"): None for part in parts}
    return tuple(names)


def _files_below(folder: Path) -> Iterator[Path]:
    """Code, and texts that it may read: so many of each that folders full of data don't keep code out."""
    code = texts = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _NOT_CODE)
        for path in (Path(place, name) for name in sorted(names)):
            if path.suffix in _CODE:
                code += 1
                yield path
            elif path.suffix in _TEXTS and texts < MOST_FILES:
                texts += 1
                yield path
        if code >= MOST_FILES:
            return


def shown_to_code(prompt: Prompt) -> dict[str, object]:
    """What code is told beside a prompt's text: how it is written, and the variables and the test it is sent for."""
    variables = dict(prompt.vars)
    written = {
        "raw": prompt.template or prompt.text,
        "label": prompt.label,
        "config": dict(prompt.config),
    }
    context: dict[str, object] = {"vars": variables, "prompt": written, **prompt.cell}
    if "test" in prompt.cell:
        context["test"] = {**as_mapping(prompt.cell["test"]), "vars": dict(variables)}
    return context


def asked_of_code(prompt: Prompt) -> dict[str, object]:
    """The parts of a prompt that an answer of code may depend on."""
    parts: dict[str, object] = {"prompt": prompt.text, "vars": prompt.vars}
    return {**parts, "cell": prompt.cell} if prompt.cell else parts


def replied(row: Mapping[str, Any], output: object, text: str | None = None) -> Reply:
    """The reply that such a return value stands for.

    Args:
        row: All of it: usage, cost and the rest are read where they are what they should be.
        text: The output as text, where it is neither text nor to be written as JSON.
    """
    extra = row.get("metadata")
    metadata = as_mapping(extra) if isinstance(extra, dict) or not extra else {"metadata": extra}
    if row.get("guardrails"):
        metadata = {**metadata, "guardrails": row["guardrails"]}
    if row.get("sessionId"):
        metadata = {"sessionId": row["sessionId"], **metadata}
    if text is None:
        text = output if isinstance(output, str) else encode(output, ordered=False).decode()
    return Reply(
        text=text,
        output=output,
        usage=_usage(row),
        cost_usd=amount(row.get("cost")),
        finish_reason=str(row.get("finishReason") or ""),
        refused=bool(row.get("isRefusal")),
        metadata=metadata,
        logprobs=_numbers(row.get("logProbs")),
        steps=listed_steps(row.get("steps")),
    )


def latency_s(row: Mapping[str, Any]) -> float | None:
    """How long it says that the answer took, as `latencyMs`; None where it says nothing of it."""
    took_ms = amount(row.get("latencyMs"))
    return None if took_ms is None else took_ms / 1000


def paid_for(row: Mapping[str, Any]) -> bool | None:
    """Whether a return value without an answer was paid for: None, for perhaps, where it has a cost or tokens."""
    usage = as_mapping(row.get("tokenUsage"))
    counts = (number(usage.get(name)) for name in ("total", "prompt", "completion"))
    return None if amount(row.get("cost")) or any(counts) else False


def _usage(row: Mapping[str, Any]) -> Usage:
    """The row's tokens. Of `prompt`, `completion` and `total`, two say the third; `total` alone says neither."""
    usage = as_mapping(row.get("tokenUsage"))
    total, read, wrote, cached = (
        number(usage.get(name)) for name in ("total", "prompt", "completion", "cached")
    )
    if total is not None:
        if wrote is None and read is not None and read <= total:
            wrote = total - read
        elif read is None and wrote is not None and wrote <= total:
            read = total - wrote
    return Usage(read, wrote, cached)


def _numbers(value: object) -> tuple[float, ...] | None:
    """A list of numbers; None for anything else."""
    items = as_array(value)
    numbers = tuple(float(one) for one in items if is_number(one))
    return numbers if numbers and len(numbers) == len(items) else None
