#!/usr/bin/env python3
"""Runs the workloads of docs/dev/FIGURES.md under each policy, and draws its pictures.

    scripts/plot_schedulers.py [--myriad target/release/myriad] [--runs 5] [--data FILE] [--png DIR]

Needs matplotlib (pip install matplotlib), and the command: cargo build --release -p myriad-cli. Writes docs/img/schedulers-*.svg,
and with --png the same as PNG, to look at. --data keeps the runs, one JSON object a line; if the file is there already it is
drawn, and nothing runs. Prints the table of docs/dev/FIGURES.md.
"""

import statistics
import sys

from plotting import COLOURS, bench, kept, options, plain, pyplot, save

POLICIES = ["work-stealing", "depth-first", "shared-queue", "round-robin"]
# Workload, form, what it is called, whether its tasks can be counted.
CASES = [
    ("skynet", "join", "skynet\njoin", True),
    ("skynet", "future", "skynet\nfuture", True),
    ("skynet", "channel", "skynet\nchannel", True),
    ("fib", "join", "fib", True),
    ("relay", "closure", "relay\nclosure", False),
    ("relay", "future", "relay\nfuture", False),
    ("psort", "stable", "psort\nstable", False),
]
# Of psort nobody counts tasks: its parts are cut as they are wanted.
COUNTED = [case for case in CASES if case[0] != "psort"]


def run(command, workload, form, policy, workers, runs, live):
    """The records of some runs; each is a process of its own."""
    args = [workload, "--form", form, "--system", "myriad", "--policy", policy, "--workers", workers, "--runs", runs]
    return bench(command, *args, *(["--live"] if live else []))


def measure(command, runs):
    records = []
    for workload, form, name, counts in CASES:
        for policy in POLICIES:
            for workers in (1, 2):
                print(f"{workload} {form}, {policy}, {workers} workers", file=sys.stderr)
                records += run(command, workload, form, policy, workers, runs, False)
                if counts:
                    records += run(command, workload, form, policy, workers, 1, True)
    return records


def value(records, case, policy, workers, key):
    """The best time, the median of all else, of the runs that tell it. (Times only of runs that do not count tasks.)"""
    chosen = [
        r
        for r in records
        if (r["workload"], r["form"], r["workers"], r["params"]["policy"]) == (*case[:2], workers, policy)
        and (key == "most_alive") == ("most_alive" in r)
    ]
    if key == "most_alive" and not chosen and case[0] == "relay":
        # Each relay is a task, and so is the feeder: all are there from the start.
        return value_of_relay(records)
    return (min if key == "ns_per_op" else statistics.median)(r[key] for r in chosen)


def value_of_relay(records):
    return next(r["params"]["m"] for r in records if r["workload"] == "relay") + 1


def draw(records, key, label, title, file, scale, png, workers=(1, 2), cases=CASES):
    figure, axes = pyplot().subplots(1, len(workers), figsize=(6.2 * len(workers), 4.2), sharey=True, squeeze=False)
    for axis, n in zip(axes[0], workers):
        for i, (policy, colour) in enumerate(zip(POLICIES, COLOURS)):
            xs = [x + (i - 1.5) * 0.2 for x in range(len(cases))]
            ys = [value(records, case, policy, n, key) * scale for case in cases]
            bars = axis.bar(xs, ys, 0.19, color=colour, label=policy)
            texts = [f"{y:,.0f}" if y >= 9.5 else f"{y:.1f}" for y in ys]
            axis.bar_label(bars, texts, rotation=90, padding=3, fontsize=7)
        axis.set_xticks(range(len(cases)), [case[2] for case in cases], fontsize=9)
        axis.set_title(f"{n} worker{'s' if n > 1 else ''}", fontsize=10, pad=10)
        axis.set_yscale("log")
        plain(axis)
    # Room for the numbers above the bars.
    all_of_them = [value(records, case, p, n, key) * scale for case in cases for p in POLICIES for n in workers]
    axes[0][0].set_ylim(min(all_of_them) / 2, max(all_of_them) * 8)
    axes[0][0].set_ylabel(label)
    figure.suptitle(title, fontsize=11)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=4, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    save(figure, file, png)


def table(records):
    print("| workload | workers | " + " | ".join(POLICIES) + " |")
    print("|---|---|" + "---|" * len(POLICIES))
    for case in CASES:
        for n in (1, 2):
            cells = []
            for policy in POLICIES:
                time = value(records, case, policy, n, "ns_per_op")
                alive = f"{value(records, case, policy, n, 'most_alive'):,.0f}" if case in COUNTED else "not counted"
                memory = value(records, case, policy, n, "max_rss_bytes") / 2**20
                cells.append(f"{time:,.0f} ns, {alive}, {memory:,.0f} MiB")
            print(f"| {case[0]} {case[1]} | {n} | " + " | ".join(cells) + " |")


def main():
    chosen = options(__doc__)
    records = kept(chosen.data, lambda: measure(chosen.myriad, chosen.runs))
    draw(records, "ns_per_op", "ns for each operation (log)", "Time of an operation (task, fork or hop), the best of all runs",
         "schedulers-time", 1, chosen.png)
    draw(records, "most_alive", "tasks (log)", "Most tasks alive at a time: spawned, and not ended",
         "schedulers-live", 1, chosen.png, cases=COUNTED)
    draw(records, "max_rss_bytes", "MiB (log)", "Most memory of the process", "schedulers-memory", 2**-20, chosen.png)
    table(records)


if __name__ == "__main__":
    main()
