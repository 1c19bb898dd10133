"""The learning curve as a picture: losses and dev scores by epoch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from genrst.errors import MissingDependencyError
from genrst.training.trainer import Record


def plot_curves(runs: Mapping[str, Sequence[Record]], path: Path) -> None:
    """Draw the runs side by side in two panels, the format by the suffix of the path."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("pictures need matplotlib: pip install 'genrst[plot]'") from error
    figure = Figure(figsize=(10, 4), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    for name, records in runs.items():
        epochs = [record.epoch for record in records]
        (line,) = losses.plot(epochs, [record.train_loss for record in records], linestyle="--")
        losses.plot(epochs, [record.dev_loss for record in records], color=line.get_color(), label=name)
        parsed = [record for record in records if record.dev_scores]
        for aspect, style in (("S", ":"), ("F", "-")):
            scores.plot(
                [record.epoch for record in parsed],
                [record.dev_scores[aspect] for record in parsed],
                style,
                color=line.get_color(),
                label=f"{name} {aspect}",
            )
    losses.set(xlabel="epoch", ylabel="nats per EDU", title="loss: train (dashed), dev")
    scores.set(xlabel="epoch", ylabel="Parseval F1", title="dev, greedy search")
    for axes in (losses, scores):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(path)
