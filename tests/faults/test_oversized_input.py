"""What strangers wrote is too deep, or unpacks to too much: one message, soon, and without the memory for all of it."""

from __future__ import annotations

import io
import resource
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import COMMAND

HEAD = "prompts: ['Say {{x}}']\nproviders: [echo]\n"
ENTITY = b'<!DOCTYPE x [<!ENTITY a "b">]>'
MEMORY = 1_500_000_000
"""Bytes of address space that the command may have."""

pytestmark = pytest.mark.timeout(120)


def nested(depth: int, opened: str = "[", closed: str = "]") -> str:
    """A value at the bottom of so many lists."""
    return opened * depth + "1" + closed * depth


def workbook(cell: bytes, declared: bytes = b"") -> bytes:
    """A sheet with a header, and one cell below it."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["x"])  # pyright: ignore[reportOptionalMemberAccess]
    plain, packed = io.BytesIO(), io.BytesIO()
    book.save(plain)
    row = b'<row r="2"><c r="A2" t="inlineStr"><is><t>' + cell + b"</t></is></c></row></sheetData>"
    with zipfile.ZipFile(plain) as before, zipfile.ZipFile(packed, "w", 8) as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                data = declared + data.replace(b"</sheetData>", row)
            after.writestr(name, data)
    return packed.getvalue()


def log(size: int) -> bytes:
    """An Inspect log with one sample of so many bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", 8) as archive:
        archive.writestr(
            "header.json", '{"version": 2, "status": "success", "eval": {"task": "t"}}'
        )
        archive.writestr("samples/1_epoch_1.json", '{"id": 1, "input": "' + "x" * size + '"}')
    return packed.getvalue()


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command line with little memory."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Set from outside and not before it starts, so that it can start warm.
    resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    out, err = process.communicate(timeout=100)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


KINDS = pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tests.json", '[{"vars": {"x": %s}}]', ("check", "c.yaml")),
        ("tests.jsonl", '{"vars": {"x": %s}}', ("check", "c.yaml")),
        ("tests.yaml", "- vars: {x: %s}", ("check", "c.yaml")),
        ("cases.json", '[{"id": "a", "input": %s}]', ("dataset", "show", "cases.json")),
        ("cases.jsonl", '{"id": "a", "input": %s}', ("dataset", "show", "cases.jsonl")),
        ("cases.yaml", "- {id: a, input: %s}", ("dataset", "show", "cases.yaml")),
    ],
)
"""Tests and datasets, in JSON and in YAML."""


@pytest.mark.parametrize("depth", [201, 400, 600, 950, 3_000, 200_000])
@KINDS
def test_what_is_nested_too_deep_is_refused_with_its_place(
    name: str, text: str, words: tuple[str, ...], depth: int, tmp_path: Path
) -> None:
    """As tests and as datasets, in JSON and in YAML."""
    (tmp_path / "c.yaml").write_text(f"{HEAD}tests: file://{name}\n")
    (tmp_path / name).write_text(text % nested(depth))
    ended = ran(tmp_path, *words)
    assert ended.returncode == 2, ended.stderr[-300:]
    assert name in ended.stderr
    assert "nested" in ended.stderr
    assert "Traceback" not in ended.stderr


@KINDS
def test_what_is_a_little_less_deep_is_read(
    name: str, text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """The same files, with 150 lists in one another."""
    (tmp_path / "c.yaml").write_text(f"{HEAD}tests: file://{name}\n")
    (tmp_path / name).write_text(text % nested(150))
    ended = ran(tmp_path, *words)
    assert ended.returncode == 0, ended.stderr[-300:]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "made", "words", "told"),
    [
        ("rows.xlsx", lambda: workbook(b"y" * 300_000_000), ("check",), "unpacks"),
        ("rows.xlsx", lambda: workbook(b"&a;", ENTITY), ("check",), "workbook"),
        ("big.eval", lambda: log(300_000_000), ("import", "inspect", "big.eval"), "unpacks"),
    ],
    ids=["a workbook", "a workbook with entities", "a log of Inspect's"],
)
def test_what_unpacks_to_more_than_is_read_is_refused_before_it_is_unpacked(
    name: str, made: Callable[[], bytes], words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    """It is said in words, and no memory is taken for it."""
    (tmp_path / "promptfooconfig.yaml").write_text(f"{HEAD}tests: file://rows.xlsx\n")
    (tmp_path / name).write_bytes(made())
    ended = ran(tmp_path, *words)
    assert ended.returncode == 2, ended.stderr[-300:]
    assert told in ended.stderr
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
