"""The commands of `remotes`: what they are asked to do, and what they print."""
