"""What the wing `interchange` brings."""

from __future__ import annotations

from evenhand.core.wing import Importer, Wing

WING = Wing(
    name="interchange",
    summary="Other tools' results, datasets and checks, read and written.",
    importers={
        "promptfoo": Importer("evenhand.wings.interchange.promptfoo_results:read", "results.json"),
        "openai-evals": Importer(
            "evenhand.wings.interchange.openai_evals.runs:read", "openai-evals.jsonl"
        ),
        "inspect": Importer("evenhand.wings.interchange.inspect_logs.runs:read", "logs/*.eval"),
        "pydantic-evals": Importer(
            "evenhand.wings.interchange.pydantic_evals.reading:read", "dataset.yaml"
        ),
        "deepeval": Importer("evenhand.wings.interchange.deepeval:read", "goldens.json"),
        "ragas": Importer("evenhand.wings.interchange.ragas:read", "dataset.jsonl"),
        "langfuse": Importer("evenhand.wings.interchange.langfuse:read", "items.json"),
        "langsmith": Importer("evenhand.wings.interchange.langsmith:read", "examples.jsonl"),
        "braintrust": Importer("evenhand.wings.interchange.braintrust:read", "dataset.jsonl"),
        "phoenix": Importer("evenhand.wings.interchange.phoenix:read", "dataset.csv"),
        "lm-eval": Importer("evenhand.wings.interchange.lm_eval.reading:read", "DIR/MODEL/*.json*"),
    },
    folders={
        "openai-evals": "evenhand.wings.interchange.openai_evals.folder:move_in",
        "pydantic-evals": "evenhand.wings.interchange.pydantic_evals.folder:move_in",
        "inspect": "evenhand.wings.interchange.inspect_logs.folder:move_in",
        "lm-eval": "evenhand.wings.interchange.lm_eval.folder:move_in",
    },
    datasets={"pydantic-evals": "evenhand.wings.interchange.pydantic_evals.reading:document_of"},
)
