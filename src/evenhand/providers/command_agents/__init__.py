"""Agents that are programs: run in a folder of their own, in a sandbox where there is one, and read step by step."""
