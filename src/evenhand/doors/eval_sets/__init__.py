"""Front door: eval sets in Python. Functions over a dataset in, a plan out. Runs nothing itself."""
