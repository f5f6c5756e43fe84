"""The commands of `coding_agents`: what they are asked to do, and what they print."""
