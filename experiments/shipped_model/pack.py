"""Put a trained parser and a trained segmenter into one folder, as half-precision numbers: what the package ships.

    python -m experiments.shipped_model.pack runs/small/model runs/segmenter/model genrst/models/en --name en

The card, README.md, is written by hand: it says what was measured.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from genrst.corpora.files import write_atomically
from genrst.model.store import load_model, save_model
from genrst.model_folder import PARSER, SEGMENTER, read_parser_config
from genrst.text.segmenter.store import load_segmenter, save_segmenter


def main() -> None:
    """Read both models and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("segmenter", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument("--word-weight", type=float, default=0.5)
    arguments = parser.parse_args()
    save_model(load_model(arguments.model), arguments.output, torch.float16)
    save_segmenter(load_segmenter(arguments.segmenter), arguments.output / SEGMENTER)
    # How texts are prepared is the model's own.
    settings = asdict(read_parser_config(arguments.model)) | {"name": arguments.name, "search": "bag"}
    settings |= {"beam": arguments.beam, "word_weight": arguments.word_weight}
    write_atomically(arguments.output / PARSER, json.dumps(settings, indent=1) + "\n")


if __name__ == "__main__":
    main()
