"""The viewer: a local page on all runs, and the same page as one file. It reads runs, and writes labels only."""
