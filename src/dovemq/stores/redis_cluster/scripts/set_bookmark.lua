#!lua flags=allow-oom
-- Raises the bookmark of a log, if this epoch is the newest one.
--
-- KEYS: the hash of the log.   ARGV: epoch, position with leading zeros.   Answers `done`.
--
-- Positions are compared as text: the numbers of Lua are exact up to 53 bits only.

if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
  local held = redis.call('HGET', KEYS[1], 'bookmark')
  local newest = (held and held > ARGV[2]) and held or ARGV[2]
  redis.call('HSET', KEYS[1], 'bookmark', newest)
end
return 'done'
