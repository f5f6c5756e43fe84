"""Products beside the kernel, a folder each. The kernel imports none of them, and no wing imports another."""
