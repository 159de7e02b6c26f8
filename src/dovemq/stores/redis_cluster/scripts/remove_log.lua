#!lua flags=allow-oom
-- Removes a log, and notes this for a while, so that its owner is refused.
--
-- KEYS: the stream, the hash of the log.   ARGV: time to keep the note in milliseconds.
-- Answers `done`.
--
-- Without the note a removed log and one that a fail-over has lost would look alike.

redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[2], 'removed', '1')
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 'done'
