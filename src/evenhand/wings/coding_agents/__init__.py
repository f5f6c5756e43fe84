"""A front door for coding agents: the tools of `evenhand info mcp`.

How this works: an answer is small (`answers`), says what to do next, and keeps apart what models and datasets wrote.
Runs are started as commands of their own (`runs`), within a budget that no caller can raise. What runs came to is read
from their files (`reading`), in words that come from the statistics and from nowhere else. `server` offers all of it
over the Model Context Protocol.
"""
