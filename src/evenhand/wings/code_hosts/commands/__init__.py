"""The commands of `code_hosts`: what they are asked to do, and what they print."""
