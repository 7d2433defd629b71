//! The transforms of VP8 (RFC 6386, section 14) and their counterparts for an encoder.

/// Four rows of four.
pub(super) type Block = [[i32; 4]; 4];

fn transposed(block: Block) -> Block {
    let [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]] = block;
    [[a, e, i, m], [b, f, j, n], [c, g, k, o], [d, h, l, p]]
}

/// The square root of two times the cosine and the sine of an eighth of a half turn, in 2^-12.
const COSINE: i32 = 5352;
const SINE: i32 = 2217;

/// Sums of one row, times 2^12.
const fn forward([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let (outer, inner) = (a + d, b + c);
    let (outer_step, inner_step) = (a - d, b - c);
    [
        (outer + inner) << 12,
        COSINE * outer_step + SINE * inner_step,
        (outer - inner) << 12,
        SINE * outer_step - COSINE * inner_step,
    ]
}

/// Coefficients of the differences between a picture and its prediction.
pub(super) fn cosine(block: Block) -> Block {
    let rows = block.map(|row| forward(row).map(|sum| (sum + 256) >> 9));
    transposed(transposed(rows).map(|column| forward(column).map(|sum| (sum + 32_768) >> 16)))
}

const fn backward([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let (even, odd) = (a + c, a - c);
    let small = ((b * 35_468) >> 16) - (d + ((d * 20_091) >> 16));
    let large = (b + ((b * 20_091) >> 16)) + ((d * 35_468) >> 16);
    [even + large, odd + small, odd - small, even - large]
}

/// Differences as every decoder computes them.
pub(super) fn inverse_cosine(block: Block) -> Block {
    let columns = transposed(transposed(block).map(backward));
    columns.map(|row| backward(row).map(|sum| (sum + 4) >> 3))
}

const fn butterfly([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let (outer, inner) = (a + d, b + c);
    let (outer_step, inner_step) = (a - d, b - c);
    [outer + inner, inner_step + outer_step, outer - inner, outer_step - inner_step]
}

/// Coefficients of the means of sixteen blocks.
pub(super) fn hadamard(block: Block) -> Block {
    let columns = transposed(transposed(block).map(butterfly));
    columns.map(|row| butterfly(row).map(|sum| (sum + i32::from(sum > 0)) >> 1))
}

/// Means as every decoder computes them.
pub(super) fn inverse_hadamard(block: Block) -> Block {
    let columns = transposed(transposed(block).map(butterfly));
    columns.map(|row| butterfly(row).map(|sum| (sum + 3) >> 3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_transform_and_its_inverse_give_the_block_back(
            block in prop::array::uniform4(prop::array::uniform4(-255_i32..=255)),
        ) {
            let again = inverse_cosine(cosine(block));
            for (one, other) in block.as_flattened().iter().zip(again.as_flattened()) {
                prop_assert!((one - other).abs() <= 2, "{one} {other}");
            }
            let means = block.map(|row| row.map(|mean| mean * 8));
            let again = inverse_hadamard(hadamard(means));
            for (one, other) in means.as_flattened().iter().zip(again.as_flattened()) {
                prop_assert!((one - other).abs() <= 1, "{one} {other}");
            }
        }
    }
}
