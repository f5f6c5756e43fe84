"""One run on many processes: the driver keeps the run file, its workers settle trials."""
