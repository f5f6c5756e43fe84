"""How a recorded call of a tool ended, as its step says it."""

from __future__ import annotations

from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.run import ToolRecord


def ended(record: ToolRecord) -> dict[str, Any]:
    """The fields of the step: its result and that it went well, or that it failed and why."""
    if not record.error:
        return {"result": decode(record.result), "status": "ok"}
    fields = cast("dict[str, Any]", decode(record.error))
    words = " ".join(map(str, cast("list[Any]", fields.get("args") or [])))
    return {"status": "error", "error": f"{fields.get('type')}: {words}".rstrip(": ")}
