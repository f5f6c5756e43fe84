import json
import re


def call_api(prompt, options, context):
    label = (context.get("prompt") or {}).get("label")
    if "OWN" in prompt:
        return {"output": json.dumps({"pass": "whales" in prompt, "score": 1, "reason": "own"})}
    if label == "factuality":
        return {"output": "(B) all of it and more"}
    if label == "model-graded-closedqa":
        return {"output": "It is.\nY"}
    if label == "g-eval-steps":
        return {"output": '{"steps": ["read", "think"]}'}
    if label == "g-eval":
        return {"output": '{"score": 6, "reason": "fairly clear"}'}
    if "sharks" in prompt:
        return {"output": json.dumps({"pass": False, "score": 0.1, "reason": "no sharks"})}
    number = re.search(r"is (0\.\d) good", prompt)
    if number:
        return {"output": {"pass": True, "score": float(number[1]), "reason": "so so"}}
    return {
        "output": "```json\n" + json.dumps({"reason": "ok", "score": 0.9, "pass": True}) + "\n```"
    }
