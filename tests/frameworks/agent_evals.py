"""An agent of some framework in an eval set: the environment says which, how to call it, and for how many orders."""

import importlib
import inspect
import os
import sys
from pathlib import Path

from evenhand import Case, EvalSet, Expect
from evenhand.scorers import CallsTool, Contains

sys.path.insert(0, str(Path(__file__).parent / "agents"))
AGENT = importlib.import_module(f"with_{os.environ['AGENT']}")
ask = getattr(AGENT, os.environ.get("AGENT_CALL", "answer"))
orders = range(1, int(os.environ.get("AGENT_ORDERS", "3")) + 1)
evals = EvalSet(
    "agent",
    data=[{"id": f"order {n}", "input": f"Where is order {n}?", "number": n} for n in orders],
)

if inspect.iscoroutinefunction(ask):

    @evals.eval
    async def answers(case: Case, expect: Expect) -> str:
        """Awaits the agent."""
        text = await ask(case.input)
        checks(case, expect, text)
        return text

else:

    @evals.eval
    def answers(case: Case, expect: Expect) -> str:
        """Calls the agent."""
        text = ask(case.input)
        checks(case, expect, text)
        return text


def checks(case: Case, expect: Expect, text: str) -> None:
    """The answer says where the order is, and the agent has looked it up."""
    expect(text, Contains("delivered"))
    if tool := os.environ.get("AGENT_TOOL"):
        expect(text, CallsTool(tool, {"order": case.vars["number"]}))
