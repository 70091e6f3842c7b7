# Columns are filled by position: those that a short row does not reach, and
# those that a list does not name. Here ours stand behind others.
same
CREATE TABLE trail (name text, n int DEFAULT 4, id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7(), note text DEFAULT 'tail')

proxy
INSERT INTO trail VALUES ('a') RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, DEFAULT) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, 5) RETURNING *

proxy
INSERT INTO trail VALUES ('a', DEFAULT, DEFAULT, DEFAULT) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, 5, DEFAULT) RETURNING *

proxy
INSERT INTO trail VALUES (DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, DEFAULT, DEFAULT, NULL) RETURNING *

proxy
INSERT INTO trail VALUES ('a'), ('b'), ('c') RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1), (DEFAULT, DEFAULT), (NULL, NULL) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, DEFAULT), ('b', 2, 6), ('c', DEFAULT, DEFAULT) RETURNING *

proxy
INSERT INTO trail VALUES (('a')) RETURNING *

filled
INSERT INTO trail VALUES ('quiet')

filled
INSERT INTO trail VALUES ('quiet'), ('quiet')

proxy
INSERT INTO trail DEFAULT VALUES RETURNING *

proxy
INSERT INTO trail SELECT 'a' RETURNING *

proxy
INSERT INTO trail SELECT 'a', 2 RETURNING *

proxy
INSERT INTO trail SELECT 'a', 2, 7 RETURNING *

same
INSERT INTO trail SELECT 'a', 2, 7, '00000000-0000-0000-0000-000000000000' RETURNING *

proxy
INSERT INTO trail SELECT 'a' UNION ALL SELECT 'b' RETURNING *

proxy
INSERT INTO trail (VALUES ('a', 1), ('b', 2)) RETURNING *

# An explicit NULL is a value.
same
INSERT INTO trail VALUES ('a', 1, NULL, NULL) RETURNING *

proxy
INSERT INTO trail VALUES ('a', 1, NULL) RETURNING *

proxy
INSERT INTO trail(id, name) VALUES (NULL, 'a') RETURNING *

proxy
INSERT INTO trail(u, name) VALUES (NULL, 'a'), (DEFAULT, 'b') RETURNING *

# Too many, too few, unequal: PostgreSQL's own errors with its own positions.
either ready
INSERT INTO trail VALUES ('a'), ('b', 2)

either ready
INSERT INTO trail VALUES ('a', 2), ('b')

either ready
INSERT INTO trail VALUES ('a', 1, 2, NULL, 'x', 6)

either ready
INSERT INTO trail VALUES ('a', 1, DEFAULT, DEFAULT, DEFAULT, DEFAULT)

either ready
INSERT INTO trail(name) VALUES ('a', 1)

either ready
INSERT INTO trail(name, n) VALUES ('a')

either ready
INSERT INTO trail(name, n, note) VALUES ('a', 1), ('b', 2)

either ready
INSERT INTO trail(name, n) VALUES (('a', 1))

either ready
INSERT INTO trail(name, n) VALUES ROW('a', 1)

either ready
INSERT INTO trail(name, n) SELECT 'a'

either ready
INSERT INTO trail(name, n) SELECT ('a', 1)

either ready
INSERT INTO trail(name) SELECT 'a', 1

either ready
INSERT INTO trail SELECT 'a', 1, 2, NULL, 'x', 6

either ready
INSERT INTO trail(name) SELECT

either ready
INSERT INTO trail SELECT

either ready
INSERT INTO trail() VALUES ()

either ready
INSERT INTO trail VALUES ()

either ready
INSERT INTO trail(name, name) VALUES ('a', 'b')

either ready
INSERT INTO trail(id, id) VALUES (DEFAULT, DEFAULT)

# A row that expands is as long as its type.
same
CREATE TYPE two_of AS (name text, n int)

any ready
INSERT INTO trail VALUES ((('a', 1)::two_of).*) RETURNING *

any ready
INSERT INTO trail VALUES ((('a', 1)::two_of).*, DEFAULT) RETURNING *

any ready
INSERT INTO trail VALUES (((SELECT ('a', 1)::two_of)).*) RETURNING *

any ready
INSERT INTO trail(name, n) VALUES ((('a', 1)::two_of).*), ('b', 2) RETURNING *

any ready
INSERT INTO trail(name, n) SELECT (('a', 1)::two_of).* RETURNING *

any ready
INSERT INTO trail SELECT (('a', 1)::two_of).* RETURNING *

any ready
INSERT INTO trail SELECT * FROM (SELECT 'a', 1) x RETURNING *

either ready
INSERT INTO trail(name, n) SELECT (('a', 1)::two_of).*, 2

either ready
INSERT INTO trail(name, n, note) VALUES ((('a', 1)::two_of).*)

# Several of ours in one table, in the middle; every one gets its own.
same
CREATE TABLE mid (a int, id bigint NOT NULL DEFAULT next_snowflake(), b text, id2 bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7(), u2 uuid DEFAULT uuidv7(), c text DEFAULT 'c')

proxy
INSERT INTO mid(a) VALUES (1) RETURNING *

proxy
INSERT INTO mid(a, b) VALUES (1, 'x'), (2, 'y') RETURNING *

proxy
INSERT INTO mid(b, id) VALUES ('x', 5) RETURNING *

proxy
INSERT INTO mid(u, b, id2) VALUES (DEFAULT, 'x', DEFAULT) RETURNING *

proxy
INSERT INTO mid(u, b, id2) VALUES (NULL, 'x', DEFAULT), (DEFAULT, 'y', NULL), (uuidv7(), 'z', next_snowflake()) RETURNING *

proxy
INSERT INTO mid VALUES (1) RETURNING *

proxy
INSERT INTO mid VALUES (1, DEFAULT, 'b') RETURNING *

proxy
INSERT INTO mid VALUES (1, 7, 'b'), (2, DEFAULT, 'd') RETURNING *

proxy
INSERT INTO mid DEFAULT VALUES RETURNING id, id2, u, u2, id <> id2, u <> u2

proxy
INSERT INTO mid SELECT 1, 2, 'b' RETURNING *

proxy
INSERT INTO mid(c, a) SELECT 'c', 1 UNION ALL SELECT 'd', 2 UNION ALL SELECT 'e', 3 RETURNING *

# A failing row shows the ids that it would have had.
proxy
INSERT INTO mid VALUES (1, NULL)

# A table of nothing else.
same
CREATE TABLE lone (id bigint PRIMARY KEY DEFAULT next_snowflake())

proxy
INSERT INTO lone DEFAULT VALUES RETURNING id

proxy
INSERT INTO lone VALUES (DEFAULT), (DEFAULT) RETURNING id

proxy once
INSERT INTO lone VALUES (DEFAULT), (3), (DEFAULT) RETURNING id

proxy
INSERT INTO lone(id) VALUES (DEFAULT) RETURNING id

either ready
INSERT INTO lone SELECT

# As many rows as fold plans, of one shape and of several. Ids ascend in the
# order of the rows.
same
CREATE TABLE many (id bigint PRIMARY KEY DEFAULT next_snowflake(), no int, name text)

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8'), (9, 'row 9'), (10, 'row 10'), (11, 'row 11'), (12, 'row 12'), (13, 'row 13'), (14, 'row 14'), (15, 'row 15'), (16, 'row 16') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8'), (9, 'row 9'), (10, 'row 10'), (11, 'row 11'), (12, 'row 12'), (13, 'row 13'), (14, 'row 14'), (15, 'row 15'), (16, 'row 16'), (17, 'row 17'), (18, 'row 18'), (19, 'row 19'), (20, 'row 20'), (21, 'row 21'), (22, 'row 22'), (23, 'row 23'), (24, 'row 24'), (25, 'row 25'), (26, 'row 26'), (27, 'row 27'), (28, 'row 28'), (29, 'row 29'), (30, 'row 30'), (31, 'row 31'), (32, 'row 32'), (33, 'row 33'), (34, 'row 34'), (35, 'row 35'), (36, 'row 36'), (37, 'row 37'), (38, 'row 38'), (39, 'row 39'), (40, 'row 40'), (41, 'row 41'), (42, 'row 42'), (43, 'row 43'), (44, 'row 44'), (45, 'row 45'), (46, 'row 46'), (47, 'row 47'), (48, 'row 48'), (49, 'row 49'), (50, 'row 50'), (51, 'row 51'), (52, 'row 52'), (53, 'row 53'), (54, 'row 54'), (55, 'row 55'), (56, 'row 56'), (57, 'row 57'), (58, 'row 58'), (59, 'row 59'), (60, 'row 60'), (61, 'row 61'), (62, 'row 62'), (63, 'row 63'), (64, 'row 64'), (65, 'row 65'), (66, 'row 66'), (67, 'row 67'), (68, 'row 68'), (69, 'row 69'), (70, 'row 70'), (71, 'row 71'), (72, 'row 72'), (73, 'row 73'), (74, 'row 74'), (75, 'row 75'), (76, 'row 76'), (77, 'row 77'), (78, 'row 78'), (79, 'row 79'), (80, 'row 80'), (81, 'row 81'), (82, 'row 82'), (83, 'row 83'), (84, 'row 84'), (85, 'row 85'), (86, 'row 86'), (87, 'row 87'), (88, 'row 88'), (89, 'row 89'), (90, 'row 90'), (91, 'row 91'), (92, 'row 92'), (93, 'row 93'), (94, 'row 94'), (95, 'row 95'), (96, 'row 96'), (97, 'row 97'), (98, 'row 98'), (99, 'row 99'), (100, 'row 100'), (101, 'row 101'), (102, 'row 102'), (103, 'row 103'), (104, 'row 104'), (105, 'row 105'), (106, 'row 106'), (107, 'row 107'), (108, 'row 108'), (109, 'row 109'), (110, 'row 110'), (111, 'row 111'), (112, 'row 112'), (113, 'row 113'), (114, 'row 114'), (115, 'row 115'), (116, 'row 116'), (117, 'row 117'), (118, 'row 118'), (119, 'row 119'), (120, 'row 120'), (121, 'row 121'), (122, 'row 122'), (123, 'row 123'), (124, 'row 124'), (125, 'row 125'), (126, 'row 126'), (127, 'row 127'), (128, 'row 128'), (129, 'row 129'), (130, 'row 130'), (131, 'row 131'), (132, 'row 132'), (133, 'row 133'), (134, 'row 134'), (135, 'row 135'), (136, 'row 136'), (137, 'row 137'), (138, 'row 138'), (139, 'row 139'), (140, 'row 140'), (141, 'row 141'), (142, 'row 142'), (143, 'row 143'), (144, 'row 144'), (145, 'row 145'), (146, 'row 146'), (147, 'row 147'), (148, 'row 148'), (149, 'row 149'), (150, 'row 150'), (151, 'row 151'), (152, 'row 152'), (153, 'row 153'), (154, 'row 154'), (155, 'row 155'), (156, 'row 156'), (157, 'row 157'), (158, 'row 158'), (159, 'row 159'), (160, 'row 160'), (161, 'row 161'), (162, 'row 162'), (163, 'row 163'), (164, 'row 164'), (165, 'row 165'), (166, 'row 166'), (167, 'row 167'), (168, 'row 168'), (169, 'row 169'), (170, 'row 170'), (171, 'row 171'), (172, 'row 172'), (173, 'row 173'), (174, 'row 174'), (175, 'row 175'), (176, 'row 176'), (177, 'row 177'), (178, 'row 178'), (179, 'row 179'), (180, 'row 180'), (181, 'row 181'), (182, 'row 182'), (183, 'row 183'), (184, 'row 184'), (185, 'row 185'), (186, 'row 186'), (187, 'row 187'), (188, 'row 188'), (189, 'row 189'), (190, 'row 190'), (191, 'row 191'), (192, 'row 192'), (193, 'row 193'), (194, 'row 194'), (195, 'row 195'), (196, 'row 196'), (197, 'row 197'), (198, 'row 198'), (199, 'row 199'), (200, 'row 200'), (201, 'row 201'), (202, 'row 202'), (203, 'row 203'), (204, 'row 204'), (205, 'row 205'), (206, 'row 206'), (207, 'row 207'), (208, 'row 208'), (209, 'row 209'), (210, 'row 210'), (211, 'row 211'), (212, 'row 212'), (213, 'row 213'), (214, 'row 214'), (215, 'row 215'), (216, 'row 216'), (217, 'row 217'), (218, 'row 218'), (219, 'row 219'), (220, 'row 220'), (221, 'row 221'), (222, 'row 222'), (223, 'row 223'), (224, 'row 224'), (225, 'row 225'), (226, 'row 226'), (227, 'row 227'), (228, 'row 228'), (229, 'row 229'), (230, 'row 230'), (231, 'row 231'), (232, 'row 232'), (233, 'row 233'), (234, 'row 234'), (235, 'row 235'), (236, 'row 236'), (237, 'row 237'), (238, 'row 238'), (239, 'row 239'), (240, 'row 240'), (241, 'row 241'), (242, 'row 242'), (243, 'row 243'), (244, 'row 244'), (245, 'row 245'), (246, 'row 246'), (247, 'row 247'), (248, 'row 248'), (249, 'row 249'), (250, 'row 250'), (251, 'row 251'), (252, 'row 252'), (253, 'row 253'), (254, 'row 254'), (255, 'row 255'), (256, 'row 256'), (257, 'row 257'), (258, 'row 258'), (259, 'row 259'), (260, 'row 260'), (261, 'row 261'), (262, 'row 262'), (263, 'row 263'), (264, 'row 264'), (265, 'row 265'), (266, 'row 266'), (267, 'row 267'), (268, 'row 268'), (269, 'row 269'), (270, 'row 270'), (271, 'row 271'), (272, 'row 272'), (273, 'row 273'), (274, 'row 274'), (275, 'row 275'), (276, 'row 276'), (277, 'row 277'), (278, 'row 278'), (279, 'row 279'), (280, 'row 280'), (281, 'row 281'), (282, 'row 282'), (283, 'row 283'), (284, 'row 284'), (285, 'row 285'), (286, 'row 286'), (287, 'row 287'), (288, 'row 288'), (289, 'row 289'), (290, 'row 290'), (291, 'row 291'), (292, 'row 292'), (293, 'row 293'), (294, 'row 294'), (295, 'row 295'), (296, 'row 296'), (297, 'row 297'), (298, 'row 298'), (299, 'row 299'), (300, 'row 300') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many(no, name) VALUES (1, NULL), (2, DEFAULT), (3 + 0, 'sum'), (4, upper('x')), (5, 'plain'), (6, NULL), (7, DEFAULT), (8 + 0, 'sum'), (9, upper('x')), (10, 'plain'), (11, NULL), (12, DEFAULT), (13 + 0, 'sum'), (14, upper('x')), (15, 'plain'), (16, NULL), (17, DEFAULT), (18 + 0, 'sum'), (19, upper('x')), (20, 'plain'), (21, NULL), (22, DEFAULT), (23 + 0, 'sum'), (24, upper('x')), (25, 'plain'), (26, NULL), (27, DEFAULT), (28 + 0, 'sum'), (29, upper('x')), (30, 'plain'), (31, NULL), (32, DEFAULT), (33 + 0, 'sum'), (34, upper('x')), (35, 'plain'), (36, NULL), (37, DEFAULT), (38 + 0, 'sum'), (39, upper('x')), (40, 'plain') RETURNING id, no, name

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many VALUES (DEFAULT, 1), (DEFAULT, 2), (7003, 3), (DEFAULT, 4), (DEFAULT, 5), (7006, 6), (DEFAULT, 7), (DEFAULT, 8), (7009, 9), (DEFAULT, 10), (DEFAULT, 11), (7012, 12), (DEFAULT, 13), (DEFAULT, 14), (7015, 15), (DEFAULT, 16), (DEFAULT, 17), (7018, 18), (DEFAULT, 19), (DEFAULT, 20), (7021, 21), (DEFAULT, 22), (DEFAULT, 23), (7024, 24), (DEFAULT, 25), (DEFAULT, 26), (7027, 27), (DEFAULT, 28), (DEFAULT, 29), (7030, 30), (DEFAULT, 31), (DEFAULT, 32), (7033, 33), (DEFAULT, 34), (DEFAULT, 35), (7036, 36), (DEFAULT, 37), (DEFAULT, 38), (7039, 39), (DEFAULT, 40) RETURNING id, no

same once
WITH gone AS (DELETE FROM many RETURNING *) SELECT string_agg(no::text, ' ' ORDER BY id) FROM gone

proxy once
INSERT INTO many VALUES (DEFAULT, 1, 'x'), (DEFAULT, 2, 'x'), (DEFAULT, 3, 'x'), (DEFAULT, 4, 'x'), (DEFAULT, 5, 'x'), (DEFAULT, 6, 'x'), (DEFAULT, 7, 'x'), (DEFAULT, 8, 'x'), (DEFAULT, 9, 'x'), (DEFAULT, 10, 'x'), (DEFAULT, 11, 'x'), (DEFAULT, 12, 'x') RETURNING id, no

proxy once
INSERT INTO many(name, id, no) VALUES ('x', DEFAULT, 1), ('x', DEFAULT, 2), ('x', DEFAULT, 3), ('x', DEFAULT, 4), ('x', DEFAULT, 5), ('x', DEFAULT, 6), ('x', DEFAULT, 7), ('x', DEFAULT, 8), ('x', DEFAULT, 9), ('x', DEFAULT, 10), ('x', DEFAULT, 11), ('x', DEFAULT, 12) RETURNING id, no

proxy once
INSERT INTO many(no) SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL SELECT 12 UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15 UNION ALL SELECT 16 UNION ALL SELECT 17 UNION ALL SELECT 18 UNION ALL SELECT 19 UNION ALL SELECT 20 RETURNING id, no

same
SELECT count(*), count(DISTINCT id) FROM many

# An error in a late row: its position, after many edits.
either ready
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8'), (9, 'row 9'), (10)

either ready
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8'), (9, 'row 9'), (10, nope)

either ready
INSERT INTO many(no, name) VALUES (1, 'row 1'), (2, 'row 2'), (3, 'row 3'), (4, 'row 4'), (5, 'row 5'), (6, 'row 6'), (7, 'row 7'), (8, 'row 8'), (9, 'row 9'), ('ten', 'x')

either ready
INSERT INTO many(id, no, name) VALUES (DEFAULT, 1, 'row 1'), (DEFAULT, 2, 'row 2'), (DEFAULT, 3, 'row 3'), (DEFAULT, 4, 'row 4'), (DEFAULT, 5, 'row 5'), (DEFAULT, 6, 'row 6'), (DEFAULT, 7, 'row 7'), (DEFAULT, 8, 'row 8'), (DEFAULT, 9, 'row 9'), (DEFAULT, 10, nope)

either ready
INSERT INTO many(id, no, name) VALUES (DEFAULT, 1, 'row 1'), (DEFAULT, 2, 'row 2'), (DEFAULT, 3, 'row 3'), (DEFAULT, 4, 'row 4'), (DEFAULT, 5, 'row 5'), (DEFAULT, 6, 'row 6'), (DEFAULT, 7, 'row 7'), (DEFAULT, 8, 'row 8'), (DEFAULT, 9, 'row 9'), (DEFAULT, 'ten', DEFAULT)

either ready
INSERT INTO many(id, no, name) VALUES (DEFAULT, 1, 'row 1'), (DEFAULT, 2, 'row 2'), (DEFAULT, 3, 'row 3'), (DEFAULT, 4, 'row 4'), (DEFAULT, 5, 'row 5'), (DEFAULT, 6, 'row 6'), (DEFAULT, 7, 'row 7'), (DEFAULT, 8, 'row 8'), (DEFAULT, 9, 'row 9'), (DEFAULT, 10, 'x', DEFAULT)

same
SELECT count(*), count(DISTINCT id) FROM many
