//! Noise to test with: the same for the same seed, on every machine.

pub(crate) use crate::random::Random;

impl Random {
    /// A normal number (G. E. P. Box and M. E. Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
    }

    /// A number of Student's t with three degrees of freedom, which now and then is very far off.
    pub(crate) fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }
}

/// Normal numbers with a standard deviation of one.
pub(crate) fn normal(seed: u64, count: usize) -> Vec<f64> {
    // Seeds that follow each other would give streams that do, too.
    let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95));
    (0..count).map(|_| random.normal()).collect()
}
