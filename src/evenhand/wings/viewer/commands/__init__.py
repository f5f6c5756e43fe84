"""The commands of `viewer`: what they are asked to do, and what they print."""
