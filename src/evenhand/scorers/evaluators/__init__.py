"""Other libraries' evaluators as scorers: an object of theirs goes in, a score of ours comes out.

Each library is imported when its evaluator is asked. What an evaluator asks of a model through a recording client
(`evenhand.recording`) is recorded as a judge's: journaled, budgeted and replayed like all else.
"""
