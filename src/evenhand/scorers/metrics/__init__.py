"""Arithmetic on lists and texts: numbers that no model is asked for."""
