"""Sweeps models with Spark: replications are spread over executors and kept as they finish."""
