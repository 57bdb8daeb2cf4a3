"""A drug in twelve subjects: theophylline in the blood after one dose, forecast from five samples.

    Rscript -e 'write.csv(Theoph, "theophylline.csv", row.names = FALSE)'
    python examples/theophylline.py --data theophylline.csv

The data come with R (`Theoph`, in the package datasets) and are not part of Leadax. The concentration rises while the
drug is absorbed and falls while it is removed, so one number is not enough of a state: the gut is hidden (`hidden=1`).
Each subject absorbs and removes at a pace of their own (`individual=2`). Eight subjects are learnt from; of the other
four, a forecast is given the first five samples.
"""

import jax.random as jr
import numpy as np
from drawing import BLUE, GREY, legend, options, panels, save

import leadax as lx

WARMUP = 5


def subjects(path) -> lx.Trajectories:
    """All subjects as trajectories of one environment."""
    data = lx.load(path, columns={"environment": "Subject", "time": "Time"}, channels=["conc"])
    return lx.Trajectories.from_arrays(
        data.times[None, :, 0],
        data.states[None, :, 0],
        environments=["humans"],
        channels=["mg/L"],
        trajectory_names=[[f"subject {name}" for name in data.environments]],
    )


def main() -> None:
    """Read, learn from eight, forecast four, draw."""
    chosen = options(__doc__ or "", steps=1000, data={"required": True, "help": "your copy of Theoph as CSV"})
    everyone = subjects(chosen.data)
    held_out = np.arange(2, 12, 3)
    train = everyone.select(trajectories=np.setdiff1d(np.arange(12), held_out))
    test = everyone.select(trajectories=held_out)
    model = lx.fit(lx.Leads(), train, latent=lx.Latent(hidden=1, individual=2), steps=chosen.steps, key=jr.key(0))
    print("error after five samples, as a part of the variance")
    print(f"  LEADS       {lx.evaluate(model, test, warmup=WARMUP).nmse:.2g}")
    for name in ("mean curve", "persistence"):
        print(f"  {name:11} {lx.yardsticks(train, test, warmup=WARMUP)[name].nmse:.2g}")
    draw(train, test, lx.forecast(model, test, warmup=WARMUP), chosen.out)


def draw(train: lx.Trajectories, test: lx.Trajectories, forecast: lx.Trajectories, folder) -> None:
    """The four subjects that were held out, over the other eight."""
    figure, axes = panels(1, 4, height=2.6, sharey=True)
    for i, axis in enumerate(axes[0]):
        for k in range(8):
            axis.plot(train.times[0, k], train.states[0, k, :, 0], color=GREY, lw=0.6, alpha=0.6)
        times, values = test.times[0, i], test.states[0, i, :, 0]
        axis.plot(times[WARMUP:], values[WARMUP:], "o", mfc="white", mec="black", ms=4, label="samples to be forecast")
        axis.plot(times[:WARMUP], values[:WARMUP], "o", color="black", ms=4, label="what the forecast has seen")
        axis.plot(forecast.times[0, i], forecast.states[0, i, :, 0], color=BLUE, lw=1.8, label="forecast")
        axis.set(title=test.trajectory_names[0][i] if test.trajectory_names else "", xlabel="hours after the dose")
    axes[0, 0].set_ylabel("theophylline, mg/L")
    legend(figure, axes[0, 0])
    save(figure, folder, "theophylline")


if __name__ == "__main__":
    main()
