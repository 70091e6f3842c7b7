-- ARGV: the era before, then id, era, server and floor of the new head, and the
-- wait in ms.
local era = redis.call('HGET', KEYS[1], 'era') or ''
if era ~= ARGV[1] then
	return {'changed'}
end
redis.call('HSET', KEYS[1], 'id', ARGV[2], 'era', ARGV[3], 'server', ARGV[4], 'floor', ARGV[5],
	'wait', ARGV[6], 'ready', digits(now + ARGV[6]))
return {'ok'}
