def call_api(prompt, options, context):
    return {"output": {"said": prompt} if "many" in prompt else prompt}
