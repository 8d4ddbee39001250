-- SPDX-License-Identifier: MIT
-- From a structured error to a diagnostic: what, where, the two things that conflict with the expressions they came
-- from, the hardware reason in a clause, the document, and the fixes that may repair it. Data in, data out:
--
--   {code, severity, file, line, column, end_line, end_column, message, reason, source={doc,text}, operands={{name,
--    expr, shape, dtype, buffer, line}}, fix={title, edits}, fixes={...}, traceback={...}, case=}
--
--   diagnostics.of_finding(finding, source)   a finding of rules.lua
--   diagnostics.of_error(err, where)          an error of the machine or of the kernel's Python; where: see fixes/common.lua
--   diagnostics.plain(code, message, fields)  anything else (files, cases, limits)
--   diagnostics.json(d)                       a copy for JSON: internal fields dropped

local ast <const> = require "nki.ast"
local catalogue <const> = require "nki.catalogue"
local common <const> = require "nki.fixes.common"

local diagnostics <const> = {}

local builders <const> = {}
local function builder(name)
  if not name then return nil end
  local module <const>, fn <const> = name:match("^(%w+)%.([%w_]+)$")
  builders[module] = builders[module] or require("nki.fixes." .. module)
  return builders[module][fn]
end

local function dress(d)
  local row <const> = catalogue[d.code]
  d.severity = d.severity or row and row.severity or "error"
  d.reason = d.reason or row and row.reason or nil
  if not d.source and row and row.doc then d.source = { doc = row.doc, text = row.title } end
  return d
end

function diagnostics.plain(code, message, fields)
  local d <const> = {}
  for key, value in pairs(fields or {}) do d[key] = value end
  d.code, d.message = code, message
  return dress(d)
end

function diagnostics.of_finding(finding, source)
  local d <const> = source:span(finding.node)
  d.file = source.path
  d.code, d.severity, d.message, d.reason = finding.code, finding.severity, finding.message, finding.reason
  d.source = finding.doc and { doc = finding.doc, text = (catalogue[finding.code] or {}).title } or nil
  d.fix = finding.fix
  d.fixes = finding.fixes or finding.fix and { finding.fix } or nil
  return dress(d)
end

-- A shape and memory in words: float32[128,512] in SBUF.
function diagnostics.describe(operand)
  local parts <const> = {}
  if operand.shape then
    parts[1] = (operand.dtype or "") .. "[" .. table.concat(operand.shape, ",") .. "]"
  elseif operand.value then
    parts[1] = tostring(operand.value)
  end
  if operand.buffer then parts[#parts + 1] = "in " .. tostring(operand.buffer):upper():gsub("SHARED_HBM", "shared HBM") end
  return table.concat(parts, " ")
end

local DOCUMENTS <const> = {
  trainium_inferentia2_arch = "Trainium architecture guide", trainium2_arch = "Trainium2 architecture guide", nki_simulator = "NKI CPU simulator",
  ["nki-aps"] = "NKI access patterns", ["nki-migration-guide"] = "NKI Migration Guides", ["nki-dge"] = "NKI descriptor generation",
  ["nki.api.shared"] = "NKI supported operators", ["nki-language-guide"] = "NKI Language Guide",
}

-- The operands of an error with the expressions of the call they came from.
local function operands_of(err, c)
  local list <const> = {}
  for i, operand in ipairs(err.operands or {}) do
    local row <const> = { name = operand.name, shape = operand.shape, dtype = operand.dtype, buffer = operand.buffer, value = operand.value }
    if c then
      local node = operand.name and c:arg(operand.name)
      local at <const> = c.node
      if not node and operand.name == "tensor" and (at.type == "Subscript" or at.type == "Attribute") then node = at.value end
      if not node and operand.name == "output" and at.type == "Return" then node = at.value end
      if node then row.expr = c.source:expression(node, 80) end
      if operand.site and c.site_node then
        local made <const> = c.site_node(operand.site)
        if made and made.lineno then row.line = made.lineno end
      end
    end
    list[i] = row
  end
  return #list > 0 and list or nil
end

-- Where exactly: the argument at fault, if the error names one, else the call or the node itself.
local function span_node(err, c, node)
  if node.type == "Call" and err.operands and #err.operands > 0 and err.narrow ~= false then
    local last <const> = err.operands[#err.operands]
    local given <const>, keyword <const> = c:arg(err.param or last.name)
    if given and #err.operands == 1 then return keyword or given end
  end
  if node.type == "Call" and (err.code == "unknown-name") then return node.func end
  if err.code == "unexpected-keyword" and node.type == "Call" then
    for _, keyword in ipairs(node.keywords) do
      if keyword.arg == (err.keyword or err.got) then return keyword end
    end
  end
  -- A statement's own span would cover its whole body.
  if ast.is_statement(node) and node.body then
    return { lineno = node.lineno, col_offset = node.col_offset, end_lineno = node.lineno, end_col_offset = node.col_offset + 1 }
  end
  return node
end

-- Codes that the C side and the lowered Python raise under other names.
local ETYPES <const> = { AssertionError = "assert-failed", NameError = "unknown-name", UnboundLocalError = "unknown-name", MemoryError = "memory-limit" }

-- "data2 has 1 element" -> "data2 `m` has 1 element": what the call says, beside the parameter's name.
local function with_expressions(message, operands)
  for _, operand in ipairs(operands or {}) do
    if operand.expr and operand.expr ~= operand.name and #operand.expr <= 40 and operand.shape and operand.name ~= "output" then
      local done = false
      message = message:gsub("%f[%w_]" .. operand.name .. "%f[^%w_]", function(word)
        if done then return nil end
        done = true
        return ("%s `%s`"):format(word, operand.expr)
      end)
    end
  end
  return message
end

-- The signature that a wrong call should have followed.
local function signature_of(c)
  local op <const> = c and c.call and c:op_of(c.call)
  return op and require("nki.signatures").text(op) or nil
end

local WANTS_SIGNATURE <const> = {
  ["missing-argument"] = true, ["unexpected-keyword"] = true, ["too-many-arguments"] = true, ["duplicate-argument"] = true,
}

local function message_of(err, code, c, operands)
  local message = tostring(err.message or code)
  if WANTS_SIGNATURE[code] then
    local signature <const> = signature_of(c)
    local call <const> = c and c.call
    local assigned <const> = call and c.statement and c.statement.type == "Assign" and c.statement.value == call
    if code == "missing-argument" and assigned and signature and signature:match("^nisa%.[%w_]+%(dst") and not c:has_keyword("dst") then
      message = ("%s returns nothing to assign; it writes to dst=, which is missing"):format(signature:match("^[^(]+"))
    end
    return signature and ("%s; it is %s"):format(message, signature) or message
  end
  local module <const>, attribute <const> = message:match("^module '(nki%.%a+)' has no attribute '(.-)'$")
  if module then
    local names <const> = require "nki.names"
    local found <const> = names.suggest(module, attribute, require("nki.signatures").catalogue())
    message = ("%s has no `%s`"):format(module, attribute)
    if found then
      local text <const> = require("nki.signatures").text(found.full)
      message = ("%s; the nearest is %s"):format(message, text or found.full)
    end
    return message
  end
  if code == "sbuf-capacity" or code == "psum-capacity" then
    local advice <const> = require("nki.fixes.capacity").advice(err, c)
    if advice then message = ("%s; %s"):format(message, advice) end
  end
  if code == "tensor-operator" and err.got == "MatMult" then
    message = "`@` does not work on tensors: a product is nisa.nc_matmul(dst=a PSUM tile, stationary=the left side transposed, moving=the right side)"
  end
  message = with_expressions(message, operands)
  if err.kind == "nki" or err.op then
    local op <const> = err.op
    if op and op ~= "" and op ~= "return" and op ~= "subscript" and not message:find(op, 1, true) then return ("%s: %s"):format(op, message) end
    return message
  end
  if code == "assert-failed" then return "assertion failed" .. (message ~= "" and message ~= code and ": " .. message or "") end
  if err.etype and code == "python-error" then return ("%s: %s"):format(err.etype, message) end
  return message
end

-- The ends of a long traceback: what called, and where it went wrong. Repeated frames of a recursion say nothing.
local FRAMES <const> = 8
local function shorten(traceback)
  if not traceback or #traceback <= FRAMES then return traceback end
  local short <const> = { traceback[1], traceback[2] }
  for i = #traceback - FRAMES + 3, #traceback do short[#short + 1] = traceback[i] end
  return short
end

function diagnostics.of_error(err, where)
  local code = err.code
  if code == "assertion-failed" then code = "assert-failed" end
  if code == "internal-error" then code = "internal" end
  if not code or code == "python" then code = ETYPES[err.etype or ""] or "python-error" end
  if code == "python-error" and ETYPES[err.etype or ""] then code = ETYPES[err.etype] end
  if code == "python-error" and err.etype == "AttributeError" then code = "unknown-name" end
  local d <const> = {
    code = code, severity = err.severity or err.warning and "warning" or nil, reason = err.reason, traceback = shorten(err.traceback),
    file = where.source and where.source.path or where.file,
  }
  if err.want and err.got then d.want, d.got = err.want, err.got end
  if err.doc and err.doc ~= "" then
    local name <const> = DOCUMENTS[err.doc] or err.doc
    d.source = { doc = name, text = (catalogue[code] or {}).title }
  end
  if where.node and where.source then
    local c <const> = common.new(err, where)
    c.catalogue = where.catalogue
    c.err = setmetatable({ code = code }, { __index = err })
    local at <const> = where.source:span(span_node(err, c, where.node))
    for key, value in pairs(at) do d[key] = value end
    d.operands = operands_of(err, c)
    d.message = message_of(err, code, c, d.operands)
    local build <const> = not where.no_fix and builder((catalogue[code] or {}).fix) or nil
    if build then
      local ok <const>, fixes = pcall(build, c)
      if not ok then
        d.fix_error = tostring(fixes)
        fixes = nil
      end
      local list <const> = {}
      for _, fix in ipairs(fixes or {}) do list[#list + 1] = fix end
      if #list > 0 then
        d.fixes = list
        d.fix = list[1]
      end
    end
  else
    d.message = message_of(err, code)
    d.line, d.column = err.line, err.column
    d.end_line, d.end_column = err.end_line or err.line, err.end_column or err.column and err.column + 1
  end
  -- One frame says no more than the place itself.
  local frames <const> = d.traceback
  if frames and #frames == 1 and frames[1].line == d.line then d.traceback = nil end
  return dress(d)
end

-- Only what a reader of JSON needs: one fix, no internals.
function diagnostics.json(d)
  local copy <const> = {}
  for key, value in pairs(d) do
    if key ~= "fixes" and key ~= "fix_error" then copy[key] = value end
  end
  return copy
end

diagnostics.catalogue = catalogue
return diagnostics
