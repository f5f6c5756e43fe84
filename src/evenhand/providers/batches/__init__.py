"""Vendors' batch APIs: many requests at once, answered within a day, at half price."""
