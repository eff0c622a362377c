//! The numbers of the reports that have a value of a series. Most series have a value in every report, so a few ranges are
//! enough.

/// Report numbers in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportNumbers {
    /// Start of each range without gaps: the index of its first value and the report number of that value.
    ranges: Vec<(u32, u32)>,
    count: u32,
}

impl ReportNumbers {
    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no values.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a number that is greater than all others.
    pub(super) fn push(&mut self, number: usize) {
        let number = number as u32;
        let is_next = self.ranges.last().is_some_and(|(place, first)| first + (self.count - place) == number);
        if !is_next {
            self.ranges.push((self.count, number));
        }
        self.count += 1;
    }

    /// Returns the report number at an index.
    pub(super) fn number(&self, place: usize) -> usize {
        let place = place as u32;
        let range = self.ranges.partition_point(|(first, _)| *first <= place);
        range.checked_sub(1).map_or(0, |range| {
            let (first, number) = self.ranges[range];
            (number + (place - first)) as usize
        })
    }

    /// Returns the index of a report number, or of the next greater one.
    pub(super) fn place(&self, number: usize) -> usize {
        let number = number as u32;
        let range = self.ranges.partition_point(|(_, first)| *first <= number);
        let end = self.ranges.get(range).map_or(self.count, |(place, _)| *place);
        range.checked_sub(1).map_or(end, |range| {
            let (place, first) = self.ranges[range];
            (place + (number - first)).min(end)
        }) as usize
    }

    /// Removes the numbers that are smaller than `number` and returns how many were removed.
    pub(super) fn split_off(&mut self, number: usize) -> usize {
        let old = self.place(number);
        let rest: Vec<usize> = (old..self.len()).map(|place| self.number(place)).collect();
        *self = Self::default();
        rest.into_iter().for_each(|number| self.push(number));
        old
    }

    /// Returns the memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_places_belong_together() {
        let numbers = [3, 4, 5, 9, 10, 20];
        let mut places = ReportNumbers::default();
        numbers.iter().for_each(|number| places.push(*number));
        assert_eq!((places.len(), places.ranges.len()), (6, 3));
        for (place, number) in numbers.iter().enumerate() {
            assert_eq!((places.number(place), places.place(*number)), (*number, place));
        }
        let next = [0, 6, 8, 11, 21].map(|number| places.place(number));
        assert_eq!(next, [0, 3, 3, 5, 6]);
    }

    #[test]
    fn the_beginning_can_be_dropped() {
        let mut places = ReportNumbers::default();
        [3, 4, 5, 9, 10].iter().for_each(|number| places.push(*number));
        assert_eq!(places.split_off(5), 2);
        assert_eq!((places.len(), places.number(0), places.number(1)), (3, 5, 9));
        assert_eq!(places.split_off(0), 0);
        assert_eq!(places.split_off(11), 3);
        assert!(places.is_empty());
    }
}
