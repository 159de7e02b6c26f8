-- All rows of a message in one bucket, and bucket after bucket.
SELECT *, (id_low % {buckets})::INTEGER AS bucket FROM ({steps}) ORDER BY bucket
