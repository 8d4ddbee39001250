-- SPDX-License-Identifier: MIT
-- kernelargs: the arguments that check, sim and watch share, and the request they become.

local case <const> = require "nki.case"
local fault <const> = require "fault"
local params <const> = require "params"
local h <const> = params.helpers

local kernelargs <const> = {}

kernelargs.targets = { "trn2", "trn3", "trn1", "inf2" }
kernelargs.versions = { "0.2", "0.3", "0.4", "0.5", "0.6" }

function kernelargs.kernel() return h.path("kernel", "the kernel file", { metavar = "KERNEL.py" }) end

-- Parameters of every command that looks at a kernel.
function kernelargs.common()
  return {
    h.list(h.text("case", "one call of the kernel, as in \"x=bfloat16[256,1024], scale=0.125\""), { short = "c" }),
    h.text("entry", "the kernel's function, where the file has more than one", { optional = true }),
    h.choice("target", kernelargs.targets, "trn2", "the chip"),
    h.choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
  }
end

-- Parameters of commands that run it.
function kernelargs.running()
  return {
    h.text("reference", "judge the outputs against this Python function over NumPy or PyTorch arrays",
      { optional = true, metavar = "REF.py[:FUNCTION]", short = "r" }),
    h.path("out", "write inputs and outputs here, as .npy files", { optional = true, output = true, metavar = "DIR" }),
    h.choice("against", { "nki" }, nil, "also run the vendor's simulator, where an environment holds it", { optional = true }),
    h.path("python", "the Python, or environment, for references and --against", { optional = true }),
    h.integer("seed", "seed of the generated inputs", { optional = true, min = 0 }),
  }
end

-- "REF.py:function" -> file, function.
function kernelargs.split_reference(text)
  local file <const>, name <const> = text:match("^(.+%.py):([%a_][%w_.]*)$")
  if file then return file, name end
  return text, nil
end

local function readable(host, path, what)
  local absolute <const> = host.absolute(path)
  local st <const>, err <const> = host.disk.stat(absolute)
  if not st then
    local code <const> = tostring(err.code or "not_found"):gsub("_", "-")
    return nil, fault.new(code, ("the %s cannot be read: %s"):format(what, fault.why(err)), { where = path })
  end
  if st.kind == "dir" then return nil, fault.new("is-directory", ("the %s is a folder; a Python file is expected"):format(what), { where = path }) end
  if st.kind ~= "file" then return nil, fault.new("not-a-file", ("the %s is no regular file; a Python file is expected"):format(what), { where = path }) end
  return absolute
end

-- The request for work.check or work.sim, and the folders the worker reads; or nil, err.
function kernelargs.request(host, args)
  local kernel <const>, err <const> = readable(host, args.kernel, "kernel")
  if not kernel then return nil, err end
  local request <const> = {
    path = kernel, cases = args.case, entry = args.entry, target = args.target, nki_version = args.nki_version, seed = args.seed, against = args.against,
    shown_path = args.kernel, workspace = host.workspace(),
  }
  local folders <const> = { kernel:match("^(.*)/[^/]*$"), host.workspace() }
  if args.reference then
    local file <const>, name <const> = kernelargs.split_reference(args.reference)
    local reference <const>, why <const> = readable(host, file, "reference")
    if not reference then return nil, why end
    request.reference, request.reference_function = reference, name
    folders[#folders + 1] = reference:match("^(.*)/[^/]*$")
  end
  for _, text in ipairs(args.case or {}) do
    -- Arrays from files: x=@data/x.npy names a file relative to the folder the command was given in.
    for _, file in ipairs(case.files(text)) do folders[#folders + 1] = host.absolute(file) end
  end
  request.cwd = host.cwd
  if args.out then request.out = host.absolute(args.out) end
  if args.python then request.python = host.absolute(args.python) end
  for i, folder in ipairs(folders) do
    if folder == "" then folders[i] = "/" end
  end
  request.roots = folders
  return request, folders
end

return kernelargs
