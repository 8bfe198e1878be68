"""Fits that see a block of functions at a time: batches, arrays on disk, Dask."""
