"""OpenTelemetry spans read as a trial's steps: the dialects of instrumentations, and what model calls in them cost."""
