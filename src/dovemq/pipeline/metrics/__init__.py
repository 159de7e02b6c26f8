"""Consistency and performance of queues, from lifecycle traces, by Spark or by DuckDB.

By Spark, each step a transform of DataFrames:

    events  →  messages, requests        one row for each
            →  order                     of each stream, in slices (`order_kernel` measures them)
            →  facts                     counts and distributions by queue and window
            →  figures                   by window, by queue, overall

`spark` puts the steps together; `duck` does the same in SQL of its own. `columns` has the names of
the figures, `report` what a run reports. Nothing is imported here, so that each engine can be used
without the other.
"""
