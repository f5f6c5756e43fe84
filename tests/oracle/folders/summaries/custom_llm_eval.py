import json


def llm_eval(summary, article):
    return len(article) / 100, f"about {len(summary) > 3}"


def get_assert(output: str, context, threshold=0.2):
    article = context["vars"]["article"]
    score, evaluation = llm_eval(output, article)
    return {"pass": score >= threshold, "score": score, "reason": evaluation}
