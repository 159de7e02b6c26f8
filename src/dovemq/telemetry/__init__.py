"""Observation of the service: the lifecycle trace, the metrics, and the form of the logs."""
