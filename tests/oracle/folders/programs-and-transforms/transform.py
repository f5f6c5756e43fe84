def get_transform(output, context):
    return f"[{output}] {context['vars']['x']}"


def count(output, context):
    return str(len(output))
