"""Tasks of the LM Evaluation Harness, written out as eval sets."""
