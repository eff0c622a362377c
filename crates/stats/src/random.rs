//! Numbers that look random and are the same for the same seed, on every machine. Good enough to draw samples with, and
//! for nothing that must not be guessed.

/// A stream of numbers (G. L. Steele and others, "Fast splittable pseudorandom number generators", 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The stream of a seed. Seeds that follow each other give streams that have nothing to do with each other.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// A number between zero and one, both excluded.
    pub(crate) fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// A place below `count`.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        (self.even() * count as f64) as usize
    }

    /// Brings values into any order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            values.swap(end, self.place(end + 1));
        }
    }

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
