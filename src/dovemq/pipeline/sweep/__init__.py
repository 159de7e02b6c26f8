"""Sweeps of models over Spark: replications spread over executors, kept as they finish."""
