//! Pseudorandom numbers, reproducible for the same seed on every machine. Suitable for simulations, not for cryptography.

/// Random number generator (G. L. Steele and others, "Fast splittable pseudorandom number generators", 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Creates the generator of a seed. Consecutive seeds give independent streams.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Returns a uniform number between zero and one, both excluded.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// Returns a uniform index below `count`.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        (self.uniform() * count as f64) as usize
    }

    /// Shuffles the values.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            values.swap(end, self.index(end + 1));
        }
    }

    /// Returns a standard normal number (G. E. P. Box and M. E. Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns a number of Student's t distribution with three degrees of freedom, which has heavy tails.
    pub(crate) fn student_t(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }
}
