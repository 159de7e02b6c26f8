"""Measures consistency and performance of queues from traces, with Spark or DuckDB.

With Spark each step is a transform of DataFrames:

    events  →  messages, requests        one row for each
            →  order                     of each stream, in slices (`order_kernel` measures them)
            →  facts                     counts and distributions by queue and window
            →  figures                   by window, by queue, overall

`spark` combines the steps; `duck` does the same with its own SQL. `columns` has the names of the
figures, `report` the result of a run. Nothing is imported here, so that each engine can be used
without the other.
"""
