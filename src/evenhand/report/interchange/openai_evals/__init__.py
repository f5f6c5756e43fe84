"""OpenAI's hosted Evals: what its API and its dashboard give, as definitions and as runs."""
