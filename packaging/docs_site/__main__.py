"""Builds the documentation site: `python packaging/docs_site --to site`.

How this works: the pages of docs/ are made fit for the generator (`markdown`), pages about commands and the Python API
are made from the code (`commands`, `python_api`), and the navigation is what docs/index.md lists (`contents`). The
generator, Zensical, writes the site into a folder named after the version, beside those of other versions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

try:
    import commands
    import config
    import contents
    import formats
    import markdown
    import python_api

    from evenhand import __version__
except ImportError as error:
    sys.exit(f"packaging/docs_site needs what requirements/dev.txt pins: {error}")

ROOT = Path(__file__).resolve().parents[2]
BESIDE = {
    "README.md": "about.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages that are not in docs/, and what the site calls them."""


def main() -> None:
    """Builds it."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--to", type=Path, default=ROOT / "site", help="the site's folder")
    site = parser.parse_args().to.resolve()
    build(site)
    sys.stdout.write(f"{site / __version__ / 'index.html'}\n")


def build(site: Path) -> Path:
    """Builds the site of this version.

    Args:
        site: The folder of all versions.

    Returns:
        The folder of this one.

    Raises:
        SystemExit: The generator failed, or warned.
    """
    out = site / __version__
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sources = work / "pages"
        write_pages(sources)
        sections = contents.sections(sources)
        shutil.copytree(sources, work / "docs")
        contents.leave_out_of_search(work / "docs", sections)
        (work / "zensical.toml").write_text(config.written(sections), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.toml"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"zensical failed:\n{done.stdout}{done.stderr}")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)
        for page in sources.rglob("*.md"):  # what llms.txt leads to
            shutil.copyfile(page, out / page.relative_to(sources))
        (out / "llms.txt").write_text(contents.overview(sources), "utf-8")
        (out / "llms-full.txt").write_text(contents.everything(sources, sections), "utf-8")
    list_versions(site)
    return out


def write_pages(sources: Path) -> None:
    """Writes what the generator reads: pages, pictures, and what is made from the code (reference, JSON Schemas)."""
    shutil.copytree(ROOT / "docs", sources, ignore=shutil.ignore_patterns("*.md"))
    pages = {
        page: page.relative_to(ROOT / "docs") for page in sorted((ROOT / "docs").rglob("*.md"))
    }
    pages |= {ROOT / name: Path(title) for name, title in BESIDE.items()}
    for page, place in pages.items():
        target = sources / place
        target.parent.mkdir(parents=True, exist_ok=True)
        text = markdown.for_site(page, place, pages)
        of_commands = os.path.relpath(f"reference/{commands.NAME}.md", place.parent)
        target.write_text(commands.linked(text, of_commands), "utf-8")
    formats.write_schemas(sources / "formats")
    (sources / "reference").mkdir(exist_ok=True)
    for name, text in {commands.NAME: commands.page(), **python_api.pages()}.items():
        (sources / "reference" / f"{name}.md").write_text(text, "utf-8")


def list_versions(site: Path) -> None:
    """Lists the versions for the page's selector, the newest first, and leads the site's root to the newest."""
    versions = sorted(
        (folder.name for folder in site.iterdir() if (folder / "index.html").is_file()),
        key=lambda name: [int(part) for part in name.split(".") if part.isdigit()],
        reverse=True,
    )
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]
    listed[0]["aliases"] = ["latest"]
    (site / "versions.json").write_text(json.dumps(listed, indent=1), "utf-8")
    to_newest = f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/">'
    (site / "index.html").write_text(to_newest, "utf-8")


if __name__ == "__main__":
    main()
