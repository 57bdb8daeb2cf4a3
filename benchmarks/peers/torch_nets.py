"""The paper's nets in PyTorch: of one environment, or of all in one pass with stacked weights.

A net is a function of `(parameters, x)` with `x` of shape `(env, traj, *space, channel)` for vectors and
`(env, traj, channel, y, x)` for fields. With `groups` the parameters have a leading axis over environments.
"""

import numpy as np
import torch
import torch.nn.functional as F


def swish(x, beta):
    return x * torch.sigmoid(x * F.softplus(beta)) / 1.1


def per_environment(vector, x, axis):
    """A vector of each environment (env, size), or of all (size,), laid along an axis of x."""
    shape = [1] * x.ndim
    shape[axis] = -1
    if vector.ndim == 2:
        shape[0] = vector.shape[0]
    return vector.reshape(shape)


class MLP:
    """Parameters: weights and biases of each layer, then the slopes."""

    def __init__(self, net):
        self.depth = len(net.denses)
        self.factor = net.factor
        self.parameters = [a for dense in net.denses for a in (dense.weight, dense.bias)]
        self.parameters += [swish.beta for swish in net.activations]

    def weights(self, p):
        """The matrices (…, out, in) that Ω takes spectral norms of."""
        return [p[2 * i].transpose(-1, -2) for i in range(self.depth)]

    def __call__(self, p, x):
        for i in range(self.depth):
            weight, bias = p[2 * i], p[2 * i + 1]
            x = torch.baddbmm(bias[:, None], x, weight) if weight.ndim == 3 else F.linear(x, weight.T, bias)
            if i < self.depth - 1:
                beta = p[2 * self.depth + i]
                x = swish(x, beta if beta.ndim == 0 else beta[:, None, None])
        return self.factor * x


class ConvNet:
    """Circular convolutions; environments as groups of one convolution."""

    def __init__(self, net):
        self.depth = len(net.convolutions)
        self.factor = net.factor
        kernel = lambda w: np.moveaxis(np.asarray(w), (-1, -2), (-4, -3))
        self.parameters = [a for c in net.convolutions for a in (kernel(c.weight), c.bias)]
        self.parameters += [swish.beta for swish in net.activations]

    def weights(self, p):
        # Merged in the order (taps, in) of Leadax, for vectors carried by power iteration to mean the same.
        return [p[2 * i].movedim(-3, -1).flatten(-3) for i in range(self.depth)]

    def __call__(self, p, x):
        m, n = x.shape[:2]
        grouped = p[0].ndim == 5
        x = x.transpose(0, 1).flatten(1, 2) if grouped else x.flatten(0, 1)
        for i in range(self.depth):
            weight, bias = p[2 * i], p[2 * i + 1]
            if grouped:
                weight, bias = weight.flatten(0, 1), bias.flatten()
            x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), weight, bias, groups=m if grouped else 1)
            if i < self.depth - 1:
                beta = p[2 * self.depth + i]
                x = swish(x, beta.repeat_interleave(x.shape[1] // m)[:, None, None] if grouped else beta)
        x = x.unflatten(1, (m, -1)).transpose(0, 1) if grouped else x.unflatten(0, (m, n))
        return self.factor * x


class FNO:
    """Fourier layers by FFT."""

    def __init__(self, net):
        self.depth = len(net.fourier)
        self.factor = net.factor
        self.modes = net.fourier[0].spectral.modes
        self.parameters = [net.lift.weight, net.lift.bias]
        for layer in net.fourier:
            self.parameters += [layer.spectral.weight, layer.pointwise.weight, layer.pointwise.bias]
        self.parameters += [net.hidden.weight, net.hidden.bias, net.last.weight, net.last.bias]
        self.parameters += [swish.beta for swish in net.activations]

    def weights(self, p):
        found = [p[0].transpose(-1, -2)]
        for i in range(self.depth):
            spectral = torch.complex(*p[2 + 3 * i].unbind(-4)).movedim(-3, -2).flatten(-2)
            found += [spectral, p[3 + 3 * i].transpose(-1, -2)]
        last = 2 + 3 * self.depth
        return [*found, p[last].transpose(-1, -2), p[last + 2].transpose(-1, -2)]

    def __call__(self, p, x):
        m, n, _, ny, nx = x.shape
        axes = [torch.linspace(0, 1, size) for size in (ny, nx)]
        grid = torch.stack(torch.meshgrid(*axes, indexing="ij")).expand(m, n, 2, ny, nx)
        x = self.dense(p[0], p[1], torch.cat([x, grid], dim=2))
        last = 2 + 3 * self.depth
        slope = lambda i: p[last + 4 + i]
        for i in range(self.depth):
            x = self.spectral(p[2 + 3 * i], x) + self.dense(p[3 + 3 * i], p[4 + 3 * i], x)
            if i < self.depth - 1:
                x = swish(x, per_environment(slope(i)[..., None], x, 2) if slope(i).ndim else slope(i))
        x = self.dense(p[last], p[last + 1], x)
        beta = slope(self.depth - 1)
        x = swish(x, per_environment(beta[..., None], x, 2) if beta.ndim else beta)
        return self.factor * self.dense(p[last + 2], p[last + 3], x)

    def dense(self, weight, bias, x):
        """A pointwise layer, as one matrix product per environment."""
        m, n, c, ny, nx = x.shape
        flat = x.reshape(m, n, c, -1)
        y = torch.matmul(weight.transpose(-1, -2)[:, None] if weight.ndim == 3 else weight.T, flat)
        return y.unflatten(-1, (ny, nx)) + per_environment(bias, x, 2)

    def spectral(self, weight, x):
        k, ny = self.modes, x.shape[-2]
        low = torch.fft.rfft2(x)
        rows = [*range(k), *range(ny - k, ny)]
        picked = low[..., rows, :k].flatten(-2)
        matrices = torch.complex(*weight.unbind(-4))
        form = "mnik,mkio->mnok" if matrices.ndim == 4 else "mnik,kio->mnok"
        found = torch.einsum(form, picked, matrices).unflatten(-1, (2 * k, k))
        full = torch.zeros(*found.shape[:3], *low.shape[-2:], dtype=low.dtype)
        full[..., rows, :k] = found
        return torch.fft.irfft2(full, s=x.shape[-2:])


NETS = {"MLP": MLP, "ConvNet": ConvNet, "FNO": FNO}
