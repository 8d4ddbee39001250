# SPDX-License-Identifier: MIT
"""The same functions through PyTorch's names."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def softmax(x):
    return torch.softmax(x, dim=-1)


def log_softmax(x):
    return F.log_softmax(x, dim=-1)


def silu(x):
    return F.silu(x)


def gelu(x):
    return F.gelu(x)


def gelu_tanh(x):
    return F.gelu(x, approximate='tanh')


def rms_norm(x, w):
    return F.rms_norm(x, (x.shape[-1],), weight=w, eps=1e-6)


def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rms_spelled(x, w):
    h = x.float()
    var = h.pow(2).mean(-1, keepdim=True)
    return (w * (h * torch.rsqrt(var + 1e-6)).to(x.dtype))


def softplus(x):
    return F.softplus(x)


def normalize(x):
    return F.normalize(x, dim=-1)


def max_pair(x):
    values, _ = x.max(dim=-1, keepdim=True)
    return x - values


def clamp(x):
    return x.clamp(min=-1.0, max=1.0) + torch.relu(x)


def elu(x):
    return F.elu(x)


def leaky(x):
    return F.leaky_relu(x, 0.2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.SiLU()
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        return self.norm(self.act(x))


def module(x):
    return Net()(x)


def variance(x):
    return torch.var(x, dim=-1, unbiased=False)


def chunked(x):
    a, b = x.chunk(2, dim=-1)
    return F.silu(a) * b


def masked(x, m):
    return x.masked_fill(m, float('-inf')).softmax(dim=-1)


def residual_rms(x, r, w, eps: float = 1e-5):
    h = x + r
    v = h.pow(2).mean(dim=-1, keepdim=True)
    return h * torch.rsqrt(v + eps) * (1.0 + w), h


def instance_norm(x):
    mu = x.mean(dim=(2, 3), keepdim=True)
    var = x.var(dim=(2, 3), keepdim=True, unbiased=False)
    return (x - mu) / torch.sqrt(var + 1e-5)


def center_unit(x):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.norm(dim=-1, keepdim=True) + 1e-6)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def gain_set(x, w):
    norm = nn.LayerNorm(x.shape[-1])
    with torch.no_grad():
        norm.weight.copy_(w)
    return nn.Sequential(norm, nn.GELU())(x)


def losses(x, y):
    return F.kl_div(F.log_softmax(y, -1), F.softmax(x, -1), reduction="none").sum(-1), F.cosine_similarity(x, y, dim=-1)


def moments(x):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + 1e-5), F.selu(mean) + F.softsign(mean)


def in_place(x):
    y = x.clone()
    y.sub_(y.mean(-1, keepdim=True)).mul_(2.0)
    return y.clamp_(-1, 1) + x.clamp_max(1.5)


def heads(x, w):
    h = x.view(x.shape[0], 4, 16)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * w
    return h.reshape(x.shape[0], 64)


def rows_in_turn(x):
    out = torch.empty_like(x)
    for i in range(x.size(0)):
        out[i] = torch.softmax(x[i], dim=0)
    return out


def modulated(x, ss):
    shift, scale = ss.tensor_split(2, dim=-1)
    return F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift


def quantised(x):
    scale = x.abs().amax(axis=-1, keepdims=True).clamp(min=1e-5) / 127
    return (x / scale).round().clamp(-128, 127).to(torch.int8), scale


def best(x):
    return torch.topk(x, 4, dim=-1).values
