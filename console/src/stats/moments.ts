// Mean, standard deviation and quartiles with the arithmetic of crates/stats (moments.rs, quartile.rs), so that a
// preview agrees with the server.

/** The arithmetic mean; exact for equal values. */
export function mean(values: ArrayLike<number>): number {
  const [total, error] = sum(values, 0);
  const rounded = (total + error) / values.length;
  const product = rounded * values.length;
  const more = (total - product + (error - productError(rounded, values.length, product))) / values.length;
  // The correction can overflow for extreme values.
  return Number.isFinite(more) ? rounded + more : rounded;
}

/** The sample standard deviation around the mean. */
export function deviation(values: ArrayLike<number>, mean: number): number {
  const [total, error] = sum(values, mean, true);
  return Math.sqrt((total + error) / (values.length - 1));
}

/** The quartiles. Sorts the sample in place. */
export function quartiles(sample: Float64Array): { first: number; median: number; third: number } {
  // A typed array sorts numerically, with NaN last.
  sample.sort();
  return { first: cut(sample, 1), median: cut(sample, 2), third: cut(sample, 3) };
}

function cut(sorted: Float64Array, quarters: number): number {
  const rank = quarters * (sorted.length - 1);
  const index = Math.floor(rank / 4);
  const below = sorted[index] ?? NaN;
  const rest = rank % 4;
  return rest === 0 ? below : below + ((sorted[index + 1] ?? NaN) - below) * (rest / 4);
}

/** The sum of the values, or of their squared distances, and its rounding error. */
function sum(values: ArrayLike<number>, from: number, squared = false): [total: number, error: number] {
  let total = 0;
  let error = 0;
  for (let place = 0; place < values.length; place++) {
    const distance = (values[place] ?? 0) - from;
    const value = squared ? distance * distance : distance;
    const next = total + value;
    const taken = next - total;
    error += total - (next - taken) + (value - taken);
    total = next;
  }
  return [total, error];
}

/**
 * The rounding error of a product: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision"
 * (1971).
 */
function productError(a: number, b: number, product: number): number {
  const [aHigh, aLow] = split(a);
  const [bHigh, bLow] = split(b);
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

function split(number: number): [high: number, low: number] {
  const spread = 134217729 * number;
  const high = spread - (spread - number);
  return [high, number - high];
}
