//! Test support for agents: models with replies defined by the test, and assertions on their requests.
//!
//! Nothing here uses the network, and a test needs no key.
//!
//! | need | type |
//! | --- | --- |
//! | a model that says what you tell it to | [`ScriptedModel`] of [`Turn`]s |
//! | one whose replies depend on what it is asked | [`FunctionModel`] |
//! | one that calls every tool, without a script | [`TestModel`] |
//! | what a model was asked and what it called, the documents that it saw, a transcript for snapshots | [`Asked`], [`Sight`] |
//! | the same ids and times in each run of a test | [`Fixed`] |
//! | what a real provider said, recorded without secrets and replayed; feature `cassettes` | `Recorder`, `Player` |

mod assertions;
#[cfg(feature = "cassettes")]
mod cassettes;
mod double;
mod exchange;
mod fixed;
mod function;
mod scripted;
mod test_model;
mod transcript;
mod turn;

#[cfg(test)]
mod tests;

pub use assertions::{Asked, Sight, documents};
#[cfg(feature = "cassettes")]
#[doc(no_inline)]
pub use attache_transport::cassette::Cassette;
#[cfg(feature = "cassettes")]
pub use cassettes::{Player, Recorder};
pub use fixed::Fixed;
pub use function::FunctionModel;
pub use scripted::ScriptedModel;
pub use test_model::TestModel;
pub use turn::{ScriptedArguments, Turn};
