# Names without AS that are words of expressions, and words of clauses that are
# within an expression.
any ready
INSERT INTO acct(name) SELECT 'a' end WHERE true RETURNING id, name

any ready
INSERT INTO acct(name) SELECT 'a' case UNION ALL SELECT 'b' end RETURNING id, name

any ready
INSERT INTO acct(name, note) SELECT 'a' case, 'b' end LIMIT 1 RETURNING id, name

any ready
INSERT INTO acct(name) SELECT CASE WHEN true THEN 'a' END end WHERE true RETURNING id, name

any ready
INSERT INTO acct(name) SELECT COLLATION FOR ('a'::text) RETURNING id, name

any ready
INSERT INTO acct(name) SELECT COLLATION FOR ('a'::text) AS for WHERE true RETURNING id, name

any ready
INSERT INTO acct(name) SELECT 'a' end RETURNING id, name

any ready
INSERT INTO acct(name) SELECT 'a' case RETURNING id

any ready
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'b' case ON CONFLICT DO NOTHING RETURNING id, name
