//! Lists in pages.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// One page of a list, and where the next one begins.
pub(super) fn page<T>(
    items: Vec<T>,
    request: Option<&PaginatedRequestParams>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match request.and_then(|request| request.cursor.as_deref()) {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .ok()
            .filter(|start| *start > 0 && *start < items.len())
            .ok_or_else(|| ErrorData::invalid_params("the cursor is none of this list", None))?,
    };
    let end = start.saturating_add(size.max(1));
    let next = (end < items.len()).then(|| end.to_string());
    Ok((items.into_iter().skip(start).take(end - start).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_make_up_the_list() {
        let mut request = None;
        let mut all = Vec::new();
        loop {
            let (items, next) = page((0..7).collect(), request.as_ref(), 3).unwrap();
            all.extend(items);
            let Some(cursor) = next else { break };
            request = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
        }
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        for wrong in ["-1", "0", "7", "x", "99999999999999999999999"] {
            let request = PaginatedRequestParams::default().with_cursor(Some(wrong.to_owned()));
            assert!(page(vec![0; 7], Some(&request), 3).is_err(), "{wrong}");
        }
    }
}
