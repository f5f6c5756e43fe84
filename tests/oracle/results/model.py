"""A model that answers with an object, and is unwell when it hears of a boom."""


def call_api(prompt, options, context):
    """Answers."""
    if "boom" in prompt:
        return {"error": "it went boom"}
    return {
        "output": {"said": prompt},
        "tokenUsage": {"total": 10, "prompt": 4, "completion": 6},
        "cost": 0.01,
        "metadata": {"mood": "calm"},
        "finishReason": "stop",
    }
