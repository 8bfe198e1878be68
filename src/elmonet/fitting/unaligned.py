degrees = fit_scattered = fit_with_gaps = None
