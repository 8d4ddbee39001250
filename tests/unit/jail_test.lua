-- SPDX-License-Identifier: MIT
-- The jail of a worker: tests/jailtry.c enters it and tries every way out; here is what each try must come to.
local t <const> = require "tests.lib"
local vm <const> = require "rt.vm"
local proc <const> = require "rt.proc"
local task <const> = require "rt.task"

local function folders()
  local dir <const> = t.tmpdir()
  for _, name in ipairs { "read", "write", "outside" } do
    os.execute("mkdir " .. dir .. "/" .. name)
    t.write(dir .. "/" .. name .. "/file", "content of " .. name)
  end
  os.execute(("ln -s %s/outside/file %s/write/link-out"):format(dir, dir))
  return dir
end

local allowed <const> = {
  "read-inside", "write-inside", "append-inside", "mkdir-inside", "rename-inside", "unlink-inside", "dev-null", "thread",
  "kill-self", "limit-of-self", "socketpair",
}
local by_landlock <const> = {
  "write-in-read-root", "create-in-read-root", "truncate-open-in-read-root", "truncate-in-read-root", "unlink-in-read-root", "read-outside",
  "write-outside", "truncate-outside", "list-outside", "read-through-dotdot", "read-through-link", "hard-link-in", "rename-in", "rename-out",
  "mknod", "etc-passwd", "parent-memory",
}
local by_seccomp <const> = {
  "chmod", "chmod-inside", "fchmod", "chown", "utimes", "setxattr", "fork", "vfork", "clone3", "clone-new-user", "execve", "execveat",
  "kill-parent", "kill-everyone", "tgkill-parent", "tkill-parent",
  "queue-signal-to-parent", "pidfd-signal", "pidfd-open", "ptrace", "read-memory", "limit-of-parent", "nice-of-parent", "socket-inet",
  "socket-inet6", "socket-netlink", "socket-unix", "socket-vsock", "connect", "bind", "sendto", "unshare", "setns", "mount", "chroot",
  "io-uring", "bpf", "keyctl", "perf", "userfaultfd", "handle", "reboot",
}

local EPERM <const>, ENOSYS <const> = 1, 38

t.test("every way out is tried and refused, and work inside goes on", function()
  local dir <const> = folders()
  local code <const>, out <const>, err <const> = t.sh(("%s --jail-try %s/read %s/write %s/outside"):format(t.quote(vm.executable()), dir, dir, dir))
  t.eq({ code, err }, { 0, "" })
  local seen <const> = {}
  for name, value in out:gmatch("([%w-]+) (%d+)\n") do seen[name] = math.tointeger(value) end
  for _, name in ipairs(allowed) do t.eq(seen[name], 0, name) end
  if seen.landlock >= 3 then
    for _, name in ipairs(by_landlock) do t.ok((seen[name] or 0) ~= 0, name .. " worked") end
  end
  if seen.seccomp == 1 then
    for _, name in ipairs(by_seccomp) do
      local code_seen <const> = seen[name]
      t.ok(code_seen == EPERM or (code_seen == ENOSYS and name == "clone3"), name .. " gave " .. tostring(code_seen))
    end
  end
  if seen.landlock >= 3 then
    t.eq(t.read(dir .. "/read/file"), "content of read")
    t.eq(t.read(dir .. "/outside/file"), "content of outside")
  end
  t.ok(seen.landlock > 0 or seen.seccomp == 1, "no layer at all works here")
end)

-- External programs, in whichever layer works.
local function confined(layer, dir, script, extra)
  local jail <const> = { read = { dir .. "/read" }, write = { dir .. "/write" }, layer = layer }
  for k, v in pairs(extra or {}) do jail[k] = v end
  return task.run(function()
    return proc.run { argv = { "sh", "-c", script }, cwd = dir .. "/write", env = { PATH = "/usr/bin:/bin" }, jail = jail, deadline = 20 }
  end)
end

for _, layer in ipairs { "bwrap", "landlock" } do
  t.test("a program confined by " .. layer .. " works inside and finds nothing outside", function()
    local layers <const> = proc.jail_layers()
    if layer == "bwrap" and not layers.bubblewrap then t.skip("bubblewrap does not work here") end
    if layer == "landlock" and (layers.landlock < 3 or not layers.seccomp) then t.skip("layers missing here: " .. layers.text) end
    local dir <const> = folders()
    local result <const>, err <const> = confined(layer, dir, [[
      pwd
      cat ../read/file; echo
      echo written > new && cat new
      cat ../outside/file && echo BAD
      echo x > ../read/new && echo BAD
      echo x > ../outside/new && echo BAD
      ls /root && echo BAD
      ls /home/. && echo BAD
      kill -0 ]] .. proc.pid() .. [[ && echo BAD
      ]] .. (layer == "bwrap" and "chmod 777 ../outside/file && echo BAD" or "") .. [[

      true]])
    -- Modes of files are the known gap of Landlock; programs such as linkers need chmod, so that layer leaves it.
    t.ok(result, err and err.message)
    t.eq({ result.status, result.stdout }, { 0, dir .. "/write\ncontent of read\nwritten\n" })
    t.has(result.jail, layer == "bwrap" and "bubblewrap" or "landlock")
    t.eq(t.read(dir .. "/write/new"), "written\n")
    t.eq(t.read(dir .. "/outside/file"), "content of outside")
  end)

  t.test("a program confined by " .. layer .. " has no network, unless it is granted", function()
    local layers <const> = proc.jail_layers()
    if layer == "bwrap" and not layers.bubblewrap then t.skip("bubblewrap does not work here") end
    if layer == "landlock" and (layers.landlock < 3 or not layers.seccomp) then t.skip("layers missing here: " .. layers.text) end
    local _, out <const> = t.sh("command -v python3 || true")
    if out == "" then t.skip("no python3 to open a socket with") end
    local dir <const> = folders()
    local script <const> = [[python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1); c = socket.socket(); c.connect(s.getsockname()); print("connected")
import os; print(len([n for n in os.listdir("/sys/class/net") if n != "lo"]) if os.path.isdir("/sys/class/net") else 0)' 2>&1 | tail -1]]
    local denied <const> = confined(layer, dir, script)
    t.ok(denied)
    if layer == "landlock" then t.has(denied.stdout, "Permission") else t.eq(denied.stdout, "0\n") end
  end)
end

t.test("a layer asked for by name that is missing is refused", function()
  local dir <const> = folders()
  local layers <const> = proc.jail_layers()
  if layers.bubblewrap then t.skip("bubblewrap works here") end
  local result <const>, err <const> = confined("bwrap", dir, "true")
  t.eq({ result, err.code }, { nil, "unavailable" })
end)

t.test("resource limits hold in every layer", function()
  local dir <const> = folders()
  local layers <const> = proc.jail_layers()
  if not layers.bubblewrap and layers.landlock < 3 then t.skip("no layer for programs here") end
  local result <const> = confined("auto", dir, "while :; do :; done", { cpu = 1 })
  t.ok(result.status ~= 0)
  t.ok(result.status ~= 0 and result.seconds < 15)
  local big <const> = confined("auto", dir, "head -c 100000 /dev/zero > big; ls -l big | awk '{print $5}'", { file_size = 4096 })
  t.has(big.stdout, "4096")
end)
