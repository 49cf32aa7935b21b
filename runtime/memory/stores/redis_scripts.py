"""The scripts with which logs in Redis are read and changed, each one atomic step on the server (M-8.12).

Hands on to `redis.py` the texts of the scripts in Lua (NAMES and NEXT_NAMES list keys, COMMIT, KEEP, SWAP and TOUCH change logs
and facts, REMOVE and EXPIRE take keys away, LEASE and RELEASE are about leases), and PARTS, the Redis keys of which a log
consists, in the order in which scripts get them. What a script is given, and what its answer means, is for `redis.py`; nothing
is sent here.
"""

from __future__ import annotations

# KEYS of the scripts that read or change logs are the fourteen parts of each log, in the order of `PARTS`; of NAMES and
# NEXT_NAMES KEYS[1] is the list of the names of all keys, of LEASE and RELEASE the lease. The head is `Head.values()` as JSON:
# the version first, last the time that EXPIRE compares, in Unix ms, which KEEP, SWAP and TOUCH set to ARGV[2]. Texts are stored
# as they came: some are read with Lua's JSON, none is written by it, since it does not keep all of them apart (1 and 1.0, an
# empty list and an empty object).

PARTS = (
    "head", "entries", "pins", "order", "turns", "runs", "views", "left", "facts", "names", "seen", "changed", "blobs", "uses",
)  # fmt: skip

# Redis orders the names of keys by score before their bytes, so each of the two scores is a range of its own: `ranges` gives the
# ranks, from 0 on, of the names from `low` to before `high` in both. Lua's own order of texts depends on the locale.
ORDER = """
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local function first(low, high, bound)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(redis.call('ZRANGE', KEYS[1], middle, middle)[1], bound) then low = middle + 1 else high = middle end
  end
  return low
end
local function ranges(low, high)
  local unwritten, all = redis.call('ZCOUNT', KEYS[1], '-inf', '(1'), redis.call('ZCARD', KEYS[1])
  local found = {}
  for i, range in ipairs({{0, unwritten}, {unwritten, all}}) do
    local from = first(range[1], range[2], low)
    found[i] = {from, first(from, range[2], high)}
  end
  return found
end
"""

# The names of keys from ARGV[1] to before ARGV[2], each with its score.
NAMES = ORDER + """
local found = {}
for _, range in ipairs(ranges(ARGV[1], ARGV[2])) do
  if range[1] < range[2] then
    for _, one in ipairs(redis.call('ZRANGE', KEYS[1], range[1], range[2] - 1, 'WITHSCORES')) do found[#found + 1] = one end
  end
end
return found
"""

# The next ARGV[3] names of keys from ARGV[1] to before ARGV[2]. KEYS[2] notes by ARGV[1] the last one, behind which the next call
# goes on; behind the last of all it begins anew.
NEXT_NAMES = ORDER + """
local count, last = tonumber(ARGV[3]), redis.call('HGET', KEYS[2], ARGV[1])
local lists = {}
for i, range in ipairs(ranges(last and last .. '\0' or ARGV[1], ARGV[2])) do
  local ending = math.min(range[2], range[1] + count)
  lists[i] = range[1] < ending and redis.call('ZRANGE', KEYS[1], range[1], ending - 1) or {}
end
local found, one, two = {}, 1, 1
while #found < count and (lists[1][one] or lists[2][two]) do
  local a, b = lists[1][one], lists[2][two]
  if a and (not b or before(a, b)) then
    found[#found + 1], one = a, one + 1
  else
    found[#found + 1], two = b, two + 1
  end
end
if #found == count then
  redis.call('HSET', KEYS[2], ARGV[1], found[count])
elseif last then
  redis.call('HDEL', KEYS[2], ARGV[1])
end
return found
"""

REMOVE = """
for i = 1, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
"""

EXPIRE = """
local head = redis.call('GET', KEYS[1])
if not head or cjson.decode(head)[6] >= tonumber(ARGV[1]) then return 0 end
for i = 1, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
"""

# A fact stands under its number behind the hexadecimal text of its name; `names` leads from there to the number. An observation
# stands under its place. `clash` says what somebody else has taken meanwhile, before anything is written.
FACTS = """
local function clash(plan, facts, names, seen)
  if plan.facts_anew then return false end
  local going, leaving = {}, {}
  for _, id in ipairs(plan.gone) do going[id] = true end
  for _, place in ipairs(plan.unseen) do leaving[place] = true end
  for _, fact in ipairs(plan.facts) do
    local held = redis.call('HGET', facts, fact[1])
    if held and not going[fact[1]] and string.match(held, '^(%x*) ') ~= fact[2] then return true end
    local owner = redis.call('HGET', names, fact[2])
    if owner and owner ~= fact[1] and not going[owner] then return true end
  end
  for _, one in ipairs(plan.seen) do
    if not leaving[one[1]] and redis.call('HEXISTS', seen, one[1]) == 1 then return true end
  end
  return false
end
local function keep(plan, facts, names, seen)
  if plan.facts_anew then
    for _, name in ipairs({facts, names, seen}) do redis.call('DEL', name) end
  end
  for _, id in ipairs(plan.gone) do
    local held = redis.call('HGET', facts, id)
    if held then
      redis.call('HDEL', names, string.match(held, '^(%x*) '))
      redis.call('HDEL', facts, id)
    end
  end
  for _, place in ipairs(plan.unseen) do redis.call('HDEL', seen, place) end
  for _, fact in ipairs(plan.facts) do
    redis.call('HSET', facts, fact[1], fact[2] .. ' ' .. fact[3])
    redis.call('HSET', names, fact[2], fact[1])
  end
  for _, one in ipairs(plan.seen) do redis.call('HSET', seen, one[1], one[2]) end
end
"""

# Every change of facts is noted under its number, which is its score too, with the numbers of its facts; "*" when those are too
# many to name or all may be others. The newest `plan.notes` notes stay.
NOTE = """
local function note(plan, changed)
  if not plan.facts_anew and #plan.facts == 0 and #plan.gone == 0 then return '0' end
  local newest = redis.call('ZREVRANGE', changed, 0, 0, 'WITHSCORES')[2]
  local number = string.format('%.0f', newest and tonumber(newest) + 1 or plan.first)
  local facts = {}
  for _, id in ipairs(plan.gone) do facts[#facts + 1] = id end
  for _, fact in ipairs(plan.facts) do facts[#facts + 1] = fact[1] end
  local said = (plan.facts_anew or #facts > plan.named) and '*' or table.concat(facts, ' ')
  redis.call('ZADD', changed, number, number .. ':' .. said)
  redis.call('ZREMRANGEBYRANK', changed, 0, -plan.notes - 1)
  return number
end
"""

KEEP = FACTS + NOTE + """
local plan = cjson.decode(ARGV[1])
if clash(plan, KEYS[9], KEYS[10], KEYS[11]) then return 'taken' end
keep(plan, KEYS[9], KEYS[10], KEYS[11])
local head = redis.call('GET', KEYS[1]) or '[0, 0, 0, 0, 0, 0]'
redis.call('SET', KEYS[1], (string.gsub(head, '[^, ]+%]$', ARGV[2] .. ']')))
return 'ok ' .. note(plan, KEYS[12])
"""

# As KEEP, where the fact of the name `ARGV[3]` is still what was looked at: where the newest change is `ARGV[5]`, or without that
# where it is `ARGV[4]`, after its number and a colon.
SWAP = FACTS + NOTE + """
local plan = cjson.decode(ARGV[1])
if ARGV[5] ~= '' then
  local newest = redis.call('ZREVRANGE', KEYS[12], 0, 0, 'WITHSCORES')[2]
  if not newest or tonumber(newest) ~= tonumber(ARGV[5]) then return 'another' end
else
  local id = redis.call('HGET', KEYS[10], ARGV[3])
  local held = id and id .. ':' .. redis.call('HGET', KEYS[9], id) or ''
  if held ~= ARGV[4] then return 'another' end
end
if clash(plan, KEYS[9], KEYS[10], KEYS[11]) then return 'taken' end
keep(plan, KEYS[9], KEYS[10], KEYS[11])
local head = redis.call('GET', KEYS[1]) or '[0, 0, 0, 0, 0, 0]'
redis.call('SET', KEYS[1], (string.gsub(head, '[^, ]+%]$', ARGV[2] .. ']')))
return 'ok ' .. note(plan, KEYS[12])
"""

# Of the facts those that still are what was looked at, `ARGV[3]` and on; the answer names them.
TOUCH = FACTS + NOTE + """
local plan = cjson.decode(ARGV[1])
local same, ids = {}, {}
for i, fact in ipairs(plan.facts) do
  if redis.call('HGET', KEYS[9], fact[1]) == ARGV[i + 2] then
    same[#same + 1] = fact
    ids[#ids + 1] = fact[1]
  end
end
plan.facts = same
keep(plan, KEYS[9], KEYS[10], KEYS[11])
local head = redis.call('GET', KEYS[1]) or '[0, 0, 0, 0, 0, 0]'
redis.call('SET', KEYS[1], (string.gsub(head, '[^, ]+%]$', ARGV[2] .. ']')))
return 'ok ' .. note(plan, KEYS[12]) .. ' ' .. table.concat(ids, ' ')
"""

COMMIT = FACTS + NOTE + """
local plans = cjson.decode(ARGV[1])
local function part(i, n) return KEYS[(i - 1) * 14 + n] end
for i, plan in ipairs(plans) do
  if not plan.everything then
    for _, turn in ipairs(plan.turns) do
      if turn[2] ~= cjson.null and redis.call('HEXISTS', part(i, 6), turn[2]) == 1 then return 'stored' end
    end
  end
  local head = redis.call('GET', part(i, 1))
  local version = head and cjson.decode(head)[1] or 0
  if version ~= plan.expect or clash(plan, part(i, 9), part(i, 10), part(i, 11)) then
    return cjson.encode({i - 1, version})
  end
end
local changes = {}
for i, plan in ipairs(plans) do
  local entries, pins, order, left = part(i, 2), part(i, 3), part(i, 4), part(i, 8)
  if plan.everything then
    for n = 2, 8 do redis.call('DEL', part(i, n)) end
    for n = 13, 14 do redis.call('DEL', part(i, n)) end
  end
  for _, gone in ipairs(plan.evict) do
    redis.call('HDEL', entries, gone[1])
    redis.call('ZREM', order, gone[1])
    redis.call('ZREM', pins, gone[1])
    for _, hash in ipairs(gone[3]) do
      if redis.call('HINCRBY', part(i, 14), hash, -1) <= 0 then
        redis.call('HDEL', part(i, 14), hash)
        redis.call('HDEL', part(i, 13), hash)
      end
    end
    if redis.call('HINCRBY', left, gone[2], -1) <= 0 then
      redis.call('HDEL', left, gone[2])
      local turn = redis.call('HGET', part(i, 5), gone[2])
      if turn then
        redis.call('HDEL', part(i, 5), gone[2])
        local run = cjson.decode(turn).run
        if run ~= cjson.null then redis.call('HDEL', part(i, 6), run) end
      end
    end
  end
  for _, pin in ipairs(plan.pins) do
    local from, to = order, pins
    if not pin[2] then from, to = pins, order end
    if redis.call('ZREM', from, pin[1]) == 1 then redis.call('ZADD', to, pin[1], pin[1]) end
  end
  for _, entry in ipairs(plan.entries) do
    redis.call('HSET', entries, entry[1], entry[4])
    redis.call('ZADD', entry[2] and pins or order, entry[1], entry[1])
    redis.call('HINCRBY', left, entry[3], 1)
    for _, hash in ipairs(entry[5]) do redis.call('HINCRBY', part(i, 14), hash, 1) end
  end
  for _, blob in ipairs(plan.blobs) do redis.call('HSETNX', part(i, 13), blob[1], ARGV[blob[2]]) end
  for _, turn in ipairs(plan.turns) do
    redis.call('HSET', part(i, 5), turn[1], turn[3])
    if turn[2] ~= cjson.null then redis.call('HSET', part(i, 6), turn[2], turn[4]) end
  end
  for _, view in ipairs(plan.views) do redis.call('HSET', part(i, 7), view[1], view[2]) end
  keep(plan, part(i, 9), part(i, 10), part(i, 11))
  redis.call('SET', part(i, 1), plan.head)
  changes[i] = note(plan, part(i, 12))
end
return 'ok ' .. table.concat(changes, ' ')
"""

LEASE = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
