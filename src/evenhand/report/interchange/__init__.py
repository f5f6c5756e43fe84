"""Other tools' files: reading them as runs, and writing runs for them."""
