def call_api(prompt, options, context):
    return {"output": f"model: {prompt}", "cost": 0.25}
