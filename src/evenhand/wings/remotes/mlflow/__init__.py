"""Runs in MLflow: an MLflow run for each run, and one below it for each variant."""
