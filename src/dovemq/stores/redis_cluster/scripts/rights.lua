-- The commands of ARGV that this user may not run on the key; nothing is run.
local refused = {}
for _, command in ipairs(ARGV) do
    local words = {}
    for word in string.gmatch(command, '%S+') do
        words[#words + 1] = word == 'KEY' and KEYS[1] or word
    end
    local checked, allowed = pcall(redis.acl_check_cmd, unpack(words))
    if not (checked and allowed) then
        refused[#refused + 1] = words[1]
    end
end
return refused
