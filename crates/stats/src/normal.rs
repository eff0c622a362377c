//! Quantiles of the standard normal distribution.

/// Returns the quantile of the standard normal distribution for a probability `p` of at least one half and less than one.
///
/// M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37 (1988), routine
/// PPND16, with a relative accuracy of about 10⁻¹⁶.
pub(crate) fn quantile(p: f64) -> f64 {
    debug_assert!((0.5..1.0).contains(&p), "p is in the upper half");
    let center = p - 0.5;
    if center <= 0.425 {
        let r = 0.180_625 - center * center;
        return center * polynomial(&CENTER_NUMERATOR, r) / polynomial(&CENTER_DENOMINATOR, r);
    }
    let r = (-(1.0 - p).ln()).sqrt();
    if r <= 5.0 {
        polynomial(&TAIL_NUMERATOR, r - 1.6) / polynomial(&TAIL_DENOMINATOR, r - 1.6)
    } else {
        polynomial(&FAR_TAIL_NUMERATOR, r - 5.0) / polynomial(&FAR_TAIL_DENOMINATOR, r - 5.0)
    }
}

/// Evaluates a polynomial by Horner's rule; the constant term is first.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, coefficient| value * x + coefficient)
}

const CENTER_NUMERATOR: [f64; 8] = [
    3.3871328727963665,
    133.14166789178438,
    1971.5909503065513,
    13731.69376550946,
    45921.95393154987,
    67265.7709270087,
    33430.57558358813,
    2509.0809287301227,
];
const CENTER_DENOMINATOR: [f64; 8] = [
    1.0,
    42.31333070160091,
    687.1870074920579,
    5394.196021424751,
    21213.794301586597,
    39307.89580009271,
    28729.085735721943,
    5226.495278852854,
];
const TAIL_NUMERATOR: [f64; 8] = [
    1.4234371107496835,
    4.630337846156546,
    5.769497221460691,
    3.6478483247632045,
    1.2704582524523684,
    0.2417807251774506,
    0.022723844989269184,
    0.0007745450142783414,
];
const TAIL_DENOMINATOR: [f64; 8] = [
    1.0,
    2.053191626637759,
    1.6763848301838038,
    0.6897673349851,
    0.14810397642748008,
    0.015198666563616457,
    0.0005475938084995345,
    1.0507500716444169e-9,
];
const FAR_TAIL_NUMERATOR: [f64; 8] = [
    6.657904643501103,
    5.463784911164114,
    1.7848265399172913,
    0.29656057182850487,
    0.026532189526576124,
    0.0012426609473880784,
    2.7115555687434876e-5,
    2.0103343992922881e-7,
];
const FAR_TAIL_DENOMINATOR: [f64; 8] = [
    1.0,
    0.599832206555888,
    0.1369298809227358,
    0.014875361290850615,
    0.0007868691311456133,
    1.8463183175100548e-5,
    1.421511758316446e-7,
    2.0442631033899397e-15,
];
