"""What acme's evals add to Evenhand."""

from evenhand.wings import Command, Exporter, Importer, Wing

WING = Wing(
    name="acme",
    summary="Acme's exports, the longest outputs of a run, and a smoke test.",
    commands={
        "longest": Command(
            "acme_evals.longest:longest",
            "List the longest outputs of a run.",
            ("evenhand longest latest", "evenhand longest 01M7YPHZRR --json"),
        ),
        "smoke": Command(
            "acme_evals.smoke:smoke",
            "Ask a model what none gets wrong.",
            ("evenhand smoke echo", "evenhand smoke openai:gpt-5-mini --max-cost 0.1"),
        ),
    },
    importers={"acme": Importer("acme_evals.reading:read", "examples.jsonl")},
    exporters={"tsv": Exporter("acme_evals.tsv:write", ("tsv",))},
    studies={"acme_smoke": "acme_evals.smoke:study"},
    documents={"acme.longest/1": "acme_evals.longest:Longest"},
    settings={"acme": "acme_evals.longest:Settings"},
)
