-- Stores an entry of the ledger, if the stored version is the expected one.
--
-- KEYS: the entries of a kind, their names, the times at which they are due.
-- ARGV: name, entry, version that must be stored, time at which it is due or an empty text.
-- Answers 1 if the entry is stored now, else 0.
--
-- An entry begins with its version, a space, its state, a space, its type, a space, its time and a
-- line feed. A repeated call writes once more, so that a WAIT after it waits for the first write.

local held = redis.call('HGET', KEYS[1], ARGV[1])
local version = held and tonumber(string.match(held, '^%d+')) or 0
if version ~= tonumber(ARGV[3]) and held ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[3], ARGV[1])
else
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
end
return 1
