def call_api(prompt, options, context):
    if prompt == "last x":
        return {"error": "the model is down"}
    return {"output": prompt}
