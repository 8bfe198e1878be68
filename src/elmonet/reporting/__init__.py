"""Reports of fitted models: one self-contained HTML page."""
