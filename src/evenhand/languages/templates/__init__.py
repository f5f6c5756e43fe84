"""How a prompt is filled in: the one template language of all front doors, and how values look in it."""
