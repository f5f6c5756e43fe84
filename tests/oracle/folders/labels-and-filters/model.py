def loud(prompt, options, context):
    return {"output": prompt.upper(), "tokenUsage": {"total": 3, "prompt": 1, "completion": 2}}


def quiet(prompt, options, context):
    return prompt.lower() if False else {"output": prompt.lower()}
