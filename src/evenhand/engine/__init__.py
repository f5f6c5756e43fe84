"""Settles a plan: models asked, expectations scored, every paid answer kept. Knows no scorer and no vendor by name."""
