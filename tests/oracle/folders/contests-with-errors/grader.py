def get_assert(output, context):
    return {"pass": "longer" in output, "score": 0.75, "reason": "so"}
