"""Questions about answers that were made from retrieved passages: what they claim, and what stands behind it.

How this works: a judge is asked for itemised verdicts only (which sentence claims what, which passage says so in which
words), each with the id of what it is about. Every number is counted here. What several metrics need is asked once in a
trial: see `analysis`.
"""
