def call_api(prompt, options, context):
    found = []
    if "slow" in prompt or "crash" in prompt:
        found.append("Software Bug")
    if "price" in prompt or "refund" in prompt:
        found.append("Billing")
    if "box" in prompt and "<complaint>" in prompt:
        found.append("Shipping")
    return {
        "output": f"<thinking>hm</thinking><categories>{', '.join(found) or 'None'}</categories>"
    }
