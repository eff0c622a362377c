// Reduces a line to one entry per screen column: the first, last, lowest and highest value, so that no outlier is lost.
// Pure: no DOM.

/** Columns from left to right. A column of NaN is a gap; in a column with one point, the four values are equal. */
export interface Columns {
  x: Float64Array;
  open: Float64Array;
  close: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

interface Known extends Columns {
  /** The source of the columns. */
  of: Float64Array;
  width: number;
}

const known = new WeakMap<Float64Array, Known>();

/** One column per point. */
export function pointwise(x: Float64Array, y: Float64Array): Columns {
  return { x, open: y, close: y, low: y, high: y };
}

/**
 * Reduces a line to columns of a maximum width. The columns are on a fixed grid and the width changes in steps, so that
 * consecutive frames reuse the result.
 */
export function thinned(x: Float64Array, y: Float64Array, most: number): Columns {
  const width = 2 ** (Math.floor(Math.log2(most) * 2) / 2);
  const old = known.get(y);
  if (old?.width === width && old.of === x) return old;
  const made: Known = { of: x, width, ...columns(x, y, width) };
  known.set(y, made);
  return made;
}

/** A buffer for the columns, whose number is not known in advance. */
let scratch: Columns = pointwise(new Float64Array(), new Float64Array());

function columns(x: Float64Array, y: Float64Array, width: number): Columns {
  // At most one column and one gap per point.
  const room = 2 * y.length;
  if (scratch.x.length < room) {
    const numbers = () => new Float64Array(room);
    scratch = { x: numbers(), open: numbers(), close: numbers(), low: numbers(), high: numbers() };
  }
  const { x: at, open, close, low, high } = scratch;
  let count = 0;
  let column = NaN;
  for (let place = 0; place < y.length; place++) {
    const value = y[place] as number;
    const own = Math.floor((x[place] as number) / width);
    if (!(value > -Infinity && value < Infinity)) {
      // A gap inside a column is invisible.
      if (own === column || Number.isNaN(column)) continue;
      at[count] = own * width;
      open[count] = close[count] = low[count] = high[count] = NaN;
      count++;
      column = NaN;
    } else if (own === column) {
      close[count - 1] = value;
      if (value < (low[count - 1] as number)) low[count - 1] = value;
      if (value > (high[count - 1] as number)) high[count - 1] = value;
    } else {
      at[count] = own * width;
      open[count] = close[count] = low[count] = high[count] = value;
      count++;
      column = own;
    }
  }
  const cut = (numbers: Float64Array) => numbers.slice(0, count);
  return { x: cut(at), open: cut(open), close: cut(close), low: cut(low), high: cut(high) };
}
