-- SPDX-License-Identifier: MIT
-- The way a debugging run takes through texts, as plain data that a run's state can hold. A repair that is proved is a step
-- on firm ground; any other may lead nowhere, so the text before it is remembered and gone back to when the next steps find
-- nothing. No text is visited twice.
--
--   way.begin(text, hash) -> w                 w.text, w.hash: where the run is
--   way.take(w, step)                          follow a step of work.debug that is "fixed"
--   way.back(w, step) -> text, hash, turn      a step is "stuck": the text to go back to, and which turn (from 1) was taken in vain; or nil
--   way.settle(w)                              nothing is left to try: leave the furthest text that no guess at numbers led to
--   way.seen(w)                                {[hash]="path" or "dead"}, for the request of the next step
--   way.circle(w) -> sentence or nil           did repairs lead back to a text on the way?

local way <const> = {}

function way.begin(text, hash) return { text = text, hash = hash, seen = { [hash] = "path" }, trail = {}, turns = 0 } end

function way.seen(w) return w.seen end

-- How good a text is to be left with: one that builds before one that does not, then how far the machine gets.
local function worth(after)
  if after.rank == "builds" or after.rank == "proved" or after.rank == "checks" then return math.huge end
  return after.reach or 0
end

function way.take(w, step)
  local after <const> = step.after or {}
  w.turns = w.turns + 1
  w.trail[#w.trail + 1] = { text = w.text, hash = w.hash, turn = w.turns, code = step.diagnostic and step.diagnostic.code, line = step.diagnostic
    and step.diagnostic.line }
  w.text, w.hash = step.text, step.hash
  w.seen[step.hash] = "path"
  if step.stage == "build" and worth(after) > (w.best and w.best.worth or -1) then
    w.best = { text = step.text, hash = step.hash, worth = math.min(worth(after), 1e300) }
  end
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

function way.settle(w)
  if w.best and w.best.hash ~= w.hash then w.text, w.hash = w.best.text, w.best.hash end
  return w.text, w.hash
end

function way.circle(w) return w.circled end

return way
