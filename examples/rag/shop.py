"""The application under test: it looks for pages by the words of a question, and answers with their first sentences."""

PAGES = {
    "returns": "Shoes can be sent back within 30 days of the day they arrive. Use the label in the box.",
    "costs": "A return parcel costs 4 euros. Sending goods to you is free above 50 euros.",
    "hours": "The shop is open from 9 to 18 o'clock. On Sundays it is closed.",
    "sizes": "Shoes come in sizes 36 to 47. Half sizes are made to order within two weeks.",
}


def search(question: str, k: int = 3) -> list[str]:
    """The names of the pages that share most words with the question, the best first."""
    asked = set(question.lower().strip("?").split())

    def shared(name: str) -> int:
        return len(asked & set(PAGES[name].lower().replace(".", "").split()))

    return sorted(PAGES, key=shared, reverse=True)[:k]


def answer(question: str) -> dict[str, object]:
    """The answer, with the pages that it was made from."""
    found = search(question)
    first = PAGES[found[0]].partition(". ")[0] + "."
    return {"answer": first, "context": [PAGES[name] for name in found], "retrieved": found}
