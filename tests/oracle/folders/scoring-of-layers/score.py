def get_score(scores, context):
    return other(scores, context)
def func(scores, context):
    s = 0.7 * scores.get("a", 0) + 0.3 * scores.get("b", 0)
    t = context.get("threshold")
    return {"pass": s >= (0.5 if t is None else t), "score": s, "reason": f"weighted {s:.2f}"}
def other(scores, context):
    n = len(context["componentResults"])
    return {"pass": n == 2, "score": n / 10, "reason": "count", "namedScores": {"extra": 9}}
