"""What the Redis store does in one step on the server. KEYS are the eight parts of each log, in the order of `PARTS`.

Texts pass through unread, so that what Lua's JSON cannot keep apart is never written again. Must not know: Python's side.
"""

PARTS = ("head", "entries", "pins", "order", "turns", "runs", "views", "left")

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

COMMIT = """
local plans = cjson.decode(ARGV[1])
local function part(i, n) return KEYS[(i - 1) * 8 + n] end
for i, plan in ipairs(plans) do
  if not plan.everything then
    for _, turn in ipairs(plan.turns) do
      if turn[2] ~= cjson.null and redis.call('HEXISTS', part(i, 6), turn[2]) == 1 then return 'stored' end
    end
  end
  local head = redis.call('GET', part(i, 1))
  local version = head and cjson.decode(head)[1] or 0
  if version ~= plan.expect then return cjson.encode({i - 1, version}) end
end
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
  redis.call('SET', part(i, 1), plan.head)
end
return 'ok'
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
