#!/usr/bin/env python3
"""Sorts and scans of many sizes, by Myriad and others, and the pictures of docs/dev/FIGURES.md.

    scripts/plot_parallel.py [--myriad target/release/myriad] [--runs 5] [--data FILE] [--png DIR]

Needs matplotlib (pip install matplotlib), and the command: cargo build --release -p myriad-cli. Writes docs/img/parallel-*.svg,
and with --png the same as PNG, to look at. --data keeps the runs, one JSON object a line; if the file is there already it is
drawn, and nothing runs. Takes some minutes.
"""

import sys

from plotting import COLOURS, bench, kept, options, plain, pyplot, save

# Workload, forms, sizes, the peers of each form.
SORTS = ("psort", ["stable", "unstable", "floats"], [10_000, 100_000, 1_000_000, 5_000_000, 20_000_000])
SCANS = ("scan", ["sum", "generic"], [10_000, 100_000, 500_000, 5_000_000, 50_000_000])


def measure(command, runs):
    records = []
    for workload, forms, sizes in (SORTS, SCANS):
        for form in forms:
            for n in sizes:
                print(f"{workload} {form}, {n:,}", file=sys.stderr)
                few = max(1, runs // 2) if n >= 5_000_000 else runs
                records += bench(command, workload, "--form", form, "--n", n, "--workers", "1,2", "--runs", few)
    return records


def best(records, workload, form, system, workers, n):
    """The best time of an element, or None: on a machine with others it says the most."""
    times = [
        r["ns_per_op"]
        for r in records
        if (r["workload"], r["form"], r["system"], r["workers"], r["params"]["n"]) == (workload, form, system, workers, n)
    ]
    return min(times) if times else None


def draw(records, case, title, name, png):
    workload, forms, sizes = case
    figure, axes = pyplot().subplots(1, len(forms), figsize=(4.4 * len(forms), 4.2), sharey=True, squeeze=False)
    systems = []
    for r in records:
        if r["workload"] == workload and r["system"] not in systems:
            systems.append(r["system"])
    for axis, form in zip(axes[0], forms):
        for system, colour in zip(systems, COLOURS):
            for workers, line in ((1, "--"), (2, "-")):
                points = [(n, best(records, workload, form, system, workers, n)) for n in sizes]
                points = [(n, t) for n, t in points if t is not None]
                if points:
                    # What the number of workers does not bind is drawn once.
                    label = f"{system}, {workers} worker{'s' if workers > 1 else ''}"
                    axis.plot(*zip(*points), line, color=colour, marker="o", markersize=3, label=label)
        axis.set_xscale("log")
        axis.set_title(form, fontsize=10)
        axis.set_xlabel("elements")
        plain(axis)
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_ylabel("ns for each element")
    figure.suptitle(title, fontsize=11)
    handles, names = {}, []
    for axis in axes[0]:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    names = list(handles)
    figure.legend([handles[n] for n in names], names, loc="lower center", ncols=4, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    save(figure, name, png)


def main():
    chosen = options(__doc__)
    records = kept(chosen.data, lambda: measure(chosen.myriad, chosen.runs))
    draw(records, SORTS, "Sorting: time of an element, the best of all runs", "parallel-sort", chosen.png)
    draw(records, SCANS, "Prefix sums in place: time of an element, the best of all runs", "parallel-scan", chosen.png)


if __name__ == "__main__":
    main()
