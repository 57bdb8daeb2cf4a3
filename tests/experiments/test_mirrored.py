"""Mirror images of Gray–Scott obey Gray–Scott."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadax import Trajectories
from leadax.experiments.study.mirrored import with_mirror_images
from leadax.systems.gray_scott import tangent


def test_the_law_of_an_image_is_the_image_of_the_law():
    numbers = {"D_u": 0.2097, "D_v": 0.105, "F": 0.037, "k": 0.06}
    parameters = {name: jnp.asarray(number) for name, number in numbers.items()}
    field = lambda states: np.stack([tangent(jnp.asarray(x), parameters) for x in states])
    states = np.random.default_rng(0).uniform(0, 1, (1, 1, 2, 32, 32, 2))
    images = with_mirror_images(Trajectories.from_arrays([0, 1], states)).states[0, :, 0]
    of_the_law = with_mirror_images(Trajectories.from_arrays([0, 1], field(states[0, 0])[None, None])).states[0, :, 0]
    np.testing.assert_allclose(field(images), of_the_law, rtol=1e-5, atol=1e-7)


def test_there_are_eight_and_the_first_is_the_original():
    states = np.random.default_rng(0).normal(size=(2, 3, 4, 5, 5, 1))
    data = Trajectories.from_arrays(range(4), states, environments=("a", "b"))
    images = with_mirror_images(data)
    assert images.states.shape == (2, 24, 4, 5, 5, 1)
    np.testing.assert_array_equal(images.states[:, :3], states)
    assert len({image.tobytes() for image in images.states[0, ::3]}) == 8
    with pytest.raises(ValueError, match="expected a square one"):
        with_mirror_images(Trajectories.from_arrays(range(4), states[..., :4, :]))
