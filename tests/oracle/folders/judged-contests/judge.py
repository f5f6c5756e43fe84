def call_api(prompt, options, context):
    if "OWN" in prompt:
        assert prompt == "OWN own prompt owls [0 owls][1 owls]", prompt
        return {"output": "Number 1, of 2"}
    return {"output": "4"}
