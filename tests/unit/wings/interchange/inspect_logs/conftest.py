"""Logs of the shape that Inspect documents, written by hand: a dict for each member of the archive."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

JSON = dict[str, Any]


def a_header(**more: Any) -> JSON:
    """What a log says of its eval."""
    about = {
        "eval_id": "FNbwGKR5", "run_id": "7VqdtDzd", "created": "2026-11-23T15:59:27+00:00",
        "task": "sums", "task_version": 0, "model": "openai/gpt-4o-mini",
        "dataset": {"samples": 2}, "config": {"epochs": 2},
    }  # fmt: skip
    return {
        "version": 2,
        "status": "success",
        "eval": about,
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": 2, "completed_samples": 2, "scores": []},
        "stats": {"completed_at": "2026-11-23T15:59:37+00:00"},
        **more,
    }


def a_sample(id_: object = 1, epoch: int = 1, **more: Any) -> JSON:
    """A sample that was asked and scored."""
    said = {"id": "m2", "role": "assistant", "content": "The answer is 4", "source": "generate"}
    return {
        "id": id_,
        "epoch": epoch,
        "input": "2+2?",
        "target": "4",
        "messages": [{"id": "m1", "role": "user", "content": "2+2?", "source": "input"}, said],
        "output": {
            "model": "gpt-4o-mini-2024-07-18",
            "choices": [{"message": said, "stop_reason": "stop"}],
            "completion": "The answer is 4",
        },
        "scores": {"includes": {"value": "C", "answer": "4", "explanation": "it has 4"}},
        "metadata": {"kind": "add"},
        "store": {},
        "model_usage": {
            "openai/gpt-4o-mini": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12},
            "openai/gpt-4.1": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
        },
        "events": [{"event": "sample_init"}, {"event": "model"}],
        "total_time": 1.5,
        "working_time": 1.25,
        "uuid": "S6B5",
        "attachments": {},
        **more,
    }


def members(*samples: JSON, header: JSON | None = None, start: bool = False) -> dict[str, bytes]:
    """The members of a log: its start, its samples, and its header unless it did not end."""
    head = json.dumps(a_header() if header is None else header).encode()
    made = {"_journal/start.json": head}
    for one in samples:
        made[f"samples/{one.get('id')}_epoch_{one.get('epoch')}.json"] = json.dumps(one).encode()
    return made if start else {**made, "header.json": head}


def deflated(path: Path, parts: dict[str, bytes]) -> Path:
    """An archive as older versions of Inspect write it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def zstandard(path: Path, parts: dict[str, bytes], *, crc: int = 0, size: int = 0) -> Path:
    """An archive as newer ones do, method 93. `crc` and `size` are added to what is true."""
    body, directory = b"", b""
    for name, data in parts.items():
        packed = pa.compress(data, codec="zstd", asbytes=True)
        raw = name.encode()
        about = struct.pack(
            "<HHHHIIIHH",
            0, 93, 0, 0, (zlib.crc32(data) + crc) & 0xFFFFFFFF, len(packed), len(data) + size,
            len(raw), 0,
        )  # fmt: skip
        directory += b"PK\x01\x02" + struct.pack("<HH", 63, 63) + about
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + raw
        body += b"PK\x03\x04" + struct.pack("<H", 63) + about + raw + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\x05\x06" + end)
    return path
