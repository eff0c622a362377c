// Quantiles of the normal distribution and of Student's t, with the arithmetic of crates/stats (normal.rs and
// student.rs document reasons and sources).

/** The quantile of the standard normal distribution for `p` from 0.5 to below 1. */
export function normal(p: number): number {
  const center = p - 0.5;
  if (center <= 0.425) {
    const r = 0.180625 - center * center;
    return (center * polynomial(CENTER_NUMERATOR, r)) / polynomial(CENTER_DENOMINATOR, r);
  }
  const r = Math.sqrt(-Math.log(1 - p));
  return r <= 5
    ? polynomial(TAIL_NUMERATOR, r - 1.6) / polynomial(TAIL_DENOMINATOR, r - 1.6)
    : polynomial(FAR_NUMERATOR, r - 5) / polynomial(FAR_DENOMINATOR, r - 5);
}

/** The quantile of Student's t: Newton's method from the normal quantile, on concave functions. */
export function student(p: number, freedom: number): number {
  if (p === 0.5) return 0;
  const peak = gammaRatio(freedom / 2) / Math.sqrt(freedom * Math.PI);
  let t = normal(p);
  for (let step = 0; step < 64; step++) {
    const density = peak * Math.exp(-0.5 * (freedom + 1) * Math.log1p((t * t) / freedom));
    let next: number;
    if (p < 0.75) {
      next = t + (p - 0.5 - areaTo(t, density, freedom)) / density;
    } else {
      const above = areaAbove(t, density, freedom);
      next = t * (above / (1 - p)) ** (above / (t * density));
    }
    const moved = Math.abs(next - t);
    t = next;
    if (moved <= 1e-10 * t) break;
  }
  return t;
}

function areaTo(t: number, density: number, freedom: number): number {
  return t * density * betaFraction(0.5, 0.5 * freedom, (t * t) / (freedom + t * t));
}

function areaAbove(t: number, density: number, freedom: number): number {
  const half = 0.5 * freedom;
  const x = freedom / (freedom + t * t);
  return x < (half + 1) / (half + 2.5)
    ? ((t * density) / freedom) * betaFraction(half, 0.5, x)
    : 0.5 - areaTo(t, density, freedom);
}

function betaFraction(a: number, b: number, x: number): number {
  let numerator = 1;
  let denominator = 1 / (1 - ((a + b) * x) / (a + 1));
  let value = denominator;
  for (let m = 1; m < 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    denominator = 1 / (1 + even * denominator);
    numerator = 1 + even / numerator;
    value *= numerator * denominator;
    denominator = 1 / (1 + odd * denominator);
    numerator = 1 + odd / numerator;
    const change = numerator * denominator;
    value *= change;
    if (Math.abs(change - 1) <= Number.EPSILON) break;
  }
  return value;
}

/** Γ(z + 1/2) / Γ(z). */
function gammaRatio(from: number): number {
  let z = from;
  let climbed = 1;
  while (z < 24) {
    climbed *= z / (z + 0.5);
    z += 1;
  }
  const w = z - 0.25;
  const v = 1 / (w * w);
  const series = 1 + v * (1 / 64 + v * (-19 / 8192 + v * (631 / 524288 - v * (174317 / 134217728))));
  return climbed * Math.sqrt(w) * series;
}

/** Horner's rule, constant term first. */
function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduceRight((value, coefficient) => value * x + coefficient, 0);
}

const CENTER_NUMERATOR = [
  3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987, 67265.7709270087,
  33430.57558358813, 2509.0809287301227,
];
const CENTER_DENOMINATOR = [
  1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271, 28729.085735721943,
  5226.495278852854,
];
const TAIL_NUMERATOR = [
  1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684, 0.2417807251774506,
  0.022723844989269184, 0.0007745450142783414,
];
const TAIL_DENOMINATOR = [
  1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
  0.0005475938084995345, 1.0507500716444169e-9,
];
const FAR_NUMERATOR = [
  6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
  0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7,
];
const FAR_DENOMINATOR = [
  1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 1.8463183175100548e-5,
  1.421511758316446e-7, 2.0442631033899397e-15,
];
