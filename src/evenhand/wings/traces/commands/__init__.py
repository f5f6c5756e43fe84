"""The commands of `traces`: what they are asked to do, and what they print."""
