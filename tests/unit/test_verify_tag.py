"""A release begins with a tag that a maintainer signed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging/verify_tag.sh"


def key(home: Path, name: str) -> tuple[Path, str]:
    """A new SSH key: its file, and its public half."""
    file = home / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    return file, " ".join(file.with_suffix(".pub").read_text().split()[:2])


def test_only_a_tag_signed_by_somebody_on_the_list_is_released(tmp_path: Path) -> None:
    """Not one without a signature, not a stranger's, and none where the list is missing."""
    if not shutil.which("ssh-keygen") or not shutil.which("git"):
        pytest.skip("there is no ssh-keygen or no git")
    repository = tmp_path / "repository"
    (repository / "packaging").mkdir(parents=True)
    shutil.copy2(SCRIPT, repository / "packaging")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }  # fmt: skip

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=repository, env=env, check=True, capture_output=True)

    def verified(tag: str) -> int:
        command = [str(repository / "packaging/verify_tag.sh"), tag]
        return subprocess.run(command, env=env, check=False, capture_output=True).returncode

    ann, public = key(tmp_path, "ann")
    mallory, _ = key(tmp_path, "mallory")
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    git("tag", "-m", "unsigned", "v1")
    git("tag", "v2")
    for tag, file in (("v3", mallory), ("v4", ann)):
        git("-c", "gpg.format=ssh", "-c", f"user.signingkey={file}", "tag", "-s", "-m", tag, tag)
    assert verified("v4") == 1, "nobody is on the list"
    (repository / "packaging/allowed_signers").write_text(f'ann namespaces="git" {public}\n')
    assert [bool(verified(tag)) for tag in ("v1", "v2", "v3", "v4", "v5")] == [
        True,
        True,
        True,
        False,
        True,
    ]
