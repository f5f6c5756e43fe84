def call_api(prompt, options, context):
    label = context["prompt"]["label"] if isinstance(context, dict) and "prompt" in context else ""
    if "nonsense" in prompt:
        return {"output": "I choose number 17"}
    return {"output": "The best one is 1."}
