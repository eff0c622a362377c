// Tail probabilities of Student's t distribution, accurate to ten digits; quantile.ts has the quantiles.

/** The two-sided tail probability of t. */
export function twoSided(t: number, freedom: number): number {
  if (!Number.isFinite(t)) return 0;
  return incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/** The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22). */
function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
}

function fraction(a: number, b: number, x: number): number {
  let numerator = 1;
  let denominator = 1 / (1 - ((a + b) * x) / (a + 1));
  let value = denominator;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    denominator = 1 / (1 + even * denominator);
    numerator = 1 + even / numerator;
    value *= numerator * denominator;
    denominator = 1 / (1 + odd * denominator);
    numerator = 1 + odd / numerator;
    value *= numerator * denominator;
    if (Math.abs(numerator * denominator - 1) < 1e-15) break;
  }
  return value;
}

/** The logarithm of Γ by Stirling's series, after shifting the argument to where the series is accurate. */
function logGamma(z: number): number {
  let climbed = 0;
  let at = z;
  for (; at < 12; at++) climbed += Math.log(at);
  const v = 1 / (at * at);
  return (
    (at - 0.5) * Math.log(at) -
    at +
    Math.log(2 * Math.PI) / 2 +
    (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v / 1680))) / at -
    climbed
  );
}
