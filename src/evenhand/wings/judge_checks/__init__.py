"""Attacks on judges, canaries and tryouts: plans that ask judges what is known already, and their reports."""
