def get_var(name, prompt, others):
    return {"output": f"{name} {others['seen']} {others['text']}"}
