"""The commands of `judge_checks`: what they are asked to do, and what they print."""
