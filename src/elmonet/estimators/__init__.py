"""The estimators: scikit-learn shells over fitted models."""
