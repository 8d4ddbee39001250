std = "lua54"
max_line_length = 160
codes = true
ignore = { "212/self" }
exclude_files = { "build/**", ".nkiln/**" }
