def make(context):
    return [{'role': 'user', 'content': 'py ' + context['vars']['x']}]
