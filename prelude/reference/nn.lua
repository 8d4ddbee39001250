-- SPDX-License-Identifier: MIT
-- torch.nn for references: Module and the modules without random weights, written in Python over torch.nn.functional and
-- run by the same front end. It is loaded when a reference first asks for a name of torch.nn.

local runtime <const> = require "python.runtime"

local M <const> = {}

local SOURCE <const> = [[
import torch
import torch.nn.functional as F


class Module:
    training = False

    def __init__(self):
        pass

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def eval(self):
        return self

    def train(self, mode=True):
        return self

    def to(self, *args, **kwargs):
        return self

    def register_buffer(self, name, value, persistent=True):
        setattr(self, name, value)

    def register_parameter(self, name, value):
        setattr(self, name, value)


def Parameter(data, requires_grad=True):
    return data


class Identity(Module):
    def forward(self, x):
        return x


class Sequential(Module):
    def __init__(self, *modules):
        self.modules_in_order = modules

    def forward(self, x):
        for module in self.modules_in_order:
            x = module(x)
        return x


class ModuleList(Module):
    def __init__(self, modules=()):
        self.items = list(modules)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)

    def append(self, module):
        self.items.append(module)
        return self


class Softmax(Module):
    def __init__(self, dim=-1):
        self.dim = dim

    def forward(self, x):
        return F.softmax(x, dim=self.dim)


class LogSoftmax(Module):
    def __init__(self, dim=-1):
        self.dim = dim

    def forward(self, x):
        return F.log_softmax(x, dim=self.dim)


class ReLU(Module):
    def __init__(self, inplace=False):
        pass

    def forward(self, x):
        return F.relu(x)


class ReLU6(Module):
    def __init__(self, inplace=False):
        pass

    def forward(self, x):
        return F.relu6(x)


class SiLU(Module):
    def __init__(self, inplace=False):
        pass

    def forward(self, x):
        return F.silu(x)


class Mish(Module):
    def forward(self, x):
        return F.mish(x)


class GELU(Module):
    def __init__(self, approximate='none'):
        self.approximate = approximate

    def forward(self, x):
        return F.gelu(x, approximate=self.approximate)


class Sigmoid(Module):
    def forward(self, x):
        return torch.sigmoid(x)


class Tanh(Module):
    def forward(self, x):
        return torch.tanh(x)


class Softplus(Module):
    def __init__(self, beta=1.0, threshold=20.0):
        self.beta = beta
        self.threshold = threshold

    def forward(self, x):
        return F.softplus(x, self.beta, self.threshold)


class LeakyReLU(Module):
    def __init__(self, negative_slope=0.01, inplace=False):
        self.negative_slope = negative_slope

    def forward(self, x):
        return F.leaky_relu(x, self.negative_slope)


class ELU(Module):
    def __init__(self, alpha=1.0, inplace=False):
        self.alpha = alpha

    def forward(self, x):
        return F.elu(x, self.alpha)


class Hardtanh(Module):
    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        self.low = min_val
        self.high = max_val

    def forward(self, x):
        return F.hardtanh(x, self.low, self.high)


class Hardsigmoid(Module):
    def forward(self, x):
        return F.hardsigmoid(x)


class Hardswish(Module):
    def forward(self, x):
        return F.hardswish(x)


class GLU(Module):
    def __init__(self, dim=-1):
        self.dim = dim

    def forward(self, x):
        return F.glu(x, self.dim)


class Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        pass

    def forward(self, x):
        return x


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True):
        self.normalized_shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.eps = eps
        self.weight = torch.ones(self.normalized_shape) if elementwise_affine else None
        self.bias = torch.zeros(self.normalized_shape) if elementwise_affine and bias else None

    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        self.normalized_shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.eps = eps
        self.weight = torch.ones(self.normalized_shape) if elementwise_affine else None

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    def __init__(self, num_groups, num_channels, eps=1e-05, affine=True):
        self.num_groups = num_groups
        self.eps = eps
        self.weight = torch.ones(num_channels) if affine else None
        self.bias = torch.zeros(num_channels) if affine else None

    def forward(self, x):
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class SELU(Module):
    def __init__(self, inplace=False):
        pass

    def forward(self, x):
        return F.selu(x)


class Softsign(Module):
    def forward(self, x):
        return F.softsign(x)


class LogSigmoid(Module):
    def forward(self, x):
        return F.logsigmoid(x)


class Tanhshrink(Module):
    def forward(self, x):
        return F.tanhshrink(x)


class CosineSimilarity(Module):
    def __init__(self, dim=1, eps=1e-08):
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True):
        raise NotImplementedError("nn.Linear draws random weights; pass the weights as inputs and use torch.nn.functional.linear")


class Embedding(Module):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("nn.Embedding draws random weights; pass the table as an input")
]]

function M.module(_, functional)
  local python <const> = require "python"
  local loaded = nil
  local attrs <const> = { __name__ = "torch.nn", functional = functional }
  attrs.__pygetattr = function(name)
    if not loaded then
      local err
      loaded, err = python.load({ source = SOURCE, filename = "torch/nn.py", name = "torch.nn", imports = "reference", modules = require("reference").library })
      if not loaded then error({ kind = "python", etype = "ImportError", message = "torch.nn: " .. tostring(err.message) }, 0) end
    end
    return rawget(loaded, name)
  end
  return runtime.module({ name = "torch.nn", attrs = attrs })
end

return M
