"""One LEADS training step in PyTorch: as a user would write it (`Loop`), and as fast as eager PyTorch can (`Batched`).

Both compute the same loss as Leadax: mean squared error of trajectories with restarts + Σ Ω/λ, Ω with its quirks of the
protocol `paper` (per pixel, relative; reshaped kernels, five power iterations), then Adam.
"""

import itertools

import numpy as np
import torch

from .torch_nets import NETS


class Step:
    """What both share: weights, data in PyTorch's layout, Ω, Adam."""

    def __init__(self, problem):
        method = problem.method
        self.f, self.g = (NETS[type(net).__name__](net) for net in (problem.levels.shared, problem.levels.specific))
        self.solver = method.solver
        self.weight, self.alpha = method.penalty_weight, method.penalty.alpha
        self.iterations, self.epsilon = method.penalty.lipschitz.iterations, method.penalty.norm.epsilon
        tensor = lambda a: torch.tensor(np.asarray(a))
        self.shared = [tensor(a).requires_grad_() for a in self.f.parameters]
        self.set_specific([tensor(a) for a in self.g.parameters])
        states = tensor(problem.batch.states)
        self.field = states.ndim == 6
        # Channels before space, as convolutions in PyTorch want them.
        self.states = states.movedim(-1, 3) if self.field else states
        self.times = tensor(problem.batch.times[0, 0])
        self.restart = np.asarray(problem.restart[0, 0])
        self.vectors = [self._vector(v) for v in problem.carry[1]]
        self.adam = torch.optim.Adam(self.leaves(), lr=1e-3)

    def _vector(self, v):
        v = torch.tensor(np.asarray(v))
        return torch.complex(v[:, 0], v[:, 1]) if v.ndim == 3 else v

    def segments(self):
        """Index ranges between restarts: one draw holds for all trajectories."""
        points = [0, *[k for k in range(1, len(self.times) - 1) if self.restart[k]], len(self.times) - 1]
        return list(itertools.pairwise(points))

    def squares(self, x):
        """Σ over channels, at each pixel."""
        return (x**2).sum(2 if self.field else -1)

    def spectral(self, matrices, e=None):
        """Σ_l ‖W_l‖², by power iteration from the carried vectors; stacked matrices give one number each."""
        total = 0.0
        for i, w in enumerate(matrices):
            v = self.vectors[i] if e is None else self.vectors[i][e]
            with torch.no_grad():
                for _ in range(self.iterations):
                    v = (w.mH @ (w @ v[..., None]))[..., 0]
                    v = v / v.abs().square().sum(-1, keepdim=True).sqrt()
            if e is None:
                self.vectors[i] = v
            else:
                self.vectors[i][e] = v
            total = total + (w @ v[..., None]).abs().square().sum((-1, -2))
        return total

    def __call__(self):
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.adam.step()
        return loss

    def loss_and_gradient(self):
        kept = [v.clone() for v in self.vectors]
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.vectors = kept
        return loss.item(), self.gradients()


class Batched(Step):
    """All environments in one pass, own Runge-Kutta."""

    def set_specific(self, arrays):
        self.specific = [a.requires_grad_() for a in arrays]

    def leaves(self):
        return [*self.shared, *self.specific]

    def gradients(self):
        return [a.grad.numpy() for a in self.leaves()]

    def field_of(self, x):
        return self.f(self.shared, x) + self.g(self.specific, x)

    def step(self, x, h):
        f = self.field_of
        if self.solver == "euler":
            return x + h * f(x)
        assert self.solver == "rk4-38", f"no such step here: {self.solver}"
        k1 = f(x)
        k2 = f(x + h * k1 / 3)
        k3 = f(x + h * (k2 - k1 / 3))
        k4 = f(x + h * (k1 - k2 + k3))
        return x + h * (k1 + 3 * (k2 + k3) + k4) / 8

    def loss(self):
        x, error = self.states[:, :, 0], 0.0
        for k in range(len(self.times) - 1):
            if self.restart[k]:
                x = self.states[:, :, k]
            x = self.step(x, self.times[k + 1] - self.times[k])
            error = error + ((x - self.states[:, :, k + 1]) ** 2).sum()
        points = self.states.flatten(1, 2)
        ratio = self.squares(self.g(self.specific, points)) / (self.squares(points).sqrt() + self.epsilon) ** 2
        norm = ratio.flatten(1).mean(1)
        omega = norm + self.alpha * self.spectral(self.g.weights(self.specific))
        return error / self.states.numel() + self.weight * omega.sum()


class Loop(Step):
    """One environment after another, by torchdiffeq."""

    def set_specific(self, arrays):
        self.specific = [[a[e].clone().requires_grad_() for a in arrays] for e in range(len(arrays[0]))]

    def leaves(self):
        return [*self.shared, *[a for one in self.specific for a in one]]

    def gradients(self):
        own = [np.stack([a.grad.numpy() for a in same]) for same in zip(*self.specific, strict=True)]
        return [*[a.grad.numpy() for a in self.shared], *own]

    def loss(self):
        from torchdiffeq import odeint

        error, penalty = 0.0, 0.0
        for e, own in enumerate(self.specific):
            states = self.states[e : e + 1]
            field = lambda t, x, own=own: self.f(self.shared, x) + self.g(own, x)
            for first, last in self.segments():
                times, method = self.times[first : last + 1], self.solver.split("-")[0]
                found = odeint(field, states[:, :, first], times, method=method)
                error = error + ((found[1:] - states[:, :, first + 1 : last + 1].movedim(2, 0)) ** 2).sum()
            points = states.flatten(1, 2)
            ratio = self.squares(self.g(own, points)) / (self.squares(points).sqrt() + self.epsilon) ** 2
            penalty = penalty + ratio.mean() + self.alpha * self.spectral(self.g.weights(own), e)
        return error / self.states.numel() + self.weight * penalty
