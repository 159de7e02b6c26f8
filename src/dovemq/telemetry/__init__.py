"""What the service shows of itself: the lifecycle trace, metrics, and the form of its logs."""
