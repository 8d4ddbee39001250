-- SPDX-License-Identifier: MIT
-- The debugging skill: one step. It looks at a kernel, names what is wrong first, and proposes one edit that was tried. The
-- loop, the budget and the files are the debugging agent's.

local kernelargs <const> = require "kernelargs"

return skill {
  name = "neuron-nki-debugging",
  alias = "debug-step",
  description = "Look at one NKI kernel: check it for every case, run and prove it when a reference is given, name the first thing wrong "
    .. "and propose one edit that was tried on the NKI machine. One step, nothing is written; use the debugging agent (nkiln debug) for the whole loop.",
  params = {
    path("kernel", "the kernel file", { siblings = true, metavar = "KERNEL.py" }),
    list(text("case", "one call of the kernel, as in \"x=bfloat16[256,1024], scale=0.125\"", { files = true }), { short = "c", min = 1 }),
    path("reference", "judge the outputs against this function", { siblings = true, optional = true, metavar = "REF.py[:FUNCTION]", short = "r" }),
    text("entry", "the kernel's function, where the file has more than one", { optional = true }),
    choice("target", kernelargs.targets, "trn2", "the chip"),
    choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
    number("step_seconds", "how long the search for a repair may take", { default = 120 }),
    text("source", "the kernel's text, instead of the file's", { optional = true, hidden = true }),
    data("seen", "hashes of texts not to return to", { optional = true, hidden = true }),
  },
  permits = { read = { "." } },
  budget = { seconds = 600 },
  run = function(ctx, args)
    local kernel <const> = ctx.fs.absolute(args.kernel)
    local folders <const> = { kernel:match("^(.*)/[^/]*$") }
    local reference, fn
    if args.reference then
      local file
      file, fn = kernelargs.split_reference(args.reference)
      reference = ctx.fs.absolute(file)
      folders[#folders + 1] = reference:match("^(.*)/[^/]*$")
    end
    local result <const>, err <const> = ctx.job("work.debug", {
      path = kernel, source = args.source, cases = args.case, reference = reference, reference_function = fn, entry = args.entry, target = args.target,
      nki_version = args.nki_version, seen = args.seen, step_seconds = args.step_seconds, cwd = ctx.cwd, roots = folders,
    }, { read = folders })
    if not result then return nil, err end
    result.ok = result.status ~= "stuck"
    return result
  end,
  text = function(result, style)
    local lines <const> = {}
    local d <const> = result.diagnostic
    if result.status == "clean" then
      lines[1] = style.green("clean") .. (result.verification and "  it checks and is proved" or "  it checks; no reference was given")
      if result.verification then lines[2] = result.verification.text end
    elseif d then
      lines[1] = ("%s  line %s: %s [%s]"):format(result.status == "fixed" and style.yellow("fixable") or style.red("stuck"),
        tostring(d.line), d.message, d.code)
      if result.fix then lines[2] = "fix: " .. result.fix.title end
    else
      lines[1] = ("%s  %s"):format(result.status == "fixed" and style.yellow("fixable") or style.red("stuck"), result.pattern
        or result.message or "the numbers are wrong")
      if result.fix then lines[2] = "fix: " .. result.fix.title end
      if not result.fix and result.verification then lines[2] = result.verification.text end
    end
    lines[#lines + 1] = "simulated on the NKI machine; no device was used"
    return table.concat(lines, "\n")
  end,
}
