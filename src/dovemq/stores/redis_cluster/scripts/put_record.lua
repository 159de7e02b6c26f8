#!lua flags=allow-oom
-- Stores a record with the next version, if the stored version is the expected one.
--
-- KEYS: the hash of a kind, the stamp.   ARGV: name, value, version, 1 if the kind is stamped.
-- Answers 1 if the record has this value and the next version now, else 0.
--
-- A field holds the version, a space and the value. A repeated call writes once more, so that a
-- WAIT after it waits for the first write. The stamp holds a counter and the time, since a
-- fail-over may set the counter back.

local held = redis.call('HGET', KEYS[1], ARGV[1])
local version = held and tonumber(string.match(held, '^%d+')) or 0
local wanted = tonumber(ARGV[3])
local record = string.format('%d ', wanted + 1) .. ARGV[2]
if version ~= wanted and held ~= record then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], record)
if version == wanted and ARGV[4] == '1' then
  local time = redis.call('TIME')
  redis.call('HINCRBY', KEYS[2], 'changes', 1)
  redis.call('HSET', KEYS[2], 'time', time[1] .. '.' .. time[2])
end
return 1
