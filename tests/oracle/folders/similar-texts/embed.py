def call_embedding_api(text, options=None, context=None):
    return {"embedding": [text.count(letter) / max(1, len(text)) for letter in "abz"]}


def call_api(prompt, options, context):
    return {"output": "unused"}
