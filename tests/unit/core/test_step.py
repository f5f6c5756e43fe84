"""Steps: how deep they are within others."""

from evenhand.core.step import Step, depth


def test_the_depth_of_a_step_counts_those_that_it_is_within():
    """None at the top, and one more for each that a step is part of."""
    steps = [
        Step("agent", "shop"),
        Step("agent", "stock", parent=0),
        Step("tool", "count", parent=1),
        Step("message", "assistant"),
    ]
    assert [depth(steps, place) for place in range(4)] == [0, 1, 2, 0]
