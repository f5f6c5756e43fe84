WORDS = {"French": "FR bonjour", "German": "Hallo"}


def call_api(prompt, options, context):
    language, _, text = prompt.partition(": ")
    return {"output": f"{WORDS.get(language, '?')} {text} {context['vars'].get('extra')}"}
