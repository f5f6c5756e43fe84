"""The command of `audit`: what it is asked to do, and what it prints."""
