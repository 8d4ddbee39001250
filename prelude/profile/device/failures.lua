-- SPDX-License-Identifier: MIT
-- What the vendor's tools say when they fail, what it means, and what to do: one row per failure, most telling first.
--
--   failures.find(text, facts) -> row's { name=, code=, message=, hint= } with the facts filled in, or nil
--   failures.warnings(text)    -> rows of level "warning": the run went on, but the profile lacks something
--   failures.last_line(text)   -> the last line that says something, without the messages documented as harmless
-- `facts` fills {core}, {target}, {lnc}, {holders}, {log}. Codes are those of fault.lua: "missing" is exit status 3.
-- Sources are pages of the AWS Neuron SDK documentation, or reports of users where a page is not named.

local failures <const> = {}

-- name, code, patterns (Lua patterns, any of them), message, hint, source
failures.rows = {
  { "dge-overflow", "failed", { "NRT_EXEC_SW_NQ_OVERFLOW", "potentially caused by DGE notifications", "notification queue overflow" },
    "the notifications about DMA descriptors overflowed their queue", "the capture is tried again without them; DMA names are then unknown",
    "neuron-runtime/nrt-troubleshoot, Neuron DGE notification queue overflow" },
  { "core-busy", "unavailable", { "NeuronCore%(s%) not available", "NRT_EXEC_NC_BUSY" },
    "NeuronCore {core} is in use by another process{holders}", "end that process, or choose another core with NEURON_RT_VISIBLE_CORES=N",
    "neuron-runtime/nrt-troubleshoot, Neuron Core is in use" },
  { "driver-missing", "missing", { "Unable to determine Neuron Driver version" },
    "the Neuron driver is not loaded", "install aws-neuronx-dkms, then sudo modprobe neuron", "neuron-runtime/nrt-troubleshoot, Application fails to start" },
  { "driver-old", "missing", { "requires Neuron Driver version", "is not compatible with the installed aws%-neuron" },
    "the Neuron driver and the runtime do not fit together", "upgrade aws-neuronx-dkms, then sudo rmmod neuron and sudo modprobe neuron",
    "neuron-runtime/nrt-troubleshoot, Application fails to start; This Neuron Runtime is not compatible" },
  { "device-stuck", "unavailable", { "Failed to initialize devices", "TDRV not initialized" },
    "an earlier program left the device in a running state", "sudo rmmod neuron; sudo modprobe neuron",
    "neuron-runtime/nrt-troubleshoot, Failure to initialize Neuron" },
  { "too-many-cores", "usage", { "Could not open the nd%d", "Could not find VNC id", "NRT_LOAD_NOT_ENOUGH_NC" },
    "NeuronCore {core} is not on this machine", "neuron-ls lists the cores; NEURON_RT_VISIBLE_CORES chooses one",
    "neuron-runtime/nrt-troubleshoot, An application is trying to use more cores; Insufficient number of NeuronCores" },
  { "lnc-mismatch", "usage", { "[Ll]ogical [Nn]euron[Cc]ore [%a ]*mismatch", "LNC [%a ]*mismatch", "NEURON_LOGICAL_NC_CONFIG.-match" },
    "the kernel was launched for another LNC than the runtime's, which is {lnc}", "give --lnc 1 or --lnc 2 as the kernel is written for",
    "nki/api/nki, nki.jit" },
  { "neff-version", "missing", { "NEFF version mismatch supported", "NRT_UNSUPPORTED_NEFF_VERSION" },
    "the compiler makes a NEFF that this runtime does not know", "update compiler and runtime to the same Neuron SDK release",
    "neuron-runtime/nrt-troubleshoot, Unsupported NEFF Version" },
  { "operator", "missing", { "Unsupported hardware operator code" },
    "the runtime is older than the compiler", "upgrade aws-neuronx-runtime-lib and aws-neuronx-collectives",
    "neuron-runtime/nrt-troubleshoot, Unsupported Hardware Operator Code" },
  { "out-of-bounds", "failed", { "NRT_EXEC_OOB", "due to out%-of%-bound access" },
    "the kernel reads or writes outside a tensor on the device", "look at its indices; nkiln sim with the same case shows the line",
    "neuron-runtime/nrt-troubleshoot, Neuron Runtime execution fails at out-of-bound access" },
  { "numerical", "failed", { "INFER_ERROR_SUBTYPE_NUMERICAL", "NRT_EXEC_COMPLETED_WITH_NUM_ERR" },
    "the device reported NaN", "give inputs that the kernel is meant for, as in x=@x.npy", "neuron-runtime/nrt-troubleshoot, Numerical Error" },
  { "hardware", "failed", { "NRT_EXEC_HW_ERR_[%u_]+", "NRT_HW_ERROR", "NRT_EXEC_UNIT_UNRECOVERABLE", "[Uu]ncorrectable [%u ]*memory error" },
    "the device reported a hardware error", "see the log; reload the driver, or stop and start the instance",
    "neuron-runtime/nrt-troubleshoot, Hardware Errors" },
  { "wrong-target", "usage", { "NRT_FAILURE%(6%)", "compiled for a different target" },
    "the NEFF was compiled for another chip than this one", "give --target as this machine has it",
    "neuron-runtime/nrtpy/nrtpy-troubleshooting, NRT_FAILURE(6) on load_from_neff" },
  { "device-memory", "failed", { "NRT_RESOURCE", "device mempool", "[Ff]ailed to allocate .-bytes.-device" },
    "the device is short of memory: the profiler itself takes about 5 GB of HBM", "use smaller shapes, or end what else runs on this device",
    "tools/neuron-explorer/troubleshooting, Out-of-memory during profiling" },
  { "timeout", "failed", { "NRT_TIMEOUT", "execution timeout %(" },
    "the execution did not end within the runtime's time limit", "NEURON_RT_EXEC_TIMEOUT=SECONDS raises it",
    "neuron-runtime/api/nrt_status" },
  { "uuid", "bad-input", { "UUID.-[Mm]ismatch", "[Mm]ismatch.-UUID", "UUIDs? do not match" },
    "NEFF and NTFF come from different compilations", "recompile and capture again in one session, or give the pair with equal numbers in their names",
    "tools/neuron-explorer/troubleshooting, NEFF/NTFF UUID mismatch" },
  { "ntff-version", "missing", { "NTFF version %d+ is not supported" },
    "the tools are older than the runtime that wrote the trace", "upgrade aws-neuronx-tools", "issue 1007 of aws-neuron-sdk" },
  { "incomplete", "failed", { "ERROR_PROCESS_INCOMPLETE" },
    "neuron-explorer gave up: a trace over 5 GB, a damaged file, a mismatched pair or a full disk", "profile a smaller case; see the log",
    "tools/neuron-explorer/troubleshooting, ERROR_PROCESS_INCOMPLETE" },
  { "home", "bad-input", { "%$HOME is not defined" },
    "neuron-explorer does not start without HOME", "set HOME", "reports of users" },
  { "legacy", "missing", { "please use neuron%-explorer" },
    "only the old neuron-profile is here, which does not write Parquet", "install a newer aws-neuronx-tools: it brings neuron-explorer",
    "tools/neuron-explorer/migration-faq" },
  { "not-profiled", "failed", { "hw profiler overview not found" },
    "nothing was profiled while this ran", "set NEURON_RT_INSPECT_ENABLE=1 (not NEURON_RT_ENABLE_INSPECT) before the process starts",
    "issue 1092 of aws-neuron-sdk" },
  { "no-profiles", "bad-input", { "no device or system profiles found" },
    "the capture left nothing that neuron-explorer can read", "see the log", "reports of users" },
  { "old-tool", "missing", { "unknown flag", "unknown command", "unknown option" },
    "this neuron-explorer is too old for the flags that are needed", "upgrade aws-neuronx-tools", "tools/neuron-explorer/how-to-profile-workload" },
  { "disk", "no-space", { "[Nn]o space left on device" }, "the disk is full", "a trace can need hundreds of megabytes; the work folder is named in the log",
    "tools/neuron-explorer/troubleshooting, ERROR_PROCESS_INCOMPLETE" },
  { "host-memory", "failed", { "NRT_FAIL_HOST_MEM_ALLOC", "runtime: out of memory", "cannot allocate memory", "MemoryError", "signal: killed" },
    "this machine ran out of memory", "profile a smaller case, or use a machine with more memory",
    "tools/neuron-explorer/troubleshooting, Profile stuck in PROCESSING" },
  { "libnrt", "missing", { "libnrt%.so" },
    "the Neuron runtime library is not found", "export LD_LIBRARY_PATH=/opt/aws/neuron/lib:$LD_LIBRARY_PATH, or install aws-neuronx-runtime-lib",
    "neuron-runtime/nrtpy/nrtpy-troubleshooting, Cannot find libnrt" },
  { "numpy", "missing", { "compiled against API version 0x%x+ but this version of numpy" },
    "this Python's NumPy does not fit its Neuron packages", "install the NumPy that the Neuron SDK release names",
    "neuron-runtime/nrt-troubleshoot, RuntimeError: module compiled against API version" },
  { "device-permission", "denied", { "[Pp]ermission denied.-/dev/neuron", "/dev/neuron%d*.-[Pp]ermission denied" },
    "this user may not use the Neuron device", "sudo usermod -aG the group of /dev/neuron0, or run where the device is readable", "reports of users" },
  { "no-device", "missing", { "[Nn]o [Nn]euron device", "nrt_init.-no devices", "NRT_UNINITIALIZED" },
    "there is no Neuron device", "run this on a Trainium or Inferentia2 instance", "reports of users" },
}

local WARNINGS <const> = {
  { "dropped", { "(%d+) trace events were dropped", "trace events were dropped during capture %(stored (%d+)" },
    "events were dropped: the trace buffers were full, and the oldest part is missing" },
  { "dma-inaccurate", { "DMA results may not be accurate", "Missing additional dynamic DMA metadata" },
    "DMA figures may be inaccurate: descriptors made on the device were not traced" },
  { "throttled", { "Active FLOPS Throttling Detected" }, "the Tensor engine was throttled by the hardware while it computed" },
}

-- Log lines that neuron-explorer documents as harmless (troubleshooting, Non-fatal processing messages).
local HARMLESS <const> = { "Unable to process node with uid", "invalid DMA duration", "Unable to convertToInt64" }

local function fill(text, facts)
  return (text:gsub("{(%a+)}", function(key) return tostring(facts[key] or "") end))
end

function failures.find(text, facts)
  facts = facts or {}
  local code <const> = text:match("NCC_[EI]%u%u%u%d%d%d")
  if code then
    local line <const> = text:match("([^\n]*" .. code .. "[^\n]*)")
    return { name = "compiler", code = "failed", message = "the vendor's compiler refused the kernel: " .. line:gsub("^%s+", ""):sub(1, 300),
      hint = "nkiln check names the line and the repair where it knows the rule" }
  end
  for _, row in ipairs(failures.rows) do
    for _, pattern in ipairs(row[3]) do
      if text:find(pattern) then
        return { name = row[1], code = row[2], message = fill(row[4], facts), hint = fill(row[5], facts), source = row[6] }
      end
    end
  end
  local module <const> = text:match("No module named '([%w_.]+)'")
  if module then
    return { name = "module", code = "missing", message = ("this Python has no module %s"):format(module), hint = "name the Neuron environment with --python" }
  end
end

function failures.warnings(text)
  local out <const> = {}
  for _, row in ipairs(WARNINGS) do
    for _, pattern in ipairs(row[2]) do
      if text:find(pattern) then
        out[#out + 1] = { level = "warning", code = row[1], message = row[3] }
        break
      end
    end
  end
  return out
end

function failures.last_line(text)
  local last
  for line in text:gmatch("[^\n]+") do
    local harmless = not line:find("%S")
    for _, part in ipairs(HARMLESS) do harmless = harmless or line:find(part, 1, true) ~= nil end
    if not harmless then last = line end
  end
  return last and (last:gsub("^%s+", ""):sub(1, 300)) or nil
end

return failures
