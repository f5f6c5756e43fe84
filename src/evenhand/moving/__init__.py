"""Moving in: what other tools keep, written out as eval sets that run here."""
