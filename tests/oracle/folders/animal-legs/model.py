LEGS = {"human": 2, "snake": 0, "fox": 5, "bird": 3, "crab": 10}


def call_api(prompt, options, context):
    legs = next((n for name, n in LEGS.items() if name in prompt), "?")
    if "<answer>" in prompt:
        return {"output": f"<thinking>so</thinking>\n<answer> {legs} </answer>"}
    return {"output": f"It has {legs} legs" if legs == 5 else str(legs)}
