//! Converts a drawing to pixels: PNG and JPEG.

use std::{
    error::Error,
    sync::{Arc, LazyLock},
};

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use resvg::{
    tiny_skia::{Color, Pixmap, Transform},
    usvg::{Options, Tree, fontdb},
};

use super::{HEIGHT, WIDTH, text};

/// High enough to avoid visible artifacts around letters.
const JPEG_QUALITY: u8 = 92;

/// Width and height of a picture, in the type of the JPEG encoder.
const SIDES: (u16, u16) = (WIDTH as u16, HEIGHT as u16);

/// A drawing could not be converted to pixels.
#[derive(Debug, thiserror::Error)]
#[error("the drawing could not be turned into pixels")]
pub struct RasterError(#[source] Box<dyn Error + Send + Sync>);

/// Converts a drawing of [`svg`](super::svg) to a PNG image.
pub fn png(svg: &str) -> Result<Vec<u8>, RasterError> {
    let pixmap = render(svg)?;
    // The picture is opaque, so the alpha channel is omitted.
    let mut pixels = vec![0; pixmap.data().len() / 4 * 3];
    for (rgb, rgba) in pixels.as_chunks_mut::<3>().0.iter_mut().zip(pixmap.data().as_chunks::<4>().0) {
        rgb.copy_from_slice(&rgba[..3]);
    }
    let mut bytes = Vec::with_capacity(128 * 1_024);
    let mut encoder = png::Encoder::new(&mut bytes, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(|error| RasterError(error.into()))?;
    writer.write_image_data(&pixels).map_err(|error| RasterError(error.into()))?;
    writer.finish().map_err(|error| RasterError(error.into()))?;
    Ok(bytes)
}

/// Converts a drawing of [`svg`](super::svg) to a JPEG image.
pub fn jpeg(svg: &str) -> Result<Vec<u8>, RasterError> {
    let pixmap = render(svg)?;
    let mut bytes = Vec::with_capacity(128 * 1_024);
    let mut encoder = Encoder::new(&mut bytes, JPEG_QUALITY);
    // Subsamples the color horizontally: the image is a third smaller, and most lines are horizontal.
    encoder.set_sampling_factor(SamplingFactor::F_2_1);
    encoder
        .encode(pixmap.data(), SIDES.0, SIDES.1, ColorType::Rgba)
        .map_err(|error| RasterError(error.into()))?;
    Ok(bytes)
}

/// The fonts of every picture: only the embedded ones, so that a picture looks the same on every server.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(text::REGULAR)));
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(text::SEMI_BOLD)));
    Arc::new(fonts)
});

/// Renders a drawing to pixels, row by row, four bytes each, with an opaque alpha channel.
fn render(svg: &str) -> Result<Pixmap, RasterError> {
    let options = Options { fontdb: FONTS.clone(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| RasterError(error.into()))?;
    let mut pixmap =
        Pixmap::new(WIDTH, HEIGHT).ok_or_else(|| RasterError("the picture has no area".into()))?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    Ok(pixmap)
}
