def before(hook, context):
    if hook == "beforeAll":
        context["suite"]["defaultTest"]["assert"].append({"type": "is-json"})
        context["suite"]["tests"].append({"vars": {"name": "Bo"}, "assert": [{"type": "contains", "value": "Bo"}]})
        return context
    return None
