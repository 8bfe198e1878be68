"""Figures of predictions, their bands and their calibration, and of model selection. They need matplotlib."""

from elmonet.plot.bands import band, band_field, calibration, stated_error
from elmonet.plot.choices import leaderboard, relevance, ridge_path, suspects
from elmonet.plot.functions import field, parity, prediction, vectors

__all__ = [
    "band",
    "band_field",
    "calibration",
    "field",
    "leaderboard",
    "parity",
    "prediction",
    "relevance",
    "ridge_path",
    "stated_error",
    "suspects",
    "vectors",
]
