def ask(context):
    return f"asked {context['vars']['q']}"
