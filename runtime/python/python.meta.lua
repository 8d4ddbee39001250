-- SPDX-License-Identifier: MIT
---@meta
-- luacheck: ignore 212 241
-- rt.python as seen from Lua. Wrong argument types raise; a source that is not Python gives nil and an error.

---@class python.SyntaxError
---@field code "syntax"|"memory"
---@field message string CPython's words
---@field etype "SyntaxError"|"IndentationError"|"TabError"|nil nil with code "memory"
---@field line integer? from 1
---@field column integer? in characters, from 1
---@field end_line integer?
---@field end_column integer? one past the last character
---@field text string? the line

-- A node of CPython 3.11's ast: `type` is the kind, the fields have CPython's names (but ExceptHandler's `type` is
-- `exception`). Lists are sequences, in which false stands for None; an absent field is nil. Operators and contexts are
-- strings. Constant and MatchSingleton hold `kind_of` and `value`. Of Python 3.12 and 3.13: TypeAlias, TypeVar, ParamSpec,
-- TypeVarTuple, and `type_params` where there are any.
---@class python.Node
---@field type string
---@field lineno integer? from 1
---@field col_offset integer? in bytes, from 0
---@field end_lineno integer?
---@field end_col_offset integer?
---@field kind_of "None"|"bool"|"int"|"bigint"|"float"|"complex"|"str"|"bytes"|"ellipsis"|nil
---@field value any of a constant: bigint as decimal digits, complex as its imaginary part, str as UTF-8
---@field kind "u"|nil

local python = {}

---@param source string
---@param filename string?
---@param limit integer? bytes the parse may take, 0 = any
---@return python.Node? tree
---@return python.SyntaxError? err
function python.parse(source, filename, limit) end

-- Parses and checks as `parse` does, without making tables.
---@param source string
---@param limit integer?
---@return true?
---@return python.SyntaxError? err
function python.check(source, limit) end

-- Parses without the checks of names, scopes and flow.
---@param source string
---@param limit integer?
---@return true?
---@return python.SyntaxError? err
function python.parse_only(source, limit) end

return python
