"""OpenAI's hosted Evals as eval sets in Python: dataset, prompt, model, and a check for each grader."""
