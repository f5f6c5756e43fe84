def call_api(prompt, options, context):
    config = options.get("config", {})
    return {
        "output": f"{len(prompt)} {prompt[:40]} {config['max_tokens']}",
        "cost": 0.01,
        "tokenUsage": {"total": 2, "prompt": 1, "completion": 1},
    }
