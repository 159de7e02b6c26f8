-- Adds a group to a log, unless a newer owner has opened the log or it was removed.
--
-- KEYS: the stream, the hash of the log.   ARGV: epoch, id of the entry, group.
-- Answers `done`, `again` (this very group is there already), `fenced`, `other` (another group is
-- there), `late` (below the newest entry), or another error of XADD: OOM if memory is full.
--
-- Runs as it is for groups that grow: memory that is full is then met by XADD, after which a group
-- that is there already is still found. For other groups the flag `allow-oom` is put before it.

local epoch, removed = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'removed'))
if removed or (epoch and tonumber(epoch) > tonumber(ARGV[1])) then
  return 'fenced'
end

local added = redis.pcall('XADD', KEYS[1], ARGV[2], 'group', ARGV[3])
if type(added) == 'table' then
  local found = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
  if found then
    return found[2][2] == ARGV[3] and 'again' or 'other'
  end
  return string.find(added.err, 'equal or smaller', 1, true) and 'late' or added
end

if epoch ~= ARGV[1] then
  -- A fail-over has lost the opening of this epoch.
  redis.call('HSET', KEYS[2], 'epoch', ARGV[1])
end
return 'done'
