"""Consistency and performance of queues, from lifecycle traces, by Spark or by DuckDB.

    sources   which files are traces, and which are refused
    rules     which rows are believed; the others go to quarantine
    requests  rows of an event joined to the request that they were answered by    (SQL, twice)
    matching  the rows of each message joined to one row per message               (kernel)
    accounts  order, counts and times of messages, stream by stream                (kernel)
    finish    all of these to one table per queue, per window and overall          (SQL, once)

The engines read, partition and sort; what is counted and how is the same code for both. Nothing
is imported here, so that each engine can be used without the other.
"""
