from typing import Any


class Checker:
    @staticmethod
    def check(output, context):
        return 0.3


def get_assert(output: str, context) -> dict[str, Any]:
    print("looking at", output)
    return {
        "pass": output == "nothing",
        "score": 1.0 if output == "nothing" else 0,
        "reason": "as it is",
    }


def graded(output, context):
    words = context["config"]["words"]
    hits = [word in output for word in words]
    return {
        "pass_": all(hits),
        "score": sum(hits) / len(hits),
        "reason": "words",
        "named_scores": {word: float(hit) for word, hit in zip(words, hits)},
    }


async def later(output, context):
    return True


def wanted(output, context):
    return "noth"
