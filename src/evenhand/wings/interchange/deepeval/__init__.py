"""DeepEval: goldens, and the results of test runs."""
