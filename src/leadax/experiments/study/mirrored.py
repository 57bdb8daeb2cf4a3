"""Mirror images of fields, for laws that know no direction."""

import dataclasses

import numpy as np

from ...data import Trajectories


def with_mirror_images(data: Trajectories) -> Trajectories:
    """The data and their images under all quarter turns and reflections of a square grid, as further trajectories.

    If u(t, x) obeys a law without a preferred direction, so does u(t, R x). Eight images say no more about such a law
    than one does, but a net does not know that.
    """
    rows, columns = data.space
    if rows != columns:
        raise ValueError(f"a grid of {rows} × {columns} pixels cannot be turned: expected a square one")
    axes = (3, 4)  # after those of environments, trajectories and times
    turned = [np.rot90(data.states, quarters, axes) for quarters in range(4)]
    images = [*turned, *(np.flip(each, axes[0]) for each in turned)]
    states = np.concatenate(images, axis=1)
    return dataclasses.replace(data, states=states, times=np.repeat(data.times, len(images), axis=1))
