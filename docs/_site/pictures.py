"""Pictures of gallery examples: figures made with ehfl are not pyplot's, so the gallery is told which there are."""

from __future__ import annotations

import weakref
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_SEEN: weakref.WeakSet[Figure] = weakref.WeakSet()


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save each figure that the example's names hold and that was not shown yet; return the text that shows them."""
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and value not in _SEEN:
            _SEEN.add(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=110, facecolor="white")
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])


def reset(gallery_conf: dict[str, Any], file: str) -> None:
    """Close pyplot's figures: each example begins without any."""
    plt.close("all")
