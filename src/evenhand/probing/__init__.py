"""Attacks on judges, and canaries: a run in, and a plan out that asks its judges about answers with known verdicts."""
