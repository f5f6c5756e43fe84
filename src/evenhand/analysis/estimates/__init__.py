"""What a run of a plan would ask and cost, before anything is sent."""
