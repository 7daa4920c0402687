"""Prints the coefficients of templates/kgen/cpu/vector_math.hpp: polynomials by Remez' exchange, the quotient for erf by
reweighted least squares, scaled so that its coefficients lose least when they are rounded to floats.
Needs numpy and mpmath; run by hand.
"""

import math

import numpy as np
from mpmath import exp, log, lu_solve, matrix, mp, mpf, polyval, sqrt

mp.dps = 50


def minimax(function, weight, count, low, high):
    """Coefficients c, lowest first, that minimise the greatest weight(x) * |function(x) - sum of c[i] x^i|, and that."""
    middle, half = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * (count + 1))) for i in range(count + 1)]
    grid = [middle - half * mp.cos(mp.pi * i / 1500) for i in range(1501)]
    for _ in range(12):
        system, right = matrix(count + 1, count + 1), matrix(count + 1, 1)
        for i, x in enumerate(nodes):
            for j in range(count):
                system[i, j] = x**j
            system[i, count] = (-1) ** i / weight(x)
            right[i] = function(x)
        c = list(lu_solve(system, right))[:count]
        errors = [weight(x) * (function(x) - polyval(c[::-1], x)) for x in grid]
        extrema = []  # one of each run of errors of one sign
        for i, error in enumerate(errors):
            if not extrema or (error > 0) != (errors[extrema[-1]] > 0):
                extrema.append(i)
            elif abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = i
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < count + 1:
            break
        nodes = [grid[i] for i in extrema]
    return c, max(abs(error) for error in errors)


def quotient(values, u, p, q):
    """P and Q, lowest first, of degrees p and q: P(u) / Q(u) is near the values, relative to them."""
    weight, last, best, scaled = np.ones(len(u)), np.ones(len(u)), None, u / u.max()
    for iteration in range(200):
        columns = [scaled**i for i in range(p + 1)] + [-values * scaled**i for i in range(1, q + 1)]
        row = np.sqrt(weight) / (values * last)
        c, *_ = np.linalg.lstsq(np.stack(columns, 1) * row[:, None], values * row, rcond=None)
        top, last = np.polyval(c[p::-1], scaled), np.polyval([*c[:p:-1], 1], scaled)
        error = np.abs(top / last / values - 1)
        if best is None or (error.max() < best[0] and last.min() > 0):
            powers = u.max() ** np.arange(max(p, q) + 1)
            best = error.max(), c[: p + 1] / powers[: p + 1], np.array([1, *c[p + 1 :]]) / powers[: q + 1]
        if iteration > 5:
            weight *= error / error.max() + 1e-3
            weight /= weight.mean()
    return best


def rounded_quotient(x, exact, top, bottom):
    """Both times one factor: of many, that with which rounding the coefficients to floats costs least."""
    ulp = np.ldexp(1.0, np.frexp(exact)[1] - 24)

    def error(factor):
        p, q = (np.float64(np.float32(c * factor)) for c in (top, bottom))
        return np.max(np.abs(x * np.polyval(p[::-1], x * x) / np.polyval(q[::-1], x * x) - exact) / ulp)

    factors = np.exp(np.random.default_rng(1).uniform(0, math.log(2), 60000))
    best = min(factors, key=error)
    return np.float32(top * best), np.float32(bottom * best)


def show(name, coefficients, error):
    print(f"{name}: within 2^{math.log2(error):.1f}:", ", ".join(f"{float(c):.17g}" for c in coefficients))


def main():
    half = log(2) / 2 * mpf("1.0001")
    tail = lambda x: (exp(x) - 1 - x) / x**2 if abs(x) > 1e-15 else mpf(1) / 2 + x / 6
    near_zero = mpf(10) ** -12
    show("exp, f32", *minimax(tail, lambda x: abs(x) + near_zero, 5, -half, half))
    show("exp, f64", *minimax(tail, lambda x: abs(x) + near_zero, 11, -half, half))
    power = lambda x: (mpf(2) ** x - 1) / x if abs(x) > 1e-15 else log(2)
    show("exp2", *minimax(power, lambda x: abs(x) + near_zero, 6, -0.50001, 0.50001))
    rest = lambda f: (log(1 + f) - f + f * f / 2) / f**3 if abs(f) > near_zero else mpf(1) / 3 - f / 4
    share = lambda f: abs(f**3 / log(1 + f)) if abs(f) > 1e-9 else mpf(10) ** -18
    root = sqrt(mpf(1) / 2)
    show("log", *minimax(rest, share, 8, root - 1 - mpf("1e-5"), 2 * root - 1 + mpf("1e-5")))
    x = np.maximum(1e-6, 3.93 * (1 - np.cos(np.linspace(0, np.pi, 3000))) / 2)
    exact = np.array([math.erf(v) for v in x])
    error, top, bottom = quotient(exact / x, x * x, 6, 5)
    top, bottom = rounded_quotient(x, exact, top, bottom)
    show("erf, above", top, error)
    show("erf, below", bottom, error)


if __name__ == "__main__":
    main()
