"""Rules of workflows, without I/O: specifications, the broker's table, jobs and their transitions.

`specification` has the values, `reading` makes them from tables, `broker` answers what comes after
a task, `jobs` is the progress of one job, and `transitions.advance` changes it.
"""
