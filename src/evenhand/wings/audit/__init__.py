"""Mutation tests of eval suites: made answers, which must fail or pass, in place of the application's.

Which answers are made: `subjects` has texts, and `worlds` has agents.
"""
