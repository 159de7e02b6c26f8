"""The data pipeline on Spark: traces to figures, figures to models, models swept, queues as data.

Reads and writes files and the public APIs alone. Nothing is imported here, so that the small
parts can be used without Spark.
"""
