"""The benchmarks as a user of torch would write them: functions of whole images, with the meaning of examples/*.pipe.

Images have the program's order of dimensions: channels, rows, columns.
"""

import functools
import operator

import torch
import torch.nn.functional as F


def total(terms):
    """Their sum, without the 0 that sum() begins with and that would be an operation of its own."""
    return functools.reduce(operator.add, terms)


def shifted(img, row, column, rows, columns):
    """The part of an image that begins at (row, column)."""
    return img[..., row:row + rows, column:column + columns]


def blur(img):
    rows, columns = img.shape[-2] - 2, img.shape[-1] - 2
    vertical = (img[:, :rows] + img[:, 1:rows + 1] + img[:, 2:]) / 3
    return (vertical[..., :columns] + vertical[..., 1:columns + 1] + vertical[..., 2:]) / 3


BINOMIAL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]


def unsharp(img, threshold=0.01, weight=3.0):
    rows, columns = img.shape[-2] - 4, img.shape[-1] - 4
    vertical = total(w * img[:, i:i + rows] for i, w in enumerate(BINOMIAL))
    blurred = total(w * vertical[..., j:j + columns] for j, w in enumerate(BINOMIAL))
    v = shifted(img, 2, 2, rows, columns)
    return torch.where((v - blurred).abs() < threshold, v, (1 + weight) * v - weight * blurred)


def harris(img, k=0.04):
    rows, columns = img.shape[0] - 2, img.shape[1] - 2
    p = [[shifted(img, i, j, rows, columns) for j in range(3)] for i in range(3)]
    ix = (p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2]) / 12
    iy = (p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0]) / 12

    def box(f):
        return total(shifted(f, i, j, rows - 2, columns - 2) for i in range(3) for j in range(3))

    sxx, syy, sxy = box(ix * ix), box(iy * iy), box(ix * iy)
    trace = sxx + syy
    return sxx * syy - sxy * sxy - k * trace * trace


def harris_rgb(img, k=0.04):
    return harris(0.299 * img[0] + 0.587 * img[1] + 0.114 * img[2], k)


def bilateral_grid(img, cell=8, bins=10):
    rows, columns = img.shape
    gray = img.clamp(0, 1)
    row = torch.arange(rows, device=img.device)[:, None]
    column = torch.arange(columns, device=img.device)[None, :]
    # Two empty cells around the grid, for the blurs.
    shape = (rows - 1) // cell + 6, (columns - 1) // cell + 6, bins + 6
    z = (gray * bins + 0.5).to(torch.int64) + 2
    index = (((row + cell // 2) // cell + 2) * shape[1] + (column + cell // 2) // cell + 2) * shape[2] + z
    size = shape[0] * shape[1] * shape[2]
    values = torch.stack([gray.reshape(-1), torch.ones_like(gray).reshape(-1)])
    grid = torch.zeros(2, size, device=img.device)
    grid = grid.index_add(1, index.reshape(-1), values).reshape(2, *shape)

    def blur5(f, dimension):
        n = f.shape[dimension] - 4
        taps = [f.narrow(dimension, i, n) for i in range(5)]
        return taps[0] + 4 * taps[1] + 6 * taps[2] + 4 * taps[3] + taps[4]

    blurred = blur5(blur5(blur5(grid, 3), 1), 2)
    # Trilinear interpolation at the pixel's position and gray level.
    level = gray * bins
    zi = level.to(torch.int64)
    zf = level - zi
    xi, xf = row // cell, (row % cell).to(torch.float32) / cell
    yi, yf = column // cell, (column % cell).to(torch.float32) / cell
    _, nx, ny, nz = blurred.shape
    flat = blurred.reshape(2, -1)

    def at(x, y, zz):
        return flat[:, (((xi + x) * ny + yi + y) * nz + zi + zz)]

    def plane(zz):
        top = torch.lerp(at(0, 0, zz), at(1, 0, zz), xf.expand(2, rows, columns))
        bottom = torch.lerp(at(0, 1, zz), at(1, 1, zz), xf.expand(2, rows, columns))
        return torch.lerp(top, bottom, yf.expand(2, rows, columns))

    sliced = torch.lerp(plane(0), plane(1), zf.expand(2, rows, columns))
    return sliced[0] / sliced[1]


def level_size(n, level):
    return (n + (1 << level) - 1) >> level


def along(f, dimension, index):
    return f.index_select(dimension, index)


def multiscale_interpolate(img, levels=10):
    _, rows, columns = img.shape

    def reduce(f, dimension, n):
        end = f.shape[dimension] - 1
        i = torch.arange(n, device=f.device)
        taps = [along(f, dimension, at) for at in ((2 * i - 1).clamp(min=0), 2 * i, (2 * i + 1).clamp(max=end))]
        return (taps[0] + 2 * taps[1] + taps[2]) * 0.25

    def expand(f, dimension, n):
        end = f.shape[dimension] - 1
        i = torch.arange(n, device=f.device)
        return (along(f, dimension, i // 2) + along(f, dimension, ((i + 1) // 2).clamp(max=end))) * 0.5

    down = [torch.cat([img[:3] * img[3:], img[3:]])]
    for l in range(1, levels):
        down.append(reduce(reduce(down[-1], 1, level_size(rows, l)), 2, level_size(columns, l)))
    full = down[-1]
    for l in range(levels - 2, -1, -1):
        wide = expand(expand(full, 1, level_size(rows, l)), 2, level_size(columns, l))
        full = down[l] + (1 - down[l][3:]) * wide
    return full[:3] / full[3:]


WARM = [[1.72, -0.41, -0.26, -40.0], [-0.29, 1.31, -0.09, -22.0], [-0.18, -0.97, 3.12, -35.0]]
COLD = [[2.27, -0.61, -0.33, -30.0], [-0.24, 1.58, -0.40, -25.0], [-0.06, -0.66, 1.95, -28.0]]


def camera_pipe(raw, color_temp=3700.0, gamma=2.0, contrast=50.0, black=25, white=1023):
    rows, columns = raw.shape[0] - 48, raw.shape[1] - 32
    n, m = (rows + 1) // 2, (columns + 1) // 2
    sensor = raw.clamp(max=1023).to(torch.int32)

    def clean(row, column):
        """The pixels of one place in the cell, with those of the cells around the picture."""

        def pixel(i, j):
            return sensor[22 + row + i:22 + row + i + 2 * n + 4:2, 14 + column + j:14 + column + j + 2 * m + 4:2]

        brightest = torch.maximum(torch.maximum(pixel(-2, 0), pixel(2, 0)), torch.maximum(pixel(0, -2), pixel(0, 2)))
        return torch.minimum(pixel(0, 0), brightest)

    def average(a, b):
        return (a + b + 1) >> 1

    def at(f, i, j):
        """f(x + i, y + j) without the cells around."""
        return f[1 + i:f.shape[0] - 1 + i, 1 + j:f.shape[1] - 1 + j]

    g_gr, r_r, b_b, g_gb = clean(0, 0), clean(0, 1), clean(1, 0), clean(1, 1)

    def smoother(horizontal, vertical):
        shorter = (horizontal[0] - horizontal[1]).abs() < (vertical[0] - vertical[1]).abs()
        return torch.where(shorter, average(*horizontal), average(*vertical))

    def whole(f, i, j):
        """f(x + i, y + j), as large as f; what lies beyond f is in points of green that nothing reads."""
        return F.pad(f, (1, 1, 1, 1))[1 + i:f.shape[0] + 1 + i, 1 + j:f.shape[1] + 1 + j]

    g_r = smoother((whole(g_gr, 0, 1), g_gr), (whole(g_gb, -1, 0), g_gb))
    g_b = smoother((whole(g_gb, 0, -1), g_gb), (whole(g_gr, 1, 0), g_gr))

    def mean(colour, a, b, green, green_there):
        return average(at(colour, *a), at(colour, *b)) + at(green, 0, 0) - average(at(green_there, *a), at(green_there, *b))

    here, up, down, left, right = (0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)
    r_gr = mean(r_r, left, here, g_gr, g_r)
    b_gr = mean(b_b, up, here, g_gr, g_b)
    r_gb = mean(r_r, here, down, g_gb, g_r)
    b_gb = mean(b_b, here, right, g_gb, g_b)

    def diagonal(colour, p, q, green, green_there):
        shorter = (at(colour, *p[0]) - at(colour, *p[1])).abs() < (at(colour, *q[0]) - at(colour, *q[1])).abs()
        return torch.where(shorter, mean(colour, *p, green, green_there), mean(colour, *q, green, green_there))

    r_b = diagonal(r_r, (here, (1, -1)), (left, down), g_b, g_r)
    b_r = diagonal(b_b, (here, (-1, 1)), (right, up), g_r, g_b)

    def cells(gr, r, b, gb):
        return torch.stack([torch.stack([gr, r], 2), torch.stack([b, gb], 2)], 1).reshape(2 * gr.shape[0], -1)

    inner = [at(f, 0, 0) for f in (r_r, g_gr, g_r, g_b, g_gb, b_b)]
    rgb = torch.stack([cells(r_gr, inner[0], r_b, r_gb), cells(inner[1], inner[2], inner[3], inner[4]),
                       cells(b_gr, b_r, inner[5], b_gb)])[:, :rows, :columns]

    warmth = min(max((1 / color_temp - 1 / 7000) / (1 / 3200 - 1 / 7000), 0.0), 1.0)
    matrix = [[round(256 * (c + (w - c) * warmth)) for c, w in zip(cold, warm)] for cold, warm in zip(COLD, WARM)]
    corrected = torch.stack([(a * rgb[0] + b * rgb[1] + c * rgb[2] + d) >> 8 for a, b, c, d in matrix])

    v = torch.arange(1024, device=raw.device)
    b = 2 - 2 ** (contrast / 100)
    a = 2 - 2 * b
    g = ((v - black) / (white - black)).clamp(0, 1) ** (1 / gamma)
    s = torch.where(g > 0.5, 1 - (a * (1 - g) + b) * (1 - g), (a * g + b) * g)
    curve = (255 * s + 0.5).clamp(0, 255).to(torch.uint8)
    return curve[corrected.clamp(0, 1023).to(torch.int64)]


def pyramid_blend(a, b, mask, levels=4):
    rows, columns = mask.shape

    def reduce(f, dimension, n):
        end = f.shape[dimension] - 1
        i = torch.arange(n, device=f.device)
        return total(w * along(f, dimension, (2 * i + k - 2).clamp(0, end)) for k, w in enumerate(BINOMIAL))

    def down(f, l):
        return reduce(reduce(f, -2 % f.dim(), level_size(rows, l)), -1 % f.dim(), level_size(columns, l))

    def enlarge(f, dimension, n):
        end = f.shape[dimension] - 1
        i = torch.arange(n, device=f.device)
        here, after = along(f, dimension, (i // 2).clamp(max=end)), along(f, dimension, (i // 2 + 1).clamp(max=end))
        before = along(f, dimension, ((i // 2).clamp(max=end) - 1).clamp(min=0))
        shape = [1] * f.dim()
        shape[dimension] = n
        return torch.where((i % 2 == 0).reshape(shape), (before + after) * 0.125 + here * 0.75, (here + after) * 0.5)

    def up(f, l):
        return enlarge(enlarge(f, 1, level_size(rows, l)), 2, level_size(columns, l))

    ga, gb, gm = [a], [b], [mask]
    for l in range(1, levels):
        ga.append(down(ga[-1], l))
        gb.append(down(gb[-1], l))
        gm.append(down(gm[-1], l))
    result = torch.lerp(gb[-1], ga[-1], gm[-1].expand_as(ga[-1]))
    for l in range(levels - 2, -1, -1):
        la, lb = ga[l] - up(ga[l + 1], l), gb[l] - up(gb[l + 1], l)
        result = lb + (la - lb) * gm[l] + up(result, l)
    return result


BENCHMARKS = {f.__name__: f for f in (blur, unsharp, harris, harris_rgb, bilateral_grid, multiscale_interpolate,
                                      camera_pipe, pyramid_blend)}
