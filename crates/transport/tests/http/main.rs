//! The client and the driver against servers on this machine.

#[cfg(test)]
mod built_in;
#[cfg(test)]
mod fetching;
#[cfg(test)]
mod model;
#[cfg(test)]
mod over_reqwest;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
