def answer(prompt, options, context):
    if "leave" in prompt:
        return {"output": "You have 25 days."}
    if "assword" in prompt:
        return {"output": "In Settings."}
    return {"output": "Soup today"}


def grade(prompt, options, context):
    label = context["prompt"]["label"]
    if label == "context-recall":
        return {"output": "One. [Attributed]\nTwo. [Not Attributed]"}
    if label == "context-relevance":
        return {"output": "Employees have 25 days of leave."}
    if label == "context-faithfulness-longform":
        return {"output": "You have leave.\nIt is 25 days."}
    if label == "context-faithfulness-nli":
        return {"output": "Final verdict for each statement in order: Yes. No."}
    return {"output": "How many days of leave?"}


def call_embedding_api(text, options=None, context=None):
    return {"embedding": [1.0, len(text) / 1000]}
