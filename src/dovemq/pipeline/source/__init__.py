"""Queues as Spark data: read and written in batches and as streams.

Received messages are staged in files, and settled after Spark has finished them. Nothing is
imported here, so that the files can be used without Spark.
"""
