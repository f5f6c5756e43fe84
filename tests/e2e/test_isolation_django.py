"""What trials do to Django's databases is undone: real files, the real command line, SQLite and PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

SETTINGS = """
import json, os

SECRET_KEY = "of a test"
DATABASES = {"default": json.loads(os.environ["DATABASE"])}
INSTALLED_APPS = ["notes"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
"""

MODELS = """
from django.db import models

class Note(models.Model):
    text = models.CharField(max_length=40, unique=True)
"""

SETUP = """
import os, sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django

django.setup()
"""

BEFORE = """
import setup
from django.db import connection
from notes.models import Note

with connection.schema_editor() as editor:
    editor.create_model(Note)
Note.objects.create(text="first")
"""

AFTER = """
import setup, json
from django.db import connection
from notes.models import Note

print(json.dumps(list(Note.objects.values_list("text", flat=True))))
with connection.schema_editor() as editor:
    editor.delete_model(Note)
"""

EVALS = """
import asyncio

from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction
from notes.models import Note

from evenhand import EvalSet
from evenhand.doors.isolation import django_rolled_back

DATA = [{"id": str(i)} for i in range(20)]
plain = EvalSet("plain", data=DATA)
waiting = EvalSet("async", data=DATA)
trouble = EvalSet("trouble")
hooks = []


@plain.fixture
@trouble.fixture
def database():
    with django_rolled_back():
        yield


@waiting.fixture
async def database():
    async with django_rolled_back("default"):
        yield


@plain.fixture
@waiting.fixture
def plain_note(database, case):
    return Note.objects.create(text=f"plain {case.id}")


@plain.fixture
@waiting.fixture
async def async_note(database, case):
    return await Note.objects.acreate(text=f"async {case.id}")


def work(case, expect):
    Note.objects.create(text="the same for all")
    with transaction.atomic(durable=True):
        Note.objects.filter(text="first").delete()
        transaction.on_commit(lambda: hooks.append(case.id))
    try:
        with transaction.atomic():
            Note.objects.create(text="the same for all")
    except IntegrityError:
        pass
    texts = sorted(Note.objects.values_list("text", flat=True))
    expected = [f"async {case.id}", f"plain {case.id}", "the same for all"]
    expect(texts == expected, "is alone", texts=texts)
    expect(hooks == [], "no hook was run")


@plain.eval
@waiting.eval
def in_a_plain_eval(database, plain_note, async_note, case, expect):
    work(case, expect)


@plain.eval
@waiting.eval
async def in_an_async_eval(database, plain_note, async_note, case, expect):
    await asyncio.sleep(0.002)
    await sync_to_async(work)(case, expect)
    expect(await Note.objects.acount() == 3, "counts asynchronously")


@trouble.eval
def raises(database, expect):
    Note.objects.create(text="before")
    raise LookupError("on purpose")


@trouble.eval
def in_broken_transaction(database, expect):
    Note.objects.create(text="first")


@trouble.eval
def twice(database):
    with django_rolled_back():
        raise AssertionError


@trouble.eval
async def by_the_wrong_door():
    with django_rolled_back():
        raise AssertionError


@trouble.eval
def elsewhere():
    with django_rolled_back("defualt"):
        raise AssertionError


@trouble.eval
def again_and_again(expect):
    for _ in range(2):
        with django_rolled_back():
            Note.objects.create(text="again")
            expect(Note.objects.count() == 2, "is there")
"""

LATE = """
import time

from notes.models import Note

from evenhand import EvalSet
from evenhand.doors.eval_sets import plan
from evenhand.doors.isolation import django_rolled_back

plan.LIMIT_S = 1.0
late = EvalSet("late")
tries = []


@late.fixture
def database():
    with django_rolled_back():
        yield


@late.eval
def is_late(database):
    Note.objects.create(text="in time")
    time.sleep(1.2)
    try:
        Note.objects.create(text="late")
    except BaseException as error:
        tries.append(str(error))


@late.eval
async def looks_on(expect):
    import asyncio

    while not tries:
        await asyncio.sleep(0.01)
    expect("not rolled back any more" in tries[0], "was told", tries=tries)
"""

BOTH = """
import time
from pathlib import Path

from notes.models import Note
from sqlalchemy import create_engine, text

from evenhand import EvalSet
from evenhand.doors.isolation import django_rolled_back, rolled_back

engine = create_engine(f"sqlite:///{Path(__file__).parent}/other.db")
cases = [{"id": str(i)} for i in range(6)]
forwards, backwards = EvalSet("forwards", data=cases), EvalSet("backwards", data=cases)


def database():
    with django_rolled_back():
        time.sleep(0.01)
        yield


def session():
    with rolled_back(engine) as session:
        time.sleep(0.01)
        yield session


for evals, fixtures in ((forwards, (database, session)), (backwards, (session, database))):
    for fixture in fixtures:
        evals.fixture(fixture)

    @evals.eval
    def plain(database, session, case, expect):
        Note.objects.create(text="the same for all")
        expect(session.scalar(text("SELECT 1")) == 1, "answers")

    @evals.eval
    async def asynchronous(session, database, case, expect):
        await Note.objects.acreate(text="the same for all")
        expect(session.scalar(text("SELECT 1")) == 1, "answers")
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A Django project with one app, one table and one row."""
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "app.db")}
    if request.param == "postgresql":
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "postgres",
            "HOST": request.getfixturevalue("postgresql"),
        }
    monkeypatch.setenv("DATABASE", json.dumps(database))
    evals = tmp_path / "evals"
    evals.mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "__init__.py").touch()
    (tmp_path / "notes" / "models.py").write_text(MODELS, "utf-8")
    (tmp_path / "settings.py").write_text(SETTINGS, "utf-8")
    (evals / "setup.py").write_text(SETUP, "utf-8")
    (evals / "before.py").write_text(BEFORE, "utf-8")
    (evals / "after.py").write_text(AFTER, "utf-8")
    do(tmp_path, sys.executable, "evals/before.py")
    return tmp_path


def do(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the project."""
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def ran(folder: Path, evals: str, concurrency: int = 24) -> dict[str, list[tuple[str, list[str]]]]:
    """What became of the trials of each eval: outcome, and the reasons of what did not pass."""
    (folder / "evals" / "app_evals.py").write_text(evals, "utf-8")
    done = do(folder, *COMMAND, "run", "--json", "--concurrency", str(concurrency))
    found: dict[str, list[tuple[str, list[str]]]] = {}
    assert done.stdout, done.stderr
    for trial in json.loads(done.stdout)["trials"]:
        reasons = [o["reason"] for o in trial["outcomes"] if o["outcome"] != "pass"]
        found.setdefault(trial["variant"]["prompt"], []).append((trial["outcome"], reasons))
    return found


def left(folder: Path) -> list[str]:
    """What is in the table for good; the table is dropped."""
    done = do(folder, sys.executable, "evals/after.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough(after=1)
def test_plain_and_async_functions_of_a_trial_share_its_connection(project: Path):
    """Fixtures and evals of both kinds in any mixture, side by side, each trial alone with what it writes."""
    found = ran(project, EVALS)
    assert left(project) == ["first"]
    trouble = {name: found.pop(name) for name in list(found) if name.startswith("trouble")}
    assert len(found) == 4
    for name, trials in found.items():
        assert trials == [("pass", [])] * 20, name
    said = {name.partition(": ")[2]: trials[0] for name, trials in trouble.items()}
    assert said["again_and_again"] == ("pass", [])
    said.pop("again_and_again")
    assert {outcome for outcome, _ in said.values()} == {"error"}
    assert "on purpose" in said["raises"][1][0]
    assert "IntegrityError" in said["in_broken_transaction"][1][0]
    assert "rolled back in this trial already" in said["twice"][1][0]
    assert "with `with` in an async function" in said["by_the_wrong_door"][1][0]
    assert "no database 'defualt'" in said["elsewhere"][1][0]


@pytest.mark.thorough(after=1)
def test_what_a_trial_does_too_late_is_refused(project: Path):
    """A thread that was left behind does not write by another connection, for good."""
    found = ran(project, LATE, concurrency=1)
    assert left(project) == ["first"]
    assert found["looks_on"] == [("pass", [])]


def test_a_django_that_is_not_set_up_is_told(tmp_path: Path):
    """And so is a database that is only in memory."""
    script = """
from evenhand.doors.isolation import django_rolled_back
try:
    django_rolled_back()
except Exception as error:
    print(type(error).__name__, error)
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
)
try:
    django_rolled_back()
except Exception as error:
    print(type(error).__name__, error)
"""
    done = do(tmp_path, sys.executable, "-c", script)
    first, second = done.stdout.split("UsageError ")[1:]
    assert "Django is not set up" in first
    assert "django.setup()" in first
    assert "in memory" in second


@pytest.mark.thorough(after=1)
def test_django_and_sqlalchemy_are_held_together(project: Path):
    """In any order, by plain and by async functions, also where two sets declare them in two orders."""
    found = ran(project, BOTH)
    assert left(project) == ["first"]
    assert len(found) == 4
    assert [trials for trials in found.values() if trials != [("pass", [])] * 6] == []
