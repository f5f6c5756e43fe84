def get_transform(output, context):
    return output[::-1] + context['vars']['x']
