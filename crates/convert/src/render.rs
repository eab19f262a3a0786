//! The pages of a PDF as images.
//!
//! The `hayro` crate draws them. It draws whatever a page asks for, so that the bill is drawn up first: [`reach`]
//! looks at every stream that the page leads to, [`steps`] counts what its content would do.

mod jpx;
mod reach;
mod steps;

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_core::converter::{MediaLimits, PageImage, RenderedPages};
use bytes::Bytes;
use hayro::hayro_interpret::InterpreterSettings;
use hayro::kurbo::Affine;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::vello_cpu::{Pixmap, RasterizerSettings, RenderContext, Resources, TargetInit};
use hayro::{RenderCache, RenderSettings, render_into};
use hayro_syntax::page::Page;

use crate::guarded::{self, Clock};
use crate::media_type::essence;
use crate::pdf::Opened;
use crate::transcode::{Canvas, encode_page, is_pdf, large_image, makes_images, open_checked};
use crate::{ConvertError, Limits};
use reach::Reach;
use steps::Steps;

/// Most pixels along one side of an image: what models look at, and no model refuses.
const MAX_SIDE: f64 = 2_000.0;

/// Most pixels for an inch of paper: print is read well, and a small page does not become a large image.
const MAX_DENSITY: f64 = 200.0;

/// A page counts its sides in these parts of an inch.
const POINTS: f64 = 72.0;

/// Most images of one document, whatever the form allows.
const MAX_PAGES: u64 = 20;

/// Most bytes of all images of one document.
const MAX_TOTAL_BYTES: usize = 24 << 20;

/// True if [`render_pages`] can render documents of this media type as images in `form`. Parameters and case are
/// ignored.
pub fn can_render(media_type: &str, form: &MediaLimits) -> bool {
    is_pdf(essence(media_type)) && makes_images(form)
}

/// Renders pages of a PDF, counted from 1, as images in a form. It blocks, at most for about as long as `limits` allow.
///
/// `pages` must be ascending, separate ranges. The existing pages of these are rendered, from the first, up to
/// [`MediaLimits::max_pages`] (at most 20) and 24 MiB in total. Images have at most 2,000 pixels on a side and 200 per
/// inch; they are PNG if that is small, as for drawings, otherwise JPEG. The same page always gives the same image on
/// the same kind of processor.
///
/// # Errors
///
/// See [`ConvertError`]: the document is not a PDF, encrypted, malformed or too large, or rendering its first page took
/// too long or failed.
///
/// ```
/// use attache_convert::{Limits, render_pages};
/// use attache_core::converter::MediaLimits;
/// # let pdf = "%PDF-1.4
/// # 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
/// # 2 0 obj << /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >> endobj
/// # 3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 90 90] >> endobj
/// # 4 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 90 90] /Contents 5 0 R >> endobj
/// # 5 0 obj << /Length 23 >> stream
/// # 1 0 0 rg 0 0 45 90 re f
/// # endstream endobj
/// # trailer << /Root 1 0 R >>
/// # %%EOF";
///
/// // A document of two pages, of which the first is blank and the second is red on its left.
/// let pages = render_pages(pdf.into(), &[1..=7], &MediaLimits::of(["image/png"]), &Limits::new())?;
/// assert_eq!((pages.total, pages.blank, pages.images.len()), (2, vec![1], 1));
/// assert_eq!(pages.images[0].page, 2);
/// # Ok::<(), attache_convert::ConvertError>(())
/// ```
pub fn render_pages(
    bytes: Bytes,
    pages: &[RangeInclusive<usize>],
    form: &MediaLimits,
    limits: &Limits,
) -> Result<RenderedPages, ConvertError> {
    let (pages, form, limits) = (pages.to_vec(), form.clone(), *limits);
    guarded::run(limits.max_time, move |clock| {
        let opened = open_checked(bytes, &limits, clock)?;
        Rendering::new(&opened, &form, &limits, clock).all(&pages)
    })
}

/// Renders one page of a PDF, counted from 1, as a PNG of at most `width` pixels in width and 2,000 on a side, for
/// human viewers: a blank page gives an image too. Returns `None` if there is no such page. It blocks, at most for
/// about as long as `limits` allow.
///
/// # Errors
///
/// See [`ConvertError`]: the document is not a PDF, encrypted, malformed or too large, or rendering the page took too
/// long or failed.
///
/// ```
/// use attache_convert::{Limits, render_page};
/// # let pdf = "%PDF-1.4
/// # 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
/// # 2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
/// # 3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 90 180] >> endobj
/// # trailer << /Root 1 0 R >>
/// # %%EOF";
/// // A blank page that is twice as high as it is wide.
/// let png = render_page(pdf.into(), 1, 100, &Limits::new())?.expect("a page");
/// let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
/// assert_eq!((side(16), side(20)), (100, 200));
/// assert_eq!(render_page(pdf.into(), 2, 100, &Limits::new())?, None);
/// # Ok::<(), attache_convert::ConvertError>(())
/// ```
pub fn render_page(
    bytes: Bytes,
    page: usize,
    width: u16,
    limits: &Limits,
) -> Result<Option<Bytes>, ConvertError> {
    let limits = *limits;
    guarded::run(limits.max_time, move |clock| {
        let opened = open_checked(bytes, &limits, clock)?;
        let form = MediaLimits::of(["image/png"]);
        let Some(place) = page.checked_sub(1).and_then(|at| opened.pages.pages().nth(at)) else {
            return Ok(None);
        };
        let found = place.and_then(|place| opened.pdf.pages().get(place));
        let mut rendering =
            Rendering { width: Some(width), ..Rendering::new(&opened, &form, &limits, clock) };
        match found.map_or(Ok(Drawn::Failed), |found| rendering.page(page, found))? {
            Drawn::Image(image) | Drawn::Part(image) => Ok(Some(image.bytes)),
            Drawn::Blank | Drawn::Failed => Err(ConvertError::Failed),
        }
    })
}

/// The outcome of one page.
enum Drawn {
    Image(PageImage),
    /// An image of which something is missing.
    Part(PageImage),
    Blank,
    Failed,
}

struct Rendering<'a> {
    opened: &'a Opened,
    form: &'a MediaLimits,
    clock: Clock,
    /// The width of images for people; those for models have what models take.
    width: Option<u16>,
    reach: Reach,
    cache: RenderCache<'a>,
}

impl<'a> Rendering<'a> {
    fn new(opened: &'a Opened, form: &'a MediaLimits, limits: &'a Limits, clock: Clock) -> Self {
        Self { opened, form, clock, width: None, reach: Reach::new(limits, clock), cache: RenderCache::new() }
    }

    fn all(&mut self, pages: &[RangeInclusive<usize>]) -> Result<RenderedPages, ConvertError> {
        let total = self.opened.pages.total;
        let mut rendered = RenderedPages::new(Vec::new(), total);
        let most = self.form.max_pages.map_or(MAX_PAGES, |most| most.min(MAX_PAGES));
        let mut bytes = 0;
        let asked = |number: usize| pages.iter().any(|range| range.contains(&number));
        let places = self.opened.pages.pages().enumerate().map(|(at, place)| (at + 1, place));
        let mut longest = Duration::ZERO;
        for (number, place) in places.filter(|(number, _)| asked(*number)) {
            // A few pages are better than none.
            let is_late = !rendered.images.is_empty() && self.clock.left() < longest * 2;
            if is_late || rendered.images.len() as u64 >= most {
                break;
            }
            let start = self.clock.left();
            let page = place.and_then(|place| self.opened.pdf.pages().get(place));
            let drawn = match page.map_or(Ok(Drawn::Failed), |page| self.page(number, page)) {
                Err(error @ ConvertError::TimedOut { .. }) => match rendered.images.is_empty() {
                    true => return Err(error),
                    false => break,
                },
                drawn => drawn.unwrap_or(Drawn::Failed),
            };
            longest = longest.max(start.saturating_sub(self.clock.left()));
            match drawn {
                Drawn::Image(image) | Drawn::Part(image) if bytes + image.bytes.len() > MAX_TOTAL_BYTES => {
                    break;
                }
                Drawn::Image(image) => {
                    bytes += image.bytes.len();
                    rendered.images.push(image);
                }
                Drawn::Part(image) => {
                    bytes += image.bytes.len();
                    rendered.images.push(image);
                    rendered.partial.push(number);
                }
                Drawn::Blank => rendered.blank.push(number),
                Drawn::Failed => rendered.failed.push(number),
            }
        }
        Ok(rendered)
    }

    fn page(&mut self, number: usize, page: &'a Page<'a>) -> Result<Drawn, ConvertError> {
        self.clock.check()?;
        let Some((scale, size)) = size(page, self.form, self.width) else { return Ok(Drawn::Failed) };
        let transform = Affine::scale(scale) * Affine::new(page.initial_transform(true).as_coeffs());
        let largest = self.reach.page(page)?;
        let mut steps = Steps::new(self.clock, size, largest.function);
        steps.page(page, transform)?;
        // Large images take turns, as those do that are fitted.
        let turn = large_image(largest.pixels, self.clock)?;
        let missing = Arc::new(AtomicBool::new(false));
        let drawn = {
            let (cache, missing) = (&self.cache, Arc::clone(&missing));
            catch_unwind(AssertUnwindSafe(|| draw(page, cache, missing, size, transform)))
        };
        drop(turn);
        let Ok(pixmap) = drawn else {
            // A panic may leave anything in it.
            self.cache = RenderCache::new();
            return Ok(Drawn::Failed);
        };
        self.clock.check()?;
        let missing = missing.load(Ordering::Relaxed);
        let canvas = Canvas::of_rgba(size, pixmap.data_as_u8_slice());
        drop(pixmap);
        if canvas.is_uniform() && self.width.is_none() {
            // Text of which nothing is seen is in a font that nobody has.
            return Ok(if missing || steps.shows_text { Drawn::Failed } else { Drawn::Blank });
        }
        let (bytes, media_type) = encode_page(canvas, self.form, self.clock)?;
        let image = PageImage::new(number, bytes, media_type);
        Ok(if missing { Drawn::Part(image) } else { Drawn::Image(image) })
    }
}

/// The pixels for a point of a page, and the size of its image.
fn size(page: &Page<'_>, form: &MediaLimits, wanted: Option<u16>) -> Option<(f64, (u16, u16))> {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    if !(width.is_finite() && height.is_finite() && width > 0.0 && height > 0.0) {
        return None;
    }
    let side = form.max_pixels.map_or(MAX_SIDE, |most| MAX_SIDE.min(most as f64));
    let density = wanted.map_or(MAX_DENSITY / POINTS, |wanted| f64::from(wanted) / width);
    let scale = density.min(side / width.max(height));
    let pixels = |side: f64| (side * scale).round().clamp(1.0, MAX_SIDE) as u16;
    Some((scale, (pixels(width), pixels(height))))
}

/// Draws a page on white, and tells `missing` if something of it cannot be drawn.
fn draw<'a>(
    page: &'a Page<'a>,
    cache: &RenderCache<'a>,
    missing: Arc<AtomicBool>,
    (width, height): (u16, u16),
    transform: Affine,
) -> Pixmap {
    let interpreter = InterpreterSettings {
        warning_sink: Arc::new(move |_| missing.store(true, Ordering::Relaxed)),
        ..InterpreterSettings::default()
    };
    // Hints are made for screens; without them, no program in a font is run.
    let settings = RenderSettings { hinting: false, ..RenderSettings::default() };
    let mut context = RenderContext::new(width, height);
    render_into(page, cache, &interpreter, &settings, &mut context, transform);
    context.flush();
    let mut pixmap = Pixmap::new(width, height);
    let target = RasterizerSettings { target_init: TargetInit::Clear(WHITE), ..Default::default() };
    context.render_with(&mut pixmap, &mut Resources::default(), target);
    pixmap
}
