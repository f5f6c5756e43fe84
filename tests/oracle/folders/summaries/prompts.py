def basic_summarize(context: dict) -> str:
    article = context["vars"]["article"]
    return f"Summarize {article}"


def better_summarize(context: dict) -> str:
    return f"""Summarize this article:
<article>
{context["vars"]["article"]}
</article>
"""
