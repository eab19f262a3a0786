//! Pixels in memory.

use image::metadata::Orientation;

/// The channels of a pixel, eight bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
    /// Ink, not light: nothing of a colour is white.
    Cmyk,
}

impl Layout {
    pub(super) fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::Cmyk => 4,
        }
    }

    pub(super) fn has_alpha(self) -> bool {
        matches!(self, Self::GrayAlpha | Self::Rgba)
    }
}

/// An image, row by row from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) layout: Layout,
    pub(super) data: Vec<u8>,
}

impl Raster {
    /// The pixels, each as long as the layout says.
    pub(super) fn pixels(&self) -> impl Iterator<Item = &[u8]> {
        self.data.chunks_exact(self.layout.channels())
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.data.chunks_exact((self.width as usize * self.layout.channels()).max(1))
    }

    /// True if anything can be seen through it.
    pub(super) fn is_transparent(&self) -> bool {
        self.layout.has_alpha() && self.pixels().any(|pixel| pixel.last() != Some(&u8::MAX))
    }

    /// The same on white, without alpha.
    pub(super) fn on_white(self) -> Self {
        let layout = match self.layout {
            Layout::GrayAlpha => Layout::Gray,
            Layout::Rgba => Layout::Rgb,
            Layout::Gray | Layout::Rgb | Layout::Cmyk => return self,
        };
        let mut data = Vec::with_capacity(self.data.len() / self.layout.channels() * layout.channels());
        for pixel in self.pixels() {
            let Some((alpha, colours)) = pixel.split_last() else { continue };
            let alpha = u32::from(*alpha);
            data.extend(colours.iter().map(|colour| {
                let mixed = (u32::from(*colour) * alpha + 255 * (255 - alpha) + 127) / 255;
                u8::try_from(mixed).unwrap_or(u8::MAX)
            }));
        }
        Self { layout, data, ..self }
    }

    /// Turned and mirrored as its orientation says, so that it is upright.
    pub(super) fn upright(self, orientation: Orientation) -> Self {
        use Orientation::{
            FlipHorizontal, FlipVertical, NoTransforms, Rotate90, Rotate90FlipH, Rotate180, Rotate270,
            Rotate270FlipH,
        };
        if orientation == NoTransforms {
            return self;
        }
        let (width, height) = (self.width as usize, self.height as usize);
        let turned = matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH);
        let (new_width, new_height) = if turned { (height, width) } else { (width, height) };
        let channels = self.layout.channels();
        let mut data = Vec::with_capacity(self.data.len());
        for y in 0..new_height {
            for x in 0..new_width {
                // Where the pixel comes from.
                let (from_x, from_y) = match orientation {
                    NoTransforms => (x, y),
                    FlipHorizontal => (width - 1 - x, y),
                    FlipVertical => (x, height - 1 - y),
                    Rotate180 => (width - 1 - x, height - 1 - y),
                    Rotate90 => (y, height - 1 - x),
                    Rotate270 => (width - 1 - y, x),
                    Rotate90FlipH => (y, x),
                    Rotate270FlipH => (width - 1 - y, height - 1 - x),
                };
                let start = (from_y * width + from_x) * channels;
                data.extend_from_slice(self.data.get(start..start + channels).unwrap_or_default());
            }
        }
        let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        Self { width: side(new_width), height: side(new_height), layout: self.layout, data }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Raster};
    use image::metadata::Orientation;

    /// Numbered from 1, two wide and three high.
    fn numbered() -> Raster {
        Raster { width: 2, height: 3, layout: Layout::Gray, data: vec![1, 2, 3, 4, 5, 6] }
    }

    #[test]
    fn every_orientation_of_exif_is_undone() {
        // From the table of Exif 2.32, 4.6.4.A: where row 0 and column 0 of the file belong.
        let expected: [(u8, [u32; 2], [u8; 6]); 8] = [
            (1, [2, 3], [1, 2, 3, 4, 5, 6]),
            (2, [2, 3], [2, 1, 4, 3, 6, 5]),
            (3, [2, 3], [6, 5, 4, 3, 2, 1]),
            (4, [2, 3], [5, 6, 3, 4, 1, 2]),
            (5, [3, 2], [1, 3, 5, 2, 4, 6]),
            (6, [3, 2], [5, 3, 1, 6, 4, 2]),
            (7, [3, 2], [6, 4, 2, 5, 3, 1]),
            (8, [3, 2], [2, 4, 6, 1, 3, 5]),
        ];
        for (exif, [width, height], data) in expected {
            let orientation = Orientation::from_exif(exif).unwrap();
            let upright = numbered().upright(orientation);
            assert_eq!((upright.width, upright.height), (width, height), "{exif}");
            assert_eq!(upright.data, data, "{exif}");
        }
    }

    #[test]
    fn white_shines_through() {
        let raster =
            Raster { width: 3, height: 1, layout: Layout::GrayAlpha, data: vec![0, 0, 0, 128, 9, 255] };
        assert!(raster.is_transparent());
        let flat = raster.on_white();
        assert_eq!((flat.layout, flat.data), (Layout::Gray, vec![255, 127, 9]));
    }
}
