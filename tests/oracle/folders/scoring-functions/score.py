def func(named_scores, context):
    total = sum(named_scores.values())
    return {
        "pass": total >= context["threshold"],
        "score": total / 2,
        "reason": f"{sorted(named_scores)} {len(context['componentResults'])}",
        "namedScores": {**named_scores, "total": total},
    }


def strict(named_scores, context):
    parts = context["componentResults"]
    types = [part["assertion"]["type"] for part in parts if part.get("assertion")]
    return {
        "pass": all(part["pass"] for part in parts),
        "score": len(types) / 10,
        "reason": ",".join(types),
    }


def broken(named_scores, context):
    raise ValueError("no score today")


def number(named_scores, context):
    return 0.5
