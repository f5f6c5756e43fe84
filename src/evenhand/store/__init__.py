"""Runs and the cache on disk. The only room that speaks SQL; one run is one file, with one writer."""
