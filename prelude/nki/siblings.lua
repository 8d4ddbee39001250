-- SPDX-License-Identifier: MIT
-- Files a kernel imports from beside itself, judged by the same rules. Only what the kernel reaches in them counts: the
-- names it imports, or every function when it imports the whole module.
--
--   siblings.lint{ tree=, file=source, reach=, roots={folders}, read=function(path), version=, target= }
--     -> list of {finding, source}      files that cannot be read or parsed are left to the run, which says so

local ast <const> = require "nki.ast"
local entry <const> = require "nki.entry"
local parser <const> = require "rt.python"
local rules <const> = require "nki.rules"
local source_module <const> = require "nki.source"

local siblings <const> = {}

local MOST <const> = 64 -- files one kernel may pull in for judging

local function folder_of(path) return path:match("^(.*)/[^/]*$") or "." end

-- The file of a dotted module name from a file's folder and the roots; level counts leading dots.
local function locate(options, from, name, level)
  local folders <const> = {}
  if level > 0 then
    local folder = folder_of(from)
    for _ = 2, level do folder = folder_of(folder) end
    folders[1] = folder
  else
    folders[1] = folder_of(from)
    for _, root in ipairs(options.roots or {}) do folders[#folders + 1] = root end
  end
  local rest <const> = name:gsub("%.", "/")
  for _, folder in ipairs(folders) do
    local base <const> = rest == "" and folder or folder .. "/" .. rest
    for _, path in ipairs { base .. ".py", base .. "/__init__.py" } do
      local text <const> = options.read(path)
      if text then return path, text end
    end
  end
  return nil
end

local function judge(options, state, path, text, names)
  if state.seen[path] or state.count >= MOST then return end
  state.seen[path] = true
  state.count = state.count + 1
  local file <const> = source_module.new(path, text)
  local tree <const> = file and parser.parse(text, path)
  if not tree then return end
  local parents <const> = ast.parents(tree)
  local reported <const> = {}
  for _, statement in ipairs(tree.body) do
    local wanted <const> = (statement.type == "FunctionDef" or statement.type == "ClassDef") and (not names or names[statement.name])
    if wanted then
      local reach <const> = entry.reach(tree, statement)
      reach.dropped = {}
      for _, finding in ipairs(rules.lint {
        tree = tree, source = file, entry = statement, helper = true, reach = reach, version = options.version, target = options.target, parents = parents,
      }) do
        if not reported[finding.node] then
          reported[finding.node] = true
          state.findings[#state.findings + 1] = { finding, file }
        end
      end
      siblings.follow(options, state, path, reach)
    end
  end
end

-- Judge what the kept import statements of a file reach.
function siblings.follow(options, state, path, reach)
  for _, statement in ipairs(reach.statements) do
    if statement.type == "ImportFrom" then
      local found <const>, text <const> = locate(options, path, statement.module or "", statement.level or 0)
      if found then
        local names = {}
        for _, alias in ipairs(statement.names) do
          if alias.name == "*" then names = nil end
          if names then names[alias.name] = true end
        end
        judge(options, state, found, text, names)
      end
      -- `from . import helpers` names files.
      for _, alias in ipairs(statement.names) do
        local inner <const> = statement.module and statement.module .. "." .. alias.name or alias.name
        local file <const>, bytes <const> = locate(options, path, inner, statement.level or 0)
        if file then judge(options, state, file, bytes, nil) end
      end
    elseif statement.type == "Import" then
      for _, alias in ipairs(statement.names) do
        local found <const>, text <const> = locate(options, path, alias.name, 0)
        if found then judge(options, state, found, text, nil) end
      end
    end
  end
end

function siblings.lint(options)
  local state <const> = { seen = { [options.file.path] = true }, count = 0, findings = {} }
  siblings.follow(options, state, options.file.path, options.reach)
  return state.findings
end

return siblings
