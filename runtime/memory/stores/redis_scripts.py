"""What the Redis store does in one step on the server. KEYS are the twelve parts of each log, in the order of `PARTS`.

Texts pass through unread, so that what Lua's JSON cannot keep apart is never written again. Must not know: Python's side.
"""

PARTS = ("head", "entries", "pins", "order", "turns", "runs", "views", "left", "facts", "names", "seen", "changed")

# The names of keys from ARGV[1] to before ARGV[2], each with its score. Redis orders them by score before their bytes, so each of
# the two scores is a range of its own; Lua's own order of texts depends on the locale.
NAMES = """
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
local unwritten, all = redis.call('ZCOUNT', KEYS[1], '-inf', '(1'), redis.call('ZCARD', KEYS[1])
local found = {}
for _, range in ipairs({{0, unwritten}, {unwritten, all}}) do
  local low = first(range[1], range[2], ARGV[1])
  local high = first(low, range[2], ARGV[2])
  if low < high then
    for _, one in ipairs(redis.call('ZRANGE', KEYS[1], low, high - 1, 'WITHSCORES')) do found[#found + 1] = one end
  end
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

# Every change of facts is noted under its number, which is its score too; "*" when all may be others.
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
if #same > 0 then
  keep(plan, KEYS[9], KEYS[10], KEYS[11])
  local head = redis.call('GET', KEYS[1]) or '[0, 0, 0, 0, 0, 0]'
  redis.call('SET', KEYS[1], (string.gsub(head, '[^, ]+%]$', ARGV[2] .. ']')))
end
return 'ok ' .. note(plan, KEYS[12]) .. ' ' .. table.concat(ids, ' ')
"""

COMMIT = FACTS + NOTE + """
local plans = cjson.decode(ARGV[1])
local function part(i, n) return KEYS[(i - 1) * 12 + n] end
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
  end
  for _, gone in ipairs(plan.evict) do
    redis.call('HDEL', entries, gone[1])
    redis.call('ZREM', order, gone[1])
    redis.call('ZREM', pins, gone[1])
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
  end
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
