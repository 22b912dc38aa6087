"""The design problem written down from the definitions, for solvers that share nothing with the designer."""

import itertools
from fractions import Fraction

import clarabel
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, vstack

import inbounds as ib
from inbounds.properties import NAMES


class Program:
    """The design problem from the definitions: values of answers, edges of cells, nothing of the designer's."""

    def __init__(self, query, epsilon, loss, prior=None, properties=(), worst=False):
        self.m, self.n = query.shape
        self.answers, self.cells = list(query.answers), list(query.outputs)
        self.home = [next(i for i in range(self.m) if self.holds(i, a)) for a in self.answers]
        self.loss = np.array([[loss(v, a) for a in self.answers] for _, _, v in self.cells], dtype=float)
        self.prior = np.full(self.n, 1 / self.n) if prior is None else np.asarray(prior) / np.sum(prior)
        self.worst, self.size = worst, self.m * self.n + worst
        self.less, self.equal = [], []  # rows {variable: coefficient} with right-hand sides: sum <= b, sum = b
        self._private(query, epsilon)
        for name in properties:
            getattr(self, "_" + name)()
        for j in range(self.n):
            self.equal.append(({self.at(i, j): 1.0 for i in range(self.m)}, 1.0))
            if worst:
                weight = 1.0 if prior is None else self.prior[j]
                costs = {self.at(i, j): weight * self.loss[i, j] for i in range(self.m)}
                self.less.append(({**costs, self.m * self.n: -1.0}, 0.0))

    def holds(self, i, answer):
        low, high, _ = self.cells[i]
        last = i + 1 == self.m or self.cells[i + 1][0] > high
        return low <= answer < high or (last and answer == high)

    def at(self, i, j):
        return i * self.n + j

    def _private(self, query, epsilon):
        rule, unit = type(query.neighbours).__name__, query.answers.unit
        for j, k in itertools.permutations(range(self.n), 2):
            apart = abs(self.answers[j] - self.answers[k])
            if rule == "Reach" and apart > query.neighbours.steps * unit:
                continue
            distance = apart / query.neighbours.unit if rule == "Metric" else 1
            self.ratio = np.exp(float(epsilon * distance)) if not isinstance(epsilon, ExactRatio) else epsilon.ratio
            for i in range(self.m):
                self.less.append(({self.at(i, j): 1.0, self.at(i, k): -self.ratio}, 0.0))

    def more(self, greater, lesser):
        if greater != lesser:
            self.less.append(({lesser: 1.0, greater: -1.0}, 0.0))

    def _row_honest(self):
        for j, k in itertools.product(range(self.n), repeat=2):
            self.more(self.at(self.home[j], j), self.at(self.home[j], k))

    def _column_honest(self):
        for i, j in itertools.product(range(self.m), range(self.n)):
            self.more(self.at(self.home[j], j), self.at(i, j))

    def _row_monotone(self):
        for i, (low, high, _) in enumerate(self.cells):
            for j in range(self.n - 1):
                if self.answers[j + 1] <= high:
                    self.more(self.at(i, j + 1), self.at(i, j))
                if self.answers[j] >= low:
                    self.more(self.at(i, j), self.at(i, j + 1))

    def _column_monotone(self):
        for i, j in itertools.product(range(self.m - 1), range(self.n)):
            near, far = (i + 1, i) if i < self.home[j] else (i, i + 1)
            self.more(self.at(near, j), self.at(far, j))

    def _fair(self):
        for j in range(1, self.n):
            self.equal.append(({self.at(self.home[j], j): 1.0, self.at(self.home[0], 0): -1.0}, 0.0))

    def _weakly_honest(self):
        for j in range(self.n):
            self.less.append(({self.at(self.home[j], j): -1.0}, -1 / self.m))

    def _symmetric(self):
        for i, j in itertools.product(range(self.m), range(self.n)):
            here, there = self.at(i, j), self.at(self.m - 1 - i, self.n - 1 - j)
            if here < there:
                self.equal.append(({here: 1.0, there: -1.0}, 0.0))

    def cost(self):
        return np.eye(1, self.size, self.size - 1)[0] if self.worst else (self.loss * self.prior).ravel()

    def _sparse(self, rows):
        entries = [(r, c, v) for r, (row, _) in enumerate(rows) for c, v in row.items()]
        r, c, v = (np.array(part) for part in zip(*entries, strict=True))
        return csc_array((v.astype(float), (r, c)), shape=(len(rows), self.size)), np.array([b for _, b in rows])

    def highs(self):
        (A, b), (C, d) = self._sparse(self.less), self._sparse(self.equal)
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        return linprog(self.cost(), A_ub=A, b_ub=b, A_eq=C, b_eq=d, method="highs", options=options).fun

    def clarabel(self):
        (A, b), (C, d) = self._sparse(self.less), self._sparse(self.equal)
        rows = vstack([C, A, -eye_array(self.size)]).tocsc()
        right = np.concatenate([d, b, np.zeros(self.size)])
        cones = [clarabel.ZeroConeT(len(d)), clarabel.NonnegativeConeT(len(b) + self.size)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        quadratic = csc_array((self.size, self.size))
        return clarabel.DefaultSolver(quadratic, self.cost(), rows, right, cones, settings).solve().obj_val


class ExactRatio:
    """Stands for epsilon where the ratio itself is given as a fraction."""

    def __init__(self, ratio):
        self.ratio = ratio

    def __mul__(self, distance):
        return self


LOSSES = {
    "absolute": lambda v, a: abs(v - a),
    "squared": lambda v, a: (v - a) ** 2,
    "far": lambda v, a: abs(v - a) > 1,
    "power": lambda v, a: abs(float(v - a)) ** 1.5,
    "lopsided": lambda v, a: 3 * max(v - a, 0) + max(a - v, 0),
}
GIVEN = {
    "absolute": "absolute",
    "squared": "squared",
    "far": ib.threshold_loss(1),
    "power": ib.power_loss("1.5"),
    "lopsided": lambda v, a: 3 * max(v - a, 0) + max(a - v, 0),
}


def random_request(rng):
    n = int(rng.integers(2, 8))
    query = [
        lambda: ib.count(n),
        lambda: ib.total(3, 0, int(rng.integers(2, 4))),
        lambda: ib.mean(2, 1, 4),
        lambda: ib.extreme(1, n),
        lambda: ib.ordinal(0, n, unit=2),
        lambda: ib.interval(0, 6, "1.5", 6, holes=[(2, 3)]),
        lambda: ib.count(n, outputs=max(1, n // 2)),
        lambda: ib.count(n, outputs=ib.cells(-2, n + 2, n + 4)),
    ][rng.integers(8)]()
    prior = (
        None
        if rng.random() < 0.5
        else np.where(rng.random(len(query.answers)) < 0.2, 0, rng.random(len(query.answers)))
    )
    prior = None if prior is not None and not prior.sum() else prior
    names = [name for name in NAMES if rng.random() < 0.25 and (name != "symmetric" or query.is_symmetric)]
    epsilon = Fraction(str(rng.choice(["0.05", "0.3", "1", "2.5"])))
    return query, epsilon, str(rng.choice(list(LOSSES))), prior, tuple(names), rng.random() < 0.35
