"""How a recorded call of a tool ended, as its step says it."""

from __future__ import annotations

from typing import Any

from evenhand.core.encoding import decode
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.run import ToolRecord


def ended(record: ToolRecord) -> dict[str, Any]:
    """The fields of the step: its result and that it went well, or that it failed and why."""
    if not record.error:
        return {"result": decode(record.result), "status": "ok"}
    fields = as_mapping(decode(record.error))
    words = " ".join(map(str, as_array(fields.get("args"))))
    return {"status": "error", "error": f"{fields.get('type')}: {words}".rstrip(": ")}
