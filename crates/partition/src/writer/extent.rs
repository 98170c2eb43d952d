//! Minimum and maximum under construction.
//!
//! Invariant: both are values that were added, in full length. Left out: cutting, see `bounds.rs`.

use std::cmp::Ordering;

/// The smallest and greatest value so far, by an order that the owner gives.
#[derive(Debug, Clone)]
pub(super) struct Extent<T> {
    range: Option<(T, T)>,
    order: fn(&T, &T) -> Ordering,
}

impl<T: Copy> Extent<T> {
    pub(super) fn new(order: fn(&T, &T) -> Ordering) -> Self {
        Self { range: None, order }
    }

    #[inline]
    pub(super) fn add(&mut self, value: T) {
        match &mut self.range {
            None => self.range = Some((value, value)),
            Some((min, max)) => {
                if (self.order)(&value, min) == Ordering::Less {
                    *min = value;
                }
                if (self.order)(&value, max) == Ordering::Greater {
                    *max = value;
                }
            }
        }
    }

    /// Adds what another extent has seen.
    pub(super) fn merge(&mut self, other: &Self) {
        if let Some((min, max)) = other.range {
            self.add(min);
            self.add(max);
        }
    }

    /// Returns minimum and maximum.
    pub(super) fn get(&self) -> Option<(T, T)> {
        self.range
    }

    pub(super) fn clear(&mut self) {
        self.range = None;
    }
}

/// The smallest and greatest byte string so far.
#[derive(Debug, Clone, Default)]
pub(super) struct BytesExtent {
    min: Vec<u8>,
    max: Vec<u8>,
    is_empty: bool,
}

impl BytesExtent {
    pub(super) fn new() -> Self {
        Self { min: Vec::new(), max: Vec::new(), is_empty: true }
    }

    #[inline]
    pub(super) fn add(&mut self, value: &[u8]) {
        if self.is_empty || value < self.min.as_slice() {
            set(&mut self.min, value);
        }
        if self.is_empty || value > self.max.as_slice() {
            set(&mut self.max, value);
        }
        self.is_empty = false;
    }

    /// Adds what another extent has seen.
    pub(super) fn merge(&mut self, other: &Self) {
        if let Some((min, max)) = other.get() {
            self.add(min);
            self.add(max);
        }
    }

    /// Returns minimum and maximum.
    pub(super) fn get(&self) -> Option<(&[u8], &[u8])> {
        (!self.is_empty).then_some((self.min.as_slice(), self.max.as_slice()))
    }

    pub(super) fn clear(&mut self) {
        self.is_empty = true;
    }
}

fn set(bound: &mut Vec<u8>, value: &[u8]) {
    bound.clear();
    bound.extend_from_slice(value);
}
