"""Estimates model parameters from lifecycle traces, with Spark or DuckDB.

    observed    the observations: times in bins, outcomes, clients, front ends
    duck        the observations with DuckDB (SQL in the files beside it)
    spark       the observations with Spark (`transforms` has the DataFrames)
    parameters  parameters with intervals, for each queue
    model_file  a file that `dovemq model` and `dovemq plan` read

Nothing is imported here, so that each engine can be used without the other.
"""
