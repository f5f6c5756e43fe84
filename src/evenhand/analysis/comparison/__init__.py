"""Two runs or variants, paired by case, and what their differences come to."""
