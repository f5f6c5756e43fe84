"""Several tests at once: p-values made honest for how many chances there were to find something."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised so that the chance of even one false alarm among them stays what each promises.

    Args:
        p_values: From 0 to 1, in any order; none gives none.

    Source: Holm, Scand. J. Stat. 6 (1979), 65–70, https://www.jstor.org/stable/4615733.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    raised, most = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        # A larger p-value never ends up below a smaller one, though its factor is lower.
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[i]))
        raised[i] = most
    return raised


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised so that of what is found no larger a share is false than each promises: for exploring.

    Args:
        p_values: From 0 to 1, in any order, independent of one another or rising together; none gives none.

    Source: Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    n = len(p_values)
    raised, least = [0.0] * n, 1.0
    order = sorted(range(n), key=p_values.__getitem__)
    for rank in range(n, 0, -1):
        i = order[rank - 1]
        least = min(least, n * p_values[i] / rank)
        raised[i] = least
    return raised
