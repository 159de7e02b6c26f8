"""Parameters of models from lifecycle traces, by Spark or by DuckDB.

    observed    what an engine hands over: times in bins, outcomes, clients, front ends
    duck        the same from DuckDB (SQL in the files beside it)
    spark       the same from Spark (`transforms` has the DataFrames)
    parameters  from these to parameters with intervals, queue by queue
    engines     the choice of the engine
    model_file  a file that `dovemq model` and `dovemq plan` read

Nothing is imported here, so that each engine can be used without the other.
"""
