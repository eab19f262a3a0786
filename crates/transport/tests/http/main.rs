//! The client and the driver against servers on this machine.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod fetching;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod model;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod support;
#[cfg(test)]
mod taps;
#[cfg(test)]
mod tls;
