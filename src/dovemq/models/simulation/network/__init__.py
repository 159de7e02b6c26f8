"""Open networks of queues with jobs that are graphs of tasks, by event simulation."""
