import json
def call_api(prompt, options, context):
    cfg = options.get("config", {})
    out = cfg.get("template", "You said: {p}").replace("{p}", prompt)
    if cfg.get("json"):
        out = {"echo": prompt, "len": len(prompt), "vars": sorted(k for k in context["vars"] if not k.startswith("__"))}
    return {"output": out, "tokenUsage": {"total": len(prompt), "prompt": len(prompt) // 2, "completion": len(prompt) - len(prompt) // 2}, "cost": 0.001, "metadata": {"model": cfg.get("name", "m")}}
