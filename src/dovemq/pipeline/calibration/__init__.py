"""Parameters of models from lifecycle traces, by Spark or by DuckDB.

    observed    what an engine hands over: times in bins, outcomes, clients, front ends
    duck        … from DuckDB (SQL in the files beside it)
    spark       … from Spark
    parameters  from these to parameters with intervals, queue by queue
    periods     parts of one queue's trace, calibrated and measured
    engines     which engine observes
    model_file  the same as a file that `dovemq model` and `dovemq plan` read

Which files and rows are believed is told by `metrics.sources` and `metrics.rules`. Nothing is
imported here, so that each engine can be used without the other.
"""
