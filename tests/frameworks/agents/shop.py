"""The one tool that each agent has, and what it is told."""

import os

RULES = "You answer for a shop. Look orders up."


def find_order(order: int) -> str:
    """Says where an order is.

    Args:
        order: Its number.
    """
    if os.environ.get("AGENT_FAILS"):
        raise ValueError(f"parcel {order} was delivered to nobody")
    return f"parcel {order} was delivered on 3 May"
