"""Other tools' files: their results read as runs, and their datasets and checks written out as eval sets."""
