def call_api(prompt, options, context):
    c = options.get("config") or {}
    return {"output": "P%s:%s" % (c.get("m", ""), prompt), "tokenUsage": {"total": 3, "prompt": 1, "completion": 2}, "cost": 0.001, "metadata": {"k": 1}}
