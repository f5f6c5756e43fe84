import json


def call_api(prompt, options, context):
    good = "OUT=cat" in prompt
    reply = json.dumps({"pass": good, "score": 0.8 if good else 0.1, "reason": "because"})
    return {"output": f"Sure:\n```json\n{reply}\n```"}


def call_embedding_api(prompt, options, context=None):
    return {"embedding": [float(prompt.count(c)) for c in "abcdefghijklmnopqrstuvwxyz"]}


def call_classification_api(prompt, options, context=None):
    short = 0.9 if len(prompt) < 4 else 0.2
    return {"classification": {"short": short, "long": 1 - short}}
