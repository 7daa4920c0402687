"""Time over size, as SVG: one picture for each series of rows, with a line for each side and number of threads. Both axes are
logarithmic."""

import math
import re
import statistics
from itertools import groupby

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 460, 70, 40, 190, 50
COLOURS = {"kgen": "#d62728", "eager": "#7f7f7f", "compile": "#ff7f0e", "max-autotune": "#bcbd22", "ort": "#1f77b4",
           "openvino": "#2ca02c", "max": "#9467bd", "floor": "#cccccc"}


def series(measured):
    """The rows that grow, by title without what grows."""
    grown = [one for one in measured if one.get("plot") and one.get("us")]

    def title(one):
        name, size = one["plot"]
        return f"{one['group']}: {re.sub(rf'(?<![0-9]){size}(?![0-9])', name, one['title'])}"

    return {key: list(rows) for key, rows in groupby(sorted(grown, key=title), key=title)}


def lines_of(rows):
    """Points (size, microseconds) by side and number of threads."""
    lines = {}
    for one in rows:
        medians = {side: statistics.median(times) for side, times in one["us"].items()}
        copies = [medians.pop(side) for side in ("copy", "stream") if side in medians]
        if copies and one["kind"] == "memory":
            medians["floor"] = min(copies)
        for side, us in medians.items():
            lines.setdefault((side, one["threads"]), []).append((one["plot"][1], us))
    return {key: sorted(points) for key, points in lines.items()}


def scale(values, begin, end):
    """From a value to a place between begin and end, by its logarithm."""
    low, high = math.log(min(values)), math.log(max(values))
    return lambda value: begin + (end - begin) * (math.log(value) - low) / ((high - low) or 1)


def ticks(values, step):
    low, high = (math.floor(math.log(min(values), step)), math.ceil(math.log(max(values), step)))
    return [step**power for power in range(low, high + 1) if min(values) <= step**power <= max(values)]


def text(x, y, said, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{said}</text>'


def label(us):
    return f"{us:g} us" if us < 1000 else f"{us / 1000:g} ms" if us < 1e6 else f"{us / 1e6:g} s"


def picture(title, lines):
    sizes = [size for points in lines.values() for size, _ in points]
    times = [us for points in lines.values() for _, us in points]
    x, y = scale(sizes, LEFT, WIDTH - RIGHT), scale(times, HEIGHT - BOTTOM, TOP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>', text(LEFT, 22, title, 'font-size="15"')]
    for us in ticks(times, 10):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(us):.0f}" y2="{y(us):.0f}" stroke="#eee"/>')
        parts.append(text(LEFT - 6, y(us) + 4, label(us), 'text-anchor="end"'))
    for size in sorted(set(sizes)):
        parts.append(text(x(size), HEIGHT - BOTTOM + 18, f"{size:,}", 'text-anchor="middle"'))
    for row, ((side, threads), points) in enumerate(sorted(lines.items())):
        style = f'stroke="{COLOURS.get(side, "black")}" stroke-width="{2.5 if side == "kgen" else 1.3}" fill="none"'
        style += ' stroke-dasharray="5 3"' if threads == 1 else ""
        path = " ".join(f"{x(size):.1f},{y(us):.1f}" for size, us in points)
        parts.append(f'<polyline points="{path}" {style}/>')
        parts += [f'<circle cx="{x(size):.1f}" cy="{y(us):.1f}" r="2" fill="{COLOURS.get(side, "black")}"/>'
                  for size, us in points]
        at = TOP + 10 + 18 * row
        parts.append(f'<line x1="{WIDTH - RIGHT + 12}" x2="{WIDTH - RIGHT + 40}" y1="{at - 4}" y2="{at - 4}" {style}/>')
        parts.append(text(WIDTH - RIGHT + 46, at, f"{side}, {threads} thread{'s' * (threads > 1)}"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def write(measured, folder):
    """One file for each series."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, rows in series(measured).items():
        name = re.sub(r"\W+", "_", title).strip("_").lower()
        (folder / f"{name}.svg").write_text(picture(title, lines_of(rows)))
