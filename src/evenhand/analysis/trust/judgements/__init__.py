"""What judges decided in a run, by output and by pair, and what of it people may label."""
