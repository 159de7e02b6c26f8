#!lua flags=allow-oom
-- Removes an entry of the ledger, if the stored version is the expected one.
--
-- KEYS: the entries of a kind, their names, the times at which they are due.
-- ARGV: name, version.
-- Answers 1 if it was removed, else 0.

local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held or string.match(held, '^%d+') ~= ARGV[2] then
  return 0
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
