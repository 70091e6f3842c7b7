local head = redis.call('HMGET', KEYS[1], 'id', 'era', 'server', 'floor', 'wait', 'ready')
local left = 0
if head[2] then
	local wait = tonumber(head[5])
	left = tonumber(head[6]) - now
	if left > wait then
		-- The clock was set back: the wait begins again, rather than that it lasts
		-- for as long as that.
		redis.call('HSET', KEYS[1], 'ready', digits(now + wait))
		left = wait
	end
end
return {'ok', digits(now), identity, digits(left), head[1] or '', head[2] or '', head[3] or '', head[4] or '',
	redis.call('HGETALL', KEYS[2])}
