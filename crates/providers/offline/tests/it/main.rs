//! The offline model as an agent sees it.

#[cfg(test)]
mod contract;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod inbox;
#[cfg(test)]
mod support;
