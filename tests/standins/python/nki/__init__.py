# SPDX-License-Identifier: MIT
"""nki: compiles and runs a kernel standalone when it is called with NumPy arrays (nki/api/nki, nki.jit: "np.ndarray: compiles
and executes standalone kernel, without a framework"). Here the body runs on NumPy; NEFF and NTFF are written where the real
compiler and runtime write theirs."""
import hashlib
import inspect
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import standin

__version__ = "0.6.0+stand-in"

# "NKI_ARTIFACTS_DIR must be set before importing nki. If set after, the compile options will not pick it up and the NEFF goes
# to a temp directory that is deleted after execution." (neuron-runtime/nrtpy/nrtpy-troubleshooting)
_ARTIFACTS = os.environ.get("NKI_ARTIFACTS_DIR")
_TARGETS = {"trn1": "trn1", "inf2": "trn1", "gen2": "trn1", "trn2": "trn2", "gen3": "trn2", "trn3": "trn3", "gen4": "trn3"}  # nki/api/nki

standin.log_call("python", ["NEURON_RT_VISIBLE_CORES", "NEURON_LOGICAL_NC_CONFIG", "NEURON_CC_FLAGS", "NKI_DEBUG_INFO", "NEURON_FRAMEWORK_DEBUG", "XLA_IR_DEBUG",
                            "XLA_HLO_DEBUG", "NEURON_RT_INSPECT_ENABLE", "NEURON_RT_INSPECT_DEVICE_PROFILE", "NEURON_RT_INSPECT_SYSTEM_PROFILE",
                            "NEURON_RT_INSPECT_OUTPUT_DIR", "NKI_ARTIFACTS_DIR", "NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_SIMULATOR", "HOME",
                            "NEURON_RT_NUM_CORES", "NEURON_COMPILE_CACHE_URL"])


def _fail(error, *lines):
    for line in lines:
        sys.stderr.write(line + "\n")
    raise RuntimeError(error)


def _failures(kernel):
    for word in standin.choice("STANDIN_RUN"):
        if word == "driver":  # nrt-troubleshoot, Application fails to start
            _fail("nrt_init failed", standin.stamp() + " ERROR   NRT:nrt_init      Unable to determine Neuron Driver version. Please check aws-neuron-dkms package "
                  "is installed.")
        if word == "driver-old":
            _fail("nrt_init failed", standin.stamp() + " ERROR   NRT:nrt_init      This runtime requires Neuron Driver version 2.0 or greater. Please upgrade "
                  "aws-neuron-dkms package.")
        if word == "oob":  # nrtpy/tutorial-debug-neff-nrtpy: NRT Error NRT_EXEC_OOB(1006)
            _fail("NRT Error NRT_EXEC_OOB(1006): Failed to execute model", standin.stamp() + " ERROR  TDRV:generate_custom_notification_msg        nd0:nc0:h_model."
                  "id1107: Received notification generated at runtime: failed to run scatter/gather (indirect memory copy), due to out-of-bound access.")
        if word == "neff-version":  # nrt-troubleshoot, Unsupported NEFF Version
            _fail("load failed", "NEFF version mismatch supported: 1.1 received: 2.0")
        if word == "memory":  # nrt-troubleshoot, Insufficient Memory
            _fail("load failed", "kernel: [1.0] neuron:mc_alloc: device mempool [0:0] total 1073741568 occupied 960539030 needed 1272 available 768")
        if word == "hardware":  # nrt-troubleshoot, Hardware Errors
            _fail("NRT Error NRT_EXEC_HW_ERR_NC_UE(1202)", "[ND 0][NC 0] Uncorrectable memory error is detected, metadata: 0x16.")
        if word == "stuck":  # nrt-troubleshoot, Failure to initialize Neuron
            _fail("init", "nd0 nc0 Timestamp program stop timeout (1000 ms)", "TDRV not initialized", "Failed to initialize devices, error:5")
        if word == "libnrt":  # nrtpy/nrtpy-troubleshooting
            raise ImportError("libnrt.so.1: cannot open shared object file: No such file or directory")
        if word == "exception":
            raise AssertionError("K must be a multiple of 128")
        if word == "killed":
            os.kill(os.getpid(), 9)
        if word == "hang":
            import time
            time.sleep(600)


class Kernel:
    def __init__(self, fn, lnc=1):
        self.fn, self.lnc = fn, lnc

    def __getitem__(self, lnc):
        return Kernel(self.fn, lnc)

    def __call__(self, *args, **kwargs):
        if os.environ.get("NKI_SIMULATOR") == "1":  # nki/guides/nki_simulator: runs every kernel on the CPU
            return self.fn(*args, **kwargs)
        bound = inspect.signature(self.fn).bind(*args, **kwargs)
        tensors = {name: value for name, value in bound.arguments.items() if isinstance(value, np.ndarray)}
        target = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", standin.machine())
        if target not in _TARGETS:
            raise ValueError("unsupported platform target %s" % target)
        neff = self.compile(tensors, target)
        if "silent" in standin.choice("STANDIN_RUN"):
            sys.stdout.flush()
            os._exit(0)
        # From here on: the runtime.
        if standin.refuse_busy_core():
            _fail("nrt_init failed: NRT_FAILURE")
        _failures(self)
        if _TARGETS[target] != _TARGETS.get(standin.machine()) or "other-chip" in standin.choice("STANDIN_RUN"):
            _fail("NRT Error NRT_FAILURE(6): Failed to load model")  # nrtpy-troubleshooting: compiled for a different target architecture
        if standin.HEADER.unpack(neff[:1024])[13] != self.lnc:
            _fail("Logical NeuronCore mismatch: NEFF and kernel[%d]" % self.lnc)
        if int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", "1" if standin.machine() == "trn1" else "2")) != self.lnc:
            # nki/api/nki: "Mismatching the two will cause a runtime error." The wording is not public.
            _fail("Logical NeuronCore mismatch: kernel LNC %d, NEURON_LOGICAL_NC_CONFIG=%s" % (self.lnc, os.environ.get("NEURON_LOGICAL_NC_CONFIG")))
        self.inspect_files(neff)
        return self.fn(*args, **kwargs)

    def compile(self, tensors, target):
        name = self.fn.__name__
        # A cached NEFF keeps its old (missing) debug info; a compilation's identity follows from what it is made of.
        identity = "%s %s %s %s" % (inspect.getsource(self.fn), [(n, t.shape, str(t.dtype)) for n, t in tensors.items()], target, self.lnc)
        variables = {n: {"type": "input", "var_id": i, "size": int(t.nbytes)} for i, (n, t) in enumerate(tensors.items())}
        members = {"info.json": '{"num_tpb": 1}', "neff.json": "{}", "sg00/def.json": json.dumps({"var": variables})}
        if os.environ.get("NKI_DEBUG_INFO") == "True":  # tools/neuron-explorer/environment-variables
            source = inspect.getsourcefile(self.fn)
            members["kernel_debug_info.json"] = json.dumps({"file": source, "line": inspect.getsourcelines(self.fn)[1]})
        same = {"ambiguous", "unnamed"} & set(standin.choice("STANDIN_NEFFS"))
        with tempfile.TemporaryDirectory() as folder:
            graph, neff = os.path.join(folder, "graph.json"), os.path.join(folder, "kernel.neff")
            with open(graph, "w") as f:
                json.dump({"name": "graph" if same else name, "identity": identity, "members": members}, f)
            # NEURON_CC_FLAGS: flags for the compiler; neuronx-cc is a program, found in PATH.
            flags = os.environ.get("NEURON_CC_FLAGS", "").split() or ["--target", target]
            done = subprocess.run(["neuronx-cc", "compile", graph, "--framework", "XLA", "--output", neff] + flags, capture_output=True, text=True)
            if done.returncode:
                _fail("compilation failed", done.stderr)
            with open(neff, "rb") as f:
                neff = f.read()
        if _ARTIFACTS and "no-artifacts" not in standin.choice("STANDIN_NEFFS"):
            os.makedirs(_ARTIFACTS, exist_ok=True)
            with open(os.path.join(_ARTIFACTS, "kernel.neff"), "wb") as f:
                f.write(neff)
        return neff

    @staticmethod
    def inspect_files(neff):
        """NEURON_RT_INSPECT_*: per process a folder, per NEFF its copy and one NTFF per core
        (tools/neuron-explorer/how-to-profile-workload, neuron-explorer inspect output example)."""
        if os.environ.get("NEURON_RT_INSPECT_ENABLE") != "1":
            return
        folder = os.path.join(os.environ.get("NEURON_RT_INSPECT_OUTPUT_DIR", "./output"), "i-012590440bb9fd263_pid_%d" % os.getpid())
        os.makedirs(folder)
        graphs = [neff]
        if standin.choice("STANDIN_NEFFS"):
            # A reference or a copy that ran on the device: one NEFF per graph, the last one written is not the kernel's.
            members = {"info.json": b"{}"}
            if "ambiguous" in standin.choice("STANDIN_NEFFS"):
                members["kernel_debug_info.json"] = b"{}"
            graphs.append(standin.neff_bytes("copy_buffers" if "extra" in standin.choice("STANDIN_NEFFS") else "graph", "copy", members, 1))
        for graph in graphs:
            number = int.from_bytes(hashlib.sha256(graph).digest()[:7], "little")
            with open(os.path.join(folder, "neff_%d_vnc_0.neff" % number), "wb") as f:
                f.write(graph)
            if os.environ.get("NEURON_RT_INSPECT_DEVICE_PROFILE", "0") in ("1", "model"):
                with open(os.path.join(folder, "%d_vnc_0.ntff" % number), "wb") as f:
                    if "no-trace" not in standin.choice("STANDIN_RUN"):  # "NTFF files are 0 bytes": likely a warm-up issue
                        f.write(standin.trace_bytes(graph, False))
        if os.environ.get("NEURON_RT_INSPECT_SYSTEM_PROFILE", "1") == "1":  # "1 (on when INSPECT_ENABLE=1)"
            for name in ("ntrace.pb", "trace_info.pb"):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(b"\0" * 16)


def jit(fn=None, **_):
    return Kernel(fn) if fn else Kernel
