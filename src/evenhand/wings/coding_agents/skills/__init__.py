"""Skills for agents, put to the test: their evals with the skill and without it, and what difference it makes."""
