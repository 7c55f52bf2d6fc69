"""Pictures of results: perplexity of one φ against training time, a picture for each corpus."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from results import Results
from styles import style
from tables import ours_first

USUAL = 100  # topics


def draw(results: Results, folder: Path) -> list[Path]:
    """Writes ``peers-CORPUS.png`` for each corpus, with an unusual number of topics in the name.
    Lines are medians over seeds, bands reach from the least to the greatest."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    written, topics = [], results.settings["topics"]
    for corpus in results.corpora:
        points = results.points(corpus=corpus, unit="s")
        if not points:
            continue
        figure, axes = plt.subplots(figsize=(8, 5))
        for name in sorted({point["contender"] for point in points}, key=ours_first):
            _line(axes, name, [p for p in points if p["contender"] == name])
        lowest = min(point["perplexity"] for point in points)
        axes.set(xscale="log", xlabel="training seconds", ylabel="held-out perplexity")
        axes.set_ylim(0.97 * lowest, 1.6 * lowest)
        ticks = sorted({point["budget"] for point in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_title(f"{corpus}, {topics:,} topics")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        figure.tight_layout()
        more = "" if topics == USUAL else f"-{topics}"
        written.append(folder / f"peers-{corpus}{more}.png")
        figure.savefig(written[-1], dpi=120)
        plt.close(figure)
    return written


def _line(axes, name: str, points: list[dict]) -> None:
    groups = [[p for p in points if p["budget"] == b] for b in {p["budget"] for p in points}]
    groups.sort(key=lambda group: median(p["seconds"] for p in group))
    seconds = [median(p["seconds"] for p in group) for group in groups]
    figures = [[p["perplexity"] for p in group] for group in groups]
    (line,) = axes.plot(seconds, list(map(median, figures)), **style(name))
    least, most = list(map(min, figures)), list(map(max, figures))
    axes.fill_between(seconds, least, most, color=line.get_color(), alpha=0.15, lw=0)
