-- Begins each script: who serves it, and what time it is. Only effects are
-- replicated (Redis 5 and later), so that asking is no harm.
local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
for _, text in ipairs({server, replication}) do
	if type(text) ~= 'string' then
		return {'refused', text.err or 'no text'}
	end
end
-- A replica may read, but what it says is of yesterday.
if string.find(replication, 'role:slave', 1, true) then
	return redis.error_reply('READONLY the server is a replica')
end
local run = string.match(server, 'run_id:(%w+)')
if not run then
	return {'refused', 'INFO server names no run_id'}
end
local identity = run .. '/' .. (string.match(replication, 'master_replid:(%w+)') or '')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Of itself Lua writes 14 digits.
local function digits(n)
	return string.format('%.0f', n)
end
