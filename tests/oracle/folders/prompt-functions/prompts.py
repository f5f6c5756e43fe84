def chat(context):
    name = context["vars"]["name"]
    return [
        {"role": "system", "content": f"Model {context['provider']['id']}"},
        {"role": "user", "content": f"Hi {name}"},
    ]


def text(context):
    return "\n".join(
        [f"- {like}" for like in context["vars"].get("likes", [])] + [context["vars"]["name"]]
    )


async def configured(context):
    return {"prompt": f"configured {context['vars']['name']}", "config": {"temperature": 0.5}}
