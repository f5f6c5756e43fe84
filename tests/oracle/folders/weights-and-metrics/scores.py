def get_assert(output, context):
    return {
        "pass": True,
        "score": 0.9,
        "reason": "a story",
        "named_scores": {"tone": 1.0, "length": len(output) / 100},
        "component_results": [
            {"pass": True, "score": 0.4, "reason": "one"},
            {"pass": False, "score": 0.2, "reason": "two"},
        ],
    }
