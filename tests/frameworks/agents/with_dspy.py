"""DSPy's ReAct, whose model answers in fields."""

import dspy

import shop

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
dspy.configure(lm=dspy.LM("openai/gpt-5-mini", temperature=None, max_tokens=None))
agent = dspy.ReAct("question -> answer", tools=[shop.find_order], max_iters=3)


def answer(question: str) -> str:
    """The agent's answer."""
    return agent(question=question).answer
