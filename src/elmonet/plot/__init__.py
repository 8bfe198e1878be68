"""Pictures of predictions and their bands, and of how model and alpha were chosen. They need matplotlib."""

from elmonet.plot.bands import band, band_field
from elmonet.plot.calibrations import calibration, stated_error
from elmonet.plot.leaderboards import leaderboard
from elmonet.plot.predictions import field, parity, prediction
from elmonet.plot.ridge import ridge_path

__all__ = [
    "band",
    "band_field",
    "calibration",
    "field",
    "leaderboard",
    "parity",
    "prediction",
    "ridge_path",
    "stated_error",
]
