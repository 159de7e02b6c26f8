"""Event simulation of open networks whose jobs are graphs of tasks: state, kernel, result."""
