"""Queues as Spark's data: read and written in batches and as streams.

Received messages wait in files until Spark has finished them, and only then are they settled.
Nothing is imported here, so that the files can be used without Spark.
"""
