//! The converter as its users see it: real files of many programs, damaged ones, hostile ones.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod annotations;
mod archives;
mod backward;
mod charts;
mod clauses;
mod code_pages;
mod common;
mod damaged;
mod damaged_office;
mod embedded;
mod examples;
mod fields;
mod fonts;
mod hidden;
mod images;
mod inbox;
mod layers;
mod legacy;
mod mutations;
mod mutations_images;
mod mutations_office;
mod office;
mod pages;
mod passages;
mod producers;
mod protected;
mod sheets;
mod shown;
mod signs;
mod tables;
mod texts;
