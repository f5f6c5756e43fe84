# The one vocabulary. `just` alone lists it; `just check` before every commit; `just all` is what CI runs.

bin := justfile_directory() / ".venv/bin"
pin := "uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -q"
export PATH := bin + ":" + env("PATH")
export PYTHONDONTWRITEBYTECODE := "" # tests start many processes: each would compile every module anew

_default:
    @just --list --unsorted

# Make or refresh .venv from the hashed pins
setup:
    requirements/install

# Format, lint, prose, types, floors and the unit tests of what was changed, side by side: no network
[parallel]
check: format lint prose types floors changed

# Everything that .ci/run runs
all: installed whole rest

[parallel]
[private]
whole: format lint prose floors unit

# While those tests wait for processes, disks and servers, a core is free for the types
[parallel]
[private]
rest: types lanes

# Does every installed package have what it requires? The pins are installed without looking
installed:
    pip check

# Mend what can be mended by itself
fix *paths=".":
    ruff check -q --fix-only {{ paths }}
    ruff format -q {{ paths }}

# Is everything formatted?
format:
    ruff format --check -q .

# Is everything as we write it?
lint:
    ruff check -q .

# Are the pages spelt right, in plain words and short sentences?
prose:
    typos README.md CHANGELOG.md CONTRIBUTING.md docs src packaging page/src
    pytest -q tests/docs/test_words.py

# Do the types hold?
types:
    basedpyright --pythonpath {{ bin }}/python

# Does every room import only from the floors below?
floors:
    lint-imports --no-logo

# The unit tests of what was changed since the last commit
changed:
    python tests/changed.py

# The tests that mirror src/
unit:
    pytest -n logical -m "not thorough" tests/unit

# Every other test: property, contract, oracle, docs, end to end, faults; a file's tests in one process
lanes:
    pytest -n auto --dist loadfile --no-loadscope-reorder -m "not thorough" tests --ignore tests/unit

# Every test, also those that CI leaves out, with more kills and damages, on a disk: each night, and before a release
thorough:
    KILLS=6 DAMAGES=50 TMPDIR=${TMPDIR:-/tmp} pytest -n auto --dist loadfile --no-loadscope-reorder tests

# Some tests, with pytest's own options: `just test tests/unit/store -k journal`
test *args="tests":
    pytest {{ args }}

# Build the viewer's page, and what is copied from npm, into the package; wants Node
page:
    cd page && npm ci --ignore-scripts --no-fund --no-audit && npm run types
    python packaging/build_backend.py

# Test the newest releases of agent frameworks, each in an environment of its own, and write the matrix; wants a network
frameworks *args:
    python tests/frameworks/newest.py {{ args }}

# Write the list prices that are built in anew, of the newest genai-prices; wants a network
prices:
    uv pip install -q -U genai-prices
    python packaging/list_prices.py

# Build the documentation site into site/
docs:
    python packaging/docs_site

# Make anew what is made of the code: tables of docs, and the page's types
formats:
    python packaging/docs_site/formats.py
    python packaging/docs_site/page_types.py
    python tests/docs/promptfoo_tables.py
    python tests/docs/run_file_tables.py

# Take the pictures of the viewer that the docs show; wants Chromium
pictures:
    python bench/pictures.py

# How fast the viewer is with very many rows; wants Chromium
bench-viewer *args:
    python bench/viewer.py {{ args }}

# Which branches no unit test takes
coverage:
    coverage erase
    pytest tests --ignore tests/faults --ignore tests/e2e --cov --cov-report=term-missing:skip-covered

# Start-up, time per trial and memory, beside a bare HTTP client
bench *args:
    python bench/run.py {{ args }}

# How much of what vendors allow a run uses, in virtual time
bench-pace *args:
    python bench/pace.py {{ args }}

# Pin what development and tests install, with hashes and without addresses; wheels only, since nothing pins what a build needs
pins *args:
    {{ pin }} {{ args }} --only-binary :all: -o requirements/dev.txt pyproject.toml requirements/dev.in
    {{ pin }} {{ args }} -o requirements/runtime.txt pyproject.toml -c requirements/dev.txt
    {{ pin }} --resolution lowest-direct -o requirements/lowest.txt pyproject.toml
