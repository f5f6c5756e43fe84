def call_api(prompt, options, context):
    config = options["config"]
    settings = [config[name] for name in ("set", "absent", "joined", "plain")]
    latency = {"slow": 9000, "fast": 12}.get(prompt.split("|")[0])
    answer = {"output": f"{prompt} {settings}"}
    return answer if latency is None else {**answer, "latencyMs": latency}
