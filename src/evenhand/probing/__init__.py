"""Attacks on judges: a run in, and a plan out that asks its judges about answers whose verdicts are known."""
