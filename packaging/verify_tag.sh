#!/usr/bin/env bash
# Fails unless a tag of this checkout is signed by somebody whom packaging/allowed_signers names.
#
#   packaging/verify_tag.sh v0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -s packaging/allowed_signers ]; then
    echo "packaging/allowed_signers names nobody: docs/releasing.md says what a line of it holds" >&2
    exit 1
fi
git -c gpg.ssh.allowedSignersFile=packaging/allowed_signers verify-tag "$1"
