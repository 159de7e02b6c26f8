#!lua flags=no-writes,allow-oom
-- Reads entries of the ledger that are due.
--
-- KEYS: the entries of a kind, the times at which they are due.
-- ARGV: time, number of entries, bytes of them.
-- Answers names and entries in turn.

local names = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local found, size = {}, 0
for _, name in ipairs(names) do
  local held = redis.call('HGET', KEYS[1], name)
  if held then
    found[#found + 1] = name
    found[#found + 1] = held
    size = size + #held
    if size > tonumber(ARGV[3]) then
      break
    end
  end
end
return found
