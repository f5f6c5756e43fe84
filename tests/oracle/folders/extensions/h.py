def beforeAll(context, info):
    assert info == {"hookName": "beforeAll"}
    context["suite"]["tests"].append({"vars": {"q": "appended"}})
    return context


def beforeEach(context, info):
    context["test"]["vars"]["added"] = "ADDED"
    if context["test"]["vars"]["q"] == "three":
        context["test"]["assert"] = [{"type": "contains", "value": "zzz"}]
    return context


def afterEach(context, info):
    result = context["result"]
    return {
        "test": context["test"],
        "result": {"namedScores": {"extra": 0.5}, "metadata": result["metadata"]},
    }


def afterAll(context, info):
    assert len(context["results"]) == 4


def any(hook, context):
    assert hook in ("beforeAll", "beforeEach", "afterEach", "afterAll")
