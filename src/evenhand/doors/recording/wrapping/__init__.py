"""The transports of the process, each wrapped in a module of its own."""
