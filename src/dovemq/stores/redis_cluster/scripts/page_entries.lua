#!lua flags=no-writes,allow-oom
-- Reads entries of the ledger by name.
--
-- KEYS: the entries of a kind, their names.
-- ARGV: first name ('[' or '(' and the name), last name, number of entries, bytes of them, number
-- of entries that are looked at, 1 if a state is wanted, the state, 1 if a type is wanted, the type.
-- Answers names and entries in turn, and then the name from which the next page goes on, or ''.

local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[5])
local found, size, count = {}, 0, 0
local reached = ''
for _, name in ipairs(names) do
  local held = redis.call('HGET', KEYS[1], name)
  reached = name
  if held then
    local state, type = string.match(held, '^%d+ ([^ ]*) ([^ ]*) [^\n]*\n')
    if (ARGV[6] ~= '1' or state == ARGV[7]) and (ARGV[8] ~= '1' or type == ARGV[9]) then
      found[#found + 1] = name
      found[#found + 1] = held
      size = size + #held
      count = count + 1
      if count >= tonumber(ARGV[3]) or size > tonumber(ARGV[4]) then
        found[#found + 1] = reached
        return found
      end
    end
  end
end
found[#found + 1] = #names < tonumber(ARGV[5]) and '' or reached
return found
