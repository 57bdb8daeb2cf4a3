"""`leadax bound`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from .._atomic import check_destination
from ..errors import InputError
from .checks import check_count
from .console import Json, message, optional, result

if TYPE_CHECKING:
    from ..theory import HypothesisSpace

PICTURES = (".png", ".svg", ".pdf")
# Which letters belong to which kind of functions.
LETTERS = {"linear": ("r", "r_shared", "b", "d"), "network": ("R", "R_shared", "L", "L_shared", "W", "D")}
ENVIRONMENTS = (1, 2, 4, 8, 16, 32, 64)

Kind = Annotated[
    Literal["linear", "network"],
    Positional,
    arg(metavar="linear|network", help="What f and the g_e are: linear maps, or networks."),
]


def bound(
    kind: Kind,
    /,
    *,
    m: Annotated[int, arg(help="Environments (a number).")],
    c: Annotated[float, arg(help="Largest squared error of a derivative, in (units of the states/time)².")],
    n: Annotated[int | None, optional("INT", "Samples, that is points, per environment: gives the bound ε.")] = None,
    epsilon: Annotated[
        float | None,
        optional("FLOAT", "Test error minus training error, in (units of the states/time)²: gives the n needed."),
    ] = None,
    delta: Annotated[float, arg(help="How often the statement may fail (a probability).")] = 0.05,
    z: Annotated[
        float | None, optional("FLOAT", "ε₁/ε, the share of ε that f gets, between 0 and 1; by default the best.")
    ] = None,
    d: Annotated[int | None, optional("INT", "Linear: dimension of the states (a number).")] = None,
    r: Annotated[
        float | None, optional("FLOAT", "Linear: largest squared Frobenius norm of a G_e, in 1/time².")
    ] = None,
    r_shared: Annotated[float | None, optional("FLOAT", "Linear: r′, the same of F, in 1/time².")] = None,
    b: Annotated[
        float | None, optional("FLOAT", "Linear: length of the longest state, in units of the states.")
    ] = None,
    R: Annotated[
        float | None, optional("FLOAT", "Network: largest value |g_e(x)|, in units of the states/time.")
    ] = None,
    R_shared: Annotated[float | None, optional("FLOAT", "Network: the same of f; R by default.")] = None,
    L: Annotated[float | None, optional("FLOAT", "Network: largest Lipschitz constant of a g_e, in 1/time.")] = None,
    L_shared: Annotated[float | None, optional("FLOAT", "Network: the same of f; L by default.")] = None,
    W: Annotated[int | None, optional("INT", "Network: parameters of one net (a number).")] = None,
    D: Annotated[int | None, optional("INT", "Network: layers of one net (a number).")] = None,
    picture: Annotated[Path | None, optional("FILE", "Draw n and ε against m to this .png, .svg or .pdf.")] = None,
    json: Json = False,
) -> None:
    """The paper's sample sizes (Props 2, 3) and error bounds (Prop. 5) from numbers. True, and far from tight.

    The mean test error of f + g_e over m environments is at most ε above the training error, with probability 1 − δ,
    for any f and g_e within these numbers, where errors are squared errors of the derivative dx/dt.
    """
    given = {"r": r, "r_shared": r_shared, "b": b, "d": d, "R": R, "R_shared": R_shared, "L": L, "L_shared": L_shared,
             "W": W, "D": D}  # fmt: skip
    for name, count in (("m", m), ("n", n), ("d", d), ("W", W), ("D", D)):
        check_count(f"--{name}", count)
    if n is None and epsilon is None:
        raise InputError("give `--n` for the bound from so many samples, `--epsilon` for the samples needed, or both")
    if picture is not None and picture.suffix not in PICTURES:
        raise InputError(f"`--picture` must end in {', '.join(PICTURES)}, got `{picture}`")
    if picture is not None:
        check_destination(picture, overwrite=True)
    used = _used(kind, given)
    shared, specific = _spaces(kind, used, c)
    document: dict[str, Any] = {"kind": kind, "m": m, "n": n, "epsilon": epsilon, "c": c, "delta": delta, **used}
    if n is not None:
        document |= _bound(kind, used, shared, specific, m=m, n=n, c=c, delta=delta, z=z)
    if epsilon is not None:
        document |= _samples(shared, specific, epsilon=epsilon, m=m, delta=delta, z=z)
    result(document, _text(document), as_json=json)
    if picture is not None:
        count, error = n or document["n_needed"], epsilon or document["bound"]
        at = lambda m: _bound(kind, used, shared, specific, m=m, n=count, c=c, delta=delta, z=z)["bound"]
        _draw(picture, shared, specific, at, error, delta, z)


def _used(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The letters of this kind; the others must not be there."""
    option = lambda name: f"`--{name.replace('_', '-')}`"
    given = given | {
        name: given[name] if given[name] is not None else given[name[0]] for name in ("R_shared", "L_shared")
    }
    missing = [option(name) for name in LETTERS[kind] if given[name] is None]
    if missing:
        raise InputError(f"`leadax bound {kind}` needs {', '.join(missing)}: see `leadax bound --help`")
    other = "network" if kind == "linear" else "linear"
    surplus = [option(name) for name in LETTERS[other] if given[name] is not None]
    if surplus:
        raise InputError(f"{', '.join(surplus)} have no meaning for `{kind}`: leave them out, or use `bound {other}`")
    return {name: given[name] for name in LETTERS[kind]}


def _spaces(kind: str, used: dict[str, Any], c: float) -> "tuple[HypothesisSpace, HypothesisSpace]":
    from ..theory import LinearMaps, Networks

    if kind == "linear":
        rest = {"b": used["b"], "c": c, "d": used["d"]}
        return LinearMaps(r=used["r_shared"], **rest), LinearMaps(r=used["r"], **rest)
    rest = {"W": used["W"], "D": used["D"], "c": c}
    return Networks(R=used["R_shared"], L=used["L_shared"], **rest), Networks(R=used["R"], L=used["L"], **rest)


def _bound(
    kind: str, used: dict[str, Any], shared: Any, specific: Any, *, m: int, n: int, c: float, delta: float, z: Any
) -> dict[str, Any]:
    from ..theory import error_bound, samples, smallest_error

    if kind == "linear":
        found = error_bound(m=m, n=n, c=c, delta=delta, z=z, **used)
        return {"bound": found.epsilon, "p": found.p, "q": found.q, "z": found.z}
    epsilon = smallest_error(shared, specific, m=m, n=n, delta=delta, z=z)
    return {"bound": epsilon, "z": samples(shared, specific, epsilon=epsilon, m=m, delta=delta, z=z).z}


def _samples(shared: Any, specific: Any, *, epsilon: float, m: int, delta: float, z: Any) -> dict[str, Any]:
    from ..theory import samples, samples_novel

    found = samples(shared, specific, epsilon=epsilon, m=m, delta=delta, z=z)
    novel = samples_novel(specific, epsilon=epsilon, delta=delta).n if epsilon < 1 else None
    return {"n_needed": found.n, "n_novel": novel, "z_needed": found.z}


def _text(document: dict[str, Any]) -> str:
    lines, m = [], document["m"]
    if "bound" in document:
        epsilon = document["bound"]
        lines.append(f"ε = {epsilon:.4g}: bound from n = {document['n']} samples in each of m = {m} environments")
        if epsilon >= document["c"]:
            lines.append(
                f"  above c = {document['c']:g}, the largest error there is: it guarantees nothing, but has a trend"
            )
    if "n_needed" in document:
        lines.append(f"n = {document['n_needed']:.4g} samples in each of m = {m} environments are enough for "
                     f"ε = {document['epsilon']:g}, with ε₁ = {document['z_needed']:.3f}·ε")  # fmt: skip
        novel = document["n_novel"]
        lines.append(
            f"n′ = {novel:.4g} samples of a novel environment are, with f known"
            if novel is not None
            else "  (Prop. 3, on a novel environment, is about ε below 1)"
        )
    return "\n".join(lines)


def _draw(
    path: Path, shared: Any, specific: Any, at: Callable[[int], float], epsilon: float, delta: float, z: Any
) -> None:
    from .._atomic import replacing
    from ..report.style import save_figure
    from ..report.theory import samples_and_bound
    from ..theory import samples

    needed = [samples(shared, specific, epsilon=epsilon, m=m, delta=delta, z=z).n for m in ENVIRONMENTS]
    figure = samples_and_bound(ENVIRONMENTS, needed, [_or_none(at, m) for m in ENVIRONMENTS])
    with replacing(path, overwrite=True) as temporary:
        save_figure(figure, temporary, path.suffix[1:])
    message(f"picture: {path}")


def _or_none(at: Callable[[int], float], m: int) -> float | None:
    """From too few samples there is no bound for networks."""
    try:
        return at(m)
    except InputError:
        return None
