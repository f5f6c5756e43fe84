"""The list of what a release depends on."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def module() -> ModuleType:
    """packaging/sbom.py, which is not installed."""
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "packaging" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_pin_and_every_shipped_package_is_listed_once():
    """With hashes, licences and references that fit together."""
    pins = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    lock = json.loads((ROOT / "page" / "package-lock.json").read_text("utf-8"))
    document = module().sbom(pins, lock, {"nunjucks", "node-sql-parser"}, "9.9.9")
    components = {part["bom-ref"]: part for part in document["components"]}
    assert len(components) == len(document["components"]) == pins.count("==") + 2
    assert {"aiohttp", "msgspec", "nunjucks", "node-sql-parser"} <= {
        part["name"] for part in components.values()
    }
    aiohttp = next(part for part in components.values() if part["name"] == "aiohttp")
    assert all(len(p["value"]) == 64 for p in aiohttp["properties"])
    assert aiohttp["properties"]
    assert document["dependencies"][0]["dependsOn"] == list(components)
    assert document["metadata"]["component"]["version"] == "9.9.9"
