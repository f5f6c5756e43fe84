def call_api(prompt, options, context):
    if prompt == "none":
        return {"output": ""}
    if prompt == "error":
        return {"error": "no answer"}
    return {
        "output": f"{prompt} {options['config']['style']} {options['config']['nested']['a']}",
        "logProbs": [-0.5, -0.7, -0.2],
        "finishReason": "stop",
        "cost": 0.002,
        "metadata": {"tokens": 3},
        "tokenUsage": {"total": 10, "prompt": 4, "completion": 6},
    }
