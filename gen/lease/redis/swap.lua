-- ARGV: era, node, kind, token, holder, mark, every, ttl, 1 to keep since, and
-- then the tokens that are expected. Durations are in ns. The one write is the
-- last step, so that nothing is half done.
local head = redis.call('HMGET', KEYS[1], 'era', 'server')
if head[1] ~= ARGV[1] or head[2] ~= identity then
	return {'era'}
end
local text = redis.call('HGET', KEYS[2], ARGV[2])
local old = text and cjson.decode(text) or {token = '', mark = '0', since = digits(now)}
local expected = false
for i = 10, #ARGV do
	expected = expected or ARGV[i] == old.token
end
if not expected then
	return {'changed'}
end
local record = {kind = ARGV[3], token = ARGV[4], holder = ARGV[5], mark = ARGV[6], every = ARGV[7], ttl = ARGV[8], since = digits(now)}
if tonumber(old.mark) > tonumber(record.mark) then
	record.mark = old.mark
end
if ARGV[9] == '1' then
	record.since = old.since
end
record['until'] = digits(now + math.ceil(ARGV[8] / 1000000))
redis.call('HSET', KEYS[2], ARGV[2], cjson.encode(record))
return {'ok', digits(now)}
