//! Colours as every reader takes them: sRGB, or its greys.

use moxcms::{ColorProfile, DataColorSpace, Layout as CmsLayout, TransformOptions};

use super::raster::{Layout, Raster};

/// The same image in sRGB; a profile that cannot be used is left out, as most readers do.
pub(super) fn to_srgb(raster: Raster, profile: Option<&[u8]>) -> Raster {
    let managed = profile.and_then(|profile| managed(&raster, profile));
    match managed {
        Some(data) => Raster { data, layout: after(raster.layout), ..raster },
        None if raster.layout == Layout::Cmyk => ink(&raster),
        None => raster,
    }
}

/// The layout of a managed image.
fn after(layout: Layout) -> Layout {
    if layout == Layout::Cmyk { Layout::Rgb } else { layout }
}

fn managed(raster: &Raster, profile: &[u8]) -> Option<Vec<u8>> {
    let profile = ColorProfile::new_from_slice(profile).ok()?;
    let (space, from, to) = match raster.layout {
        Layout::Gray => (DataColorSpace::Gray, CmsLayout::Gray, CmsLayout::Gray),
        Layout::GrayAlpha => (DataColorSpace::Gray, CmsLayout::GrayAlpha, CmsLayout::GrayAlpha),
        Layout::Rgb => (DataColorSpace::Rgb, CmsLayout::Rgb, CmsLayout::Rgb),
        Layout::Rgba => (DataColorSpace::Rgb, CmsLayout::Rgba, CmsLayout::Rgba),
        Layout::Cmyk => (DataColorSpace::Cmyk, CmsLayout::Rgba, CmsLayout::Rgb),
    };
    if profile.color_space != space {
        return None;
    }
    let target = match space {
        DataColorSpace::Gray => ColorProfile::new_gray_with_gamma(2.2),
        _ => ColorProfile::new_srgb(),
    };
    let transform = profile.create_transform_8bit(from, &target, to, TransformOptions::default()).ok()?;
    let pixels = raster.width as usize * raster.height as usize;
    let mut data = vec![0; pixels * after(raster.layout).channels()];
    transform.transform(&raster.data, &mut data).ok()?;
    Some(data)
}

/// Inks without a profile: each takes its part of the light.
fn ink(raster: &Raster) -> Raster {
    let mut data = Vec::with_capacity(raster.data.len() / 4 * 3);
    for pixel in raster.pixels() {
        let &[cyan, magenta, yellow, black] = pixel else { continue };
        let light = |ink: u8| {
            let share = u32::from(255 - ink) * u32::from(255 - black) + 127;
            u8::try_from(share / 255).unwrap_or(u8::MAX)
        };
        data.extend([light(cyan), light(magenta), light(yellow)]);
    }
    Raster { data, layout: Layout::Rgb, width: raster.width, height: raster.height }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Raster, to_srgb};
    use moxcms::ColorProfile;

    fn pixel(layout: Layout, data: &[u8]) -> Raster {
        Raster { width: 1, height: 1, layout, data: data.to_vec() }
    }

    #[test]
    fn ink_takes_light() {
        let rgb = |ink: [u8; 4]| to_srgb(pixel(Layout::Cmyk, &ink), None).data;
        assert_eq!(rgb([0, 0, 0, 0]), [255, 255, 255]);
        assert_eq!(rgb([0, 0, 0, 255]), [0, 0, 0]);
        assert_eq!(rgb([255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(rgb([0, 255, 255, 128]), [127, 0, 0]);
    }

    #[test]
    fn a_profile_is_applied_and_a_wrong_one_is_not() {
        let wide = ColorProfile::new_display_p3().encode().unwrap();
        let red = to_srgb(pixel(Layout::Rgba, &[230, 40, 40, 9]), Some(&wide)).data;
        // More saturated than the same numbers are in sRGB, and the alpha is none of its business.
        assert!(red[0] > 235 && red[1] < 30 && red[3] == 9, "{red:?}");
        let grey = to_srgb(pixel(Layout::Gray, &[77]), Some(&wide));
        assert_eq!(grey.data, [77]);
        let broken = to_srgb(pixel(Layout::Rgb, &[1, 2, 3]), Some(&wide[..100]));
        assert_eq!(broken.data, [1, 2, 3]);
    }
}
