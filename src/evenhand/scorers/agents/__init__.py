"""What agents do on their way, scored: tools called, steps taken, trajectories, and skills found."""
