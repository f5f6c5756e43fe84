def made(context):
    return [{"role": "user", "content": str(context["vars"]["n"]), "weight": 1.0}]


def tests():
    value = "str(context['vars']['n']) == '4'"
    return [{"vars": {"n": 4.0, "obj": {}}, "assert": [{"type": "python", "value": value}]}]
