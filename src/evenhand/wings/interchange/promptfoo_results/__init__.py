"""promptfoo's results: written of a run, and read as one. The two halves share the rows."""
