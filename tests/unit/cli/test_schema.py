"""`evenhand info schema`."""

import json
from pathlib import Path

from click.testing import CliRunner

from evenhand.cli.schema import schema


def test_a_schema_is_printed_or_written_with_the_line_that_editors_need(tmp_path: Path):
    """The printed one is JSON, and the file has the same."""
    printed = CliRunner().invoke(schema, ["promptfoo"], standalone_mode=False)
    path = tmp_path / "s.json"
    written = CliRunner().invoke(schema, ["promptfoo", "--to", str(path)], standalone_mode=False)
    assert json.loads(printed.output) == json.loads(path.read_text("utf-8"))
    assert f"$schema={path}" in written.output or f"$schema=./{path}" in written.output
