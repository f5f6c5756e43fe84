"""Keys that a program, a model or a config repeats are in nothing that a run leaves behind or says."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.render.export import formats

KEYS = {
    "SHOP_API_KEY": "from-the-process-0123456789",
    "DOT_TOKEN": "from-the-folder/0123456789",
    "FILE_SECRET": "from-a-named-file-0123456789",
    "LINE_PASSWORD": "from-its-own-line-0123456789",
    "CONFIG_KEY": "from-the-config-0123456789",
    "OWN_KEY": "of-one-model-alone-0123456789",
}
CONFIG = """
description: repeats {{ env.SHOP_API_KEY }}
prompts: ['Tell {{ q }}: {{ env.SHOP_API_KEY }} {{ env.DOT_TOKEN }} {{ env.FILE_SECRET }}
  {{ env.LINE_PASSWORD }} {{ env.CONFIG_KEY }}']
providers: [echo, {id: file://told.py, env: {OWN_KEY: of-one-model-alone-0123456789}}]
env: {CONFIG_KEY: from-the-config-0123456789}
commandLineOptions: {envPath: line.env}
tests:
  - vars: {q: 1}
    assert: [{type: contains, value: nothing of it}, {type: javascript, value: 'false'}]
  - vars: {q: 2}
"""
PROVIDER = """
import json

def call_api(prompt, options, context):
    print(prompt)
    if "1" not in context["vars"]["q"].__str__()[:1]:
        raise ValueError(prompt + " of-one-model-alone-0123456789")
    return {"output": {"said": prompt, "own": ["of-one-model-alone-0123456789"]}}
"""


def _said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    code: Any = 0
    try:
        main(words)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return code, said.out + said.err


def unpacked(path: Path) -> bytes:
    """A file's bytes; of an archive, those of its members."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(name.encode() + archive.read(name) for name in archive.namelist())


def test_keys_are_in_no_byte_that_is_left_or_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the process, of .env files, of the config, of one model: not in the run, its exports, its page, its table."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "left"
    monkeypatch.setenv("EVENHAND_HOME", str(home))
    for name in KEYS:
        monkeypatch.setenv(name, "x")  # so that what is loaded is taken back after the test
        monkeypatch.delenv(name)
    monkeypatch.setenv("SHOP_API_KEY", KEYS["SHOP_API_KEY"])
    for file, name in ((".env", "DOT_TOKEN"), ("named.env", "FILE_SECRET"), ("line.env", "LINE_PASSWORD")):  # fmt: skip
        (tmp_path / file).write_text(f"{name}={KEYS[name]}\n", "utf-8")
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "told.py").write_text(PROVIDER, "utf-8")
    code, out = _said(["run", "--env-file", "named.env", "--verbose", "--no-cache"], capsys)
    assert code == 1, out
    for format_ in formats():
        # A log of Inspect's is of one model.
        for column in ("echo", "told.py") if format_ == "inspect" else ("",):
            chosen = ["--where", f'variant:"{column}"'] if column else []
            path = home / f"as-{format_}-{column}"
            code, text = _said(["export", "--format", format_, "--to", str(path), *chosen], capsys)
            assert code == 0, text
            out += text
    for words in (["show"], ["show", "--json"], ["runs", "list"], ["check"]):
        out += _said(words, capsys)[1]
    assert "[redacted]" in out
    left = [path for path in home.rglob("*") if path.is_file()]
    assert len(left) > len(formats())
    for name, value in KEYS.items():
        assert value not in out, name
        for path in left:
            assert value.encode() not in unpacked(path), (name, path.name)
