def basic(context):
    return f"Classify: {context['vars']['complaint']}"


def with_examples(context):
    complaint = context["vars"]["complaint"]
    return f"Examples come first.\n<complaint>{complaint}</complaint>\nThink, then answer in <categories>."
