"""The set-up of the README depends on its pins alone, whatever the package index offers beside them."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPS = {
    "22.3": "1daab4b8d3b97d1d763caeb01a4640a2250a0ea899e257b1e44b9eded91e15ab",  # Python 3.11.0's
    "26.3": "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13",
}
"""The oldest pip that a Python of ours brings, and a current one."""
INSTALLERS = {**dict.fromkeys(PIPS, "pip install"), "uv": "uv pip install"}

pytestmark = pytest.mark.timeout(600)


def wheel(index: Path, name: str, version: str, *metadata: str) -> str:
    """Puts an empty package into an index, and returns the pin that names its bytes."""
    folder = index / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    about = f"{name.replace('-', '_')}-{version}.dist-info"
    fields = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata)
    members = {
        f"{about}/METADATA": "\n".join(fields) + "\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(file, "w") as packed:
        for path, text in members.items():
            packed.writestr(path, text)
        record = "".join(f"{path},,\n" for path in (*members, f"{about}/RECORD"))
        packed.writestr(f"{about}/RECORD", record)
    links = "".join(f'<a href="{f.name}">{f.name}</a>\n' for f in sorted(folder.glob("*.whl")))
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of an index whose newest releases fit no pin, and the pins: the releases before."""
    home = tmp_path / "index"
    extra = ("Provides-Extra: toml", "Requires-Dist: not-there; extra == 'toml'")
    pins = (
        wheel(home, "measures", "7.17.3", "Provides-Extra: toml"),
        wheel(home, "measures-pytest", "7.1.0", "Requires-Dist: measures[toml]>=7.10"),
        wheel(home, "plain", "1.0", "Requires-Dist: measures>=7"),
    )
    wheel(home, "measures", "7.17.5", *extra)
    wheel(home, "measures", "8.0", *extra, "Requires-Python: >=99")
    wheel(home, "measures-pytest", "9.0", "Requires-Dist: measures[toml]>=8")
    wheel(home, "plain", "2.0")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(home))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", "".join(pins)
        server.shutdown()


def the_scripts(installer: str) -> list[str]:
    """The words with which the README's script installs all pins."""
    script = (ROOT / "requirements/install").read_text("utf-8")
    words = rf"\.venv/bin/({installer} \S.*? -r requirements/dev\.txt)"
    (line,) = re.findall(words, script)
    return line.split()


@pytest.mark.thorough
@pytest.mark.parametrize("version", INSTALLERS)
def test_what_is_newest_on_the_index_changes_nothing_of_the_set_up(
    version: str, index: tuple[str, str], tmp_path: Path
) -> None:
    """With extras that only newer releases have, and with releases that this Python can't have."""
    address, pins = index
    venv = [sys.executable, "-m", "venv", "--without-pip", ".venv"]
    subprocess.run(venv, cwd=tmp_path, check=True, timeout=120)
    bin_ = tmp_path / ".venv/bin"
    pip = version if version in PIPS else max(PIPS)
    (tmp_path / "pip.txt").write_text(f"pip=={pip} --hash=sha256:{PIPS[pip]}\n")
    ours = (sys.executable, "-m", "pip", "--python", bin_ / "python")
    pinned = ("install", "-q", "--no-deps", "--require-hashes", "-r", "pip.txt")
    subprocess.run([*ours, *pinned], cwd=tmp_path, check=True, timeout=120)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/dev.txt").write_text(pins)
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    alone |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": address, "PIP_NO_CACHE_DIR": "1"}
    alone |= {"UV_DEFAULT_INDEX": address, "UV_NO_CACHE": "1", "VIRTUAL_ENV": ".venv"}
    (bin_ / "uv").symlink_to(Path(sys.executable).with_name("uv"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bin_ / words[0], *words[1:]],
            cwd=tmp_path,
            env=alone,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    command = the_scripts(INSTALLERS[version])
    installed = run(*command)
    assert installed.returncode == 0, installed.stderr
    assert set(pins.split()[::2]) <= set(run("pip", "freeze").stdout.split())
    checked = run("pip", "check")
    assert checked.returncode == 0, checked.stdout
    if version == min(PIPS):
        resolving = run(*(word for word in command if word != "--no-deps"), "--force-reinstall")
        assert resolving.returncode != 0, "the index has nothing that a resolver stumbles over"


def test_every_set_up_from_pins_leaves_pip_nothing_to_resolve() -> None:
    """In the script of the README, CONTRIBUTING, CI and just; in the workflows and the image."""
    for place in (".ci/run", "justfile", "README.md", "CONTRIBUTING.md"):
        assert "requirements/install" in (ROOT / place).read_text("utf-8")
    places = ("requirements/install", "packaging/Containerfile")
    files = [*(ROOT / place for place in places), *(ROOT / ".github/workflows").glob("*.yml")]
    lines = [(f, x) for f in files for x in f.read_text("utf-8").splitlines() if "pip install" in x]
    hashed = [
        words
        for _, line in lines
        for words in re.findall(r"pip install[^&|\n]*", line)
        if "--require-hashes" in words
    ]
    assert len(hashed) == 5
    assert [words for words in hashed if "--no-deps" not in words] == []
    assert "\ninstalled:\n    pip check\n" in (ROOT / "justfile").read_text("utf-8")
