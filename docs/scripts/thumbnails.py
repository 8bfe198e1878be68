"""Thumbnails of the gallery that can be read: the first panel of a figure instead of all of them."""

import re

import numpy as np

SIZE = (400, 280)
GAP = 0.006  # width of a white stripe between panels, as a part of the figure's width


def crop_thumbnails(gallery):
    """Replace the thumbnails of figures with several panels, where the gallery lies in `gallery`."""
    for thumbnail in sorted((gallery / "images" / "thumb").glob("sphx_glr_*_thumb.png")):
        name = re.fullmatch(r"sphx_glr_(.*)_thumb", thumbnail.stem)[1]
        figure = gallery / "images" / f"sphx_glr_{name}_001.png"
        if figure.exists():
            write_thumbnail(figure, thumbnail)


def write_thumbnail(figure, thumbnail):
    from PIL import Image

    picture = Image.open(figure).convert("RGB")
    picture = picture.crop(first_panel(np.asarray(picture)))
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    canvas = Image.new("RGB", SIZE, "white")
    canvas.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    canvas.save(thumbnail)


def first_panel(pixels):
    """Return the box (left, top, right, bottom) of the leftmost panel, or of the figure if it is not wide."""
    height, width = pixels.shape[:2]
    if width < 1.7 * height:
        return 0, 0, width, height
    ink = (pixels < 245).any(axis=(0, 2))
    stripe, least = max(4, int(GAP * width)), int(0.6 * height)
    for right in range(least, width - stripe):
        if not ink[right : right + stripe].any():
            return 0, 0, right + stripe, height
    return 0, 0, min(width, int(1.43 * height)), height
