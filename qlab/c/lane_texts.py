"""C helpers of sums in lanes of vector registers: name → text and the helpers that it calls."""

TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "in_halves": (
        """\
/* Lanes added up, the first half and the second until one is left. */
static float in_halves(const float *lane, int count)
{
    float sum[16];
    for (int i = 0; i < count; i++) {
        sum[i] = lane[i];
    }
    for (int half = count / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            sum[i] = sum[i] + sum[i + half];
        }
    }
    return sum[0];
}""",
        (),
    ),
    "in_quarters": (
        """\
/* Lanes added up, each four in order first, the results in halves. */
static float in_quarters(const float *lane, int count)
{
    float sum[4];
    for (int i = 0; i < count / 4; i++) {
        sum[i] = ((lane[4 * i] + lane[4 * i + 1]) + lane[4 * i + 2]) + lane[4 * i + 3];
    }
    return in_halves(sum, count / 4);
}""",
        ("in_halves",),
    ),
    "in_pairs": (
        """\
/* Eight lanes added up, in halves down to four and those in pairs of neighbours. */
static float in_pairs(const float *lane)
{
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}""",
        (),
    ),
}
