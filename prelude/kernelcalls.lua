-- SPDX-License-Identifier: MIT
-- kernelcalls: what a worker at work on a kernel may ask of the host: a Python child for a reference that nkiln's own
-- front end does not run, and for the vendor's simulator. The child is confined; it gets files, not names.

local fault <const> = require "fault"
local pythons <const> = require "pythons"

local kernelcalls <const> = {}

-- on_call for jobs.run. request: the job's request; folders: what the child may read.
function kernelcalls.answer(host, request, folders)
  local calls <const> = {}

  -- {modules=, arguments=, input=, seconds=} -> {status, stdout, stderr}; nil, err. The first Python that holds the modules
  -- runs with these arguments; it may read the kernel's folders and write nothing.
  function calls.run_python(what)
    local found <const>, err <const> = pythons.find(host, what.modules or {}, request.python)
    if not found then return nil, fault.data(err) end
    -- A wrapper (pyenv's) leads to the interpreter of its environment, which a confined child can reach.
    local program, own <const> = found.path, found.prefix and found.prefix .. "/bin/python3"
    if own and program:sub(1, #found.prefix + 1) ~= found.prefix .. "/" and host.disk.stat(own) then program = own end
    local argv <const> = { program }
    for _, word in ipairs(what.arguments or {}) do argv[#argv + 1] = tostring(word) end
    local read <const> = { found.prefix, "/usr", "/lib", "/lib64", "/etc", "/opt", found.path:match("^(.*)/bin/[^/]*$") }
    for _, folder in ipairs(folders) do read[#read + 1] = folder end
    local result <const>, why <const> = host.capture(argv, {
      cwd = "/", input = what.input, seconds = math.min(what.seconds or 120, 3600), limit = 1 << 30,
      env = { PYTHONDONTWRITEBYTECODE = "1", OMP_NUM_THREADS = "2", NKILN_CHILD = "1" }, jail = { read = read, write = {}, net = false },
    })
    if not result then return nil, fault.data(fault.of(why)) end
    return result
  end

  return function(name, value)
    local answer <const> = calls[name]
    if not answer then error(("the host answers no call %s"):format(tostring(name)), 0) end
    return answer(value or {})
  end
end

return kernelcalls
