//! One decision, with all that it rests on.

use attache_core::ModelCapabilities;

use crate::decide::treatment::Purpose;
use crate::materials::Materials;
use crate::options::RouteOptions;

/// Decides for one model, one set of materials and options.
#[derive(Clone, Copy)]
pub(crate) struct Decider<'a> {
    pub(crate) capabilities: &'a ModelCapabilities,
    pub(crate) materials: &'a Materials,
    pub(crate) options: &'a RouteOptions,
    pub(crate) purpose: Purpose,
    /// True if the author's last turn holds so many images that each of the request must be smaller.
    pub(crate) many_images: bool,
}
