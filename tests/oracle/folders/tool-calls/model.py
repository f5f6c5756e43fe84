import json


def call_api(prompt, options, context):
    if "weather" not in prompt:
        return {"output": "Hello!"}
    arguments = {"city": prompt.split()[-1]} if "in" in prompt.split() else {"days": 2}
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": json.dumps(arguments)},
    }
    return {"output": [call]}
