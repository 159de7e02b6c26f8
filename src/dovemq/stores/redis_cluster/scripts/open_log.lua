#!lua flags=allow-oom
-- Notes the epoch of a new owner, unless a newer one is known.
--
-- KEYS: the hash of the log.   ARGV: epoch.   Answers `done` or `fenced`.
--
-- Writes also if the epoch is known, so that a WAIT after it waits for all earlier writes.

local epoch, removed = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'removed'))
if epoch and tonumber(epoch) > tonumber(ARGV[1]) then
  return 'fenced'
end
if removed then
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 'done'
