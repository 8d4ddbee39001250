std = "lua54"
max_line_length = 160
codes = true
ignore = { "212/self" }
exclude_files = { "build/**", ".nkiln/**" }
-- Skill and agent files see the declaration helpers and nothing of the host.
local declared = { "skill", "agent", "path", "text", "number", "integer", "flag", "choice", "list", "data" }
files["skills/**/*.lua"] = { read_globals = declared }
files["agents/*.lua"] = { read_globals = declared }
files["tests/demo"] = { read_globals = { "ctx" } }
