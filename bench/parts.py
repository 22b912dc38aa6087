"""The parts of the benchmark: what each measures, in which processes, and what its page says about it."""

import os
from dataclasses import dataclass

from designing import CASES, EPSILON, WHO
from harness import OURS, POLARS

from inbounds import Reach

PATIENCE = float(os.environ.get("PATIENCE", 60))
"""Seconds that a peer gets for one design."""


@dataclass(frozen=True)
class Part:
    """One script and one page.

    about, limits: what is measured against what, and what the numbers do not say. jobs: the arguments of each
    process. headlines: the tasks shown in the summary, small ones included, where peers are at their best.
    """

    title: str
    about: str
    limits: str
    jobs: tuple[tuple[str, ...], ...]
    headlines: tuple[str, ...] = ()
    figure: str = ""
    caption: str = ""


def designs() -> tuple[tuple[str, ...], ...]:
    """Every case by us, and by those peers that have a chance to finish it."""
    jobs = []
    for case, (make, properties) in CASES.items():
        query = make()
        chain = not properties and query.neighbours == Reach(1)
        largest = {"cvxpy": 101, "qif": 101 if chain else 0}
        able = [who for who in WHO if who == OURS or len(query.answers) <= largest.get(who, 301)]
        jobs += [(who, case, f"{PATIENCE:g}") for who in able]
    return tuple(jobs)


PARTS = {
    "designing": Part(
        "Designing",
        f"The best mechanism for a query: absolute loss, equal prior, epsilon {EPSILON}. `inbounds` is compared with "
        "the papers' linear program (one variable per entry, one row per pair of neighbours and output), given to "
        "HiGHS through SciPy and to cvxpy's default solver, and with qif's own designer where it applies. *Variant 2* "
        "asks for a fair, symmetric, row and column monotone mechanism. The time includes writing the program down, "
        "and for `inbounds` rounding to integers and certifying. A peer's privacy is the true epsilon of what it "
        "returned, found by `ib.audit` and not timed; a *gap* is how far our loss is from a proved bound at most.",
        "Peers solve a general program in floating point, and nobody promised that their zeros are private. A loss "
        "slightly below ours is bought by constraints broken within the solver's tolerance. A better formulation, or "
        "a commercial solver, may be faster than these.",
        designs(),
        (
            *("count 0..20", "count 0..100", "mean, reach 4, 101 answers", "extreme, 100 values"),
            *("Variant 2, count 0..100", "weakly honest and monotone, count 0..100"),
        ),
        "growth",
        "Time against the largest count, both on log scales. An open triangle is a peer stopped at its limit. Large "
        "counts are kept as a table of noise, not as a matrix.",
    ),
    "sampling": Part(
        "Sampling",
        "Private reports per second for ten million true answers between 0 and 100, epsilon 1/2, geometric noise. "
        "Peers that take one value at a time or a list are timed on fewer values; the rate is per value.",
        "Different promises: OpenDP's plain geometric leaves the range and its bounded form runs in constant time, "
        "which `inbounds` does not; diffprivlib is called once per value, as its interface has it. One int in a call: "
        "NumPy's seeded generator is faster, and no entropy of the system.",
        ((OURS,), (f"{OURS}, door",), ("NumPy generator",), ("OpenDP",), ("diffprivlib",)),
        ("0..100, epsilon 1/2, mixed answers",),
        "sampling",
        "Values per second on a log scale. Hatched: floating point, so the promise is not exact.",
    ),
    "certifying": Part(
        "Certifying",
        "From a matrix of floats to integers that are proved private, and a geometric mechanism over a million answers "
        "from nothing.",
        "There is no peer: no other library here certifies a matrix.",
        ((OURS,),),
    ),
    "reading": Part(
        "Reading a mechanism",
        "All measures of one mechanism (expected and worst losses, Bayesian losses, bias, information), the whole "
        "catalog compared, and a report written.",
        "There is no peer with the same measures. The aims are our own.",
        ((OURS,),),
    ),
    "releasing": Part(
        "Releasing a table",
        "A count for each of 100,000 groups of 200 different sizes from ten million records in a Parquet file, written "
        "to a CSV file, in **processor time** of all threads. `inbounds`: plan checked, mechanisms designed or taken "
        "from the cache, budget charged on the disk, answers drawn, table and record written. OpenDP: its Polars path "
        "(a context over a scanned file, `release().collect()`) in an environment of its own, asked in three ways that "
        "differ in what is public. DuckDB gives the true counts: the difference is the price of privacy. For other "
        "statistics there is [a table of what part of the time is ours](release_parts.md).",
        "The promises differ. *Keys*: with listed keys every group on the list is answered, empty ones too, and "
        "nothing tells which have records; `inbounds` always does so, OpenDP's other two ways publish which groups the "
        "data have. *Range*: `inbounds` answers between 0 and the size of the group; OpenDP's counts are signed here, "
        "so that they have no bias, and leave the range as the notes say (`signed=False` cuts them at zero). *People*: "
        "where a record may be added or removed sizes are protected too, which `inbounds` takes as public. *Records "
        "of the release*: `inbounds` charges a ledger and writes a record that can be checked; OpenDP's context counts "
        "its budget in memory. DuckDB alone is no peer but the floor: it protects nobody. Other engines and slower "
        "disks differ.",
        ((OURS,), (POLARS,)),
        ("10^7 records in 10^5 groups, designs kept",),
    ),
    "release_parts": Part(
        "What part of a release is ours",
        "A million records in 100,000 groups of 20 sizes, in a Parquet file, in **processor time** of all threads: for "
        "each statistic a release with its designs kept. The engine, DuckDB, reads the file, makes records canonical "
        "and counts them; its statements are the same for every answer. The rest is ours: the plan and its keys are "
        "checked, kept designs are read and certified again, numbers are drawn, made to add up where the plan says "
        "so, and written with their record, and the ledger is charged. A count stands beside DuckDB alone with the "
        "same statements, for many and few records and groups.",
        "The engine's statements are ours as well: canonical records, and no short cut that depends on data, cost more "
        "than a plain query does. The first release of a plan also designs its mechanisms, as the note says. Compare "
        "the parts of one run: other programs on the machine make all of them longer.",
        ((OURS,), (f"{OURS}, many sizes",), (f"{OURS}, the engine alone",)),
    ),
    "reconstructing": Part(
        "Reconstructing",
        "The frequencies behind 100,000 local reports (geometric channel, ratio 2 within radius 10). One plain step "
        "of the iterative Bayesian update against a dense NumPy loop and qif; then the whole way to a residual, by "
        "Newton, extrapolated and plain steps of our own and by as many plain steps of the peers; then randomizing "
        "and collecting.",
        "A dense step costs the square of the number of answers, a step of `inbounds` grows with the number itself: "
        "with few answers the dense loop is faster. Only channels of a known shape have this shortcut.",
        ((OURS,), ("dense NumPy",), ("qif",), (f"{OURS}, steps",), (f"{OURS}, client",)),
        (
            *("plain step, 101 answers", "plain step, 1001 answers"),
            *("residual 1e-5, 101 answers", "residual 1e-5, 1001 answers"),
        ),
        "reconstructing",
        "Time of one plain step against the number of answers, both on log scales.",
    ),
    "composing": Part(
        "Composing and attacking",
        "What many answers of one mechanism reveal together, beside dp-accounting used by itself, one privacy "
        "loss distribution for every pair of neighbours; then attacks, chains of trust levels and smooth sensitivity.",
        "Both round towards more loss. The peer gets one of the sixty alike pairs of a count and looks at that only; "
        "with a finer grid than its default it comes closer to the same epsilons, where delta is not too small for it. "
        "Of few answers it is faster for one pair in the middle; that is not the worst pair where pairs differ, and no "
        "pair may be the worst at every epsilon. Every pair means one direction of each, all answers about one.",
        ((OURS,), ("dp-accounting",), (f"{OURS}, other",)),
        ("100 answers, 0..100, the same question",),
    ),
    "ledger": Part(
        "The ledger",
        "Charges on one connection, each on the disk before it is acknowledged, beside bare inserts of one row into a "
        "table with the same indexes, one by one on the same disk in the same mode; and the whole of a ledger "
        "verified.",
        "The disk decides: on one that says it has written what it has not, both are faster and neither is safe. A "
        "charge does more than an insert (it looks for the key, adds to the budget's total, hashes the chain), and "
        "waits for the disk three times.",
        ((OURS,), (f"{OURS}, verifying",)),
        ("one charge on one connection, durable",),
    ),
    "curator": Part(
        "The curator",
        "New questions over HTTP, with stored designs, beside DuckDB's own query without privacy "
        "and the ledger's charge alone; and what the time of a response tells about one person.",
        "The curator, its clients and the disk share the machine. A new answer leaves a quarter of a second "
        "after its evaluation began, as declared here, and every answer at the next tick of 20 ms, so that its time "
        "tells little; four clients therefore get at most sixteen new ones a second. PostgreSQL is measured where "
        "INBOUNDS_BENCH_POSTGRES names a server.",
        ((OURS,), (f"{OURS}, response times",)),
        ("new answers, SQLite, 4 clients",),
    ),
    "reproducing": Part(
        "The five papers",
        "Every study of the [five papers](../studies/index.md) in its quick form, drawing included, and the four "
        "longest figures with the papers' own settings.",
        "There is no peer: the papers print no times that could be compared.",
        ((OURS,),),
    ),
}
