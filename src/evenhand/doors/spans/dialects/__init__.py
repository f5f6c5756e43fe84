"""The dialects of traces, a table each: which attributes say what."""
