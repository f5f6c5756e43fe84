def call_api(prompt, options, context):
    c=options.get("config") or {}
    return {"output": "FROM-P " + str(c.get("mark","")) + " " + prompt}
