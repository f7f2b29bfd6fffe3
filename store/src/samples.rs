//! How samples are kept in a blob: little-endian `f64`, nothing else, and the number of them in a
//! column beside it. It must not know what the numbers mean.

/// Packs samples for a blob column.
pub fn encode_samples(samples: &[f64]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

/// Unpacks a blob that must hold exactly `count` samples.
///
/// # Errors
/// A description of the mismatch when the blob has another length.
pub fn decode_samples(blob: &[u8], count: usize) -> Result<Vec<f64>, String> {
    let (chunks, rest) = blob.as_chunks::<8>();
    if !rest.is_empty() || chunks.len() != count {
        return Err(format!(
            "{} bytes of samples where {count} samples of 8 bytes were promised",
            blob.len()
        ));
    }
    Ok(chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(encode_samples(&[1.0]), [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]);
    }

    #[test]
    fn every_bit_survives() {
        let samples = [0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, 0.1 + 0.2];
        let back = decode_samples(&encode_samples(&samples), samples.len()).unwrap();
        assert_eq!(
            samples.map(f64::to_bits).to_vec(),
            back.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn another_length_is_refused() {
        for (length, count) in [(7, 0), (8, 0), (8, 2), (9, 1), (0, 1)] {
            assert!(decode_samples(&vec![0; length], count).is_err(), "{length} bytes as {count}");
        }
        assert_eq!(decode_samples(&[], 0).unwrap(), [0.0; 0]);
    }
}
