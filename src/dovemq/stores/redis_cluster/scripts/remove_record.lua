#!lua flags=allow-oom
-- Removes a record, if the stored version is the expected one.
--
-- KEYS: the hash of a kind, the stamp.   ARGV: name, version, 1 if the kind is stamped.
-- Answers 1 if it was removed, else 0.

local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held or string.match(held, '^%d+') ~= ARGV[2] then
  return 0
end
redis.call('HDEL', KEYS[1], ARGV[1])
if ARGV[3] == '1' then
  local time = redis.call('TIME')
  redis.call('HINCRBY', KEYS[2], 'changes', 1)
  redis.call('HSET', KEYS[2], 'time', time[1] .. '.' .. time[2])
end
return 1
