"""What the scripts that draw pictures have in common: runs of the command, and how a picture looks."""

import argparse
import json
import pathlib
import subprocess
import sys

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "img"
COLOURS = ["#1b6ca8", "#2a9d5c", "#d1792c", "#8a4f9e"]


def options(about):
    """The options that all of them have."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--myriad", default="target/release/myriad", help="the command")
    parser.add_argument("--runs", type=int, default=5, help="of each case")
    parser.add_argument("--data", help="a file for the runs")
    parser.add_argument("--png", help="a folder for PNG files too")
    return parser.parse_args()


def bench(command, *args):
    """The records of `myriad bench` with these arguments, in fiber mode. Ends the script if a run failed."""
    args = [command, "bench", *map(str, args), "--mode", "fibers", "--json"]
    done = subprocess.run(args, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not records or not all(r["ok"] for r in records):
        sys.exit(f"{' '.join(args)} failed:\n{done.stdout}{done.stderr}")
    return records


def kept(file, measure):
    """The records in this file if it is there; else those of `measure()`, which go into it."""
    path = pathlib.Path(file) if file else None
    if path and path.exists():
        return [json.loads(line) for line in path.read_text().splitlines()]
    records = measure()
    if path:
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return records


def pyplot():
    """matplotlib.pyplot, set up for pictures that are small, and the same each time."""
    import matplotlib

    matplotlib.use("Agg")
    # Text as text: a tenth of the size.
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "myriad"
    import matplotlib.pyplot as plt

    return plt


def plain(axis):
    """A grid behind, and no frame above and to the right."""
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelleft=True)


def save(figure, name, png):
    """Into docs/img, and as a PNG into `png` if that is not None."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    if png:
        figure.savefig(pathlib.Path(png) / f"{name}.png", dpi=90)
