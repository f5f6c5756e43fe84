"""The commands of `fleet`: what they are asked to do, and what they print."""
