-- SPDX-License-Identifier: MIT
-- The way a debugging run takes through texts, as plain data that a run's state can hold. A repair that is proved is a step
-- on firm ground; any other may lead nowhere, so the text before it is remembered and gone back to when the next steps find
-- nothing. No text is visited twice. Apart from where the run is, the best text so far is kept: it is what the file gets.
--
--   way.begin(text, hash) -> w                 w.text, w.hash: where the run is; w.best = {text=, hash=, turns=}: the best so far
--   way.take(w, step) -> bool                  follow a step of work.debug that is "fixed"; is its text the best so far?
--   way.back(w, step) -> text, hash, turn      a step is "stuck": the text to go back to, and which turn (from 1) was taken in vain; or nil
--   way.kept(w, turn) -> bool                  is the repair of that turn in the best text?
--   way.seen(w)                                {[hash]="path" or "dead"}, for the request of the next step
--   way.circle(w) -> sentence or nil           did repairs lead back to a text on the way?

local way <const> = {}

function way.begin(text, hash)
  return { text = text, hash = hash, seen = { [hash] = "path" }, trail = {}, turns = 0, best = { text = text, hash = hash, turns = {} } }
end

function way.seen(w) return w.seen end

-- Is one standing (search.standing) better than another? A kernel that builds comes before one that does not, then one that runs on
-- data, then fewer wrong elements and numbers nearer to the right ones; of two that do not build the one that gets further. Equal ones
-- are not better, so an edit that changes nothing is never preferred.
local function better(a, b)
  if not a then return false end
  if not b then return true end
  for _, level in ipairs { "read", "built", "ran" } do
    if (a[level] or false) ~= (b[level] or false) then return a[level] or false end
  end
  if not a.read then return a.line > b.line end
  if not a.built then
    if a.reach ~= b.reach then return a.reach > b.reach end
    return a.errors < b.errors
  end
  if not a.ran then return false end
  if a.wrong ~= b.wrong then return a.wrong < b.wrong end
  return a.score < b.score * (1 - 1e-6)
end

function way.take(w, step)
  local after <const> = step.after or {}
  if w.hash == w.best.hash and not w.best.standing then w.best.standing = step.standing end
  w.turns = w.turns + 1
  w.trail[#w.trail + 1] = { text = w.text, hash = w.hash, turn = w.turns, code = step.diagnostic and step.diagnostic.code, line = step.diagnostic
    and step.diagnostic.line }
  w.text, w.hash = step.text, step.hash
  w.seen[step.hash] = "path"
  if after.rank ~= "proved" and after.rank ~= "checks" and not better(after.standing, w.best.standing) then return false end
  w.best = { text = step.text, hash = step.hash, standing = after.standing, turns = {} }
  for i, turn in ipairs(w.trail) do w.best.turns[i] = turn.turn end
  return true
end

function way.kept(w, turn)
  for _, kept in ipairs(w.best.turns) do if kept == turn then return true end end
  return false
end

-- The step before this one is undone by the repair that this one offers: name both.
local function remember_circle(w, step)
  if w.circled or (step.returns or 0) == 0 or #w.trail == 0 then return end
  local last <const>, d <const> = w.trail[#w.trail], step.diagnostic or {}
  w.circled = ("the repairs of line %s [%s] and line %s [%s] undo each other"):format(tostring(last.line), tostring(last.code), tostring(d.line),
    tostring(d.code))
end

function way.back(w, step)
  remember_circle(w, step)
  local turn <const> = table.remove(w.trail)
  if not turn then return nil end
  w.seen[w.hash] = "dead"
  w.text, w.hash = turn.text, turn.hash
  return turn.text, turn.hash, turn.turn
end

function way.circle(w) return w.circled end

return way
