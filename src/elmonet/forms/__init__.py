"""The form of the data on each side, found once in `fit`: from the user's arrays to rows, and back."""
