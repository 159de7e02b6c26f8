"""The SQS protocol without I/O: codecs, signatures, actions and the table of faults."""
