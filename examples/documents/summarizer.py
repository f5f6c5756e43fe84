"""The application that is evaluated: it summarises a document for a web page, in HTML."""

REFUSAL = "Unable to generate summary"

INSTRUCTIONS = f"""You summarise documents for a web page.

Write one or two short paragraphs of HTML: <p> for paragraphs, <strong> for the one number that matters most.
Say what was decided, for whom, and from when. Leave out how it was argued.
If there is too little text to summarise, answer with exactly: {REFUSAL}

Document:
"""


async def summarise(model, document: str) -> str:
    """The summary of a document."""
    reply = await model.generate(INSTRUCTIONS + document)
    return reply.text.strip()
