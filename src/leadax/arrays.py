"""Trees of arrays in safetensors files: self-describing, sealed by a SHA-256, no code in them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, PyTree

from ._atomic import one_line
from .errors import InputError

_MARK = "leadax"


def numbers(name: str, value: Any) -> np.ndarray:
    """An argument as an array in float64; an `InputError` if it is no array of numbers."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be numbers, got {value!r:.60}: {one_line(error)}") from error


def key_numbers(key: Any) -> tuple[int, ...]:
    """The numbers of a `jax.random` key; an `InputError` if it is none."""
    try:
        return tuple(int(k) for k in np.asarray(jax.random.key_data(key)).ravel())
    except (TypeError, ValueError) as error:
        raise InputError(f"`key` must be a `jax.random.key`, got {key!r:.60}") from error


def write_tree(path: Path, tree: PyTree, about: Mapping[str, Any]) -> None:
    """Write the arrays of a tree, and a JSON document about them, to one file."""
    from safetensors.numpy import save

    arrays = flatten(tree)
    text = json.dumps(about, sort_keys=True)
    # Not `save_file`, which lets nobody else read the file and has an error of its own for a full disk.
    path.write_bytes(save(arrays, metadata={_MARK: text, "sha256": _digest(arrays, text)}))


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays by their place in the tree, and the document; `InputError` if a bit is not as it was written."""
    from safetensors import safe_open

    if not path.is_file():
        raise InputError(f"{path} does not exist")
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # the library's own errors, of several kinds
        if path.suffix != ".safetensors":
            raise InputError(f"{path} is no model: expected a run folder or a .safetensors file") from error
        raise InputError(f"{path} is damaged or not a safetensors file: {one_line(error)}") from error
    if not {_MARK, "sha256"} <= set(metadata):
        raise InputError(f"{path} was not written by Leadax, or is damaged: its description is missing")
    if _digest(arrays, metadata[_MARK]) != metadata["sha256"]:
        raise InputError(f"{path} is damaged: its contents do not match their SHA-256")
    return arrays, _document(metadata[_MARK], path)


def _document(text: str, path: Path) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: its description is not JSON ({type(error).__name__})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is damaged: its description is not a JSON object")
    return document


def flatten(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a tree by their place in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    # In C order: safetensors writes the memory of a transposed array as it lies.
    return {jax.tree_util.keystr(place): np.asarray(leaf, order="C") for place, leaf in leaves}


def on_device(numbers: Any, dtype: DTypeLike | None = None) -> Array:
    """Numbers of the host as an array of JAX. Unlike `jnp.asarray`, it compiles no program for each new shape."""
    return jax.device_put(np.asarray(numbers, dtype))


def cast(tree: PyTree, dtype: Any) -> PyTree:
    """All real numbers of a tree in one type."""
    return jax.tree.map(lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree)


def fingerprint(tree: PyTree) -> str:
    """SHA-256 of the arrays of a tree."""
    return _digest(flatten(tree), "")


def fill(template: PyTree, arrays: Mapping[str, np.ndarray], what: str) -> PyTree:
    """The template with the arrays in their places; shapes and types must agree."""
    places, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [jax.tree_util.keystr(place) for place, _ in places]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise InputError(f"{what} does not fit this model: `{odd}` is in only one of the two")
    for name, (_, leaf) in zip(names, places, strict=True):
        if (arrays[name].shape, arrays[name].dtype) != (leaf.shape, leaf.dtype):
            raise InputError(
                f"{what} does not fit this model: `{name}` has shape {arrays[name].shape} and type "
                f"{arrays[name].dtype}, expected {leaf.shape} and {leaf.dtype}"
            )
    return jax.tree_util.tree_unflatten(structure, jax.device_put([arrays[name] for name in names]))


def _digest(arrays: Mapping[str, np.ndarray], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
