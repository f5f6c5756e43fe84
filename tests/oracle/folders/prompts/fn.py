def pc(context):
    return {"prompt": "PC " + context["vars"]["q"] + " " + str(sorted(context)), "config": {"x": 1}}
