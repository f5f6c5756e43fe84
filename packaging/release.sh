#!/usr/bin/env bash
# Builds a release into a folder, twice, and checks it: the version is the tag's, both builds are the same bytes, every
# part and licence is there, and the description is one that indexes show. Beside it lies an SBOM (CycloneDX).
#
#   packaging/release.sh dist            TAG=v0.2.0 also checks the tag: its version, and who signed it
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "$1" && cd "$1" && pwd)
again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
export EVENHAND_REQUIRE_PARTS=1
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/evenhand/core/version.py)
if [ -n "${TAG:-}" ] && [ "$TAG" != "v$version" ]; then
    echo "the tag is $TAG, and __version__ is $version" >&2
    exit 1
fi
[ -z "${TAG:-}" ] || packaging/verify_tag.sh "$TAG"
PYTHONPATH=packaging python -c "import build_backend; build_backend.build_parts()"
for folder in "$out" "$again"; do
    PYTHONPATH=packaging python -c "
import sys, build_backend
build_backend.build_sdist(sys.argv[1])
build_backend.build_wheel(sys.argv[1])" "$folder"
done
for file in "evenhand-$version.tar.gz" "evenhand-$version-py3-none-any.whl"; do
    cmp "$out/$file" "$again/$file"
done
python -m twine check --strict "$out"/evenhand-"$version"*
python packaging/sbom.py requirements/runtime.txt "$version" >"$out/evenhand-$version.cdx.json"
(cd "$out" && sha256sum evenhand-"$version"*)
