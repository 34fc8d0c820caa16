//! Short pieces of memory. For a few bytes, calling the C library takes longer than its work; where millions of short pieces
//! are copied or compared, that is most of the time. Both halves of a piece are handled at once, and may overlap.

/// Appends a piece that is mostly short.
#[inline]
pub fn append(bytes: &mut Vec<u8>, piece: &[u8]) {
    match piece.len() {
        0..4 => piece.iter().for_each(|byte| bytes.push(*byte)),
        4..=8 => append_halves::<4>(bytes, piece),
        9..=16 => append_halves::<8>(bytes, piece),
        17..=32 => append_halves::<16>(bytes, piece),
        33..=64 => append_halves::<32>(bytes, piece),
        _ => bytes.extend_from_slice(piece),
    }
}

#[inline]
fn append_halves<const HALF: usize>(bytes: &mut Vec<u8>, piece: &[u8]) {
    if let (Some(first), Some(last)) = (piece.first_chunk::<HALF>(), piece.last_chunk::<HALF>()) {
        let end = bytes.len() + piece.len();
        bytes.extend_from_slice(first);
        bytes.truncate(end - HALF);
        bytes.extend_from_slice(last);
    }
}

/// Whether two pieces that are mostly short are equal.
#[inline]
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && match one.len() {
            0..4 => one.iter().zip(other).all(|(one, other)| one == other),
            4..=8 => same_halves::<4>(one, other),
            9..=16 => same_halves::<8>(one, other),
            _ => one == other,
        }
}

#[inline]
fn same_halves<const HALF: usize>(one: &[u8], other: &[u8]) -> bool {
    one.first_chunk::<HALF>() == other.first_chunk() && one.last_chunk::<HALF>() == other.last_chunk()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_of_every_length_are_copied_and_compared() {
        let text: Vec<u8> = (0..200).collect();
        for length in 0..100 {
            let piece = &text[100 - length..100];
            let mut copied = b"before".to_vec();
            append(&mut copied, piece);
            assert_eq!(copied, [b"before", piece].concat());
            assert!(same(piece, &copied[6..]));
            assert!(!same(piece, &text[..length + 1]));
            for at in 0..length {
                let mut other = piece.to_vec();
                other[at] ^= 1;
                assert!(!same(piece, &other), "{length} {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn they_do_what_the_library_does(
            begun in prop::collection::vec(any::<u8>(), 0..80),
            piece in prop::collection::vec(0..2_u8, 0..80),
            other in prop::collection::vec(0..2_u8, 0..80),
        ) {
            let (mut ours, mut plain) = (begun.clone(), begun);
            append(&mut ours, &piece);
            plain.extend_from_slice(&piece);
            prop_assert_eq!(ours, plain);
            let cut = &other[..other.len().min(piece.len())];
            for other in [&piece[..], &other, cut] {
                prop_assert_eq!(same(&piece, other), piece == other);
            }
        }
    }
}
