"""Lists what Evenhand depends on, as an SBOM in CycloneDX's format: `sbom.py requirements/runtime.txt 0.2.0`.

How this works: the pins name every package that an installation brings, with the hashes of its files. What comes from
npm and is shipped in the wheel has a licence in licenses/, and its version in page/package-lock.json. The format is
CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def pinned(requirements: str) -> list[dict[str, Any]]:
    """The components of a file of pins, each with the hashes of all files of its release as properties."""
    components: list[dict[str, Any]] = []
    for line in requirements.splitlines():
        pin = PIN.match(line)
        if pin:
            name, version = pin.group(1).lower(), pin.group(2)
            purl = f"pkg:pypi/{name}@{version}"
            components.append(
                {
                    "type": "library",
                    "bom-ref": purl,
                    "name": name,
                    "version": version,
                    "purl": purl,
                    "properties": [],
                }
            )
        digest = HASH.search(line)
        if digest and components:
            value = {"name": "evenhand:file:sha256", "value": digest.group(1)}
            components[-1]["properties"].append(value)
    return components


def shipped(lock: dict[str, Any], names: set[str]) -> list[dict[str, Any]]:
    """The packages of npm whose code is in the wheel, from npm's lock file (version 3).

    Args:
        lock: The lock file.
        names: Which packages these are.
    """
    components: list[dict[str, Any]] = []
    for path, package in lock["packages"].items():
        name = path.rpartition("node_modules/")[2]
        if name not in names:
            continue
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        components.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": package["version"],
                "purl": purl,
                "licenses": [{"expression": package["license"]}] if "license" in package else [],
            }
        )
    return components


def sbom(requirements: str, lock: dict[str, Any], names: set[str], version: str) -> dict[str, Any]:
    """The whole document. It has no date and no serial number, so the same sources give the same bytes."""
    components = [*pinned(requirements), *shipped(lock, names)]
    purl = f"pkg:pypi/evenhand@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": "evenhand",
                "version": version,
                "purl": purl,
            }
        },
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": [part["bom-ref"] for part in components]}],
    }


if __name__ == "__main__":
    lock = json.loads((ROOT / "page" / "package-lock.json").read_text("utf-8"))
    licensed = {path.stem for path in (ROOT / "licenses").glob("*.txt")}
    document = sbom(Path(sys.argv[1]).read_text("utf-8"), lock, licensed, sys.argv[2])
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
