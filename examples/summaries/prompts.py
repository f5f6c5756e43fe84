"""Three ways to ask for a summary. Each parameter is a test variable: `article` is the text of the file."""


def basic(article):
    return f"Summarise this article.\n\n{article}"


def better(article):
    return f"Summarise this article for a class of ten-year-olds.\n\n{article}"


def best(article):
    return f"""You explain science to ten-year-olds. Summarise the article below for them.

Use three short sentences. Use no technical term without saying in everyday words what it means. Where it helps,
compare with something that children know. Say nothing that the article does not say.

<article>
{article}
</article>"""
