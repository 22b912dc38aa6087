"""An interior-point method for queries whose answers are all neighbours; it factors only n x n matrices.

A private row is x_j = a + u_j with 0 <= u_j <= k a, k = exp(epsilon) - 1: one number a_i per output and a
share of each answer. Few outputs are used at the optimum, so the duals v are far from unique and column
generation oscillates among them; an interior point stays in their middle. With slack s = k a - u and multipliers
z_u, z_s the conditions are

    sum_i x_ij = 1,   u + s = k a,   z_u = r + z_s,   sum_j r_ij = k sum_j z_s,ij,   u z_u = s z_s = 0,

r_ij = weight_j loss_ij - v_j. Newton steps (Mehrotra's predictor and corrector) eliminate everything that
belongs to one output, or to one output and answer, and leave n equations for v (worst case 2n for v and the
weights).
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from inbounds.design.problem import Floats
from inbounds.design.solver.linalg import definite_root

#: relative gap from which points are handed out, and to stop at; most steps stay this far inside
NEAR, GAP, INSIDE, STEPS = 1e-6, 3e-12, 0.995, 400
#: added to the diagonal so that a flat optimum can be factored: the first that will do; what it costs is refined away
RIDGES, REFINEMENTS = (1e-14, 1e-13, 1e-11), 3
#: row minima below this share of the largest are zero
DUST = 1e-9


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """An iterate, or a direction.

    a: per output. u, s, zu, zs: per output and answer. y: duals per answer, v and (worst) the weights. t, slack: the
    worst loss and the distance of each answer's loss from it.
    """

    a: Floats
    u: Floats
    s: Floats
    zs: Floats
    zu: Floats
    y: Floats
    t: float
    slack: Floats

    @property
    def gap(self) -> float:
        inner = (self.u * self.zu).sum() + (self.s * self.zs).sum()
        return float(inner + self.slack @ self.y[1:].sum(axis=0))

    @property
    def bound(self) -> float:
        """Absolute value of the bound that the duals prove."""
        return abs(float(self.y[0].sum()))

    @property
    def matrix(self) -> Floats:
        return self.a[:, None] + self.u


@dataclass(frozen=True, eq=False)
class Form:
    """The program in terms of r = base + sum_b tables[b] * y[b]. Average: base = cost, tables = -1. Worst: base = 0,
    tables = -1, loss.

    mirrored: the tables hold only the first half of the outputs. The others are their mirror images, so the duals
    of answers j and n-1-j are one unknown, and what the half gives to both answers of such a pair sums to one.
    """

    base: Floats
    tables: tuple[Floats, ...]
    k: float
    mirrored: bool

    def fold(self, x: Floats) -> Floats:
        """Sum over pairs of mirrored answers, along the last axis."""
        if not self.mirrored:
            return x
        n = x.shape[-1]
        pairs: Floats = (x + x[..., ::-1])[..., : (n + 1) // 2]
        return np.concatenate([pairs[..., : n // 2], x[..., n // 2 : (n + 1) // 2]], axis=-1)

    def unfold(self, y: Floats) -> Floats:
        """Give both answers of a pair the same number: the transpose of `fold`."""
        n = self.base.shape[1]
        return np.concatenate([y, y[..., : n // 2][..., ::-1]], axis=-1) if self.mirrored else y

    @property
    def total(self) -> float:
        return 0.5 if self.mirrored else 1.0

    def reduced(self, y: Floats) -> Floats:
        """Compute r for the duals y."""
        r = self.base.copy()
        for table, row in zip(self.tables, y, strict=True):
            r += table * row
        return r


def points(
    loss: Floats, prior: Floats, worst: bool, step: float, mirrored: bool = False, deadline: float = np.inf
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield P, v and answer weights, ever nearer to the optimum, from a relative gap of NEAR on; at least once.

    The last steps can fail by rounding, and the best P and the best v need not come from the same step, so the caller
    keeps the best of each. Ends at a gap of 1e-11, or when `time.monotonic()` passes the deadline: v
    always gives a bound, but columns of P may not sum to one.

    Cost: about 10 to 30 factorizations of an n x n matrix (worst case 2n x 2n; some 70 for a loss without any
    order), half as many rows if loss and prior are `mirrored`.
    """
    m = len(loss)
    scale = float((loss if worst else prior * loss).sum()) / m / (loss.shape[1] if worst else 1)
    half = loss[: (m + 1) // 2] / scale if mirrored else loss / scale
    minus = -np.ones_like(half)
    tables = (minus, half) if worst else (minus,)
    form = Form(np.zeros_like(half) if worst else prior * half, tables, float(np.expm1(step)), mirrored)
    with np.errstate(all="ignore"):
        for point in _near_optimal(_steps(form, deadline)):
            yield _full_matrix(form, point, m), scale * point.y[0], point.y[1] if worst else prior


def _steps(form: Form, deadline: float) -> Iterator[InteriorPoint]:
    """Yield all iterates until the gap closes, the deadline passes or a step fails."""
    point: InteriorPoint | None = _start(form)
    for _ in range(STEPS):
        if point is None or not np.isfinite(point.gap):
            return
        yield point
        if point.gap <= GAP * point.bound or time.monotonic() > deadline:
            return
        point = _step(form, point)


def _near_optimal(reached: Iterable[InteriorPoint]) -> Iterator[InteriorPoint]:
    """Yield the points within NEAR; the last one in any case."""
    last = None
    for point in reached:
        last = point
        if point.gap <= NEAR * point.bound:
            yield point
            last = None
    if last is not None:
        yield last


def _full_matrix(form: Form, p: InteriorPoint, m: int) -> Floats:
    """Return P with all m outputs, including mirror images."""
    P = np.zeros((m, form.base.shape[1]))
    P[: len(p.a)] = p.matrix
    return P + P[::-1, ::-1] if form.mirrored else P


def fill_from_minima(a: Floats, cost: Floats, away: Floats, k: float) -> Floats:
    """Build the cheapest matrix with row minima a: each answer adds to its cheapest outputs, at most k a_i each.

    Ties go to the output nearest in position. Minima that are rounding errors are dropped; the others are scaled if
    necessary so that columns can sum to one. Private by construction.
    """
    a = np.where(a > DUST * a.max(), a, 0.0)
    a = a / min(max(1.0, float(a.sum())), (1 + k) * float(a.sum()))
    order = np.lexsort((away, cost), axis=0)
    most = k * a[order]
    take = np.clip(1 - a.sum() - (np.cumsum(most, axis=0) - most), 0.0, most)
    P = np.empty_like(cost)
    np.put_along_axis(P, order, take, axis=0)
    return P + a[:, None]


def _start(form: Form) -> InteriorPoint:
    """Return the first point: all outputs alike."""
    m, n = form.base.shape
    a = np.full(m, form.total / (m * (1 + form.k / 2)))
    u = np.full((m, n), form.k * a[0] / 2)
    y = np.vstack([np.zeros(n)] + [np.full(n, 1.0 / n)] * (len(form.tables) - 1))
    least = form.reduced(y).min(axis=0)
    y[0] = (np.minimum(least, least[::-1]) if form.mirrored else least) - 1.0 / n
    r = form.reduced(y)
    zs = np.repeat(r.sum(axis=1, keepdims=True) / (form.k * n), n, axis=1)
    losses = ((a[:, None] + u) * form.tables[-1]).sum(axis=0)
    losses = (losses + losses[::-1]) / 2 if form.mirrored else losses
    t = float(losses.max()) + 1.0
    slack = t - losses if len(form.tables) > 1 else np.zeros(n)
    return InteriorPoint(a, u, u.copy(), zs, r + zs, y, t, slack)


@dataclass(frozen=True, eq=False)
class _Factors:
    """The reduced system at a point: ratios u / z_u and s / z_s, their joint weight, and the factored
    matrix."""

    tu: Floats
    ts: Floats
    w: Floats
    G: Floats
    N: Floats
    K: Floats
    root: tuple[Floats, bool]

    def solve(self, right: Floats) -> Floats:
        """Solve K y = right, with refinement, because the factors are those of K with a ridge."""
        y: Floats = cho_solve(self.root, right)
        for _ in range(REFINEMENTS):
            y += cho_solve(self.root, right - self.K @ y)
        return y


def _factors(form: Form, p: InteriorPoint) -> _Factors:
    """Build and factor the reduced system at a point."""
    tu, ts = p.u / p.zu, p.s / p.zs
    w = 1 / (tu + ts)
    M, E, G = 1 + form.k * w * tu, tu * ts * w, form.k**2 * w.sum(axis=1)
    N = np.hstack([form.fold(M * table) for table in form.tables])
    K = (N.T / G) @ N
    n = N.shape[1] // len(form.tables)
    for b, left in enumerate(form.tables):
        for c, right in enumerate(form.tables):
            block = K[b * n : (b + 1) * n, c * n : (c + 1) * n]
            block[np.diag_indices(n)] += form.fold((E * left * right).sum(axis=0))
    if len(p.y) > 1:
        K[n:, n:][np.diag_indices(n)] += form.fold(p.slack / p.y[1])
    return _Factors(tu, ts, w, G, N, K, definite_root(K, RIDGES))


def _direction(form: Form, p: InteriorPoint, f: _Factors, aim: tuple[Floats, Floats, Floats]) -> InteriorPoint:
    """Compute the Newton step towards u z_u = aim[0], s z_s = aim[1], slack * weights = aim[2], as a point of
    differences."""
    hu, hs = aim[0] / p.zu - p.u, aim[1] / p.zs - p.s
    H = hu + hs - (form.k * p.a[:, None] - p.u - p.s)
    g, b = hu - f.tu * f.w * H, form.k * (f.w * H).sum(axis=1)
    x = p.matrix
    worst = len(form.tables) > 1
    right = [(-g).sum(axis=0) + form.total - x.sum(axis=0)]
    if worst:
        hslack = aim[2] / p.y[1] - p.slack
        right.append((form.tables[1] * (g + x)).sum(axis=0) + hslack + p.slack - p.t)
    dy, dt = _bordered(form, f, f.N.T @ (b / f.G) + form.fold(np.array(right)).ravel())
    da = (b - f.N @ dy) / f.G
    dy = form.unfold(dy.reshape(len(form.tables), -1))
    e = form.reduced(dy) - form.base
    dzs = f.w * (H - f.tu * e - form.k * da[:, None])
    dslack = hslack - p.slack / p.y[1] * dy[1] if worst else np.zeros_like(p.slack)
    return InteriorPoint(da, hu - f.tu * (dzs + e), hs - f.ts * dzs, dzs, dzs + e, dy, dt, dslack)


def _bordered(form: Form, f: _Factors, right: Floats) -> tuple[Floats, float]:
    """Solve K dy + dt = right in the rows of the weights, whose changes sum to zero; without weights K dy = right."""
    dy = f.solve(right)
    if len(form.tables) == 1:
        return dy, 0.0
    ones = form.fold(np.repeat([[0.0], [1.0]], form.base.shape[1], axis=1)).ravel()
    border = f.solve(ones)
    dt = float(ones @ dy / (ones @ border))
    return dy - dt * border, dt


def _step(form: Form, p: InteriorPoint) -> InteriorPoint | None:
    """Make one step of Mehrotra's predictor and corrector; None if the system cannot be factored."""
    try:
        f = _factors(form, p)
    except (LinAlgError, ValueError):
        return None
    zero = np.zeros_like(p.u)
    guess = _direction(form, p, f, (zero, zero, zero[0]))
    reach = _move_along(form, p, guess, 1.0)
    count = 2 * p.u.size + (len(p.slack) if len(p.y) > 1 else 0)
    aim = p.gap / count * (max(reach.gap, 0.0) / p.gap) ** 3
    weights = guess.y[1] if len(p.y) > 1 else zero[0]
    targets = (aim - guess.u * guess.zu, aim - guess.s * guess.zs, aim - guess.slack * weights)
    return _move_along(form, p, _direction(form, p, f, targets), INSIDE)


def _move_along(form: Form, p: InteriorPoint, d: InteriorPoint, inside: float) -> InteriorPoint:
    """Move p along d by `inside` times the longest primal and dual steps that stay positive, at most one."""
    primal = min(1.0, inside * _longest_step((p.u, d.u), (p.s, d.s), (p.slack, d.slack)))
    dual = min(1.0, inside * _longest_step((p.zs, d.zs), (p.zu, d.zu), (p.y[1:], d.y[1:])))
    y, zs = p.y + dual * d.y, p.zs + dual * d.zs
    return InteriorPoint(
        p.a + primal * d.a,
        p.u + primal * d.u,
        p.s + primal * d.s,
        zs,
        form.reduced(y) + zs,
        y,
        p.t + primal * d.t,
        p.slack + primal * d.slack,
    )


def _longest_step(*pairs: tuple[Floats, Floats]) -> float:
    """Return the longest step for which x + step * d stays non-negative in all pairs (x, d)."""
    falls = [float((-d[d < 0] / x[d < 0]).max(initial=0.0)) for x, d in pairs]
    return 1 / max(max(falls), 1e-300)
