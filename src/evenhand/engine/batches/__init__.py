"""Calls asked in vendors' batches, at half price: the lane that collects them, and the waves they go out in."""
