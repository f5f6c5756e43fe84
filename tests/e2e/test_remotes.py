"""Runs in a bucket, in PostgreSQL and in a folder: pushed through a kill, read by commands, queried by SQL."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from click.testing import CliRunner
from tests.e2e.s3 import Bucket, bucket
from tests.runs import (
    SUMMARIES,
    Make,
    summaries,
)

from evenhand.cli.verbs import evenhand
from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.core.secrets import known
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.remarks import remark
from evenhand.store.runfile import RunFile
from evenhand.wings.remotes import database
from evenhand.wings.remotes.address import Address
from evenhand.wings.remotes.commands.remote_runs import fetch
from evenhand.wings.remotes.opening import remote_at
from evenhand.wings.remotes.pushing import push

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


def said(*words: str) -> str:
    """What a command prints to stdout; it exits with 0."""
    done = CliRunner().invoke(evenhand, words, standalone_mode=False)
    if isinstance(done.exception, EvenhandError):
        raise done.exception
    assert done.exception is None, done.exception
    return done.stdout


def shown(*words: str) -> dict[str, Any]:
    """The document that a command prints, without where its file is."""
    document = json.loads(said(*words))
    del document["run"]["file"]
    return document


def read_by_commands(remote: str, run: str, document: dict[str, Any]) -> None:
    """A run there is shown, exported, compared and listed as it is here."""
    assert shown("show", f"{remote}#{run[:10]}", "--json") == document
    assert shown("show", remote, "--json") == document
    assert shown("export", f"{remote}#latest", "--to", "-", "--format", "json") == document
    sides = (f"{remote}#{run}:better", f"{remote}#{run}:best")
    assert json.loads(said("compare", *sides, "--json"))["schema"] == "evenhand.compare/1"
    assert run in said("runs", "history", remote, "--json")


def labels_follow(remote: str, run: RunFile) -> None:
    """What is said of a run after a push is there after the next one; nothing of the run itself changes."""
    append_labels(run.path, [NewLabel(0, "note", "said later")])
    pushed = json.loads(said("runs", "push", str(run.path), "--to", remote, "--json"))["runs"][0]
    assert (pushed["new"], pushed["labelled"]) == (False, True)
    with remote_at(Address.of(remote)) as there:
        with RunFile.open(fetch(there, run.meta.id, Path("cache"))) as read:
            assert [label.value for label in read.labels()] == ["said later"]
        assert not push(run.path, there).labelled


def killed(held: Bucket, run: str, to: str) -> None:
    """Pushes a run, and kills that once the bucket is stuck."""
    with subprocess.Popen([*COMMAND, "push", run, "--to", to]) as process:
        try:
            assert held.stuck.wait(50)
        finally:
            process.kill()


async def test_a_push_to_a_bucket_that_is_killed_shows_nothing_and_is_gone_on_with(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """The piece that was on its way has arrived: it is not sent again. The manifest is refused where there is one."""
    run = await make_run(summaries(), SUMMARIES)
    monkeypatch.chdir(tmp_path)
    with bucket() as held:
        for name, value in held.env().items():
            monkeypatch.setenv(name, value)
        held.stuck_at = "trials-"
        killed(held, str(run.path), "s3://team/evals")
        with pytest.raises(EvenhandError, match="has no runs"):
            said("show", "s3://team/evals")
        document = shown("show", str(run.path), "--json")
        with remote_at(Address.of("s3://team/evals")) as remote:
            assert push(run.path, remote).new
            assert len(held.put) == len(set(held.put)) == 4
            assert held.put[-1] == f"evals/runs/{run.meta.id}.json"
            manifest = held.objects[held.put[-1]]
            assert not push(run.path, remote).new
            # Somebody else was faster: theirs stays.
            monkeypatch.setattr(remote, "manifest", lambda _: None)
            assert not push(run.path, remote).new
        assert held.objects[held.put[-1]] == manifest
        assert b"scripted-secret" not in b"".join(held.objects.values())
        read_by_commands("s3://team/evals", run.meta.id, document)
        labels_follow("s3://team/evals", run)


@pytest.mark.parametrize("code", ["NoSuchBucket", "AccessDenied", "InvalidAccessKeyId"])
async def test_what_a_bucket_refuses_is_said_in_its_words_without_the_request(
    code: str,
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """A push and a look at it alike; no address of the request, no XML."""
    run = await make_run(summaries(), SUMMARIES)
    monkeypatch.chdir(tmp_path)
    with bucket() as held:
        for name, value in held.env().items():
            monkeypatch.setenv(name, value)
        held.refusal = code
        whole = f"s3://team/evals#{run.meta.id}"
        for words in (("push", str(run.path), "--to", "s3://team/evals"), ("show", whole)):
            with pytest.raises(StoreError) as caught:
                said(*words)
            assert caught.value.message == f"s3://team/evals: {code}: It says {code}"
        # A server that repeats the key.
        known.learn_environment(held.env())
        held.refusal = held.env()["AWS_SECRET_ACCESS_KEY"]
        with pytest.raises(StoreError) as caught:
            said("show", whole)
        assert held.refusal not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("AWS_ENDPOINT_URL", "", "is empty, or isn't the address of a server"),
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000", "isn't the address of a server"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:99999", "isn't the address of a server"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000 ", "isn't the address of a server"),
        ("AWS_ACCESS_KEY_ID", "scripted\n", "has a line break"),
        ("AWS_SECRET_ACCESS_KEY", "scripted\n", "has a line break"),
        ("AWS_REGION", "eu-central-1\r\n", "has a line break"),
        ("AWS_SESSION_TOKEN", "a\tb", "or another invisible character"),
    ],
)
def test_a_setting_that_no_request_can_hold_is_named(
    name: str, value: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The library panics at them: a secret of CI that ends with a line break, an address without https."""
    monkeypatch.chdir(tmp_path)
    with bucket() as held:
        for each, own in {**held.env(), name: value}.items():
            monkeypatch.setenv(each, own)
        with pytest.raises(UsageError, match=f"{name} .*{message}"):
            said("show", "s3://team/evals")


def test_a_panic_of_what_reaches_a_bucket_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A panic of Rust is no Exception."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "nonsense")
    with pytest.raises(StoreError, match="s3://team/evals: obstore broke down: "):
        said("show", "s3://team/evals")


@pytest.mark.parametrize(
    "words", [("calibrate",), ("label", "--draw", "3"), ("runs", "tag", "x"), ("resume",)]
)
def test_what_takes_no_run_of_a_remote_says_so_and_repeats_no_password(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It needs a run of this machine."""
    monkeypatch.chdir(tmp_path)
    command, *options = words
    run = "postgresql://ana:unheard-of@db.example/evals#latest"
    where = (
        [command, *options[:1], run, *options[1:]]
        if command == "runs"
        else [command, run, *options]
    )
    with pytest.raises(UsageError, match=r"a run of a remote \(postgresql://…\) can be read") as no:
        said(*where)
    assert "unheard-of" not in str(no.value)


async def test_a_server_that_is_named_without_tls_needs_no_further_setting(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Who writes http:// means it; AWS_ALLOW_HTTP=false refuses it all the same."""
    run = await make_run(summaries(), SUMMARIES)
    monkeypatch.chdir(tmp_path)
    with bucket() as held:
        for name, value in held.env().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_ALLOW_HTTP")
        assert json.loads(said("push", str(run.path), "--to", "s3://team/evals", "--json"))
        monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
        with pytest.raises(StoreError):
            said("show", "s3://team/evals")


def test_a_machine_without_keys_for_a_bucket_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where there is no role, either."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with bucket() as held:  # in place of the vendor's own address, which has no such role
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", held.url)
        held.refusal = "NoSuchRole"
        with pytest.raises(StoreError, match="no keys in the environment, and this machine has no"):
            said("show", "s3://team/evals")


async def test_a_push_to_postgresql_that_dies_shows_nothing_and_is_gone_on_with(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgresql: str,
):
    """Rows and manifest are one transaction; and the address is shown without its password."""
    run = await make_run(summaries(), SUMMARIES)
    monkeypatch.chdir(tmp_path)
    name = f"postgresql://postgres@/postgres?host={postgresql}"
    secret = name.replace("postgres@", "postgres:unheard-of@")
    rows_of = database.rows_of

    def dies(*arguments: object) -> object:
        yield next(iter(rows_of(*arguments)))
        raise KeyboardInterrupt

    with psycopg.connect(name, autocommit=True) as db:
        monkeypatch.setattr(database, "rows_of", dies)
        with remote_at(Address.of(secret)) as remote, pytest.raises(KeyboardInterrupt):
            push(run.path, remote)
        monkeypatch.setattr(database, "rows_of", rows_of)
        for table, many in (("runs", 0), ("trials", 0), ("outcomes", 0), ("parts", 1)):
            assert db.execute(f"select count(*) from evenhand.{table}").fetchone() == (many,)
        pushed = json.loads(said("runs", "push", str(run.path), "--to", secret, "--json"))
        assert pushed["runs"][0]["new"]
        assert "unheard-of" not in json.dumps(pushed)
        rates = db.execute(
            "select prompt, avg(passed::int)::float from evenhand.trials where run = %s group by 1 order by 1",
            (run.meta.id,),
        )
        assert rates.fetchall() == [
            ("prompts.py:basic", 0.0),
            ("prompts.py:best", 1.0),
            ("prompts.py:better", 0.875),
        ]
        (stored,) = db.execute("select manifest from evenhand.runs").fetchone() or ()
        assert b"unheard-of" not in bytes(stored)
    read_by_commands(secret, run.meta.id, shown("show", str(run.path), "--json"))
    labels_follow(secret, run)


async def test_a_database_that_cannot_hold_all_texts_is_refused_and_one_of_bytes_is_read(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgresql: str,
):
    """Before anything is written. A database without an encoding answers as one in UTF-8 does."""
    run = await make_run(summaries(), SUMMARIES)
    remark(run.path, {"title": "Ω half \ud800 \0"})
    monkeypatch.chdir(tmp_path)
    at = f"postgresql://postgres@/%s?host={postgresql}"
    with psycopg.connect(at % "postgres", autocommit=True) as db:
        for name in ("latin1", "sql_ascii"):
            db.execute(f"drop database if exists {name}")
            db.execute(
                f"create database {name} encoding '{name}' template template0 lc_collate 'C' lc_ctype 'C'"
            )
    with pytest.raises(UsageError, match="keeps its texts in LATIN1, which lacks characters"):
        said("push", str(run.path), "--to", at % "latin1")
    with psycopg.connect(at % "latin1") as db:
        assert db.execute("select to_regclass('evenhand.runs')").fetchone() == (None,)
    assert json.loads(said("push", str(run.path), "--to", at % "sql_ascii", "--json"))["runs"]
    document = shown("show", str(run.path), "--json")
    assert shown("show", f"{at % 'sql_ascii'}#{run.meta.id}", "--json") == document
    with psycopg.connect(at % "sql_ascii", client_encoding="UTF8") as db:
        assert db.execute("select title from evenhand.runs").fetchone() == ("Ω half \ufffd \ufffd",)


RECIPE = Path(__file__).parents[2] / "docs" / "sharing-runs.md"


def recipe(place: str) -> Sequence[str]:
    """The queries of the docs, for this place."""
    text = RECIPE.read_text("utf-8").partition("```sql\n")[2].partition("```")[0]
    return [
        query for query in text.replace("s3://team-runs/evals", place).split(";") if query.strip()
    ]


async def test_duckdb_reads_what_was_pushed_to_a_folder_and_nothing_else(
    make_run: Make,
    tmp_path: Path,
):
    """As the docs say it: the parts that manifests name. What a dead push left is not counted."""
    run = await make_run(summaries(), SUMMARIES)
    place = tmp_path / "team"
    with remote_at(Address.of(str(place))) as remote:
        push(run.path, remote)
    (trials,) = place.glob("parts/*/trials-*")
    (trials.parent / "trials-0.parquet").write_bytes(trials.read_bytes())
    with duckdb.connect() as db:
        for query in recipe(str(place)):
            answer = db.execute(query)
        assert answer.fetchall() == [
            ("Science", "prompts.py:basic", 8, 0.0),
            ("Science", "prompts.py:best", 8, 1.0),
            ("Science", "prompts.py:better", 8, 0.875),
        ]
    assert [path.stem for path in (place / "runs").iterdir()] == [run.meta.id]
