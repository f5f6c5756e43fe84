import json


def call_api(prompt, options, context):
    return {
        "output": json.dumps(
            {"reason": "fine", "pass": "article" in prompt or "Article" in prompt, "score": 0.8}
        )
    }
