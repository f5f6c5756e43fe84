def get_transform(output, context):
    return "T" + output
