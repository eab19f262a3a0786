//! Endpoints as tools, against services on this machine and in this process.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod binding;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod mounted;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod passing;
#[cfg(test)]
mod support;
