-- SPDX-License-Identifier: MIT
-- Seeded mutation of source text: the same seed gives the same snippets on every machine.

local junk <const> = {
  "(", ")", "[", "]", "{", "}", ":", ",", ";", ".", "=", "==", ":=", "+", "-", "*", "**", "/", "->", "@", "if", "else", "for",
  "in", "not", "is", "and", "or", "lambda", "def", "class", "return", "yield", "await", "async", "pass", "break", "continue",
  "global x", "nonlocal y", "del", "import", "from", "as", "with", "try", "except", "finally", "raise", "while", "elif", "None",
  "True", "1", "0x", "1.5", "'s'", "\"t", "x", "y", "match", "case", "_", "...", "\n", "\n    ", "\n\t", "    ", "\\\n", "#", "print",
  "*a", "**b", "x=1", "!=", "<", ">", "!", "$", "type", "+=",
}

-- xorshift64*: good enough, and ours alone.
local function generator(seed)
  local state = seed ~ 0x9E3779B97F4A7C15
  return function(limit)
    state = state ~ (state << 13)
    state = state ~ (state >> 7)
    state = state ~ (state << 17)
    return (state >> 11) % limit + 1
  end
end

-- Text to a list of words, spaces and punctuation whose concatenation is the text.
local function split(text)
  local pieces <const> = {}
  local at = 1
  while at <= #text do
    local piece = text:match("^[%w_\128-\255]+", at) or text:match("^ +", at) or text:match("^.", at) or text:sub(at, at)
    if piece == "" then piece = "\n" end
    pieces[#pieces + 1] = piece
    at = at + #piece
  end
  return pieces
end

local function mutate(text, random)
  local pieces <const> = split(text)
  for _ = 1, random(3) == 1 and 2 or 1 do
    local count <const> = #pieces
    if count == 0 then return text end
    local at <const>, kind <const> = random(count), random(10)
    if kind <= 3 then
      table.remove(pieces, at)
    elseif kind <= 5 then
      table.insert(pieces, at, " " .. junk[random(#junk)] .. " ")
    elseif kind == 6 then
      pieces[at] = junk[random(#junk)]
    elseif kind == 7 then
      local other <const> = random(count)
      pieces[at], pieces[other] = pieces[other], pieces[at]
    elseif kind == 8 then
      table.insert(pieces, at, pieces[random(count)])
    elseif kind == 9 then
      for _ = 1, random(6) do
        if pieces[at] then table.remove(pieces, at) end
      end
    else
      for i = #pieces, at + 1, -1 do pieces[i] = nil end
    end
  end
  return table.concat(pieces)
end

return { generator = generator, mutate = mutate }
