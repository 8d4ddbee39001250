-- SPDX-License-Identifier: MIT
-- torch.nn.functional for references: activations, normalisations and losses as compositions of the core operations.

local core <const> = require "reference.core"
local compose <const> = require "reference.compose"
local define <const> = require "reference.define"
local objects <const> = require "reference.objects"

local raise <const> = core.raise
local is_none <const> = objects.is_none

-- torch: {functions, family, ten(x), op(x), axes_of(dim, tensor, what)} of reference/torch.lua. Returns {name = {signature, fn}}.
return function(torch)
  local functions <const>, family <const>, ten <const>, op <const>, axes_of <const> = torch.functions, torch.family, torch.ten, torch.op, torch.axes_of
  local functional <const> = {}
  local function nnf(name, signature, fn) functional[name] = { signature = signature, fn = fn } end
  for _, name in ipairs({ "sigmoid", "tanh", "relu", "softmax", "log_softmax" }) do functional[name] = functions[name] end
  nnf("softmax", "input dim=-1 _stacklevel=3 dtype=None", function(x, dim, _, dtype) return functions.softmax.fn(x, is_none(dim) and -1 or dim, dtype) end)
  nnf("log_softmax", "input dim=-1 _stacklevel=3 dtype=None", function(x, dim, _, dtype) return functions.log_softmax.fn(x, is_none(dim)
    and -1 or dim, dtype) end)
  nnf("relu", "input inplace=False", function(x) return compose.relu(ten(x)) end)
  nnf("relu6", "input inplace=False", function(x) return compose.clip(ten(x), 0, 6) end)
  nnf("silu", "input inplace=False", function(x) return compose.silu(ten(x)) end)
  nnf("mish", "input inplace=False", function(x) return core.binary("multiply", ten(x), core.unary("tanh", compose.softplus(ten(x), 1, nil))) end)
  nnf("gelu", "input approximate='none'", function(x, approximate) return compose.gelu(ten(x), approximate) end)
  nnf("softplus", "input beta=1 threshold=20", function(x, beta, threshold) return compose.softplus(ten(x), core.number(beta), core.number(threshold)) end)
  nnf("softsign", "input", function(x) return core.binary("divide", ten(x), core.binary("add", core.unary("abs", ten(x)), 1)) end)
  nnf("logsigmoid", "input", function(x) return core.unary("negative", compose.softplus(core.unary("negative", ten(x)), 1, nil)) end)
  nnf("leaky_relu", "input negative_slope=0.01 inplace=False", function(x, slope)
    local t <const> = ten(x)
    return core.where(core.compare("greater", t, 0), t, core.binary("multiply", t, slope))
  end)
  nnf("elu", "input alpha=1.0 inplace=False", function(x, alpha)
    local t <const> = ten(x)
    return core.where(core.compare("greater", t, 0), t, core.binary("multiply", alpha, core.unary("expm1", core.binary("minimum", t, 0))))
  end)
  nnf("selu", "input inplace=False", function(x)
    local t <const>, alpha <const>, scale <const> = ten(x), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    local low <const> = core.binary("multiply", alpha, core.unary("expm1", core.binary("minimum", t, 0)))
    return core.binary("multiply", scale, core.where(core.compare("greater", t, 0), t, low))
  end)
  nnf("celu", "input alpha=1.0 inplace=False", function(x, alpha)
    local t <const> = ten(x)
    local low <const> = core.binary("multiply", alpha, core.unary("expm1", core.binary("divide", core.binary("minimum", t, 0), alpha)))
    return core.binary("add", core.binary("maximum", t, 0), low)
  end)
  nnf("prelu", "input weight", function(x, weight)
    local t <const>, w <const> = ten(x), ten(weight)
    if core.count(w.shape) ~= 1 then raise("NotImplementedError", "prelu with a weight per channel") end
    return core.where(core.compare("greater", t, 0), t, core.binary("multiply", t, w))
  end)
  nnf("threshold", "input threshold value inplace=False", function(x, limit, value)
    local t <const> = ten(x)
    return core.where(core.compare("greater", t, limit), t, value)
  end)
  nnf("tanhshrink", "input", function(x) return core.binary("subtract", ten(x), core.unary("tanh", ten(x))) end)
  nnf("softshrink", "input lambd=0.5", function(x, l)
    local t <const> = ten(x)
    return core.where(core.compare("greater", t, l), core.binary("subtract", t, l),
      core.where(core.compare("less", t, core.unary("negative", op(l))), core.binary("add", t, l), 0.0))
  end)
  nnf("hardshrink", "input lambd=0.5", function(x, l)
    local t <const> = ten(x)
    return core.where(core.compare("greater", core.unary("abs", t), l), t, 0.0)
  end)
  nnf("softmin", "input dim=-1 _stacklevel=3 dtype=None", function(x, dim)
    local t <const> = core.unary("negative", ten(x))
    return compose.softmax(t, axes_of(is_none(dim) and -1 or dim, t, "softmin"))
  end)
  nnf("hardtanh", "input min_val=-1.0 max_val=1.0 inplace=False", function(x, low, high) return compose.clip(ten(x), low, high) end)
  nnf("hardsigmoid", "input inplace=False", function(x) return core.binary("divide", compose.clip(core.binary("add", ten(x), 3), 0, 6), 6) end)
  nnf("hardswish", "input inplace=False", function(x)
    return core.binary("multiply", ten(x), core.binary("divide", compose.clip(core.binary("add", ten(x), 3), 0, 6), 6))
  end)
  nnf("glu", "input dim=-1", function(x, dim)
    local t <const> = ten(x)
    local axis <const> = axes_of(dim, t, "glu")[1]
    local half <const> = t.shape[axis + 1] // 2
    return core.binary("multiply", core.slice(t, axis, 0, half, 1), compose.sigmoid(core.slice(t, axis, half, half, 1)))
  end)
  local function last_axes(t, normalized_shape)
    local n <const>, axes <const> = #objects.list(normalized_shape), {}
    for i = 1, n do axes[i] = #t.shape - n + i - 1 end
    return axes
  end
  local function optional(x) if is_none(x) then return nil end return ten(x) end
  nnf("rms_norm", "input normalized_shape weight=None eps=None", function(x, shape, weight, eps)
    local t <const> = ten(x)
    return compose.rms_norm(t, last_axes(t, shape), optional(weight), is_none(eps) and define.epsilon(t.declared) or eps)
  end)
  nnf("layer_norm", "input normalized_shape weight=None bias=None eps=1e-05", function(x, shape, weight, bias, eps)
    local t <const> = ten(x)
    return compose.layer_norm(t, last_axes(t, shape), optional(weight), optional(bias), eps)
  end)
  nnf("normalize", "input p=2.0 dim=1 eps=1e-12", function(x, p, dim, eps)
    local t <const> = ten(x)
    return core.binary("divide", t, core.binary("maximum", compose.norm(t, axes_of(dim, t, "normalize"), true, p), eps))
  end)
  nnf("cosine_similarity", "x1 x2 dim=1 eps=1e-08", function(a, b, dim, eps)
    local x <const>, y <const> = ten(a), ten(b)
    local axes <const> = axes_of(dim, x, "cosine_similarity")
    local function size(t) return core.binary("maximum", compose.norm(t, axes, false), eps) end
    return core.binary("divide", core.reduce("sum", core.binary("multiply", x, y), axes, false), core.binary("multiply", size(x), size(y)))
  end)
  nnf("pairwise_distance", "x1 x2 p=2.0 eps=1e-06 keepdim=False", function(a, b, p, eps, keepdim)
    local gap <const> = core.binary("add", core.binary("subtract", ten(a), ten(b)), eps)
    return compose.norm(gap, { #gap.shape - 1 }, keepdim, p)
  end)
  nnf("group_norm", "input num_groups weight=None bias=None eps=1e-05", function(x, groups, weight, bias, eps)
    return compose.group_norm(ten(x), core.number(groups, "a number of groups"), optional(weight), optional(bias), eps)
  end)
  nnf("instance_norm", "input running_mean=None running_var=None weight=None bias=None use_input_stats=True momentum=0.1 eps=1e-05",
    function(x, mean, variance, weight, bias, _, _, eps)
      if not (is_none(mean) and is_none(variance)) then raise("NotImplementedError", "instance_norm with running statistics") end
      local t <const> = ten(x)
      return compose.group_norm(t, t.shape[2], optional(weight), optional(bias), eps)
    end)
  nnf("linear", "input weight bias=None", function(x, weight, bias) return compose.linear(ten(x), ten(weight), optional(bias)) end)
  nnf("dropout", "input p=0.5 training=True inplace=False", function(x, p, training)
    if training and core.number(p) ~= 0 then raise("NotImplementedError", "dropout while training is random; pass training=False") end
    return ten(x)
  end)
  nnf("scaled_dot_product_attention", "query key value attn_mask=None dropout_p=0.0 is_causal=False scale=None", function(q, k, v, mask, _, causal, scale)
    q, k, v = ten(q), ten(k), ten(v)
    local factor = scale
    if is_none(scale) then factor = core.binary("divide", 1.0, core.unary("sqrt", compose.extent(q, { #q.shape - 1 }))) end
    local scores = core.binary("multiply", core.matmul(q, compose.swap(k, -1, -2)), factor)
    if causal then
      local keep <const> = compose.triangle(core.full({ q.shape[#q.shape - 1], k.shape[#k.shape - 1] }, true, "bool", family), 0, true)
      scores = core.where(keep, scores, -math.huge)
    elseif not is_none(mask) then
      local m <const> = ten(mask)
      scores = m.dtype == "bool" and core.where(m, scores, -math.huge) or core.binary("add", scores, m)
    end
    return core.matmul(compose.softmax(scores, { #scores.shape - 1 }), v)
  end)
  local function reduced(loss, reduction)
    if reduction == "none" then return loss end
    if reduction == "sum" then return core.reduce("sum", loss, nil, false) end
    if reduction == "batchmean" then return core.binary("divide", core.reduce("sum", loss, nil, false), compose.extent(loss, { 0 })) end
    return compose.mean(loss, nil, false)
  end
  nnf("mse_loss", "input target size_average=None reduce=None reduction='mean'", function(x, y, _, _, reduction)
    return reduced(core.unary("square", core.binary("subtract", ten(x), ten(y))), reduction)
  end)
  nnf("l1_loss", "input target size_average=None reduce=None reduction='mean'", function(x, y, _, _, reduction)
    return reduced(core.unary("abs", core.binary("subtract", ten(x), ten(y))), reduction)
  end)
  for _, name in ipairs({ "smooth_l1_loss", "huber_loss" }) do
    local huber <const> = name == "huber_loss"
    nnf(name, huber and "input target reduction='mean' delta=1.0" or "input target size_average=None reduce=None reduction='mean' beta=1.0", function(x, y, ...)
      local reduction, beta
      if huber then reduction, beta = ... else reduction, beta = select(3, ...) end
      local d <const> = core.unary("abs", core.binary("subtract", ten(x), ten(y)))
      local inner = core.binary("multiply", 0.5, core.unary("square", d))
      local outer = core.binary("subtract", d, core.binary("multiply", 0.5, beta))
      if huber then outer = core.binary("multiply", beta, outer) else inner = core.binary("divide", inner, beta) end
      return reduced(core.where(core.compare("less", d, beta), inner, outer), reduction)
    end)
  end
  nnf("kl_div", "input target size_average=None reduce=None reduction='mean' log_target=False", function(x, y, _, _, reduction, logs)
    local p <const>, q <const> = ten(x), ten(y)
    if logs then return reduced(core.binary("multiply", core.unary("exp", q), core.binary("subtract", q, p)), reduction) end
    -- 0 log 0 is 0.
    local entropy <const> = core.where(core.compare("greater", q, 0), core.binary("multiply", q, core.unary("log", q)), 0.0)
    return reduced(core.binary("subtract", entropy, core.binary("multiply", q, p)), reduction)
  end)
  nnf("binary_cross_entropy_with_logits", "input target weight=None size_average=None reduce=None reduction='mean'", function(x, y, weight, _, _, reduction)
    if not is_none(weight) then raise("NotImplementedError", "binary_cross_entropy_with_logits with weights") end
    local t <const> = ten(x)
    local loss <const> = core.binary("add", core.binary("subtract", core.binary("maximum", t, 0), core.binary("multiply", t, ten(y))),
      core.unary("log1p", core.unary("exp", core.unary("negative", core.unary("abs", t)))))
    return reduced(loss, reduction)
  end)
  nnf("cross_entropy", "input target weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'",
    function(x, y, weight, _, _, _, reduction)
      local t <const>, target <const> = ten(x), ten(y)
      if not is_none(weight) or target.dtype ~= "float64" or #t.shape ~= 2 then
        raise("NotImplementedError", "cross_entropy of class indices gathers; give probabilities of the shape of the input")
      end
      local loss <const> = core.unary("negative", core.reduce("sum", core.binary("multiply", target, compose.log_softmax(t, { 1 })), { 1 }, false))
      return reduced(loss, reduction)
    end)
  nnf("pad", "input pad mode='constant' value=0", function(x, pad, mode, value)
    if mode ~= "constant" then raise("NotImplementedError", "pad with mode %q", tostring(mode)) end
    local t, sizes <const> = ten(x), objects.list(pad)
    for i = 1, #sizes, 2 do
      local axis <const>, pieces <const> = #t.shape - (i + 1) // 2, {}
      local function edge(n)
        if n <= 0 then return end
        local shape <const> = { table.unpack(t.shape) }
        shape[axis + 1] = n
        pieces[#pieces + 1] = core.full(shape, is_none(value) and 0 or value, t.declared, family)
      end
      edge(core.number(sizes[i]))
      pieces[#pieces + 1] = t
      edge(core.number(sizes[i + 1]))
      if #pieces > 1 then t = core.concat(pieces, axis) end
    end
    return t
  end)

  return functional
end
