from helper import number
def get_assert(output, context):
    n = number(output)
    return {"pass": n > 10, "score": min(1, n / 50), "reason": f"n={n}", "namedScores": {"size": n / 100, "digits": len(str(n))},
      "componentResults": [{"pass": True, "score": 1, "reason": "a number", "namedScores": {"inner": .5}}, {"pass": n > 10, "score": n / 50, "reason": "big"}]}
def has_number(output, context):
    return number(output) == context["config"]["want"]
def score_only(output, context):
    return 0.5
def tuple_like(output, context):
    return {"pass": False, "score": 0.3, "reason": "half", "named_scores": {"snake": 0.7}}
async def string_true(output, context):
    return "true"
