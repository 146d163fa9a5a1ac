"""Colours of heat maps as small tables, and the PNG encoder. NumPy and the standard library only.

A map is painted as level numbers (uint8) that point into a table of 256 colours:
0 to 250 are the scale, the last few are for masked cells and NaN. So one byte a
pixel is compressed and sent, and a level is the same in the live map, in the
still picture and in the tests.
"""

import struct
import zlib

import numpy as np

STEPS = 251  # an odd number, so that zero of a signed map is a level of its own
MASKED, MASKED_LINE, NAN, NAN_LINE = STEPS, STEPS + 1, STEPS + 2, STEPS + 3

# Seventeen samples of viridis at equal distances, and a blue-orange scale of our
# own whose two arms have the same lightness at the same distance from zero.
ANCHORS = {
    "weights": (
        (68, 1, 84), (72, 24, 106), (71, 45, 123), (66, 64, 134), (59, 82, 139), (51, 99, 141), (44, 114, 142),
        (38, 130, 142), (33, 145, 140), (31, 160, 136), (40, 174, 128), (63, 188, 115), (94, 201, 98),
        (132, 212, 75), (173, 220, 48), (216, 226, 25), (253, 231, 37),
    ),
    "signed": (
        (8, 51, 112), (33, 94, 163), (91, 147, 204), (168, 200, 230), (247, 247, 245),
        (246, 194, 143), (217, 131, 58), (160, 82, 12), (97, 46, 2),
    ),
    "mask": ((255, 255, 255), (255, 255, 255)),  # allowed is white, whatever the value
}  # fmt: skip
SPECIAL = {MASKED: (222, 224, 228), MASKED_LINE: (120, 126, 135), NAN: (255, 255, 255), NAN_LINE: (200, 0, 90)}


def _table(anchors):
    anchors = np.array(anchors, dtype=np.float64)  # (anchors, 3)
    places = np.linspace(0, len(anchors) - 1, STEPS)
    table = np.zeros((256, 3), dtype=np.uint8)
    for channel in range(3):
        table[:STEPS, channel] = np.interp(places, np.arange(len(anchors)), anchors[:, channel]).round()
    for level, colour in SPECIAL.items():
        table[level] = colour
    table.flags.writeable = False
    return table


TABLES = {kind: _table(anchors) for kind, anchors in ANCHORS.items()}  # each (256, 3) uint8


def levels(values, limits):
    """Level of each value, 0 at the low limit, STEPS - 1 at the high one; NaN has its own."""
    low, high = limits
    scaled = (np.clip(values, low, high) - low) / (high - low) * (STEPS - 1)
    return np.where(np.isnan(values), NAN, np.rint(np.nan_to_num(scaled))).astype(np.uint8)


def paint(values, mask, limits, cell=(1, 1)):
    """Level image of a map, (R * height, C * width) for cells of (width, height) pixels.

    Masked cells are striped and NaN cells crossed, so that neither depends on
    colour. Without such cells one pixel a cell is enough, whatever ``cell`` says.
    """
    image = np.where(mask, MASKED, levels(values, limits)).astype(np.uint8)  # (R, C)
    if not (image >= MASKED).any():
        return image
    width, height = cell
    image = image.repeat(height, axis=0).repeat(width, axis=1)  # (R * height, C * width)
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    rising, falling = (x + y) % 6 < 2, (x - y) % 6 < 2
    image[(image == MASKED) & rising] = MASKED_LINE
    image[(image == NAN) & (rising | falling)] = NAN_LINE
    return image


def png(image, kind):
    """PNG file of a level image, as bytes."""
    height, width = image.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row starts with its filter type, 0
    rows[:, 1:] = image
    table = TABLES[kind][: int(image.max()) + 1]
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits a pixel, colours from a table
    pixels = zlib.compress(rows.tobytes(), 6)
    chunks = ((b"IHDR", header), (b"PLTE", table.tobytes()), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def luminance(colour):
    """Relative luminance of (red, green, blue) in 0..255, as WCAG defines it."""
    parts = [c / 255 / 12.92 if c <= 10.31 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    """Contrast ratio of two colours, 1 to 21; text needs 4.5."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


# black or white, whichever reads better on each level
INKS = {
    kind: tuple("#000" if luminance(colour) > 0.179 else "#fff" for colour in table.tolist())
    for kind, table in TABLES.items()
}
