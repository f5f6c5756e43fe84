"""Shows runs: on a terminal, as one JSON document, as files for other programs. Reads run files, never writes them."""
