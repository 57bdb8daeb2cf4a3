"""The breaks that `mutants.py` tries: a sign, an index, a factor, a dropped term, over all rooms.

`tests` are the files that are run, up to the first failure: those of the room, the one that should notice first.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One break: in this file below src/leadax the text `old`, which stands there once, becomes `new`."""

    file: str
    old: str
    new: str
    tests: str


# fmt: off
MUTANTS = [
    # data
    Mutant("data/units.py", "spread = np.sqrt(_mean(deviations**2, seen))", "spread = _mean(deviations**2, seen)", "tests/data/test_units.py"),
    Mutant("data/units.py", "return (states - _like(self.mean, states)) / _like(self.scale, states)", "return (states + _like(self.mean, states)) / _like(self.scale, states)", "tests/data/test_units.py"),
    Mutant("data/units.py", "return tangents * _like(self.scale, tangents) / self.time", "return tangents * _like(self.scale, tangents) * self.time", "tests/data/test_units.py"),
    Mutant("data/units.py", "return float(1 / np.sqrt(np.mean(changes[moving] / elapsed[moving])))", "return float(np.sqrt(np.mean(changes[moving] / elapsed[moving])))", "tests/data/test_units.py"),
    Mutant("data/batch.py", "index = (np.arange(data.times.shape[2]) + start[..., None])", "index = (np.arange(data.times.shape[2]) + 0 * start[..., None])", "tests/data/test_batch.py"),
    Mutant("data/batch.py", "np.where(seen, shift(units.standard(data.states)), 0.0)", "np.where(seen, shift(units.standard(data.states)), 1.0)", "tests/data/test_batch.py"),
    Mutant("data/holdouts.py", "states=np.where(early & ~told.reshape(early.shape), np.nan, data.states)", "states=np.where(early, np.nan, data.states)", "tests/data/test_holdouts.py"),
    Mutant("data/_canonical.py", 'order = np.argsort(~real, axis=1, kind="stable")', 'order = np.argsort(real, axis=1, kind="stable")', "tests/data/test_trajectories.py"),
    # systems
    Mutant("systems/lotka_volterra.py", "p[\"alpha\"] * u", "p[\"alpha\"] + u", "tests/systems/test_lotka_volterra.py"),
    # nets
    Mutant("nets/mlp.py", "bent = self.factor * _stack.apply", "bent = 1.0 * _stack.apply", "tests/nets"),
    Mutant("nets/swish.py", "return x * jax.nn.sigmoid(x * jax.nn.softplus(beta)) / 1.1", "return x * jax.nn.sigmoid(x * beta) / 1.1", "tests/nets"),
    Mutant("nets/layers.py", "return jnp.tensordot(x, self.weight, axes=1)", "return jnp.tensordot(x, self.weight, axes=1) * 1.01", "tests/nets"),
    Mutant("nets/circular.py", "jnp.roll(product, len(products) // 2 - tap, axis)", "jnp.roll(product, tap - len(products) // 2, axis)", "tests/nets"),
    Mutant("nets/spectral.py", "lower = jnp.concatenate([-imaginary, real], axis=-1)", "lower = jnp.concatenate([imaginary, real], axis=-1)", "tests/nets"),
    Mutant("nets/power.py", "back / jnp.where(size > 0, size, 1.0)", "image / jnp.where(size > 0, size, 1.0)", "tests/nets"),
    Mutant("nets/recurrent.py", "memory = z * memory + (1 - z) * candidate", "memory = (1 - z) * memory + (1 - z) * candidate", "tests/nets"),
    # rollout
    Mutant("rollout/fixed.py", "return None if ends is None else _along(ends[0], ends[1] - ends[0], c)", "return None if ends is None else ends[0]", "tests/rollout"),
    Mutant("rollout/fixed.py", "x = state if here is None else jnp.where(here.where, here.states, state)", "x = state", "tests/rollout"),
    Mutant("rollout/steps.py", "departure = np.where(steps == landing[interval], interval, -1)", "departure = interval", "tests/rollout"),
    Mutant("rollout/bounds.py", "return field(t, nearest, u) - (x - nearest)", "return field(t, nearest, u) + (x - nearest)", "tests/rollout"),
    Mutant("rollout/bounds.py", "jnp.clip(path, jnp.minimum(low, path[:1]), jnp.maximum(high, path[:1]))", "jnp.clip(path, low, high)", "tests/rollout"),
    Mutant("model/programs.py", "cut_off(dynamics.forecast(start, along), along.edges)", "dynamics.forecast(start, along)", "tests/model/test_predict.py"),
    Mutant("rollout/tableaux.py", "[[1 / 3], [-1 / 3, 1.0], [1.0, -1.0, 1.0]]", "[[1 / 3], [1 / 3, 1.0], [1.0, -1.0, 1.0]]", "tests/rollout"),
    # penalties
    Mutant("penalties/norms.py", "squares = squares / (_power(self._squares(states), 0.5) + self.epsilon) ** 2", "squares = squares / (_power(self._squares(states), 0.5) + self.epsilon)", "tests/penalties"),
    Mutant("penalties/omega.py", "return norm + self.alpha * lipschitz, (ours, theirs)", "return norm + lipschitz, (ours, theirs)", "tests/penalties"),
    Mutant("penalties/weights.py", "return sum(squares[:-1], squares[-1] * factor**2)", "return sum(squares[:-1], squares[-1] * factor)", "tests/penalties"),
    # methods
    Mutant("methods/base.py", "return lambda t, x, u: whole(t, x, u) - part(t, x, u)", "return lambda t, x, u: whole(t, x, u)", "tests/methods"),
    Mutant("methods/coda.py", "moved = [a + jnp.tensordot(w, context, axes=1)", "moved = [a - 2 * jnp.tensordot(w, context, axes=1)", "tests/methods"),
    Mutant("methods/factored.py", "((a * jnp.broadcast_to(b, a.shape)) @ c).reshape(shape)", "(a @ c).reshape(shape)", "tests/methods"),
    Mutant("methods/maml.py", "lambda s, d: s - self.inner_rate * d", "lambda s, d: s + self.inner_rate * d", "tests/methods"),
    Mutant("methods/gbml.py", "return (Phase(self.first_share, (\"shared\",)), Phase(1 - self.first_share, (\"specific\",)))", "return (Phase(self.first_share, (\"specific\",)), Phase(1 - self.first_share, (\"shared\",)))", "tests/methods"),
    Mutant("methods/dynamics.py", "forecast = x + size * change", "forecast = x + change", "tests/methods"),
    Mutant("methods/prepare.py", "on_device(np.repeat(np.stack(leaves), repeats, axis=0))", "on_device(np.tile(np.stack(leaves), repeats))", "tests/train/test_fit.py"),
    Mutant("methods/infer.py", "covariance = widened(covariance, trajectory.states[0] - mean.path[0, :count], sigma, seen)", "covariance = covariance * 1.0", "tests/methods/test_local.py"),
    Mutant("methods/local.py", "t = shaped(np.where(real, times[:, :, window] - middle, 0.0))", "t = shaped(times[:, :, window] - middle)", "tests/methods/test_local.py"),
    Mutant("methods/population.py", "variance = jnp.sum(squares * real[..., None], axis=(0, 1)) / jnp.sum(real)", "variance = jnp.mean(squares, axis=(0, 1))", "tests/methods/test_local.py"),
    Mutant("train/populations.py", "(errors**2 + spread) * unit**2", "errors**2 * unit**2", "tests/train/test_populations.py"),
    Mutant("train/loss.py", "error = jnp.sum(squares[1:])", "error = jnp.sum(squares)", "tests/train/test_latent_loss.py"),
    Mutant("train/loss.py", "present * jnp.sum(sums.prior)", "jnp.sum(sums.prior)", "tests/train/test_latent_loss.py"),
    Mutant("data/smooth_curves.py", "np.sum(np.log(total) + parts[:, :, None, :] ** 2 / total, axis=3)", "np.sum(parts[:, :, None, :] ** 2 / total, axis=3)", "tests/data/test_noise.py"),
    # defaults and describe
    Mutant("train/request.py", "key = (train.fingerprint, defaults, latent, tuple(covariates))", "key = (train.fingerprint, defaults, None, tuple(covariates))", "tests/test_defaults.py"),
    Mutant("defaults.py", "names -= weights", "names = names", "tests/test_defaults.py tests/methods/test_conformance.py"),
    Mutant("describe.py", "return field.init and not omitted", 'return field.init and not omitted and field.name != "solver"', "tests/test_describe.py"),
    Mutant("registry.py", "if isinstance(found, type) and issubclass(found, interfaces):", "if isinstance(found, type):", "tests/test_describe.py"),
    # model
    Mutant("model/model.py", "return (times - times[0]) / self.units.time, self", "return times - times[0], self", "tests/model"),
    Mutant("model/fields.py", "return jnp.mean(jax.vmap(lambda levels, u: self._field(levels)(t, x, u))(levels, u), axis=0)", "return jax.vmap(lambda levels, u: self._field(levels)(t, x, u))(levels, u)[0]", "tests/model"),
    Mutant("model/forecast.py", "return jnp.mean(self.members, axis=0)", "return self.members[0]", "tests/model"),
    # evaluate
    Mutant("evaluate/evaluation.py", "channel_sums=np.asarray(sums, float) * squares", "channel_sums=np.asarray(sums, float)", "tests/evaluate"),
    Mutant("evaluate/evaluation.py", "known = np.asarray(first_points(batch, warmup))", "known = np.asarray(first_points(batch, warmup + 1))", "tests/evaluate"),
    Mutant("evaluate/errors.py", "jnp.square(jnp.where(rows(observed), rows(predicted - states), 0.0))", "jnp.square(rows(predicted - states))", "tests/evaluate tests/train"),
    # train
    Mutant("train/loss.py", "return regulariser.weight * jax.lax.stop_gradient(ratio) * total", "return regulariser.weight * ratio * total", "tests/train/test_loss.py"),
    Mutant("train/loss.py", "error = jnp.sum(sums.error) / count", "error = jnp.mean(sums.error / sums.observed)", "tests/train/test_loss.py"),
    Mutant("train/step.py", "jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)", "jax.random.fold_in(jax.random.wrap_key_data(state.key), 0)", "tests/train/test_step.py tests/train/test_fit.py"),
    Mutant("train/step.py", "jnp.where(good, a, b), new, state)", "jnp.where(True, a, b), new, state)", "tests/train/test_step.py tests/train/test_fit.py"),
    Mutant("train/step.py", "return only(place < middle), only((place >= middle) | (count == 1))", "return only(place < middle), only(place >= 0)", "tests/train/test_phases.py"),
    Mutant("train/optimisers.py", "half_wave = lambda share: 0.5 * (1 + jnp.cos(jnp.pi * share))", "half_wave = lambda share: 0.5 * (1 + jnp.cos(0.9 * jnp.pi * share))", "tests/train/test_optimisers.py"),
    Mutant("train/sampling.py", "jnp.asarray(1 + step // self.every, float)", "jnp.asarray(step // self.every, float)", "src/leadax/train/sampling.py tests/train/test_step.py tests/train/test_loss.py"),
    Mutant("train/loop.py", "better = np.nan_to_num(error, nan=np.inf) < np.asarray(self.error)", "better = np.nan_to_num(error, nan=np.inf) > np.asarray(self.error)", "tests/train/test_fit.py"),
    Mutant("train/loop.py", "self.best.improved(state.levels, validation.nmse_per_seed, step)", "self.best.improved(state.levels, validation.mse_per_seed, step)", "tests/train/test_stability.py"),
    Mutant("train/loop.py", "np.maximum(self.task.variance, MORE * least)", "np.maximum(self.task.variance, least)", "tests/train/test_fit.py"),
    Mutant("train/loop.py", "return good._replace(rate=np.where(wrong, good.rate * np.float32(0.5), good.rate).astype(good.rate.dtype))", "return good", "tests/train/test_fit.py"),
    Mutant("train/run_folder.py", "refuse_another(folder, entry(about, \"config\", dict, str(folder)), config.to_json())", "pass", "tests/train/test_run_folder.py"),
    Mutant("train/run_folder.py", "if seal != _digest(document):", "if False:", "tests/train/test_run_folder.py"),
    Mutant("train/finish.py", "training.steps / max(training.seconds, 1e-9)", "training.seconds / max(training.steps, 1e-9)", "tests/cli/test_learning.py tests/train/test_run_folder.py"),
    # choose
    Mutant("choose/paired.py", "return min(1.0, 2 * by_sign, 2 * by_factor)", "return min(1.0, by_sign, by_factor)", "tests/choose/test_verdict.py tests/choose/test_tune.py"),
    Mutant("choose/paired.py", "gain.std(ddof=1) / math.sqrt(len(gain))", "gain.std(ddof=1)", "tests/choose/test_verdict.py tests/choose/test_tune.py"),
    Mutant("choose/search.py", "self.clock() - self.prepared", "self.clock()", "tests/choose/test_tune.py"),
    Mutant("choose/tune.py", "if not errors[name] <= self.journal", "if errors[name] <= self.journal", "tests/choose/test_tune.py"),
    # trend
    Mutant("trend/effects.py", "_width(common**2 / sure(np.diag(covariance), widths.common)),", "_width(common**2 * sure(np.diag(covariance), widths.common)),", "tests/trend/test_trend.py"),
    Mutant("trend/effects.py", "logs = np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(system)[1]", "logs = np.linalg.slogdet(inner)[1].sum()", "tests/trend/test_trend.py"),
    Mutant("trend/basis.py", "x = (z - zero) / np.where", "x = (z + zero) / np.where", "tests/trend/test_trend.py"),
    Mutant("trend/shooting.py", "np.einsum(\"brc,brd->bcd\", left, left) - taken", "np.einsum(\"brc,brd->bcd\", left, left)", "tests/trend/test_trend.py"),
    Mutant("trend/fitting.py", "return raw if raw.is_better_than(standard, CLEARLY) else standard", "return standard", "tests/trend/test_trend.py"),
    Mutant("trend/fitting.py", "return self.evidence - self.widths", "return self.evidence", "tests/trend/test_trend.py"),
    Mutant("trend/fitting.py", "if found.misfit is None and found.rest < CERTAIN:", "if False:", "tests/trend/test_stability.py"),
    Mutant("trend/fitting.py", "tried.rest + tried.strays < best.rest + best.strays", "tried.rest < best.rest", "tests/trend/test_stability.py"),
    Mutant("trend/stability.py", "_starts(*_range_of_starts(points), reach", "_starts(low, high, reach", "tests/trend/test_stability.py"),
    Mutant("trend/stability.py", "(x > high + far * reach)", "(x > high + FAR * reach)", "tests/trend/test_stability.py"),
    Mutant("trend/basis.py", "x[:, [channel]] * np.concatenate", "x[:, [0]] * np.concatenate", "tests/trend/test_trend.py"),
    Mutant("trend/fitting.py", "points.amounts & (of(bound)", "~points.amounts & (of(bound)", "tests/trend/test_trend.py"),
    Mutant("trend/degree.py", "CLEARLY) and _stays(points, law, wide, best, found)", "CLEARLY)", "tests/trend/test_stability.py"),
    Mutant("train/request.py", "return self.defaults.learning_rate if self._usual_optimiser else LEARNING_RATE", "return LEARNING_RATE", "tests/test_defaults.py"),
    Mutant("trend/degree.py", "best, found = law, wide", "found = wide", "tests/trend/test_trend.py"),
    Mutant("trend/flow.py", "(miss + terms @ whole) / np.sqrt(gap)", "miss / np.sqrt(gap)", "tests/trend/test_trend.py"),
    Mutant("trend/held_out.py", "left_out = points.complete & ~use", "left_out = points.complete & use", "tests/trend/test_trend.py"),
    Mutant("nets/polynomial.py", "*(slope * moving for slope in slopes)", "*slopes", "tests/trend/test_polynomial.py"),
    Mutant("nets/polynomial.py", "from_zero + 2 * beyond\n", "from_zero + beyond\n", "tests/trend/test_polynomial.py"),
    Mutant("trend/pace.py", "np.ceil(gaps / longest - 1e-6)", "np.round(gaps / longest)", "tests/trend/test_pace.py"),
    Mutant("trend/pace.py", "leaves = moving & (place == count - 1)", "leaves = moving & (place == 0)", "tests/trend/test_pace.py"),
    Mutant("trend/shooting.py", "slopes, jacobian = slopes + rates, jacobian + turning", "slopes = slopes + rates", "tests/trend/test_formula.py"),
    Mutant("trend/intervals.py", "changes = changes - simpson(", "changes = changes + simpson(", "tests/trend/test_formula.py"),
    Mutant("trend/flow.py", "known(times + (k + ahead) * h[:, 0], stage, u)", "known(times, stage, u)", "tests/trend/test_formula.py"),
    Mutant("methods/prefit_rest.py", "whole(flat + jnp.asarray(move, flat.dtype))", "whole(flat)", "tests/trend/test_formula.py"),
    Mutant("train/request.py", "few = calm or self.layout.noise is not None", "few = calm", "tests/trend/test_trend.py"),
    Mutant("evaluate/evaluation.py", "UNBOUNDED if box is None else", "UNBOUNDED if True else", "tests/evaluate/test_evaluation.py"),
    # adapt
    Mutant("adapt/schemes.py", "return model.method, Start(_new_levels(model, data, key), (\"specific\",))", "return model.method, Start(_new_levels(model, data, key))", "tests/adapt"),
    Mutant("adapt/reliability.py", "if share > usual + 0.1:", "if share > usual + 10:", "tests/adapt/test_mixture.py"),
    Mutant("adapt/trial.py", "outcome.error < MUCH_BETTER * best.error", "outcome.error > MUCH_BETTER * best.error", "tests/adapt"),
    Mutant("methods/mixture.py", "directions=left[:, : method.count] / math.sqrt(method.known)", "directions=left[:, : method.count] * math.sqrt(method.known)", "tests/adapt/test_mixture.py"),
    # choose
    Mutant("choose/verdict.py", "yardsticks[simple].nmse <= best.nmse:", "yardsticks[simple].nmse <= 0:", "tests/choose/test_verdict.py"),
    # yardsticks
    Mutant("yardsticks/rules.py", "expm(generator * sizes[:, None, None])", "expm(-generator * sizes[:, None, None])", "tests/yardsticks"),
    Mutant("yardsticks/rules.py", "whole[size : size + count, size + count :] = np.eye(count)", "pass", "tests/yardsticks"),
    Mutant("yardsticks/history.py", "total(gaps * (first + last) / 2)", "total(gaps * first)", "tests/yardsticks"),
    Mutant("data/holdouts.py", "(i % count == fold) == inside", "(i % count == 0) == inside", "tests/data/test_holdouts.py"),
    Mutant("evaluate/solver_gap.py", "exact = _adaptive(field, model.units.standard(start), model.units.clock(times))", "exact = _adaptive(field, model.units.standard(start), times)", "tests/train/test_time.py"),
    # theory, report, cli
    Mutant("cli/console.py", "return None if isinstance(value, float) and not math.isfinite(value) else value", "return value", "tests/cli"),
]
# fmt: on
