//! The size of a JPEG 2000 image by its header (ITU-T T.800, A.5.1).

/// The size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) components: u64,
    pub(super) tiles: u64,
}

/// The largest size that a header in these bytes speaks of, wherever it stands; `None` if there is none.
pub(super) fn size(data: &[u8]) -> Option<Size> {
    let headers = memchr::memmem::find_iter(data, b"\xff\x4f\xff\x51");
    headers.filter_map(|at| read(data.get(at + 4..)?)).max_by_key(|size| {
        size.width.saturating_mul(size.height).saturating_mul(size.components).saturating_mul(size.tiles)
    })
}

/// Reads a header behind its marker.
fn read(header: &[u8]) -> Option<Size> {
    let be32 = |at: usize| Some(u64::from(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?)));
    let (right, bottom, left, top) = (be32(4)?, be32(8)?, be32(12)?, be32(16)?);
    let (across, down) = (be32(20)?, be32(24)?);
    let components = u64::from(u16::from_be_bytes(header.get(36..38)?.try_into().ok()?));
    let (width, height) = (right.checked_sub(left)?, bottom.checked_sub(top)?);
    let tiles = match (across, down) {
        (0, _) | (_, 0) => return None,
        (across, down) => right.div_ceil(across).saturating_mul(bottom.div_ceil(down)),
    };
    Some(Size { width, height, components, tiles })
}

#[cfg(test)]
mod tests {
    use super::{Size, size};

    #[test]
    fn the_header_says_the_size() {
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        // Lsiz and Rsiz, then right, bottom, left, top, the tile's sides and where it begins, and three components.
        let header = [&[0, 47, 0, 0][..], &numbers(&[620, 410, 20, 10, 256, 256, 0, 0]), &[0, 3]].concat();
        let file = [b"\0\0\0\x0cjP  ....\xff\x4f\xff\x51", &*header, b"\xff\xd9"].concat();
        assert_eq!(size(&file), Some(Size { width: 600, height: 400, components: 3, tiles: 6 }));
        assert_eq!(size(b"\xff\x4f\xff\x51\0\x2f"), None);
        assert_eq!(size(b""), None);
    }
}
