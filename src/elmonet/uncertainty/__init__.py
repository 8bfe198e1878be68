"""How wrong predictions may be: left-out residuals, error bars, calibration, novelty."""
