//! What messages are made of: numbers of a few types, as their bytes in memory. The wire is little-endian, as are
//! the machines that this is built for: nothing is converted.

use std::fmt::Debug;

#[cfg(target_endian = "big")]
compile_error!("messages are little-endian, and are sent as they are in memory");

mod sealed {
    /// Only this room's types are elements.
    pub trait Plain {}
}

/// A type of which messages are made.
pub trait Element: sealed::Plain + Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Its code in a header.
    const CODE: u16;
    /// Its name, for people.
    const NAME: &'static str;

    /// Elements of a message's bytes; `None` where they are no whole number of them.
    fn from_body(body: Vec<u8>) -> Option<Vec<Self>> {
        elements(&body)
    }
}

/// A number at a place: of several, the least or the greatest, and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Located {
    /// The number.
    pub value: f64,
    /// The place: a rank, or an index.
    pub at: i64,
}

macro_rules! elements {
    ($($type:ty, $code:literal, $name:literal;)*) => {$(
        impl sealed::Plain for $type {}
        impl Element for $type {
            const CODE: u16 = $code;
            const NAME: &'static str = $name;
        }
    )*};
}

impl sealed::Plain for u8 {}
impl Element for u8 {
    const CODE: u16 = 1;
    const NAME: &'static str = "bytes";

    /// Bytes need no copy.
    fn from_body(body: Vec<u8>) -> Option<Vec<Self>> {
        Some(body)
    }
}

elements! {
    i32, 2, "32-bit integers";
    i64, 3, "64-bit integers";
    f32, 4, "32-bit floating-point numbers";
    f64, 5, "64-bit floating-point numbers";
    Located, 6, "numbers with a place";
}

/// The name of the elements of a code, for people.
pub(crate) fn name_of(code: u16) -> &'static str {
    let all = [
        (u8::CODE, u8::NAME),
        (i32::CODE, i32::NAME),
        (i64::CODE, i64::NAME),
        (f32::CODE, f32::NAME),
        (f64::CODE, f64::NAME),
        (Located::CODE, Located::NAME),
    ];
    all.iter().find(|(known, _)| *known == code).map_or("elements of an unknown type", |(_, name)| name)
}

/// The bytes of elements.
pub(crate) fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: an `Element` is an integer, a floating-point number, or `Located`, which has two of eight bytes and no
    // padding: every byte of it is initialised. The slice covers exactly these bytes, and borrows them.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of elements, to write to.
pub(crate) fn bytes_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as for `bytes`; and any bytes are a value of these types.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// A copy of bytes as elements; `None` where they are no whole number of them.
fn elements<T: Element>(from: &[u8]) -> Option<Vec<T>> {
    let mut elements = vec![T::default(); from.len() / size_of::<T>()];
    let into = bytes_mut(&mut elements);
    (into.len() == from.len()).then(|| into.copy_from_slice(from))?;
    Some(elements)
}

/// A type that reductions combine.
pub trait Combine: Element {
    /// The operations by which it is combined.
    type Op: Copy + Debug + PartialEq;

    /// Combines two elements.
    fn combine(op: Self::Op, mine: Self, theirs: Self) -> Self;

    /// Combines each of `theirs` into `mine`.
    fn combine_all(op: Self::Op, mine: &mut [Self], theirs: &[Self]) {
        mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = Self::combine(op, *mine, *theirs));
    }
}

/// The operation by which a reduction combines numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    /// a + b; integers wrap round.
    Sum,
    /// The smaller; of floating-point numbers by IEEE 754's total order.
    Min,
    /// The larger; of floating-point numbers by IEEE 754's total order.
    Max,
}

/// Which of several numbers with a place is kept: of equal ones that with the lower place, as MPI_MINLOC and
/// MPI_MAXLOC do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocateOp {
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// A loop for each operation, which the compiler makes vector code of.
macro_rules! combine_by_operation {
    () => {
        fn combine_all(op: ReduceOp, mine: &mut [Self], theirs: &[Self]) {
            let pairs = mine.iter_mut().zip(theirs);
            match op {
                ReduceOp::Sum => pairs.for_each(|(a, b)| *a = Self::combine(ReduceOp::Sum, *a, *b)),
                ReduceOp::Min => pairs.for_each(|(a, b)| *a = Self::combine(ReduceOp::Min, *a, *b)),
                ReduceOp::Max => pairs.for_each(|(a, b)| *a = Self::combine(ReduceOp::Max, *a, *b)),
            }
        }
    };
}

macro_rules! combine_integers {
    ($($type:ty)*) => {$(
        impl Combine for $type {
            type Op = ReduceOp;
            #[inline]
            fn combine(op: ReduceOp, mine: Self, theirs: Self) -> Self {
                match op {
                    ReduceOp::Sum => mine.wrapping_add(theirs),
                    ReduceOp::Min => mine.min(theirs),
                    ReduceOp::Max => mine.max(theirs),
                }
            }
            combine_by_operation!();
        }
    )*};
}

macro_rules! combine_floats {
    ($($type:ty)*) => {$(
        impl Combine for $type {
            type Op = ReduceOp;
            #[inline]
            fn combine(op: ReduceOp, mine: Self, theirs: Self) -> Self {
                match op {
                    ReduceOp::Sum => mine + theirs,
                    ReduceOp::Min => if mine.total_cmp(&theirs).is_le() { mine } else { theirs },
                    ReduceOp::Max => if mine.total_cmp(&theirs).is_ge() { mine } else { theirs },
                }
            }
            combine_by_operation!();
        }
    )*};
}

combine_integers!(i32 i64);
combine_floats!(f32 f64);

impl Combine for Located {
    type Op = LocateOp;

    fn combine(op: LocateOp, mine: Self, theirs: Self) -> Self {
        let order = mine.value.total_cmp(&theirs.value);
        let order = if op == LocateOp::Min { order } else { order.reverse() };
        if order.then(mine.at.cmp(&theirs.at)).is_le() { mine } else { theirs }
    }
}

/// Elements that are combined at once: two such blocks stay in the first cache.
const BLOCK: usize = 512;

/// Combines `theirs` into `mine`, both the bytes of elements, of the same length.
pub(crate) fn combine_bytes<T: Combine>(op: T::Op, mine: &mut [u8], theirs: &[u8]) {
    let size = size_of::<T>();
    let mut own = [T::default(); BLOCK];
    let mut others = [T::default(); BLOCK];
    // Bytes of messages begin anywhere, numbers do not: they are copied.
    for (mine, theirs) in mine.chunks_mut(BLOCK * size).zip(theirs.chunks(BLOCK * size)) {
        let count = mine.len() / size;
        let (own, others) = (&mut own[..count], &mut others[..count]);
        bytes_mut(own).copy_from_slice(mine);
        bytes_mut(others).copy_from_slice(theirs);
        T::combine_all(op, own, others);
        mine.copy_from_slice(bytes(own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_the_same_after_their_bytes() {
        let numbers = [1.5, -0.0, f64::MAX];
        assert_eq!(elements::<f64>(bytes(&numbers)), Some(numbers.to_vec()));
        assert_eq!(elements::<f64>(&[0; 9]), None);
        let located = [Located { value: 2.0, at: -3 }];
        assert_eq!(elements::<Located>(bytes(&located)), Some(located.to_vec()));
    }

    #[test]
    fn bytes_are_combined_as_elements_are() {
        let mut mine = [3_i32, -4, i32::MAX];
        let theirs = [5_i32, 6, 1];
        combine_bytes::<i32>(ReduceOp::Sum, bytes_mut(&mut mine), bytes(&theirs));
        assert_eq!(mine, [8, 2, i32::MIN]);
        combine_bytes::<i32>(ReduceOp::Max, bytes_mut(&mut mine), bytes(&theirs));
        assert_eq!(mine, [8, 6, 1]);
    }

    #[test]
    fn more_than_a_block_is_combined_as_each_element_is() {
        for op in [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max] {
            let mut mine: Vec<f64> = (0..1300).map(|i| f64::from(i) * 0.5).collect();
            let theirs: Vec<f64> = (0..1300).map(|i| f64::from(1300 - i)).collect();
            let expected: Vec<f64> =
                mine.iter().zip(&theirs).map(|(a, b)| f64::combine(op, *a, *b)).collect();
            combine_bytes::<f64>(op, bytes_mut(&mut mine), bytes(&theirs));
            assert_eq!(mine, expected, "{op:?}");
        }
    }

    #[test]
    fn of_equal_numbers_the_lower_place_is_kept() {
        let at = |value, at| Located { value, at };
        assert_eq!(Located::combine(LocateOp::Min, at(1.0, 4), at(1.0, 2)), at(1.0, 2));
        assert_eq!(Located::combine(LocateOp::Max, at(1.0, 2), at(3.0, 9)), at(3.0, 9));
        assert_eq!(Located::combine(LocateOp::Max, at(3.0, 2), at(3.0, 9)), at(3.0, 2));
    }
}
