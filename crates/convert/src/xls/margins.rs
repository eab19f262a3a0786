//! The headers and footers of a sheet ([MS-XLS] 2.4.136, 2.4.124 and 2.4.137).

use super::{Book, Parts, Record, records};
use crate::fields::u16_at;
use crate::margins::{MAX_MARGINS, Margin};

/// Numbers of records: the begins of a part and of a view that somebody saved, and their ends.
const BEGIN: u16 = 0x0809;
const END: u16 = 0x000a;
const BEGIN_VIEW: u16 = 0x01aa;
const END_VIEW: u16 = 0x01ab;

impl Book {
    /// Those of a sheet whose records begin here.
    pub(super) fn margins(&self, stream: &[u8]) -> Vec<Margin> {
        let mut found = Vec::new();
        let (mut depth, mut in_view) = (0_usize, false);
        for Record { id, data } in records(stream) {
            match id {
                BEGIN => depth += 1,
                END if depth <= 1 => break,
                END => depth -= 1,
                BEGIN_VIEW => in_view = true,
                END_VIEW => in_view = false,
                _ if in_view || depth > 1 || data.is_empty() || found.len() >= MAX_MARGINS => {}
                0x0014 => found.push(("header", self.margin(data))),
                0x0015 => found.push(("footer", self.margin(data))),
                0x089c => _ = others(data, &mut found),
                _ => {}
            }
        }
        found
    }
}

/// Adds those of even pages and of the first one.
fn others(data: &[u8], found: &mut Vec<Margin>) -> Option<()> {
    const FLAGS: usize = 28;
    let flags = u16_at(data, FLAGS)?;
    let mut parts = Parts { parts: &[data], at: FLAGS + 10 };
    for (at, (kind, flag)) in
        [("header", 1), ("footer", 1), ("header", 2), ("footer", 2)].into_iter().enumerate()
    {
        if u16_at(data, FLAGS + 2 + 2 * at)? > 0 {
            let len = parts.number()?;
            let text = parts.string(len)?;
            found.extend((flags & flag != 0).then_some((kind, text)));
        }
    }
    Some(())
}
