# SPDX-License-Identifier: MIT
# Runs Python programs under CPython and prints them with what they printed, as JSON: [{name, source, expected}].
#   semantics.py traps            the hand-written ones (semantics_traps.py, semantics_more.py, semantics_edges.py)
#   semantics.py random SEED N    N generated programs (semantics_programs.py)
# An uncaught exception ends the output with a line "!Type: message @line".
import contextlib
import io
import json
import os
import resource
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")


def run(name, source):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, "program.py", "exec"), {"__name__": "program"})
    except SyntaxError as error:
        out.write(f"!syntax: {error.msg} @{error.lineno}\n")
    except Exception as error:
        frame = error.__traceback__
        line = None
        while frame:
            if frame.tb_frame.f_code.co_filename == "program.py":
                line = frame.tb_lineno
            frame = frame.tb_next
        out.write(f"!{type(error).__name__}: {error} @{line}\n")
    return {"name": name, "source": source, "expected": out.getvalue()}


def main():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    if sys.argv[1] == "traps":
        from semantics_traps import traps

        from semantics_edges import edges
        from semantics_more import more

        programs = traps() + more() + edges()
    else:
        from semantics_programs import programs as generate

        programs = generate(int(sys.argv[2]), int(sys.argv[3]))
    json.dump([run(name, source) for name, source in programs], sys.stdout)


if __name__ == "__main__":
    main()
