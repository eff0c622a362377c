// Mean, deviation and quartiles as crates/stats computes them (moments.rs, quartile.rs), so that a preview agrees with
// what the server will say.

/** The arithmetic mean; of equal values it is exactly that value. */
export function mean(values: ArrayLike<number>): number {
  const [total, error] = sum(values, 0);
  const rounded = (total + error) / values.length;
  const product = rounded * values.length;
  const more = (total - product + (error - productError(rounded, values.length, product))) / values.length;
  // Of values at the end of the range, the correction itself may run over.
  return Number.isFinite(more) ? rounded + more : rounded;
}

/** The sample standard deviation around the mean. */
export function deviation(values: ArrayLike<number>, mean: number): number {
  const [total, error] = sum(values, mean, true);
  return Math.sqrt((total + error) / (values.length - 1));
}

/** The three values that cut the sample into four equal parts. The sample is put in order. */
export function quartiles(sample: Float64Array): { first: number; median: number; third: number } {
  // A typed array sorts by value, and a NaN to the end.
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

/** The sum of the values, or of the squares of their distances, and the rounding errors made on the way. */
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

/** What rounding left out of a product: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision" (1971). */
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
