def call_api(prompt, options, context):
    return {"output": {"text": prompt, "label": options["config"].get("none", "x")}}
