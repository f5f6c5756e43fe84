def beforeAll(context, info):
    suite = context["suite"]
    suite["prompts"][0]["raw"] = "Please: " + suite["prompts"][0]["raw"]
    suite["prompts"].append({"raw": "more {{q}}", "label": "more"})
    suite["tests"] = [test for test in suite["tests"] if test["vars"]["q"] != "gone"]
    return context
