-- SPDX-License-Identifier: MIT
-- work.profile_import: the worker job that turns neuron-explorer's files into a profile database.
--
-- request: { folder=Parquet files of one profile | json=file of the older full JSON | summary=file of summary-json,
--   db=absolute path to write, provenance={key=text}, notes={ {level, code, message} }, roots={folders where source files may be read} }
-- result:  what profile.import says: { tables={name=rows}, notes=, bytes= }. nil, err when a file is damaged: the database that
--   was there before is as it was.

local import <const> = require "profile.import"

local work <const> = {}

function work.run(request, job)
  local options <const> = { provenance = request.provenance, notes = request.notes, roots = request.roots, progress = job and job.progress or nil }
  local made, err
  if request.folder then
    made, err = import.parquet(request.folder, request.db, options)
  elseif request.json then
    made, err = import.json(request.json, request.db, options)
  else
    made, err = import.summary(request.summary, request.db, options)
  end
  if not made then
    if err.status == nil and err.code ~= "no_space" and err.code ~= "no-space" then err.status = 2 end
    return nil, err
  end
  return made
end

return work
