"""Labels by people: drawing what to label, sheets to fill in, reading them back."""
