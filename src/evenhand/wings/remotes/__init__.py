"""Remotes: folders, buckets and databases that a team pushes its runs to, and reads them from."""
